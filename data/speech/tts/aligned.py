"""Natural speech with exact phone times and pitch, from inside Kokoro and Hibari.

Hibari (`pip install hibari-tts`, Apache-2.0) brings the 8 MB of its one voice, distilled from
Kokoro's heart, and takes a hundredth of the speech's length; Kokoro's weights are kokoro.py's.

Both networks predict how many frames each symbol lasts and the pitch of every half frame, and build
the sound on these. Their ONNX graphs hold both as inner values, which are made outputs here: an
alignment without a recogniser. Text becomes symbols by Hibari's misaki rules.

Refuses missing packages and weights with one line each.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import numpy as np

from data.speech.augment import as_int16, resample
from data.speech.tts import ipa, kokoro
from models.errors import UserError, needed

RATE, NATIVE_RATE = 16000, 24000  # Hz
FRAME = 0.025  # seconds a duration step lasts, in both networks; pitch has two values in each
INNER = {"kokoro": ("/encoder/Clip_output_0", "/encoder/F0_proj/Conv_output_0"),
         "hibari": ("/Clip_output_0", "f0")}
PACKAGES = "hibari-tts onnx onnxruntime"
QUIET = 0.1  # seconds of silence kept at either end
LOWEST = 50.0  # Hz; what is under it has no voice
LONGEST = 500  # symbols that the networks take at once


@dataclass
class AlignedSpeech:
    """wave int16 (samples,) at 16 kHz; phones [phone, start, end, word or -1, stress]; words;
    pitch, the median Hz of each phone's voiced part or 0."""

    wave: np.ndarray
    phones: list[list]
    words: list[str]
    pitch: list[float]


def available() -> bool:
    """Whether Hibari can speak."""
    return all(find_spec(name) for name in ("hibari", "onnx", "onnxruntime"))


@cache
def _g2p(british: bool):
    return needed("hibari.g2p", "natural speech", PACKAGES).G2P(british=british)


@cache
def _session(engine: str):
    """The network on one core, with durations and pitch among its outputs."""
    onnx = needed("onnx", "natural speech", PACKAGES)
    onnxruntime = needed("onnxruntime", "natural speech", PACKAGES)
    voices = needed("hibari.voices", "natural speech", PACKAGES)
    path = kokoro.weights()[0] if engine == "kokoro" else voices.voice_path("heart")
    graph = onnx.load(str(path))
    kokoro.single_precision(graph.graph)
    present = {output.name for output in graph.graph.output}
    for name in INNER[engine]:
        if name not in present:
            graph.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


@cache
def _vocabulary() -> dict[str, int]:
    from hibari import Hibari

    return Hibari(threads=1).vocab


def _kokoro(ids: list[int], voice: str, speed: float):
    """Wave at 24 kHz, frames of each symbol, pitch of each half frame."""
    style = kokoro.styles(voice)[len(ids) - 3]  # by phonemes, without the padding
    inputs = {"input_ids": np.array([ids]), "style": style,
              "speed": np.array([speed], np.float32)}
    session = _session("kokoro")
    wave, frames, pitch = session.run(["waveform", *INNER["kokoro"]], inputs)
    return wave.ravel(), frames.ravel().astype(np.float64), pitch.ravel()


def _hibari(ids: list[int], voice: str, speed: float):
    from hibari import dsp

    if voice != "heart":
        raise UserError(f"hibari has no voice {voice!r}")
    session = _session("hibari")
    names = ["lh", "theta", "ln", "lr", "phi", "f0", INNER["hibari"][0]]
    inputs = {"ids": np.array([ids]), "speed": np.array([speed], np.float32)}
    *parts, frames = session.run(names, inputs)
    wave = dsp.synth(*(part[0] for part in parts), np.random.default_rng(0))
    return wave, frames.ravel().astype(np.float64), parts[-1].ravel()


ENGINES = {"kokoro": _kokoro, "hibari": _hibari}


def _crop(rows: list[list], wave: np.ndarray) -> tuple[list[list], np.ndarray, float]:
    """Shorten the silence at both ends: rows [phone, seconds, word, stress], wave, seconds cut."""
    cut = max(0.0, rows[0][1] - QUIET)
    rows[0][1] -= cut
    end = max(0.0, rows[-1][1] - QUIET)
    rows[-1][1] -= end
    wave = wave[round(cut * RATE) : len(wave) - round(end * RATE)]
    return rows, wave, cut


def _median_pitch(pitch: np.ndarray, start: float, end: float) -> float:
    part = pitch[int(start / FRAME * 2) : max(int(start / FRAME * 2) + 1, int(end / FRAME * 2))]
    voiced = part[part > LOWEST]
    return round(float(np.median(voiced)), 1) if len(voiced) * 2 > len(part) else 0.0


def word_phones(word: str) -> list[str]:
    """The American phones of one word said alone; none where the rules read it as several."""
    chunks = _g2p(False)(word).split()
    return [phone for phone, *_ in ipa.word_phones(chunks[0])] if len(chunks) == 1 else []


def say(text: str, engine: str, voice: str, speed: float = 1.0) -> np.ndarray:
    """Speak any text, without its times: int16 (samples,)."""
    symbols = [c for c in _g2p(voice.startswith("b"))(text) if c in _vocabulary()]
    ids = [0, *(_vocabulary()[c] for c in symbols[:LONGEST]), 0]
    return _as_recorded(ENGINES[engine](ids, voice, speed)[0])


def _as_recorded(wave: np.ndarray) -> np.ndarray:
    """float (samples,) at 24 kHz -> int16 (samples,) at 16 kHz."""
    return as_int16(resample(np.asarray(wave, np.float32), RATE / NATIVE_RATE) * 32767)


def synthesise(
    text: str, words: list[str], engine: str, voice: str, speed: float = 1.0
) -> AlignedSpeech | None:
    """Speak `text` of plain words; None where the engine counts other words in it than `words`.

    A voice whose name begins with b is British; its phones are those of American dictionaries.
    """
    american = _g2p(False)(text).split()
    chunks = _g2p(True)(text).split() if voice.startswith("b") else american
    vocabulary = _vocabulary()
    symbols = " ".join(chunks)
    if not len(chunks) == len(american) == len(words) or any(c not in vocabulary for c in symbols):
        return None
    ids = [0, *(vocabulary[c] for c in symbols), 0]
    wave, frames, pitch = ENGINES[engine](ids, voice, speed)
    if not np.isfinite(wave).all():
        raise UserError(f"{engine}:{voice} spoke no finite samples for {text!r}")
    unit = len(wave) / NATIVE_RATE / frames.sum()  # seconds: FRAME
    rows = ipa.timed_phones(chunks, list(frames * unit), american if chunks is not american else None)
    if {word for _, _, word, _ in rows} - {-1} != set(range(len(words))):
        return None
    rows, wave, cut = _crop(rows, _as_recorded(wave))
    phones, heights, at = [], [], 0.0
    for phone, seconds, word, stress in rows:
        phones.append([phone, round(at, 4), round(at + seconds, 4), word, stress])
        heights.append(0.0 if word < 0 else _median_pitch(pitch, at + cut, at + cut + seconds))
        at += seconds
    phones[-1][2] = len(wave) / RATE
    return AlignedSpeech(wave, phones, words, heights)
