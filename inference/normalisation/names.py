"""Web and mail addresses, postal addresses, abbreviations, acronyms, letters, emoticons."""

from __future__ import annotations

import re

from inference.normalisation.numbers import house_number, one_by_one
from inference.normalisation.rules import Rule, either, rule
from inference.normalisation.tables import (
    ABBREVIATIONS,
    CAPITAL_WORDS,
    DIRECTIONS,
    LETTER_NAMES,
    NUMBERED,
    PARTS_OF_THE_WORLD,
    ROOMS,
    SHORT_FORMS,
    SPELLED_ACRONYMS,
    SPOKEN_ACRONYMS,
    STATES,
    STATES_IN_PRINT,
    STREETS,
    TITLES,
    WORDS_LIKE_STATES,
)

DOMAINS = ("com org net edu gov mil info biz io co uk de fr eu us ca au jp ai dev app tv me ch nl "
           "es it se no at be in ru cn br ly gl gg fm xyz site online store shop blog cloud nz mx kr pl "
           "dk fi pt ie sg hk").split()
FILES = ("txt csv pdf html htm json xml yaml yml md py js cpp exe zip tar gz doc docx xls xlsx ppt "
         "pptx png jpg jpeg gif svg mp3 mp4 wav toml ini log sh").split()
WEB_MARKS = {".": "dot", "/": "slash", "_": "underscore", "-": "dash", "@": "at", ":": "colon",
             "?": "question mark", "=": "equals", "&": "and", "#": "hash", "%": "percent",
             "~": "tilde", "+": "plus", "\\": "backslash"}
HOST = rf"(?:[A-Za-z0-9][\w-]*\.)+(?:{either(DOMAINS)})"
REST = r"(?::\d+)?(?:/[\w./?=&#%~+:@-]*[\w/])?"
STREET = (rf"(?:{either([*STREETS, *(s.capitalize() for s in STREETS)])}"
          r"|[Ss]treet|Avenue|Road|Lane|[Dd]rive)")
OPENERS = ("It|The|He|She|They|We|In|But|And|This|That|There|Then|However|You|My|Our|His|Her|When|If|"
           "What|These|Those|After|For|At|On|So|Its|Their|Why|How|Who|Where|Is|Are|Do|Does|Did|Can|"
           "Let|Please")  # words that begin a sentence
NAME = r"\b([A-Z][\w']+|\d+(?:st|nd|rd|th))"  # of a street
BEHIND_TOWNS = "is|was|has|had|and|or|to|for|on|at|from|with|in|where|by|who|when|will"
OWNERS = "[Tt]he|[Aa]n|[Mm]y|[Yy]our|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir"
IT_NOUNS = ("department|dept|support|staff|teams?|manager|guy|infrastructure|services?|systems?|jobs?|"
            "security|specialist|consultant|budget|company|companies|industry|sector|workers?|"
            "radio|station|band")
ONSET = ("|b|c|d|f|g|h|j|k|l|m|n|p|r|s|t|v|w|y|z|bl|br|ch|cl|cr|dr|fl|fr|gl|gr|kr|ph|pl|pr|qu|sc|"
         "sh|sk|sl|sm|sn|sp|st|str|sw|th|tr|tw|wh")
CODA = ("|b|c|ch|ck|d|f|ft|g|k|l|ld|lk|ll|lp|ls|lt|m|mp|ms|n|nd|ng|nk|ns|nt|p|ps|pt|r|rd|rk|rm|rn|rs|"
        "rt|s|sh|sk|ss|st|t|th|ts|x|z")
PRONOUNCEABLE = re.compile(rf"(?:{ONSET})(?:[aeiouy]{{1,2}}[^aeiouy]{{1,2}})*[aeiouy]{{1,2}}(?:{CODA})")


def spell(letters: str) -> str:
    """"FBI" -> "eff bee eye"."""
    return " ".join(LETTER_NAMES[c] for c in letters.lower() if c in LETTER_NAMES)


def _web(m: re.Match) -> str:
    """An address piece by piece: marks by name, digits one by one."""
    address = re.sub(r"^(?:https?://)?(?:www\.)?", "", m[0])
    said = []
    for piece in re.findall(r"[A-Za-z]+|\d+|[^\w\s]|_", address.rstrip("/")):
        if piece in WEB_MARKS:
            said.append(WEB_MARKS[piece])
        elif piece.isdigit():
            said.append(one_by_one(piece))
        else:
            said.append(spell(piece) if _is_spelled(piece) else piece.lower())
    return f" {' '.join(said)} "


def _is_spelled(piece: str) -> bool:
    words = ("co", "me", "in", "at", "be", "it", "no")
    return len(piece) == 1 or (len(piece) == 2 and piece not in words and piece in DOMAINS)


def _hashtag(m: re.Match) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", m[1])
    return f" hashtag {words}"


def _street(m: re.Match) -> str:
    ends = m[0].endswith(".") and re.match(rf"\s(?:{OPENERS})\b", m.string[m.end() :])
    return f"{m[1]} {STREETS[m[2].lower()]}{'.' if ends else ''}"


def _state(m: re.Match) -> str:
    state = STATES.get(m[1])
    return f"{state.lower()} {one_by_one(m[2])}" if state else m[0]


def _state_in_print(m: re.Match) -> str:
    """"Boston, Mass." without a pause, unless a sentence ends there."""
    after = m.string[m.end() :]
    ends = not after.strip() or re.match(rf"\s(?:{OPENERS})\b", after)
    return STATES_IN_PRINT[m[1]].lower() + ("." if ends else "")


def _dotted(m: re.Match) -> str:
    """"U.S.", "J. R. R.": letters, and no pause."""
    after = m.string[m.end() :]
    ending = "." if re.match(rf"\s?(?:{OPENERS})\b", after) else "" if after.startswith("'") else " "
    return f" {spell(m[0])}{ending}"


def _marked(m: re.Match) -> str:
    """A grade or a type of blood: "B-", "AB-"."""
    blood = re.search(r"\b(?:blood|[Tt]ype)\s$", m.string[: m.start()])
    return f" {spell(m[1])} {'negative' if blood else 'minus'} "


def _and_between(m: re.Match) -> str:
    return f" {spell(m[1])} and {spell(m[2])} "


def _shouted(m: re.Match) -> str:
    """A text in capitals alone, unless it holds acronyms alone: its words in small letters."""
    words = re.findall(r"(?<!\w)[a-z]{2,}(?!\w)", m[0].lower())
    if len(words) > 1 and (CAPITAL_WORDS & set(words) or min(map(len, words)) > 3):
        return re.sub(r"[A-Z]{2,}(?:'[A-Z]+)?", _in_small_letters, m[0])
    return m[0]


def _in_small_letters(m: re.Match) -> str:
    word = m[0].lower()
    return word if re.search(r"[aeiouy]", word) and word not in SPELLED_ACRONYMS else m[0]


def _acronym(m: re.Match) -> str:
    """Spelled, unless it is said as a word or is a word in capitals."""
    word, ending = m[1].lower(), m[2]
    if ending and word + "s" in CAPITAL_WORDS:
        return m[0]
    return _ended(word if _is_word(word) else spell(word), ending)


def _ended(said: str, ending: str) -> str:
    """With "s" or "'s" behind it: "ess" -> "esses"."""
    return said + ("es" if ending == "s" and said.endswith(("s", "x")) else ending)


def _is_word(word: str) -> bool:
    if word in SPELLED_ACRONYMS or word in CAPITAL_WORDS or word in SPOKEN_ACRONYMS:
        return word not in SPELLED_ACRONYMS
    if len(word) > 4:
        return bool(re.search(r"[aeiouy]", word))
    return len(word) == 4 and PRONOUNCEABLE.fullmatch(word) is not None


WEB: list[Rule] = [
    rule(r"\A[^a-z]*[A-Z]{2}[^a-z]*\Z", _shouted),
    rule(r"(?:^|(?<=\s))(?:[:;=]['’]?[-o]?[)(DPp|/\\]|\^_+\^|[xX]D)(?=$|[\s.!?,])", " "),
    rule(r"\bI\s?(?:<3|❤|♥|💕|💖)\ufe0f?(?=\s?\w)", "I love"),
    rule(r"(?:^|(?<=\s))<3(?!\d)", " "),
    rule(r"(?:^|(?<=\n))#+\s|\[[ xX]\]", " "),  # Markdown's headings and boxes
    rule(r"<([\w.+-]+@[\w.-]+)>", lambda m: f", {m[1]},"),
    rule(r"</?[A-Za-z][A-Za-z0-9]*\s?/?>", " "),  # HTML
    rule(r"https?://[\w./?=&#%~+:@-]*[\w/]", _web),
    rule(rf"(?<![\w@.])[\w.+-]+@{HOST}\b", _web),
    rule(rf"(?<![\w@.])(?:www\.)?{HOST}\b{REST}", _web),
    rule(r"(?<![\w/.<])(?:~/|/(?=[A-Za-z.][\w.-]*/))[\w./?=&%-]*\w|\b[A-Z]:\\[\w\\.-]*\w", _web),  # paths
    rule(r"(?<=\s)(?<![=<>] )(?:--?(?=[b-z](?:[\s`]|$))|--(?=[a-z]{2}))",  # a command's flags
         lambda m: " dash " * len(m[0])),
    rule(r"(?<=[A-Za-z])\s?'n(?:'\s?|\s)(?=[A-Za-z])", "and"),
    rule(rf"(?<![\w./])[\w-]+(?:\.[\w-]+)*\.(?:{either(FILES)})\b(?!\.\w)", _web),
    rule(rf"(?<!\S)\.(?=(?:com|net|org|{either(FILES)})\b)", "dot", any_case=True),  # "a .csv file"
    rule(r"\b([CFcf])#(?!\w)", lambda m: f" {m[1]} sharp "),
    rule(r"(?<!\w)#([A-Za-z]\w*[A-Za-z]{2}|[a-z]+)\b", _hashtag),
]
NAMES: list[Rule] = [
    rule(rf"(?<!\w)({either(SHORT_FORMS)})(?!\w)(?:(?<=i\.e|e\.g)\.|(?<=[hH]\.[dD])\.|(?<= vs)\.)?",
         lambda m: SHORT_FORMS[m[1].lower()], any_case=True),
    rule(r"((?:Ave|Blvd|Rd|St|Dr)\b\.?,?\s)(NW|NE|SW|SE|[NSEW](?=$|,|\.,|\s[a-z\d]))\b",
         lambda m: m[1] + DIRECTIONS[m[2]]),
    rule(r"(?<=\d )([NS][EW]|[NSEW])\.?\s(?=[A-Z0-9])", lambda m: DIRECTIONS[m[1]] + " "),
    rule(r"(\b\d+\s(?:[NSEW]\.?\s)?(?:[A-Z][\w']+\s){0,2}[A-Z][\w']+)\s(St|Dr)\b\.?", _street),
    rule(rf"(?<![\w.,-])(\d{{3,4}})(?!\s?[MGT]B\b)"  # no "500 GB drive"
         rf"(?=[A-Z]?\s(?:[a-z]+\s)?(?:[A-Z0-9][\w']*\.?\s){{1,3}}{STREET}\b)",
         lambda m: house_number(m[1]) + " "),
    rule(rf"{NAME}\s(St|Dr|Ct|Sq|Pl|Ter)\b"
         rf"(?:\.(?=,|\s+[a-z0-9&]|\s*$|\s(?:{OPENERS})\b)|(?=[,;]|\s+[a-z&#]|\s*$))", _street),
    rule(rf"{NAME}\s(Ave|Blvd|Rd|Ln|Hwy|Pkwy|Expy|Ct|Sq)\b\.?", _street),
    rule(r"\b([A-Z]{2})\s(\d{5})\b(?:-\d{4})?", _state),
    rule(rf"\b({either(ROOMS)})\b\.?(?=\s#?\d|\s[A-Z]\d*\b)", lambda m: ROOMS[m[1]]),
    rule(rf"\b([NSEW])\.\s(?={either(PARTS_OF_THE_WORLD)})", lambda m: DIRECTIONS[m[1]] + " "),
    rule(r"\b[Nn]o\.(?= of\b)", "number"),
    rule(rf"(?<=[a-z], )({either(set(STATES) - set(WORDS_LIKE_STATES))})\b"
         rf"(?=[.,;!?)]|$|\s(?:{BEHIND_TOWNS})\b)",
         lambda m: STATES[m[1]].lower()),
    rule(rf"(?<=[a-z], )({either(STATES_IN_PRINT)})\.", _state_in_print),
    rule(r"\b(Co)\.", "company"),
    rule(r"(?<=[a-z] )v\.(?= [A-Z])", "versus"),
    rule(rf"\b({either(NUMBERED)})\.\s*(?=#?\d|[IVX]{{2,}}\b|[VX]\b)",
         lambda m: NUMBERED[m[1].lower()] + " ", any_case=True),
    rule(rf"\b({either(t.capitalize() for t in TITLES)})\.?\s(?=[A-Z][\w'.])",
         lambda m: TITLES[m[1].lower()] + " "),
]
LETTERS: list[Rule] = [
    rule(r"\b(?:[A-Z]\.\s?){2,}(?=[A-Z]\w|\s|[,;:!?)'\"-]|$)|\b(?:[a-z]\.){2,}(?!\w)", _dotted),
    rule(rf"\b([A-Z])\.(?=\s?[A-Z])(?!\s(?:{OPENERS})\b)|\b([A-HJ-Z])\.(?=\s[a-z]{{3}})",  # "T. rex"
         lambda m: f" {LETTER_NAMES[(m[1] or m[2]).lower()]} "),
    rule(r"\b(AB?|[BCDFO])([-−])(?=$|[\s.,;!?)])", _marked),
    rule(r"\b([A-Z]{1,3})\s?&\s?([A-Z]{1,3})\b", _and_between),
    rule(r"\b[a-z][A-Z]+\b", lambda m: spell(m[0])),
    rule(r"(?<=[a-z])(?=[A-Z]{2,}\b)", " "),
    rule(r"\bPhDs?\b", lambda m: spell("PhD") + m[0][3:]),
    rule(r"\b[A-Z]+'(?:T|LL|RE|VE|M|D)\b", lambda m: m[0].lower()),
    rule(rf"\b((?:{OWNERS}|works? in) )(IT|WHO|AM)\b|\b()(IT|AM)(?= (?:{IT_NOUNS})\b|/FM\b)",
         lambda m: f"{m[1] or ''}{spell(m[2] or m[4])}"),  # capitals of a word that cannot stand there
    rule(r"\b([A-Z]{2,})('s|s|)\b", _acronym),
    rule(r"\b([B-HJ-Z])('s|s)\b|\b([a-z])('s)\b",
         lambda m: _ended(spell(m[1] or m[3]), m[2] or m[4])),
    rule(r"\bA\b(?=\s*(?:$|[.,;:!?)+=<>≥≤×÷^-])|\s(?:and|or|to)\s[B-Z]\b)"
         r"|\ba\b(?=\s*[=<>≥≤≠≈+×÷^])", LETTER_NAMES["a"]),
    rule(r"\b([Pp]lan|[Vv]itamin|[Gg]rade|[Gg]roup|[Oo]ption|[Tt]eam|[Cc]lass|[Ll]etter|[Hh]epatitis|an)"
         r" A\b", lambda m: f"{m[1]} {LETTER_NAMES['a']}"),
    rule(rf"\b({either(ABBREVIATIONS)})\.", lambda m: ABBREVIATIONS[m[1].lower()] + " ", any_case=True),
    rule(r"(?<=[a-zA-Z0-9])\.(?=[a-z])|(?<=[a-zA-Z])\.(?=\d)", "dot"),
]
