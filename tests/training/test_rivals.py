"""Rivals: readings of a sound as lessons in choosing."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from data.shards import ShardWriter
from inference import spelling
from models.audio import AudioEncoder
from models.errors import UserError
from models.omni import OmniModel
from models.readings import READ, weight
from models.tokenizer import Tokenizer
from models.wordlm import FILE, WordLM
from tests.training.records import Records
from training.objectives import words
from training.objectives.omni import OmniObjective, OmniTask
from training.objectives.words import count_words
from training.rivals import (
    BONUS,
    RIVALS,
    UNHEARD,
    RivalMaker,
    build_rivals,
    expected_errors,
    read_rivals,
    worth,
    written,
)

TEXTS = ("A red cat.", "A read cat.", "A red hat.", "A red bat.", "The red cat.", "Red cat.")
ERRORS = (0, 1, 1, 1, 1, 1)


def record(seconds: int = 1) -> dict:
    """A clip of noise with its rivals."""
    levels = np.random.default_rng(0).integers(0, 200, (128, 100 * seconds)).astype(np.uint8)
    rivals = [[text, float(-i), errors] for i, (text, errors) in enumerate(zip(TEXTS, ERRORS, strict=True))]
    return {"text": TEXTS[0], "kind": "sentence", "seconds": seconds, "mel": levels, "rivals": rivals}


def joint(folder, **readers) -> OmniObjective:
    """The joint stage with these clips for training and no other data."""
    objective = object.__new__(OmniObjective)
    objective.model = OmniTask(OmniModel.from_pretrained(folder))
    objective.tokenizer = Tokenizer(folder / "tokenizer.model")
    objective.readers = {(name, "train"): Records(records) for name, records in readers.items()}
    objective.readers.setdefault(("scenes", "train"), Records())
    objective.speech, objective.noisy = ("hearing",), 0.0
    objective.heard = {"train": objective.sort_heard("train")}
    return objective


@pytest.mark.parametrize(
    ("letters", "wanted"),
    [
        ("is it true paul said", "Is it true, Paul said."),
        ("is it blue pall said", "Is it blue, pall said."),
        ("his it true paul", "His it true, Paul."),
        ("is it true paul said so", "Is it true, Paul said so."),
        ("", ""),
    ],
)
def test_a_reading_is_written_as_the_truth_where_they_agree(letters, wanted):
    assert written("Is it true, Paul said.", letters) == wanted


def test_both_judges_weigh_what_they_do_where_transcripts_are_chosen():
    assert (READ, BONUS) == (weight(False), spelling.BONUS)


def test_errors_to_be_expected_fall_as_the_right_reading_gains():
    said = torch.zeros(1, RIVALS, requires_grad=True)
    heard, errors = torch.zeros(1, RIVALS), torch.tensor([[0.0, 1, 1, 2, 2, 3]])
    expected = expected_errors(said, heard, errors)
    expected.sum().backward()
    assert expected.item() == pytest.approx(0.0, abs=1e-6)  # a choice by lot
    assert said.grad[0, 0] < 0 < said.grad[0, 5]
    sure = F.one_hot(torch.tensor([0]), RIVALS) * 100.0
    assert expected_errors(sure, heard, errors).item() == pytest.approx(-1.5)  # none instead of 9 / 6
    assert expected_errors(said, heard, torch.ones(1, RIVALS)).item() == pytest.approx(0.0, abs=1e-6)


def test_a_batch_says_every_rival_of_one_sound(nano_omni_dir):
    objective = joint(nano_omni_dir, rivals=[record()])
    lessons = objective.choices(random.Random(0), 0.5)
    other = objective.encoded({"messages": [{"role": "user", "content": "Hi."},
                                            {"role": "assistant", "content": "Hello."}],
                               "images": [], "sounds": []})
    batch = objective.collate([other, *lessons])
    assert len(batch["mel"]) == 1 and batch["again"] == [0] * RIVALS
    task = objective.model.eval()
    with torch.no_grad():
        loss = task(batch)
        alone = [task(objective.collate([{k: v for k, v in lesson.items() if k != "errors"}])).total
                 for lesson in lessons]
        plain = task(objective.collate([other]))
    said = -torch.stack(alone)[None]  # (1, RIVALS)
    expected = expected_errors(said, batch["heard"], batch["errors"])
    assert batch["errors"].tolist() == [list(ERRORS)] and batch["heard"][0, 2] == -2.0
    total, count = loss.logs["errors"]
    assert count == 1 and total.item() == pytest.approx(expected.item(), abs=1e-4)
    assert loss.weight == plain.weight  # rivals are no tokens to write
    assert loss.total.item() == pytest.approx(plain.total.item() + 5.0 * expected.item(), rel=1e-4)


def test_clips_without_a_choice_are_left_out(nano_omni_dir):
    same = record() | {"rivals": [[text, 0.0, 1] for text in TEXTS]}
    few = record() | {"rivals": record()["rivals"][:3]}
    assert worth(record()) and not worth(same) and not worth(few)
    objective = joint(nano_omni_dir, rivals=[same, record(2), few, record(1)])
    assert objective.heard["train"]["choice"] == [("rivals", 3), ("rivals", 1)]  # the shortest first


@pytest.mark.parametrize("old", [False, True])
def test_rivals_of_an_older_version_say_what_to_do(tmp_path, old):
    made = record()
    mel = made.pop("mel")
    if old:
        made["rivals"] = [[text, score, -4.0, wrong] for text, score, wrong in made["rivals"]]
    with ShardWriter(tmp_path, 0) as shard:
        shard.add(made, {"mel": mel})
    if not old:
        assert len(read_rivals(tmp_path)) == 1
        return
    with pytest.raises(UserError, match="remove it"):
        read_rivals(tmp_path)


def test_questions_with_rivals_are_asked_as_they_were_misheard(nano_omni_dir):
    talk = record() | {"kind": "talk_question", "question": {"answer": "Yes."}}
    scene = record() | {"kind": "scene_question", "question": {"answer": "No."}, "scene": 1}
    objective = joint(nano_omni_dir, misheard=[talk, scene, scene | {"scene": 0}], scenes=[{}])
    heard = objective.heard["train"]
    assert heard["spoken"] == [("misheard", 0)] and not heard["transcript"]
    assert heard["spoken_picture"] == [("misheard", 2)]  # there is one scene
    assert len(heard["choice"]) == 3
    objective.noisy = 1.0
    lesson = objective.lesson("spoken", random.Random(0), "train", 0.5)
    assert np.array_equal(lesson["sounds"][0], talk["mel"])  # noise was added before it was read


def test_utterances_are_heard_with_noise(nano_omni_dir):
    plain = {name: value for name, value in record().items() if name != "rivals"}
    objective = joint(nano_omni_dir, hearing=[plain])
    mels = {}
    for noisy in (0.0, 1.0):
        objective.noisy = noisy
        heard = [objective.lesson("transcript", random.Random(i), "train", 0.5) for i in range(8)]
        mels[noisy] = [lesson["sounds"][0] for lesson in heard]
    changed = [np.mean(a != b) for a, b in zip(mels[0.0], mels[1.0], strict=True)]
    assert min(changed) > 0.2


def test_rivals_are_read_by_ears_and_table(nano_omni_dir, tmp_path):
    AudioEncoder.from_pretrained(nano_omni_dir, "audio").save_pretrained(tmp_path / "ears")
    count_words(["a red cat", "a red hat", "the cat"], 10, 10, 10).save(tmp_path / "words.safetensors")
    assert len(WordLM.load(tmp_path / "words.safetensors").words) > 3
    with ShardWriter(tmp_path / "clips", 0) as writer:
        for seconds in (1, 2):
            clip = record(seconds)
            said = {"text": clip["text"], "kind": "word", "seconds": seconds, "voice": "nobody"}
            if seconds == 2:
                said |= {"kind": "talk_question", "question": {"answer": "No."}}
            writer.add(said, {"mel": clip["mel"]})
    make = RivalMaker(tmp_path / "ears", tmp_path / "words.safetensors", (tmp_path / "clips",), 0.5, 7)
    build_rivals(tmp_path / "rivals", make, 2, workers=1)
    made = [make(index) for index in (0, 1, 0)]
    assert made[0][0] == made[2][0] and np.array_equal(made[0][1]["mel"], made[2][1]["mel"])
    assert {clip["seconds"] for clip, _ in made} == {1, 2}
    for clip, blobs in made:
        assert blobs["mel"].shape == (128, 100 * clip["seconds"])
        assert 1 <= len(clip["rivals"]) <= RIVALS
        scores = [score for _, score, _ in clip["rivals"]]
        assert all(isinstance(wrong, int) for _, _, wrong in clip["rivals"]) and np.isfinite(scores).all()
    asked = replace(make, kinds=("talk_question",))
    assert [asked(index)[0]["question"]["answer"] for index in (0, 1)] == ["No."] * 2


def test_the_table_for_rivals_has_not_counted_what_clips_say(tmp_path, monkeypatch):
    monkeypatch.setattr(words.sentences, "ordinary", lambda split: [
        "My cat sat there.", "A blue owl sat there.", "My cat sat there again.", "A blue owl read a book.",
    ])
    monkeypatch.setattr(words.sentences, "split_of", lambda sentence: "train")
    for name, said in (("fresh", "A blue owl sat there!"), ("real", "My cat sat there.")):
        with ShardWriter(tmp_path / f"hearing_{name}_train", 0) as writer:
            writer.add({"text": said}, {"mel": np.zeros((128, 1), np.uint8)})
    paths = SimpleNamespace(real=None, data=tmp_path, final=lambda stage: tmp_path / stage)
    config = {"model": {"vocabulary": 40, "bigrams": 100, "trigrams": 100},
              "data": {"questions": 0, "scenes": 0, "short": 0}}
    words.run(config, paths)
    shipped, unheard = (WordLM.load(tmp_path / "words" / name) for name in (FILE, UNHEARD))
    assert "blue" in shipped.words and "blue" not in unheard.words  # then it is met only once
    assert "cat" in shipped.words and "cat" in unheard.words
