"""Contact sheet of the picture world: `python -m data.preview --out preview.png`."""

from __future__ import annotations

import argparse
import random
import sys
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from data.scenes.captions import caption
from data.scenes.clips import clip_questions, render_clip, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.questions import questions
from data.scenes.render import render
from data.scenes.sampling import sample_scene
from data.scenes.scene import SIZE
from data.scenes.sprites import require_emoji
from models.errors import one_line_errors

WIDTH, HEIGHT = 560, 300  # of a card, pixels
COLUMNS = 3
MARGIN = 8


def _card(images: list[Image.Image], lines: list[str]) -> Image.Image:
    card = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw, font = ImageDraw.Draw(card), ImageFont.load_default(12)
    for i, image in enumerate(images):  # four frames share the place of one picture
        small = image if len(images) == 1 else image.resize((SIZE // 2, SIZE // 2))
        card.paste(small, (MARGIN + i % 2 * SIZE // 2, MARGIN + i // 2 * SIZE // 2))
    wrapped = [part for line in lines for part in textwrap.wrap(line, 54, subsequent_indent="   ")]
    for i, line in enumerate(wrapped[:19]):
        draw.text((SIZE + 2 * MARGIN, MARGIN + i * 15), line, "black", font=font)
    return card


def scene_card(rng: random.Random, split: str, objects: str) -> Image.Image:
    scene = sample_scene(rng, split, objects)
    lines = [f"[{caption(scene, rng, split)}]"]
    lines += [f"{q['question']} {q['answer']}" for q in questions(scene, rng, split, objects)]
    lines += [
        "> " + " / ".join(f"{q['question']} {q['answer']}" for q in d)
        for d in follow_ups(scene, rng, objects)
    ]
    return _card([render(scene)], lines)


def clip_card(rng: random.Random, split: str, objects: str) -> Image.Image:
    clip = sample_clip(rng, split, objects)
    lines = [f"{q['question']} {q['answer']}" for q in clip_questions(clip, rng, split)]
    return _card(render_clip(clip), lines)


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draw a sheet of pictures and their questions.")
    parser.add_argument("--out", type=Path, required=True, help="the sheet, a PNG")
    parser.add_argument("--seed", type=int, default=0, help="another sheet")
    parser.add_argument("--count", type=int, default=12, help="pictures on it")
    parser.add_argument("--split", choices=("train", "dev", "test"), default="train")
    parser.add_argument("--objects", choices=("all", "shapes"), default="all")
    parser.add_argument("--clips", action="store_true", help="clips instead of pictures")
    args = parser.parse_args(argv)
    if args.objects == "all":
        require_emoji()
    make = clip_card if args.clips else scene_card
    rows = -(-args.count // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * HEIGHT), "white")
    for i in range(args.count):
        card = make(random.Random(f"preview-{args.seed}-{i}"), args.split, args.objects)
        sheet.paste(card, (i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT))
    sheet.save(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
