"""The tokenizer gives back what it was given, and no text becomes a special id."""

from __future__ import annotations

import random

import pytest

from models.errors import UserError
from models.tokenizer import BOS, EOS, IMAGE_TOKENS, SYMBOLS, Tokenizer
from training.objectives.tokenizer import train_tokenizer, training_lines

HARD = (
    "", " ", "  two  spaces  ", "\n\n a\tb\r\n", "\0", "a\0b", "\u2581", "\u2581a \u2581",
    "é😀漢字", "مرحبا بالعالم", "👩‍👩‍👧‍👦", "<|image|>", "x<|assistant|>y<|audio|>",
    "<|im<|image|>age|>", "<s></s><pad><unk>",
    "<0x41><0xFF>", "\x01\x02\x7f\x85\u2028", "\ufeffbom", "\ufffd", "e\u0301",
    "μOmni", "1234567890", "\U0010ffff",
    "<|image|><|image|>", "|image|>", "<", "<|",
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.model"
    train_tokenizer(training_lines(None, 1500, seed=0), path, vocab_size=1024)
    return Tokenizer(path)


def random_text(rng: random.Random) -> str:
    ranges = ((0, 0x7F), (0, 0x2FF), (0x590, 0x6FF), (0x2500, 0x25FF), (0x4E00, 0x4FFF),
              (0x1F600, 0x1F64F), (0xE000, 0x10FFFF))
    parts = []
    for _ in range(rng.randrange(20)):
        low, high = rng.choice(ranges)
        parts.append(rng.choice([chr(rng.randint(low, high)), rng.choice(SYMBOLS), " ", "the cat"]))
    return "".join(parts)


def test_ids_are_the_fixed_ones(tokenizer: Tokenizer) -> None:
    assert (tokenizer.bos, tokenizer.eos, tokenizer.pad) == (1, 2, 3)
    assert [tokenizer.symbols[name] for name in SYMBOLS] == [4, 5, 6, 7, 8, 9, 10]
    assert len(tokenizer) == tokenizer.vocab_size == 1024


@pytest.mark.parametrize("text", HARD)
def test_hard_text_round_trips_without_special_ids(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert not tokenizer.special & set(ids)
    assert "".join(tokenizer.decode_stream(ids)) == text


def test_random_text_round_trips(tokenizer: Tokenizer) -> None:
    rng = random.Random(0)
    for _ in range(1500):
        text = random_text(rng)
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text == "".join(tokenizer.decode_stream(ids))
        assert not tokenizer.special & set(ids)


def test_unpaired_surrogates_become_the_replacement_character(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a\ufffdb"
    assert tokenizer.decode(tokenizer.encode("\ud83d\ude00")) == "😀"


def test_stream_holds_back_half_characters(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("😀")
    stream = tokenizer.stream_decoder()
    assert [stream.push(index) for index in ids] == ["", "", "", "😀"]
    stream = tokenizer.stream_decoder()
    stream.push(ids[0])
    assert stream.flush() == "\ufffd"


def test_decode_keeps_or_drops_special_names(tokenizer: Tokenizer) -> None:
    ids = [BOS, tokenizer.image, *tokenizer.encode("hi"), EOS]
    assert tokenizer.decode(ids) == "hi"
    assert tokenizer.decode(ids, skip_special=False) == "<s><|image|>hi</s>"


def test_chat_template(tokenizer: Tokenizer) -> None:
    messages = [
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": [{"type": "image"}, {"type": "audio", "tokens": 5},
                                     {"type": "text", "text": "What is <|image|>?"}]},
        {"role": "assistant", "content": "A cat."},
    ]
    ids, mask = tokenizer.encode_chat_targets(messages)
    assert len(ids) == len(mask)
    assert ids == tokenizer.encode_chat(messages, add_generation_prompt=False)
    assert ids[0] == BOS and ids.count(EOS) == 3
    assert ids.count(tokenizer.image) == IMAGE_TOKENS and ids.count(tokenizer.audio) == 5
    assert [i for i, m in zip(ids, mask, strict=True) if m] == [*tokenizer.encode("A cat."), EOS]
    prompt = tokenizer.encode_chat(messages[:2])
    assert prompt == ids[: len(prompt)]
    assert prompt[-1] == tokenizer.symbols["<|assistant|>"]


def test_mask_covers_every_assistant_turn(tokenizer: Tokenizer) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}] * 3
    ids, mask = tokenizer.encode_chat_targets(messages)
    asked = [index for index, kept in zip(ids, mask, strict=True) if kept]
    assert asked == [*tokenizer.encode("Hello!"), EOS] * 3


def test_plain_errors(tokenizer: Tokenizer, tmp_path) -> None:
    with pytest.raises(UserError, match="no tokenizer at"):
        Tokenizer(tmp_path / "none.model")
    (tmp_path / "bad.model").write_bytes(b"not a model")
    with pytest.raises(UserError, match="not a SentencePiece model"):
        Tokenizer(tmp_path / "bad.model")
    with pytest.raises(UserError, match="role"):
        tokenizer.encode_chat([{"role": "robot", "content": "x"}])
    with pytest.raises(UserError, match="part"):
        tokenizer.encode_chat([{"role": "user", "content": [{"type": "smell"}]}])
    with pytest.raises(ValueError, match="outside"):
        tokenizer.decode([5000])


def test_training_is_deterministic(tmp_path) -> None:
    for name in ("a", "b"):
        train_tokenizer(training_lines(None, 300, seed=3), tmp_path / name, vocab_size=600)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
