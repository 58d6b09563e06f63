"""The four routing strategies of a memory bank, side by side: speed, and what routing holds."""

import sys

import torch

from benchmarks.contestants import decoder, interleaved, reader, settings, text_ids
from inference.memory import ROOT, attach_memory, set_strategy
from inference.omni import Omni
from inference.prompt import Prompt
from models.memory import STRATEGIES

READ = 512  # tokens of the prompt
FOLDER = ROOT / "checkpoints" / "memory_tiny"


def bench_routers(omni: Omni, rounds: int, tokens: int) -> dict:
    """Decoding after a prompt, and reading it, by each strategy; first row: without a bank."""
    if not FOLDER.is_dir():
        print("notice: no bank at checkpoints/memory_tiny: the bench routers is left out", file=sys.stderr)
        return {}
    prompt = Prompt(text_ids(omni, READ))
    omnis = {"no bank": Omni.from_pretrained(omni.folder)}
    for strategy in STRATEGIES:
        omnis[strategy] = Omni.from_pretrained(omni.folder)
        set_strategy(attach_memory(omnis[strategy], FOLDER), strategy)
    decode = {
        name: decoder(one, prompt, settings(one, tokens, native="off")) for name, one in omnis.items()
    }
    table = {f"decode, {name}": row for name, row in interleaved(decode, rounds).items()}
    read = {name: reader(one, prompt, "off") for name, one in omnis.items()}
    table |= {f"read, {name}": row for name, row in interleaved(read, rounds).items()}
    for strategy in STRATEGIES:
        table[f"read, {strategy}"]["routing_megabytes"] = held(omnis[strategy])
    return table


def held(omni: Omni) -> float:
    """10^6 bytes that routing keeps for READ tokens, and that the slots read by the prompt take."""
    adapter = omni.model.thinker
    config = adapter.memory.config
    cache = adapter.new_cache(1, READ)
    histories = cache.layers[adapter.config.num_hidden_layers :]
    kept = sum(states.nbytes for (states,) in histories)
    states = torch.zeros(1, READ, adapter.config.hidden_size)
    chosen = adapter.strategies[0].choose(states, READ).indices.numel()
    slots = chosen * config.chapter_size * adapter.config.hidden_size * states.element_size()
    return (kept + slots * len(config.layers)) / 1e6
