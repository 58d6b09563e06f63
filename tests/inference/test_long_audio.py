"""Long recordings: windows cover all of it once, joined words are neither lost nor doubled."""

import json

import numpy as np

from inference.long_audio import join, windows
from inference.subtitles import Segment, Word, as_json, srt, vtt
from tests.inference.conftest import speech

RATE = 16_000


def test_windows_cover_the_recording_once():
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(12):
        parts += [speech(0.3, 2.0), np.zeros(int(rng.uniform(0, 0.8) * RATE), np.float32)]
    wave = np.concatenate(parts)
    found = list(windows(iter(np.array_split(wave, 7))))
    assert [w.start for w in found[1:]] == [w.end for w in found[:-1]]
    assert found[0].start == 0 and len(wave) - found[-1].end < RATE // 100
    assert max(w.end - w.start for w in found) <= 7 * RATE


def test_neighbours_are_joined_where_they_agree():
    left = Segment(0, 5, "the dog ran over the green hill")
    right = Segment(5, 9, "the green hill and then home")
    a, b = join(left, right)
    assert f"{a.text} {b.text}" == "the dog ran over the green hill and then home"


def test_formats_of_subtitles():
    segments = [Segment(0.5, 2.25, "One --> two"), Segment(3600, 3601.5, "a < b & c")]
    assert "00:00:00,500 --> 00:00:02,250\nOne → two" in srt(segments)
    assert "01:00:00.000 --> 01:00:01.500\na &lt; b &amp; c" in vtt(segments)
    assert json.loads(as_json(segments))["segments"][1]["start"] == 3600


def test_words_have_times_beyond_thirty_seconds(shipped_dir):
    from inference import Omni

    omni = Omni.from_pretrained(shipped_dir)
    gap = np.zeros(16 * RATE, np.float32)
    wave = np.concatenate([gap, speech(0.0, 2.85), gap, speech(0.0, 2.85)])
    segments = list(omni.segments((wave, RATE), word_times=True))
    words = [word for segment in segments for word in segment.words]
    assert " ".join(word.text for word in words) == " ".join(s.text for s in segments)
    assert all(a.start <= a.end <= b.start + 1e-6 for a, b in zip(words, words[1:]))
    first = [word for word in words if word.start < 20]
    again = words[len(first) :]
    assert first[0].start > 15.9 and again[0].start > 34.8 and again[-1].end < 38
    for one, two in zip(first, again, strict=True):  # the same speech later: the same times later
        assert abs(two.start - one.start - 18.85) < 0.1
    assert not any(segment.words for segment in omni.segments((wave[: 19 * RATE], RATE), num_beams=1))


def test_words_have_times_in_bfloat16(shipped_dir):
    from inference import Omni

    omni = Omni.from_pretrained(shipped_dir, dtype="bf16")
    (segment,) = omni.segments((speech(0.0, 2.85), RATE), word_times=True)
    words = segment.words
    assert words and all(a.start <= a.end <= b.start for a, b in zip(words, words[1:]))


def test_joined_words_keep_their_times():
    def segment(start, words):
        timed = tuple(Word(word, start + i, start + i + 1) for i, word in enumerate(words.split()))
        return Segment(start, start + len(timed), words, timed)

    a, b = join(segment(0, "a dog ran over the hill"), segment(3, "over the hill and home"))
    assert [w.text for w in a.words + b.words] == "a dog ran over the hill and home".split()
    assert [w.start for w in a.words + b.words] == list(range(8))
    assert json.loads(as_json([a]))["segments"][0]["words"][1] == {"word": "dog", "start": 1, "end": 2}
