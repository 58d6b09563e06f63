"""The judge's trigram model is a probability distribution, and its file says what it should."""

import pytest

from evaluation.language import arpa


def parse(text: str) -> tuple[dict, dict]:
    """(log10 probability, log10 backoff) of every n-gram of an ARPA file."""
    probability, backoff, order = {}, {}, 0
    for line in text.splitlines():
        if line.endswith("-grams:"):
            order = int(line[1])
        elif order and line and not line.startswith("\\"):
            first, *gram = line.split()
            probability[tuple(gram[:order])] = float(first)
            if len(gram) > order:
                backoff[tuple(gram[:order])] = float(gram[-1])
    return probability, backoff


def test_probabilities_of_every_context_sum_to_one():
    sentences = ["the dog is red", "the dog is blue", "a cat is here", "the cat"]
    text = arpa([sentence.split() for sentence in sentences])
    probability, backoff = parse(text)
    words = [gram[0] for gram in probability if len(gram) == 1 and gram[0] != "<s>"]

    def p(word, context):
        if (*context, word) in probability:
            return 10 ** probability[*context, word]
        return 10 ** backoff.get(context, 0.0) * p(word, context[1:])

    for context in [(), ("the",), ("<s>", "the"), ("dog", "is"), ("is", "here")]:
        assert sum(p(word, context) for word in words) == pytest.approx(1.0, abs=2e-3)
    assert p("dog", ("<s>", "the")) > p("cat", ("<s>", "the")) > p("red", ("<s>", "the"))
    assert "ngram 1=10" in text and text.endswith("\\end\\\n")
