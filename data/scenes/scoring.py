"""Is an answer right? Free in wording where wording does not matter, strict in what it claims.

Answers may be full sentences, digits or number words, with any case, punctuation or articles.
An answer that names a second thing, a second colour or a second place is wrong.
"""

from __future__ import annotations

import re

from data.scenes.captions import as_number, mentions, score_caption
from data.scenes.objects import COLORS
from data.scenes.scene import REGIONS

Question = dict


def normalise(text: str) -> str:
    """Lower case, no punctuation, no articles, number words as digits, one spelling of gray."""
    words = re.sub(r"[^\w\s'-]", " ", text.lower()).replace("grey", "gray").split()
    words = [w for w in words if w not in ("a", "an", "the")]
    return " ".join(str(as_number(w)) if as_number(w) is not None else w for w in words)


def _region(text: str) -> str | None:
    """The one of `REGIONS` that a text names, in any order of its words."""
    words = set(re.sub(r"[^\w\s]", " ", text.lower().replace("-", " ")).split())
    same = {"upper": "top", "above": "top", "lower": "bottom", "below": "bottom", "center": "middle",
            "centre": "middle"}
    named = {same.get(w, w) for w in words} & {"top", "bottom", "left", "right", "middle"}
    if len(named) > 1:
        named.discard("middle")
    found = " ".join(w for w in ("top", "bottom", "left", "right", "middle") if w in named)
    return found if found in REGIONS else None


def _names_only(answer: str, question: Question) -> bool:
    """The answer names the thing and no other, and no colour that is wrong.

    Of two things with one name the colour tells which is meant.
    """
    right = mentions(question["answer"])[0]
    found = mentions(answer)
    if [name for name, *_ in mentions(question["question"])].count(right[0]) > 1:
        return [one[:2] for one in found] == [right[:2]]
    if normalise(answer) in {normalise(a) for a in (question["answer"], *question["accept"])}:
        return True
    return bool(found) and all(f[0] == right[0] and f[1] in ("", right[1] or f[1]) for f in found)


def score(answer: str, question: Question) -> bool:
    """Is this answer right? Free in case, punctuation, articles, digits and full sentences.

    Captions and lists are right by `score_caption`; "relation" and "compare" answers that are a
    thing, by naming that thing and no other.
    """
    kind, said = question["kind"], normalise(answer)
    if kind == "read":  # before yes and no: a sign may say either
        return (" " + said).endswith(" " + normalise(question["answer"]))
    if question["answer"] in ("Yes.", "No."):
        first = said.split()[:1] == [normalise(question["answer"])]
        return first and not {"yes", "no"} <= set(said.split())
    if kind in ("caption", "list"):
        return score_caption(answer, question["things"])
    if kind in ("what", "relation", "compare"):
        return _names_only(answer, question)
    if kind == "color":
        return {w for w in said.split() if w in COLORS} == {normalise(question["answer"])}
    if kind == "count":
        return {w for w in said.split() if w.isdecimal()} == {normalise(question["answer"])}
    if kind == "where":
        return _region(answer) == _region(question["answer"])
    if kind == "change":
        return score_change(answer, question)
    if kind == "which":
        return pictures_named(answer) == pictures_named(question["answer"])
    if kind == "difference":
        return score_difference(answer, question)
    return said == normalise(question["answer"])


_CHANGES = {
    "left": "left", "right": "right", "up": "up", "upward": "up", "upwards": "up", "down": "down",
    "downward": "down", "downwards": "down", "grows": "grows", "bigger": "grows", "larger": "grows",
    "shrinks": "shrinks", "smaller": "shrinks", "appears": "appears", "disappears": "disappears",
    "vanishes": "disappears", "turns": "turns", "becomes": "turns", "nothing": "nothing",
}


def score_change(answer: str, question: Question) -> bool:
    """Right when the same change is told of the same thing (and the same new colour)."""

    def told(text: str) -> tuple:
        words = normalise(text).split()
        changes = {_CHANGES[w] for w in words if w in _CHANGES}
        color = [w for w in words if w in COLORS][-1:] if "turns" in changes else []
        return changes, color, {m[0] for m in mentions(text)}

    colors = dict(m[:2] for m in mentions(question["answer"]))
    fitting = all(m[1] in ("", colors.get(m[0])) for m in mentions(answer))
    return told(answer) == told(question["answer"]) and fitting


_PICTURES = {"first": {1}, "second": {2}, "third": {3}, "1": {1}, "2": {2}, "3": {3},
             "both": {1, 2}, "all": {1, 2, 3}, "neither": {0}, "none": {0}, "no": {0}}


def pictures_named(answer: str) -> set[int]:
    """Which pictures an answer names; {0} for none of them."""
    answer = re.sub(r"\b(first|second|third|neither) ones?\b", r"\1", answer.lower())
    return set().union(*(_PICTURES.get(word, set()) for word in normalise(answer).split()))


_DIFFERENCES = {
    "missing": "missing", "gone": "missing", "lacks": "missing", "also": "added", "additional": "added",
    "extra": "added", "new": "added", "bigger": "bigger", "larger": "bigger", "smaller": "smaller",
    "left": "left", "right": "right", "higher": "up", "up": "up", "lower": "down", "down": "down",
    "nothing": "nothing", "same": "nothing", "identical": "nothing",
}


def score_difference(answer: str, question: Question) -> bool:
    """Right when the same difference is told of the same thing, in the same picture."""

    def told(text: str) -> tuple:
        words = normalise(text).split()
        ways = {_DIFFERENCES[w] for w in words if w in _DIFFERENCES}
        pictures = [w for w in words if w in ("first", "second")]
        colors = [] if ways else [w for w in words if w in COLORS]
        if colors:
            where = set(zip(pictures or ("first", "second"), colors))
        else:  # "of the first picture, the dog is missing in the second"
            where = set() if ways == {"nothing"} else {(pictures or ["second"])[-1]}
        return ways, where, {m[0] for m in mentions(text)}

    return told(answer) == told(question["answer"])
