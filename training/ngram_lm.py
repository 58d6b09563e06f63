"""Counting the n-gram language model of transcripts (models/ngram_lm.py), within stage `audio`.

It takes three minutes and no gradient. Counted is text of the training split: ordinary sentences of
dialogues and books, questions about the world, digits, single words, and what the speakers of the
recorded sets read, where they are speakers to train on.

Source: modified Kneser-Ney estimates, Chen and Goodman 1999; n-grams are kept by how much their count
times the logarithm gains over backing off (weighted difference, Seymore and Rosenfeld 1996).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from data.dialogue.conversation import user_sentences
from data.progress import progress
from data.scenes.build import SEEDS, MakeScene
from data.shards import ShardReader
from data.speech import sentences
from models.ctc import to_alphabet
from models.ngram_lm import EDGE, ORDER, Level, NgramLM, quantised

BITS = np.uint64(16)  # of a word in the number that stands for an n-gram, the first word highest
WORD = np.uint64(0xFFFF)
RECORDED = "hearing_real_train"
LEAST = 2  # times that a word must occur to be listed
NEVER = 1e-7  # probability of a listed word that nothing was counted for


def lines(real: Path | None, data: dict, recorded: Path) -> Iterator[str]:
    """All that is counted, in the CTC alphabet, each ordinary sentence once."""
    folder = str(real) if real else None
    rng = random.Random("words")
    met: set[str] = set()
    for sentence in sentences.corpus(real, every=1) if real else sentences.ordinary("train"):
        spelt = to_alphabet(sentence)
        if spelt not in met and sentences.split_of(sentence) == "train":
            met.add(spelt)
            yield spelt
    for asked, _ in zip(user_sentences(rng, "train"), range(data["questions"]), strict=False):
        yield to_alphabet(asked["question"])
    world = MakeScene(SEEDS["train"], "train")
    for index in range(data["scenes"]):
        for question in world.describe(index)[1]["questions"]:
            yield to_alphabet(question["question"])
    for _ in range(data["short"]):
        yield to_alphabet(sentences.digits(rng))
        yield to_alphabet(sentences.single_word(rng, folder))
        yield to_alphabet(sentences.answer(rng, "train"))
    if recorded.is_dir():
        reader = ShardReader(recorded)
        yield from (to_alphabet(reader[index]["text"]) for index in range(len(reader)))


def numbered(spoken: Iterable[str], vocabulary: int) -> tuple[list[str], np.ndarray]:
    """The listed words, the edge first, and all sentences as one row of ids between edges. (S,)

    A word that is not listed has the id after the last one.
    """
    rows = [line.split() for line in spoken]
    counts = Counter(word for row in rows for word in row)
    words = ["", *(word for word, times in counts.most_common(vocabulary) if times >= LEAST)]
    ids = {word: index for index, word in enumerate(words)}
    stream = [EDGE]
    for row in rows:
        stream += [ids.get(word, len(words)) for word in row]
        stream.append(EDGE)
    return words, np.array(stream, np.uint64)


def windows(stream: np.ndarray, n: int) -> np.ndarray:
    """Every n-gram within a sentence, as one number. (S,) -> (M,) uint64"""
    parts = [stream[k : len(stream) - n + 1 + k] for k in range(n)]  # n times (S - n + 1,)
    keys, within = np.zeros(len(parts[0]), np.uint64), np.ones(len(parts[0]), bool)
    for k, part in enumerate(parts):
        keys = keys << BITS | part
        if 0 < k < n - 1:
            within &= part != EDGE
    return keys[within]


def tail(keys: np.ndarray, n: int) -> np.ndarray:
    """n-grams less their first word."""
    return keys & np.uint64((1 << int(BITS) * (n - 1)) - 1)


def less_first(row: np.ndarray, keys: np.ndarray, longer: np.ndarray, n: int) -> np.ndarray:
    """For each of `longer`, n-grams, what `row` holds of it less its first word, among `keys`."""
    return row[np.searchsorted(keys, tail(longer, n))]


def counted(stream: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each length: n-grams in order, how often they occur, and what Kneser and Ney count instead.

    That is, for all but the longest, how many different words come before it; nothing comes before
    what begins a sentence, so that is counted as it is.
    """
    raw = [np.unique(windows(stream, n), return_counts=True) for n in range(1, ORDER + 1)]
    out = []
    for n, (keys, times) in enumerate(raw, 1):
        ways = times
        if n < ORDER:
            ends, before = np.unique(tail(raw[n][0], n + 1), return_counts=True)
            ways = np.zeros_like(times)
            ways[np.searchsorted(keys, ends)] = before
            if n > 1:
                begins = keys >> BITS * np.uint64(n - 1) == EDGE
                ways = np.where(begins, times, ways)
        out.append((keys, times, ways))
    return out


def discounts(ways: np.ndarray) -> np.ndarray:
    """What is taken from a count of 0, 1, 2, and 3 or more. (4,)"""
    n1, n2, n3, n4 = (max(1, int((ways == k).sum())) for k in range(1, 5))
    y = n1 / (n1 + 2 * n2)
    return np.clip([0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3], 0, 2.5)


def estimated(grams: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Interpolated probabilities of all n-grams, a row for each length."""
    first = np.maximum(grams[0][2], 1)
    rows = [first / first.sum()]
    for n in range(2, ORDER + 1):
        keys, _, ways = grams[n - 1]
        taken = discounts(ways)[np.minimum(ways, 3)]  # (N,)
        _, context = np.unique(keys >> BITS, return_inverse=True)  # (N,)
        total = np.maximum(np.bincount(context, ways), 1)  # (contexts,)
        spare = np.bincount(context, taken) / total
        shorter = less_first(rows[-1], grams[n - 2][0], keys, n)  # (N,)
        rows.append(np.maximum(ways - taken, 0) / total[context] + spare[context] * shorter)
    return rows


def worth_keeping(grams, rows: list[np.ndarray], limits: dict[int, int], unlisted: int) -> list[np.ndarray]:
    """Which n-grams stay: the worthiest, and what longer ones begin or end with. bool (N,) each"""
    kept = [grams[0][0] < unlisted]
    for n in range(ORDER, 1, -1):
        keys, times, _ = grams[n - 1]
        shorter = less_first(rows[n - 2], grams[n - 2][0], keys, n)
        worth = times * np.abs(np.log(rows[n - 1] / shorter))
        for k in range(n):
            worth[keys >> BITS * np.uint64(k) & WORD == unlisted] = -1.0
        if n < ORDER:
            longer = grams[n][0][kept[1]]
            for needed in (longer >> BITS, tail(longer, n + 1)):
                worth[np.searchsorted(keys, needed)] = np.inf
        least = np.sort(worth)[-min(limits[n], len(worth))]
        kept.insert(1, worth >= max(least, 1e-9))
    return kept


def levels(keys: list[np.ndarray], rows: list[np.ndarray]) -> list[Level]:
    """The trie of what is kept; penalties are such that a context's probabilities add up to one."""
    out, counts = [], np.zeros(0, np.int64)
    for n in range(1, ORDER + 1):
        starts = np.concatenate([[0], counts.cumsum()]).astype(np.int32)
        backs = np.zeros(0, np.uint8)
        if n < ORDER:
            parent = np.searchsorted(keys[n - 1], keys[n] >> BITS)  # of each longer one
            shorter = less_first(rows[n - 1], keys[n - 1], keys[n], n + 1)
            size = len(keys[n - 1])
            spare = 1 - np.bincount(parent, rows[n], size)
            unlisted = np.maximum(1 - np.bincount(parent, shorter, size), 1e-3)
            backs = quantised(np.log(np.clip(spare / unlisted, 1e-6, 1.0)))
            counts = np.bincount(parent, minlength=size)
        words = (keys[n - 1] & WORD).astype(np.uint16)
        out.append(Level(words, quantised(np.log(rows[n - 1])), backs, starts))
    return out


def count_ngrams(spoken: Iterable[str], vocabulary: int, bigrams: int, trigrams: int) -> NgramLM:
    """The model of these sentences; at least as many n-grams are kept as asked, if there are."""
    words, stream = numbered(spoken, vocabulary)
    grams = counted(stream)
    rows = estimated(grams)
    kept = worth_keeping(grams, rows, {2: bigrams, 3: trigrams}, len(words))
    keys = [gram[0][stay] for gram, stay in zip(grams, kept, strict=True)]
    rows = [row[stay] for row, stay in zip(rows, kept, strict=True)]
    listed = np.full(len(words), NEVER)
    listed[keys[0].astype(int)] = rows[0]
    keys[0], rows[0] = np.arange(len(words), dtype=np.uint64), listed
    return NgramLM(words, levels(keys, rows))


def build_ngrams(sizes: dict, spoken: Iterable[str], path: Path) -> None:
    """Count these sentences, in the CTC alphabet, into a file.

    Args:
        sizes: how many words, bigrams and trigrams are kept.
    """
    sizes = {name: sizes[name] for name in ("vocabulary", "bigrams", "trigrams")}
    model = count_ngrams(progress(spoken, desc="n-grams", unit=" sentences"), **sizes)
    model.save(path)
    print(f"n-grams: {path}, {sum(len(level.logs) for level in model.levels):,}")
