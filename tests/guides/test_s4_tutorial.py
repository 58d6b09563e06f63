"""Guide S4, this project's own tutorial: the rows that tests/inference/test_guides.py does not run."""

import numpy as np
import pytest
import soundfile
import torch
from PIL import Image

import infer_chat
from inference import generate
from inference.audio import load_audio
from inference.tutorial import (
    AudioEncoderTiny,
    TalkerChain,
    ThinkerLM,
    ViTTiny,
    generate_audio,
    generate_audio_codes,
    load_projectors,
    mel_spec,
    transform,
)
from models.errors import UserError
from models.projector import Projector
from tests.conftest import ROOT

IMAGE, SOUND = ROOT / "examples" / "sample_image.png", ROOT / "examples" / "sample_audio.wav"
VIDEO = ROOT / "examples" / "sample_video.mp4"


@pytest.fixture(scope="module")
def chain(env):
    return TalkerChain.from_pretrained(env.omni_folder)


def projector(folder, name: str, key: str) -> Projector:
    """A projector with the weights that the chapter's `omni.pt` has under a key."""
    made = Projector.from_pretrained(folder, name)
    made.load_state_dict(load_projectors(folder)[key])
    return made.eval()


@torch.inference_mode()
def test_picture_sound_and_text_are_put_together(env):
    vision_encoder = ViTTiny.from_pretrained(env.omni_folder)
    cls_token, grid = vision_encoder(transform(Image.open(IMAGE)))
    img_emb = projector(env.omni_folder, "vision_projector", "proj_v")(cls_token)
    audio_encoder = AudioEncoderTiny.from_pretrained(env.omni_folder)
    encoded = audio_encoder(mel_spec(torch.as_tensor(load_audio(SOUND))))
    audio_emb = projector(env.omni_folder, "audio_projector", "proj_a")(encoded)
    think = ThinkerLM(env.model.thinker)
    width = env.model.thinker.config.hidden_size
    assert grid.shape[1] == 49 and img_emb.shape == (1, 1, width) and audio_emb.shape[2] == width
    assert think.tok_emb(env.input_ids).shape == (1, 4, width)
    multimodal_emb = torch.cat([img_emb, audio_emb], dim=1)
    given = {"ctx": 512, "max_new": 4, "multimodal_emb": multimodal_emb}
    assert isinstance(generate(think, env.tokenizer, "What is it?", **given), str)
    assert generate(think, env.tokenizer, "Hi", 3) == generate(think, env.tokenizer, "Hi", max_new=3)


def test_evaluation_mode_is_asked_of_each(env, chain):
    made = (ThinkerLM(env.model.thinker), ViTTiny.from_pretrained(env.omni_folder),
            AudioEncoderTiny.from_pretrained(env.omni_folder), chain)  # fmt: skip
    assert all(one.eval() is one for one in made)


@torch.inference_mode()
def test_ids_may_be_lists(env):
    """The chapter's loop: `model(ids)`, then `model([[next_id]])`."""
    think, ids = ThinkerLM(env.model.thinker), [1, 40, 50, 60]
    whole = think(env.input_ids)
    assert torch.equal(think(ids), whole) and torch.equal(think([ids]), whole)
    assert think.tok_emb(ids).shape == (4, env.model.thinker.config.hidden_size)
    think.enable_kv_cache(True)
    think(ids[:3])
    assert torch.allclose(think([[60]])[:, -1], whole[:, -1], atol=1e-4)


def test_weights_go_into_a_thinker(env):
    think = ThinkerLM.from_pretrained(env.folder)
    whole = think(env.input_ids)
    think.load_state_dict(env.model.thinker.state_dict())
    assert torch.allclose(think(env.input_ids), whole, atol=1e-4)


def test_the_same_input_gives_the_same_output(env):
    assert not any(module.training for module in env.model.modules())
    assert env.omni.chat("Hello", max_new_tokens=6) == env.omni.chat("Hello", max_new_tokens=6)


def test_speech_by_functions(chain, tmp_path):
    codes = generate_audio_codes(chain, "Hello world", max_frames=9)
    assert codes.shape[:2] == (1, 9)
    audio = generate_audio(chain, chain.rvq, chain.vocoder, "Hello world", "cpu", max_frames=9)
    assert audio.dtype == np.float32 and len(audio) == 9 * 4 * 160
    soundfile.write(tmp_path / "output.wav", audio, 16000)
    assert soundfile.info(tmp_path / "output.wav").samplerate == 16000
    with pytest.raises(UserError, match="max_frames"):
        generate_audio_codes(chain, "Hello world", max_frames=0)


def test_no_more_frames_are_made_than_asked_for(chain, monkeypatch):
    made = []
    frames = (made.append(i) or torch.zeros(1, 4) for i in range(100))
    monkeypatch.setattr(chain.speaker, "codes", lambda *_: (None, frames))
    assert chain.generate_audio_codes("Hello", max_frames=5).shape == (1, 5, 4)
    assert len(made) == 5


@pytest.mark.parametrize("text, device, said", [
    ([1, 40, 50], "cpu", "reads a text, not list"), (None, "cpu", "reads a text"),
    ("", "cpu", "nothing to say"),
    ("Hi.", "nowhere", "cannot use the device 'nowhere'"),
])  # fmt: skip
def test_what_cannot_be_spoken_is_one_line(chain, text, device, said):
    with pytest.raises(UserError, match=said):
        generate_audio(chain, chain.rvq, chain.vocoder, text, device, max_frames=3)


def test_longer_texts_sound_longer(chain):
    short, long = (generate_audio_codes(chain, text).shape[1] for text in ("Hi.", "Hello to all of you."))
    assert short < long


@pytest.mark.parametrize("flags", [
    ["--text", "Hello, how are you?"], ["--prompt", "Hello"],
    ["--image", str(IMAGE), "--text", "What do you see?"], ["--image", str(IMAGE), "--prompt", "How many?"],
    ["--audio_in", str(SOUND), "--text", "What did you hear?"], ["--video", str(VIDEO), "--text", "And?"],
], ids=lambda flags: " ".join(flag for flag in flags if flag.startswith("--")))  # fmt: skip
def test_documented_flags(env, flags, capsys):
    asked = ["--ckpt_dir", str(env.omni_folder), "--max_new_tokens", "3", "--no_think", "--num_beams", "1"]
    assert infer_chat.main(asked + flags) == 0
    assert capsys.readouterr().out.endswith("\n")


def test_text_to_speech(env, tmp_path):
    out = tmp_path / "output.wav"
    asked = ["--ckpt_dir", str(env.omni_folder), "--say", "Hello world", "--audio_out", str(out)]
    assert infer_chat.main(asked) == 0 and soundfile.info(out).samplerate == 16000


@pytest.mark.parametrize("word", ["exit", "quit", "q", "EXIT", "Quit"])
def test_interactive_mode_is_left_by(env, word, monkeypatch, capsys):
    lines = iter(["Hello", word, "never read"])
    monkeypatch.setattr("builtins.input", lambda *_: next(lines))
    assert infer_chat.main(["--ckpt_dir", str(env.folder), "--max_new_tokens", "3"]) == 0
    banner, _, said = capsys.readouterr().out.partition("\n")
    assert list(lines) == ["never read"] and "exit leaves" in banner and said.startswith("μOmni: ")


def test_a_wrong_folder_is_one_line(capsys):
    assert infer_chat.main(["--ckpt_dir", "checkpoints/nope", "--text", "Hello"]) == 2
    assert "does not exist" in capsys.readouterr().err
