"""Text -> words as they are said: numbers, money, times, dates, abbreviations, symbols.

The result is a list of lower-case words of a-z and apostrophes, with "," and "." where a pause
belongs. Letters of other scripts are reduced to Latin where Unicode decomposes them, else left
out. How a word sounds is models/g2p.py's business.
"""

from __future__ import annotations

import re
import unicodedata

from num2words import num2words

from models.errors import UserError

PAUSES = {",": ",", ";": ",", ":": ",", ".": ".", "!": ".", "?": ".", "(": ",", ")": ",",
          "–": ",", "—": ",", "…": ".", "\n": "."}
ABBREVIATIONS = {
    "mr": "mister", "mrs": "missus", "ms": "miz", "dr": "doctor", "prof": "professor",
    "st": "saint", "mt": "mount", "vs": "versus", "etc": "et cetera", "jr": "junior",
    "sr": "senior", "dept": "department", "approx": "approximately",
    "capt": "captain", "gen": "general", "sgt": "sergeant", 
}  # only when followed by a full stop
UNITS = {
    "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "m": "meter", "kg": "kilogram",
    "g": "gram", "mg": "milligram", "ft": "foot", "lb": "pound", "lbs": "pound", "oz": "ounce",
    "mi": "mile", "mph": "mile per hour", "h": "hour", "hr": "hour", "hrs": "hour",
    "min": "minute", "sec": "second", "s": "second", "ms": "millisecond", "l": "liter",
    "ml": "milliliter", "hz": "hertz", "khz": "kilohertz", "mhz": "megahertz",
    "ghz": "gigahertz", "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte", "tb": "terabyte",
    "w": "watt", "kw": "kilowatt", "v": "volt",
}  # only after a number
INVARIANT = {"hertz", "kilohertz", "megahertz", "gigahertz"}
SYMBOLS = {"&": "and", "@": "at", "%": "percent", "+": "plus", "=": "equals", "#": "number",
           "°": "degrees", "×": "times", "÷": "divided by", "<": "less than", "*": "times",
           ">": "greater than", "±": "plus or minus", "€": "euros", "£": "pounds",
           "$": "dollars", "¥": "yen", "~": "about", "½": "one half", "¼": "one quarter",
           "¾": "three quarters", "²": "squared", "³": "cubed", "µ": "micro", "μ": "micro"}
CURRENCIES = {"$": ("dollar", "cent"), "£": ("pound", "penny"), "€": ("euro", "cent")}
MONTHS = ("january february march april may june july august september october november "
          "december").split()
SPELLED = {
    "a": "ay", "b": "bee", "c": "see", "d": "dee", "e": "ee", "f": "eff", "g": "gee",
    "h": "aitch", "i": "eye", "j": "jay", "k": "kay", "l": "ell", "m": "em", "n": "en",
    "o": "oh", "p": "pee", "q": "cue", "r": "are", "s": "ess", "t": "tee", "u": "you",
    "v": "vee", "w": "double you", "x": "ex", "y": "why", "z": "zee",
}  # the names of the letters, as ordinary words
LETTERS = {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ð": "th", "þ": "th", "ł": "l", "đ": "d",
           "ı": "i", "’": "'", "‘": "'", "ʼ": "'"}
LARGEST = 15  # digits; longer numbers are read digit by digit

NUMBER = r"\d+(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+"
SMALL_WORDS = {"a", "i", "o"}  # single letters that are words


def normalise(text: str) -> list[str]:
    """Words and pauses of `text`; never empty.

    Raises:
        UserError: nothing in it can be said.
    """
    spoken = _words(_expand(text))
    while spoken and spoken[0] in ",.":
        spoken.pop(0)
    if not spoken:
        raise UserError(f"nothing to say in {text[:40]!r}: give it words, numbers or symbols")
    return spoken


def can_say(text: str) -> bool:
    """Whether anything in `text` is speakable."""
    return any(word not in ",." for word in _words(_expand(text)))


def _expand(text: str) -> str:
    """Everything that is not plain words, written out as words."""
    text = "".join(LETTERS.get(c, c) for c in text)
    text = re.sub(r"\bi\.e\.", "that is", re.sub(r"\be\.g\.", "for example", text, flags=re.I))
    text = re.sub(r"\bno\.(?=\s*\d)", "number", text, flags=re.I)
    text = re.sub(r"\b([A-Z])\.(?=\s?[A-Z])", r"\1 ", text)  # initials make no pause
    text = re.sub(r"\bok\b", "okay", text, flags=re.I)
    text = re.sub(r"https?://(www\.)?|www\.", " ", text)
    text = re.sub(r"(\d{4})-(\d\d)-(\d\d)(?!\d)", _iso_date, text)
    text = re.sub(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])", _us_date, text)
    text = re.sub(rf"([$£€])\s?({NUMBER})(\s(?:thousand|million|billion|trillion))?", _money, text)
    text = re.sub(r"\b(\d{1,2}):(\d\d)(?::(\d\d))?\s?([ap]\.?m\b\.?)?", _time, text, flags=re.I)
    text = re.sub(r"\b(\d{1,2})\s?([ap])\.?m\b\.?", _hour, text, flags=re.I)
    text = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", lambda m: _ordinal(m[1]), text, flags=re.I)
    text = re.sub(r"\b(1[1-9]|20)(\d0)s\b", _decade, text)
    months = "|".join(MONTHS)
    text = re.sub(rf"\b({months})\s+(\d{{1,2}})\b(?!:)", _month_day, text, flags=re.I)
    text = re.sub(rf"\b(in|since|until|year|{months},?|\w+,)\s(1[1-9]\d\d|20\d\d)\b(?![,.]\d)",
                  lambda m: f"{m[1]} {_year(m[2])}", text, flags=re.I)
    text = re.sub(r"\b(\d+)/(\d+)\b", _fraction, text)
    units = "|".join(sorted(UNITS, key=len, reverse=True))
    text = re.sub(rf"({NUMBER})\s?({units})\b(?!')", _unit, text)
    text = re.sub(r"°\s?([CF])\b", _degrees, text)
    text = re.sub(rf"(?<=\d)\s?[-–]\s?(?={NUMBER})", " to ", text)
    text = re.sub(rf"(?<![\w])[-−]({NUMBER})", lambda m: f" minus {m[1]}", text)
    text = re.sub(NUMBER, lambda m: f" {_number(m[0])} ", text)
    text = re.sub(r"\b([A-Za-z]+)\.", _abbreviation, text)
    text = re.sub(r"(?<=[a-zA-Z0-9])\.(?=[a-zA-Z])", " dot ", text)
    text = re.sub(r"(?<=\s)[-−–—]+(?=\s)|--+", ", ", text)
    text = re.sub(r"\b[A-Z]{2,5}\b", _acronym, text)
    return "".join(f" {SYMBOLS[c]} " if c in SYMBOLS else c for c in text)


def _words(text: str) -> list[str]:
    text = unicodedata.normalize("NFKD", "".join(PAUSES.get(c, c) for c in text).lower())
    text = "".join(LETTERS.get(c, c) for c in text if not unicodedata.combining(c))
    spoken: list[str] = []
    for piece in re.findall(r"[a-z]+(?:'[a-z]+)*'?|[,.]", text):
        if piece in ",.":
            if spoken and spoken[-1] in ",.":
                spoken[-1] = max(spoken[-1], piece)  # a full stop is the longer pause
            else:
                spoken.append(piece)
        else:
            spoken += _say(piece)
    return spoken


def _say(word: str) -> list[str]:
    word = word.rstrip("'")
    if len(word) == 1 and word not in SMALL_WORDS:
        return SPELLED[word].split()
    if len(word) > 1 and not re.search(r"[aeiouy]", word) and word not in ("hmm", "shh", "mm"):
        letters = [c for c in word if c in SPELLED]
        return [part for c in letters for part in SPELLED[c].split()]
    return [word]


def _cardinal(digits: str) -> str:
    return num2words(int(digits)).replace("-", " ").replace(",", "")


def _digits(digits: str) -> str:
    return " ".join(num2words(int(d)) for d in digits)


def _number(written: str) -> str:
    whole, _, part = written.replace(",", "").partition(".")
    zero_led = len(whole) > 1 and whole[0] == "0"
    said = _digits(whole) if zero_led or len(whole) > LARGEST else _cardinal(whole or "0")
    return f"{said} point {_digits(part)}" if part else said


def _ordinal(digits: str) -> str:
    if len(digits) > LARGEST:
        return _digits(digits)
    return num2words(int(digits), to="ordinal").replace("-", " ").replace(",", "")


def _year(digits: str) -> str:
    high, low = int(digits[:2]), int(digits[2:])
    if digits[1:3] == "00":
        return _cardinal(digits)
    if low == 0:
        return f"{_cardinal(str(high))} hundred"
    return f"{_cardinal(str(high))} {'oh ' if low < 10 else ''}{_cardinal(str(low))}"


def _decade(m: re.Match) -> str:
    tens = _cardinal(m[2])
    if m[2] == "00":
        return f"{_cardinal(m[1])} hundreds" if m[1] != "20" else "two thousands"
    return f"{_cardinal(m[1])} {tens[:-1]}ies"


def _date(year: str, month: int, day: int, whole: str) -> str:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return whole
    return f"{MONTHS[month - 1]} {_ordinal(str(day))}, {_year(year)}"


def _iso_date(m: re.Match) -> str:
    return _date(m[1], int(m[2]), int(m[3]), m[0])


def _us_date(m: re.Match) -> str:
    return _date(m[3], int(m[1]), int(m[2]), m[0])


def _month_day(m: re.Match) -> str:
    return f"{m[1]} {_ordinal(m[2])}" if 1 <= int(m[2]) <= 31 else m[0]


def _plural(noun: str, one: bool) -> str:
    if one or noun in INVARIANT:
        return noun
    if noun == "foot":
        return "feet"
    if noun == "penny":
        return "pence"
    head, _, rest = noun.partition(" ")
    return f"{head}s {rest}".strip()


def _money(m: re.Match) -> str:
    large, small = CURRENCIES[m[1]]
    whole, _, part = m[2].replace(",", "").partition(".")
    whole = whole or "0"
    if m[3]:
        return f"{_number(m[2])}{m[3]} {large}s"
    said = f"{_number(whole)} {_plural(large, int(whole) == 1)}"
    if not part.strip("0"):
        return said
    cents = part[:2].ljust(2, "0")
    coins = f"{_cardinal(cents)} {_plural(small, int(cents) == 1)}"
    return coins if int(whole) == 0 else f"{said} and {coins}"


def _time(m: re.Match) -> str:
    hour, minute = int(m[1]), int(m[2])
    if hour > 24 or minute > 59:
        return m[0]
    half = f" {' '.join(SPELLED[c] for c in m[4].lower() if c in 'apm')}" if m[4] else ""
    if minute == 0:
        said = f"{_cardinal(m[1])}{'' if half else ' o clock'}"
    else:
        said = f"{_cardinal(m[1])} {'oh ' if minute < 10 else ''}{_cardinal(m[2])}"
    seconds = f" and {_cardinal(m[3])} seconds" if m[3] else ""
    return f"{said}{seconds}{half}"


def _hour(m: re.Match) -> str:
    return f"{_cardinal(m[1])} {SPELLED[m[2].lower()]} em"


def _fraction(m: re.Match) -> str:
    top, bottom = int(m[1]), int(m[2])
    if bottom == 2:
        return f"{_cardinal(m[1])} {'half' if top == 1 else 'halves'}"
    if 2 < bottom <= 100:
        return f"{_cardinal(m[1])} {_ordinal(m[2])}{'' if top == 1 else 's'}"
    return f"{_number(m[1])} over {_number(m[2])}"


def _unit(m: re.Match) -> str:
    return f"{_number(m[1])} {_plural(UNITS[m[2]], m[1] == '1')}"


def _degrees(m: re.Match) -> str:
    return f" degrees {'celsius' if m[1] == 'C' else 'fahrenheit'}"


def _abbreviation(m: re.Match) -> str:
    return ABBREVIATIONS.get(m[1].lower(), m[0])


def _acronym(m: re.Match) -> str:
    word = m[0].lower()
    pronounceable = len(word) > 3 and re.search(r"[aeiouy]", word)
    if pronounceable or word in COMMON_CAPITALS:
        return m[0]
    return " ".join(SPELLED[c] for c in word)


COMMON_CAPITALS = set(
    "an am as at be by do go he hi if in is it me my no of oh ok on or so to up us we all and any "
    "are bad big boy but buy can car cat cow cut day did dog eat end far few for get got guy had "
    "has her him his hot how i its job let lot man may men mix new not now off old one our out "
    "own pay put red run say see set she sit six stop sun ten the too top try two use war was way "
    "who why win yes yet you zoo bus cup egg hat key map pen pig sky tea toy box fox bed bee ant "
    "exit sale open".split()
) - {"us"}  # short words that shouting or a sign puts in capitals
