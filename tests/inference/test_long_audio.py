"""Long recordings: windows cover all of it once, joined words are neither lost nor doubled."""

import json

import numpy as np

from inference.long_audio import join, windows
from inference.subtitles import Segment, as_json, srt, vtt
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
