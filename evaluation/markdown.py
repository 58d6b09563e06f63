"""A figure as text, and rows of them as Markdown: what the tables of the documents are put together from."""

from __future__ import annotations

from typing import Any

MISSING = "not measured"
UNITS = {  # of figures: scale, digits, what is written after them
    "rate": (100, 1, " %"), "ratio": (1, 2, ""), "bits/byte": (1, 3, ""), "codes": (1, 0, ""),
    "ms": (1, 0, " ms"), "dB": (1, 2, " dB"), "kbit/s": (1, 2, ""), "count": (1, 0, ""),
    "percent": (1, 2, " %"), "tokens/s": (1, 0, ""), "s": (1, 2, " s"), "hours": (1, 1, " h"),
    "nats": (1, 3, ""), "MOS": (1, 2, ""), "semitones": (1, 1, " semitones"),
    "MB": (1, 0, " MB"), "small MB": (1, 1, " MB"),
}  # fmt: skip
Results = dict[str, Any]


def show(results: Results, section: str, name: str) -> str:
    """A figure as text: `87.3 % (85.9–88.6, n = 2000)`."""
    figure = results.get(section, {}).get("figures", {}).get(name)
    if figure is None:
        return MISSING
    scale, digits, unit = UNITS[figure["unit"]]
    text = f"{figure['value'] * scale:.{digits}f}{unit}"
    if figure["low"] is None:
        return text
    low, high = (f"{figure[end] * scale:.{digits}f}" for end in ("low", "high"))
    return f"{text} ({low}–{high}, n = {figure['n']})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def names_under(results: Results, section: str, prefix: str) -> list[str]:
    """Last parts of the figures `prefix/NAME`, `all` first."""
    figures = results.get(section, {}).get("figures", {})
    found = [n.removeprefix(prefix) for n in figures if n.startswith(prefix)]
    return sorted((n for n in found if "/" not in n), key=lambda n: (n != "all", n))


def names_of(results: Results, section: str, prefix: str) -> list[str]:
    """What stands between a prefix and the next slash."""
    figures = results.get(section, {}).get("figures", {})
    return sorted({n.removeprefix(prefix).split("/")[0] for n in figures if n.startswith(prefix)})


def listed(results: Results, section: str, head: list[str], rows: list[tuple[str, str]]) -> str:
    """A line for each (label, figure)."""
    return table(head, [[label, show(results, section, name)] for label, name in rows])


def by_kind(results: Results, section: str, head: list[str], columns: list[str]) -> str:
    """A line for each KIND with the figures COLUMN/KIND; the first column says which there are."""
    kinds = names_under(results, section, f"{columns[0]}/") or ["all"]
    rows = [[kind, *(show(results, section, f"{c}/{kind}") for c in columns)] for kind in kinds]
    return table(head, rows)


def grid(
    results: Results, section: str, head: list[str], rows: list[tuple[str, str]], columns: list[str]
) -> str:
    """A line for each (label, ROW) with the figures ROW/COLUMN; a gap where a row has no such figure."""
    figures = results.get(section, {}).get("figures", {})

    def cell(name: str) -> str:
        return "" if figures and name not in figures else show(results, section, name)

    lines = [[label, *(cell(f"{row}/{column}") for column in columns)] for label, row in rows]
    return table(head, lines or [[MISSING] * len(head)])
