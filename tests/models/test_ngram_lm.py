"""The table of words: its probabilities are those of a language, whatever was kept of it."""

import math
import random
from pathlib import Path

import numpy as np
import pytest

from models.errors import UserError
from models.ngram_lm import EDGE, STEPS, NgramLM
from training.ngram_lm import count_ngrams, lines

NOUNS, VERBS = "dog cat fox hen cow".split(), "sees eats likes hears".split()


def sentences(count: int) -> list[str]:
    rng = random.Random(4)
    return [f"the {rng.choice(NOUNS)} {rng.choice(VERBS)} the {rng.choice(NOUNS)}" for _ in range(count)]


@pytest.fixture(scope="module", params=[(1000, 1000), (12, 4)], ids=["whole", "pruned"])
def table(request) -> NgramLM:
    return count_ngrams(sentences(400), 100, *request.param)


@pytest.mark.parametrize("said", ["", "the", "the dog", "dog sees", "sees the", "sees sees"])
def test_what_may_follow_adds_up_to_one(table, said):
    context = (EDGE,) if not said else tuple(table.ids[word] for word in said.split())
    total = sum(math.exp(table.log_prob(context, word)) for word in range(len(table.words)))
    rounding = math.exp(0.5 / STEPS)  # each logarithm is off by up to half a step, a penalty too
    assert 1 / rounding**2 <= total <= rounding**2


def test_what_was_said_is_likelier_than_what_was_not(table):
    def line(text: str) -> float:
        total, context = 0.0, (EDGE,)
        for word in text.split():
            log_prob, context = table.step(context, word)
            total += log_prob
        return total + table.log_prob(context, EDGE)

    assert line("the dog sees the cat") > line("dog the the sees cat") + 5
    assert line("the dog sees the cat") > line("the dog sees the xyzzy") + 5


def test_shares_of_words_are_those_that_were_counted():
    table = count_ngrams(["yes"] * 30 + ["no"] * 10, 10, 100, 100)
    context = (EDGE,)
    ratio = table.log_prob(context, table.ids["yes"]) - table.log_prob(context, table.ids["no"])
    assert ratio == pytest.approx(math.log(3), abs=0.3)


def test_a_word_that_follows_many_is_likelier_than_one_that_follows_one_word_only():
    """What backing off goes by is how many words it follows, not how often it occurs."""
    said = ["san francisco"] * 30 + [f"{which} dog" for which in ("a", "the", "my", "your", "this")] * 4
    table = count_ngrams(said, 20, 100, 100)
    dog, francisco = (table.log_prob((), table.ids[word]) for word in ("dog", "francisco"))
    assert dog > francisco + 1


def test_a_beginning_is_as_likely_as_all_words_that_begin_so(table):
    words = [word for word in table.words[1:] if word.startswith("h")]
    assert words == ["hears", "hen"] or sorted(words) == ["hears", "hen"]
    total = sum(math.exp(-float(table.levels[0].logs[table.ids[word]]) / STEPS) for word in words)
    assert table.begins("h") == pytest.approx(math.log(total), abs=1e-6)
    assert table.begins("h") < 0 and table.begins("hq") < table.begins("hears")


def test_is_read_as_it_was_written(table, tmp_path):
    table.save(tmp_path / "words.safetensors")
    again = NgramLM.load(tmp_path / "words.safetensors")
    assert again.words == table.words
    for old, new in zip(table.levels[1:], again.levels[1:], strict=True):
        assert np.array_equal(old.words, new.words) and np.array_equal(old.starts, new.starts)
    assert again.step((EDGE,), "the") == table.step((EDGE,), "the")


@pytest.mark.parametrize("content", [None, b"", b"nothing of the kind"])
def test_another_file_is_refused_in_a_line(content, tmp_path):
    path = tmp_path / "words.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match="train.py audio"):
        NgramLM.load(path)


def test_counts_no_sentence_that_is_kept_for_tests():
    from data.speech.sentences import ordinary

    counted = set(lines(None, {"questions": 5, "scenes": 1, "short": 1}, recorded=_nowhere()))
    from models.ctc import to_alphabet

    held = {to_alphabet(text) for split in ("dev", "test") for text in ordinary(split)}
    assert len(held) > 10 and not any(text in counted for text in held if " " in text)


def test_counts_no_line_of_a_text_that_is_kept_for_tests(monkeypatch):
    from data.speech import sentences as speech

    letters = "abcdefghijklmno"
    text = [f"the {first}{second} sings" for first in letters for second in letters[:10]]
    monkeypatch.setattr(speech, "corpus", lambda real, every: iter(text))
    counted = set(lines(Path("x"), {"questions": 0, "scenes": 0, "short": 0}, _nowhere()))
    kept = {one for one in text if speech.split_of(one) != "train"}
    assert kept and counted == set(text) - kept


def _nowhere():
    return Path("nowhere")
