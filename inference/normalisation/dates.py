"""Dates, times of day, years and decades."""

from __future__ import annotations

import re

from inference.normalisation.numbers import cardinal, many, one_by_one, ordinal, year
from inference.normalisation.rules import Rule, rule
from inference.normalisation.tables import LETTER_NAMES, MONTHS, SHORT_MONTHS, WEEKDAYS

MONTH = "|".join(
    rf"{m.capitalize()}|{m}|{m.upper()}|(?:{m[:3].capitalize()}|{m[:3]}|{m[:3].upper()})\b\.?"
    for m in MONTHS
) + r"|(?:Sept|sept|SEPT)\b\.?"
DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
YEAR = r"(1\d{3}|20\d\d)"
WEEKDAY = {"tues": "tuesday", "thur": "thursday", "thurs": "thursday"} | {
    day[:3]: day for day in WEEKDAYS
}
MONTHS_WRITTEN = "|".join(rf"{m.capitalize()}|{m[:3].capitalize()}\b\.?" for m in MONTHS) + r"|Sept\b\.?"
SHORT_DAY = r"(Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
YEAR_WORDS = (
    r"in|AD|since|until|till|year|circa|during|by|early|late|mid|summer of|winter of|spring of|"
    r"fall of|autumn of|class of|back in"
)  # a number of four digits after them is a year
COUNTED = "people|words|miles|points|votes|men|women|pages|steps|calories|characters|users|times"
NO_AMOUNT = r"(?<![\w.,$£€¥₹#+/^-])(?<![$£€¥₹×*+=]\s)"
NO_PLURAL = r"(?! (?!(?:was|is|has|his|this|as|its|us|does|always)\b)[a-z]+s\b)"  # "1984 people"


def _month(written: str) -> str:
    return next(m for m in MONTHS if m.startswith(written[:3].lower()))


def _said(month: int, day: int, full_year: str, whole: str) -> str:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return whole
    return f"{MONTHS[month - 1]} {ordinal(str(day))}, {_short_or_full(full_year)}"


def _short_or_full(digits: str) -> str:
    if len(digits) == 4:
        return year(digits)
    return f"oh {cardinal(digits)}" if digits[0] == "0" else cardinal(digits)


def _iso(m: re.Match) -> str:
    return _said(int(m[2]), int(m[3]), m[1], m[0])


def _slashes(m: re.Match) -> str:
    """Month first, as Americans write, unless that cannot be."""
    first, second = int(m[1]), int(m[2])
    return _said(*((second, first) if first > 12 else (first, second)), m[3], m[0])


def _dots(m: re.Match) -> str:
    """Day first, as where dates have dots."""
    first, second = int(m[1]), int(m[2])
    return _said(*((first, second) if second > 12 else (second, first)), m[3], m[0])


def _day_of_this_year(m: re.Match) -> str:
    month, day = int(m[2]), int(m[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return m[0]
    return f"{m[1]} {MONTHS[month - 1]} {ordinal(m[3])}"


def _date(m: re.Match) -> str:
    """"12/25", which is hardly a fraction."""
    return f"{MONTHS[int(m[1]) - 1]} {ordinal(m[2])}"


def _month_day(m: re.Match) -> str:
    if not 1 <= int(m[2]) <= 31:
        return m[0]
    until = f" to {ordinal(m[3])}" if m[3] else ""
    return f"{_month(m[1])} {ordinal(m[2])}{until}" + (f", {year(m[4])}" if m[4] else "")


def _day_month(m: re.Match) -> str:
    if not 1 <= int(m[2]) <= 31:
        return m[0]
    article = "" if re.search(r"\bthe\s$", m.string[: m.start()], re.I) else "the "
    since = f"{ordinal(m[1])} to " if m[1] else ""
    said = f"{article}{since}{ordinal(m[2])} of {_month(m[3])}"
    return said + (f", {year(m[4])}" if m[4] else "")


def _weekday(m: re.Match) -> str:
    return WEEKDAY[m[1].lower()]


def _weekdays(m: re.Match) -> str:
    first, last = (WEEKDAY.get(m[i].lower(), m[i].lower()) for i in (1, 2))
    return f"{first} to {last}"


def _time(m: re.Match) -> str:
    """"7:05" -> "seven oh five", "5:00" -> "five o clock"."""
    hour, minute, second = int(m[1]), int(m[2]), m[3]
    if hour > 24 or minute > 59:
        return m[0]
    half = f" {LETTER_NAMES[m[4].lower()]} em" if m[4] else ""
    said = cardinal(m[1])
    if minute:
        said += f" {'oh ' if minute < 10 else ''}{cardinal(m[2])}"
    elif not half and not int(second or 0):
        said = said + " o clock" if hour else "midnight"
    return said + (f" and {cardinal(second)} seconds" if second and int(second) else "") + half


def _hour(m: re.Match) -> str:
    return f"{cardinal(m[1])} {LETTER_NAMES[m[2].lower()]} em"


def _year(m: re.Match) -> str:
    return f"{m[1]}{year(m[2])}"


def _years(m: re.Match) -> str:
    return f"{year(m[1])} to {_short_or_full(m[2])}"


def _season(m: re.Match) -> str:
    """"2019/20", where the second year follows the first."""
    follows = (int(m[1]) + 1) % 100 == int(m[2][-2:])
    return f"{year(m[1])} {_short_or_full(m[2])}" if follows else m[0]


def decade(century: str, tens: str) -> str:
    """("19", "80") -> "nineteen eighties"; without a century "eighties"."""
    if tens == "00":
        return f"{cardinal(century)} hundreds" if century != "20" else "two thousands"
    return f"{cardinal(century)} {many(tens)}" if century else many(tens)


DATES: list[Rule] = [
    rule(r"(?<=\d)T(?=\d\d:)", ", "),
    rule(r"(?<=:\d\d)Z\b", lambda m: " UTC"),
    rule(r"\b(UTC|GMT)\s?[-−](?=\d)", lambda m: f"{m[1]} minus "),
    rule(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)", _iso),
    rule(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?![\d/])", _slashes),
    rule(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\.?\d)", _dots),
    rule(r"(?<![\d-])(\d{1,2})-(\d{1,2})-(\d{4})(?![\d-])", _dots),
    rule(r"(?<![\d/])(\d{4})/(\d\d?)/(\d\d?)(?![\d/])", _iso),
    rule(rf"\b({MONTH})-(\d{{1,2}})-()(\d{{4}})\b", _month_day),
    rule(rf"\b{SHORT_DAY}\.?(?:\s?[-–]\s?|\sto\s){SHORT_DAY}\b\.?", _weekdays),
    rule(rf"\b({MONTHS_WRITTEN})\s?[-–]\s?(\d\d?\s)?({MONTHS_WRITTEN})(?![a-z])",
         lambda m: f"{_month(m[1])} to {m[2] or ''}{_month(m[3])}"),
    rule(rf"(?<=\d)\s?[-–]\s?(?=(?:{MONTHS_WRITTEN})\s\d)", "to"),
    rule(rf"(?<=\b(?:on|by) ){SHORT_DAY}\b\.?(?!\s[A-Z])", _weekday),
    rule(rf"(?<=\b(?:next|last|this) ){SHORT_DAY}\b(?!\s[A-Z])", _weekday),
    rule(rf"\b{SHORT_DAY}\b\.?,?(?=\s(?:\d|{MONTH}\b))", _weekday),
    rule(rf"\b(on|by|until|since|due|(?:{'|'.join(WEEKDAYS)}),?) (\d{{1,2}})/(\d{{1,2}})\b(?!/)",
         _day_of_this_year, any_case=True),
    rule(r"(?<![\w/.,+*×÷=-])(?<![\d+*×÷=-] )(0?[1-9]|1[0-2])/(1[3-57-9]|2[1-35-9]|3[01])\b"
         r"(?![/\d\"'%]| (?:of|in|inch|inches|cups?|miles?)\b|\s?[-+*×÷=])", _date),
    rule(rf"\b({MONTH})\s{DAY}(?:\s?[-–]\s?{DAY})?\b(?!:|,\d|\.\d|/)(?:,?\s{YEAR}\b)?", _month_day),
    rule(rf"(?<![\d.,:])(?:{DAY}\s?[-–]\s?)?{DAY}\s(?:of\s)?({MONTH})(?![a-z])(?:,?\s{YEAR}\b)?",
         _day_month),
    rule(r"(?<![\d/.])(0?[1-9]|1[0-2])/(19\d\d|20\d\d)\b(?!/)",
         lambda m: f"{MONTHS[int(m[1]) - 1]} {year(m[2])}"),
    rule(rf"\b((?:{MONTH}),?\s){YEAR}\b", lambda m: f"{_month(m[1])} {year(m[2])}"),
    rule(rf"\b({SHORT_MONTHS})\.", lambda m: _month(m[1])),
    rule(rf"\b({'|'.join(WEEKDAYS)})\s?[-–]\s?({'|'.join(WEEKDAYS)})\b", _weekdays, any_case=True),
    rule(r"\b(Mon|Tues?|Wed|Thu(?:rs?)?|Fri)\.", _weekday),
    rule(r"\b(Sat|Sun)(?:\.,|\.(?=\s[a-z\d&])|(?=,\s(?:[A-Z]|\d)))", _weekday),
]
TIMES: list[Rule] = [
    rule(r"\b24[/-]7\b", "twenty four seven"),
    rule(r"\b9/11\b", "nine eleven"),
    rule(r"(?<=\d:\d\d)\s?[-–]\s?(?=\d)", "to"),
    rule(r"(?<=\d:\d\d)\.(\d+)\b", lambda m: f" point {one_by_one(m[1])}"),  # of a race
    rule(r"\b(\d+)h\s?(\d+)m(?:in)?\b", lambda m: f"{m[1]} h {m[2]} min "),
    rule(r"\b(\d+)m(?:in)?\s?(\d+)s\b", lambda m: f"{m[1]} min {m[2]} s"),
    rule(r"(?<=\d|[AaPp])(\.?[Mm]\.?|)\s?[-–]\s?"
         r"(?=\d{1,2}(?::\d\d|\s?[AaPp]\.?[Mm]\b)|noon\b|midnight\b)",
         lambda m: f"{m[1]} to "),
    rule(r"(?:(?<=\bnoon)|(?<=\bmidnight))\s?[-–]\s?(?=\d)", "to"),
    rule(r"\b(\d{1,2})[:.](\d\d)()(?:\s?([ap])(?:\.m\b\.?|m\b))", _time, any_case=True),
    rule(r"\b(\d{1,2}):(\d\d)(?::(\d\d))?(?:h\b|(?=ish\b)|\b(?:\s?([ap])(?:\.m\b\.?|m\b))?)",
         _time, any_case=True),
    rule(r"\b(0?)(\d{1,2})00 (?:hours\b|hrs\b\.?)",
         lambda m: f"{'oh ' if m[1] else ''}{cardinal(m[2])} hundred hours"),
    rule(r"\bT-(?=\d+ (?:second|minute|hour|day))", f"{LETTER_NAMES['t']} minus"),
    rule(r"\b(\d{1,2})\s?([ap])(?:\.m\b\.?|m\b)", _hour, any_case=True),
]
YEARS: list[Rule] = [
    rule(r"(?<='\d\d)\s?[-–]\s?(?='\d\d\b)", "to"),
    rule(r"\b(?:ca|[Cc])\. ?(?=\d)", "circa"),
    rule(r"\bFY\s?'?(?=\d)", "fiscal year"),
    rule(r"\b(19\d\d|20\d\d)/((?:19|20)?\d\d)\b(?!/)", _season),
    rule(r"\b1000'?s\b(?! ?BC)", "thousands"),
    rule(r"(?<=\d0s)\s?[-–]\s?(?='?\d{2,4}s\b)", "to"),
    rule(r"\b(1\d|20)(\d0)'?s\b", lambda m: decade(m[1], m[2])),
    rule(r"(?<!\w)'([1-9]0)'?s\b|\b([5-9]0)'?s\b", lambda m: decade("", m[1] or m[2])),
    rule(r"\b(the|early|mid|late|his|her|their|my|your|our)([ -])([2-9]0)'?s\b",
         lambda m: f"{m[1]} {decade('', m[3])}", any_case=True),
    rule(r"(?<!\w)'(\d\d)\b(?!')", lambda m: _short_or_full(m[1])),
    rule(rf"(?<![\d.,$£€#-]){YEAR}\s?[-–]\s?(\d{{4}}|\d\d)\b(?![-,.]\d)", _years),
    rule(rf"\b((?:{YEAR_WORDS}) |(?:pre|post)-|© |\w+, ){YEAR}\b(?![,.:]\d|%| \d|-\d){NO_PLURAL}",
         _year, any_case=True),
    rule(rf"{NO_AMOUNT}(){YEAR}\b(?=$|[.!?;)]+(?:\s|$)|, [a-z])", _year),
    rule(rf"{NO_AMOUNT}()(19\d\d|20[1-3]\d)\b(?![,.:/]\d|[%°×-])(?! (?:{COUNTED})\b)", _year),
]
