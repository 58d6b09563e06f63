"""Bytes, speed and loss of each cache kind."""

import math
import random
from pathlib import Path

import torch

from benchmarks.contestants import decoder, interleaved, settings, text_ids
from data.dialogue.conversation import sample_conversation
from evaluation.results import Figure, save_section
from evaluation.setting import weights_hash
from inference.omni import Omni
from inference.prompt import Prompt
from models.cachekind import KVCacheKind
from models.omni import thinker_of

WINDOW = 256  # tokens the Thinker is trained on at once: further back it reads worse, cache or none
CHUNK = 32  # tokens that a cache takes at once, as of a prompt that is read in parts
HELD_OUT = 16  # windows of conversations whose wordings never occur in training


def held_out(tokenizer) -> torch.Tensor:
    """Conversations of the test split, in the chat template. (HELD_OUT, WINDOW + 1)

    A loss is only worth a percentage of a figure that the model is good at: a page of our own
    documentation costs it five bits a byte whatever the cache.
    """
    rng, ids = random.Random("benchmark"), []
    while len(ids) < HELD_OUT * WINDOW + 1:
        messages = sample_conversation(rng, "test")["messages"]
        ids += tokenizer.encode_chat(messages, add_generation_prompt=False)
    rows = [ids[i * WINDOW : (i + 1) * WINDOW + 1] for i in range(HELD_OUT)]
    return torch.tensor(rows)


@torch.inference_mode()
def text_bits(thinker, tokenizer, kind: str | None = None) -> float:
    """Bits per byte of held-out conversations that are read through a cache of this kind."""
    rows = held_out(tokenizer)
    cache = thinker.new_cache(rows.shape[0], rows.shape[1], kind)
    parts = [thinker(input_ids=ids, cache=cache).float() for ids in rows[:, :-1].split(CHUNK, 1)]
    return bits(torch.cat(parts, 1), rows, tokenizer)


def bits(logits: torch.Tensor, rows: torch.Tensor, tokenizer) -> float:
    """Bits per byte of texts, rows (B, T + 1), by the logits after each of their tokens (B, T, V)."""
    nats = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")
    size = sum(len(tokenizer.decode(row).encode()) for row in rows[:, 1:].tolist())
    return float(nats) / math.log(2) / size


def bench_cache(omni: Omni, rounds: int, tokens: int) -> dict:
    """Bytes, loss and speed of each cache kind."""
    thinker = thinker_of(omni.model)
    limit = thinker.config.max_position_embeddings
    prompt = Prompt(text_ids(omni, limit - tokens))  # so that decoding is near a full context
    kinds = [*map(str, KVCacheKind), "q8_0/nf4"]
    ways = {}
    for native in ("off", "auto"):
        configs = {kind: settings(omni, tokens, cache_kind=kind, native=native) for kind in kinds}
        contestants = {kind: decoder(omni, prompt, config) for kind, config in configs.items()}
        ways[native] = interleaved(contestants, rounds)
    table = ways["off"]
    for kind, row in table.items():
        layers = thinker.config.num_hidden_layers
        row["bytes_per_token_per_layer"] = thinker.new_cache(1, 1, kind).nbytes // layers
        row["bits_per_byte"] = text_bits(thinker, omni.tokenizer, kind)
        row["compiled_ratio"] = ways["auto"][kind]["ratio"]
        row["loss_percent"] = 100 * (row["bits_per_byte"] / table["fp32"]["bits_per_byte"] - 1)
    return table


def save_caches(path: Path, omni: Omni, table: dict[str, dict]) -> None:
    """What cache kinds cost, as section `caches` of a results file."""
    units = {
        "bytes_per_token_per_layer": "count",
        "bits_per_byte": "bits/byte",
        "loss_percent": "percent",
        "ratio": "ratio",
        "compiled_ratio": "ratio",
    }
    figures = {
        f"{kind}/{name}": Figure(row[name], None, None, HELD_OUT * WINDOW, 0, unit)
        for kind, row in table.items()
        for name, unit in units.items()
    }
    about = {"weights": {omni.folder.name: weights_hash(omni.folder)}}
    save_section(path, "caches", about, figures)
