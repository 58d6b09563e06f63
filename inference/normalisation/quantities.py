"""Units, fractions, ratios, ranges, ordinals, arithmetic and plain numbers."""

from __future__ import annotations

import re

from inference.normalisation.numbers import NUMBER, cardinal, many, number, ordinal
from inference.normalisation.rules import Rule, either, rule
from inference.normalisation.tables import (
    ALONE,
    BOOKS,
    DIRECTIONS,
    LETTER_NAMES,
    MAGNITUDES,
    SYMBOLS,
    UNITS,
)

INVARIANT = ("hertz", "horsepower", "yen", "won", "sen", "jeon")
IRREGULAR = {"foot": "feet", "penny": "pence", "inch": "inches", "square foot": "square feet",
             "millimeter of mercury": "millimeters of mercury"}
TENS = {"10": "tens", "100": "hundreds"}
COUNTS = "one|two|three|four|five|six|seven|eight|nine|ten|several|these|those|few|many|some"  # "two 6s"
EXTENTS = "long|wide|tall|high|deep|thick"  # "in" before them is inches
ADVERBS = f"{EXTENTS}|and|or|to|of|for|in|on|at|from|with|more|less|per|is|was|by"  # no noun of "a 5 kg bag"
OWNERS = "the|my|your|his|her|our|their|each"
NO_NOUNS = (
    "we|he|she|they|you|it|that|which|who|when|if|as|but|because|after|before|into|than|left|back|each|"
    "an?|the|my|your|his|her|our|their|will|would|can|could|should|may|might|must|has|had|have|are|were|"
    "do|does|did|don't|isn't|wasn't|went|goes|came|comes|got|gets|made|makes|just|also|not|only|now|"
    "away|apart|off|up|down|out|over|under|short|later|earlier|ago|due|total|extra|worth|between|"
    "there|here|north|south|east|west|home"
)  # behind "the 5 km"
SCALES = {"C": "celsius", "F": "fahrenheit"}
POWERS = {"2": "squared", "3": "cubed"}


def plural(noun: str, one: bool) -> str:
    """The noun as it follows a number: "mile per hour" -> "miles per hour"."""
    if one or noun.endswith(INVARIANT):
        return noun
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    head, *rest = re.split(r"(?= per )", noun)
    if head.startswith("degree "):
        return head.replace("degree", "degrees")
    return f"{head}s{''.join(rest)}"


def _feet_inches(m: re.Match) -> str:
    return f"{number(m[1])} {plural('foot', m[1] == '1')} {number(m[2])} "


def _bearing(m: re.Match) -> str:
    """"40°26'46\"N", and "40°N"."""
    parts = ((m[1], "minute"), (m[2], "second"))
    said = [f"{number(digits)} {plural(name, digits == '1')}" for digits, name in parts if digits]
    return f" degrees {' '.join(said)} {DIRECTIONS.get(m[3], '')} "


def _one(m: re.Match) -> bool:
    """Whether the unit is in the singular: "1 kg", and before what it measures."""
    return m[1] == "1" or before_noun(m)


def before_noun(m: re.Match) -> bool:
    """"a 5 kg bag", "A 16GB Mac", "the $20 shirt"; not "the $20 he owes"."""
    said_before, after = m.string[: m.start()], m.string[m.end() :]
    if re.search(r"\b[Aa]n? (?:\w+-\w+, |[\d.]+ +by +){0,2}$", said_before):
        return re.match(rf"\s(?!(?:{ADVERBS})\b)[A-Za-z]", after) is not None
    owned = re.search(rf"\b(?:{OWNERS}) $", said_before, re.IGNORECASE)
    return bool(owned and re.match(rf"\s(?!(?:{ADVERBS}|{NO_NOUNS}|\w+ed)\b)[a-z]{{2}}", after))


def _inches(m: re.Match) -> str:
    """A quotation mark that closes nothing is inches."""
    before = m.string[: m.start()]
    part = re.search(r"(\d\s)?\d+/$", before)  # of an inch
    one = not part[1] if part else _one(m)
    quoted = False
    for mark in re.finditer(r'(\d?)"', before):
        quoted = not (quoted or mark[1])
    return m[0] if quoted else f"{m[1]} {plural('inch', one)} "


def _times(m: re.Match) -> str:
    """"10x", unless it is a product of an equation."""
    return m[0] if "=" in m.string else " times "


def _out_of(m: re.Match) -> str:
    """A rating: "4.5/5", "10/10"."""
    return f"{number(m[1] or m[3])} out of {number(m[2] or m[4])}"


def _adjective(m: re.Match) -> str:
    """"a 10-ft pole", "5-yr-old": the unit in the singular."""
    return f"{number(m[1])} {UNITS[m[2]]} "


def _unit(m: re.Match) -> str:
    power, below = m[3], m[4]
    noun = plural(UNITS[m[2]], _one(m))
    if power:
        noun = f"{'square' if power == '2' else 'cubic'} {noun}"
    if below:
        noun += f" per {UNITS[below]}" + (f" {POWERS[m[5]]}" if m[5] else "")
    return f"{number(m[1])} {noun} "


def _unit_alone(m: re.Match) -> str:
    first, _, below = m[0].partition("/")
    return plural(UNITS[first], False) + (f" per {UNITS[below]}" if below else "")


def _fraction(m: re.Match) -> str:
    """"2 1/2" -> "two and one half"."""
    whole, top, bottom = m[1], m[2], m[3]
    lead = f"{number(whole)} and " if whole else ""
    if top == bottom:
        return f"{lead}{cardinal(top)} {cardinal(bottom)}"
    names = {"2": ("half", "halves"), "4": ("quarter", "quarters")}
    one, many = names.get(bottom, ("", ""))
    if not one and 2 < int(bottom) <= 100 and (int(top) < int(bottom) or int(bottom) <= 16):
        one = ordinal(bottom)
        many = one + "s"
    unit = f" {plural(UNITS[m[4] or 'in'], not whole)}" if m[4] or m[5] else ""
    if not one:
        return f"{lead}{number(top)} over {number(bottom)}{unit}"
    return f"{lead}{number(top)} {one if top == '1' else many}{unit}"


def _oven(m: re.Match) -> str:
    """"at 350F/180C"."""
    other = f" or {m[3]}°{m[4]}" if m[3] else ""
    return f"{m[1]}°{m[2]}{other}"


def _to_the_power(exponent: str) -> str:
    sign = "minus " if exponent[0] in "-−" else ""
    return f" to the power of {sign}{number(exponent.lstrip('+-−'))} "


def _raised(exponent: str) -> str:
    return f" {POWERS[exponent]} " if exponent in POWERS else _to_the_power(exponent)


def _is_sum(m: re.Match) -> bool:
    """Whether an equation is written, or its result is asked for or told: "What is 5 - 3?"."""
    asked = re.search(r"\b(?:what(?:'s| is)|compute|calculate) [\d.,+*×÷x -]*\d$",
                      m.string[: m.start()], re.IGNORECASE)  # fmt: skip
    told = re.match(r"[\d.,]+ (?:is|equals|makes|gives) \d", m.string[m.end() :])
    return bool("=" in m.string or asked or told)


def _dash(m: re.Match) -> str:
    """Minus in a sum, else a range."""
    return " minus " if _is_sum(m) else " to "


def _cross(m: re.Match) -> str:
    """Times in a sum, else an extent."""
    return " times " if _is_sum(m) else " by "


def _ratio(m: re.Match) -> str:
    """"3:1", "60:40"; what is no hour and not of a hundred is a duration: "45:07"."""
    first, second = int(m[1]), int(m[2])
    if len(m[2]) != 2 or first <= 24 or second > 59 or first + second == 100:
        return f"{number(m[1])} to {number(m[2])}"
    if not second:
        return f"{number(m[1])} minutes"
    return f"{number(m[1])} {'oh ' if second < 10 else ''}{cardinal(m[2])}"


def _magnitude(m: re.Match) -> str:
    return f"{number(m[1])} {MAGNITUDES[m[2]]}"


def _scientific(m: re.Match) -> str:
    """"1e-5" and "10^-3 m": times ten to a power, or to a power."""
    times, unit = " times ten" if m[2] else "", plural(UNITS[m[4]], False) if m[4] else ""
    read = _to_the_power if times or unit else _raised
    return f"{number(m[1])}{times}{read(m[3])}{unit} "


UNIT = either(UNITS)
EXTENT = rf"[\d.]+(?:\s?×\s?[\d.]+)?\s?(?:(?:{UNIT})\b|(?!equals|plus|minus|times)[a-z]{{4}})"  # "6 cm"
MEASURES: list[Rule] = [
    rule(rf"(?<![\d.,])(\d{{1,3}}),(\d{{1,2}})(?=\s?(?:{UNIT})(?![\w'&]))",
         lambda m: f"{m[1]}.{m[2]}"),  # a comma for a point, as in most of Europe
    rule(r"(?<=\d)\s?[x×]\s?(?=10\^)", "times"),
    rule(rf"(?<![\w.])({NUMBER})(?:([eE])|\^)([-−+]?\d+)\b(?:\s?(?!in\b)({UNIT})(?![\w'&/]))?",
         _scientific),
    rule(rf"(?<=\d)(\s?(?:{UNIT}))\s?([-–x×])\s?(?={NUMBER}\s?(?:{UNIT})(?!\w))",
         lambda m: f"{m[1]} {'by' if m[2] in 'x×' else 'to'} "),
    rule(rf"(?<=\d)(\s?(?:{UNIT}))\s?/\s?(?={NUMBER}\s?(?:{UNIT})(?!\w))", lambda m: f"{m[1]} or "),
    rule(r"\b(\d{1,3})' ?[x×] ?(\d{1,3})'", lambda m: f"{number(m[1])} by {number(m[2])} feet"),
    rule(rf"\b(\d{{1,3}})'(?=\s(?:by|{EXTENTS})\b)",
         lambda m: f"{number(m[1])} {plural('foot', m[1] == '1')}"),
    rule(rf"(?<!\b0)(?<=[\d'\"])\s?(?:[xX]|×(?=\s?{EXTENT}))\s?(?={NUMBER})", _cross),
    rule(r"(?<=/\d)(?:th|rd)s\b|(?<=/\d\d)ths\b", lambda m: ""),
    rule(r"(?<=\d)x(?=$|[.,;!?]+(?:\s|$)| [a-z]{3})", _times),
    rule(r"(?<![\d/.])(?:(\d\.\d|\d\d(?=/100))/(5|10|100)|(5|10|100)/(\3))\b(?![/\d])", _out_of),
    rule(r"(?:(?<=\ba )(?=\d+/10\b)|(?=[0-5]/5 stars\b)"
         r"|(?=\d+/\d+ (?:on|in) (?:the|my) (?:test|exam|quiz)\b))(\d+)/(\d+)()()", _out_of),
    rule(r"\b([Pp]age|[Ss]lide|[Ss]tep|[Pp]art|[Dd]ay) (\d+)/(\d+)\b(?!/)",
         lambda m: f"{m[1]} {number(m[2])} of {number(m[3])}"),
    rule(r"\b(100?)s(?= of\b)", lambda m: TENS[m[1]]),
    rule(r"\b(\d)s and (\d)s\b", lambda m: f"{many(m[1])} and {many(m[2])}"),
    rule(rf"\b({COUNTS}) (\d{{1,2}})s\b", lambda m: f"{m[1]} {many(m[2])}"),
    rule(rf"(?<![\w.])({NUMBER})-(?!in\b)({UNIT})\b\.?(?=[\s-][a-z])", _adjective),
    rule(r"\b(degrees?) ([CF])\b", lambda m: f"{m[1]} {SCALES[m[2]]}"),
    rule(r"\b(\d{2,3}\.\d|\d{1,3}(?=\s?[CF] (?:outside|inside|today|tonight|tomorrow|to \d)))"
         r"\s?([CF])\b()()", _oven),
    rule(r"\b(\d+)-(?=\d/\d{1,2}\b)", lambda m: m[1] + " "),  # "1-1/2"
    rule(r"(?<=\b(?:at|to|of|is|'s))(\s\d{2,3}(?:\.\d)?)\s?([CF])\b(?:/(\d{2,3})\s?([CF])\b)?", _oven),
    rule(r"(?<=\d(?:st|nd|rd|th))\s?[-–]\s?(?=\d+(?:st|nd|rd|th)\b)", "to"),
    rule(rf"(?<![A-Z]\d)(?<![A-Z]\d\d)(?<![A-Z]\d{{3}})(?<=[\d%])\s?[-–]\s?(?!0\d)(?={NUMBER})", _dash),
    rule(r"(?<=\b[knxy])-(?=\d{1,2}\b)", "minus"),  # "n-1"
    rule(rf"(?<![\w)^])[-−](?={NUMBER})|(?<=[=<>≤≥] )-(?=[a-z]\b)"
         r"|(?<=\b[b-hj-z]) - (?=[b-hj-z]\b)", "minus"),
    rule(r"°\s?(?=\d+'|[NSEW]\b)(?:(\d+)')?\s?(?:([\d.]+)(?:\"|''))?\s?([NSEW]\b)?", _bearing),
    rule(r"(?<=\d)\s?st(?=\s\d+\s?lbs?\b)", "stone"),
    rule(r"\b(\d{1,2})'\s?(\d{1,2})(?:\"|''|\b)", _feet_inches),
    rule(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)\"(?!\w)", _inches),
    rule(rf"(?<!/)({NUMBER})[\s-]?in(?:\.(?!\w)|(?<=\din)\b(?!-)|(?=\s(?:{EXTENTS})\b|\s*$|[,;)]))",
         lambda m: f"{number(m[1])} {plural('inch', _one(m))}"),
    rule(rf"(?<![\d/.,])(?:(\d+) )?(\d+)/(\d+)\b(?![/\d])(?:\s?(?!in\b)({UNIT})(?![A-Za-z'&/])"
         rf"|\s?(in)(?=\.?\s*$|\.?\s(?:{EXTENTS}|by)\b|[,;)]))?", _fraction),
    rule(r"°(?= (?:angle|turn|view)\b)", " degree"),
    rule(rf"(?<![A-Za-z/])({NUMBER})\s?(?!in\b)({UNIT})(?![A-Za-z'&])(?:(?:\^|(?<=m))([23])\b)?(?:/({UNIT})(?![A-Za-z])(?:\^([23]))?)?"
         r"(?:\.(?=\s+[a-z]|,)|(?:(?<=min|sec|hrs)|(?<=lb|oz|ft|hr))\.(?=\s\d))?", _unit),
    rule(rf"(?<![\w/'])({either(ALONE)})(?![\w/])", _unit_alone),
    rule(r"(?<![A-Za-z\d.,])([248])K\b|(?<=\b[Aa] )(\d+)K\b(?=[.,!?]|$)"
         r"|\b(\d+)K\b(?= (?:run|race|walk|runners?|pace|finish)\b)",  # resolutions and runs
         lambda m: f"{number(m[1] or m[2] or m[3])} {LETTER_NAMES['k']}"),
    rule(rf"(?<![A-Za-z])({NUMBER})(k|K|M|bn)\b(?!')", _magnitude),
    rule(r"(?<=\d\.\d)(B)\b", "billion"),
]
NUMBERS: list[Rule] = [
    rule(rf"\b({either(BOOKS)}) (\d{{1,3}}):(\d{{1,3}})\b",
         lambda m: f"{m[1]} {number(m[2])} {number(m[3])}"),
    rule(r"\b([1-9]\d{0,2}):(\d{1,3})\b(?!:)", _ratio),
    rule(r"\b(\d+|[a-z])!(?=\s?[=/×*+÷])|(?<=[=/×*+÷(])(\s?(?:\d+|[a-z]))!",
         lambda m: f"{m[1] or m[2]} factorial "),
    rule(r"(?<=\d)\s/\s(?=\d)|(?<=factorial )\s?/", "divided by"),
    rule(r"\b(?<!\w')([fgh])(''?)(?=\([a-z]\))",
         lambda m: f"{LETTER_NAMES[m[1]]} {'double ' if len(m[2]) == 2 else ''}prime "),
    rule(r"\^\s?\(?([-−]?\d+)\)?", lambda m: _raised(m[1])),
    rule(r"(?<![\d.,])(\d+(?:,\d{3})*)(?:st|nd|rd|th)\b", lambda m: ordinal(m[1]), any_case=True),
    rule(r"(?<=\d)\*(?!\s?[\w(])(?!\*)"
         r"|(?<=\b[1-7])[*★](?= (?:hotel|resort|review|rating|restaurant))", "star"),
    rule(r"(?<=\d)\s?★", "stars"),
    rule(r"(?<=[\w)])\s?\*\s?(?=\d)|(?<=\w) \* (?=\w)", "times"),
    rule(r"\*+|~~|(?:^|(?<=\n))>+(?!\s?[\d=])", lambda m: " "),  # emphasis and quotation of Markdown
    rule(NUMBER, lambda m: f" {number(m[0])} "),
    rule(r"(?<=\s)[-–—]+(?=\s)|--+", lambda m: ", "),
    rule(either(SYMBOLS), lambda m: f" {SYMBOLS[m[0]]} "),
]
