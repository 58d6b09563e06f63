"""Count the table with which `--draft FILE` guesses: `python -m training.ngram --out FILE`.

From the training split of the world: conversations, and questions and captions of pictures. It takes
seconds and no network; speculative decoding (inference/speculative.py) checks every guess.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from data.conversation import sample_conversation
from data.scenes.build import SEEDS, MakeScene
from models.errors import one_line_errors
from models.ngram import Ngram
from models.tokenizer import Tokenizer

CONVERSATIONS, SCENES = 20_000, 5_000  # ten seconds of counting
Messages = list[dict]


def lessons(conversations: int, scenes: int) -> Iterator[Messages]:
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


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.ngram", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="safetensors file to write")
    parser.add_argument("--ckpt_dir", type=Path, default=Path("checkpoints/omni_sft_tiny"),
                        help="whose tokenizer")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS,
                        help="so many of the training split")
    parser.add_argument("--scenes", type=int, default=SCENES,
                        help="questions about so many pictures")
    args = parser.parse_args(argv)
    tokenizer = Tokenizer(args.ckpt_dir / "tokenizer.model")
    chats = tqdm(lessons(args.conversations, args.scenes), desc="counting", unit=" chats")
    table = Ngram.count(tokenizer.encode_chat_targets(messages) for messages in chats)
    table.save(args.out)
    print(f"wrote {args.out}: {sum(map(len, table.tables)):,} contexts")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
