"""docs/results.json: sections of figures, each with n, seed and interval.

A section measured anew replaces only its own; the file is always whole.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluation.intervals import bootstrap, wilson
from models.errors import UserError
from models.files import replacing

SEED = 3  # of everything drawn for evaluation; no training data is drawn with it by default


@dataclass(frozen=True)
class Figure:
    """One number: what was measured on n items, and its 95 % interval where there is one."""

    value: float
    low: float | None
    high: float | None
    n: int
    seed: int
    unit: str  # a key of evaluation.markdown.UNITS


def rate(right: list[bool]) -> Figure:
    """Share of independent successes."""
    low, high = wilson(sum(right), len(right))
    return Figure(sum(right) / len(right), low, high, len(right), SEED, "rate")


def by_kind(
    name: str, kinds: list[str], right: list[bool], groups: list | None = None
) -> dict[str, Figure]:
    """The rate of all, as `name/all`, and of each kind.

    Args:
        groups: what each item belongs to, if several hang together, as the turns of a chat do.
    """
    places = list(range(len(right)))
    of = places if groups is None else groups
    kept = {"all": places} | {kinds[some[0]]: some for some in together(places, kinds)}
    return {
        f"{name}/{kind}": rate_of(together([right[i] for i in kept[kind]], [of[i] for i in kept[kind]]))
        for kind in sorted(kept)
    }


def together(items: list, groups: list) -> list[list]:
    """The items of each group, in the order that groups come in."""
    found: dict[object, list] = defaultdict(list)
    for item, group in zip(items, groups, strict=True):
        found[group].append(item)
    return [*found.values()]


def rate_of(groups: list[list[bool]]) -> Figure:
    """Share of successes: independent where each group has one."""
    if max(map(len, groups)) == 1:
        return rate([right for group in groups for right in group])
    return grouped_rate(groups)


def grouped_rate(groups: list[list[bool]]) -> Figure:
    """Share of successes that hang together within a group, as the turns of a dialogue do."""
    right, counts = [sum(group) for group in groups], [len(group) for group in groups]
    return ratio(right, counts, sum(counts))


def error_rate(pairs: list[tuple[int, int]]) -> Figure:
    """Word or letter error rate from (errors, words) of each utterance."""
    return ratio([errors for errors, _ in pairs], [words for _, words in pairs], len(pairs))


def grouped_error_rate(groups: list[list[tuple[int, int]]]) -> Figure:
    """The same of utterances that hang together within a group, as those of a speaker do."""
    errors, counts = ([sum(pair[i] for pair in group) for group in groups] for i in (0, 1))
    return ratio(errors, counts, sum(map(len, groups)))


def mean(values: list[float], unit: str = "ratio") -> Figure:
    """Mean over items."""
    return ratio(values, [1.0] * len(values), len(values), unit)


def ratio(above: list[float], below: list[float], n: int, unit: str = "rate") -> Figure:
    """sum(above) / sum(below); the interval is of items drawn anew, and of one item alone there is none."""
    low, high = bootstrap(above, below, SEED) if len(above) > 1 else (None, None)
    return Figure(sum(above) / sum(below), low, high, n, SEED, unit)


def read_results(path: Path) -> dict[str, Any]:
    """All sections; none when nothing has been measured yet."""
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def save_section(
    path: Path, section: str, about: dict[str, Any], figures: dict[str, Figure]
) -> None:
    """Replace one section of the file."""
    results = read_results(path)
    rounded = {name: _rounded(asdict(figure)) for name, figure in figures.items()}
    results[section] = {"about": about, "figures": rounded}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _rounded(figure: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in figure.items()}
