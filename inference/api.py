"""Generation on tensors, token ids and plain text: what `from inference import …` gives under these names.

A thin layer: everything is continued by inference.generation. What comes back is like what came in:

| prompt | result |
| --- | --- |
| tensor (B, T) or (T,) of ids | tensor (B, T + new), prompt included, right-padded |
| text, with a tokenizer | text of the answer |
| `Prompt`, or list of ids | list of new ids |
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from inference import generation
from inference.caching.options import CacheOptions
from inference.caching.planning import resolve
from inference.config import GenerateConfig
from inference.forms import as_prompts, fitting, padding, result
from inference.hf_tokenizer import as_ours, load_tokenizer
from inference.loading import moved
from inference.prompt import Prompt
from inference.runner import Runner, RunnerWithoutCache
from inference.stopping import StopWatch
from models.errors import UserError
from models.omni import thinker_of

OTHER_NAMES = {"max_new": "max_new_tokens", "ctx": "max_seq_len"}  # the tutorial's own
SETTINGS = {field.name for field in fields(GenerateConfig)}
FIXED = {field.name for field in fields(CacheOptions)} | {"max_seq_len"}  # by which a cache is made
_plans: dict[str, dict] = {}  # what `auto` settings measured in this process


def load_model(path: str | Path | None = None, device: str = "cpu", dtype: str = "fp32"):
    """The networks of a checkpoint folder; `path` may name a file in it. See `Omni.from_pretrained`."""
    from inference.omni import Omni

    return Omni.from_pretrained(folder_of(path), device, dtype).model


def folder_of(path: str | Path | None) -> Path | None:
    """The checkpoint folder that is meant by it or by a weights file in it."""
    path = None if path is None else Path(path)
    return path.parent if path is not None and path.is_file() else path


def settings(
    config: GenerateConfig | int | None, model, tokenizer, given: dict, base: GenerateConfig | None = None
) -> GenerateConfig:
    """The config with settings in place of its own, made to fit the model; `auto` is measured.

    Args:
        config: a number is `max_new_tokens`, which stands in its place in the guides.
        base: what holds without one.
    """
    if isinstance(config, int):
        given, config = {"max_new_tokens": config} | given, None
    given = {OTHER_NAMES.get(name, name): value for name, value in given.items()}
    if unknown := given.keys() - SETTINGS:
        raise UserError(f"unknown setting {', '.join(sorted(unknown))}; see GenerateConfig")
    if given.get("temperature") == 0.0:  # greedy, whatever do_sample says
        given["do_sample"] = None
    thinker = thinker_of(model)
    if not hasattr(thinker, "new_cache"):
        raise UserError(f"model must be a Thinker or an OmniModel, not {type(model).__name__}")
    config = config or base or GenerateConfig()
    if config.eos_token_id == GenerateConfig.eos_token_id:  # ours stands for the model's own
        config = replace(config, eos_token_id=thinker.config.eos_token_id)
    config = replace(config, **given)
    if tokenizer is None and "auto" in (config.cache_kind, config.decode_plan):
        tokenizer = tokenizer_beside(thinker)
    return resolve(config, thinker, tokenizer, _plans)


def tokenizer_beside(thinker):
    """The tokenizer of the folder that the weights came from, whose text `auto` is measured on."""
    if thinker.folder is None:
        raise UserError("auto settings are measured on text: give the tokenizer, or load from a folder")
    return load_tokenizer(Path(thinker.folder))


def arranged(first, second, third) -> tuple[Any, Any, GenerateConfig | None]:
    """(tokenizer, prompt, config) of what follows the model, in either order.

    `tokenizer, prompt, config`, the tokenizer may be left out; or `prompt, config, tokenizer`.
    """
    if isinstance(second, GenerateConfig | int):
        return third, first, second
    if first is None:
        return None, second, third
    if second is None:
        return None, first, third
    if hasattr(first, "encode"):
        return first, second, third
    raise UserError("after the model come the prompt, or the tokenizer and the prompt")


def generate(
    model, tokenizer=None, prompt=None, config: GenerateConfig | int | None = None, *,
    input_ids=None, attention_mask: Tensor | None = None, multimodal_emb: Tensor | None = None,
    use_cache: bool = True, device: str | None = None, **given,
):
    """Continue a prompt: `generate(model, input_ids, …)` or `generate(model, tokenizer, prompt, …)`.

    Args:
        input_ids, prompt: see the module's table.
        config: settings; those given by name stand in place of its own.
        attention_mask: (B, T), 0 where a row is padded.
        multimodal_emb: (1, M, hidden) embeddings of media that come before the text.
        use_cache: False reads everything again for each token, to see what the cache saves.
    """
    source = input_ids
    if source is None:
        tokenizer, source, config = arranged(tokenizer, prompt, config)
    model, tokenizer = moved(model, device), as_ours(tokenizer)
    config = settings(config, model, tokenizer, given)
    alone = multimodal_emb is not None or not use_cache
    if alone:
        check_alone(model, multimodal_emb, config)
    source = fitting(source, tokenizer, model, config, multimodal_emb)
    pad = padding(model, tokenizer)
    prompts = as_prompts(source, tokenizer, pad, attention_mask)
    if alone:
        if len(prompts) != 1:
            raise UserError("multimodal_emb and use_cache=False go with one prompt")
        replies = [answer_alone(model, prompts[0], multimodal_emb, config, tokenizer, use_cache)]
    else:
        replies = in_groups(model, prompts, config, tokenizer)
    return result(source, replies, tokenizer, pad, config)


def in_groups(
    model, prompts: list[Prompt], config: GenerateConfig, tokenizer, batch_size: int = 8
) -> list[list[int]]:
    """Replies to any number of prompts, so many at a time: compiled decoding takes eight rows."""
    if not isinstance(batch_size, int) or batch_size < 1:
        raise UserError(f"batch_size must be at least 1, not {batch_size}")
    replies: list[list[int]] = []
    for start in range(0, len(prompts), batch_size):
        group = prompts[start : start + batch_size]
        replies += generation.generate_batch(model, group, config, tokenizer)
    return replies


def generate_batch(
    model, tokenizer=None, prompts=None, config: GenerateConfig | int | None = None, *,
    batch_size: int = 8, device: str | None = None, **given,
) -> list:
    """Replies to several prompts, `batch_size` at a time: each as it would be alone."""
    tokenizer, prompts, config = arranged(tokenizer, prompts, config)
    if isinstance(prompts, str) or not isinstance(prompts, Sequence | Tensor):
        raise UserError(f"prompts must be a list, not {type(prompts).__name__}")
    model, tokenizer = moved(model, device), as_ours(tokenizer)
    config = settings(config, model, tokenizer, given)
    pad = padding(model, tokenizer)
    prompts = fitting(prompts, tokenizer, model, config)
    rows = as_prompts(prompts, tokenizer, pad) if len(prompts) else []
    if not rows:
        return []
    replies = in_groups(model, rows, config, tokenizer, batch_size)
    return result(prompts, replies, tokenizer, pad, config)


def generate_iter(
    model, tokenizer=None, prompt=None, config: GenerateConfig | int | None = None, **given
) -> Iterator[int]:
    """The reply's token ids as they are chosen."""
    tokenizer, source, config = arranged(tokenizer, prompt, config)
    tokenizer = as_ours(tokenizer)
    config = settings(config, model, tokenizer, given)
    source = fitting(source, tokenizer, model, config)
    (one,) = single(as_prompts(source, tokenizer, padding(model, tokenizer)))
    reserve = len(one) + config.max_new_tokens
    return generation.Generator(model, config, reserve, tokenizer).stream(one)


def generate_stream(
    model, tokenizer=None, prompt=None, config: GenerateConfig | int | None = None, **given
) -> Iterator[int]:
    """The same under its other name."""
    return generate_iter(model, tokenizer, prompt, config, **given)


def single(prompts: list[Prompt]) -> list[Prompt]:
    """Refuse several prompts where one is continued."""
    if len(prompts) != 1:
        raise UserError(f"one prompt at a time is streamed, not {len(prompts)}: use generate_batch")
    return prompts


def check_alone(model, media: Tensor | None, config: GenerateConfig) -> None:
    """Refuse what goes neither behind media embeddings nor without a cache."""
    if (config.num_beams or 1) > 1:
        raise UserError("num_beams goes with neither multimodal_emb nor use_cache=False: leave it out")
    if media is None:
        return
    if media.dim() != 3 or len(media) != 1 or media.shape[-1] != thinker_of(model).config.hidden_size:
        raise UserError(f"multimodal_emb must be (1, M, hidden), not {tuple(media.shape)}")


def room_behind(model, prompt: Prompt, media: Tensor | None, config: GenerateConfig) -> int:
    """Tokens that a reply may have behind media and prompt.

    Raises:
        UserError: an empty prompt, or no room for a reply.
    """
    room = generation.context_length(model, config) - (0 if media is None else media.shape[1])
    generation.check_fits(prompt, room)
    return room - len(prompt)


def answer_alone(
    model, prompt: Prompt, media: Tensor | None, config: GenerateConfig, tokenizer, use_cache: bool
) -> list[int]:
    """The reply to a prompt with media embeddings (1, M, hidden) in front of it, if there are any."""
    room = room_behind(model, prompt, media, config)
    x = generation.embed(model, [prompt])  # (1, T, hidden)
    x = x if media is None else torch.cat([media.to(x), x], dim=1)  # (1, M + T, hidden)
    length = x.shape[1] + min(room, config.max_new_tokens)
    thinker = thinker_of(model)
    if use_cache:
        run = Runner(thinker, generation.new_cache(model, 1, length, config), config)
    else:
        run = RunnerWithoutCache(thinker)
    with torch.inference_mode():
        logits = run(x).logits  # (1, V)
    watch = StopWatch(config.stop_strings, tokenizer)
    rows = generation.Rows([prompt.ids], [room], [watch])
    return [token for (token,) in generation.decode(run, logits, config, rows, generation.Timing())]


class Generator(generation.Generator):
    """A context that grows: every call continues it, `reset` starts afresh.

    `Generator(model, config=…, device=…)`, or `Generator(checkpoint_path, tokenizer_path, device)`.
    """

    def __init__(
        self, model=None, config: GenerateConfig | None = None, reserve: int | None = None,
        tokenizer=None, device: str | None = None, *,
        checkpoint_path: str | Path | None = None, tokenizer_path: str | Path | None = None,
    ) -> None:
        """`model`, or the folder (`checkpoint_path`) to load it from; `reserve`: tokens of the cache."""
        if isinstance(model, str | Path):  # paths by their places, and the device
            model, checkpoint_path = None, model
            if isinstance(config, str | Path):
                config, tokenizer_path = None, config
            if isinstance(reserve, str | torch.device):
                reserve, device = None, reserve
        if (model is None) == (checkpoint_path is None):
            raise UserError("give a model, or checkpoint_path, the folder to load it from")
        if model is None:
            model, tokenizer = loaded(checkpoint_path, tokenizer_path, device)
        tokenizer = as_ours(tokenizer)
        config = settings(config, model, tokenizer, {})
        super().__init__(moved(model, device), config, reserve, tokenizer)

    @classmethod
    def from_checkpoint(
        cls, checkpoint_path: str | Path, tokenizer_path: str | Path | None = None,
        device: str = "cpu", config: GenerateConfig | None = None,
    ) -> "Generator":
        """A generator of a checkpoint folder, with its tokenizer or that of another folder."""
        return cls(
            config=config, device=device, checkpoint_path=checkpoint_path, tokenizer_path=tokenizer_path
        )

    def generate(self, prompt, config: GenerateConfig | int | None = None, *sampling: float, **given):
        """Continue the context; the result is like the prompt, see this module.

        A text begins a context of its own; rows of a tensor are answered without one. By their places
        it takes `prompt, max_new_tokens, temperature, top_p`, too.
        """
        if len(sampling) > 2:
            raise UserError("by their places come prompt, max_new_tokens, temperature and top_p")
        given |= dict(zip(("temperature", "top_p"), sampling))
        self._check_fixed(given)
        config = settings(config, self.model, self.tokenizer, given, self.config)
        prompt = fitting(prompt, self.tokenizer, self.model, config)
        pad = padding(self.model, self.tokenizer)
        prompts = as_prompts(prompt, self.tokenizer, pad)
        if isinstance(prompt, str):
            self.reset()
        listed = isinstance(prompt, list | tuple) and not isinstance(prompt[0], int)
        if listed or len(prompts) > 1:
            replies = in_groups(self.model, prompts, config, self.tokenizer)
        else:
            replies = [list(self.stream(prompts[0], config))]
        return result(prompt, replies, self.tokenizer, pad, config)

    def generate_batch(self, prompts, batch_size: int = 8, **given) -> list:
        """Replies to several prompts, `batch_size` at a time, without the context."""
        config = settings(self.config, self.model, self.tokenizer, given)
        return generate_batch(self.model, self.tokenizer, prompts, config, batch_size=batch_size)

    def generate_iter(self, prompt, **given) -> Iterator[int]:
        """The reply's token ids as they are chosen, in this context."""
        self._check_fixed(given)
        config = settings(self.config, self.model, self.tokenizer, given)
        prompt = fitting(prompt, self.tokenizer, self.model, config)
        (one,) = single(as_prompts(prompt, self.tokenizer, padding(self.model, self.tokenizer)))
        return self.stream(one, config)

    generate_stream = generate_iter

    def _check_fixed(self, given: dict) -> None:
        """Refuse settings that the cache was made by."""
        given = {OTHER_NAMES.get(name, name): value for name, value in given.items()}
        for name in given.keys() & FIXED:
            if given[name] != getattr(self.config, name):
                raise UserError(f"{name} is fixed when the Generator is made: make another one")


def loaded(folder: str | Path, tokenizer_path: str | Path | None, device: str | None):
    """Model and tokenizer of a checkpoint folder; the tokenizer may be another folder's."""
    from inference.omni import Omni

    omni = Omni.from_pretrained(folder_of(folder), device or "cpu")
    if tokenizer_path is None:
        return omni.model, omni.tokenizer
    return omni.model, load_tokenizer(folder_of(tokenizer_path))
