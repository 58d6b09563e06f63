"""`auto` settings become plain ones: looked up in a plan, or measured and kept.

Plans belong to a model, its weights, the settings they depend on, and a machine: another of any of
them is measured anew.
"""

import hashlib
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter

import torch

from inference.caching.decodeplan import Bucket, format_table, parse_table, quickest
from inference.caching.needle import needle
from inference.caching.options import PLAN_FIELDS
from inference.caching.planfile import plan_key, read_plans, write_plans
from inference.caching.policy import Candidate, cache_kinds, choose
from inference.caching.probe import SECONDS, CacheProbe, chunk_seconds
from inference.config import GenerateConfig
from inference.notice import notice
from inference.runner import Runner
from models.cachekind import AUTO
from models.errors import UserError
from models.processor import machine
from models.thinker import Thinker
from models.tokenizer import Tokenizer

CHUNKS = (64, 128, 256, 512)
MEASURING = (  # settings that change what is measured
    "cache_quality_prompt_len", "cache_quality_decode_steps", "cache_auto_benchmark",
    "cache_auto_bench_steps", "cache_auto_bench_prompt_len",
)
LONGEST = 2048  # tokens of a prompt that is read to time its chunks


def resolve(
    config: GenerateConfig,
    thinker: Thinker,
    tokenizer: Tokenizer,
    memory: dict[str, dict],
) -> GenerateConfig:
    """The config with every `auto` replaced by what was measured.

    Args:
        memory: plans of this process, by key; added to.

    Raises:
        UserError: no cache kind fits, or the plan's file cannot be used.
    """
    limit = thinker.config.max_position_embeddings
    config = within(config, limit)
    context = config.max_seq_len or limit
    check_budget(config, thinker, context)
    check_ids(config, thinker.config.vocab_size)
    if AUTO not in (config.cache_kind, config.decode_plan):
        return config
    about = describe(thinker) | {"context": context, "native": config.native}
    found = {"cache_plan_path": None}
    if config.cache_kind == AUTO:
        measured = {name: getattr(config, name) for name in MEASURING}
        key = plan_key(**about, budget=config.cache_budget_mb, gates=config.gates(), **measured)
        plan = kept(config, key, memory, lambda: plan_cache(config, thinker, tokenizer, context))
        found["cache_kind"] = plan["cache_kind"]
    if config.decode_plan == AUTO:
        config = replace(config, cache_kind=found.get("cache_kind", config.cache_kind))  # what will run
        key = plan_key(**about, table=config.table(), kind=config.cache_kind)
        plan = kept(config, key, memory, lambda: plan_chunks(config, thinker, tokenizer, context))
        found |= {"decode_plan": "fixed", "decode_table": plan["decode_table"]}
        found |= dict.fromkeys(PLAN_FIELDS[1:])
    return replace(config, **found)


def within(config: GenerateConfig, limit: int) -> GenerateConfig:
    """The config with no longer a context than the model has; a notice says what was asked for."""
    if config.max_seq_len is None or config.max_seq_len <= limit:
        return config
    notice(f"max_seq_len {config.max_seq_len} is beyond this model: its context is {limit} tokens")
    return replace(config, max_seq_len=limit)


def check_budget(config: GenerateConfig, thinker: Thinker, context: int) -> None:
    """Refuse a kind that was named and takes more than the budget."""
    if config.cache_budget_mb is None or config.cache_kind == AUTO:
        return
    cache = thinker.new_cache(1, 1, config.cache_kind)
    if not hasattr(cache, "nbytes"):
        raise UserError("exported chunks have a cache of fixed size: leave cache_budget_mb out")
    nbytes = cache.nbytes * context
    if nbytes > config.cache_budget_mb * 1e6:
        raise UserError(
            f"cache_budget_mb is {config.cache_budget_mb:g}, and {config.cache_kind or 'the cache'} "
            f"takes {nbytes / 1e6:.3g} MB for {context} tokens: use cache_kind auto, or max_seq_len"
        )


def check_ids(config: GenerateConfig, count: int) -> None:
    """Refuse token ids that a vocabulary of so many has not; an end below 0 never comes."""
    ids = (*config.suppress_tokens, max(config.eos_token_id or 0, 0))
    if wrong := [token for token in ids if not 0 <= token < count]:
        raise UserError(f"{wrong[0]} is no token id of this model: it has 0 to {count - 1}")


def describe(thinker: Thinker) -> dict:
    """The model, its weights and the machine, as far as plans depend on them."""
    weight = thinker.model.embed_tokens.weight
    some = torch.cat([p.detach().flatten()[:64].float().cpu() for p in thinker.parameters()])
    return {
        "model": asdict(thinker.config),
        "weights": hashlib.sha256(some.numpy().tobytes()).hexdigest(),
        "dtype": str(weight.dtype),
        "machine": [platform.node(), machine(weight.device), torch.get_num_threads()],
        "torch": torch.__version__,
    }


def kept(
    config: GenerateConfig,
    key: str,
    memory: dict[str, dict],
    measure: Callable[[], dict],
) -> dict:
    """The plan of this key: of this process, of the file while it is fresh, or measured now."""
    def fresh(plan: dict) -> bool:
        age = time.time() - plan["probed"]  # below 0: from the future
        return not config.cache_plan_probe or 0 <= age < config.cache_plan_probe_interval_sec

    path = Path(config.cache_plan_path) if config.cache_plan_path else None
    saved = read_plans(path) if path else {}
    known = [plans[key] for plans in (memory, saved) if key in plans and fresh(plans[key])]
    memory[key] = known[0] if known else {"probed": time.time()} | measure()
    if path and not (key in saved and fresh(saved[key])):
        write_plans(path, saved | {key: memory[key]})
    return memory[key]


def plan_cache(
    config: GenerateConfig, thinker: Thinker, tokenizer: Tokenizer, context: int
) -> dict:
    """Measure and choose a cache kind."""
    length = min(context, config.cache_quality_prompt_len)
    probe = CacheProbe(thinker, needle(tokenizer, length), context, config)
    kinds = cache_kinds(len(thinker.config.cache_widths))
    budget = None if config.cache_budget_mb is None else config.cache_budget_mb * 1e6
    best, candidates = choose(kinds, probe, budget, config.gates(), config.cache_auto_benchmark)
    shown = "; ".join(map(told, candidates))
    notice(
        f"cache_kind auto: {best.kind}, {best.nbytes / 1e6:.3g} MB for {context} tokens, "
        f"{probe.path} ({shown})"
    )
    return {
        "cache_kind": best.kind,
        "context": context,
        "budget_mb": config.cache_budget_mb,
        "gates": asdict(config.gates()),
        "path": probe.path,
        "candidates": list(map(asdict, candidates)),
    }


def told(candidate: Candidate) -> str:
    """A candidate and what became of it, in a few words."""
    if candidate.refused or candidate.tokens_per_second is None:
        return f"{candidate.kind}: {candidate.refused or 'exact enough'}"
    return f"{candidate.kind} {candidate.tokens_per_second:.0f} tokens/s"


def plan_chunks(
    config: GenerateConfig, thinker: Thinker, tokenizer: Tokenizer, context: int
) -> dict:
    """Measure the query chunk of each bucket that the context reaches; windows stay as they are."""
    notice("decode_plan auto: measuring how to read prompts")
    hay = needle(tokenizer, min(context, LONGEST)).ids
    Runner(thinker, thinker.new_cache(1, 1), config, wait=True)  # compiled before time counts
    table, begun = parse_table(config.table()), perf_counter()
    buckets: list[Bucket] = []
    seconds = {}
    for nth, bucket in enumerate(table, 1):
        start = buckets[-1].up_to if buckets else 0
        length = min(bucket.up_to or context, len(hay))
        if start < len(hay):
            chunks = [None, *(chunk for chunk in CHUNKS if chunk < length)]
            until = begun + SECONDS * nth / len(table)
            took = chunk_seconds(thinker, hay[:length], chunks, config, until)
            bucket = replace(bucket, query_chunk=quickest(took))
            seconds[length] = {str(chunk or 0): time for chunk, time in took.items()}
        buckets.append(bucket)
    return {"decode_table": format_table(tuple(buckets)), "context": context, "seconds": seconds}
