"""A prompt that hides one fact among many sentences and asks for it: a needle in a haystack.

What a cache kind spoils shows first where a distant token must be found again. Plain short sentences,
because a text that the model cannot read at all would hide every loss.
"""

import random
from dataclasses import dataclass

from models.tokenizer import Tokenizer

WHO = ("fox", "dog", "cat", "bird", "horse", "teacher", "boy", "girl", "farmer", "old man")
COLOURS = ("red", "blue", "green", "white", "black", "brown", "small", "big")
DOES = ("sleeps", "waits", "sings", "sits", "plays", "eats", "reads", "walks")
WHERE = ("near the lake", "in the garden", "by the door", "under a tree", "at home", "in the park")
FACT = "The secret number is 7 4 2 9."
QUESTION = "What is the secret number?"


@dataclass(frozen=True)
class Needle:
    """Token ids of the prompt and its right answer, and where the answer begins."""

    ids: list[int]
    answer: int


def needle(tokenizer: Tokenizer, length: int) -> Needle:
    """A prompt with its answer of at most `length` tokens, the fact early in it."""
    rng = random.Random(0)
    answer = tokenizer.encode(FACT)
    count = length // 4  # a sentence has at least so many tokens
    sentences = [
        f"The {rng.choice(COLOURS)} {rng.choice(WHO)} {rng.choice(DOES)} {rng.choice(WHERE)}."
        for _ in range(count)
    ]
    while True:
        early = len(sentences) // 4
        hay = [*sentences[:early], FACT, *sentences[early:], QUESTION]
        prompt = tokenizer.encode_chat([{"role": "user", "content": " ".join(hay)}])
        if len(prompt) + len(answer) <= length or not sentences:
            return Needle([*prompt, *answer], len(prompt))
        sentences = sentences[: int(len(sentences) * 0.9)]
