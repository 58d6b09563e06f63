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

import torch

from inference.caching.decodeplan import DEFAULT_TABLE, Bucket, format_table, parse_table, quickest
from inference.caching.needle import needle
from inference.caching.planfile import is_fresh, plan_key, read_plans, write_plans
from inference.caching.policy import cache_kinds, choose
from inference.caching.probe import PROBE_TOKENS, CacheProbe, chunk_seconds
from inference.config import GenerateConfig
from inference.notice import notice
from models.cachekind import AUTO
from models.thinker import Thinker
from models.tokenizer import Tokenizer

CHUNKS = (64, 128, 256, 512)
LONGEST = 2048  # tokens of a prompt that is read to time its chunks


def resolve(
    config: GenerateConfig,
    thinker: Thinker,
    tokenizer: Tokenizer,
    memory: dict[str, dict],
    clock: Callable[[], float] = time.time,
) -> GenerateConfig:
    """The config with every `auto` replaced by what was measured.

    Args:
        memory: plans of this process, by key; added to.
        clock: seconds since 1970.

    Raises:
        UserError: no cache kind fits, or the plan's file cannot be used.
    """
    if AUTO not in (config.cache_kind, config.decode_plan):
        return config
    limit = thinker.config.max_position_embeddings
    context = min(limit, config.max_seq_len or limit)
    about = describe(thinker) | {"context": context}
    found = {"cache_budget_mb": None, "cache_plan_path": None}
    if config.cache_kind == AUTO:
        key = plan_key(**about, budget=config.cache_budget_mb, gates=config.gates())
        plan = kept(
            config, key, memory, clock, lambda: plan_cache(config, thinker, tokenizer, context)
        )
        found["cache_kind"] = plan["cache_kind"]
    if config.decode_plan == AUTO:
        table = config.decode_table or DEFAULT_TABLE
        key = plan_key(**about, table=table)
        plan = kept(
            config, key, memory, clock, lambda: plan_chunks(table, thinker, tokenizer, context)
        )
        found |= {"decode_plan": "fixed", "decode_table": plan["decode_table"]}
    return replace(config, **found)


def describe(thinker: Thinker) -> dict:
    """The model, its weights and the machine, as far as plans depend on them."""
    weight = thinker.model.embed_tokens.weight
    some = weight[:64].detach().float().cpu().numpy().tobytes()
    device = torch.cuda.get_device_name(weight.device) if weight.is_cuda else platform.processor()
    return {
        "model": asdict(thinker.config),
        "weights": hashlib.sha256(some).hexdigest(),
        "dtype": str(weight.dtype),
        "machine": [platform.node(), platform.machine(), device, torch.get_num_threads()],
        "torch": torch.__version__,
    }


def kept(
    config: GenerateConfig,
    key: str,
    memory: dict[str, dict],
    clock: Callable[[], float],
    measure: Callable[[], dict],
) -> dict:
    """The plan of this key: of this process, of the file while it is fresh, or measured now."""
    if key in memory:
        return memory[key]
    path = Path(config.cache_plan_path) if config.cache_plan_path else None
    plans = read_plans(path) if path else {}
    if key not in plans or not is_fresh(plans[key], config.cache_probe_days, clock()):
        plans[key] = {"probed": clock()} | measure()
        if path:
            write_plans(path, plans)
    memory[key] = plans[key]
    return plans[key]


def plan_cache(
    config: GenerateConfig, thinker: Thinker, tokenizer: Tokenizer, context: int
) -> dict:
    """Measure and choose a cache kind."""
    probe = CacheProbe(thinker, needle(tokenizer, min(context, PROBE_TOKENS)), context)
    kinds = cache_kinds(len(thinker.config.cache_widths))
    budget = None if config.cache_budget_mb is None else config.cache_budget_mb * 1e6
    best, candidates = choose(kinds, probe, budget, config.gates())
    notice(f"cache_kind auto: {best.kind}, {best.nbytes / 1e6:.3g} MB for {context} tokens")
    return {
        "cache_kind": best.kind,
        "context": context,
        "budget_mb": config.cache_budget_mb,
        "gates": asdict(config.gates()),
        "candidates": [candidate.to_json() for candidate in candidates],
    }


def plan_chunks(table: str, thinker: Thinker, tokenizer: Tokenizer, context: int) -> dict:
    """Measure the query chunk of each bucket that the context reaches; windows stay as they are."""
    notice("decode_plan auto: measuring how to read prompts")
    hay = needle(tokenizer, min(context, LONGEST)).ids
    buckets: list[Bucket] = []
    seconds = {}
    for bucket in parse_table(table):
        start = buckets[-1].up_to if buckets else 0
        length = min(bucket.up_to or context, len(hay))
        if start < len(hay):
            chunks = [None, *(chunk for chunk in CHUNKS if chunk < length)]
            took = chunk_seconds(thinker, hay[:length], chunks)
            bucket = replace(bucket, query_chunk=quickest(took))
            seconds[length] = {str(chunk or 0): time for chunk, time in took.items()}
        buckets.append(bucket)
    return {"decode_table": format_table(tuple(buckets)), "context": context, "seconds": seconds}
