"""Generating text with a model and a tokenizer, by the arguments that Hugging Face's users know.

    generate(model, tokenizer, "What is the capital of Velmora?", max_new_tokens=64, do_sample=False)

The tokenizer is ours or `AutoTokenizer.from_pretrained(FOLDER)` of one of our folders; prompts are
asked as chat turns. `Omni.chat` does the same without a tokenizer, with pictures and sounds.
"""

from __future__ import annotations

from inference.api import in_groups
from inference.config import GenerateConfig
from inference.forms import fitting
from inference.hf_tokenizer import as_ours
from inference.loading import moved
from inference.prompt import Prompt
from models.errors import UserError


def chat_ids(tokenizer, prompt: str) -> list[int]:
    """A prompt as the first turn of a chat."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise UserError("the prompt is empty: there is nothing to answer")
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.encode_chat(messages)


def settings(
    tokenizer, tokens: int, temperature: float, top_p: float, top_k: int, do_sample: bool, seed
) -> GenerateConfig:
    """The arguments as a GenerateConfig; without sampling the rest does not matter."""
    if not do_sample:
        return GenerateConfig(max_new_tokens=tokens, eos_token_id=tokenizer.eos)
    return GenerateConfig(
        max_new_tokens=tokens, eos_token_id=tokenizer.eos, temperature=temperature, top_p=top_p, top_k=top_k,
        seed=seed,
    )  # fmt: skip


def generate_batch(
    model,
    tokenizer,
    prompts: list[str],
    max_new_tokens: int = 256,
    temperature: float = 0.7,
    top_p: float = 0.9,
    top_k: int = 50,
    do_sample: bool = True,
    device: str | None = None,
    seed: int | None = None,
) -> list[str]:
    """Answers to several prompts, the same as one by one.

    Args:
        device: where to run, the model is moved there; None: where it is.

    Raises:
        UserError: an empty prompt, an impossible setting, or a device that is not there.
    """
    model, tokenizer = moved(model, device), as_ours(tokenizer)
    if isinstance(prompts, str) or not prompts:
        raise UserError("prompts must be a list of texts")
    config = settings(tokenizer, max_new_tokens, temperature, top_p, top_k, do_sample, seed)
    prompts = fitting(prompts, tokenizer, model, config, around=len(chat_ids(tokenizer, "a")))
    asked = [Prompt(chat_ids(tokenizer, prompt)) for prompt in prompts]
    replies = in_groups(model, asked, config, tokenizer)
    return [tokenizer.decode(reply) for reply in replies]


def generate(model, tokenizer, prompt: str, *more, **named) -> str:
    """The answer to one prompt; arguments as for `generate_batch`, in the same order."""
    return generate_batch(model, tokenizer, [prompt], *more, **named)[0]
