"""tokenizer.json and its chat template give what models.tokenizer gives."""

import random
import shutil
from pathlib import Path

import pytest

from export.hf_tokenizer import FILES, main, write_hf_tokenizer
from inference import Omni
from models.tokenizer import SYMBOLS, Tokenizer

transformers = pytest.importorskip("transformers", reason="needs pip install transformers")
CONTROLS = ("<s>", "</s>", "<unk>", "<pad>")  # transformers reads these names in a text as the ids
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "checkpoints" / name for name in ("thinker_tiny", "omni_sft_tiny")]


def texts() -> list[str]:
    """1,000 texts: lines of the manual, shuffled words, random Unicode, awkward cases."""
    draw = random.Random(0)
    lines = [line for path in sorted((ROOT / "docs").rglob("*.md"))
             for line in path.read_text(encoding="utf-8").splitlines()
             if line and not any(symbol in line for symbol in (*SYMBOLS, *CONTROLS))]
    words = " ".join(lines).split()
    ranges = [(32, 126), (0, 0x7FF), (0x3000, 0xD000), (0x1F300, 0x1F6FF)]
    mixed = ["".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(20)) for _ in range(245)]
    odd = ["", "  a  b   \n\n c\t", "\u2581x\u2581", "a\0b", "<0x41>"]
    joined = [" ".join(draw.choices(words, k=12)) for _ in range(250)]
    return draw.sample(lines, 500) + joined + mixed + odd


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_auto_tokenizer_gives_our_ids_and_text(folder):
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours, cases = Tokenizer(folder / "tokenizer.model"), texts()
    assert len(cases) == 1000
    assert [c for c in cases if theirs(c).input_ids != ours.encode(c)] == []
    assert [c for c in cases if theirs.decode(ours.encode(c)) != c] == []
    assert theirs("<|user|>", split_special_tokens=True).input_ids == ours.encode("<|user|>")


def test_chat_template_gives_our_prompts():
    theirs = transformers.AutoTokenizer.from_pretrained(FOLDERS[1])
    ours = Tokenizer(FOLDERS[1] / "tokenizer.model")
    parts = [{"type": "image"}, {"type": "audio", "tokens": 7}, {"type": "text", "text": "What?"}]
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": parts},
                {"role": "assistant", "content": "A dog. "}, {"role": "user", "content": " hi"}]
    for opened in (True, False):
        made = theirs.apply_chat_template(messages, add_generation_prompt=opened, return_dict=True)
        assert made["input_ids"] == ours.encode_chat(messages, opened)
    with pytest.raises(Exception, match="use the roles"):
        theirs.apply_chat_template([{"role": "tool", "content": "x"}])


def test_pipeline_answers_as_we_do():
    omni = Omni.from_pretrained(FOLDERS[0])
    pipe = transformers.pipeline("text-generation", str(FOLDERS[0]))
    for question in ("Hello", "What is a dog?", "My name is Anna."):
        made = pipe([{"role": "user", "content": question}])[0]["generated_text"][-1]["content"]
        assert made == omni.chat(question, native="off")


def test_shipped_files_are_what_the_export_writes(tmp_path):
    for folder in FOLDERS:
        for name in ("config.json", "tokenizer.model"):
            shutil.copy(folder / name, tmp_path / name)
        write_hf_tokenizer(tmp_path)
        for name in FILES:
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_a_folder_without_a_tokenizer_is_one_line(tmp_path, capsys):
    assert main(["--ckpt_dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())
