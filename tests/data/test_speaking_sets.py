"""Speech to learn speaking from: no held-out voice in training, marks and pitch, crops by step."""

import random
import re
import tarfile

import numpy as np
import pytest

from data.crops import CropReader
from data.speech import sentences, teachers
from data.speech.asr_recorded import MANIFEST_SETS
from data.speech.samples import samples
from data.speech.speaking_sets import build_set
from data.speech.tts import ipa
from data.speech.voices import KOKORO_HELD_OUT, KOKORO_TRAIN
from models.errors import UserError
from models.frontend import VOICES
from models.phones import MARKS
from training.objectives.talker import voice_number


def test_held_out_voices_of_kokoro_are_in_no_training_set():
    held = {voice for voices in KOKORO_HELD_OUT.values() for voice in voices}
    assert len(held) == 6 and not held & set(KOKORO_TRAIN) and not held & set(teachers.SHIPPED)


def test_each_shipped_voice_has_a_teacher():
    assert [voice_number(label) for label in teachers.SHIPPED] == list(range(len(VOICES)))


def test_marks_reach_back_to_the_mark_before():
    sounds = [("pau", -1), ("b", 0), ("b", 1), ("b", 2), ("pau", -1)]
    phones = [[phone, at, at + 1, word, 0] for at, (phone, word) in enumerate(sounds)]
    assert teachers.marks_of("Well, is it?", phones) == [",", ",", "?", "?", "?"]


def test_numbers_are_written_out():
    assert teachers.words_of(teachers.spoken("In 1984 I had 12 dogs.")) == (
        "in nineteen eighty four i had twelve dogs".split()
    )


def test_things_that_cannot_be_counted_are_not_made_many():
    rng = random.Random(0)
    asked = {sentences.talk_question(rng, "train") for _ in range(6000)}
    wrong = re.compile(r"mouses|foxs|dresss|milks|sands|a (winter|sun|water)\b")
    assert not [text for text in asked if wrong.search(text)]
    assert "What are mice?" in asked or "Do you like mice?" in asked or "Tell me about mice." in asked
    assert not [text for text in (sentences.numbers(rng, "train") for _ in range(3000))
                if re.search(r"\b1 (dollars|people|minutes)", text)]


def test_without_recordings_it_is_said(tmp_path):
    for name in MANIFEST_SETS:
        (tmp_path / "real" / name).mkdir(parents=True)
        (tmp_path / "real" / name / "meta.jsonl").write_text("")
        tarfile.open(tmp_path / "real" / name / "audio.tar", "w").close()
    with pytest.raises(UserError, match="no train recordings under"):
        build_set("recorded", tmp_path / "recorded_train", 3, real=str(tmp_path / "real"))


@pytest.mark.parametrize("split", ["train", "dev"])
def test_samples_know_marks_and_pitch(split):
    for record in samples(split):
        assert len(record["marks"]) == len(record["pitch"]) == len(record["phones"])
        assert set(record["marks"]) <= set(MARKS)
        voiced = [hertz for hertz in record["pitch"] if hertz]
        assert len(voiced) > 1 and 60 < np.median(voiced) < 350
        last = record["text"].rstrip('"')[-1]
        assert record["marks"][-1] == last


def test_times_of_american_phones_add_up_to_the_british_ones():
    spoken, wanted = ["k", "aa1"], ["k", "aa1", "r"]  # car, without and with its r
    times = ipa.transfer([0.1, 0.3], spoken, wanted)
    assert sum(times) == pytest.approx(0.4) and times[0] == pytest.approx(0.1) and min(times) > 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets") / "samples_train"
    build_set("samples", path, 20)
    return path


def test_crops_are_a_function_of_seed_and_step(folder):
    one, other = (CropReader({folder: 1.0}, 16_000, 3, noisy=0.5) for _ in range(2))
    whole = one.batch(5, 8)
    assert np.array_equal(whole, other.batch(5, 8)) and not np.array_equal(whole, one.batch(6, 8))
    parts = [one.batch(5, 8, rank, 2) for rank in range(2)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_some_crops_are_disturbed_and_the_others_are_not(folder):
    plain, noisy = (CropReader({folder: 1.0}, 16_000, 3, noisy=share) for share in (0.0, 0.5))
    same = (plain.batch(0, 40) == noisy.batch(0, 40)).all(1).mean()
    assert 0.2 < same < 0.8
