"""Speculative decoding against plain, on answers that the shipped model writes anyway.

Two sorts of requests that nobody trained on: what is seen in pictures, and conversation. Timed from
the first token of each answer to its last: reading the request is the same for all.
"""

import random
import statistics
from time import perf_counter

from benchmarks.contestants import compiled
from data.dialogue.conversation import sample_conversation
from data.scenes.build import SEEDS, MakeScene
from data.scenes.render import render_with_cells
from inference.generation import Generator
from inference.omni import Omni
from inference.prompt import Prompt
from inference.speculative.draft import NgramDraft, PromptLookup
from inference.speculative.generator import SpeculativeGenerator
from inference.speculative.table import SHIPPED, DraftTable

REQUESTS = 24  # of each sort
SEE = "What do you see?"


def pictures(omni: Omni) -> list[Prompt]:
    """Held-out pictures, to be described."""
    world = MakeScene(SEEDS["test"], "test")
    images = [render_with_cells(world.describe(i)[0])[0] for i in range(REQUESTS)]
    return [omni.phrase(omni.take(SEE, image=image)) for image in images]


def chats(omni: Omni) -> list[Prompt]:
    """Conversations in unseen wordings, up to what is to be answered."""
    rng = random.Random("speculation")
    found = [sample_conversation(rng, "test")["messages"][:-1] for _ in range(REQUESTS)]
    return [Prompt(omni.tokenizer.encode_chat(messages)) for messages in found]


def write(generator: Generator, prompts: list[Prompt]) -> tuple[float, list[list[int]]]:
    """Seconds after the first token of each answer, and the answers."""
    seconds, answers = 0.0, []
    for prompt in prompts:
        generator.reset()
        stream = generator.stream(prompt)
        first = next(stream, None)
        start = perf_counter()
        answers.append([first, *stream])
        seconds += perf_counter() - start
    return seconds, answers


def bench_speculative(omni: Omni, rounds: int, tokens: int) -> dict:
    """Each draft beside plain greedy decoding; all must answer the same."""
    config = omni.config(max_new_tokens=tokens)
    compiled(omni, config)
    drafts = {"lookup": PromptLookup(), "table": NgramDraft(DraftTable.load(SHIPPED))}
    table = {}
    for sort, prompts in {"pictures": pictures(omni), "chats": chats(omni)}.items():
        quick = {
            name: SpeculativeGenerator(omni.model, draft, config=config)
            for name, draft in drafts.items()
        }
        contestants = {"plain": Generator(omni.model, config)} | quick
        seen: dict[str, list] = {name: [] for name in contestants}
        for _ in range(rounds + 1):
            for name, generator in contestants.items():
                seen[name].append(write(generator, prompts))
        table |= compared(sort, seen)
    return table


def compared(sort: str, seen: dict[str, list[tuple[float, list[list[int]]]]]) -> dict[str, dict]:
    """Medians after the first round, which warms up."""
    truth = seen["plain"][0][1]
    written = sum(len(answer) for answer in truth)  # the first token is free, the end token is not
    speeds = {
        name: written / statistics.median(seconds for seconds, _ in runs[1:])
        for name, runs in seen.items()
    }
    return {
        f"{sort}, {name}": {
            "tokens_per_second": speed,
            "ratio": speed / speeds["plain"],
            "same_answers": float(seen[name][-1][1] == truth),
        }
        for name, speed in speeds.items()
    }
