"""The Hugging Face folder for vLLM: written again only where this command wrote it."""

import shutil

from export.hf_tokenizer import FILES
from export.vllm import MARK, main
from models.thinker import Thinker


def test_another_checkpoint_is_never_written_over(nano_text_dir, tmp_path, capsys):
    source, out, other = (tmp_path / name for name in ("source", "out", "other"))
    shutil.copytree(nano_text_dir, source)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (source / name).write_text(f'{{"made_for": "{name}"}}')
    shutil.copytree(source, other)
    before = {path.name: path.read_bytes() for path in other.iterdir()}
    for folder, code in ((out, 0), (out, 0), (other, 2), (source, 2)):
        assert main(["--ckpt_dir", str(source), "--out", str(folder)]) == code
    assert "was not written by this command" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before
    assert (out / MARK).is_file() and Thinker.from_pretrained(out)
    assert [(out / name).read_bytes() for name in FILES] == [(source / name).read_bytes() for name in FILES]
