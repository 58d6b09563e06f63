"""Windows of long recordings: where they are cut, what they hear, and how their words are put together."""

from dataclasses import replace

import numpy as np
import pytest

from inference import long_audio
from inference.long_audio import MARGIN, Window, checked, cut, join, timed, transcribe_long, windows
from inference.source import Limits
from inference.subtitles import Segment, Word, clock
from inference.waveform import levelled
from models.errors import UserError

RATE = 16_000
PACE = 0.5  # s from word to word


def noise(seconds: float, level: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(int(1000 * seconds))
    return (level * rng.uniform(-1, 1, int(seconds * RATE))).astype(np.float32)


def murmur(seconds: float) -> np.ndarray:
    """A noise that is never quiet for as long as a pause."""
    wave = noise(seconds)
    return wave * (0.6 + 0.4 * np.sin(8 * np.pi * np.arange(len(wave)) / RATE)).astype(np.float32)


def test_windows_hear_a_second_beyond_a_cut_that_is_no_pause():
    wave = murmur(20)
    found = list(windows(iter(np.array_split(wave, 9))))
    assert [w.joined for w in found] == [False] + [True] * (len(found) - 1) and len(found) > 2
    for w in found:
        begin, end = w.start - RATE * w.joined, min(w.end + RATE, len(wave))
        assert np.array_equal(w.wave, levelled(wave[begin:end], RATE))


def test_no_context_is_heard_beyond_a_pause():
    wave = np.concatenate([noise(4), np.zeros(RATE, np.float32), noise(4.5)])
    found = list(windows(iter([wave])))
    assert [w.joined for w in found] == [False, False]
    assert [len(w.wave) for w in found] == [w.end - w.start for w in found]


def test_speech_without_a_pause_is_cut_where_it_is_quietest():
    wave = noise(9)
    wave[int(5.20 * RATE) : int(5.28 * RATE)] *= 0.1
    size, pause = cut(wave)
    assert not pause and size / RATE == pytest.approx(5.24, abs=0.05)


def test_the_first_good_pause_will_do_and_else_the_longest():
    def cut_at(*pauses: tuple[float, float]) -> float:
        wave = noise(9)
        for begin, end in pauses:
            wave[int(begin * RATE) : int(end * RATE)] = 0.0
        size, pause = cut(wave)
        assert pause
        return size / RATE

    assert cut_at((3.0, 3.6), (5.5, 6.3)) == pytest.approx(3.3, abs=0.03)
    assert cut_at((3.0, 3.2), (5.5, 5.8)) == pytest.approx(5.65, abs=0.03)


def test_neighbours_without_a_word_in_common_give_up_their_context():
    left = Segment(0, 5, "one two three four five six")
    right = Segment(5, 10, "seven eight nine ten eleven twelve")
    a, b = join(left, right)
    assert (a.text, b.text) == ("one two three four five", "eight nine ten eleven twelve")


def test_a_single_short_word_joins_nothing_and_a_long_one_does():
    a, b = join(Segment(0, 5, "one dog saw the big hill"), Segment(5, 10, "now comes the last cat here"))
    assert (a.text, b.text) == ("one dog saw the big", "comes the last cat here")
    a, b = join(Segment(0, 5, "one dog saw that big hill"), Segment(5, 10, "now comes that last cat here"))
    assert (a.text, b.text) == ("one dog saw that", "last cat here")


def test_the_context_in_front_does_not_count_for_the_times():
    own = np.concatenate([np.zeros(RATE, np.float32), noise(2), np.zeros(RATE // 2, np.float32)])
    window = Window(10 * RATE, 10 * RATE + len(own), np.concatenate([noise(1), own]), True)
    segment = timed(window, "so")
    assert segment.start == pytest.approx(11 - MARGIN, abs=0.03)
    assert segment.end == pytest.approx(13 + MARGIN, abs=0.03)
    assert timed(replace(window, wave=own, joined=False), "so") == segment


def test_samples_that_are_no_numbers_are_refused_wherever_they_are():
    spoilt = noise(1)
    spoilt[100] = np.nan
    blocks = checked(iter([noise(1), spoilt]), "the tape")
    assert len(next(blocks)) == RATE
    with pytest.raises(UserError, match="the tape holds samples that are not numbers"):
        next(blocks)


@pytest.fixture
def heard(monkeypatch) -> list[Window]:
    """Each window's words are those said in it, one every PACE seconds; returns the windows."""
    taken: list[Window] = []

    def start(window: Window) -> float:
        return window.start / RATE - window.joined

    def texts(omni, batch, vad, settings) -> list[str]:
        taken.extend(batch)
        return [" ".join(said(start(w), start(w) + len(w.wave) / RATE)) for w in batch]

    def align(omni, samples, text) -> list[Word]:
        (begin,) = (start(window) for window in taken if window.wave is samples)
        times = {word: PACE * int(word[4:]) - begin for word in text.split()}
        return [Word(word, time, time + 0.4) for word, time in times.items()]

    monkeypatch.setattr(long_audio, "texts", texts)
    monkeypatch.setattr(long_audio, "align_words", align)
    return taken


def said(begin: float, end: float) -> list[str]:
    """The words that are whole within these seconds."""
    return [f"word{i:03}" for i in range(200) if begin <= PACE * i and PACE * i + 0.4 <= end]


def test_a_minute_without_pauses_gives_each_word_once_with_its_time(heard):
    told = []
    found = list(transcribe_long(
        None, (murmur(60), RATE), word_times=True, progress=lambda *seconds: told.append(seconds)
    ))
    assert [window.joined for window in heard] == [False] + [True] * (len(heard) - 1)
    words = [word for segment in found for word in segment.words]
    assert [word.text for word in words] == " ".join(s.text for s in found).split() == said(0, 60)
    assert [word.start for word in words] == pytest.approx([PACE * i for i in range(len(words))], abs=2e-3)
    assert [word.end for word in words] == pytest.approx([w.start + 0.4 for w in words], abs=2e-3)
    assert told[0][0] < told[-1][0] == 60.0 and {whole for _, whole in told} == {60.0}


class Echo:
    """An Omni that answers every sound with its length in seconds."""

    limits = Limits(max_seconds=1)  # of questions

    def batch(self, asked: list[dict], **settings) -> list[str]:
        assert self.limits.max_seconds >= 9 > Echo.limits.max_seconds
        return [f" heard{len(request['audio'][0]) / RATE:.0f} " for request in asked]


def test_each_window_is_asked_for_itself():
    wave = np.concatenate([noise(4), np.zeros(RATE, np.float32), noise(3.5)])
    found = list(transcribe_long(Echo(), (wave, RATE), vad=False))
    assert [segment.text for segment in found] == ["heard4", "heard4"]
    assert list(transcribe_long(Echo(), (wave, RATE), vad=True)) == []


@pytest.mark.parametrize("seconds, shown", [
    (1.9996, "00:00:02.000"), (0.0006, "00:00:00.001"), (59.9996, "00:01:00.000"), (3661.25, "01:01:01.250"),
])  # fmt: skip
def test_times_are_rounded(seconds, shown):
    assert clock(seconds) == shown
