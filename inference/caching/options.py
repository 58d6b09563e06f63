"""CacheOptions: settings of the KV cache and of decode plans, part of every GenerateConfig. No torch.

`auto` settings are measured where a model is at hand, by inference.caching.planning.
"""

from dataclasses import dataclass

from inference.caching.decodeplan import DEFAULT_TABLE, PLANS, Bucket, format_table, parse_table
from inference.caching.policy import Gates
from models.cachekind import AUTO, parse_cache_kind
from models.errors import UserError

DAY = 86_400.0  # seconds
LEAST = {  # of settings that are numbers
    "cache_plan_probe_interval_sec": 0,
    "cache_quality_prompt_len": 16, "cache_quality_decode_steps": 0,
    "cache_auto_bench_steps": 1, "cache_auto_bench_prompt_len": 1,
    "decode_bucket_short": 1, "decode_bucket_mid": 1, "decode_q_chunk": 1, "decode_local_window": 1,
}


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """How keys and values are kept, and how contexts of each length are read."""

    cache_kind: str | None = None  # see models.cachekind, or auto; None = as the weights; bf16 for int8
    cache_budget_mb: float | None = None  # the most a full context's cache may take (10^6 bytes)
    cache_plan_path: str | None = None  # a JSON file that keeps what auto measured
    cache_plan_probe: bool = True  # auto: an old plan is measured again; False: it holds for ever
    cache_plan_probe_interval_sec: float = 30 * DAY  # seconds after which a plan is old
    cache_quality_max_delta_nll: float = 0.05  # auto: nats a token lost on what must be looked up
    cache_quality_max_ppl_ratio: float = 1.01  # auto: perplexity of the whole prompt against fp32's
    cache_quality_max_mean_kl: float = 0.01  # auto: mean divergence from fp32's distributions, in nats
    cache_quality_prompt_len: int = 256  # auto: tokens of the prompt that quality is measured on
    cache_quality_decode_steps: int = 4  # auto: the last of them, read one at a time as decoding does
    cache_auto_benchmark: bool = True  # auto: the fastest exact kind; False: the smallest, unmeasured
    cache_auto_bench_steps: int = 8  # auto: tokens decoded in a round of the speed test
    cache_auto_bench_prompt_len: int = 256  # auto: tokens of context that it begins after
    decode_plan: str = "none"  # none | fixed | auto, see inference.caching.decodeplan
    decode_table: str | None = None  # CONTEXT:CHUNK:WINDOW,… of the plan; None = by the four below
    decode_bucket_short: int | None = None  # auto: contexts up to so many tokens are read at once
    decode_bucket_mid: int | None = None  # auto: up to so many, in chunks; beyond, through the window
    decode_q_chunk: int | None = None  # tokens of a prompt run at once; auto measures its own
    decode_local_window: int | None = None  # tokens a query looks back, itself counted; None: all

    def check_cache(self) -> None:
        """Refuse values that mean nothing, or nothing together."""
        if self.cache_kind not in (None, AUTO):
            parse_cache_kind(self.cache_kind, parts=3)  # a model with two parts refuses three itself
        if self.cache_budget_mb is not None and not self.cache_budget_mb > 0:
            raise UserError(f"cache_budget_mb must be above 0, not {self.cache_budget_mb}")
        if self.cache_plan_path is not None and AUTO not in (self.cache_kind, self.decode_plan):
            raise UserError("cache_plan_path is for cache_kind auto or decode_plan auto")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise UserError(f"{name} must be {least} or more, not {value}")
        self.gates()
        if self.decode_plan not in PLANS:
            raise UserError(f"decode_plan must be {', '.join(PLANS)}, not {self.decode_plan!r}")
        given = [name for name in PLAN_FIELDS if getattr(self, name) is not None]
        if given and self.decode_plan == "none":
            raise UserError(f"{given[0]} is for decode_plan fixed or auto")
        if self.decode_table is not None and len(given) > 1:
            raise UserError(f"decode_table says it all: it does not go with {given[1]}")
        short, mid = self.decode_bucket_short, self.decode_bucket_mid
        if short is not None and mid is not None and not short < mid:
            raise UserError(f"decode_bucket_mid must be above decode_bucket_short, not {mid} and {short}")
        parse_table(self.table())

    def gates(self) -> Gates:
        """What a cache kind may cost to be chosen by auto."""
        return Gates(
            self.cache_quality_max_delta_nll,
            self.cache_quality_max_ppl_ratio,
            self.cache_quality_max_mean_kl,
        )

    def table(self) -> str:
        """The plan's table: as given, or put together from buckets, chunk and window."""
        chunk, window = self.decode_q_chunk, self.decode_local_window
        if self.decode_table is not None:
            return self.decode_table
        if self.decode_plan == "fixed" and (chunk or window):
            return format_table((Bucket(None, chunk, window),))
        short, mid = self.decode_bucket_short, self.decode_bucket_mid
        if not any((short, mid, chunk, window)):
            return DEFAULT_TABLE
        rows = [Bucket(short)] if short else []
        rows += [Bucket(mid, chunk)] if mid else []
        return format_table((*rows, Bucket(None, chunk, window)))

    def plan(self) -> tuple[Bucket, ...]:
        """How to read contexts of each length; empty: all in one way."""
        if self.decode_plan == AUTO:
            raise UserError("decode_plan auto is measured with a tokenizer's text: ask through Omni")
        return () if self.decode_plan == "none" else parse_table(self.table())


PLAN_FIELDS = (
    "decode_table", "decode_bucket_short", "decode_bucket_mid", "decode_q_chunk", "decode_local_window",
)
