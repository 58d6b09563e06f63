"""Interleaved dialogues: long ones that go back and forth between talk, images and recordings.

"What do you see?" – "Tell me a joke." – "And what color is the star?" One is drawn segment by segment;
whoever draws stops when it is long enough. A question about a picture is about the one shown last. Nothing
is put where what was told in words could be meant as well as what was shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from data.dialogue.chitchat import CHITCHAT
from data.dialogue.conversation import KINDS, PRACTICE, asked
from data.dialogue.draw import Draw, Turn
from data.dialogue.out_of_scope import quiz_maker
from data.dialogue.social import NO_PICTURE, NO_SOUND
from data.dialogue.typed import casual
from data.dialogue.user_facts import UserFacts
from data.scenes.photos import photo_question

Draws = Callable[[random.Random], dict]  # a record of one kind, drawn
MEDIA = ("scene", "photo", "clip", "heard", "asked")  # what can come in; the last two are utterances
WEIGHTS = {"talk": 9, "back": 4, "scene": 2.5, "photo": 1, "clip": 0.5, "heard": 0.7, "asked": 0.6,
           "again": 0.6}
# Segments and kinds of chit-chat that are slow to learn come more often than in dev and test.
PRACTICED = {"photo": 1.5, "again": 3, "reaction": 1.5, "statement": 2, "about": 1.5, "halves": 3}
CHITCHAT_SHARE = 0.3  # of the talk is chit-chat
QUIZ = 4  # weight of a quiz question beside those of CHITCHAT
TELLS = 0.6  # of the users tell facts about themselves, and ask for them later
FACT_SHARE = 0.5  # of the talk of such a user
MOST_ASKED = 4  # questions when something is shown
AGAIN = ("What did you hear?", "What did I say?", "What was said?", "What did you hear before?",
         "What did the voice say?", "Repeat what you heard.", "What was in the recording?",
         "Tell me again what you heard.", "What words did you hear?", "What did the recording say?",
         "What was it that you heard?", "What was said in the recording?", "Say again what you heard.",
         "Which words were spoken?")


@dataclass
class Segment:
    """Something that comes in, or nothing, and questions with their answers."""

    kind: str  # of WEIGHTS
    record: dict | None  # what comes in, as shards hold it
    asked: list[dict] = field(default_factory=list)  # as scenes/scoring.py or conversation.py check them


def segments(
    rng: random.Random, split: str, sources: dict[str, Draws], quiz: list[str] = ()
) -> Iterator[Segment]:
    """An endless dialogue.

    Args:
        sources: what can be shown and played, by kind; a kind that is not there does not come.
        quiz: questions of a quiz (data/dialogue/out_of_scope.py), none if empty.
    """
    dialogue = _Dialogue(rng, split, sources, quiz)
    while True:
        yield dialogue.next()


class _Dialogue:
    """What has been in view and said so far."""

    def __init__(self, rng: random.Random, split: str, sources: dict[str, Draws], quiz: list[str]) -> None:
        self.rng, self.draw, self.sources = rng, Draw(rng, split), sources
        self.view: Segment | None = None  # what was shown last
        self.heard = ""  # what was said last, aloud
        self.last = ""  # kind of the last segment
        self.facts = UserFacts(self.draw) if rng.random() < TELLS else None
        self.said: set[str] = set()  # kinds of talk that came
        more = PRACTICE | PRACTICED if split == "train" else {}
        self.weights = {kind: weight * more.get(kind, 1) for kind, weight in WEIGHTS.items()}
        self.chitchat = CHITCHAT | ({"quiz": (quiz_maker(quiz), QUIZ)} if quiz else {})
        self.kinds, self.remarks = (
            (list(makers), list(accumulate(w * more.get(k, 1) for k, (_, w) in makers.items())))
            for makers in (KINDS, self.chitchat)
        )

    def next(self) -> Segment:
        """The next segment."""
        able = {"talk": True, "back": self.view is not None and self.last not in MEDIA,
                "again": bool(self.heard) and self.last not in ("heard", "asked")}
        kinds = [kind for kind in WEIGHTS if able.get(kind, kind in self.sources)]
        kind = self.rng.choices(kinds, [self.weights[kind] for kind in kinds])[0]
        self.last = kind
        if kind in self.sources:
            record = self.sources[kind](self.rng)
            while kind == "asked" and not self.fits(*(record["question"][k] for k in ("kind", "answer"))):
                record = self.sources[kind](self.rng)
            return self.shown(Segment(kind, record))
        if kind == "back":
            assert self.view is not None
            return Segment("back", None, self.about(self.view, self.rng.randint(1, 2)))
        if kind == "again":
            while "just" in (asked := self.draw.say(AGAIN)):  # other things came since
                continue
            question = casual(self.rng, self.draw.split, asked, self.heard)
            asked = {"kind": "again", "question": question, "answer": self.heard, "accept": []}
            return Segment("again", None, [asked])
        return Segment("talk", None, self.talk())

    def shown(self, segment: Segment) -> Segment:
        """Something comes in, and what is asked of it at once."""
        record = segment.record
        assert record is not None
        if segment.kind in ("heard", "asked"):
            self.heard = record["text"]
            if segment.kind == "asked":
                segment.asked = [record["question"] | {"question": record["text"]}]
            return segment
        self.view = segment
        segment.asked = self.about(segment, self.rng.randint(1, MOST_ASKED))
        return segment

    def about(self, view: Segment, count: int) -> list[dict]:
        """Questions about what is in view, follow-ups after the question that they lean on."""
        record, rng = view.record, self.rng
        assert record is not None
        if view.kind == "photo":
            kinds = rng.choices(("name", "caption", "check", "detail"), (3, 2, 3, 1), k=count)
            asked = [photo_question(record, kind, rng, self.draw.split) for kind in kinds]
        else:
            groups = [[q] for q in record["questions"]] + list(record.get("follow_ups", ()))
            rng.shuffle(groups)
            asked = [q for group in groups[:count] for q in group]
        split = self.draw.split
        return [q | {"question": casual(rng, split, q["question"], q["answer"])} for q in asked]

    def talk(self) -> list[dict]:
        """Turns of a conversation, as they are checked."""
        if self.facts and self.rng.random() < FACT_SHARE:
            return self.checks("fact", [self.facts.next()])
        while True:
            if self.rng.random() < CHITCHAT_SHARE:
                kind = self.rng.choices(self.remarks[0], cum_weights=self.remarks[1])[0]
                turns = self.chitchat[kind][0](self.draw)
            else:
                kind = self.rng.choices(self.kinds[0], cum_weights=self.kinds[1])[0]
                turns = KINDS[kind][0](self.draw)
            if self.fits(kind, *(turn.answer for turn in turns)):
                self.said.add(kind)
                return self.checks(kind, turns)

    def fits(self, kind: str, *answers: str) -> bool:
        """Whether this is true here: no picture that is there is missed, no fact that was told unknown."""
        if kind == "no_fact":
            return self.facts is None and "statement" not in self.said
        if kind == "statement" and self.facts:
            return False
        if kind == "told_scene":
            return self.view is None
        if NO_SOUND in answers and (self.heard or self.view):
            return False
        return NO_PICTURE not in answers or not (self.view or "told_scene" in self.said)

    def checks(self, kind: str, turns: list[Turn]) -> list[dict]:
        """Turns as questions with what is right."""
        return [{"question": asked(self.draw, turn)} | turn.check(kind) for turn in turns]
