"""Chain of thought: the model writes down what it sees and hears before it answers.

The assistant's turn opens with `<think>`. First comes the transcript of each sound, one a line, by
constrained decoding (inference/transcripts.py), then what the images show, greedily; `</think>` closes
it, and the answer follows. It stays in the context, so later turns can lean on it. What it buys is
measured beside direct answers (`--no_think`).

Papers: Wei et al., Chain-of-thought prompting, arXiv:2201.11903; SpeechGPT's chain of modality,
arXiv:2305.11000; the format is that of Qwen3, arXiv:2505.09388.
"""

from dataclasses import replace

from inference.config import GenerateConfig
from inference.generation import generate_batch
from inference.prompt import Prompt
from models.tokenizer import Tokenizer

MAX_THINKING = 160  # tokens of a line: nine things in an image take 100


def think(omni, prompts: list[Prompt], config: GenerateConfig, room: int) -> list[Prompt]:
    """User turns, each with its thinking as the opening of the answer.

    Thinking depends on nothing that was said before.

    Args:
        omni: the `Omni` that is asked.
        prompts: the turns, without bos.
        room: tokens that a turn may have.
    """
    thinking = begun(omni.tokenizer, prompts, room)
    thinking |= hear(omni, thinking, config)
    shown = {i: one for i, one in thinking.items() if one.images}
    thinking |= write(omni, shown, config, omni.tokenizer.think_end)
    return [thinking.get(i, prompt) for i, prompt in enumerate(prompts)]


def begun(tokenizer: Tokenizer, prompts: list[Prompt], room: int) -> dict[int, Prompt]:
    """By their places the turns that are thought about, with `<think>`.

    Turns without media are not, nor those whose answer is a transcript, nor those whose media leave no
    room for it.
    """
    return {
        i: prompt + Prompt([tokenizer.think])
        for i, prompt in enumerate(prompts)
        if (prompt.images or prompt.sounds) and prompt.asked is None
        and len(prompt) + MAX_THINKING * (len(prompt.sounds) + 2) <= room
    }


def hear(omni, thinking: dict[int, Prompt], config: GenerateConfig) -> dict[int, Prompt]:
    """Each with the transcripts of its sounds, a line a sound."""
    heard = {i: one for i, one in thinking.items() if one.sounds}
    lines = (newline(omni.tokenizer), omni.tokenizer.think_end)
    for turn in range(max((len(one.sounds) for one in heard.values()), default=0)):
        for last in (False, True):
            group = {
                i: replace(one, asked=one.sounds[turn])
                for i, one in heard.items()
                if turn < len(one.sounds) and last == (turn == len(one.sounds) - 1 and not one.images)
            }
            heard |= write(omni, group, config, lines[last])
    return heard


def write(
    omni, prompts: dict[int, Prompt], config: GenerateConfig, end: int
) -> dict[int, Prompt]:
    """Each prompt with one more line of thinking, and `end`, which ends it."""
    if not prompts:
        return {}
    whole = [omni.head(None, config) + one for one in prompts.values()]
    replies = generate_batch(omni.model, whole, line_config(omni, config, end), omni.tokenizer)
    return {
        i: replace(one, ids=[*one.ids, *reply, end], asked=None)
        for (i, one), reply in zip(prompts.items(), replies, strict=True)
    }


def line_config(omni, config: GenerateConfig, end: int) -> GenerateConfig:
    """Settings of a line of thinking: greedy up to `end`, whatever the answer's are."""
    unwanted = tuple(sorted(omni.tokenizer.special - {end}))
    return replace(
        config, max_new_tokens=MAX_THINKING, temperature=0.0, repetition_penalty=1.0, top_k=None,
        top_p=None, min_p=None, stop_strings=(), eos_token_id=end, suppress_tokens=unwanted,
    )


def newline(tokenizer: Tokenizer) -> int:
    """The id that parts two lines of thinking."""
    (token,) = tokenizer.encode("\n")
    return token


def thoughts_of(tokenizer: Tokenizer, ids: list[int]) -> str:
    """The latest thinking in a prompt's ids, a line a medium; "" where there is none."""
    if tokenizer.think not in ids:
        return ""
    start = len(ids) - ids[::-1].index(tokenizer.think)
    end = ids.index(tokenizer.think_end, start)
    return tokenizer.decode(ids[start:end]).strip()
