"""Continuing prompts token by token, always through a KV cache.

`generate_batch` keeps nothing; `Generator` keeps its context and its cache between calls. The prompt
is never part of what comes back, nor is the end-of-sequence token. Chat (turns, dropping old ones) is
inference.session's business, text is the tokenizer's, and `inference.api` takes tensors and texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from inference.beams import beams_for, search
from inference.caching.decodeplan import query_chunk, windows
from inference.config import GenerateConfig
from inference.notice import notice
from inference.prompt import Picture, Prompt, Sound
from inference.runner import Runner
from inference.sampling import first_seen, likeliest_is_chosen, make_generators, sample
from inference.stopping import StopWatch
from inference.timing import Timing
from models.cache import KVCache
from models.errors import ContextError, UserError
from models.omni import thinker_of

DEFAULT = GenerateConfig()  # greedy
PAD_TOKEN_ID = 3  # masked out everywhere, so any id would do


def context_length(model, config: GenerateConfig) -> int:
    """Tokens a sequence may have: the model's own limit, or less where the config says so."""
    limit = thinker_of(model).config.max_position_embeddings
    return min(limit, config.max_seq_len or limit)


def new_cache(model, rows: int, length: int, config: GenerateConfig) -> KVCache:
    """An empty cache of the kind the config asks for."""
    cache = thinker_of(model).new_cache(rows, length, config.cache_kind)
    cache.windows = windows(config.plan())
    return cache


@torch.inference_mode()
def encode_media(model, images: list[Picture], sounds: list[Sound]) -> None:
    """Run the encoders, once for each image and sound, whoever reads it again later."""
    weight = next(model.parameters())
    images = list({id(one): one for one in images if one.tokens is None}.values())
    sounds = list({id(one): one for one in sounds if one.tokens is None}.values())
    if images:
        pixels = torch.stack([one.pixels for one in images]).to(weight.device)  # (N, 3, 224, 224)
        for one, tokens in zip(images, model.encode_images(pixels), strict=True):
            one.tokens = tokens  # (50, D)
    if sounds:
        for one, encoded in zip(sounds, model.encode_audio([s.mel.to(weight) for s in sounds])):
            one.encoded, one.tokens = encoded, model.audio_projector(encoded)  # (n, C), (n, D)


def embed(model, prompts: list[Prompt]) -> Tensor:
    """Words, images and sounds of prompts of equal (padded) length -> (B, S, D)."""
    thinker = thinker_of(model)
    weight, vocab = next(thinker.parameters()), thinker.config.vocab_size
    if odd := [i for prompt in prompts for i in prompt.ids if not 0 <= i < vocab]:
        raise UserError(f"the model has {vocab} token ids, not {odd[0]}: is this another one's tokenizer?")
    ids = torch.tensor([prompt.ids for prompt in prompts], device=weight.device)  # (B, S)
    images = [image for prompt in prompts for image in prompt.images]
    sounds = [sound for prompt in prompts for sound in prompt.sounds]
    if not images and not sounds:
        return thinker.embed(ids)
    encode_media(model, images, sounds)
    pictures = torch.stack([one.tokens for one in images]) if images else None  # (N, 50, D)
    return model.fuse(ids, pictures, [one.tokens for one in sounds])


@torch.inference_mode()
def prefill(
    model,
    prompts: list[Prompt],
    run: Runner,
    mask: Tensor | None = None,
    chunk: int | None = None,
) -> Tensor:
    """Run prompts of equal (padded) length into a cache -> logits of the last position (B, V).

    Args:
        mask: bool (B, S), True for real tokens; None: all are.
        chunk: positions run at once. A long prompt's scores grow with its square otherwise.
    """
    x = embed(model, prompts)  # (B, S, D)
    for part in x.split(chunk or x.shape[1], dim=1):
        end = run.cache.length + part.shape[1]
        scores = run(part, None if mask is None else mask[:, :end])
    return scores.logits


@dataclass
class Rows:
    """What the token loop knows of each row besides its logits."""

    contexts: list[list[int]]  # ids read so far, for the repetition penalty
    rooms: list[int]  # tokens each row may still take
    watches: list[StopWatch]
    mask: Tensor | None = None  # (B, S), True for real tokens; None: all are


def decode(
    run: Runner, logits: Tensor, config: GenerateConfig, rows: Rows, timing: Timing
) -> Iterator[list[int | None]]:
    """From the prompt's last logits (B, V), yield one token a row a step, None once a row is done.

    A row that uses up its room is stopped with a notice.
    """
    count, mask = len(rows.rooms), rows.mask
    generators = make_generators(config.seed, count)
    seen = first_seen(rows.contexts, logits, config)
    done = [False] * count
    chosen, likeliest = [], []  # (B,), those of the latest step; what compiled code says of it
    for step in range(config.max_new_tokens):
        for row, room in enumerate(rows.rooms):
            if step >= room and not done[row]:
                notice("the context is full: the answer stops here")
                done[row] = True
        if all(done):
            return
        if chosen:
            if mask is not None:
                mask = torch.cat([mask, mask.new_ones(count, 1)], dim=1)  # (B, S + 1)
            if step == 1:  # not earlier: the first token waits for no compiler
                run.compile()
            start = perf_counter()
            logits, likeliest, head = run(chosen, mask)
            timing.step(perf_counter() - start, head)
        start = perf_counter()
        if likeliest and likeliest_is_chosen(likeliest, config):
            chosen = likeliest
        else:
            with torch.inference_mode():  # here only: entering it for each token takes a while
                chosen = sample(logits, config, generators, seen).tolist()  # (B,)
        timing.sampling += perf_counter() - start
        timing.tokens += count - sum(done)
        if seen is not None:
            for row, token in zip(seen, chosen):
                row[token] |= token != config.eos_token_id
        done = [was or token == config.eos_token_id for was, token in zip(done, chosen)]
        if all(done):
            return
        yield [None if over else token for over, token in zip(done, chosen)]
        done = [over or watch.push(token) for over, watch, token in zip(done, rows.watches, chosen)]


def generate_batch(
    model, prompts: list[Prompt], config: GenerateConfig = DEFAULT, tokenizer=None
) -> list[list[int]]:
    """Replies to several prompts in one run (left-padded): each as it would be alone."""
    limit = context_length(model, config)
    for prompt in prompts:
        check_fits(prompt, limit)
    replies: list[list[int]] = [[] for _ in prompts]
    apart = len(windows(config.plan())) > 1  # padding would take short rows to another window
    kinds = [(beams_for(config, prompt), len(prompt) * apart) for prompt in prompts]
    for kind in sorted(set(kinds)):  # those with a sound are answered by a search of their own
        picks = [i for i, other in enumerate(kinds) if other == kind]
        made = _generate_rows(model, [prompts[i] for i in picks], config, kind[0], tokenizer)
        for i, reply in zip(picks, made, strict=True):
            replies[i] = reply
    return replies


def _generate_rows(
    model, prompts: list[Prompt], config: GenerateConfig, width: int, tokenizer
) -> list[list[int]]:
    """Replies to prompts of any length, `width` answers to each followed at once."""
    limit = context_length(model, config)
    longest = max(map(len, prompts))
    pads = [longest - len(prompt) for prompt in prompts]
    padded = [Prompt([PAD_TOKEN_ID] * pad) + prompt for pad, prompt in zip(pads, prompts)]
    device = next(thinker_of(model).parameters()).device
    mask = None  # prompts of one length need none
    if any(pads):
        starts = torch.tensor(pads, device=device)[:, None]  # (B, 1)
        mask = torch.arange(longest, device=device)[None] >= starts  # (B, S)
    rooms = [limit - len(prompt) for prompt in prompts]
    length = longest + min(config.max_new_tokens, max(rooms))
    cache = new_cache(model, len(prompts), length, config)
    watches = [StopWatch(config.stop_strings, tokenizer) for _ in prompts]
    rows = Rows([prompt.ids for prompt in prompts], rooms, watches, mask)
    chunk = config.prefill_chunk or query_chunk(config.plan(), longest)
    run = Runner(thinker_of(model), cache, config)
    logits = prefill(model, padded, run, mask, chunk)
    if width > 1:
        return search(model, run, logits, prompts, config, width, rows, tokenizer)
    replies: list[list[int]] = [[] for _ in prompts]
    for tokens in decode(run, logits, config, rows, Timing()):
        for reply, token in zip(replies, tokens):
            if token is not None:
                reply.append(token)
    return replies


def check_fits(prompt: Prompt, room: int) -> None:
    """Refuse an empty prompt and one that leaves no room for a reply."""
    if not prompt.ids:
        raise UserError("the prompt is empty: there is nothing to continue")
    if len(prompt) >= room:
        raise ContextError(f"the prompt has {len(prompt)} tokens and the context room for {room}")


class Generator:
    """A context that grows: every call continues it, `reset` starts afresh."""

    def __init__(
        self, model, config: GenerateConfig = DEFAULT, reserve: int | None = None, tokenizer=None
    ) -> None:
        """`reserve` caps the cache's tokens where it is known how many will be needed."""
        self.model, self.config, self.tokenizer = model, config, tokenizer
        self.capacity = context_length(model, config)
        length = min(self.capacity, reserve or self.capacity)
        self.cache = new_cache(model, 1, length, config)
        self.run = Runner(thinker_of(self.model), self.cache)  # of the latest call
        self.timing = Timing()  # of the latest call
        self.ids: list[int] = []  # the whole context; its tail may not be in the cache yet

    @property
    def position(self) -> int:
        """Tokens in the context."""
        return len(self.ids)

    def stream(self, prompt: Prompt, config: GenerateConfig | None = None) -> Iterator[int]:
        """Add the prompt to the context, then yield the reply's tokens, which join it too."""
        config = config or self.config
        check_fits(prompt, self.capacity - self.position)
        watch = StopWatch(config.stop_strings, self.tokenizer)
        logits = self._read(prompt, config)
        rows = Rows([self.ids], [self.capacity - self.position], [watch])
        if (width := beams_for(config, prompt)) > 1:
            with self.timing.measure("model"):
                found = search(self.model, self.run, logits, [prompt], config, width, rows, self.tokenizer)
            self.timing.tokens = len(found[0])
            steps = zip(*found)  # all at once; the cache gets them in a later call
        else:
            steps = decode(self.run, logits, config, rows, self.timing)
        for (token,) in steps:
            self.ids.append(token)
            yield token

    def _read(self, prompt: Prompt, config: GenerateConfig) -> Tensor:
        """Run what is new into the cache -> logits (1, V) of what follows."""
        # the last token of a reply is chosen, not run: it goes in front of what is new
        new = Prompt(self.ids[self.cache.length :]) + prompt
        self.timing = Timing(prompt_tokens=len(new))
        chunk = config.prefill_chunk or query_chunk(config.plan(), self.cache.length + len(new))
        with self.timing.measure("prefill"):
            self.run = Runner(thinker_of(self.model), self.cache, config)
            logits = prefill(self.model, [new], self.run, None, chunk)
        self.ids += prompt.ids
        return logits

    def generate(self, prompt: Prompt, config: GenerateConfig | None = None) -> list[int]:
        """Add the prompt to the context and return the reply's tokens."""
        return list(self.stream(prompt, config))

    def reset(self) -> None:
        """Forget the context."""
        self.cache.reset()
        self.ids = []
