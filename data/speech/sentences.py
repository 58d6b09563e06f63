"""What is spoken: ordinary sentences, questions, the model's own sort of answers, single words.

Ordinary English comes from the text sets of the manifest, or from the sample that ships in
data/samples. Every text belongs to one split by a stable hash of its words, so that dev and test
sentences are never heard in training. Nothing here makes sound.
"""

import gzip
import random
import re
import zlib
from collections import Counter
from functools import lru_cache
from pathlib import Path

from data import text as corpora
from data.dialogue import told
from data.dialogue.facts import CAPITALS, DAYS, MONTHS, NAMES, OPPOSITES
from data.dialogue.things import SINGLE, THINGS
from data.english import NUMBER_WORDS, article
from data.scenes.objects import COLORS, KINDS, plural
from data.scenes.objects import WORDS as SIGN_WORDS
from data.splits import slot

SAMPLE_SENTENCES = Path(__file__).parents[1] / "samples" / "sentences.txt.gz"
VOCABULARY = 8000  # most frequent words; a sentence with a rarer one is not used for hearing
_PLAIN = re.compile(r"[A-Za-z][A-Za-z',?! -]*[.?!]")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")


def split_of(text: str) -> str:
    """train (95 %), dev (2 %) or test (3 %) by the words: case and punctuation do not count."""
    key = " ".join(words_of(text)).encode()
    place = slot(key)
    return "dev" if place < 2 else "test" if place < 5 else "train"


def words_of(text: str) -> list[str]:
    """Lower-case words; digits and punctuation are dropped."""
    return _WORD.findall(text.lower())


def _sentences(passage: str):
    """Cut a passage and bring each sentence to plain letters, commas and one closing mark."""
    passage = re.sub(r'["()\[\]_*]', "", passage).replace("\n", " ")
    passage = re.sub(r"\s*[;:]\s*|\s+-+\s+", ", ", passage)
    for sentence in re.split(r"(?<=[.?!])\s+", passage):
        sentence = re.sub(r"\bi\b", "I", sentence.strip(" ,"))
        if sentence and sentence[-1] not in ".?!":
            sentence += "."
        if _PLAIN.fullmatch(sentence) and 2 <= len(sentence.split()) <= 25:
            yield sentence[0].upper() + sentence[1:]


def books(folder: Path):
    """Sentences of books and prompts."""
    for source in corpora.SENTENCES.values():
        for passage in source(folder):
            yield from _sentences(passage)


def corpus(folder: Path, every: int = 7):
    """Sentences of books and prompts, and of every so many turns of the dialogues.

    Dialogues outnumber books ten to one: every seventh turn makes a fair mix.
    """
    yield from books(folder)
    for name in corpora.DIALOGUES:
        for _, turns in corpora.dialogues(folder, name):
            for turn in turns:
                if zlib.crc32(turn.encode()) % every == 0:
                    yield from _sentences(turn)


@lru_cache(maxsize=2)
def _all_ordinary(folder: str | None) -> tuple[tuple[str, ...], frozenset[str]]:
    """(distinct sentences in a stable order, the words frequent enough to be learnt)."""
    if folder:
        found = dict.fromkeys(corpus(Path(folder)))
    else:
        with gzip.open(SAMPLE_SENTENCES, "rt", encoding="utf-8") as file:
            found = dict.fromkeys(line.strip() for line in file)
    counts = Counter(word for sentence in found for word in words_of(sentence))
    common = frozenset(word for word, count in counts.most_common(VOCABULARY) if count > 1)
    return tuple(found), common


@lru_cache(maxsize=8)
def ordinary(split: str, folder: str | None = None, common_only: bool = False) -> tuple[str, ...]:
    """Distinct ordinary sentences of a split; `folder` holds the manifest's sets (None: sample)."""
    sentences, common = _all_ordinary(folder)
    return tuple(
        sentence
        for sentence in sentences
        if split_of(sentence) == split
        and not (common_only and any(word not in common for word in words_of(sentence)))
    )


@lru_cache(maxsize=8)
def read(split: str, folder: str | None = None) -> tuple[str, ...]:
    """The sentences of books and prompts of a split, long ones and rare words among them."""
    found = books(Path(folder)) if folder else ordinary(split)
    return tuple(dict.fromkeys(sentence for sentence in found if split_of(sentence) == split))


def vocabulary(folder: str | None = None) -> list[str]:
    """Every word of the ordinary sentences, most frequent first."""
    sentences, _ = _all_ordinary(folder)
    return [word for word, _ in Counter(w for s in sentences for w in words_of(s)).most_common()]


# ---- templates: {noun} {nouns} {color} {country} {name} {day} {month} {word} {number} {thing} --

TALK_QUESTIONS = """Hello.|Hi there.|Good morning.|How are you?|Who are you?|What is your name?
What can you do?|My name is {name}.|I am {name}, nice to meet you.|What is my name?|Thank you.
What is the capital of {country}?|Do you know the capital of {country}?
Tell me about {things}.|What is {this}?|What are {things}?|Can you explain what {this} is?
What is {number} plus {number2}?|What is {number} minus {number2}?
How much is {number} times {number2}?
Add {number} and {number2}.|What is the opposite of {word}?|Spell the word {thing}.
How do you spell {thing}?|What day comes after {day}?|What day is before {day}?
What month comes after {month}?|How many days are in {month}?|What color is {this}?
What sound does a dog make?|Tell me a joke.|Tell me a story.|Tell me a story about {this}.
Do you like {things}?|What is your favorite color?|What comes after {number}?|Count to {number}.
Say hello to {name}.|Goodbye.|See you on {day}.|Please repeat that.|Can you help me, please?
What did I just say?|What did you hear?|Are you a robot?|How old are you?|Where do you live?
Which is bigger, {number} or {number2}?|Is {this} bigger than {a_noun}?
What is the weather today?"""

ANSWERS = """{A_color} {noun} is to the left of {a_noun2}.
{A_color} {noun} is above {number} {nouns2}.
There are {number} {nouns}.|I see {a_color} {noun} and {a_noun2}.
There is {a_noun} on {a_color} background.
The {noun} is {color}.|The {nouns} are {color}.|{Number}.|Yes.|No.|{Color}.|{A_noun}.
Yes, there is {a_noun}.
No, there is no {noun}.|The {noun} is on the left.|The {noun} is at the top.
In the bottom right corner.
It is {a_noun}.|The sign says {word}.|A sign says {word}.|The {noun} moves to the right.
I am micro omni, a tiny model that can see, hear and speak.|Hello, how can I help you?
The capital of {country} is {capital}.|{Number} plus {number2} is {number3}.
You are welcome, {name}.
The day after {day} is {day2}.|The opposite of {word} is {word2}.|I do not know that, sorry.
I cannot know that.|Nice to meet you, {name}.|{A_thing} is something I know.
You said {word} and {word2}.
I hear {word}.|The {noun} is bigger than the {noun2}.|There are more {nouns} than {nouns2}.
{A_color} {noun}, {a_color2} {noun2} and {number} {nouns}.|Your name is {name}.|Goodbye, {name}."""


@lru_cache(maxsize=1)
def _fillers() -> dict[str, list[str]]:
    nouns = [name for name in KINDS if name.replace(" ", "").isalpha()]
    return {
        "noun": nouns,
        "color": list(COLORS),
        "country": list(CAPITALS),
        "name": list(NAMES),
        "day": list(DAYS),
        "month": list(MONTHS),
        "word": list(SIGN_WORDS) + [row[0] for row in OPPOSITES],
        "number": NUMBER_WORDS[1:] + ["eleven", "twelve", "twenty", "thirty"],
        "thing": [row[0] for row in THINGS],
    }


def _several(row: int) -> str:
    """More than one of a thing; of another where it cannot be counted."""
    thing = THINGS[row] if THINGS[row] in SINGLE else SINGLE[row % len(SINGLE)]
    return told.plural(thing[0])


def _fill(template: str, rng: random.Random) -> str:
    pools = _fillers()
    noun, noun2 = rng.sample(pools["noun"], 2)
    thing = rng.choice(pools["thing"])
    row = pools["thing"].index(thing)
    values = {key: rng.choice(pool) for key, pool in pools.items()}
    values |= {key + "2": rng.choice(pool) for key, pool in pools.items()}
    values |= {"noun": noun, "noun2": noun2, "nouns": plural(noun), "nouns2": plural(noun2),
               "a_noun": article(noun), "a_noun2": article(noun2), "thing": thing,
               "a_thing": article(thing), "this": THINGS[row][1], "things": _several(row),
               "number3": rng.choice(NUMBER_WORDS),
               "a_color": article(values["color"]), "a_color2": article(values["color2"]),
               "capital": CAPITALS[values["country"]]}
    values |= {key[0].upper() + key[1:]: value[0].upper() + value[1:]
               for key, value in values.items()}
    return template.format(**values)


@lru_cache(maxsize=3)
def _templates(text: str) -> list[str]:
    return [item.strip() for line in text.splitlines() for item in line.split("|")]


def _drawn(table: str, rng: random.Random, split: str) -> str:
    """A filled template of the right split; fixed phrases belong to every split."""
    while True:
        template = rng.choice(_templates(table))
        text = _fill(template, rng)
        if split_of(text) == split or ("{" not in template and rng.random() < 0.3):
            return text


def talk_question(rng: random.Random, split: str) -> str:
    """Something a person says to the model without a picture."""
    return _drawn(TALK_QUESTIONS, rng, split)


def answer(rng: random.Random, split: str) -> str:
    """The model's own sort of answer."""
    return _drawn(ANSWERS, rng, split)


def digits(rng: random.Random) -> str:
    """One to five digits, in words."""
    said = " ".join(rng.choice(NUMBER_WORDS[:10]) for _ in range(rng.randint(1, 5)))
    return said[0].upper() + said[1:] + "."


def numbers(rng: random.Random, split: str) -> str:
    """A sentence with written numbers, which the speaker must read out."""
    forms = ("It costs {} dollars.", "There are {} people here.", "He was born in {}.",
             "The answer is {}.", "Page {} is missing.", "The train leaves in {} minutes.",
             "{} and {} make more than either.", "Room {} is on the left.")
    while True:
        form = rng.choice(forms)
        text = form.replace("{}", "%d") % tuple(
            rng.choice((rng.randint(0, 20), rng.randint(20, 100), rng.randint(100, 2030)))
            for _ in range(form.count("{}"))
        )
        if re.search(r"\b1 (dollars|people|minutes)", text):
            continue
        place = slot(text.encode())
        if ("dev" if place < 2 else "test" if place < 5 else "train") == split:
            return text


def single_word(rng: random.Random, folder: str | None = None) -> str:
    """One frequent word; words are not held out, since the world's vocabulary is closed."""
    word = rng.choice(sorted(_all_ordinary(folder)[1]))
    return word[0].upper() + word[1:] + "."
