"""A visit: a long conversation that goes back and forth between talk, what is shown and what is played.

"What do you see?" – "Tell me a joke." – "And what color is the star?" A visit is drawn stretch by stretch;
whoever draws stops when it is long enough. A question about a picture is about the one shown last. Nothing
is put where what was told in words could be meant as well as what was shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from data.conversation import KINDS, PRACTICE, casual
from data.scenes.photos import photo_question
from data.talk.beyond import quiz_maker
from data.talk.chatter import CHATTER
from data.talk.draw import Draw, Turn
from data.talk.social import NO_PICTURE, NO_SOUND, own_name

Draws = Callable[[random.Random], dict]  # a record of one kind, drawn
MEDIA = ("scene", "photo", "clip", "heard", "asked")  # what can come in; the last two are utterances
WEIGHTS = {"talk": 9, "back": 4, "scene": 2.5, "photo": 1, "clip": 0.5, "heard": 0.7, "asked": 0.6,
           "again": 0.6}
# Stretches and kinds of chatter that are slow to learn are practised more often than dev and test have them.
PRACTICED = {"photo": 1.5, "again": 3, "reaction": 1.5, "statement": 2, "about": 1.5, "halves": 3}
CHATTY = 0.3  # of the talk is chatter
QUIZ = 4  # weight of a quiz question beside those of CHATTER
NAMED = 0.35  # of the visitors tell their name, and ask for it later
MOST_ASKED = 4  # questions when something is shown
AGAIN = ("What did you hear?", "What did I say?", "What was said?", "What did you hear before?",
         "What did the voice say?", "Repeat what you heard.", "What was in the recording?",
         "Tell me again what you heard.", "What words did you hear?", "What did the recording say?",
         "What was it that you heard?", "What was said in the recording?", "Say again what you heard.",
         "Which words were spoken?")


@dataclass
class Stretch:
    """Something that comes in, or nothing, and questions with their answers."""

    kind: str  # of WEIGHTS
    record: dict | None  # what comes in, as shards hold it
    asked: list[dict] = field(default_factory=list)  # as scenes/scoring.py or conversation.py check them


def stretches(
    rng: random.Random, split: str, sources: dict[str, Draws], quiz: list[str] = ()
) -> Iterator[Stretch]:
    """An endless visit.

    Args:
        sources: what can be shown and played, by kind; a kind that is not there does not come.
        quiz: questions of a quiz (data/talk/beyond.py), none if empty.
    """
    visit = _Visit(rng, split, sources, quiz)
    while True:
        yield visit.next()


class _Visit:
    """What has been in view and said so far."""

    def __init__(self, rng: random.Random, split: str, sources: dict[str, Draws], quiz: list[str]) -> None:
        self.rng, self.draw, self.sources = rng, Draw(rng, split), sources
        self.view: Stretch | None = None  # what was shown last
        self.heard = ""  # what was said last, aloud
        self.last = ""  # kind of the last stretch
        self.name = own_name(self.draw) if rng.random() < NAMED else []  # turns not yet taken
        self.named = bool(self.name)
        more = PRACTICE | PRACTICED if split == "train" else {}
        self.weights = {kind: weight * more.get(kind, 1) for kind, weight in WEIGHTS.items()}
        self.chatter = CHATTER | ({"quiz": (quiz_maker(quiz), QUIZ)} if quiz else {})
        self.kinds, self.remarks = (
            (list(makers), list(accumulate(w * more.get(k, 1) for k, (_, w) in makers.items())))
            for makers in (KINDS, self.chatter)
        )

    def next(self) -> Stretch:
        """The next stretch."""
        able = {"talk": True, "back": self.view is not None and self.last not in MEDIA,
                "again": bool(self.heard) and self.last not in ("heard", "asked")}
        kinds = [kind for kind in WEIGHTS if able.get(kind, kind in self.sources)]
        kind = self.rng.choices(kinds, [self.weights[kind] for kind in kinds])[0]
        self.last = kind
        if kind in self.sources:
            return self.shown(Stretch(kind, self.sources[kind](self.rng)))
        if kind == "back":
            assert self.view is not None
            return Stretch("back", None, self.about(self.view, self.rng.randint(1, 2)))
        if kind == "again":
            question = casual(self.draw, self.draw.say(AGAIN))
            asked = {"kind": "again", "question": question, "answer": self.heard, "accept": []}
            return Stretch("again", None, [asked])
        return Stretch("talk", None, self.talk())

    def shown(self, stretch: Stretch) -> Stretch:
        """Something comes in, and what is asked of it at once."""
        record = stretch.record
        assert record is not None
        if stretch.kind in ("heard", "asked"):
            self.heard = record["text"]
            if stretch.kind == "asked":
                stretch.asked = [record["question"] | {"question": record["text"]}]
            return stretch
        self.view = stretch
        stretch.asked = self.about(stretch, self.rng.randint(1, MOST_ASKED))
        return stretch

    def about(self, view: Stretch, count: int) -> list[dict]:
        """Questions about what is in view, follow-ups after the question that they lean on."""
        record, rng = view.record, self.rng
        assert record is not None
        if view.kind == "photo":
            kinds = rng.choices(("name", "caption", "check", "detail"), (3, 2, 3, 1), k=count)
            return [photo_question(record, kind, rng, self.draw.split) for kind in kinds]
        groups = [[q] for q in record["questions"]] + list(record.get("follow_ups", ()))
        rng.shuffle(groups)
        asked = [q for group in groups[:count] for q in group]
        return [q | {"question": casual(self.draw, q["question"])} for q in asked]

    def talk(self) -> list[dict]:
        """Turns of a conversation, as they are checked."""
        if self.name and self.rng.random() < 0.3:
            return self.checks("name", [self.name.pop(0)])
        while True:
            if self.rng.random() < CHATTY:
                kind = self.rng.choices(self.remarks[0], cum_weights=self.remarks[1])[0]
                turns = self.chatter[kind][0](self.draw)
            else:
                kind = self.rng.choices(self.kinds[0], cum_weights=self.kinds[1])[0]
                turns = KINDS[kind][0](self.draw)
            if self.fits(kind, turns):
                return self.checks(kind, turns)

    def fits(self, kind: str, turns: list[Turn]) -> bool:
        """Whether these turns are true here: a picture that is there is not missed, a name not unknown."""
        absent = {turn.answer for turn in turns} & {NO_PICTURE, NO_SOUND}
        if kind == "name" or (kind == "no_name" and self.named) or (kind == "told_scene" and self.view):
            return False
        if NO_SOUND in absent and (self.heard or self.view):
            return False
        return not (NO_PICTURE in absent and self.view)

    def checks(self, kind: str, turns: list[Turn]) -> list[dict]:
        """Turns as questions with what is right."""
        return [
            {"kind": kind, "question": t.question if t.keep else casual(self.draw, t.question),
             "answer": t.answer, "accept": list(t.accept)}
            for t in turns
        ]
