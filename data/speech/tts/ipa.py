"""From the phonemes of neural engines (misaki's IPA) to our phones, with their times.

Kokoro and Hibari time every symbol they are given: phonemes, stress marks, spaces, punctuation.
Symbols become phones here; a stress mark counts to its vowel, a length mark to what it lengthens.
British speech keeps the American phones of its words, so that one text front end serves all
voices: within a word both are aligned by edit distance, and a voice learns its own accent.
"""

from collections.abc import Sequence

from models.phones import PAUSE, VOWELS

SAME = {"ɡ": "g", "j": "y", "h": "hh", "ð": "dh", "ŋ": "ng", "ɹ": "r", "ʃ": "sh", "θ": "th",
        "ʒ": "zh", "ʤ": "jh", "ʧ": "ch", "ɾ": "d", "T": "d", "ʔ": "t", "x": "k"}
IPA = SAME | {c: c for c in "bdfklmnpstvwz"} | {
    "A": "ey", "I": "ay", "O": "ow", "Q": "ow", "W": "aw", "Y": "oy", "ᵊ": "ax", "ə": "ax",
    "ɐ": "ax", "ɑ": "aa", "ɒ": "aa", "æ": "ae", "a": "ae", "ɔ": "ao", "ɛ": "eh", "e": "eh",
    "ɜ": "er", "ɚ": "er", "ɪ": "ih", "ᵻ": "ih", "ʊ": "uh", "ʌ": "ah", "i": "iy", "u": "uw",
}
STRESS, LENGTH, MARKS = "ˈˌ", "ː", ",.?!;:—…"
LONG_SPACE = 0.1  # seconds; a longer gap between words is a pause without a mark
Timed = list  # [phone, seconds, word or -1, stress]


def word_phones(symbols: str) -> list[tuple[str, int, int]]:
    """One word's symbols -> (phone token, stress, symbols it takes) in order; () for unknown ones."""
    out: list[list] = []
    waiting, stress, n = 0, 0, 0
    while n < len(symbols):
        symbol, after = symbols[n], symbols[n + 1 : n + 2]
        if symbol in STRESS:
            waiting, stress = waiting + 1, 1
        elif symbol not in IPA:  # length marks, and what has no sound of its own
            if out:
                out[-1][2] += 1
            else:
                waiting += 1
        else:
            phone, taken = IPA[symbol], 1
            follows = symbols[n + 2 : n + 3]
            vowel_next = follows and (follows in STRESS or IPA.get(follows) in VOWELS)
            if after == "ɹ" and (symbol == "ɜ" or (symbol == "ə" and not vowel_next)):
                phone, taken = "er", 2
            is_vowel = phone in VOWELS
            token = f"{phone}{int(stress > 0)}" if is_vowel else phone
            out.append([token, stress if is_vowel else 0, waiting + taken])
            waiting, stress, n = 0, 0 if is_vowel else stress, n + taken - 1
        n += 1
    if out:
        out[-1][2] += waiting
    return [tuple(row) for row in out]


def _distance(a: str, b: str) -> float:
    """How unlike two phone tokens are: 0 alike, 0.5 two vowels, 1.5 a vowel and a consonant."""
    if a.rstrip("01") == b.rstrip("01"):
        return 0.0
    vowels = (a[-1] in "01") + (b[-1] in "01")
    return {2: 0.5, 0: 1.0, 1: 1.5}[vowels]


def transfer(times: Sequence[float], spoken: Sequence[str], wanted: Sequence[str]) -> list[float]:
    """The times of `spoken` phones as times of the `wanted` phones of the same word.

    Phones that were not spoken (an r after a vowel in British speech) share the time of the one
    before; phones that are not wanted give theirs to it. Times add up to the same.
    """
    GAP = 0.7
    n, m = len(spoken), len(wanted)
    cost = [[GAP * (i + j) if not i or not j else 0.0 for j in range(m + 1)] for i in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i][j] = min(cost[i - 1][j - 1] + _distance(spoken[i - 1], wanted[j - 1]),
                             cost[i - 1][j] + GAP, cost[i][j - 1] + GAP)
    match: list[int | None] = [None] * m  # the spoken phone of each wanted one
    i, j = n, m
    while i and j:
        if cost[i][j] == cost[i - 1][j - 1] + _distance(spoken[i - 1], wanted[j - 1]):
            i, j = i - 1, j - 1
            match[j] = i
        elif cost[i][j] == cost[i - 1][j] + GAP:
            i -= 1
        else:
            j -= 1
    taken = [k for k in match if k is not None]
    if not taken:
        return [sum(times) / m] * m
    # Each matched phone owns the spoken time up to the next matched one, the first from the start.
    starts = [0, *taken[1:], n]
    owned = {k: sum(times[starts[i] : starts[i + 1]]) for i, k in enumerate(taken)}
    anchors = list(match)
    for j in range(m):  # the unspoken belong to the anchor before, or to the first
        if anchors[j] is None:
            anchors[j] = anchors[j - 1] if j and anchors[j - 1] is not None else taken[0]
    return [owned[k] / anchors.count(k) for k in anchors]


def timed_phones(
    chunks: Sequence[str], seconds: Sequence[float], reference: Sequence[str] | None = None
) -> list[Timed]:
    """A sentence's words of symbols, joined by single spaces, and the time of each symbol -> phones.

    Args:
        chunks: words, with the punctuation that follows them.
        seconds: one for each symbol of " ".join(chunks), and one for the padding at either end.
        reference: the same words' American symbols, if `chunks` are not.
    """
    out: list[Timed] = [[PAUSE, seconds[0], -1, 0]]
    at = 1
    for number, chunk in enumerate(chunks):
        body = chunk.rstrip(MARKS)
        mine = seconds[at : at + len(chunk)]
        spoken, k = word_phones(body), 0
        times = []
        for _, _, taken in spoken:
            times.append(sum(mine[k : k + taken]))
            k += taken
        names = [phone for phone, *_ in spoken]
        wanted = word_phones(reference[number].rstrip(MARKS)) if reference else spoken
        if reference and spoken and wanted:
            times = transfer(times, names, [phone for phone, *_ in wanted])
        out += [[phone, t, number, stress] for (phone, stress, _), t in zip(wanted, times, strict=True)]
        at += len(chunk)
        gap = sum(mine[len(body) :]) + (seconds[at] if number + 1 < len(chunks) else 0.0)
        if len(chunk) > len(body) or gap > LONG_SPACE:
            out.append([PAUSE, gap, -1, 0])
        else:
            out[-1][1] += gap
        at += 1
    if out[-1][0] == PAUSE:
        out[-1][1] += seconds[-1]
    else:
        out.append([PAUSE, seconds[-1], -1, 0])
    return out
