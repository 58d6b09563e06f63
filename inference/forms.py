"""Prompts of any form as `Prompt`s, and replies in the form of what was asked: see inference.api."""

from collections.abc import Sequence

import torch
from torch import Tensor

from inference import generation
from inference.config import GenerateConfig
from inference.prompt import Prompt
from inference.shortened import shortened
from inference.stopping import cut
from models.errors import UserError
from models.omni import thinker_of


def encode(tokenizer, text: str) -> list[int]:
    """Ids of a text to continue, with what opens every text where the tokenizer does not add it."""
    ids = [int(i) for i in tokenizer.encode(text)]
    bos = getattr(tokenizer, "bos", None)
    return ids if bos is None or ids[:1] == [bos] else [bos, *ids]


def padding(model, tokenizer) -> int | None:
    """The id that fills rows: the tokenizer's, else the model's; None: neither names one."""
    pad = getattr(tokenizer, "pad", None)
    return thinker_of(model).config.pad_token_id if pad is None else pad


def fitting(
    source, tokenizer, model, config: GenerateConfig, media: Tensor | None = None, around: int = 1
):
    """A source; of each text in it the end, where all of it leaves too little room for the reply.

    Args:
        around: tokens that a text is put between; 1 opens it.
    """
    if isinstance(source, list | tuple):
        return [fitting(one, tokenizer, model, config, media, around) for one in source]
    if not isinstance(source, str) or tokenizer is None:  # without a tokenizer it is refused soon
        return source
    room = generation.context_length(model, config) - around
    room -= 0 if media is None else media.shape[1]
    room -= min(config.max_new_tokens, room // 2)
    return shortened(source, room, tokenizer, media is not None)


def as_prompts(
    source, tokenizer, pad: int | None, attention_mask: Tensor | None = None
) -> list[Prompt]:
    """What is to be continued, one prompt a row.

    Args:
        source: Prompt, text, ids, tensor (B, T) or (T,), or a list of the first three.
        pad: the id of padding, None: there is none.
        attention_mask: (B, T), 0 where a row is padded; None: pad ids at either end are padding.
    """
    if isinstance(source, Prompt):
        return [source]
    if isinstance(source, str):
        if tokenizer is None:
            raise UserError("a text needs a tokenizer: give tokenizer=, or ids")
        return [Prompt(encode(tokenizer, source))]
    if isinstance(source, Tensor):
        if source.is_floating_point() or source.dim() not in (1, 2):
            raise UserError(f"input_ids must be integers (B, T), not {source.dtype} {tuple(source.shape)}")
        rows = torch.atleast_2d(source)
        if not rows.numel():
            raise UserError("the prompt is empty: there is nothing to continue")
        shapes = rows.shape, source.shape
        if attention_mask is not None and getattr(attention_mask, "shape", None) not in shapes:
            raise UserError("attention_mask must be a tensor of the shape of input_ids")
        marks = rows.ne(-1 if pad is None else pad)
        marks = marks if attention_mask is None else attention_mask.reshape(rows.shape)
        return [Prompt(unpadded(row, mark)) for row, mark in zip(rows, marks.bool(), strict=True)]
    if isinstance(source, Sequence) and source:
        if all(isinstance(item, int) for item in source):
            return [Prompt(list(source))]
        return [prompt for item in source for prompt in as_prompts(item, tokenizer, pad)]
    raise UserError(f"cannot continue {type(source).__name__}: give text, ids, a tensor or a Prompt")


def unpadded(row: Tensor, real: Tensor) -> list[int]:
    """Ids between the padding at either end."""
    places = real.nonzero()[:, 0].tolist()
    return row[places[0] : places[-1] + 1].tolist() if places else []


def result(source, replies: list[list[int]], tokenizer, pad: int | None, config: GenerateConfig):
    """Replies in the form of the source; texts end before the first stop string."""
    if isinstance(source, str):
        return cut(tokenizer.decode(replies[0]), config.stop_strings)
    if isinstance(source, Tensor):
        # A row keeps the padding it came with, so that prompts begin where they began.
        rows = torch.atleast_2d(source).tolist()
        rows = [row + reply for row, reply in zip(rows, replies, strict=True)]
        longest = max(map(len, rows))
        fill = (config.eos_token_id or 0) if pad is None else pad
        padded = [row + [fill] * (longest - len(row)) for row in rows]
        return torch.tensor(padded, device=source.device)  # (B, T + new)
    if isinstance(source, Prompt) or isinstance(source[0], int):
        return replies[0]
    if all(isinstance(item, str) for item in source):
        return [cut(tokenizer.decode(reply), config.stop_strings) for reply in replies]
    return replies
