"""Digits -> words: cardinals, ordinals, decimals, years, digits one by one, Roman numerals."""

from __future__ import annotations

import re

from num2words import num2words

from inference.normalisation.tables import LETTER_NAMES

LARGEST = 15  # digits; longer numbers are read digit by digit
NUMBER = r"(?<!\d)(?:\d+(?:,\d{3})+(?:\.\d+)?|(?<!\.)\d+\.\d+|(?<![\w.])\.\d+|\d+)"
ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def cardinal(digits: str) -> str:
    """"21" -> "twenty one"."""
    return _plain(num2words(int(digits)))


def many(digits: str) -> str:
    """"6" -> "sixes", "20" -> "twenties"."""
    said = re.sub("y$", "ie", cardinal(digits))
    return said + ("es" if said.endswith("x") else "s")


def ordinal(digits: str) -> str:
    """"21" -> "twenty first"."""
    digits = digits.replace(",", "")
    return one_by_one(digits) if len(digits) > LARGEST else _plain(num2words(int(digits), to="ordinal"))


def one_by_one(code: str) -> str:
    """Digits and letters by their names, everything else left out: "0A1" -> "zero ay one"."""
    named = (num2words(int(c)) if c.isdigit() else LETTER_NAMES.get(c.lower(), "") for c in code)
    return " ".join(filter(None, named))


def grouped(code: str) -> str:
    """One by one, with a pause where the groups part: "555-0199"."""
    groups = re.findall(r"[0-9A-Za-z]+", code)
    return " " + ", ".join(map(one_by_one, groups)) + " "


def number(written: str) -> str:
    """"1,234.5" -> "one thousand two hundred and thirty four point five"."""
    whole, _, part = written.replace(",", "").partition(".")
    if not whole:
        return f"point {one_by_one(part)}"
    zero_led = len(whole) > 1 and whole[0] == "0"
    said = one_by_one(whole) if zero_led or _is_code(whole) else cardinal(whole)
    return f"{said} point {one_by_one(part)}" if part else said


def year(digits: str) -> str:
    """"1984" -> "nineteen eighty four", "1905" -> "nineteen oh five"."""
    high, low = digits[:-2], digits[-2:]
    if digits[1:3] == "00":
        return cardinal(digits)
    if low == "00":
        return f"{cardinal(high)} hundred"
    return f"{cardinal(high)} {'oh ' if low[0] == '0' else ''}{cardinal(low)}"


def house_number(digits: str) -> str:
    """"742" -> "seven forty two", "1600" -> "sixteen hundred"."""
    if len(digits) == 4 and digits[1:3] != "00":
        return year(digits)
    if len(digits) == 3 and digits[1:] != "00":
        return f"{cardinal(digits[0])} {'oh ' if digits[1] == '0' else ''}{cardinal(digits[1:])}"
    return cardinal(digits)


def roman(numeral: str) -> int | None:
    """"XIV" -> 14; None when the letters are no well-formed numeral."""
    shape = "M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})"
    if not numeral or not re.fullmatch(shape, numeral):
        return None
    values = [ROMAN[c] for c in numeral]
    pairs = zip(values, [*values[1:], 0])
    return sum(-value if value < following else value for value, following in pairs)


def _is_code(whole: str) -> bool:
    """Ten digits without commas are a code, unless they are round."""
    return len(whole) > LARGEST or (len(whole) >= 10 and not whole.endswith("000000"))


def _plain(words: str) -> str:
    return words.replace("-", " ").replace(",", "")
