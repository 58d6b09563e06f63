"""Sentences of a growing text are those of the finished one, and come as soon as they are whole."""

import pytest

from inference.sentences import sentences, split_sentences

TEXTS = [
    "Dr. Who came. He left! Why?",
    "On Jan. 5 we read p. 7. At 7 a.m. sharp, Lt. Day drank 8 oz. of milk on Main St. in town. No!",
    'She said "Hi." And then (quietly.) he went. J. K. Rowling wrote it\n\nTwo lines.  \n',
    "word " * 200,
    "x" * 1000,
    "first half, " * 60 + "end. Another one. ",
    "",
]


def test_split_sentences():
    assert split_sentences("Dr. Who came. He left! Why?") == ["Dr. Who came.", "He left!", "Why?"]
    assert split_sentences(TEXTS[1])[1:] == [
        "At 7 a.m. sharp, Lt. Day drank 8 oz. of milk on Main St. in town.", "No!"
    ]
    assert split_sentences("i am in. we go") == ["i am in.", "we go"]
    assert split_sentences("one\ntwo") == ["one", "two"]
    assert all(len(piece) <= 240 for piece in split_sentences("word " * 200))
    assert "".join(split_sentences("x" * 1000)) == "x" * 1000


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 3, 7, 2000])
def test_how_it_is_written_does_not_matter(text, size):
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(sentences(parts)) == split_sentences(text) == list(sentences(text))


def test_a_sentence_is_given_before_the_next_is_written():
    written = []

    def parts():
        for part in ["One", " two.", " Three", " four", " five.", " Six."]:
            written.append(part)
            yield part

    said = sentences(parts())
    assert next(said) == "One two." and len(written) == 3
    assert next(said) == "Three four five." and len(written) == 6
    assert list(said) == ["Six."]


def test_a_long_sentence_is_cut_at_its_commas():
    pieces = split_sentences("first half of many words, " * 60 + "end.")
    assert all(piece.endswith(",") for piece in pieces[:-1]) and len(pieces) > 5
    pieces = split_sentences("first half of many words; " * 60 + "end.")
    assert all(piece.endswith(";") for piece in pieces[:-1]) and len(pieces) > 5
