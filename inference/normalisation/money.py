"""Money: amounts with the mark of a currency before or behind, codes, prices per unit."""

from __future__ import annotations

import re

from inference.normalisation.numbers import NUMBER, cardinal, number
from inference.normalisation.quantities import UNIT, before_noun, plural
from inference.normalisation.rules import Rule, either, rule
from inference.normalisation.tables import CURRENCIES, CURRENCY_CODES, MAGNITUDES, PERIODS, UNITS

SIGN = r"((?<![\w)])[-−])?"
WORD_MAGNITUDE = r"[Tt]housand|[Mm]illion|[Bb]illion|[Tt]rillion"
MONEY_MAGNITUDE = rf"(?:(k|K|mn?|M|bn?|B|tn?|T)\b|\s({WORD_MAGNITUDE})\b)?"
MARKS = either(CURRENCIES)


def _money(m: re.Match) -> str:
    sign = " minus " if m[1] else " "
    large, small = CURRENCIES[m[2]]
    large_number = MAGNITUDES.get(m[4], m[5])
    if large_number:
        return f"{sign}{number(m[3])} {large_number} {plural(large, before_noun(m))}"
    if m[3].replace(",", "").isdigit() and before_noun(m):
        return f"{sign}{number(m[3])} {large}"
    return sign + _amount(m[3], large, small)


def _amount(written: str, large: str, small: str) -> str:
    """"3.50" -> "three dollars and fifty cents"."""
    whole, _, part = written.replace(",", "").partition(".")
    whole = whole or "0"
    said = f"{number(whole)} {plural(large, int(whole) == 1)}"
    if not part.strip("0") or len(part) > 2:
        return said if not part.strip("0") else f"{number(written)} {plural(large, False)}"
    cents = part.ljust(2, "0")
    coins = f"{cardinal(cents)} {plural(small, int(cents) == 1)}"
    return coins if int(whole) == 0 else f"{said} and {coins}"


def _money_range(m: re.Match) -> str:
    first = _amount(m[2], *CURRENCIES[m[1]]) if "." in m[2] else number(m[2])
    return f"{first} to {m[1]}{m[3]}"


def _money_behind(m: re.Match) -> str:
    large, small = CURRENCIES[m[2]]
    return _amount(m[1], large, small)


def _currency_code(m: re.Match) -> str:
    word = MAGNITUDES.get(m[2], m[2] or "")
    return f"{number(m[1])} {word} {plural(CURRENCY_CODES[m[3]], m[1] == '1' and not word)}"


def _per_unit(m: re.Match) -> str:
    """"five dollars/hr"; other words before a stroke have no price."""
    priced = re.search(rf"(?:{either(PRICES)})$", m.string[: m.start()])
    return f" per {UNITS[m[1]]} " if priced else m[0]


PRICES = [plural(name, one) for names in CURRENCIES.values() for name in names for one in (True, False)]
MONEY: list[Rule] = [
    rule(r"\bRs\.?\s?(?=\d)", lambda m: "₹"),
    rule(r"(\$[\d,.]+) USD\b", lambda m: m[1]),
    rule(rf"\b({either(CURRENCY_CODES)})\s?({NUMBER}(?:\s(?:{WORD_MAGNITUDE}))?)",
         lambda m: f"{m[2]} {m[1]}"),
    rule(rf"(?<=[{''.join(c for c in CURRENCIES if len(c) == 1)}])(\d+),(\d\d)\b(?![,.]?\d)"
         rf"|(?<![\d.,])(\d+),(\d\d)(?=\s?[€£])", lambda m: f"{m[1] or m[3]}.{m[2] or m[4]}"),
    rule(rf"(?<=between )(?:{MARKS})(\d{{1,3}}(?:\.\d+)?)(?= and (?:{MARKS})[\d.]+\s?(?:{WORD_MAGNITUDE}))",
         lambda m: number(m[1])),  # "between $1.5 and $2 billion"
    rule(rf"({MARKS})({NUMBER})\s?[-–]\s?(?:{MARKS})?({NUMBER})(?!\d)", _money_range),
    rule(rf"({MARKS})(\d+) (bills?|notes?|coins?)\b",
         lambda m: f"{number(m[2])} {CURRENCIES[m[1]][0]} {m[3]}"),
    rule(rf"{SIGN}({MARKS})\s?({NUMBER}){MONEY_MAGNITUDE}", _money),
    rule(rf"({MARKS})-({NUMBER})", lambda m: f" minus {_amount(m[2], *CURRENCIES[m[1]])}"),
    rule(rf"({NUMBER})\s?({MARKS})(?!\d)", _money_behind),
    rule(rf"({NUMBER})\s?¢", lambda m: f"{number(m[1])} {plural('cent', m[1] == '1')}"),
    rule(rf"({NUMBER})\s?(?:({WORD_MAGNITUDE}|[kKMB]|bn)\s)?({either(CURRENCY_CODES)})\b",
         _currency_code),
    rule(rf"/(?=(?:{either(PERIODS)})\b)", "per"),
    rule(rf"(?<=[a-z])/({UNIT})(?![\w/])", _per_unit),
]
