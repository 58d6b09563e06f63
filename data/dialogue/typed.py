"""Questions as people type them: capitals, no marks, double blanks, typing errors.

Numbers, and words that the answer must say again (names, words to be spelled), are typed right.
"""

from __future__ import annotations

import random
import re

from data.text import is_clean

SHORTEST = 5  # letters of a word with a typing error
_WORD = re.compile(r"[A-Za-z']+")
_LEADS = ("Please tell me: ", "Question: ", "So, ", "Now, ", "Okay. ", "Hi! ", "Hello. ", "And now: ")
_SHORT = (("What is ", "What's "), ("I am ", "I'm "), ("do not ", "don't "), ("color", "colour"))
_JOINED = (("what is ", "whats "), ("what's", "whats"), ("don't", "dont"), ("do not ", "dont "),
           ("i'm ", "im "), ("i am ", "im "), ("can you ", "can u "), ("you're", "youre"),
           ("is not ", "isnt "), ("where is ", "wheres "), ("who is ", "whos "), ("how is ", "hows "),
           ("that is ", "thats "), ("it is ", "its "), ("please ", "pls "), ("are you ", "r u "))


def capitals(rng: random.Random, text: str, again: set[str]) -> str:
    """ALL CAPITALS, but for names that are to be said again."""
    return _WORD.sub(lambda m: m[0] if m[0] in again and not m[0].islower() else m[0].upper(), text)


def small(rng: random.Random, text: str, again: set[str]) -> str:
    """No capitals, and often no marks."""
    return bare(rng, text.lower(), again) if rng.random() < 0.6 else text.lower()


def bare(rng: random.Random, text: str, again: set[str]) -> str:
    """No mark at the end."""
    return text.rstrip("?.!") or text


def blanks(rng: random.Random, text: str, again: set[str]) -> str:
    """Double blanks between words, blanks around, or a blank before the mark."""
    roll = rng.random()
    if roll < 0.2:
        return f" {text} "
    if roll < 0.4:
        return re.sub(r" ?([?!.])$", r" \1", text)
    share = 1.0 if roll < 0.6 else 0.4
    return re.sub(" ", lambda m: "  " if rng.random() < share else " ", text)


def joined(rng: random.Random, text: str, again: set[str]) -> str:
    """No apostrophes: whats, dont, im."""
    lower = text.lower()
    for long, short in _JOINED:
        if re.search(rf"\b{long}", lower):
            lower = re.sub(rf"\b{long}", short, lower, count=1)
            break
    return lower if rng.random() < 0.7 else bare(rng, lower, again)


def curly(rng: random.Random, text: str, again: set[str]) -> str:
    """Curly apostrophes and quotes, as phones type them."""
    for long, short in _SHORT[:3]:
        text = text.replace(long, short, 1)
    text = text.replace("'", "\u2019")
    return f"\u201c{text}\u201d" if rng.random() < 0.2 else text


def misspelled(rng: random.Random, text: str, again: set[str]) -> str:
    """One or two typing errors: neighbours exchanged, a letter doubled or left out."""
    found = [m for m in _WORD.finditer(text) if len(m[0]) >= SHORTEST and m[0].lower() not in again]
    for match in sorted(rng.sample(found, min(len(found), rng.choice((1, 1, 2)))), key=lambda m: -m.start()):
        place = match.start() + rng.randrange(1, len(match[0]) - 1)
        way = rng.randrange(3)
        here, after = text[place], text[place + 1]
        made = text[:place] + (after + here, here + here + after, after)[way] + text[place + 2 :]
        text = made if is_clean(made) else text  # "count" without its o is another word
    return text


# form -> (what it does, its weight in training)
FORMS = {
    "capitals": (capitals, 10), "small": (small, 8), "bare": (bare, 3), "blanks": (blanks, 3),
    "joined": (joined, 4), "curly": (curly, 2), "misspelled": (misspelled, 8),
}
_NAMES, _WEIGHTS = tuple(FORMS), tuple(weight for _, weight in FORMS.values())
TYPED = 0.38  # of the questions in training


def said_again(answer: str) -> set[str]:
    """Words that the answer says, as they stand and in small letters."""
    words = [word for word in _WORD.findall(answer) if len(word) > 2]
    spelled = "".join(re.findall(r"\b[A-Z]\b", answer))
    return {*words[answer[:1].isupper() :], *(w.lower() for w in words), spelled, spelled.lower()}


def typed(rng: random.Random, form: str, question: str, answer: str) -> str:
    """A question in one of FORMS."""
    return FORMS[form][0](rng, question, said_again(answer))


def casual(rng: random.Random, split: str, question: str, answer: str) -> str:
    """A question as it may be typed; in training much more freely than dev and test ask."""
    if split == "train" and rng.random() < TYPED:
        return typed(rng, rng.choices(_NAMES, _WEIGHTS)[0], question, answer)
    if rng.random() < (0.85 if split == "train" else 0.55):
        return question
    roll = rng.random()
    if roll < 0.25:
        return question.rstrip("?.!") or question
    if roll < 0.45:
        return question.lower().rstrip("?.!") or question
    if roll < 0.6:
        return question.lower()
    if roll < 0.8:
        for long, short in _SHORT:
            if long in question:
                return question.replace(long, short, 1)
        return question
    return rng.choice(_LEADS) + question
