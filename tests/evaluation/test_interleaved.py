"""Interleaved dialogues are asked of a session turn by turn, scored by topic, and counted by place."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest

from data.interleaved import Segment, segments
from evaluation import interleaved
from evaluation.interleaved import Answered, as_long, counted, exchanged, hold, judged
from inference.omni import Omni
from tests.fixtures.photos import encoded_photo

FOX = {"name": "fox", "other": "cat"}


def talk(answer: str) -> Segment:
    return Segment("talk", None, [{"kind": "name", "question": "Hm?", "answer": answer, "accept": []}])


def photo(name: str, image: bytes = b"") -> Segment:
    asked = [{"kind": "name", "question": "What is this?", "answer": f"A {name}."}]
    return Segment("photo", {"name": name, "other": "cat", "image": image}, asked)


def test_a_dialogue_ends_in_time_and_between_segments() -> None:
    endless = segments(random.Random(0), "test", {"photo": lambda rng: FOX})
    kept = as_long(endless)
    assert sum(len(segment.asked) for segment in kept) <= interleaved.TURNS
    again = list(islice(segments(random.Random(0), "test", {"photo": lambda rng: FOX}), len(kept) + 1))
    assert again[:-1] == kept and sum(len(s.asked) for s in again) > interleaved.TURNS


def test_the_control_shows_another_picture_and_asks_the_same() -> None:
    asked = [[photo("fox"), talk("Yes.")], [talk("No."), photo("owl")], [photo("bee")]]
    shown = exchanged(asked)
    assert [[s.kind for s in one] for one in shown] == [[s.kind for s in one] for one in asked]
    assert shown[0][1] is asked[0][1]
    for before, after in zip(asked, shown, strict=True):
        for one, other in zip(before, after, strict=True):
            assert one.kind == "talk" or one.record["name"] != other.record["name"]


def test_answers_are_judged_by_what_they_are_about() -> None:
    known, view = ["fox", "owl"], photo("fox")
    name, check = {"kind": "name", "answer": "A fox."}, {"kind": "check", "answer": "No."}
    back = Segment("back", None, [name, check])
    assert judged("It is a fox.", name, back, view, known, "")
    assert not judged("A fox or an owl.", name, back, view, known, "")
    assert judged("No.", check, back, view, known, "") and not judged("Yes.", check, back, view, known, "")
    again = Segment("again", None, [{"kind": "again", "answer": "what was played"}])
    assert judged("Good day.", again.asked[0], again, view, known, "good day")
    assert not judged("what was played", again.asked[0], again, view, known, "good day")
    assert judged("yes", talk("Yes.").asked[0], talk("Yes."), view, known, "")


def test_figures_are_by_group_and_place() -> None:
    answers = [Answered("talk_after", "quiz", 1, True), Answered("back", "name", 5, False)]
    figures = counted("dialogue", [answers, answers])
    assert figures["dialogue/all"].value == 0.5 and figures["dialogue/said: quiz"].value == 1.0
    assert figures["dialogue/turns 5 to 8"].value == 0.0 and figures["dialogue/back"].n == 2


def test_intervals_are_of_whole_dialogues() -> None:
    """Sixteen turns that are all right or all wrong say no more than one."""
    answers = [[Answered("back", "name", 1, right)] * 16 for right in (True, False) * 4]
    found = counted("dialogue", answers)["dialogue/back"]
    alone = counted("dialogue", [[Answered("back", "name", 1, right)] for right in (True, False) * 4])
    assert found.n == 128 and found.low == alone["dialogue/back"].low < 0.25
    assert counted("dialogue", answers[:1])["dialogue/back"].low is None


def test_a_dialogue_is_one_session(nano_omni_dir, monkeypatch) -> None:
    omni = Omni.from_pretrained(nano_omni_dir)
    sessions, asked = [], []
    session_of = omni.session

    def session(**settings):
        sessions.append(session_of(**settings | {"max_new_tokens": 2}))
        answer = sessions[-1].answer
        sessions[-1].answer = lambda turn, text: asked.append((text, len(turn.images))) or answer(turn, text)
        return sessions[-1]

    monkeypatch.setattr(omni, "session", session)
    heard = Segment("heard", {"text": "Good day.", "mel": np.zeros((128, 40), np.uint8)})
    dialogue = [talk("Yes."), photo("fox", encoded_photo()), heard, talk("No.")]
    answered = hold(omni, dialogue, dialogue, ["fox"])
    assert len(sessions) == 1 and len(sessions[0].turns) == 4
    assert asked == [("Hm?", 0), ("What is this?", 1), ("What did you hear?", 0), ("Hm?", 0)]
    assert [a.group for a in answered] == ["talk_before", "photo", "talk_after"]
    assert [a.place for a in answered] == [1, 2, 4]


@pytest.mark.parametrize("place", [1, interleaved.TURNS])
def test_every_place_is_counted(place: int) -> None:
    assert len(counted("v", [[Answered("talk_before", "name", place, True)]])) == 3
