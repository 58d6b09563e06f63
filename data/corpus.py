"""The Thinker's pretraining stream: token files of conversations and plain English.

Writes `train.bin`, `dev.bin`, `test.bin` (uint16 ids, documents one after another, each from bos
to eos) and `meta.json`. Most of the tokens are generated: conversations, and pictures and recordings
told in words. The rest is English from the manifest's text and what the user brings; without real text
there is none, and a notice says so. It trains nothing and needs a tokenizer that exists.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path

import numpy as np

from data import text
from data.dialogue.conversation import sample_conversation
from data.in_words import in_words
from data.speech import sentences
from models.errors import UserError
from models.files import replacing
from models.tokenizer import Tokenizer

ENOUGH = 2  # times the tokens wanted of all sets together: no more of one set is read
CHUNK = 20_000  # generated tokens made by one call: the unit of work, a pure function of its index


@dataclass(frozen=True)
class CorpusOptions:
    """How much text, and of what."""

    train_tokens: int = 12_000_000
    dev_tokens: int = 100_000
    test_tokens: int = 100_000
    conversation_share: float = 0.6  # of all tokens
    told_share: float = 0.1  # of all tokens: pictures and recordings told in words (data/in_words.py)
    document_tokens: int = 1024  # longer documents are cut between sentences or turns
    kinds: tuple[str, ...] = ()  # of conversation; all of data/dialogue where none is named
    objects: str = "all"  # of the picture world


_tokenizer: Tokenizer | None = None  # one for each worker process


def _open(path: str) -> Tokenizer:
    global _tokenizer
    if _tokenizer is None or str(_tokenizer.path) != path:
        _tokenizer = Tokenizer(path)
    return _tokenizer


def chat_chunk(index: int, path: str, split: str, seed: int, kinds: tuple[str, ...] = ()) -> np.ndarray:
    """Whole conversations, at least CHUNK tokens of them."""
    tokenizer = _open(path)
    rng = random.Random(f"corpus-{seed}-{split}-{index}")
    ids: list[int] = []
    while len(ids) < CHUNK:
        chat = sample_conversation(rng, split, kinds)
        ids += tokenizer.encode_chat(chat["messages"], add_generation_prompt=False)
    return np.asarray(ids, dtype=np.uint16)


def told_chunk(index: int, path: str, split: str, seed: int, objects: str = "all") -> np.ndarray:
    """Pictures and recordings told in words, with questions; at least CHUNK tokens of them."""
    tokenizer = _open(path)
    rng = random.Random(f"told-{seed}-{split}-{index}")
    ids: list[int] = []
    while len(ids) < CHUNK:
        ids += tokenizer.encode_chat(in_words(rng, split, objects), add_generation_prompt=False)
    return np.asarray(ids, dtype=np.uint16)


def for_training(turn: str) -> bool:
    """Whether hearing keeps no sentence of it for dev or test: those are not read here, either."""
    return without_held_out(turn) == turn


def without_held_out(line: str) -> str:
    """A line less the sentences that hearing keeps for dev and test."""
    parts = re.split(r"(?<=[.?!])\s+", line)
    return " ".join(part for part in parts if sentences.split_of(part) == "train")


def _cut(turns: list[list[int]], overhead: int, limit: int) -> int:
    """How many whole turns fit into a document."""
    used = overhead
    for count, turn in enumerate(turns):
        used += len(turn) + 2
        if used > limit:
            return count
    return len(turns)


def dialogue_documents(real: str | Path, name: str, tokenizer: Tokenizer, split: str,
                       limit: int) -> Iterator[list[int]]:
    """Ids of the dialogues of one set and split, in the chat template."""
    end = tokenizer.eos
    for system, turns in text.dialogues(real, name):
        if text.split_of(" ".join(turns)) != split:
            continue
        if split == "train":
            turns = list(takewhile(for_training, turns))
        encoded = [tokenizer.encode(turn) for turn in turns]
        head = [tokenizer.bos, tokenizer.symbols["<|system|>"], *tokenizer.encode(system), end]
        count = _cut(encoded, len(head), limit) // 2 * 2
        ids = list(head)
        for place, turn in enumerate(encoded[:count]):
            role = "<|assistant|>" if place % 2 else "<|user|>"
            ids += [tokenizer.symbols[role], *turn, end]
        if count:
            yield ids


def plain_documents(documents: Iterator[str], tokenizer: Tokenizer, split: str,
                    limit: int) -> Iterator[list[int]]:
    """Ids of the plain documents of a split."""
    for document in documents:
        if text.split_of(document) != split:
            continue
        if split == "train":
            document = "\n".join(without_held_out(line) for line in document.split("\n"))
        yield [tokenizer.bos, *tokenizer.encode(document)[: limit - 2], tokenizer.eos]


def english(real: str | Path | None, extra: str | Path | None, tokenizer: Tokenizer, split: str,
            limit: int) -> Iterator[tuple[str, Iterator[list[int]]]]:
    """(set, its documents' ids) for every set of real text."""
    if real:
        for name in text.DIALOGUES:
            yield name, dialogue_documents(real, name, tokenizer, split, limit)
        for name, reader in text.SENTENCES.items():
            yield name, plain_documents(reader(real), tokenizer, split, limit)
    if extra:
        yield "extra", plain_documents(text.text_files(extra), tokenizer, split, limit)


def _real_tokens(real, extra, tokenizer: Tokenizer, split: str, options: CorpusOptions,
                 wanted: int, seed: int) -> tuple[np.ndarray, dict[str, int]]:
    """Up to `wanted` tokens: each set at most three times over, small sets first, shuffled."""
    sets: dict[str, list[np.ndarray]] = {}
    for name, documents in english(real, extra, tokenizer, split, options.document_tokens):
        used = 0
        for ids in documents:
            sets.setdefault(name, []).append(np.asarray(ids, dtype=np.uint16))
            used += len(ids)
            if used >= ENOUGH * wanted:  # a small corpus need not read a large set to its end
                break
    rng = random.Random(f"english-{seed}-{split}")
    chosen: list[np.ndarray] = []
    counts: dict[str, int] = {}
    left = wanted
    sizes = {name: sum(map(len, documents)) for name, documents in sets.items()}
    for place, name in enumerate(sorted(sets, key=sizes.get)):
        quota = min(left // (len(sets) - place), (3 if split == "train" else 1) * sizes[name])
        used = 0
        while used < quota:
            documents = sets[name]
            rng.shuffle(documents)
            for document in documents:
                if used >= quota:
                    break
                chosen.append(document)
                used += len(document)
        counts[name] = used
        left -= used
    rng.shuffle(chosen)
    return (np.concatenate(chosen) if chosen else np.zeros(0, np.uint16)), counts


def _chunks(make, total: int, path: str, split: str, seed: int, pool) -> list[np.ndarray]:
    job = partial(make, path=path, split=split, seed=seed)
    indices = range(-(-total // CHUNK)) if total else range(0)
    return list(pool.imap(job, indices) if pool else map(job, indices))


def _mixed(parts: list[np.ndarray], bos: int, seed: str) -> np.ndarray:
    """All documents of all parts, in one shuffled order."""
    documents: list[np.ndarray] = []
    for part in parts:
        starts = np.flatnonzero(part == bos)
        documents += np.split(part, starts[1:]) if len(starts) else []
    random.Random(seed).shuffle(documents)
    return np.concatenate(documents)


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.write_bytes(data)


def token_stream(split: str, tokenizer: str | Path, options: CorpusOptions,
                 real_dir: str | Path | None = None, seed: int = 0,
                 extra: str | Path | None = None, pool=None) -> tuple[np.ndarray, dict[str, int]]:
    """The tokens of one split, uint16 (T,), and how many there are of what.

    Args:
        pool: of multiprocessing, which makes conversations; None: this process does.

    Raises:
        UserError: `real_dir` has no text.
    """
    if real_dir is not None and not (Path(real_dir) / "text").is_dir():
        raise UserError(f"{real_dir} has no folder text/: give the folder of MANIFEST.md")
    path, opened = str(tokenizer), _open(str(tokenizer))
    total = getattr(options, f"{split}_tokens")
    told = int(total * options.told_share)
    wanted = int(total * (1 - options.conversation_share)) - told
    real, counts = _real_tokens(real_dir, extra, opened, split, options, wanted, seed)
    chat, show = partial(chat_chunk, kinds=options.kinds), partial(told_chunk, objects=options.objects)
    chats = _chunks(chat, total - told - len(real), path, split, seed, pool)
    shown = _chunks(show, told, path, split, seed, pool)
    tokens = _mixed([*chats, *shown, real], opened.bos, f"mix-{seed}-{split}")  # (T,)
    return tokens, {"tokens": len(tokens), "conversations": sum(map(len, chats)),
                    "told": sum(map(len, shown)), **counts}


def build_corpus(folder: str | Path, tokenizer: str | Path, options: CorpusOptions,
                 real_dir: str | Path | None = None, seed: int = 0, workers: int = 1,
                 extra: str | Path | None = None) -> dict:
    """Builds the three token files and returns what meta.json says.

    `tokenizer` is the path of tokenizer.model; `real_dir` the folder of the manifest, `extra` any
    text file or folder (TinyStories, a dataset on disk). The result depends on `seed` and the
    inputs only, not on `workers`.
    """
    folder, path = Path(folder), str(tokenizer)
    if real_dir is None and extra is None and not options.kinds:
        print("notice: no real text; the corpus is generated text only", file=sys.stderr)
    opened = _open(path)
    meta: dict = {"seed": seed, "vocab_size": len(opened), "dtype": "uint16", "bos": opened.bos,
                  "eos": opened.eos, "options": asdict(options), "splits": {}}
    pool = multiprocessing.get_context("spawn").Pool(workers) if workers > 1 else None
    try:
        for split in text.SPLITS:
            tokens, counts = token_stream(split, path, options, real_dir, seed, extra, pool)
            _write(folder / f"{split}.bin", tokens.tobytes())
            meta["splits"][split] = counts
    finally:
        if pool:
            pool.terminate()
    _write(folder / "meta.json", json.dumps(meta, indent=1).encode())
    return meta


def load_tokens(folder: str | Path, split: str) -> np.ndarray:
    """The token file of a split as a read-only memory map (uint16)."""
    path = Path(folder) / f"{split}.bin"
    if not path.is_file():
        raise UserError(f"no corpus at {path}: train the stage `thinker` first")
    return np.memmap(path, dtype=np.uint16, mode="r")
