"""Spelling: a transcript is a reading of the sound, as the Thinker writes it."""

import pytest
import torch

from inference.config import GenerateConfig
from inference.generation import generate
from inference.omni import SHIPPED, Omni
from inference.spelling import Pieces, Speller, speller_for
from models.letters import spoken_letters
from models.readings import Reading

PIECES = ["<eos>", "a", " b", "!", "B", " ", "ab", "c", ",", " A"]
END = PIECES.index("<eos>")


def speller(heard: list[tuple[str, float]], weight: float = 0.6) -> Speller:
    texts = [None if piece == "<eos>" else piece for piece in PIECES]
    return Speller([Reading(*one) for one in heard], weight, Pieces(texts), END)


def written(judge: Speller, preferred: list[str], steps: int = 6) -> str:
    """The best answer, of a Thinker that likes some pieces better than others."""
    scores = torch.full((1, len(PIECES)), -5.0)
    for rank, piece in enumerate(preferred):
        scores[0, PIECES.index(piece)] = -0.1 * rank
    text = ""
    for _ in range(steps):
        best = judge.candidates(scores, 1)[0]
        if best[2] == END:
            return text
        text += PIECES[best[2]]
        judge.follow([best])
    return text


def test_only_what_was_read_is_written():
    assert written(speller([("a b", 0.0)]), ["c", "ab", " b", "a", "<eos>"]) == "a b"


def test_the_thinker_chooses_capitals_and_marks():
    assert written(speller([("a b a", 0.0)]), ["!", " A", "a", " b", "<eos>"]) == "a b A!"
    assert written(speller([("a b", 0.0)]), ["<eos>", "a", " ", "B"]) == "a B"


def test_marks_stand_between_words_and_not_after_each_other():
    judge = speller([("ab", 0.0)])
    judge.follow([next(c for c in judge.candidates(torch.zeros(1, 10), 99) if c[2] == PIECES.index("a"))])
    tokens = {PIECES[token] for _, _, token in judge.candidates(torch.zeros(1, 10), 99)}
    assert tokens == {"B"}  # the reading goes on with b: no mark, no end
    judge = speller([("ab", 0.0)])
    judge.follow([next(c for c in judge.candidates(torch.zeros(1, 10), 99) if c[2] == PIECES.index("ab"))])
    assert {PIECES[t] for _, _, t in judge.candidates(torch.zeros(1, 10), 99)} == {"!", ",", "<eos>"}
    judge.follow([next(c for c in judge.candidates(torch.zeros(1, 10), 99) if c[2] == PIECES.index("!"))])
    assert {PIECES[t] for _, _, t in judge.candidates(torch.zeros(1, 10), 99)} == {"<eos>"}


def test_the_weight_says_whose_word_counts():
    """The Thinker likes "a" better, the ears heard "c"."""
    steps = torch.full((1, len(PIECES)), -9.0)
    steps[0, PIECES.index("a")], steps[0, PIECES.index("c")] = -0.5, -2.0
    readings = [("c", 0.0), ("a", -3.0)]
    firsts = {w: PIECES[speller(readings, w).candidates(steps, 4)[0][2]] for w in (0.1, 0.6)}
    assert firsts == {0.1: "a", 0.6: "c"}


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
