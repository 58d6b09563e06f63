"""Text normalisation for speech: share of lines read in a way that a person would accept.

Lines lie in `evaluation/data/normalisation.jsonl`: class, half (dev or test), text, and what is
accepted. There `{a|b}` is a choice and `[a]` may be left out; a capital alone is a letter's name.
Rules are developed on the dev half; the test half was written before them and is only scored.
Control: the words of the text with nothing expanded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evaluation.results import rate
from evaluation.setting import Measured, Setting
from inference.normalisation import LETTER_NAMES, can_say, normalise

LINES = Path(__file__).parent / "data" / "normalisation.jsonl"
HALVES = ("dev", "test")
NAMES = {name: letter for letter, name in LETTER_NAMES.items() if " " not in name}
PLURALS = {name + ("es" if name[-1] in "shx" else "s"): letter + "s" for name, letter in NAMES.items()}


@dataclass(frozen=True)
class Line:
    """One line of the set."""

    kind: str
    half: str
    text: str
    accepted: str  # with {a|b} and [a]

    def accepts(self, spoken: str) -> bool:
        """Whether these words are one of the ways to read the line. Pauses do not count."""
        return re.fullmatch(_pattern(self.accepted), canonical(spoken) + " ") is not None


def read_lines(half: str) -> list[Line]:
    """All lines of a half, in the order of the file."""
    rows = (json.loads(row) for row in LINES.read_text(encoding="utf-8").splitlines())
    lines = [Line(row["class"], row["half"], row["text"], row["accepted"]) for row in rows]
    return [line for line in lines if line.half == half]


def canonical(spoken: str) -> str:
    """Lower-case words one blank apart; "bee" and "B" are alike, so are "see" and "C"."""
    words = re.sub(r"[^a-z]+", " ", re.sub(r"['’]", "", spoken.lower())).split()
    text = " ".join(words).replace("double you", "w").replace("o clock", "oclock")
    return " ".join((NAMES | PLURALS).get(word, word) for word in text.split())


def _pattern(accepted: str) -> str:
    """A regular expression over canonical words, each with a blank behind it."""
    brackets = {"{": "(?:", "}": ")", "[": "(?:", "]": ")?", "|": "|"}
    tokens = re.findall(r"[{}\[\]|]|[\w']+", accepted)
    return "".join(brackets.get(token) or canonical(token) + " " for token in tokens)


def read_aloud(text: str) -> str:
    """What our normaliser says."""
    return " ".join(normalise(text)) if can_say(text) else ""


def score(half: str, read: Callable[[str], str], limit: int | None = None) -> dict[str, list[bool]]:
    """Class -> whether each line was read in an accepted way."""
    right: dict[str, list[bool]] = {}
    for line in read_lines(half)[:limit]:
        right.setdefault(line.kind, []).append(line.accepts(read(line.text)))
    return right


def measure(setting: Setting) -> Measured:
    """Figures of both halves by class, and the control."""
    figures: Measured = {}
    for half in HALVES:
        right = score(half, read_aloud, setting.limit)
        figures |= {f"{half}/{kind}": rate(marks) for kind, marks in right.items()}
        figures[f"{half}/all"] = rate(sum(right.values(), []))
    plain = score("test", lambda text: text, setting.limit)
    return figures | {"not_expanded/all": rate(sum(plain.values(), []))}
