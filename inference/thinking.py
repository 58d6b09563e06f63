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

    Turns without media have none, nor those whose answer is a transcript, nor those whose media leave
    no room for it. Thinking depends on nothing that was said before.

    Args:
        omni: the `Omni` that is asked.
        prompts: the turns, without bos.
        room: tokens that a turn may have.
    """
    tokenizer = omni.tokenizer
    thinking = {
        i: prompt + Prompt([tokenizer.think])
        for i, prompt in enumerate(prompts)
        if (prompt.images or prompt.sounds) and prompt.asked is None
        and len(prompt) + MAX_THINKING * (len(prompt.sounds) + 2) <= room
    }
    most = max((len(one.sounds) for one in thinking.values()), default=0)
    for turn in range(most):
        heard = {i: one for i, one in thinking.items() if turn < len(one.sounds)}
        for i, one in heard.items():
            heard[i] = replace(one, asked=one.sounds[turn])
        thinking |= write(omni, heard, config, lambda one, turn=turn: last_line(one, turn))
    thinking |= write(omni, {i: one for i, one in thinking.items() if one.images}, config, lambda _: True)
    return [thinking.get(i, prompt) for i, prompt in enumerate(prompts)]


def last_line(prompt: Prompt, turn: int) -> bool:
    """Whether the thinking ends with the transcript of this sound."""
    return turn == len(prompt.sounds) - 1 and not prompt.images


def write(omni, prompts: dict[int, Prompt], config: GenerateConfig, closes) -> dict[int, Prompt]:
    """Each prompt with one more line of thinking and what ends it.

    Args:
        closes: whether a prompt's line is its last.
    """
    written = {}
    for last in (False, True):
        group = {i: one for i, one in prompts.items() if closes(one) == last}
        if not group:
            continue
        end = omni.tokenizer.think_end if last else newline(omni.tokenizer)
        unwanted = tuple(sorted(omni.tokenizer.special - {end}))
        greedy = replace(
            config, max_new_tokens=MAX_THINKING, temperature=0.0, repetition_penalty=1.0, top_k=None,
            top_p=None, min_p=None, stop_strings=(), eos_token_id=end, suppress_tokens=unwanted,
        )
        whole = [omni.head(None, config) + one for one in group.values()]
        replies = generate_batch(omni.model, whole, greedy, omni.tokenizer)
        for (i, one), reply in zip(group.items(), replies, strict=True):
            written[i] = replace(one, ids=[*one.ids, *reply, end], asked=None)
    return written


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
