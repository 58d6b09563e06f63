"""Timing: where the time of one answer went. It measures and formats; it decides nothing.

A GPU works behind the clock's back: there only the sum is exact, for choosing a token waits for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

WARNING, CRITICAL = 0.75, 0.90  # of the context in use


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

    def step(self, seconds: float, head: float) -> None:
        """Add one pass of the model; `head` is what the vocabulary's scores took of it."""
        self.head += head
        self.model += seconds - head

    def block(self) -> str:
        """The figures of one answer, for the terminal."""
        total, each = self.model + self.head + self.sampling, max(1, self.tokens)

        def spent(part: str, seconds: float) -> str:
            return f"  {part} time: {1000 * seconds:.2f} ms ({1000 * seconds / each:.2f} ms/token)"

        return "\n".join((
            *("TIMING STATISTICS", "-" * 50, "Prompt processing:"),
            f"  Tokens: {self.prompt_tokens}",
            f"  Model forward time: {1000 * self.prefill:.2f} ms",
            f"  Speed: {rate(self.prompt_tokens, self.prefill):.2f} tokens/sec",
            *("", "Token generation:"),
            f"  Tokens generated: {self.tokens}",
            spent("Model forward", self.model),
            spent("LM head", self.head),
            spent("Sampling", self.sampling),
            f"  Total generation time: {1000 * total:.2f} ms",
            f"  Speed: {rate(self.tokens, total):.2f} tokens/sec",
        ))


def cache_block(position: int, capacity: int) -> str:
    """How full the KV cache is, for the terminal."""
    share = position / capacity
    state = "OK" if share < WARNING else "WARNING" if share <= CRITICAL else "CRITICAL"
    return (
        f"KV Cache usage:\n  Position: {position} / {capacity} ({100 * share:.1f}%) [{state}]\n"
        f"  Remaining capacity: {capacity - position} tokens"
    )


def statistics(generator) -> str:
    """Both blocks for the latest answer of a Generator; with a draft, how much of it was accepted."""
    blocks = [cache_block(generator.position, generator.capacity), generator.timing.block()]
    if getattr(generator, "guessed", 0):
        share = f"{100 * generator.acceptance_rate:.1f}%"
        blocks.append(f"Speculative decoding:\n  Acceptance rate: {share} of {generator.guessed} tokens")
    return "\n\n".join(blocks)


def rate(tokens: int, seconds: float) -> float:
    """Tokens a second; 0 where nothing was measured."""
    return tokens / seconds if seconds > 0 else 0.0
