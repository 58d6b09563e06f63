"""Conversations of the small world, with answers that can be checked exactly.

`sample_conversation(rng, split)` is a pure function of the generator's state. Wordings of dev and
test, and a few per cent of argument combinations, never occur in train. Facts occur in all splits.
It makes text only: it never speaks of a picture or a sound as if it were there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import accumulate

from data.scenes.captions import caption
from data.scenes.questions import questions
from data.scenes.scene import sample_scene
from data.talk import numbers, social, told, words, world
from data.talk.draw import Draw, Turn, upper
from data.talk.followups import followup
from data.talk.names import own_name
from data.talk.things import THINGS

# kind -> (maker, weight)
KINDS = {
    "greeting": (social.greeting, 5), "identity": (social.identity, 7),
    "thanks": (social.thanks, 4),
    "small_talk": (social.small_talk, 4), "refusal": (social.refusal, 8),
    "name": (social.own_name, 3), "no_name": (social.no_name, 1),
    "arithmetic": (numbers.arithmetic, 14), "word_problem": (numbers.word_problem, 5),
    "compare": (numbers.compare, 5), "counting": (numbers.counting, 5),
    "calendar": (numbers.calendar, 7),
    "spelling": (words.spelling, 9), "repeat": (words.repeat, 6), "opposite": (words.opposite, 9),
    "capital": (world.capital, 8), "color": (world.color, 7), "animal": (world.animal, 7),
    "definition": (world.definition, 12), "category": (world.category, 8),
    "told_scene": (told.told_scene, 10), "followup": (followup, 14),
}
_NAMES, _WEIGHTS = list(KINDS), [weight for _, weight in KINDS.values()]
_CUMULATIVE = list(accumulate(_WEIGHTS))
# Kinds that are slow to learn are practised more often than they are asked in dev and test.
PRACTICE = {"word_problem": 5, "refusal": 4, "spelling": 2, "compare": 2, "name": 2, "small_talk": 3,
            "thanks": 3, "repeat": 2, "told_scene": 4, "identity": 2, "definition": 2, "opposite": 2,
            "category": 2}
_PRACTISED = list(accumulate(w * PRACTICE.get(k, 1) for k, (_, w) in KINDS.items()))

ONE_WORD = ("Answer in one word.", "Answer with one word.", "Use one word only.",
            "Reply in one word.",
            "Give one-word answers.", "Please answer with a single word.",
            "Your answers are one word long.")
ONE_WORD_KINDS = ("capital", "color", "opposite", "arithmetic", "calendar", "category", "animal")
YOUR_NAME = ("Your name is {n}.", "You are called {n}.", "You are {n}.",
             "Your name is {n}, a helper.",
             "From now on you are called {n}.", "Call yourself {n}.", "They call you {n}.")
NEUTRAL = ("You are a helpful assistant.", "You are μOmni.", "You are a small, friendly model.",
           "Answer shortly.", "Be kind and clear.", "Help the user.", "You are a friendly helper.")
POLITE = ("End every answer with: Have a nice day!", "Always end with: Have a nice day!",
          "Wish the user a nice day in every answer.", "Add: Have a nice day! to each answer.",
          "Finish every answer with: Have a nice day!", "Every answer ends with: Have a nice day!",
          "Close each answer with: Have a nice day!")

_LEADS = ("Please tell me: ", "Question: ", "So, ", "Now, ", "Okay. ", "Hi! ", "Hello. ",
          "And now: ")
_SHORT = (("What is ", "What's "), ("I am ", "I'm "), ("do not ", "don't "), ("color", "colour"))


def casual(draw: Draw, question: str) -> str:
    """A question as people type it: now and then no capitals, no question mark, a lead."""
    if draw.chance() < 0.55:
        return question
    roll = draw.chance()
    if roll < 0.25:
        return question.rstrip("?.!") or question
    if roll < 0.45:
        return question.lower().rstrip("?.!")
    if roll < 0.6:
        return question.lower()
    if roll < 0.8:
        for long, short in _SHORT:
            if long in question:
                return question.replace(long, short, 1)
        return question
    return draw.pick(_LEADS) + question


def _system(draw: Draw, kind: str, turns: list[Turn]) -> tuple[str, list[Turn]]:
    """A system line that these turns can obey, and the turns as they are answered under it."""
    short = [turn.accept[0] if turn.accept else "" for turn in turns]
    if kind in ONE_WORD_KINDS and all(len(s.split()) == 1 for s in short):
        said = [upper(s.rstrip(".")) + "." for s in short]
        bound = [turn._replace(answer=s, accept=()) for turn, s in zip(turns, said, strict=True)]
        return draw.say(ONE_WORD), bound
    if kind == "identity" and draw.chance() < 0.7:
        name = own_name(draw)
        wordings = social.IDENTITY[draw.number(0, 1)][0]
        wordings = tuple(w for w in wordings if "μ" not in w and "robot" not in w.lower())
        if wordings[0] == "Who are you?":
            return draw.say(YOUR_NAME, n=name), [Turn("Who are you?", f"I am {name}.", (name,))]
        turn = Turn(draw.say(wordings), f"My name is {name}.", (f"I am {name}.", name))
        return draw.say(YOUR_NAME, n=name), [turn]
    if kind in ("capital", "color", "animal", "definition") and draw.chance() < 0.3:
        wish = " Have a nice day!"
        return draw.say(POLITE), [
            turn._replace(
                answer=turn.answer + wish,
                accept=tuple(f"{a.rstrip('.')}.{wish}" for a in turn.accept),
            )
            for turn in turns
        ]
    return draw.say(NEUTRAL), turns


def sample_conversation(rng: random.Random, split: str) -> dict:
    """{"kind", "messages": [{"role", "content"}], "checks": [{"kind", "answer", "accept"}]}.

    One check for each assistant turn, in order. `kind` is "mixed" when several kinds occur.
    """
    draw = Draw(rng, split)
    count = 1 if rng.random() < 0.55 else rng.choices((2, 3, 4), (5, 3, 2))[0]
    weights = _PRACTISED if split == "train" else _CUMULATIVE
    kinds = rng.choices(_NAMES, cum_weights=weights, k=count)
    messages: list[dict] = []
    checks: list[dict] = []
    named = False
    for kind in kinds:
        if kind in ("name", "no_name") and named:
            continue
        named = named or kind in ("name", "no_name")
        turns = KINDS[kind][0](draw)
        if count == 1 and rng.random() < 0.15:
            line, turns = _system(draw, kind, turns)
            messages.append({"role": "system", "content": line})
        for turn in turns:
            question = turn.question if turn.keep else casual(draw, turn.question)
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": turn.answer})
            checks.append({"kind": kind, "answer": turn.answer, "accept": list(turn.accept)})
    return {"kind": kinds[0] if count == 1 else "mixed", "messages": messages, "checks": checks}


_NUMBER = {numbers.words(n): n for n in (*range(21), 30, 40, 50, 60, 70, 80, 90)}


def normalise(text: str) -> list[str]:
    """Words without case, punctuation, articles; numbers as digits. Spelled letters all stay."""
    text = text.lower().replace("'", "").replace("grey", "gray").replace("colour", "color")
    tokens = re.findall(r"[^\W_]+", text)
    if not all(len(token) == 1 for token in tokens):
        tokens = [token for token in tokens if token not in ("a", "an", "the")]
    plain: list[str] = []
    for token in tokens:
        value = _NUMBER.get(token)
        if value is not None and 0 < value < 10 and plain and plain[-1] in _TENS_DIGITS:
            plain[-1] = str(int(plain[-1]) + value)
        else:
            plain.append(token if value is None else str(value))
    return plain


_TENS_DIGITS = {str(n) for n in range(20, 100, 10)}


def score_turn(reply: str, check: dict) -> bool:
    """Whether a reply says the same as the answer or one of the accepted answers."""
    said = normalise(reply)
    return any(said == normalise(right) for right in [check["answer"], *check["accept"]])


# ---- for speech ------------------------------------------------------------------------------

_UNSPEAKABLE = re.compile(r"[+*=/\"μ<>]|\d-\d| - | x ")


def speakable(text: str) -> str:
    """Text as a voice reads it: numbers in words, the name as it is said."""
    text = text.replace("μOmni", "Micro Omni")
    return re.sub(r"\d+", lambda m: numbers.words(int(m[0])) if int(m[0]) <= 1000 else m[0], text)


def user_sentences(rng: random.Random, split: str) -> Iterator[dict]:
    """Endless spoken questions: {"kind", "question", "answer", "accept", "spoken"}.

    `question` is a plain sentence to be read aloud (numbers in words); `answer` is the reply as
    text, `spoken` the reply as a voice reads it. Single turns only.
    """
    draw = Draw(rng, split)
    while True:
        kind = rng.choices(_NAMES, cum_weights=_CUMULATIVE)[0]
        if kind in ("followup", "name"):
            continue
        turn = KINDS[kind][0](draw)[0]
        if _UNSPEAKABLE.search(turn.question) or turn.answer == social.NO_SOUND:
            continue
        yield {"kind": kind, "question": speakable(turn.question), "answer": turn.answer,
               "accept": list(turn.accept), "spoken": speakable(turn.answer)}


def picture_lines(rng: random.Random, split: str) -> list[str]:
    """A caption of a scene of the picture world and a few questions with their answers."""
    scene = sample_scene(rng, split)
    asked = questions(scene, rng, split)
    chosen = rng.sample(asked, min(2, len(asked)))
    return [caption(scene, rng, split), *(f"{q['question']} {q['answer']}" for q in chosen)]


def vocabulary(scenes: int = 3000) -> Iterator[str]:
    """Every thing with its meaning, and the language of the picture world."""
    for _, named, meaning, _ in THINGS:
        yield f"{upper(named)} {world.verb(named)} {meaning}."
    rng = random.Random("vocabulary")
    for _ in range(scenes):
        yield from picture_lines(rng, "train")
