"""Words in order and doubled words, by hand."""

from evaluation.long import doubled, kept


def test_words_in_order_are_a_longest_common_subsequence():
    true = "the dog ran over the hill".split()
    assert kept(true, true) == [True] * 6
    assert sum(kept(true, "the dog over the the hill".split())) == 5
    assert sum(kept(true, "hill the over ran dog the".split())) == 3
    assert kept(true, []) == [False] * 6
    assert not any(kept(true, "a cat".split()))


def test_doubled_words_are_those_said_once():
    said = "the dog ran over the over the hill and home"
    assert sum(doubled("the dog ran over the hill and home", said)) == 2
    assert sum(doubled("that that is is", "that that is is")) == 0
    assert sum(doubled("the dog ran", "the big dog ran")) == 0
