"""Telephone numbers, ISBN, codes, versions, formulas, Roman numerals: what is not a quantity."""

from __future__ import annotations

import re

from inference.normalisation.numbers import (
    cardinal,
    grouped,
    house_number,
    many,
    number,
    one_by_one,
    ordinal,
    roman,
    year,
)
from inference.normalisation.rules import Rule, either, rule
from inference.normalisation.tables import DIRECTIONS, ELEMENTS, LETTER_NAMES

CODE_WORDS = (
    r"(?:PIN|ID|CV[VC]|code|zip|ZIP|[Pp]asscode|[Pp]assword|[Ss]erial|[Aa]ccount|[Ee]xtension|[Ff]light"
    r"(?: [A-Z]{2})?|[Tt]racking|[Bb]ox|[Cc]onfirmation|[Rr]eference|[Rr]ef\.?"
    r"|[Cc]ase(?= [Nn]o\.)|Docket|Invoice|SKU|ISSN)"
    r"(?: code| number| [Nn]o\.| is|:)*"
)
NUMBERED_THINGS = (
    "War Chapter chapter Part part Act act Scene scene Volume volume Vol. Book book Section section "
    "Phase phase Type type Class class Level level Bowl Title Article Appendix Stage stage Grade "
    "Unit Lesson Figure Table Mark Fantasy Rocky Episode Season"
).split()
RULERS = (
    "Henry Louis Elizabeth George Charles Edward James William Richard Paul John Pius Benedict "
    "Napoleon Peter Catherine Mary Philip Frederick Alexander Nicholas Ramses Francis Leo Gregory "
    "Innocent Urban Clement Victoria Ivan Otto Albert Leopold Robert Ferdinand Alfonso"
).split()
RULER = rf"(?:{either(RULERS)}|(?:King|Queen|Pope|Emperor|Tsar|Sultan|Kaiser|Shah|Prince|Duke) [A-Z][a-z]+)"
WORDS_LIKE_IONS = set("He Be Si OK UN IN ON NO SO US".split())
EUROPEAN = r"\d{1,3}(?:\.\d{3})+(?:,\d\d)?"  # an amount with points between thousands
LONGEST_CARDINAL = 2  # digits of a mixed code that are read together: "B 52", but "A 1 1 3"


def _service(m: re.Match) -> str:
    """1-800-555-0199, the first group after the country as hundreds."""
    return f" one {cardinal(m[1])}, {grouped(m[2])} "


def _international(m: re.Match) -> str:
    return f" {'plus' if m[0][0] == '+' else ''} {grouped(m[0])} "


def _after_word(m: re.Match) -> str:
    return f"{re.sub(r'(?<= )[Nn]o[.]', 'number', m[1])} {grouped(m[2])} "


def _address_of_host(m: re.Match) -> str:
    return " dot ".join(map(cardinal, m[0].split(".")))


def _version(m: re.Match) -> str:
    return f" {'version ' if m[1] else ''}" + " point ".join(map(number, m[2].split(".")))


def _mixed(code: str) -> str:
    """Letters by their names, short numbers whole: "B-52", "X7K9", "H2O"."""
    said = []
    for run in re.findall(r"\d+|[A-Za-z]+", code):
        short = len(run) <= LONGEST_CARDINAL and (run[0] != "0" or len(run) == 1)
        said.append(cardinal(run) if run.isdigit() and short else one_by_one(run))
    return f" {' '.join(said)} "


def _formula(m: re.Match) -> str:
    """A chemical formula, when all its symbols are elements and it cannot be a name."""
    symbols = re.findall(r"[A-Z][a-z]?", m[0])
    known = all(s in ELEMENTS or (len(s) == 2 and s[0] in ELEMENTS) for s in symbols)
    return _mixed(m[0]) if known and set(symbols) <= ELEMENTS else m[0]


def _ion(m: re.Match) -> str:
    """"Na+", "SO4^2-", "OH-": the formula, its charge and sign; "H+" and "C-" are said without this."""
    symbols = re.findall(r"[A-Z][a-z]?", m[1])
    if len(m[1]) < 2 or m[1] in WORDS_LIKE_IONS or not set(symbols) <= ELEMENTS:
        return m[0]
    sign = "plus" if m[3] == "+" else "minus"
    return f"{_mixed(m[1])}{cardinal(m[2]) if m[2] else ''} {sign} "


def _dashed(m: re.Match) -> str:
    """"B-52", "COVID-19", "CVE-2021-44228": a dash that is neither minus nor a range."""
    letters = LETTER_NAMES["a"] if m[1] == "A" else m[1]
    return f" {letters} {number(m[2])}{m[3]} {', ' if m[4] else ''}"


def _letter_beside_digits(m: re.Match) -> str:
    """"221B", "5G": the number, then the letter."""
    return f" {number(m[1])} {LETTER_NAMES[m[2].lower()]} "


def _ruler(m: re.Match) -> str:
    value = roman(m[2])
    return f"{m[1]} the {ordinal(str(value))}" if value else m[0]


def _counted(m: re.Match) -> str:
    value = roman(m[2].upper())
    return f"{m[1]} {cardinal(str(value))}" if value else m[0]


def _century(m: re.Match) -> str:
    value = roman(m[1])
    return f"{ordinal(str(value))} {m[2]}" if value else m[0]


def _isbn(m: re.Match) -> str:
    return f" {one_by_one('ISBN')}, {grouped(m[1])} "


DIGITS: list[Rule] = [  # before dates and ranges, which also have dashes
    rule(r"\b[A-Z]{2}\d\d(?: ?\d{4}){3,}(?: ?\d{1,3})?\b", lambda m: grouped(m[0])),  # IBAN
    rule(r"(?<![\d+.,] )(?<![\w+.,-])[1-9]\d{0,2}(?:(?: \d{3}){2,}| 000(?!,\d))\b(?![ .-]?\d)",
         lambda m: m[0].replace(" ", ",")),  # 12 345 678, 200 000
    rule(r"(?<![\d.])[1-9]\d{0,2}(?:\.\d{3}){1,3}\.000\b(?!\.?\d)", lambda m: m[0].replace(".", ",")),
    rule(rf"(?:(?<=€)|(?<=EUR )|(?<![\d.,])(?={EUROPEAN}\s?(?:€|EUR\b))){EUROPEAN}(?!\.?\d)",
         lambda m: m[0].replace(".", "").replace(",", ".")),  # 1.299,99 €
    rule(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3}){2}\b(?![.,]?\d)", lambda m: m[0].replace(".", ",")),
    rule(r"\b0(?:x[0-9A-Fa-f]+|b[01]+)\b", lambda m: f" {one_by_one(m[0])} "),
    rule(r"(?<![\w.,-])\d(?:-\d){2,}\b(?!-)", lambda m: one_by_one(m[0])),  # 9-1-1
    rule(r"(?<!\w)#(?=\d*[A-Fa-f])([0-9A-Fa-f]{6})\b", lambda m: f" hash {one_by_one(m[1])} "),  # a color
    rule(r"(?<![\d,.])\d\d?(?:,\d\d)+,\d{3}\b", lambda m: m[0].replace(",", "")),  # 1,00,000, as in India
    rule(r"\bISBN(?:-1[03])?:?\s*((?:97[89][- ]?)?\d[\d -]{7,}[\dXx])\b", _isbn),
    rule(r"\b1[- .]([89]00)[- .](\d{3}[- .]\d{4})\b", _service),
    rule(r"(?<!\w)(?:\+|(?<![.,-])00(?=[1-9]\d{0,2}[ -]))\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,6}(?!\.?\d)",
         _international),
    rule(r"\b1[- .]([89]00)[- .]([A-Z][A-Z-]{3,})\b",
         lambda m: f" one {cardinal(m[1])} {m[2].lower()} "),
    rule(r"\b1[38]00 \d{3} \d{3}\b", lambda m: grouped(m[0])),
    rule(r"(?<![\w.,-])\d+(?:-\d+){3,}\b(?![-.,]\d)", lambda m: grouped(m[0])),  # ISBN, serial numbers
    rule(r"(?<![\d(])\(0\d{1,4}\)(?:[ -]\d{3,8}){1,2}\b", lambda m: grouped(m[0])),
    rule(r"\b\d{5}-\d{4}\b", lambda m: grouped(m[0])),  # postal code
    rule(r"(?<![\d.,])911\b(?![.,:]\d)", lambda m: one_by_one(m[0])),
    rule(r"(?<![\d(])\(\d{3}\) ?\d{3}[- .]\d{4}\b", lambda m: grouped(m[0])),
    rule(r"(?<![\d.,-])(?:1[- .])?\d{3}([-. ])\d{3}\1\d{4}\b(?![-.]?\d)", lambda m: grouped(m[0])),
    rule(r"(?<![\d.,$-])[2-9]\d\d-\d{4}\b(?!-)", lambda m: grouped(m[0])),
    rule(r"(?<![\d.,])0\d{2,4}(?:[ -]\d{3,8}){1,2}\b", lambda m: grouped(m[0])),
    rule(r"(?<![\d.,-])\d{3}-\d\d-\d{4}\b", lambda m: grouped(m[0])),  # social security
    rule(r"(?<![\d.,-])\d{4}(?:[ -]\d{4}){2,3}\b", lambda m: grouped(m[0])),  # bank cards
    rule(r"\b((?:[Cc]all|[Dd]ial|[Tt]ext|[Pp]hone)(?:ed|ing)?) (\d{3})\b(?![\d,.:]\d)(?! [a-z]+s\b)",
         _after_word),
    rule(r"\b(\d{3})(?= (?:hotline|helpline|lifeline|dispatcher|operator|call)s?\b)",
         lambda m: one_by_one(m[1])),
    rule(r"(?<![\w.])\.(\d\d)(?=[ -](?:cal\b|caliber|rifle|pistol|revolver|handgun|gun)\b)",
         lambda m: cardinal(m[1])),
    rule(rf"\b({CODE_WORDS})[ #]+(\d{{3,}}|\d{{2,}}-\d{{3,}})\b(?![,.:-]\d)", _after_word),
    rule(r"\b((?:[Tt]el|[Ff]ax|[Pp]hone)\b[.:]*) (\d{3}[ -]\d{4})\b", lambda m: f"{m[1]} {grouped(m[2])}"),
    rule(r"\b(480|720|1080|1440|2160)p\b", lambda m: f" {year(m[1])} {LETTER_NAMES['p']} "),
    rule(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", _address_of_host),
]
VERSIONS: list[Rule] = [
    rule(r"\b((?:I-|US-|Hwy\.? |Route |Highway )\d+) ([NSEW])\b", lambda m: f"{m[1]} {DIRECTIONS[m[2]]}"),
    rule(r"\bIPv([46])\b", lambda m: f" {one_by_one('IP')} version {cardinal(m[1])} "),
    rule(r"\b802\.(\d+)([a-z]*)\b",  # Wi-Fi and its kin
         lambda m: f" {one_by_one('8o2')} dot {cardinal(m[1])} {one_by_one(m[2])} "),
    rule(r"\b([A-Z]+)-(\d+)(s?)\b(-(?=\d))?", _dashed),
    rule(r"(?<=[a-z]-)(\d{1,2})s\b", lambda m: many(m[1])),  # "omega-3s"
    rule(r"\b([a-z]\d)-(\d{4,5})([A-Z]{0,2})\b",  # processors
         lambda m: f"{_mixed(m[1])}{house_number(m[2])} {one_by_one(m[3])} "),
    rule(r"\b([A-Z])\.(\d{3})\b", lambda m: f" {one_by_one(m[1])} {house_number(m[2])} "),  # "H.264"
    rule(r"\b([Vv]ersion) [vV]\.?(?=\d)", lambda m: m[1] + " "),
    rule(r"(?<![\w.])([vV]\.?\s?)?(\d+(?:\.\d+){2,})(?![\d])", _version),
    rule(r"\b(?!V(?:6|8|10|12)\b)([vV])(\d+(?:\.\d+)?)\b", _version),  # engines are no versions
    rule(r"(?<=[A-Z])/(?=\d)(?!\d{2,3}\s?°?\s?[CF]\b)", "slash"),
]
MIXED: list[Rule] = [
    rule(r"\b((?:[A-Z][a-z]?\d?)+)(?:\^(\d?))?([+−-])(?![\w+=>-])", _ion),
    rule(rf"\b({RULER}(?: (?!{either(NUMBERED_THINGS)})[A-Z][a-z]+)?) ([IVX]{{2,}})\b", _ruler),
    rule(rf"\b({RULER}) ([IVX])(?=$|[,.;!?']| (?:of|was|had|is|and|the|reigned|died)\b)",
         _ruler),
    rule(rf"\b({either(NUMBERED_THINGS)}) ([IVXLC]{{2,}}|[VX])\b(?!')", _counted),
    rule(rf"\b({either(NUMBERED_THINGS)}) (I)(?=$|[,.;:!?)]| (?:of|and|was|is|or)\b)", _counted),
    rule(r"\b(War|Phase|Type|Level|Division|Stage|Tier) (I)(?= [a-z]{2})", _counted),
    rule(r"\b([Cc]hapter|[Pp]art|[Ss]cene|[Bb]ook|[Vv]olume|[Pp]ages?|[Pp]hase) ([ivx]{2,})\b", _counted),
    rule(r"\b([IVX]+) (century|centuries)\b", _century),
    rule(r"\b([A-Z][a-z]+) (II|III|IV|VI|VII|VIII|IX|XI+|XIV|XV|XVI+)\b", _counted),
    rule(r"()\b(II|III|VII|VIII|XII|XIII|XIV|XVI{1,3}|[MDCLXVI]{5,})\b", _counted),  # nothing else looks so
    rule(r"\b(\d+)-([A-Z])\b(?!')", _letter_beside_digits),
    rule(r"\b(?=\w*[a-z])(?=\w*[A-Z]\w*[A-Z])(?:[A-Z][a-z]?\d*){2,}\b", _formula),
    rule(r"\b(?=\w*\d)(?:[A-Z][a-z]?\d*)+\b", _formula),
    rule(r"\b(?=[A-Z\d]*[A-Z]\d)([A-Z\d]+)(s?)\b", lambda m: _mixed(m[1]).rstrip() + m[2]),
    rule(r"(?<![\w.,])(\d+)([A-Z])\b", _letter_beside_digits),
    rule(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])(?!(?:st|nd|rd|th)\b)", lambda m: " ", any_case=True),
]
