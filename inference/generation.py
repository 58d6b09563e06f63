"""Continuing prompts token by token, always through a KV cache.

`generate`, `generate_batch` and `generate_iter` keep nothing; `Generator` keeps its context and
its cache between calls. The prompt is never part of what comes back, nor is the end-of-sequence
token. Chat (turns, dropping old ones) is inference.session's business, text is the tokenizer's.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.notice import notice
from inference.prompt import Prompt
from inference.sampling import make_generators, sample
from models.cache import KVCache
from models.errors import UserError

DEFAULT = GenerateConfig()  # greedy
PAD_TOKEN_ID = 3  # masked out everywhere, so any id would do


def thinker_of(model):
    """The language model inside an OmniModel, or the Thinker itself."""
    return getattr(model, "thinker", model)


def context_length(model, config: GenerateConfig) -> int:
    """Tokens a sequence may have: the model's own limit, or less where the config says so."""
    limit = thinker_of(model).config.max_position_embeddings
    return min(limit, config.max_seq_len or limit)


@torch.inference_mode()
def prefill(model, prompts: list[Prompt], cache: KVCache, mask: Tensor | None = None) -> Tensor:
    """Run prompts of equal (padded) length into the cache -> logits of the last position (B, V)."""
    thinker = thinker_of(model)
    weight = next(thinker.parameters())
    ids = torch.tensor([prompt.ids for prompt in prompts], device=weight.device)  # (B, S)
    images = [image for prompt in prompts for image in prompt.images]
    mels = [mel.to(weight) for prompt in prompts for mel in prompt.mels]
    if not images and not mels:
        return thinker(input_ids=ids, attention_mask=mask, cache=cache)[:, -1]
    pictures = model.encode_images(torch.stack(images).to(ids.device)) if images else None
    clips = model.encode_audio(mels) if mels else None
    embeds = model.fuse(ids, pictures, clips)  # (B, S, D)
    return thinker(inputs_embeds=embeds, attention_mask=mask, cache=cache)[:, -1]


@torch.inference_mode()
def decode(
    model,
    logits: Tensor,
    cache: KVCache,
    config: GenerateConfig,
    rooms: list[int],
    mask: Tensor | None = None,
) -> Iterator[list[int | None]]:
    """From the prompt's last logits (B, V), yield one token a row a step, None once a row is done.

    `rooms` are the tokens each row may still take; a row that uses up its room is stopped.
    """
    thinker = thinker_of(model)
    generators = make_generators(config.seed, len(rooms))
    done = [False] * len(rooms)
    tokens = None  # (B,), those of the latest step
    for step in range(config.max_new_tokens):
        for row, room in enumerate(rooms):
            if step >= room and not done[row]:
                notice("the context is full: the answer stops here")
                done[row] = True
        if all(done):
            return
        if tokens is not None:
            if mask is not None:
                mask = torch.cat([mask, mask.new_ones(len(rooms), 1)], dim=1)  # (B, S + 1)
            logits = thinker(input_ids=tokens[:, None], attention_mask=mask, cache=cache)[:, -1]
        tokens = sample(logits, config, generators)  # (B,)
        chosen = tokens.tolist()
        done = [was or token == config.eos_token_id for was, token in zip(done, chosen)]
        if all(done):
            return
        yield [None if over else token for over, token in zip(done, chosen)]


def generate_iter(model, prompt: Prompt, config: GenerateConfig = DEFAULT) -> Iterator[int]:
    """Yield the reply's token ids as they are chosen."""
    return Generator(model, config, reserve=len(prompt) + config.max_new_tokens).stream(prompt)


def generate(model, prompt: Prompt, config: GenerateConfig = DEFAULT) -> list[int]:
    """The reply's token ids."""
    return list(generate_iter(model, prompt, config))


def generate_batch(
    model, prompts: list[Prompt], config: GenerateConfig = DEFAULT
) -> list[list[int]]:
    """Replies to several prompts in one run (left-padded): each as it would be alone."""
    if not prompts:
        return []
    limit = context_length(model, config)
    for prompt in prompts:
        check_fits(prompt, limit)
    longest = max(map(len, prompts))
    pads = [longest - len(prompt) for prompt in prompts]
    padded = [Prompt([PAD_TOKEN_ID] * pad, []) + prompt for pad, prompt in zip(pads, prompts)]
    thinker = thinker_of(model)
    device = next(thinker.parameters()).device
    mask = torch.arange(longest, device=device)[None] >= torch.tensor(pads, device=device)[:, None]
    rooms = [limit - len(prompt) for prompt in prompts]
    cache = thinker.new_cache(len(prompts), longest + min(config.max_new_tokens, max(rooms)))
    logits = prefill(model, padded, cache, mask)
    replies: list[list[int]] = [[] for _ in prompts]
    for tokens in decode(model, logits, cache, config, rooms, mask):
        for reply, token in zip(replies, tokens):
            if token is not None:
                reply.append(token)
    return replies


def check_fits(prompt: Prompt, room: int) -> None:
    """Refuse an empty prompt and one that leaves no room for a reply."""
    if not prompt.ids:
        raise UserError("the prompt is empty: there is nothing to continue")
    if len(prompt) >= room:
        raise UserError(f"the prompt has {len(prompt)} tokens and the context room for {room}")


class Generator:
    """A context that grows: every call continues it, `reset` starts afresh."""

    def __init__(self, model, config: GenerateConfig = DEFAULT, reserve: int | None = None) -> None:
        """`reserve` caps the cache's tokens where it is known how many will be needed."""
        self.model = model
        self.config = config
        self.capacity = context_length(model, config)
        length = min(self.capacity, reserve or self.capacity)
        self.cache = thinker_of(model).new_cache(1, length)
        self.ids: list[int] = []  # the whole context; its tail may not be in the cache yet
        self.last_prefill = 0  # tokens the latest call ran before its first new one

    @property
    def position(self) -> int:
        """Tokens in the context."""
        return len(self.ids)

    def stream(self, prompt: Prompt, config: GenerateConfig | None = None) -> Iterator[int]:
        """Add the prompt to the context, then yield the reply's tokens, which join it too."""
        config = config or self.config
        check_fits(prompt, self.capacity - self.position)
        # the last token of a reply is chosen, not run: it goes in front of what is new
        new = Prompt(self.ids[self.cache.length :]) + prompt
        logits = prefill(self.model, [new], self.cache)
        self.ids += prompt.ids
        self.last_prefill = len(new)
        room = self.capacity - self.position
        for (token,) in decode(self.model, logits, self.cache, config, [room]):
            self.ids.append(token)
            yield token

    def generate(self, prompt: Prompt, config: GenerateConfig | None = None) -> list[int]:
        """Add the prompt to the context and return the reply's tokens."""
        return list(self.stream(prompt, config))

    def reset(self) -> None:
        """Forget the context."""
        self.cache.reset()
        self.ids = []
        self.last_prefill = 0
