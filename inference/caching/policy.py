"""Which cache kind to use: decisions on measurements that somebody else takes. No torch here.

In this order: what exceeds the budget is dropped unmeasured, what is not exact enough is dropped
unraced, the quickest of the rest is taken. The reasons stay with each candidate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol

from inference.caching.planfile import NEAR
from models.cachekind import KVCacheKind
from models.errors import UserError

# Keys and values apart: keys decide where to look and want the finer format (KIVI, arXiv:2402.02750).
APART = ("bf16/q8_0", "bf16/q4_0", "bf16/nf4", "q8_0/q4_0", "q8_0/nf4")
DECOUPLED = ("q4_0/q8_0/q4_0", "nf4/q8_0/nf4")  # of keys, the geometric ones


@dataclass(frozen=True)
class Quality:
    """What a kind costs beside fp32."""

    delta_nll: float  # nats a token more, on what must be looked up far back
    ppl_ratio: float  # perplexity of the whole prompt
    mean_kl: float  # nats between the distributions


@dataclass(frozen=True)
class Gates:
    """The most of each that is accepted."""

    max_delta_nll: float
    max_ppl_ratio: float
    max_mean_kl: float

    def __post_init__(self) -> None:
        for name, least in (("max_delta_nll", 0), ("max_ppl_ratio", 1), ("max_mean_kl", 0)):
            if not getattr(self, name) >= least:
                raise UserError(
                    f"cache_quality_{name} must be {least} or more, not {getattr(self, name)}"
                )

    def refusal(self, quality: Quality) -> str | None:
        """The first gate that is not passed, in words; a figure that is no number passes none."""
        for field in fields(quality):
            value, most = getattr(quality, field.name), getattr(self, f"max_{field.name}")
            if not value <= most:
                return f"{field.name} {value:.4g} is above {most:g}"
        return None


@dataclass
class Candidate:
    """One kind, and what became of it."""

    kind: str
    nbytes: int | None = None  # of a full context
    quality: Quality | None = None
    tokens_per_second: float | None = None
    refused: str | None = None  # why it is out


class Measurements(Protocol):
    """Who measures; a test's figures, or inference.caching.probe."""

    def nbytes(self, kind: str) -> int:
        """Bytes of a full context; UserError where the model cannot have this kind."""

    def quality(self, kind: str) -> Quality | None:
        """None where there is no time left for it."""

    def speeds(self, kinds: list[str]) -> dict[str, float]:
        """Tokens a second of each, measured side by side."""


def cache_kinds(parts: int) -> list[str]:
    """The kinds worth trying for a cache that keeps 2 or 3 things apart."""
    return [*map(str, KVCacheKind), *APART, *(DECOUPLED if parts == 3 else ())]


def choose(
    kinds: Iterable[str], measure: Measurements, budget: float | None, gates: Gates, race: bool = True
) -> tuple[Candidate, list[Candidate]]:
    """The winner, and all candidates with their figures and why they are out.

    Args:
        budget: bytes; None: any.
        race: whether speed decides; else the smallest is taken.

    Raises:
        UserError: none fits.
    """
    candidates = [Candidate(kind) for kind in kinds]
    _drop_large(candidates, measure, budget)
    for candidate in _left(candidates):
        candidate.quality = measure.quality(candidate.kind)
        late = "no time was left to measure it"
        candidate.refused = gates.refusal(candidate.quality) if candidate.quality else late
    left = _left(candidates)
    if not left:
        small = [c for c in candidates if c.quality]
        reasons = "; ".join(f"{c.kind}: {c.refused}" for c in small[:3])
        raise UserError(f"no cache kind within the budget is exact enough ({reasons})")
    if not race:
        return min(left, key=lambda c: c.nbytes), candidates
    for kind, speed in measure.speeds([c.kind for c in left]).items():
        next(c for c in left if c.kind == kind).tokens_per_second = speed
    best = max(c.tokens_per_second for c in left)
    # Among equals the smaller cache wins.
    close = [c for c in left if c.tokens_per_second >= best * (1 - NEAR)]
    return min(close, key=lambda c: c.nbytes), candidates


def _left(candidates: list[Candidate]) -> list[Candidate]:
    return [c for c in candidates if c.refused is None]


def _drop_large(
    candidates: list[Candidate], measure: Measurements, budget: float | None
) -> None:
    for candidate in candidates:
        try:
            candidate.nbytes = measure.nbytes(candidate.kind)
        except UserError as error:  # heads that are no whole number of blocks
            candidate.refused = str(error)
            continue
        if budget is not None and candidate.nbytes > budget:
            candidate.refused = f"{candidate.nbytes / 1e6:.3g} MB is above {budget / 1e6:g}"
    sized = [c for c in candidates if c.nbytes is not None]
    if not sized:
        raise UserError(f"cache_kind auto finds none: {candidates[0].refused}")
    if not _left(candidates):
        least = min(sized, key=lambda c: c.nbytes)
        raise UserError(
            f"no cache kind fits into cache_budget_mb {budget / 1e6:g}: the smallest, {least.kind}, "
            f"takes {least.nbytes / 1e6:.3g} MB for a full context"
        )
