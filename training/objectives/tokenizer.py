"""Trains the vocabulary: SentencePiece BPE on generated text and plain English.

Writes `<runs>/tokenizer/final/tokenizer.model`. Not a gradient stage: it runs once, in seconds,
and every later stage reads its file.
"""

from __future__ import annotations

import io
import random
import string
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import sentencepiece

from data import text
from data.dialogue.conversation import picture_lines, sample_conversation, vocabulary
from data.in_words import in_words
from models.errors import UserError, in_brief
from models.files import replacing
from models.tokenizer import BOS, EOS, PAD, SYMBOLS, UNK

TOLD = 12  # conversations for each in which something is told in words
REAL_LINES = 20000  # lines of each real set read
LINE = 2000  # longest line SentencePiece is given, in characters


def train_tokenizer(lines: Iterable[str], path: str | Path, vocab_size: int) -> None:
    """Trains on `lines` and writes the model file at once or not at all."""
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocab_size,
            byte_fallback=True,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            split_digits=True,
            character_coverage=0.9999,
            required_chars=string.printable[:94] + "μ",
            unk_id=UNK, bos_id=BOS, eos_id=EOS, pad_id=PAD,
            user_defined_symbols=list(SYMBOLS),
            max_sentence_length=4 * LINE,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = in_brief(error)
        raise UserError(f"no vocabulary of {vocab_size} can be made of this text: {reason}") from None
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(model.getvalue())


def training_lines(
    real_dir: str | Path | None, conversations: int, seed: int, *,
    kinds: tuple[str, ...] = (), objects: str = "all",
) -> Iterator[str]:
    """Text that the vocabulary is cut for: both sides of chats, what is told, world words, plain English.

    Args:
        kinds, objects: of a smaller world, whose language is all that is read.
    """
    rng = random.Random(f"tokenizer-{seed}")
    for _ in range(conversations):
        for message in sample_conversation(rng, "train", kinds)["messages"]:
            yield message["content"]
        if kinds:
            yield from picture_lines(rng, "train", objects)
    if kinds:
        return
    for _ in range(conversations // TOLD):
        for message in in_words(rng, "train", objects):
            yield from (part["text"] for part in message["content"])
    yield from vocabulary()
    if real_dir is None:
        return
    for reader in text.SENTENCES.values():
        for line in islice(reader(real_dir), REAL_LINES):
            yield from (part[:LINE] for part in line.split("\n"))
    for name in text.DIALOGUES:
        for _, turns in islice(text.dialogues(real_dir, name), REAL_LINES // 10):
            yield from turns
    for question, answer in islice(text.trivia(real_dir), REAL_LINES // 4):
        yield f"{question} {answer}"


def run(config: dict, paths) -> None:
    """Entry point of `train.py tokenizer`; `paths` has .real (or None) and .final(stage)."""
    target = Path(paths.final("tokenizer")) / "tokenizer.model"
    if paths.real is None and "kinds" not in config["data"]:
        print("notice: no real data; the vocabulary is cut for generated text", file=sys.stderr)
    lines = training_lines(paths.real, seed=config["seed"], **config["data"])
    train_tokenizer(lines, target, config["model"]["vocab_size"])
    print(f"tokenizer: {target}")
