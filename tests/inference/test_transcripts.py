"""Hybrid decoding: a transcript spells a CTC hypothesis, and the Thinker chooses among them."""

from types import SimpleNamespace

import pytest
import torch

from inference import generate
from inference.config import GenerateConfig
from inference.generation import encode_media
from inference.omni import SHIPPED, Omni
from inference.transcripts import ConstrainedDecoder, Spelling, constrain
from models.ctc import ALPHABET, LABELS, Hypothesis, to_alphabet
from tests.inference.turns import first_turn

PIECES = ["<eos>", "a", " b", "!", "B", " ", "ab", "c", ",", " A"]
END = PIECES.index("<eos>")


def decoder(heard: list[tuple[str, float]], weight: float = 0.6) -> ConstrainedDecoder:
    texts = [None if piece == "<eos>" else piece for piece in PIECES]
    return ConstrainedDecoder([Hypothesis(*one) for one in heard], weight, Spelling(texts), END)


def written(rules: ConstrainedDecoder, preferred: list[str], steps: int = 6) -> str:
    """The best answer, of a Thinker that likes some pieces better than others."""
    scores = torch.full((1, len(PIECES)), -5.0)
    for rank, piece in enumerate(preferred):
        scores[0, PIECES.index(piece)] = -0.1 * rank
    text = ""
    for _ in range(steps):
        best = rules.candidates(scores, 1)[0]
        if best[2] == END:
            return text
        text += PIECES[best[2]]
        rules.follow([best])
    return text


def test_only_what_was_read_is_written():
    assert written(decoder([("a b", 0.0)]), ["c", "ab", " b", "a", "<eos>"]) == "a b"


def test_the_thinker_chooses_capitals_and_marks():
    assert written(decoder([("a b a", 0.0)]), ["!", " A", "a", " b", "<eos>"]) == "a b A!"
    assert written(decoder([("a b", 0.0)]), ["<eos>", "a", " ", "B"]) == "a B"


def test_marks_stand_between_words_and_not_after_each_other():
    rules = decoder([("ab", 0.0)])
    rules.follow([next(c for c in rules.candidates(torch.zeros(1, 10), 99) if c[2] == PIECES.index("a"))])
    tokens = {PIECES[token] for _, _, token in rules.candidates(torch.zeros(1, 10), 99)}
    assert tokens == {"B"}  # the reading goes on with b: no mark, no end
    rules = decoder([("ab", 0.0)])
    rules.follow([next(c for c in rules.candidates(torch.zeros(1, 10), 99) if c[2] == PIECES.index("ab"))])
    assert {PIECES[t] for _, _, t in rules.candidates(torch.zeros(1, 10), 99)} == {"!", ",", "<eos>"}
    rules.follow([next(c for c in rules.candidates(torch.zeros(1, 10), 99) if c[2] == PIECES.index("!"))])
    assert {PIECES[t] for _, _, t in rules.candidates(torch.zeros(1, 10), 99)} == {"<eos>"}


def test_the_weight_says_whose_word_counts():
    """The Thinker likes "a" better, CTC heard "c"."""
    steps = torch.full((1, len(PIECES)), -9.0)
    steps[0, PIECES.index("a")], steps[0, PIECES.index("c")] = -0.5, -2.0
    hypotheses = [("c", 0.0), ("a", -3.0)]
    firsts = {w: PIECES[decoder(hypotheses, w).candidates(steps, 4)[0][2]] for w in (0.1, 0.6)}
    assert firsts == {0.1: "a", 0.6: "c"}


def test_the_second_hypothesis_of_ctc_can_win(omni):
    """CTC hears "c" a little better than "a"; the Thinker likes "a" much better."""
    heard = torch.full((1, 1, LABELS), -20.0)
    heard[0, 0, 1 + ALPHABET.index("c")], heard[0, 0, 1 + ALPHABET.index("a")] = -0.6, -0.8
    model = SimpleNamespace(audio=SimpleNamespace(ctc_log_probs=lambda _: heard), ngram=None)
    prompt = SimpleNamespace(asked=SimpleNamespace(encoded=torch.zeros(1)))
    rules = constrain(model, prompt, omni.config(ctc_weight=0.3), omni.tokenizer)
    assert [hypothesis.text for hypothesis in rules.hypotheses[:2]] == ["c", "a"]
    steps = torch.full((1, len(omni.tokenizer)), -9.0)
    steps[0, rules.spelling.tokens["a"]], steps[0, rules.spelling.tokens["c"]] = -1.0, -5.0
    best = rules.candidates(steps, 1)[0]
    assert best[2] in rules.spelling.tokens["a"]


def test_transcripts_of_the_shipped_model_use_it():
    omni = Omni.from_pretrained()
    sound = SHIPPED.parent.parent / "examples" / "question.wav"
    heard = first_turn(omni, "What did you hear?", None, sound, None, None, omni.config())
    asked = first_turn(omni, "Why?", None, sound, None, None, omni.config())
    assert heard.asked is not None and asked.asked is None

    encode_media(omni.model, [], heard.sounds + asked.sounds)

    def constrained(prompt, weight: float) -> bool:
        config = omni.config(ctc_weight=weight)
        return constrain(omni.model, prompt, config, omni.tokenizer) is not None

    assert constrained(heard, 0.3) and not constrained(heard, 0.0) and not constrained(asked, 0.3)
    said = [
        omni.tokenizer.decode(generate(omni.model, heard, omni.config(ctc_weight=w), omni.tokenizer))
        for w in (0.0, 0.3)
    ]
    assert all(to_alphabet(text) for text in said)


def test_refuses_a_weight_without_meaning():
    from models.errors import UserError

    for weight in (-0.1, 1.0):
        with pytest.raises(UserError, match="ctc_weight"):
            GenerateConfig(ctc_weight=weight)
