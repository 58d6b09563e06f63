"""The shipped weights do what they are for, and the controls that must fail do fail."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchaudio.functional import edit_distance

from data.scenes.scoring import score
from data.speech.samples import samples
from inference import Omni, generate
from inference.normalisation import normalise
from inference.speech import TEMPERATURE
from models.alignment import align
from models.codec import MelCodec
from models.image import image_to_tensor
from models.mel import log_mel
from models.talker import Talker
from models.thinker import Thinker
from training.config import check_same, identity, load_preset
from training.objective import COUNTED, STAGES
from training.objectives.talker import as_tensors, script_of

ROOT = Path(__file__).resolve().parent.parent
OLDER = {"thinker", "vision", "audio", "omni", "codec", "vocoder", "talker"}  # of settings before the recipe
SCENES = Path(__file__).parent / "fixtures" / "scenes"


@pytest.fixture(scope="module")
def omni() -> Omni:
    return Omni.from_pretrained()


def words(text: str) -> list[str]:
    return "".join(c for c in text.lower() if c.isalnum() or c in " '").split()


@torch.no_grad()
def test_thinker_equals_transformers():
    from transformers import AutoModelForCausalLM

    folder = ROOT / "checkpoints" / "thinker_tiny"
    ours = Thinker.from_pretrained(folder)
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.randint(4, 4096, (2, 64), generator=torch.Generator().manual_seed(0))
    assert (ours(ids) - theirs(ids).logits).abs().max() < 1e-4


def test_transformers_generates_the_same_greedy_tokens():
    from transformers import AutoModelForCausalLM

    folder = ROOT / "checkpoints" / "thinker_tiny"
    ours = Omni.from_pretrained(folder)
    theirs = AutoModelForCausalLM.from_pretrained(folder)
    for question in ("Hello, how are you?", "What is the capital of France?", "What is 3 plus 4?"):
        prompt = ours.tokenizer.encode_chat([{"role": "user", "content": question}])
        out = theirs.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=40,
            eos_token_id=2, pad_token_id=3,
        )[0, len(prompt) :].tolist()
        reply = ours.chat(question, max_new_tokens=40)
        assert reply == ours.tokenizer.decode([i for i in out if i != 2])


def test_pictures_are_seen_and_a_blank_one_is_not(omni):
    asked = json.loads((SCENES / "questions.json").read_text())
    blank = Image.new("RGB", (224, 224), (128, 128, 128))
    requests, truths = [], []
    for index, questions in enumerate(asked):
        for q in questions:
            image = Image.open(SCENES / f"{index:02d}.jpg")
            requests.append({"text": q["question"], "image": image})
            truths.append(q)
    seen = omni.batch(requests)
    unseen = omni.batch([r | {"image": blank} for r in requests])
    right = sum(map(score, seen, truths)) / len(truths)
    by_chance = sum(map(score, unseen, truths)) / len(truths)
    assert right > 0.7
    assert right - by_chance > 0.4


@torch.inference_mode()
def test_the_tokens_of_a_photograph_are_all_different(omni):
    colours = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    photo = Image.fromarray(colours).resize((224, 224), Image.Resampling.BICUBIC)
    (tokens,) = omni.model.encode_images(image_to_tensor(photo)[None])  # (50, D)
    assert tokens.shape[0] == 50
    assert torch.pdist(tokens.float()).min() > 0.01 * tokens.norm(dim=1).mean()


def test_answers_follow_what_was_thought(omni):
    """The control: with another picture's thinking, another picture is told of."""
    asked = omni.take("What do you see?", str(ROOT / "examples" / "sample_image.png"))
    config = omni.config()
    (turn,) = omni.turns([asked], config, omni.room(config))
    said = omni.tokenizer.decode(generate(omni.model, omni.head(None, config) + turn, config))
    assert "dog" in said and "star" in said
    start = turn.ids.index(omni.tokenizer.think)
    thought = "On a white background: large pink heart one middle. So: a pink heart."
    ids = [*turn.ids[: start + 1], *omni.tokenizer.encode(thought), omni.tokenizer.think_end]
    other = omni.head(None, config) + replace(turn, ids=ids)
    assert "heart" in omni.tokenizer.decode(generate(omni.model, other, config))


def parts_that_run(model, ask) -> dict[str, int]:
    """How often each part of the model runs while `ask` is answered."""
    counts: dict[str, int] = {}
    hooks = [
        part.register_forward_hook(lambda *_, name=name: counts.update({name: counts.get(name, 0) + 1}))
        for name, part in model.named_children()
    ]
    hooks.append(model.audio.ctc.register_forward_hook(
        lambda *_: counts.update({"ctc_head": counts.get("ctc_head", 0) + 1})
    ))
    ask()
    for hook in hooks:
        hook.remove()
    return counts


def test_each_medium_is_encoded_once_a_request(omni):
    session = omni.session()
    image = str(ROOT / "examples" / "sample_image.png")
    counts = parts_that_run(omni.model, lambda: session.ask("How many things?", image=image))
    assert counts.pop("vision") == counts.pop("vision_projector") == 1
    assert counts.keys() <= {"thinker"}
    assert "vision" not in parts_that_run(omni.model, lambda: session.ask("What color is the star?"))
    sound = str(ROOT / "examples" / "sample_audio.wav")
    counts = parts_that_run(omni.model, lambda: omni.transcribe(sound))
    assert counts.pop("audio") == counts.pop("audio_projector") == counts.pop("ctc_head") == 1
    assert counts.keys() <= {"thinker"}
    question = str(ROOT / "examples" / "question.wav")
    counts = parts_that_run(omni.model, lambda: omni.chat(image=image, audio=question))
    assert counts["audio"] == counts["vision"] == 1


def test_speech_is_heard_and_shuffled_speech_is_not(omni):
    clips = samples("test")
    heard = [words(omni.transcribe((c["wave"] / 32768.0, 16_000))) for c in clips]
    true = [words(c["text"]) for c in clips]
    total = sum(map(len, true))
    error = sum(map(edit_distance, true, heard)) / total
    shuffled = sum(map(edit_distance, true, heard[1:] + heard[:1])) / total
    assert error < 0.6
    assert shuffled - error > 0.3


@torch.inference_mode()
def test_streamed_speech_equals_one_call_of_each_network(omni):
    speaker, text = omni.speaker, "The red circle is above the blue square, near the house."
    chunks = list(speaker.sounds(text, "emma", seed=1))
    ready = speaker.frontend(normalise(text), "emma")
    codes, _ = speaker.talker.generate(ready.script, ready.seconds, TEMPERATURE, 1)
    mel = speaker.codec.decode(codes)
    whole = speaker.vocoder(mel)[0].numpy()
    assert len(chunks) > 1
    assert abs(np.concatenate(chunks) - whole).max() < 1e-2 * abs(whole).max()


@torch.no_grad()
def test_shuffled_text_makes_the_talker_clearly_worse():
    folder = ROOT / "checkpoints" / "omni_sft_tiny"
    codec, talker = (kind.from_pretrained(folder, name) for kind, name in
                     ((MelCodec, "codec"), (Talker, "talker")))
    talker.set_codebooks(codec.quantizer.codebooks)
    losses = {"true": 0.0, "shuffled": 0.0}
    for clip in samples("test"):
        wave = torch.from_numpy(clip["wave"] / 32768.0).float()
        codes = codec.encode(log_mel(torch.nn.functional.pad(wave, (0, -len(wave) % 640)))[None])
        said = {name: value[None] for name, value in as_tensors(clip).items()}
        where = align(said["seconds"], talker.config.frame_seconds, torch.tensor([codes.shape[1]]))
        order = torch.randperm(said["phones"].shape[1], generator=torch.Generator().manual_seed(0))
        for name, phones in (("true", said["phones"]), ("shuffled", said["phones"][:, order])):
            first = talker(script_of(said | {"phones": phones}), where, codes)[0]
            losses[name] += float(torch.nn.functional.cross_entropy(first[0], codes[0, :, 0]))
    assert losses["shuffled"] > losses["true"] + 0.5 * len(samples("test"))


@pytest.mark.parametrize("stage", STAGES)
def test_records_are_single_runs_of_the_preset(stage):
    if stage in OLDER:
        pytest.skip(f"{stage}: these weights are older than the recipe")
    record = json.loads((ROOT / "checkpoints" / "omni_sft_tiny" / "training" / f"{stage}.json").read_text())
    recipe = identity(stage, "tiny", 0, load_preset("tiny")[stage])
    check_same({key: record.get(key, {}) for key in recipe}, recipe, ROOT)
    if stage not in COUNTED:
        one_command = (f"train.py {stage} --preset tiny", "train.py all --preset tiny")
        assert record["command"].startswith(one_command)
        assert record["steps"] == recipe["train"]["steps"] and record["seconds"] > 0
