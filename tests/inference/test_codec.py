"""`python -m inference.codec`: a recording to codes and back, and clear refusals. Random weights."""

import json

import numpy as np
import pytest
import soundfile
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from inference.codec import decode, main
from models.codec import MelCodec
from models.vocoder import Vocoder


@pytest.fixture
def recording(tmp_path):
    time = np.arange(21_000) / 16_000  # no whole number of frames
    path = tmp_path / "in.wav"
    soundfile.write(path, 0.3 * np.sin(2770 * time), 16_000)
    return path


@pytest.fixture
def run(nano_omni_dir, capsys):
    def call(*arguments, code: int = 0) -> str:
        try:
            done = main([*map(str, arguments), "--ckpt_dir", str(nano_omni_dir)])
        except SystemExit as left:  # argparse's own refusals
            done = left.code
        out, err = capsys.readouterr()
        assert (done, out) == (code, ""), err
        if code:
            assert "error: " in err.strip().splitlines()[-1]
        return err

    return call


@torch.inference_mode()
def sound_of(codes, folder) -> np.ndarray:
    """All samples of a file of codes, beyond the recording's own."""
    codec, vocoder = MelCodec.from_pretrained(folder, "codec"), Vocoder.from_pretrained(folder, "vocoder")
    with safe_open(codes, "pt") as file:
        frames = file.get_tensor("codes").long()
    wave = decode(codec.eval(), vocoder.eval(), frames, 8, "neural")
    assert len(wave) > 21_000
    return np.asarray(wave).clip(-1, 1)


def test_there_and_back(run, recording, tmp_path, nano_omni_dir):
    codes, back = tmp_path / "c.safetensors", tmp_path / "back.wav"
    assert "33 frames × 8 codebooks" in run("encode", recording, codes)
    with safe_open(codes, "pt") as file:
        assert file.get_tensor("codes").shape == (33, 8)
        assert json.loads(file.metadata()["codec"])["samples"] == 21_000
    assert "from 8 codebooks" in run("decode", codes, back)
    assert soundfile.info(back).frames == 21_000
    assert np.abs(soundfile.read(back)[0] - sound_of(codes, nano_omni_dir)[:21_000]).max() < 1e-4
    whole = back.read_bytes()
    run("decode", codes, back, "--codebooks", 8)
    assert back.read_bytes() == whole
    for flags in (("--codebooks", 1), ("--vocoder", "griffinlim")):
        run("decode", codes, back, *flags)
        assert soundfile.info(back).frames == 21_000
        assert back.read_bytes() != whole


@torch.inference_mode()
def test_chunks_equal_one_call(nano_omni_dir):
    codec = MelCodec.from_pretrained(nano_omni_dir, "codec")
    vocoder = Vocoder.from_pretrained(nano_omni_dir, "vocoder")
    codes = torch.randint(0, 64, (90, 8), generator=torch.Generator().manual_seed(0))
    mel = codec.decode(codes[None])
    whole = vocoder(mel)[0]
    assert (decode(codec, vocoder, codes) - whole).abs().max() < 1e-3 * whole.abs().max()


def test_clear_refusals(run, recording, tmp_path):
    codes, out = tmp_path / "c.safetensors", tmp_path / "o.wav"
    run("encode", recording, codes)
    run("encode", tmp_path / "absent.wav", codes, code=2)
    run("encode", codes, codes, code=2)
    run("encode", recording, tmp_path / "c.npz", code=2)
    run("encode", recording, tmp_path / "none" / "c.safetensors", code=2)
    run("decode", recording, out, code=2)
    run("decode", tmp_path / "absent.safetensors", out, code=2)
    run("decode", codes, tmp_path / "o.mp4", code=2)
    for books in (0, -1, 9):
        run("decode", codes, out, "--codebooks", books, code=2)
    run("decode", codes, out, "--vocoder", "tape", code=2)
    with safe_open(codes, "pt") as file:
        about, values = file.metadata(), file.get_tensor("codes")
    other = json.loads(about["codec"]) | {"codebooks": "0" * 12}
    for made, meta in (
        (values, {"codec": json.dumps(other)}),
        (values + 64, about),
        (values[:0], about),
        (values[:, :2].contiguous(), about),
        (values, None),
    ):
        save_file({"codes": made}, codes, meta)
        run("decode", codes, out, code=2)
    assert not out.exists()
