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

from data.dialogue import numbers, social, told, words, world
from data.dialogue.counting import count_on, long_sum
from data.dialogue.draw import Draw, Turn
from data.dialogue.followups import followup
from data.dialogue.groups import eats, is_a, name_them
from data.dialogue.model_parts import parts
from data.dialogue.names import own_name
from data.dialogue.no_picture import no_picture
from data.dialogue.salutes import salute
from data.dialogue.scoring import normalise as normalise
from data.dialogue.scoring import score_turn as score_turn
from data.dialogue.stories import story
from data.dialogue.things import THINGS
from data.dialogue.typed import casual
from data.dialogue.user_facts import UserFacts, no_fact
from data.dialogue.word_games import common, rhyme, spell_any
from data.english import upper
from data.scenes.captions import caption
from data.scenes.questions import questions
from data.scenes.sampling import sample_scene

# kind -> (maker, weight)
KINDS = {
    "greeting": (social.greeting, 5), "identity": (social.identity, 7),
    "thanks": (social.thanks, 4),
    "small_talk": (social.small_talk, 4), "refusal": (social.refusal, 8),
    "arithmetic": (numbers.arithmetic, 14), "word_problem": (numbers.word_problem, 5),
    "compare": (numbers.compare, 5), "counting": (numbers.counting, 5),
    "calendar": (numbers.calendar, 7),
    "spelling": (words.spelling, 9), "repeat": (words.repeat, 6), "opposite": (words.opposite, 9),
    "capital": (world.capital, 8), "color": (world.color, 7), "animal": (world.animal, 7),
    "definition": (world.definition, 12), "category": (world.category, 8),
    "told_scene": (told.told_scene, 10), "followup": (followup, 14),
    "salute": (salute, 7), "long_sum": (long_sum, 20), "count_on": (count_on, 14),
    "spell_any": (spell_any, 18), "is_a": (is_a, 12), "name_them": (name_them, 12), "eats": (eats, 8),
    "rhyme": (rhyme, 12), "parts": (parts, 12), "story": (story, 14), "no_picture": (no_picture, 14),
    "no_fact": (no_fact, 8),
}
_NAMES, _WEIGHTS = list(KINDS), [weight for _, weight in KINDS.values()]
_CUMULATIVE = list(accumulate(_WEIGHTS))
# Kinds that are slow to learn are practised more often than they are asked in dev and test.
PRACTICE = {"word_problem": 4, "refusal": 4, "spelling": 2, "compare": 5, "small_talk": 4, "calendar": 2,
            "thanks": 4, "repeat": 2, "told_scene": 4, "identity": 2, "definition": 2, "opposite": 2,
            "category": 3, "long_sum": 5, "spell_any": 6, "salute": 3, "is_a": 3, "rhyme": 3, "parts": 2,
            "story": 1.5, "no_picture": 2, "name_them": 2, "eats": 2, "arithmetic": 3, "counting": 3,
            "count_on": 2, "followup": 2, "capital": 2, "color": 2}
_PRACTISED = list(accumulate(w * PRACTICE.get(k, 1) for k, (_, w) in KINDS.items()))
# Of the conversations: the user tells facts, and asks for them later.
TELLING = {"train": 0.2, "dev": 0.12, "test": 0.12}

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


def sample_conversation(rng: random.Random, split: str, kinds: tuple[str, ...] = ()) -> dict:
    """{"kind", "messages": [{"role", "content"}], "checks": [{"kind", "answer", "accept"}]}.

    One check for each assistant turn, in order. `kind` is "mixed" when several kinds occur.

    Args:
        kinds: a smaller world's: up to three of these, one after another.
    """
    draw = Draw(rng, split)
    if kinds:
        drawn = rng.choices(kinds, k=rng.randint(1, 3))
        turns = [(kind, turn) for kind in drawn for turn in KINDS[kind][0](draw)]
        return _conversation(draw, "mixed", turns)
    if rng.random() < TELLING[split]:
        return _conversation(draw, "mixed", _telling(draw))
    count = 1 if rng.random() < 0.55 else rng.choices((2, 3, 4), (5, 3, 2))[0]
    said: list[tuple[str, Turn]] = []
    system = None
    for kind, turns in _several(draw, count):
        if count == 1 and rng.random() < 0.15:
            system, turns = _system(draw, kind, turns)
        said += [(kind, turn) for turn in turns]
    return _conversation(draw, said[0][0] if count == 1 else "mixed", said, system)


def _several(draw: Draw, count: int, without: tuple[str, ...] = ()) -> Iterator[tuple[str, list[Turn]]]:
    """Kinds and their turns. Where a scene was told in words, no picture is missed."""
    weights = _PRACTISED if draw.split == "train" else _CUMULATIVE
    kinds = draw.rng.choices(_NAMES, cum_weights=weights, k=count)
    for i, kind in enumerate(kinds):
        if kind not in without and not (kind == "no_picture" and "told_scene" in kinds[:i]):
            yield kind, KINDS[kind][0](draw)
        elif count == 1:
            yield from _several(draw, 1, without)


def _telling(draw: Draw) -> list[tuple[str, Turn]]:
    """The user tells facts, talks of other things, and asks for what was told."""
    facts, at = UserFacts(draw), {}  # the turn after that which told a fact
    said: list[tuple[str, Turn]] = []

    def others() -> None:
        told_before = [kind for kind, _ in said if kind == "told_scene"]
        without = ("no_fact", "story", "no_picture") if told_before else ("no_fact", "story")
        for kind, turns in _several(draw, draw.number(0, 2), without):
            said.extend((kind, turn) for turn in turns)

    for _ in range(draw.pick((1, 1, 1, 2, 3))):
        said.append(("fact", facts.tell()))
        at = dict.fromkeys(facts.known, len(said)) | at
        others()
    if draw.chance() < 0.35:
        said.append(("fact", facts.correct()))
        at |= dict.fromkeys(facts.corrected, len(said))
        others()
    for key in draw.rng.sample(list(facts.known), len(facts.known)):
        said.append(("fact", facts.ask(key)._replace(after=len(said) - at[key])))
    if draw.chance() < 0.3:
        said.append(("no_fact", facts.ask_unknown()))
    return said


def _conversation(draw: Draw, kind: str, said: list[tuple[str, Turn]], system: str | None = None) -> dict:
    """Turns as messages, typed as people type, and as checks."""
    messages = [{"role": "system", "content": system}] if system else []
    for _, turn in said:
        messages.append({"role": "user", "content": asked(draw, turn)})
        messages.append({"role": "assistant", "content": turn.answer})
    return {"kind": kind, "messages": messages, "checks": [turn.check(k) for k, turn in said]}


def asked(draw: Draw, turn: Turn) -> str:
    """The question of a turn as it is typed."""
    return turn.question if turn.keep else casual(draw.rng, draw.split, turn.question, turn.answer)


# ---- for speech ------------------------------------------------------------------------------

_UNSPEAKABLE = re.compile(r"[+*=/\"μ<>]|\d-\d| - | x ")


def speakable(text: str) -> str:
    """Text as a voice reads it: numbers in words, the name as it is said."""
    text = text.replace("μOmni", "Micro Omni")
    return re.sub(r"\d+", lambda m: numbers.words(int(m[0])) if int(m[0]) < 10000 else m[0], text)


def user_sentences(rng: random.Random, split: str) -> Iterator[dict]:
    """Endless spoken questions: {"kind", "question", "answer", "accept", "spoken"}.

    `question` is a plain sentence to be read aloud (numbers in words); `answer` is the reply as
    text, `spoken` the reply as a voice reads it. Single turns only.
    """
    draw = Draw(rng, split)
    while True:
        kind = rng.choices(_NAMES, cum_weights=_CUMULATIVE)[0]
        if kind in ("followup", "story"):
            continue
        turn = KINDS[kind][0](draw)[0]
        if _UNSPEAKABLE.search(turn.question) or turn.answer == social.NO_SOUND:
            continue
        if kind == "spell_any" and not common(turn.answer):  # nobody could hear how it is spelled
            continue
        yield {"kind": kind, "question": speakable(turn.question), "answer": turn.answer,
               "accept": list(turn.accept), "spoken": speakable(turn.answer)} | (
                   {"rule": list(turn.rule)} if turn.rule else {})


def picture_lines(rng: random.Random, split: str, objects: str = "all") -> list[str]:
    """A caption of a scene of the picture world and a few questions with their answers."""
    scene = sample_scene(rng, split, objects)
    asked = questions(scene, rng, split, objects)
    chosen = rng.sample(asked, min(2, len(asked)))
    return [caption(scene, rng, split), *(f"{q['question']} {q['answer']}" for q in chosen)]


def vocabulary(scenes: int = 3000) -> Iterator[str]:
    """Every thing with its meaning, and the language of the picture world."""
    for _, named, meaning, _ in THINGS:
        yield f"{upper(named)} {world.verb(named)} {meaning}."
    rng = random.Random("vocabulary")
    for _ in range(scenes):
        yield from picture_lines(rng, "train")
