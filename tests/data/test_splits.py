"""What makes data hands each part of it the split it was asked for: nothing of train is in dev or test."""

import gzip
import io
import json
import random
import re
import tarfile

import numpy as np
import pytest
import soundfile
from PIL import Image

from data.corpus import dialogue_documents, plain_documents
from data.dialogue.out_of_scope import quiz, quiz_split
from data.readers import cutouts
from data.scenes import captions, paraphrases
from data.scenes.build import SEEDS, MakeClip, MakeScene, MakeSeveral
from data.scenes.clips import sample_clip
from data.scenes.objects import held_out, held_out_background
from data.scenes.photos import build_photos
from data.scenes.sampling import sample_scene
from data.shards import ShardReader
from data.speech import asr_corpus, sentences, speaking_sets, teachers
from data.speech.asr_recorded import build_real_hearing
from data.speech.voices import HEARING, KOKORO_HELD_OUT, LISTS
from data.text import SPLITS
from models.tokenizer import Tokenizer
from tests.fixtures.photos import write_photos

HELD = ("dev", "test")
TRAIN = set(sentences.ordinary("train"))


@pytest.mark.parametrize("split", HELD)
def test_what_is_heard_is_of_its_split(split, monkeypatch):
    asked = {"question": split, "kind": "greeting"}
    monkeypatch.setattr(
        asr_corpus, "user_sentences", lambda rng, of: iter([asked | {"question": of}])
    )
    for i in range(300):
        said = asr_corpus.hearing_text(random.Random(i), split, None)
        if said["kind"] == "sentence":
            assert said["text"] not in TRAIN
        elif said["kind"] == "talk_question":
            assert said["text"] == split
        elif said["kind"] == "scene_question" and i < 60:
            record = MakeScene(SEEDS[split], split).describe(said["scene"])[1]
            assert said["question"] in record["questions"]
    natural = asr_corpus.HearingMaker(0, split, voices="kokoro")
    assert not {natural.said(random.Random(i))["text"] for i in range(60)} & TRAIN


@pytest.mark.parametrize("split", HELD)
def test_who_speaks_and_what_is_of_its_split(split, monkeypatch):
    trained = {v.label for name, voices in HEARING.items() if name not in HELD for v in voices}
    assert not trained & {voice.label for voice in HEARING[LISTS[split]]}
    spoken = []
    monkeypatch.setattr(
        speaking_sets,
        "speak",
        lambda text, voice, rng: spoken.append((text, voice.label)) or np.zeros(9, np.float32),
    )
    for i in range(50):
        speaking_sets.EngineMaker(0, split, None)(i)
    assert not {text for text, _ in spoken} & TRAIN and not {label for _, label in spoken} & trained
    voices = []
    monkeypatch.setattr(
        speaking_sets, "build_teachers", lambda *given, **_: voices.append(given[4])
    )
    speaking_sets.build_set("voices", "folder", 1, split=split)
    assert voices == [KOKORO_HELD_OUT[split]]
    texts = {teachers.draw_text(random.Random(i), split, None) for i in range(300)}
    assert not {part for text in texts for part in re.split(r"(?<=[.?!]) ", text)} & TRAIN


@pytest.fixture
def real(tmp_path):
    folder = tmp_path / "real" / "fsdd"
    folder.mkdir(parents=True)
    wave = (0.3 * np.sin(np.arange(6400) / 6)).astype(np.float32)
    lines = [
        {"file": f"u{i}-{n}.wav", "text": f"Word {i}", "speaker": str(i)}
        for i in range(40)
        for n in range(4)
    ]
    with tarfile.open(folder / "audio.tar", "w") as tar:
        for line in lines:
            buffer = io.BytesIO()
            soundfile.write(buffer, wave, 16000, format="WAV")
            info = tarfile.TarInfo(line["file"])
            info.size = buffer.tell()
            buffer.seek(0)
            tar.addfile(info, buffer)
    (folder / "meta.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path / "real"


def test_recorded_speakers_are_in_one_split_whole(real, tmp_path, monkeypatch):
    monkeypatch.setattr("data.speech.asr_recorded.SHARE", tmp_path / "none")
    count = 0
    speakers = {}
    for split in SPLITS:
        count += build_real_hearing(tmp_path / split, real, split)
        shards = ShardReader(tmp_path / split)
        speakers[split] = {shards.record(i)["voice"] for i in range(len(shards))}
    assert count == 160 and sum(map(len, speakers.values())) == 40 == len(
        set().union(*speakers.values())
    )


def test_photographs_and_cut_outs_are_of_their_split(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 256, (60, 32, 32, 3), dtype=np.uint8)
    write_photos(
        tmp_path / "real",
        "cifar100",
        list(map(Image.fromarray, noise)),
        [0, 1] * 30,
        ["fox", "dog"],
    )
    seen = []
    for split in SPLITS:
        build_photos(tmp_path / split, tmp_path / "real", split)
        shards = ShardReader(tmp_path / split)
        seen.append({bytes(shards[i]["image"]) for i in range(len(shards))})
    assert sum(map(len, seen)) == 60 == len(set().union(*seen))
    asked = []
    monkeypatch.setattr(cutouts, "photos", lambda real, corpus, split: asked.append(split) or ())
    assert list(cutouts.cutouts(tmp_path / "real", "test")) == [] and asked == ["test"]


def test_quiz_questions_are_of_their_split(tmp_path):
    (tmp_path / "text").mkdir()
    with gzip.open(tmp_path / "text" / "opentriviaqa.jsonl.gz", "wt") as file:
        file.writelines(
            json.dumps({"q": f"Who was person number {i} of all?", "a": "Me"}) + "\n"
            for i in range(300)
        )
    parts = [quiz(tmp_path, split) for split in SPLITS]
    assert sum(map(len, parts)) == 300 and all(parts)
    assert all(quiz_split(q) == split for split, part in zip(SPLITS, parts) for q in part)


def test_english_is_of_its_split_and_training_reads_no_sentence_that_hearing_keeps(tmp_path):
    tokenizer = Tokenizer("checkpoints/thinker_tiny/tokenizer.model")
    kept, tested = sorted(TRAIN)[:40], sentences.ordinary("test")[:40]
    (tmp_path / "text").mkdir()
    with gzip.open(tmp_path / "text" / "sgd_dialogues.jsonl.gz", "wt") as file:
        for i in range(300):
            turns = [f"Hello {i}.", kept[i % 40], tested[i % 40], "Goodbye."]
            file.write(json.dumps({"turns": turns}) + "\n")
    found = {}
    for split in SPLITS:
        talk = dialogue_documents(tmp_path, "sgd_dialogues", tokenizer, split, 1024)
        plain = plain_documents(
            (f"{i}. {kept[i % 40]} {tested[i % 40]}" for i in range(300)), tokenizer, split, 1024
        )
        read = [tokenizer.decode(ids) for ids in talk], [tokenizer.decode(ids) for ids in plain]
        found[split] = read
        if split == "train":
            assert not [text for texts in read for text in texts if any(s in text for s in tested)]
    for n in range(2):
        texts = [set(found[split][n]) for split in SPLITS]
        numbers = [{re.search(r"\d+", text)[0] for text in one} for one in texts]
        assert all(numbers) and sum(map(len, numbers)) == 300 == len(set().union(*numbers))


def test_pictures_are_asked_and_told_in_the_wordings_of_their_split(monkeypatch):
    def marked(pair):
        return tuple(f"T {w}" for w in pair[0]), tuple(f"H {w}" for w in pair[1])

    monkeypatch.setattr(
        paraphrases, "ASK", {kind: marked(pair) for kind, pair in paraphrases.ASK.items()}
    )
    monkeypatch.setattr(paraphrases, "FURTHER", {})
    for name in ("SAY", "SAY_RELATION"):
        monkeypatch.setattr(captions, name, marked(getattr(captions, name)))
    for split in SPLITS:
        said = []
        for i in range(40):
            record = MakeScene(1, split, "shapes").describe(i)[1]
            said += [q["question"] for q in record["questions"]] + record["captions"]
        for make in (MakeClip(1, split, "shapes"), MakeSeveral(1, split, "shapes")):
            said += [q["question"] for i in range(4) for q in make(i)[0]["questions"]]
        shares = {said[0] for said in said}
        assert shares == ({"T"} if split == "train" else {"T", "H"}), split


def test_held_out_pairs_are_in_no_layout_of_training():
    for i in range(600):
        scene = sample_scene(random.Random(i), "train", layout="plain")
        for thing in scene.things:
            assert not held_out(thing.name, thing.color)
            assert not held_out_background(thing.name, scene.background.color)
        clip = sample_clip(random.Random(i), "train", "shapes", change="turns")
        assert not any(held_out(t.name, t.color) for frame in clip.frames for t in frame.things)
