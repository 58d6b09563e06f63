"""Lexicon: which words a stretch of sound may be.

All words there are stand in a trie of letters, and one pass over the slots of the stretch says how
likely the ears spell each of them there: the forward sums of CTC, for all nodes of the trie that still
count at once.

Paper: Graves et al., Connectionist temporal classification, ICML 2006 (the forward variables).
"""

from __future__ import annotations

from copy import copy

import numpy as np

from models.letters import BLANK, LETTERS

FAINT = 1e-6  # a beginning so much less likely than the best is given up
COMMON = 0.6  # weight of how common a word is beside how it sounds


class Lexicon:
    """Words by what they sound like.

    Args:
        common: log-probability of each word, whatever stands before it; what the ears cannot spell is
            left out.
    """

    def __init__(self, common: dict[str, float]) -> None:
        self.words = sorted((word for word in common if word and set(word) <= set(LETTERS)), key=len)
        self.common = np.array([common[word] for word in self.words])  # (V,)
        beginnings = sorted({word[:n] for word in self.words for n in range(len(word) + 1)}, key=beginning)
        nodes = {letters: node for node, letters in enumerate(beginnings)}  # 0 is the root, of no letters
        self.parents = np.array([nodes[letters[:-1]] for letters in beginnings])  # (N,) in order
        self.labels = np.array([LETTERS.find(letters[-1:]) + 1 for letters in beginnings])  # (N,)
        self.doubled = self.labels == self.labels[self.parents]  # (N,)
        self.children = np.searchsorted(self.parents[1:], np.arange(len(nodes) + 1)) + 1  # (N + 1,) first
        self.word = np.full(len(nodes), -1)  # (N,) that ends there
        self.word[[nodes[word] for word in self.words]] = np.arange(len(self.words))

    def biased(self, bonus: dict[str, float]) -> Lexicon:
        """The same words, of which some are more common by so many nats."""
        other = copy(self)
        other.common = self.common.copy()
        for word, nats in bonus.items():
            if word in self.words:
                other.common[self.words.index(word)] += nats
        return other

    def heard(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words that a whole stretch may say, and the log-probability that it does.

        Args:
            slots: (S, labels) probabilities.

        Returns:
            (W,) places in `words` and (W,) log-probabilities.
        """
        spoken = np.zeros(len(self.parents))  # (N,) of the ways that end in a node's letter
        silent = np.zeros(len(self.parents))  # and of those that end in a blank
        reached = np.zeros(len(self.parents), bool)  # (N,)
        silent[0] = reached[0] = 1
        for slot in slots:
            reached[self._after(np.flatnonzero(reached))] = True
            live = np.flatnonzero(reached)
            parents = self.parents[live]
            begun = silent[parents] + np.where(self.doubled[live], 0.0, spoken[parents])
            begun[live == 0] = 0.0  # nothing comes before no letters
            both = spoken[live] + silent[live]
            now = (spoken[live] + begun) * slot[self.labels[live]], both * slot[BLANK]
            spoken[live], silent[live] = now
            total = now[0] + now[1]
            faint = total < FAINT * total.max()
            reached[live[faint]] = spoken[live[faint]] = silent[live[faint]] = 0
        live = np.flatnonzero(reached & (self.word >= 0))
        return self.word[live], np.log(spoken[live] + silent[live])

    def _after(self, nodes: np.ndarray) -> np.ndarray:
        """The children of nodes: those of one lie together."""
        first, count = self.children[nodes], self.children[nodes + 1] - self.children[nodes]
        return np.arange(count.sum()) + np.repeat(first - (count.cumsum() - count), count)

    def likely(self, slots: np.ndarray, count: int) -> dict[str, float]:
        """The words that a stretch most likely says, with log-probabilities. (S, labels)"""
        words, heard = self.heard(slots)
        best = np.argsort(-(heard + COMMON * self.common[words]))[:count]
        return {self.words[word]: float(nats) for word, nats in zip(words[best], heard[best], strict=True)}


def beginning(letters: str) -> tuple[int, str]:
    """What nodes are sorted by: those of one parent lie together, in the order of the parents."""
    return len(letters), letters
