"""Transcripts with times as files: SubRip (.srt), WebVTT (.vtt), JSON and plain text."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inference.output import check_path, write_text


@dataclass
class Word:
    """A word and its time in seconds."""

    text: str
    start: float
    end: float
    scores: tuple[float, ...] = ()  # log-probabilities of its letters where they are, by CTC


@dataclass(frozen=True)
class Segment:
    """What was said between two times, in seconds from the recording's start."""

    start: float
    end: float
    text: str
    words: tuple[Word, ...] = ()  # with their times, where these were asked for


def clock(seconds: float, mark: str = ".") -> str:
    """HH:MM:SS.mmm"""
    millis = max(round(seconds * 1000), 0)
    minutes, millis = divmod(millis, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{millis // 1000:02d}{mark}{millis % 1000:03d}"


def line(segment: Segment) -> str:
    """A segment as a terminal shows it."""
    return f"[{clock(segment.start)} --> {clock(segment.end)}] {segment.text}"


def srt(segments: Iterable[Segment]) -> str:
    """SubRip: numbered, with commas in its times."""
    return "\n".join(
        f"{number}\n{clock(s.start, ',')} --> {clock(s.end, ',')}\n{cue(s.text)}\n"
        for number, s in enumerate(segments, 1)
    )


def vtt(segments: Iterable[Segment]) -> str:
    """WebVTT."""
    cues = [f"{clock(s.start)} --> {clock(s.end)}\n{escaped(cue(s.text))}\n" for s in segments]
    return "\n".join(["WEBVTT\n", *cues])


def cue(text: str) -> str:
    """Text that cannot end its cue early: an arrow would look like times."""
    return text.replace("-->", "→")


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def as_json(segments: Iterable[Segment]) -> str:
    """As Whisper's verbose JSON: the whole text, and each segment and word with its times."""
    found = [{"id": number, **as_dict(s)} for number, s in enumerate(segments)]
    content = {"text": " ".join(s["text"] for s in found), "segments": found}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def as_dict(segment: Segment) -> dict:
    """A segment in Whisper's fields."""
    words = [{"word": word.text, "start": word.start, "end": word.end} for word in segment.words]
    fields = {"start": segment.start, "end": segment.end, "text": segment.text}
    return fields | ({"words": words} if words else {})


def plain(segments: Iterable[Segment]) -> str:
    return "".join(s.text + "\n" for s in segments)


FORMATS = {".srt": srt, ".vtt": vtt, ".json": as_json, ".txt": plain}


def check_transcript_path(path: str | Path) -> Path:
    """Refuse a name whose ending is no format of transcripts, and a place that cannot be written."""
    return check_path(path, FORMATS, "the transcript")


def write_transcript(path: str | Path, segments: Iterable[Segment]) -> None:
    """Write segments in the format of the name's ending (FORMATS)."""
    write_text(path, FORMATS[check_transcript_path(path).suffix.lower()](segments))
