"""How contexts of each length are read: chunks of a prompt, and how far back a query looks.

`none` reads a prompt at once and looks at everything. `fixed` follows a table. `auto` keeps the
table's windows and measures its chunks. A window changes the answers, so the default table has none:
only a table of the user's own does. No torch here.
"""

from dataclasses import dataclass

from inference.caching.planfile import NEAR
from models.errors import UserError
from models.fields import LARGEST

PLANS = ("none", "fixed", "auto")
# Up to 512 tokens one pass is quickest; beyond, the scores of a whole prompt leave the CPU's caches.
DEFAULT_TABLE = "512:0:0,max:256:0"
ENDLESS = "max"


@dataclass(frozen=True)
class Bucket:
    """One row of a table."""

    up_to: int | None  # tokens of context; None: any
    query_chunk: int | None = None  # tokens of a prompt run at once; None: all
    window: int | None = None  # tokens a query looks back, itself counted; None: all


def parse_table(text: str) -> tuple[Bucket, ...]:
    """`512:0:0,max:256:1024`: CONTEXT:CHUNK:WINDOW ascending, the last context `max`; 0 = none."""
    try:
        rows = [row.strip().split(":") for row in text.split(",")]
        buckets = tuple(
            Bucket(None if up_to == ENDLESS else int(up_to), int(chunk) or None, int(window) or None)
            for up_to, chunk, window in rows
        )
    except ValueError:
        raise UserError(f"decode_table {text!r}: write CONTEXT:CHUNK:WINDOW, rows by commas") from None
    limits = [bucket.up_to for bucket in buckets[:-1]]
    if buckets[-1].up_to is not None or None in limits or sorted(set(limits)) != limits:
        raise UserError(f"decode_table {text!r}: contexts must ascend, and the last be {ENDLESS}")
    sizes = [size for b in buckets for size in (b.up_to, b.query_chunk, b.window)]
    if not all(1 <= size <= LARGEST for size in sizes if size is not None):
        raise UserError(f"decode_table {text!r}: sizes are from 0 to {LARGEST}")
    return buckets


def format_table(buckets: tuple[Bucket, ...]) -> str:
    """The text that `parse_table` reads."""
    return ",".join(f"{b.up_to or ENDLESS}:{b.query_chunk or 0}:{b.window or 0}" for b in buckets)


def query_chunk(plan: tuple[Bucket, ...], context: int) -> int | None:
    """Tokens of a prompt to run at once where the context comes to so many."""
    for bucket in plan:
        if bucket.up_to is None or context <= bucket.up_to:
            return bucket.query_chunk
    return None


def windows(plan: tuple[Bucket, ...]) -> tuple[tuple[int, int | None], ...]:
    """(context, window) as models.cache takes them: beyond so many tokens, look so far back."""
    if not any(bucket.window for bucket in plan):
        return ()
    starts = [0] + [bucket.up_to for bucket in plan[:-1]]
    return tuple((start, bucket.window) for start, bucket in zip(starts, plan))


def quickest(seconds: dict[int | None, float]) -> int | None:
    """The chunk to use: the smallest, for it takes least memory, of those as quick as the best."""
    best = min(seconds.values())
    close = [chunk for chunk, took in seconds.items() if took <= best * (1 + NEAR)]
    return min(close, key=lambda chunk: chunk or float("inf"))
