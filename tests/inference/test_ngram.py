"""A table of guesses: what it counts, that it is kept, and that answers stay the model's own."""

import pytest
import torch

from inference.config import GenerateConfig
from inference.ngram import NgramDraft
from models.errors import UserError
from training import ngram

TEXTS = [([1, 7, 8, 9, 2], [0, 0, 1, 1, 1])] * 3 + [([1, 5, 8, 6, 2], [0, 0, 1, 1, 1])] * 2


def guesses(draft: NgramDraft, context: list[int], count: int = 8) -> list[int]:
    return draft.propose(context, count, GenerateConfig(), torch.Generator())[0]


def test_guesses_what_followed_the_longest_known_context():
    draft = NgramDraft.count(TEXTS)
    assert guesses(draft, [1, 7]) == [8, 9, 2]
    assert guesses(draft, [1, 5]) == [8, 6, 2]  # after 8 alone, 9 is the more frequent
    assert guesses(draft, [8]) == [9, 2]
    assert guesses(draft, [1, 7], 2) == [8, 9]


def test_says_nothing_where_it_is_not_sure():
    many = [([1, token, 2], [0, 1, 1]) for token in range(10, 20)] * 2
    assert guesses(NgramDraft.count(many), [1]) == []
    assert guesses(NgramDraft.count(TEXTS), [1]) == []  # a question's token is never guessed


def test_a_file_of_it_guesses_the_same(tmp_path):
    draft = NgramDraft.count(TEXTS)
    draft.save(tmp_path / "table.safetensors")
    assert NgramDraft.load(tmp_path / "table.safetensors").tables == draft.tables
    with pytest.raises(UserError, match="training.ngram"):
        NgramDraft.load(tmp_path / "none.safetensors")


def test_counted_from_the_world_it_changes_no_answer(omni, red, tmp_path):
    table = tmp_path / "table.safetensors"
    arguments = ["--conversations", "300", "--scenes", "30", "--out", str(table)]
    assert ngram.main([*arguments, "--ckpt_dir", str(omni.folder)]) == 0
    requests = [{"text": "What is three plus four?"}, {"text": "What do you see?", "image": red}]
    plain = [omni.chat(**request) for request in requests]
    omni.use_draft(table)
    try:
        assert [omni.chat(**request) for request in requests] == plain
    finally:
        omni.draft = None
