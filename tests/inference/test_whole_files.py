"""Files are whole or not there: on a full disk the old one stays, and nothing lies beside it."""

import json
import os

import numpy as np
import pytest
import torch

from export.gguf import write_gguf
from inference.caching.planfile import write_plans
from inference.manifest import finished
from inference.merge import write_file
from inference.output import AudioFile
from inference.speculative.table import DraftTable
from models.errors import UserError
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from tests.conftest import full_disk

OLD = b'{"key": "a", "error": "x"}\n' + b'{"key": "b", "answer": "y"}\n' * 9 + b'{"key": "c"'


def gguf(path, folder) -> None:
    write_gguf(Thinker.from_pretrained(folder), Tokenizer(folder / "tokenizer.model"), path, "f32", "x")


WRITERS = {  # name of the file -> what writes it; the last reads OLD and leaves a part of it
    "nano.gguf": gguf,
    "table.safetensors": lambda path, _: DraftTable.count([([1, 7, 2], [0, 1, 1])] * 3).save(path),
    "plans.json": lambda path, _: write_plans(path, {"a" * 99: {"cache_kind": "fp32", "probed": 1}}),
    "merged.safetensors": lambda path, _: write_file(path, {"a": torch.zeros(99)}, {}),
    "merged.pt": lambda path, _: write_file(path, {"a": torch.zeros(99)}, {}),
    "answers.jsonl": lambda path, _: finished(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_on_a_full_disk_the_old_file_stays_alone(name, nano_text_dir, tmp_path):
    path = tmp_path / name
    path.write_bytes(OLD)
    with full_disk(), pytest.raises((UserError, OSError, RuntimeError)):
        WRITERS[name](path, nano_text_dir)
    assert path.read_bytes() == OLD and os.listdir(tmp_path) == [name]
    WRITERS[name](path, nano_text_dir)
    assert path.read_bytes() != OLD and os.listdir(tmp_path) == [name]


def test_answers_keep_what_was_answered(tmp_path):
    (tmp_path / "answers.jsonl").write_bytes(OLD)
    assert finished(tmp_path / "answers.jsonl") == {"b"}
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["b"] * 9


def test_sound_that_breaks_off_is_not_written(tmp_path):
    path = tmp_path / "x.wav"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), AudioFile(path, 16_000) as file:
        file.write(np.zeros(99, np.float32))
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x.wav"]
    with AudioFile(path, 16_000) as file:
        file.write(np.zeros(99, np.float32))
    assert path.stat().st_size == 44 + 2 * 99
