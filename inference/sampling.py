"""Choosing the next token: pure functions over logits (B, V), every row on its own.

Each row draws from its own generator, so a batch gives the tokens each prompt would get alone.
Filters set the logits they rule out to -inf; nothing here runs a model or keeps state.
"""

from functools import lru_cache

import torch
from torch import Tensor

from inference.config import GenerateConfig


def greedy(logits: Tensor) -> Tensor:
    """The most likely token of each row; ties go to the lowest id."""
    return logits.argmax(dim=-1)  # (B, V) -> (B,)


def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Divide by the temperature: below 1 sharper, above 1 flatter; at 0 only the likeliest is left."""
    return logits / temperature if temperature > 1e-5 else only_likeliest(logits)  # colder, they overflow


def only_likeliest(logits: Tensor) -> Tensor:
    """-inf everywhere but at the most likely token of each row, the first of equals. (B, V)"""
    best = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
    return torch.full_like(logits, float("-inf")).scatter(-1, best, logits.gather(-1, best))


def apply_top_k(logits: Tensor, top_k: int | None) -> Tensor:
    """Keep the `top_k` most likely tokens of each row (and those tied with the last of them)."""
    if not top_k or top_k >= logits.shape[-1]:
        return logits
    last_kept = logits.topk(top_k, dim=-1).values[:, -1:]  # (B, 1)
    return logits.masked_fill(logits < last_kept, float("-inf"))


def apply_top_p(logits: Tensor, top_p: float | None) -> Tensor:
    """Keep the fewest most likely tokens whose probabilities reach `top_p`; always at least one."""
    if top_p is None or top_p >= 1.0:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)  # (B, V) each
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities  # mass ahead of each token
    before[..., 0] = -1.0  # the likeliest stays even at 0
    ordered = ordered.masked_fill(before >= top_p, float("-inf"))
    return torch.empty_like(logits).scatter_(-1, order, ordered)  # back to vocabulary order


def sample_top_p(probs: Tensor, p: float) -> Tensor:
    """Draw from the fewest likeliest tokens whose probabilities reach `p`. (..., V) -> (..., 1)"""
    logits = apply_top_p(probs.reshape(-1, probs.shape[-1]).log(), p)
    return torch.multinomial(logits.softmax(-1), 1).reshape(*probs.shape[:-1], 1)


def apply_min_p(logits: Tensor, min_p: float | None) -> Tensor:
    """Keep tokens at least `min_p` times as likely as the likeliest. arXiv:2407.01082"""
    if not min_p:
        return logits
    probabilities = logits.softmax(dim=-1)
    least = min_p * probabilities.amax(dim=-1, keepdim=True)  # (B, 1)
    return logits.masked_fill(probabilities < least, float("-inf"))


def apply_repetition_penalty(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Make tokens less likely where `seen` (B, V) is True. CTRL, arXiv:1909.05858"""
    punished = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(seen, punished, logits)


def first_seen(contexts: list[list[int]], logits: Tensor, config: GenerateConfig) -> Tensor | None:
    """Which ids stand in each context -> bool (B, V), for the repetition penalty; None where it is off.

    The end token does not count: it closes every turn of a chat, and must not become less likely for it.
    """
    if config.repetition_penalty == 1.0:
        return None
    seen = torch.zeros(len(contexts), logits.shape[-1], dtype=torch.bool)
    for row, context in zip(seen, contexts, strict=True):
        row[context] = True
    if config.eos_token_id is not None:
        seen[:, config.eos_token_id] = False
    return seen.to(logits.device)


@lru_cache(maxsize=8)
def index_of(ids: tuple[int, ...], device: torch.device) -> Tensor:
    """Ids as a tensor, made once and not for each token."""
    with torch.inference_mode(False):
        return torch.tensor(ids, device=device)


def adjust(logits: Tensor, config: GenerateConfig, seen: Tensor | None = None) -> Tensor:
    """Logits (B, V) whose softmax is drawn from, in the order of `transformers`' processors.

    At temperature 0 nothing but the likeliest token matters: the filters are left out.
    """
    if seen is not None:
        logits = apply_repetition_penalty(logits, seen, config.repetition_penalty)
    if config.suppress_tokens:
        never = index_of(config.suppress_tokens, logits.device)
        logits = logits.index_fill(-1, never, float("-inf"))
    if config.temperature == 0.0:
        return logits
    logits = apply_temperature(logits.float(), config.temperature)
    logits = apply_top_p(apply_top_k(logits, config.top_k), config.top_p)
    return apply_min_p(logits, config.min_p)


def draw(logits: Tensor, generators: list[torch.Generator]) -> Tensor:
    """Draw one token a row from softmax(logits) by inverse transform, each row by its generator."""
    cumulative = logits.double().softmax(dim=-1).cumsum(dim=-1)  # (B, V)
    uniform = [torch.rand((), generator=generator, dtype=torch.float64) for generator in generators]
    point = torch.stack(uniform).to(logits.device)[:, None] * cumulative[:, -1:]  # (B, 1)
    # right=True steps over tokens of probability 0, whose cumulative value repeats
    return torch.searchsorted(cumulative, point, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)


def make_generators(seed: int | None, rows: int) -> list[torch.Generator]:
    """One CPU generator a row, all of one seed: a row's draws do not depend on its neighbours."""
    generators = [torch.Generator() for _ in range(rows)]
    for generator in generators:
        generator.seed() if seed is None else generator.manual_seed(seed)
    return generators


def sample(
    logits: Tensor,
    config: GenerateConfig,
    generators: list[torch.Generator],
    seen: Tensor | None = None,
) -> Tensor:
    """Next token of each row (B, V) -> (B,): greedy at temperature 0, else the filtered draw."""
    logits = adjust(logits, config, seen)
    return greedy(logits) if config.temperature == 0.0 else draw(logits, generators)


def likeliest_is_chosen(tokens: list[int], config: GenerateConfig) -> bool:
    """Whether `sample` would choose these, the likeliest of each row, whatever the rest."""
    plain = config.temperature == 0.0 and config.repetition_penalty == 1.0
    return plain and not any(token in config.suppress_tokens for token in tokens)
