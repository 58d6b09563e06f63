"""The memory bank: facts of an invented world in held-out wordings, and ordinary conversation.

Controls: no bank, the bank's numbers shuffled, and the chapters that routing likes least. Guessing
among a relation's values is right in one of twelve.
"""

from __future__ import annotations

import random

from data.invented_world import all_questions, chance, right
from evaluation.asking import Asker, user_turn
from evaluation.results import Figure, rate_of, together
from evaluation.setting import SEED, Measured, Setting
from evaluation.text import converse
from inference.memory import attach_memory, set_strategy
from inference.omni import Omni
from models.memory import STRATEGIES, MemoryAdapter, shuffled

CONVERSATIONS = 200


def answered(omni: Omni, count: int | None, name: str) -> Figure:
    """Share of facts answered right, each in every wording of test."""
    asked = all_questions("test")
    if count:
        asked = random.Random(SEED).sample(asked, min(count, len(asked)))
    asker = Asker(omni, max_new_tokens=32)
    replies = asker.ask([user_turn(text) for _, text in asked], name)
    facts = [fact for fact, _ in asked]  # the wordings of each hang together
    return rate_of(together([right(reply, fact) for reply, fact in zip(replies, facts, strict=True)], facts))


def with_shuffled_bank(omni: Omni, adapter: MemoryAdapter, count: int | None) -> Figure:
    """The control of a bank whose numbers are dealt anew."""
    kept = adapter.memory.chapters.data
    adapter.memory.chapters.data = shuffled(kept)
    try:
        return answered(omni, count, "shuffled bank")
    finally:
        adapter.memory.chapters.data = kept


def with_wrong_chapters(omni: Omni, adapter: MemoryAdapter, count: int | None) -> Figure:
    """The control of routing to the chapters that score lowest."""
    routers = adapter.routers.values()
    for router in routers:
        router.proj.weight.data.neg_()
    try:
        return answered(omni, count, "wrong chapters")
    finally:
        for router in routers:
            router.proj.weight.data.neg_()


def measure(setting: Setting) -> Measured:
    """Facts with each strategy and control, and conversation with and without the bank."""
    omni = Omni.from_pretrained(setting.ckpt_dir)
    conversations = setting.count(CONVERSATIONS)
    figures: Measured = {"facts/none": answered(omni, setting.limit, "no bank")}
    figures["talk/without"] = talk(omni, conversations)
    adapter = attach_memory(omni, setting.memory_dir)
    figures["talk/with"] = talk(omni, conversations)
    figures["facts/shuffled"] = with_shuffled_bank(omni, adapter, setting.limit)
    figures["facts/wrong_chapters"] = with_wrong_chapters(omni, adapter, setting.limit)
    for strategy in STRATEGIES:
        set_strategy(adapter, strategy)
        figures[f"facts/{strategy}"] = answered(omni, setting.limit, strategy)
    figures["facts/chance"] = Figure(chance(), None, None, 1, SEED, "rate")
    return figures


def talk(omni: Omni, count: int) -> Figure:
    """All answers of held-out conversations, see evaluation.text."""
    return converse(Asker(omni), count, "talk")["talk/all"]
