"""Transcripts of recordings of any length: windows cut at pauses, with times, in flat memory.

A window ends in the longest pause that is not too far away. Speech without a pause is cut where it
is quietest; both windows then hear a second beyond the cut, and their words are joined where they
agree. Windows without speech are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from inference.audio import SAMPLE_RATE, check_wave, open_audio
from inference.source import LIMITS, Limits
from inference.subtitles import Segment, Word
from inference.vad import has_speech
from inference.waveform import levelled, runs
from inference.word_times import align_words
from models.omni import TRANSCRIBE_QUESTION

if TYPE_CHECKING:
    from inference.omni import Omni

SHORTEST, LONGEST = 2.0, 7.0  # s of a window; with context no longer than what training draws
CONTEXT = 1.0  # s heard beyond a cut that is no pause
PAUSE = 0.16  # s below the threshold that make a pause
GOOD_PAUSE = 0.5  # s: between sentences, the first one will do
FRAME = SAMPLE_RATE // 100  # samples over which power is measured
SMOOTH = 5  # frames that are averaged: a closure within a word is shorter
MARGIN = 0.1  # s of a pause kept around speech
LOUD, QUIET = 95, 10  # percentiles of power that stand for speech and for what is behind it
THRESHOLD = 0.25  # of the way in dB from quiet to loud, above which there is speech
RANGE = 50.0  # dB below speech where it is counted as silence, however quiet the background
BATCH = 8  # windows decoded together
SHORT_WORD = 3  # letters: no longer word proves by itself that two windows meet
WORDS = 8  # of two windows that are compared where they overlap


@dataclass
class Window:
    """A stretch of the recording. Times in samples from its start."""

    start: int
    end: int
    wave: np.ndarray  # (samples,), with context on a side that is no pause
    joined: bool  # whether the window before was cut without a pause


def transcribe_long(
    omni: Omni,
    source,
    limits: Limits = LIMITS,
    vad: bool = True,
    progress: Callable[[float, float], object] | None = None,
    word_times: bool = False,
    **settings,
) -> Iterator[Segment]:
    """What is said in a recording, segment by segment, as it is found.

    Args:
        source: as for `load_audio`; `limits.max_seconds` does not count here.
        vad: whether windows without speech are skipped.
        word_times: whether each segment gets its `words` with times, by CTC alignment.
        progress: called with seconds done and seconds in all (0: unknown).
        settings: fields of GenerateConfig.
    """
    name, blocks, seconds = open_audio(source, limits)
    waiting: Segment | None = None
    found = windows(checked(blocks, name))
    while batch := list(islice(found, BATCH)):
        for window, text in zip(batch, texts(omni, batch, vad, settings), strict=True):
            segment = timed(window, text)
            if word_times and text:
                segment = replace(segment, words=aligned(omni, window, text))
            if waiting is not None and window.joined:
                waiting, segment = join(waiting, segment)
            if waiting is not None and waiting.text:
                yield waiting
            waiting = segment
        if progress is not None:
            progress(batch[-1].end / SAMPLE_RATE, seconds)
    if waiting is not None and waiting.text:
        yield waiting


def texts(omni: Omni, batch: list[Window], vad: bool, settings: dict) -> list[str]:
    """The words of each window; "" where nobody speaks."""
    spoken = [window for window in batch if not vad or has_speech(window.wave)]
    asked = [{"text": TRANSCRIBE_QUESTION, "audio": (w.wave, SAMPLE_RATE)} for w in spoken]
    omni = copy(omni)
    most = max(omni.limits.max_seconds, LONGEST + 2 * CONTEXT)  # of a question; a window is heard whole
    omni.limits = replace(omni.limits, max_seconds=most)
    heard = omni.batch(asked, **settings | {"vad": False}) if asked else []
    by_start = {window.start: text.strip() for window, text in zip(spoken, heard, strict=True)}
    return [by_start.get(window.start, "") for window in batch]


def checked(blocks: Iterable[np.ndarray], name: str) -> Iterator[np.ndarray]:
    """The same blocks; refuses a recording that is too short, or samples that are not numbers."""
    first = True
    for block in blocks:
        if first or not np.isfinite(block).all():
            check_wave(block, name)
        first = False
        yield block
    if first:
        check_wave(np.zeros(0, np.float32), name)


def windows(blocks: Iterable[np.ndarray]) -> Iterator[Window]:
    """Cut a stream of float32 (n,) at 16 kHz into windows of 2 to 7 s, at pauses where there are any."""
    ahead = np.zeros(0, np.float32)  # not yet given out, after `past` samples of context
    past, position, joined = 0, 0, False
    need = int((LONGEST + 2 * CONTEXT) * SAMPLE_RATE)
    for block in blocks:
        ahead = np.concatenate([ahead, block])
        while len(ahead) - past >= need:
            size, pause = cut(ahead[past:])
            window, ahead, past = taken(ahead, past, size, position, joined, pause)
            position, joined = position + size, not pause
            yield window
    while len(ahead) - past > LONGEST * SAMPLE_RATE:
        size, pause = cut(ahead[past:])
        window, ahead, past = taken(ahead, past, size, position, joined, pause)
        position, joined = position + size, not pause
        yield window
    if len(ahead) - past >= FRAME:
        window, _, _ = taken(ahead, past, len(ahead) - past, position, joined, True)
        yield window


def taken(ahead, past: int, size: int, position: int, joined: bool, pause: bool):
    """A window of `size` samples, what remains ahead, and how much of that is context."""
    context = 0 if pause else int(CONTEXT * SAMPLE_RATE)
    wave = levelled(ahead[: past + size + context], SAMPLE_RATE)
    keep = min(context, past + size)
    return Window(position, position + size, wave, joined), ahead[past + size - keep :], keep


def cut(wave: np.ndarray) -> tuple[int, bool]:
    """Where the window at the start of (n,) ends, in samples, and whether that is in a pause."""
    frames = power(wave)  # (n / 160,) in dB
    quiet = frames < threshold(frames)
    first, last = int(SHORTEST * 100), min(int(LONGEST * 100), len(frames))
    best, longest = None, int(PAUSE * 100)
    for begin, end in runs(quiet[:last]):
        middle = (begin + end) // 2
        if middle < first:
            continue
        if end - begin >= longest:
            best, longest = middle, end - begin
        if longest >= GOOD_PAUSE * 100:
            break
    if best is not None:
        return best * FRAME, True
    half = last // 2
    return (half + int(frames[half:last].argmin())) * FRAME, False


def power(wave: np.ndarray) -> np.ndarray:
    """Power of every 10 ms in dB, averaged over 50 ms. (n,) -> (n / 160,)"""
    frames = (wave[: len(wave) // FRAME * FRAME].reshape(-1, FRAME) ** 2).mean(axis=1)
    smooth = np.convolve(frames, np.ones(SMOOTH) / SMOOTH, "same")
    return 10 * np.log10(smooth + 1e-12)


def threshold(frames: np.ndarray) -> float:
    """The power in dB between the background and speech."""
    loud, quiet = np.percentile(frames, LOUD), np.percentile(frames, QUIET)
    quiet = max(quiet, loud - RANGE)
    return float(quiet + THRESHOLD * (loud - quiet))


def timed(window: Window, text: str) -> Segment:
    """A segment with the pauses at its ends left out."""
    start, end = window.start / SAMPLE_RATE, window.end / SAMPLE_RATE
    lead = int(CONTEXT * SAMPLE_RATE) if window.joined else 0
    own = window.wave[min(lead, window.start) :][: window.end - window.start]
    frames = power(own) if len(own) >= FRAME else np.zeros(0)
    loud = np.flatnonzero(frames > threshold(frames)) if len(frames) else []
    if len(loud):
        end = min(end, start + (int(loud[-1]) + 1) / 100 + MARGIN)
        start = max(start, start + int(loud[0]) / 100 - MARGIN)
    return Segment(round(start, 2), round(end, 2), text)


def aligned(omni: Omni, window: Window, text: str) -> tuple[Word, ...]:
    """The words of a window, in seconds from the recording's start."""
    before = min(int(CONTEXT * SAMPLE_RATE), window.start) if window.joined else 0
    offset = (window.start - before) / SAMPLE_RATE
    return tuple(
        replace(word, start=round(word.start + offset, 3), end=round(word.end + offset, 3))
        for word in align_words(omni, window.wave, text)
    )


def join(left: Segment, right: Segment) -> tuple[Segment, Segment]:
    """Two neighbours that both heard the seconds around a cut: each word once.

    They are joined in the longest run of words on which they agree. Without one, each gives up what
    it heard beyond the cut, by its own pace.
    """
    a, b = left.text.split(), right.text.split()
    if not a or not b:
        return left, right
    tail, head = a[-WORDS:], b[:WORDS]
    match = SequenceMatcher(None, keys(tail), keys(head), autojunk=False).find_longest_match()
    if match.size > 1 or (match.size and len(tail[match.a]) > SHORT_WORD):
        keep = len(a) - len(tail) + match.a + match.size
        drop = match.b + match.size
    else:
        keep, drop = len(a) - beyond(len(a), left), beyond(len(b), right)
    return parted(left, slice(keep)), parted(right, slice(drop, None))


def parted(segment: Segment, words: slice) -> Segment:
    """Some of a segment's words."""
    text = " ".join(segment.text.split()[words])
    return replace(segment, text=text, words=segment.words[words])


def beyond(words: int, segment: Segment) -> int:
    """How many of a window's words lie in the context behind one cut."""
    seconds = segment.end - segment.start
    return round(words * CONTEXT / max(seconds + CONTEXT, CONTEXT))


def keys(words: list[str]) -> list[str]:
    """Words as they are compared: without case and marks."""
    return [re.sub(r"\W", "", word.lower()) or word for word in words]
