"""Timing: where the time of one answer went. It measures and formats; it decides nothing.

A GPU works behind the clock's back: there only the sum is exact, for choosing a token waits for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter


@dataclass
class Timing:
    """Seconds and tokens of one call."""

    prompt_tokens: int = 0  # those really run: what the cache held already is not among them
    prefill: float = 0.0
    tokens: int = 0  # chosen, the end token included
    model: float = 0.0  # blocks, for the tokens after the first
    head: float = 0.0  # vocabulary scores
    sampling: float = 0.0

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time of the block to one of the parts."""
        start = perf_counter()
        try:
            yield
        finally:
            setattr(self, part, getattr(self, part) + perf_counter() - start)

    def lines(self) -> str:
        """Two lines for the terminal."""
        decode = self.model + self.head + self.sampling
        each = 1000 / max(1, self.tokens)  # seconds in all -> milliseconds a token
        return (
            f"prompt: {self.prompt_tokens} tokens, {1000 * self.prefill:.1f} ms, "
            f"{rate(self.prompt_tokens, self.prefill):.0f} tokens/s\n"
            f"generation: {self.tokens} tokens, {each * decode:.2f} ms/token "
            f"(model {each * self.model:.2f}, head {each * self.head:.2f}, "
            f"sampling {each * self.sampling:.2f}), {rate(self.tokens, decode):.0f} tokens/s"
        )


def rate(tokens: int, seconds: float) -> float:
    """Tokens a second; 0 where nothing was measured."""
    return tokens / seconds if seconds > 0 else 0.0
