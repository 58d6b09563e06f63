"""Spelling: the letters' judgement is that of all paths, and it decides where the Thinker wavers."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from inference.config import GenerateConfig
from inference.generation import generate
from inference.omni import SHIPPED, Omni
from inference.spelling import Speller, Spelling, speller_for
from models.letters import LABELS, LETTERS, spoken_letters
from training.objectives.audio import ctc_labels

SLOTS = 5


@pytest.fixture
def spelling() -> Spelling:
    """Five slots of which only blank, a and b are ever heard."""
    torch.manual_seed(3)
    scores = torch.full((SLOTS, LABELS), -1e4)
    heard = [0, LETTERS.index("a") + 1, LETTERS.index("b") + 1]
    scores[:, heard] = torch.randn(SLOTS, 3)
    return Spelling(scores.log_softmax(-1))


def paths(spelling: Spelling):
    """All that may have been heard, and how likely it is."""
    heard = [0, LETTERS.index("a") + 1, LETTERS.index("b") + 1]
    for path in itertools.product(heard, repeat=SLOTS):
        score = sum(float(spelling.log_probs[t, label]) for t, label in enumerate(path))
        yield "".join(LETTERS[label - 1] for label in ctc_labels(list(path))), math.exp(score)


@pytest.mark.parametrize("text", ["a", "b", "ab", "aa", "aba", "aab", "baab"])
def test_a_beginning_is_as_likely_as_all_paths_that_spell_it(spelling, text):
    states, scores = spelling.extend(spelling.start()[None], [""], [text])
    begin = sum(p for said, p in paths(spelling) if said.startswith(text))
    whole = sum(p for said, p in paths(spelling) if said == text)
    assert math.exp(scores[0]) == pytest.approx(begin, rel=1e-6)
    assert math.exp(spelling.whole(states)[0]) == pytest.approx(whole, rel=1e-6)


def test_letters_one_by_one_or_together_and_beside_others_are_the_same(spelling):
    start = spelling.start()
    together, scores = spelling.extend(torch.stack([start, start]), ["", ""], ["aab", "b"])
    state, last = start[None], ""
    for letter in "aab":
        state, score = spelling.extend(state, [last], [letter])
        last = letter
    assert torch.allclose(together[0], state[0]) and torch.allclose(scores[0], score[0])


def test_the_whole_is_what_training_calls_the_loss():
    torch.manual_seed(0)
    spelling = Spelling(torch.randn(12, LABELS).log_softmax(-1))
    states, _ = spelling.extend(spelling.start()[None], [""], ["abba"])
    labels = torch.tensor([[LETTERS.index(c) + 1 for c in "abba"]])
    sizes = torch.tensor([12]), torch.tensor([4])
    loss = F.ctc_loss(spelling.log_probs[:, None], labels, *sizes, reduction="sum")
    assert float(spelling.whole(states)[0]) == pytest.approx(-float(loss), rel=1e-6)


PIECES = ["<eos>", "a", "b", "!", "ab"] + [f"<{i}>" for i in range(12)]


def speller(spelling: Spelling, weight: float) -> Speller:
    return Speller(spelling, weight, lambda ids: "".join(PIECES[i] for i in ids), 0)


def test_the_weight_says_whose_word_counts():
    """The Thinker likes "a" a little better, the ears heard "b"."""
    scores = torch.full((SLOTS, LABELS), -8.0)
    scores[:, 0] = 0.0
    scores[1] = -8.0
    scores[1, LETTERS.index("b") + 1] = 4.0
    steps = torch.full((1, len(PIECES)), -9.0)
    steps[0, PIECES.index("a")], steps[0, PIECES.index("b")] = -0.5, -1.0
    heard = Spelling(scores.log_softmax(-1))
    firsts = {w: speller(heard, w).candidates(steps, 4)[0][2] for w in (0.0, 0.3)}
    assert firsts == {0.0: PIECES.index("a"), 0.3: PIECES.index("b")}


def test_marks_may_follow_letters_but_not_each_other(spelling):
    judge = speller(spelling, 0.3)
    steps = torch.zeros(1, len(PIECES)).log_softmax(-1)
    mark = PIECES.index("!")
    for expected in (True, False):
        found = judge.candidates(steps, len(PIECES))
        (score,) = (s for s, _, token in found if token == mark)
        assert (score > -1e6) == expected
        judge.follow([(score, 0, mark)])
        judge.live[0].letters = "a"


def test_spelling_is_what_text_sounds_like():
    assert spoken_letters("Don't, Anna!") == "don't anna"


def test_transcripts_of_the_shipped_model_use_it():
    omni = Omni.from_pretrained()
    sound = SHIPPED.parent.parent / "examples" / "question.wav"
    heard = omni.prompt("What did you hear?", None, sound, None, None, omni.config())
    asked = omni.prompt("Why?", None, sound, None, None, omni.config())
    assert heard.transcript and not asked.transcript

    def judged(prompt, weight: float) -> bool:
        config = omni.config(ctc_weight=weight)
        return speller_for(omni.model, prompt, config, omni.tokenizer) is not None

    assert judged(heard, 0.3) and not judged(heard, 0.0) and not judged(asked, 0.3)
    said = [
        omni.tokenizer.decode(generate(omni.model, heard, omni.config(ctc_weight=w), omni.tokenizer))
        for w in (0.0, 0.3)
    ]
    assert all(spoken_letters(text) for text in said)


def test_refuses_a_weight_without_meaning():
    from models.errors import UserError

    for weight in (-0.1, 1.0):
        with pytest.raises(UserError, match="ctc_weight"):
            GenerateConfig(ctc_weight=weight)
