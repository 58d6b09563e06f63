"""Questions rise: which do, and that the end alone is changed."""

import numpy as np
import pytest
import torch

from data.speech.rising import SHORTEST, asked, raised, rises
from data.speech.samples import samples
from models.mel import log_mel


@pytest.mark.parametrize("text", ["Is it red?", "You like it?", "I see. Really, is it?", "Then can we go?"])
def test_questions_for_yes_or_no_rise(text):
    assert rises(text)


@pytest.mark.parametrize("text", ["It is red.", "What is it?", "And who's there?", "Is it? Yes.", "How?"])
def test_others_do_not(text):
    assert not rises(text)


def statement() -> dict:
    return next(s for s in samples("train") if s["text"].count(".") == 1 and len(s["words"]) > 4)


def test_an_asked_statement_keeps_its_sound():
    told = statement()
    question = asked(told)
    assert question["text"] == told["text"][:-1] + "?" and question["marks"][-1] == "?"
    assert question["wave"] is told["wave"] and question["marks"].count("?") == told["marks"].count(".")
    assert asked(question) is question and raised(told) is told


def test_the_end_climbs_and_the_rest_stays():
    pytest.importorskip("parselmouth", reason="pip install -r requirements-judges.txt")
    from evaluation.questions import final_pitch

    told = [s for s in samples("train") if asked(s) is not s]
    questions = [raised(asked(s)) for s in told]
    before, after = ([final_pitch(s["wave"] / 32768.0) for s in items] for items in (told, questions))
    assert len(told) > 10 and np.mean(np.log2(after) - np.log2(before)) > 1 / 12  # a semitone
    alike = []
    for one, other in zip(told, questions, strict=True):
        stressed = [start for _, start, _, _, stress in one["phones"] if stress == 1]
        same_pitch = [a == b for a, b in zip(one["pitch"], other["pitch"], strict=True)]
        climb = same_pitch.index(False)  # the first phone that rises
        voiced = [phone[2] for phone, hertz in zip(one["phones"], one["pitch"], strict=True) if hertz]
        assert one["phones"][climb][2] > min(stressed[-1], max(voiced) - SHORTEST)
        end = int(one["phones"][climb][1] * 16_000)
        if end > 4_000:  # a quarter of a second
            start, same = (log_mel(torch.from_numpy(i["wave"][:end] / 32768.0)) for i in (one, other))
            alike.append(np.corrcoef(start.flatten(), same.flatten())[0, 1])
    assert len(alike) > 10 and min(alike) > 0.95  # overlap-add moves periods: no wave is the same
