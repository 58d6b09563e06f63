"""Talking in text: held-out conversations, and bits per byte of held-out text.

Wordings of the test split never occur in training. Every answer of a conversation is checked, and
the model goes on from its own answers. Controls: the answer to another conversation's question, and
facts that the user never told ("no_fact"). `typed` asks single questions as people type them.
"""

from __future__ import annotations

import math
import random
from itertools import islice
from pathlib import Path

import torch
from torch.nn import functional as F

from data.corpus import CorpusOptions, token_stream
from data.dialogue.conversation import sample_conversation, score_turn, user_sentences
from data.dialogue.typed import FORMS, typed
from evaluation.asking import Asker, another, user_turn
from evaluation.results import Figure, by_kind, grouped_rate, rate
from evaluation.setting import SEED, Measured, Setting
from inference.omni import Omni
from models.omni import thinker_of

CONVERSATIONS = 1200
TYPED = 700  # questions that are typed in other ways, one form each
EXACT = ("repeat",)  # kinds whose question is not typed otherwise
WINDOW = 256  # tokens read at once: what the Thinker is trained on
DISTANCES = (  # other turns between a fact and the question for it
    (0, 0, "just before"), (1, 3, "1 to 3 turns before"), (4, 99, "4 turns before or more"),
)


def measure(setting: Setting) -> Measured:
    """Figures of the Thinker alone and of the omni-model, on the same questions."""
    figures: Measured = {}
    for name, folder in (("thinker", setting.thinker_dir), ("omni", setting.ckpt_dir)):
        asker = Asker(Omni.from_pretrained(folder))
        figures |= converse(asker, setting.count(CONVERSATIONS), name)
        figures |= as_typed(asker, setting.count(TYPED), name)
        figures[f"{name}/bits_per_byte"] = bits_per_byte(asker.omni, setting.real_dir)
    return figures


def converse(asker: Asker, count: int, name: str) -> Measured:
    """Every answer of `count` conversations, by kind, and first and later answers apart."""
    rng = random.Random(f"evaluation-{SEED}")
    chats = [sample_conversation(rng, "test") for _ in range(count)]
    asked = [[m["content"] for m in c["messages"] if m["role"] == "user"] for c in chats]
    said = answer_all(asker, chats, asked, name)
    kinds = [check["kind"] for chat in chats for check in chat["checks"]]
    right = [
        [score_turn(reply, check) for reply, check in zip(replies, chat["checks"], strict=True)]
        for replies, chat in zip(said, chats, strict=True)
    ]
    chat = [number for number, row in enumerate(right) for _ in row]  # whose turns hang together
    marks = [r for row in right for r in row]
    figures = by_kind(name, kinds, marks, chat)
    turns = [check.get("after", -1) for chat in chats for check in chat["checks"]]
    for least, most, what in DISTANCES:
        if then := [good for good, n in zip(marks, turns, strict=True) if least <= n <= most]:
            figures[f"{name}/told {what}"] = rate(then)
    figures[f"{name}/first"] = rate([row[0] for row in right])
    if later := [row[1:] for row in right if row[1:]]:
        figures[f"{name}/later"] = grouped_rate(later)
    crossed = zip(another(count), chats, strict=True)
    wrong = [score_turn(said[i][0], chat["checks"][0]) for i, chat in crossed]
    figures[f"{name}/shuffled"] = rate(wrong)
    return figures


def as_typed(asker: Asker, count: int, name: str) -> Measured:
    """Single questions in the forms of data/dialogue/typed.py, and the same as they were."""
    rng = random.Random(f"typed-{SEED}")
    asked = [item for item in islice(user_sentences(rng, "test"), count) if item["kind"] not in EXACT]
    forms = [list(FORMS)[i % len(FORMS)] for i in range(len(asked))]
    figures: Measured = {}
    for group in ("plain", "typed"):
        texts = [
            item["question"] if group == "plain" else typed(rng, form, item["question"], item["answer"])
            for item, form in zip(asked, forms, strict=True)
        ]
        replies = asker.ask([user_turn(text) for text in texts], f"{name}, {group}")
        right = [score_turn(reply, item) for reply, item in zip(replies, asked, strict=True)]
        figures[f"{name}/{group}"] = rate(right)
    for form in FORMS:
        picked = [r for r, f in zip(right, forms, strict=True) if f == form]
        if picked:
            figures[f"{name}/typed: {form}"] = rate(picked)
    return figures


def answer_all(
    asker: Asker, chats: list[dict], asked: list[list[str]], name: str
) -> list[list[str]]:
    """The model's answers, turn by turn, each conversation going on from its own."""
    systems = [
        next((m["content"] for m in chat["messages"] if m["role"] == "system"), None)
        for chat in chats
    ]
    prompts = [
        asker.prompts([user_turn(questions[0])], system)[0]
        for questions, system in zip(asked, systems, strict=True)
    ]
    said: list[list[str]] = [[] for _ in chats]
    for turn in range(max(map(len, asked))):
        going = [i for i, questions in enumerate(asked) if turn < len(questions)]
        replies = asker.replies([prompts[i] for i in going], f"{name}, turn {turn + 1}")
        for i, reply, text in zip(going, replies, asker.texts(replies), strict=True):
            said[i].append(text)
            if turn + 1 < len(asked[i]):
                prompts[i] = asker.follow(prompts[i], reply, asked[i][turn + 1])
    return said


@torch.inference_mode()
def bits_per_byte(omni: Omni, real_dir: Path | None) -> Figure:
    """Of a held-out token stream, made here, in windows; symbols of the chat cost bits and are no bytes.

    Conversations in held-out wordings, pictures told in words, and held-out English of the manifest.
    """
    thinker = thinker_of(omni.model)
    tokenizer = Path(omni.folder) / "tokenizer.model"
    tokens, _ = token_stream("test", tokenizer, CorpusOptions(), real_dir, SEED)  # (T,)
    stream = tokens.astype("int64")
    count = (len(stream) - 1) // WINDOW
    nats, size = 0.0, 0
    for start in range(0, count, 16):
        rows = range(start, min(count, start + 16))
        ids = torch.stack(
            [torch.from_numpy(stream[r * WINDOW : (r + 1) * WINDOW + 1]) for r in rows]
        )  # (B, WINDOW + 1)
        logits = thinker(ids[:, :-1])  # (B, WINDOW, V)
        nats += float(F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="sum"))
        size += sum(len(omni.tokenizer.decode(row[1:].tolist()).encode()) for row in ids)
    return Figure(nats / math.log(2) / size, None, None, size, SEED, "bits/byte")
