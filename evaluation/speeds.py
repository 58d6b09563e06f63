"""Timings of benchmark.py as a section of the results file, and what grows with what in it."""

from __future__ import annotations

from pathlib import Path

from evaluation.results import Figure, read_results, save_section

UNITS = {
    "ratio": "ratio", "tokens_per_second": "tokens/s", "seconds": "s",
    "megabytes": "MB", "bits_per_byte": "bits/byte",
    "file_megabytes": "small MB", "routing_megabytes": "small MB", "grown_megabytes": "MB",
    "to_fair": "ratio", "growth": "ratio", "turn_found": "s", "words": "s", "first_sound": "s",
    "first_sound_p95": "s", "first_word_text": "s", "first_word_picture": "s", "first_word_speech": "s",
}  # fmt: skip


def save_speeds(path: Path, results: dict) -> None:
    """Speeds and ratios of the other benches, as section `speed` of a results file.

    A bench that was not run now keeps its figures from before.
    """
    old = read_results(path).get("speed", {"about": {}, "figures": {}})
    tables = {name: table for name, table in results.items() if isinstance(table, dict)}
    timed = {name: table for name, table in tables.items() if table and name != "cache"}
    figures = {
        name: Figure(**figure)
        for name, figure in old["figures"].items()
        if name.split("/")[0] not in timed
    }
    figures |= {
        f"{bench}/{row}/{unit}": Figure(
            values[unit], None, None, times(values, results), 0,
            "ratio" if row.startswith("ratio") else UNITS[unit],
        )
        for bench, table in timed.items()
        for row, values in table.items()
        for unit in UNITS
        if unit in values
    }
    about = {key: results[key] for key in ("weights", "dtype", "threads", "rounds", "tokens")}
    save_section(path, "speed", old["about"] | dict.fromkeys(timed, about), figures)


def times(values: dict, results: dict) -> int:
    """How many measurements a row is of: its own requests or turns, else the rounds."""
    return int(values.get("requests") or values.get("turns") or results["rounds"])


def growth(results: dict, bench: str) -> dict[str, dict[int, float]]:
    """Tokens a second of each contestant of a bench whose rows are `CONTESTANT, NUMBER`."""
    figures = results.get("speed", {}).get("figures", {})
    found: dict[str, dict[int, float]] = {}
    for name, figure in figures.items():
        of, row, what = name.split("/")
        if of == bench and what == "tokens_per_second":
            who, number = row.split(", ")
            found.setdefault(who, {})[int(number)] = figure["value"]
    return {who: dict(sorted(found[who].items())) for who in sorted(found)}
