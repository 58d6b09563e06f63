"""Compiled forms of chunks are made again when what they were made for is another now."""

import pytest

from inference import Notice
from inference.chunked import compiled
from inference.chunked.compiled import Compiled


@pytest.fixture
def source(tmp_path):
    """A program with a compiled form."""
    path = tmp_path / "chunk_0.onnx"
    path.write_bytes(b"program")
    (tmp_path / "chunk_0.onnx.data").write_bytes(b"weights")
    form = Compiled(path, ".ort", "runtime 1")
    assert not form.fits()
    with form.writing() as made:
        made.write_bytes(b"compiled")
    return path


def test_a_form_fits_what_it_was_made_for(source):
    assert Compiled(source, ".ort", "runtime 1").fits()
    assert not Compiled(source, ".other", "runtime 1").fits()


@pytest.mark.parametrize("other", ["chunk_0.onnx", "chunk_0.onnx.data", "runtime", "processor"])
def test_a_form_for_another_is_made_again(other, source, monkeypatch):
    if other.startswith("chunk"):
        (source.parent / other).write_bytes(b"another")
    if other == "processor":
        monkeypatch.setattr(compiled, "processor", lambda: "another")
    form = Compiled(source, ".ort", "runtime 2" if other == "runtime" else "runtime 1")
    with pytest.warns(Notice, match="made again"):
        assert not form.fits()
