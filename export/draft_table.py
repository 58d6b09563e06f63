"""Count the table with which `--draft FILE` guesses: `python -m export.draft_table --out FILE`.

From the training split of the world: conversations, and questions and captions of pictures; `--answers`
counts besides what the checkpoint itself answers in such conversations. Without these it takes
seconds; speculative decoding (inference/speculative/) checks every guess.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from data.dialogue.conversation import sample_conversation
from data.progress import progress
from data.scenes.build import SEEDS, MakeScene
from inference.generation import generate_batch
from inference.omni import SHIPPED as CHECKPOINT
from inference.omni import Omni
from inference.output import check_path
from inference.prompt import Prompt
from inference.speculative.table import SHIPPED, DraftTable
from models.errors import Parser, UserError, one_line_errors, remark
from models.tokenizer import Tokenizer

CONVERSATIONS, SCENES = 20_000, 5_000  # ten seconds of counting
LONGEST, ROWS = 64, 8  # tokens of an own answer; answers at once
Messages = list[dict]


def training_chats(conversations: int, scenes: int) -> Iterator[Messages]:
    """Chats of the training split."""
    rng = random.Random("ngram")
    for _ in range(conversations):
        yield sample_conversation(rng, "train")["messages"]
    world = MakeScene(SEEDS["train"], "train")
    for index in range(scenes):
        _, record = world.describe(index)
        for question in record["questions"]:
            yield [
                {"role": "user", "content": question["question"]},
                {"role": "assistant", "content": question["answer"]},
            ]


def own_answers(folder: Path, count: int) -> Iterator[tuple[list[int], list[int]]]:
    """(ids, mask) of what a checkpoint answers, greedily, at some place of training conversations."""
    if not count:
        return
    rng, omni = random.Random("answers"), Omni.from_pretrained(folder)
    config, prompts = omni.config(max_new_tokens=LONGEST), []
    for _ in range(count):
        messages = sample_conversation(rng, "train")["messages"]
        end = rng.choice([i for i, message in enumerate(messages) if message["role"] == "assistant"])
        prompts.append(omni.tokenizer.encode_chat(messages[:end]))
    prompts.sort(key=len)  # rows of nearly one length
    for start in progress(range(0, count, ROWS), desc="answering", unit=f" x {ROWS}"):
        group = prompts[start : start + ROWS]
        replies = generate_batch(omni.model, [Prompt(ids) for ids in group], config, omni.tokenizer)
        for ids, reply in zip(group, replies, strict=True):
            end = [config.eos_token_id] if len(reply) < LONGEST else []
            yield ids + reply + end, [0] * len(ids) + [1] * len(reply + end)


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = Parser(prog="python -m export.draft_table", description=__doc__)
    parser.add_argument("--out", type=Path, default=SHIPPED, help="default: the one that ships")
    parser.add_argument("--ckpt_dir", type=Path, default=CHECKPOINT, help="whose tokenizer")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS,
                        help="so many of the training split")
    parser.add_argument("--scenes", type=int, default=SCENES, help="questions about so many pictures")
    parser.add_argument("--answers", type=int, default=0, help="so many of the checkpoint's own, too")
    args = parser.parse_args(argv)
    if min(args.conversations, args.scenes, args.answers) < 0:
        raise UserError("--conversations, --scenes and --answers must be 0 or more")
    check_path(args.out, (".safetensors",), "the table")
    tokenizer = Tokenizer(args.ckpt_dir / "tokenizer.model")
    chats = progress(training_chats(args.conversations, args.scenes), desc="counting", unit=" chats")
    texts = (tokenizer.encode_chat_targets(messages) for messages in chats)
    table = DraftTable.count(chain(texts, own_answers(args.ckpt_dir, args.answers)))
    table.save(args.out)
    remark(f"wrote {args.out}: {sum(map(len, table.tables)):,} contexts")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
