"""Each stage's objective, at a tiny size, learns what it is for; from broken targets it does not.

What was learnt is measured here, not by the objective's own loss: an objective that asks for the wrong
thing may well get it. Each measure must fall below a share of its value before training, and must stay
above that share when the targets are broken.
"""

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from data.scenes.labels import PLANES
from data.shards import ShardReader
from data.speech.asr_corpus import build_hearing, dequantise_mel
from models.alignment import align
from models.ctc import ALPHABET, to_alphabet
from models.errors import UserError
from models.g2p import letters_to_ids
from models.mel import log_mel
from models.phones import IDS, PHONES
from models.prosody import TYPICAL_PITCH
from tests.conftest import ROOT
from tests.fixtures.photos import write_photos
from training.config import TrainConfig, load_preset
from training.objective import Objective, Paths, load_stage
from training.objectives.omni import KINDS
from training.objectives.talker import as_tensors, script_of
from training.objectives.tokenizer import train_tokenizer
from training.optimizer import make_optimizers

# Stage: its steps, batch size and learning rate; nano's networks.
TRAIN = {
    "thinker": {"steps": 60, "batch_size": 8, "lr": 0.005},
    "codec": {"steps": 80, "batch_size": 8, "lr": 0.003},
    "vocoder": {"steps": 60, "batch_size": 4, "lr": 0.003},
    "talker": {"steps": 90, "batch_size": 4, "lr": 0.005},
    "audio": {"steps": 170, "batch_size": 8, "lr": 0.005},
    "vision": {"steps": 140, "batch_size": 8, "lr": 0.003},
    "omni": {"steps": 50, "batch_size": 8, "lr": 0.005},
}
DATA = {
    "thinker": {"corpus": {"train_tokens": 20_000, "dev_tokens": 3_000, "test_tokens": 500}},
    "codec": {"speech": {"samples": 16}, "shares": {"samples": 1}},
    "vocoder": {"speech": {"samples": 16}, "shares": {"samples": 1}},
    "talker": {"speech": {"samples": 16}},
    "audio": {"clips": {"engines": 16}, "source": "samples", "noisy": 0.0, "masked": 0.0, "tempo": 0.0},
    "vision": {
        "scenes": 24, "signs": 0, "held_out": 8, "objects": "shapes", "photos": 16, "photos_of_set": 200,
        "small_scenes": 8,
        "photo_shares": {"cifar10": 6, "clothing_cc0": 6, "drawing": 4},
    },
    "omni": {"clips": 4, "held_out": 4, "objects": "shapes", "noisy": 0.0, "kinds": (),
             "shares": dict.fromkeys(KINDS, 0) | {"picture": 2, "photo": 1, "transcript": 1, "talk": 2,
                                                  "interleaved": 1, "english": 1}},
}
# Each measure, and the objective's own loss, falls below this share of what it was before training.
FALLS = {
    "thinker": {"next token": 0.58, "loss": 0.58},
    "codec": {"mel": 0.35, "loss": 0.3},
    "vocoder": {"mel": 0.6, "loss": 1.2},  # what the discriminators say comes on top
    "talker": {"codes": 0.42, "durations": 0.55, "pitch": 0.9, "phones": 0.22, "loss": 0.6},
    "audio": {"letters": 0.16, "text tokens": 0.7, "loss": 0.3},
    "vision": {"colours": 0.8, "names": 0.5, "names read": 0.5, "loss": 0.7},
    "omni": {"answers": 0.5, "thoughts": 0.5, "loss": 0.6},
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> Paths:
    """Generated data, and what the stages before others leave."""
    folder = tmp_path_factory.mktemp("stages")
    paths = Paths(folder / "data", folder / "runs", None, "nano")
    for stage in ("tokenizer", "thinker", "codec"):
        paths.final(stage).mkdir(parents=True)
    lines = (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()
    train_tokenizer(lines, paths.final("tokenizer") / "tokenizer.model", 512)
    load_stage("thinker").prepare(section("thinker"), paths)
    load_stage("codec").prepare(section("codec"), paths)
    for name, split, count in (("speech_engines_train", "train", 16), ("hearing_dev", "dev", 4)):
        build_hearing(paths.data / name, count, 1, split, source="samples")
    torch.manual_seed(0)
    load_stage("thinker").build(section("thinker"), paths).save(paths.final("thinker"))
    codec = load_stage("codec").build(section("codec"), paths)
    learn(codec, section("codec"))
    codec.save(paths.final("codec"))
    for corpus, name, green in (("cifar10", "cat", 200), ("clothing_cc0", "hat", 20)):
        images = [Image.new("RGB", (32, 32), (2 * i, green, 40)) for i in range(120)]
        write_photos(folder / "real", corpus, images, [0] * 120, [name, "dog"])
    load_stage("vision").prepare(section("vision"), replace(paths, real=folder / "real"))
    load_stage("vision").build(section("vision"), paths).save(made_folder(paths, "vision"))
    audio = load_stage("audio").build(section("audio"), paths).model
    audio.audio.save_pretrained(made_folder(paths, "audio"))
    audio.projector.save_pretrained(paths.final("audio") / "projector")
    load_stage("omni").prepare(section("omni"), paths)
    return paths


def made_folder(paths: Paths, stage: str) -> Path:
    """Where a stage leaves its parts."""
    paths.final(stage).mkdir(parents=True)
    return paths.final(stage)


def section(stage: str) -> dict:
    """Settings of preset nano, with fewer and larger steps on less data."""
    config = copy.deepcopy(load_preset("nano")[stage])
    config["train"] |= TRAIN[stage] | {"warmup_steps": 5, "dtype": "float32"}
    config["data"] |= DATA[stage]
    if stage == "thinker":
        config["model"]["vocab_size"] = 512
    return config | {"seed": 0, "preset": "nano", "workers": 1}


def learn(objective: Objective, config: dict, broken: Callable | None = None) -> list[float]:
    """Train as the loop does; the loss of each step."""
    settings = TrainConfig.from_dict(config["train"])
    optimizers = make_optimizers(objective.model, settings)
    objective.model.train()
    losses = []
    for step in range(settings.steps):
        batch = objective.batch(step, 0, 1)
        loss = objective.model(broken(batch) if broken else batch)
        (loss.total / loss.weight).backward()
        torch.nn.utils.clip_grad_norm_(objective.model.parameters(), settings.clip)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(float((loss.total / loss.weight).detach()))
    objective.model.eval()
    return losses


def speech(paths: Paths) -> list[dict]:
    """The first aligned training utterances, whole code frames long, with their mel (1, 128, T)."""
    reader, out = ShardReader(paths.data / "samples_train"), []
    for index in range(8):
        record = reader[index]
        wave = torch.from_numpy(record["wave"] / 32768.0).float()  # (samples,)
        wave = wave[: len(wave) // 640 * 640]
        out.append(record | {"wave": wave, "mel": log_mel(wave[None])})
    return out


def of_thinker(objective, paths: Paths) -> dict[str, float]:
    """Nats a token of unseen text."""
    ids = torch.from_numpy(np.fromfile(paths.data / "corpus" / "dev.bin", np.uint16).astype(int))
    rows = ids[:1280].view(10, 128)
    logits = objective.model.thinker(rows)[:, :-1]  # (10, 127, V)
    return {"next token": float(F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()))}


def of_codec(objective, paths: Paths) -> dict[str, float]:
    """Nats between a mel and what its codes decode to."""
    codec = objective.model.codec
    errors = [(codec.decode(codec.encode(s["mel"])) - s["mel"]).abs().mean() for s in speech(paths)]
    return {"mel": float(sum(errors)) / len(errors)}


def of_vocoder(objective, paths: Paths) -> dict[str, float]:
    """Nats between a mel and that of the waveform made from it."""
    vocoder = objective.model.vocoder
    errors = [(log_mel(vocoder(s["mel"])) - s["mel"]).abs().mean() for s in speech(paths)]
    return {"mel": float(sum(errors)) / len(errors)}


def of_talker(objective, paths: Paths) -> dict[str, float]:
    """Nats a code beside those of another frame's, errors of durations and pitch, nats a phone of a word."""
    talker, frontend = objective.model.talker, objective.model.frontend
    totals = {"codes": [], "durations": [], "pitch": [], "phones": []}
    for said in speech(paths):
        codes = objective.train.codec.encode(said["mel"])  # (1, T, K)
        row = {name: value[None] for name, value in as_tensors(said).items()}
        seconds, script = row["seconds"], script_of(row)
        where = align(seconds, talker.config.frame_seconds, torch.tensor([codes.shape[1]]))
        for number, logits in enumerate(talker(script, where, codes)):  # (1, T, C)
            totals["codes"].append(torch.tensor(beside_another(logits[0], codes[0, :, number])))
        made = frontend.prosody(script.phones, script.starts, script.marks, script.voice)  # (1, P, 3)
        voiced = script.hertz > 0
        octaves = (script.hertz[voiced] / TYPICAL_PITCH).log2()
        totals["pitch"].append((made[..., 1][voiced] - octaves).abs().mean())
        made, _ = frontend.prosody.predict(script.phones, script.starts, script.marks, script.voice)
        totals["durations"].append((made.log() - seconds.clamp(min=0.01).log()).abs().mean())
        for number, text in enumerate(said["words"]):
            sounds = [IDS[phone] for phone, *_, w, _ in said["phones"] if w == number]
            scores = frontend.g2p(letters_to_ids([text])).transpose(0, 1)  # (S, 1, phones)
            totals["phones"].append(nats_a_label(scores, sounds))
    return {name: float(sum(values)) / len(values) for name, values in totals.items()}


def of_audio(objective, paths: Paths) -> dict[str, float]:
    """Nats a letter by CTC, and nats a text token where it is likeliest in the clip."""
    reader, model = ShardReader(paths.data / "speech_engines_train"), objective.model
    letters, tokens = [], []
    for index in range(8):
        record = reader[index]
        mel = dequantise_mel(record["mel"])[None]  # (1, 128, T)
        encoded = model.audio(mel, torch.tensor([mel.shape[2]]))
        labels = [ALPHABET.index(c) + 1 for c in to_alphabet(record["text"])]
        letters.append(nats_a_label(model.audio.ctc_log_probs(encoded).transpose(0, 1), labels))
        ids = torch.tensor(objective.tokenizer.encode(record["text"]))
        tokens.append(-model.text_tokens(encoded)[0, :, ids].amax(0).mean())
    return {"letters": float(sum(letters)) / 8, "text tokens": float(sum(tokens)) / 8}


def of_vision(objective, paths: Paths) -> dict[str, float]:
    """Nats of a thing's colour and a photograph's name, by the head and as it reads, beside those of
    another thing's or photograph's, since few are frequent."""
    model, photos = objective.model, objective.photos
    reader = ShardReader(paths.data / "scenes_train")
    batch = objective.items([reader[i] for i in range(16)])
    things, colours = (batch["cells"][:, PLANES.index(plane)].flatten() for plane in ("object", "color"))
    tokens = model.vision(batch["pixels"])[:, :-1]  # (16, 49, D)
    logits = model.heads["color"](tokens).flatten(0, 1)[things > 0]
    small, name = (np.concatenate([found[i] for found in photos.sets.values()]) for i in (0, 1))
    whole, name = model.vision.global_token(torch.from_numpy(small)), torch.from_numpy(name)
    return {
        "colours": beside_another(logits, colours[things > 0]),
        "names": beside_another(model.heads["name"](whole), name),
        "names read": beside_another(model.reader.names_read(whole), name),
    }


def beside_another(logits: Tensor, labels: Tensor) -> float:
    """Nats of labels, as a share of those of the same labels in another order."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    return float(F.cross_entropy(logits, labels) / F.cross_entropy(logits, labels[order]))


def of_omni(objective, paths: Paths) -> dict[str, float]:
    """Nats a token of answers and of chains of thought about training pictures."""
    tokenizer, totals = objective.tokenizer, {"answers": [], "thoughts": []}
    for index in range(12):
        sample = objective.sample("picture", random.Random(index), "train", 0.5)
        batch = objective.collate([sample])
        ids, learnt = batch["ids"][0], batch["targets"][0] != -100  # (L,)
        thought = (ids == tokenizer.think).cumsum(0) > (ids == tokenizer.think_end).cumsum(0)
        logits = objective.model.logits(batch, torch.ones_like(batch["ids"], dtype=torch.bool))  # (L, V)
        nats = F.cross_entropy(logits[:-1], ids[1:], reduction="none")
        totals["answers"] += nats[(learnt & ~thought)[:-1]].tolist()
        totals["thoughts"] += nats[(learnt & thought)[:-1]].tolist()
    return {name: sum(values) / len(values) for name, values in totals.items()}


def nats_a_label(scores: Tensor, labels: list[int]) -> Tensor:
    """CTC loss of one row, (S, 1, classes), over how many labels it has."""
    sizes = torch.tensor([len(scores)]), torch.tensor([len(labels)])
    return F.ctc_loss(scores, torch.tensor([labels]), *sizes, reduction="sum") / len(labels)


MEASURES = {
    "thinker": of_thinker, "codec": of_codec, "vocoder": of_vocoder, "talker": of_talker, "audio": of_audio,
    "vision": of_vision, "omni": of_omni,
}


def shuffled(x: Tensor) -> Tensor:
    """Another order of dimension 1."""
    return x[:, torch.randperm(x.shape[1])]


def broken_talker(batch: dict) -> dict:
    """Codes, durations and phones of words in another order, and pitch upside down."""
    other = torch.cat([torch.zeros(1).long(), 1 + torch.randperm(len(PHONES) - 1)])  # padding stays
    words = batch["words"] | {"sounds": other[batch["words"]["sounds"]]}
    seconds, hertz = batch["seconds"].roll(1, 1), batch["hertz"]
    mirrored = torch.where(hertz > 0, TYPICAL_PITCH**2 / hertz.clamp(min=1), 0)  # high is low
    broken = {"codes": shuffled(batch["codes"]), "seconds": seconds, "hertz": mirrored}
    return batch | broken | {"words": words}


def broken_audio(batch: dict) -> dict:
    """Another clip's text for each clip."""
    return batch | {key: batch[key][1:] + batch[key][:1] for key in ("letters", "text_tokens", "ends")}


def broken_vision(batch: dict) -> dict:
    """Another scene's cells, and another photograph's name."""
    order = torch.randperm(len(batch["photos"]["name"]))
    photos = batch["photos"] | {"name": batch["photos"]["name"][order]}
    return batch | {"cells": batch["cells"].roll(1, 0), "photos": photos}


def broken_omni(batch: dict) -> dict:
    """Tokens to be learnt in another order."""
    targets = batch["targets"].clone()
    learnt = targets != -100
    targets[learnt] = targets[learnt][torch.randperm(int(learnt.sum()))]
    return batch | {"targets": targets}


BROKEN = {
    "thinker": shuffled,
    "codec": None,  # its loss is broken instead
    "vocoder": lambda batch: batch | {"wave": batch["wave"].roll(1, 0)},
    "talker": broken_talker,
    "audio": broken_audio,
    "vision": broken_vision,
    "omni": broken_omni,
}


def trained(stage: str, paths: Paths, broken: Callable | None = None) -> dict[str, float]:
    """Each measure after training, and the loss of the last steps, as shares of what they were."""
    torch.manual_seed(0)
    config = section(stage)
    objective = load_stage(stage).build(config, paths)
    objective.model.eval()
    with torch.inference_mode():
        before = MEASURES[stage](objective, paths)
    losses = learn(objective, config, broken)
    with torch.inference_mode():
        after = MEASURES[stage](objective, paths)
    shares = {name: after[name] / before[name] for name in before}
    return shares | {"loss": sum(losses[-5:]) / 5 / losses[0]}


def test_a_token_stream_of_other_options_is_refused(paths):
    config = section("thinker")
    load_stage("thinker").prepare(config, paths)  # as it is there
    config["data"]["corpus"] = config["data"]["corpus"] | {"conversation_share": 0.125}
    with pytest.raises(UserError, match="conversation_share .*, not 0.125: remove it"):
        load_stage("thinker").prepare(config, paths)


@pytest.mark.parametrize("stage", TRAIN)
def test_an_objective_learns_what_it_is_for(stage, paths):
    fallen = trained(stage, paths)
    assert fallen.keys() == FALLS[stage].keys()
    assert all(fallen[name] < most for name, most in FALLS[stage].items()), fallen


@pytest.mark.parametrize("stage", TRAIN)
def test_from_broken_targets_it_is_not_learnt(stage, paths, monkeypatch):
    if stage == "codec":  # input and target are one in its batches: the loss compares with another clip
        module = load_stage(stage)
        mel_loss = module.mel_loss
        monkeypatch.setattr(module, "mel_loss", lambda made, true: mel_loss(made, true.roll(1, 0)))
    fallen = trained(stage, paths, BROKEN[stage])
    assert all(fallen[name] > most for name, most in FALLS[stage].items() if name != "loss"), fallen


@pytest.mark.parametrize(("kind", "medium"), [("transcript", "sounds"), ("photo", "images")])
def test_an_answer_depends_on_what_is_heard_and_seen(kind, medium, paths):
    objective = load_stage("omni").build(section("omni"), paths)
    objective.model.eval()
    one = objective.sample(kind, random.Random(0), "train", 0.5)
    (own,) = one[medium]
    drawn = (objective.sample(kind, random.Random(i), "train", 0.5)[medium][0] for i in range(1, 20))
    other = next(item for item in drawn if not np.array_equal(item, own))
    if medium == "sounds":
        other = np.resize(other.T, own.T.shape).T  # as long
    batches = [objective.collate([one | {medium: [item]}]) for item in (own, other)]
    with torch.inference_mode():
        with_own, with_other = (float(objective.model(batch).total) for batch in batches)
    assert abs(with_own - with_other) > 1e-4 * with_own


@pytest.mark.parametrize("stage", ["codec", "vocoder"])
@pytest.mark.parametrize("world", [2, 4])
def test_slices_of_a_batch_are_the_batch(stage, world, paths):
    """Whatever is drawn for a crop, and whether it passes the codec, belongs to its place in the batch."""
    objective = load_stage(stage).build(section(stage), paths)
    whole = objective.batch(3, 0, 1)["mel"]
    parts = torch.cat([objective.batch(3, rank, world)["mel"] for rank in range(world)])
    assert torch.allclose(parts, whole, atol=1e-3)
    if stage == "vocoder":
        true = log_mel(objective.batch(3, 0, 1)["wave"])
        as_it_is = (whole - true).abs().amax((1, 2)) < 1e-5
        assert as_it_is.tolist() == [i % 4 == 0 for i in range(len(whole))]
