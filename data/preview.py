"""Contact sheet of the picture world: `python -m data.preview --out preview.png`."""

from __future__ import annotations

import random
import sys
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from data.readers.drawings import available
from data.readers.emoji import SOURCES
from data.scenes.captions import caption
from data.scenes.clips import clip_questions, render_clip, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.questions import questions
from data.scenes.render import render
from data.scenes.sampling import DRAWN_BY_CODE, LAYOUTS, sample_scene
from data.scenes.scene import SIZE
from data.scenes.several import sample_several, several_questions
from data.scenes.sprites import require_styles
from data.scenes.styles import STYLES, dress
from data.scenes.thinking import clip_thinking, scene_thinking, several_thinking
from models.errors import Parser, UserError, one_line_errors
from models.files import replacing

WIDTH, HEIGHT = 560, 300  # of a card, pixels
COLUMNS, MOST = 3, 300  # of a sheet: pictures in a row, and in all
MARGIN = 8


def _card(images: list[Image.Image], lines: list[str]) -> Image.Image:
    card = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw, font = ImageDraw.Draw(card), ImageFont.load_default(12)
    side = SIZE if len(images) == 1 else SIZE // 2  # up to four share the place of one picture
    for i, image in enumerate(images):
        small = image if len(images) == 1 else image.resize((side, side))
        card.paste(small, (MARGIN + i % 2 * side, MARGIN + i // 2 * side))
    wrapped = [part for line in lines for part in textwrap.wrap(line, 54, subsequent_indent="   ")]
    for i, line in enumerate(wrapped[:19]):
        draw.text((SIZE + 2 * MARGIN, MARGIN + i * 15), line, "black", font=font)
    return card


def _asked(asked: list[dict]) -> list[str]:
    """Questions with what decides them, where thinking says it, and their answers."""
    decided = [f"<{q['rationale']}> " if q.get("rationale") else "" for q in asked]
    return [f"{q['question']} {why}{q['answer']}" for q, why in zip(asked, decided, strict=True)]


def scene_card(
    rng: random.Random, split: str, objects: str, styles: tuple[str, ...], layout: str | None
) -> Image.Image:
    """A picture, what is thought of it, and questions."""
    scene = sample_scene(rng, split, objects, layout)
    scene = dress(scene, rng, styles) if styles else scene
    lines = [f"[{caption(scene, rng, split)}]", f"<{scene_thinking(scene)}>"]
    lines += _asked(questions(scene, rng, split, objects))
    lines += ["> " + " / ".join(_asked(d)) for d in follow_ups(scene, rng, objects)]
    return _card([render(scene)], lines)


def clip_card(
    rng: random.Random, split: str, objects: str, styles: tuple[str, ...], layout: str | None
) -> Image.Image:
    """Four frames, what is thought of them, and questions."""
    clip = sample_clip(rng, split, objects, styles=styles)
    lines = [f"<{clip_thinking(clip)}>", *_asked(clip_questions(clip, rng, split))]
    return _card(render_clip(clip), lines)


def several_card(
    rng: random.Random, split: str, objects: str, styles: tuple[str, ...], layout: str | None
) -> Image.Image:
    """Two or three pictures of one request, what is thought of them, and questions."""
    pictures = sample_several(rng, split, objects, styles)
    lines = [f"<{several_thinking(pictures.scenes)}>"]
    lines += _asked(several_questions(pictures, rng, split, objects))
    return _card([render(scene) for scene in pictures.scenes], lines)


CARDS = {"scenes": scene_card, "clips": clip_card, "several": several_card}


def here(styles: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the styles whose drawings are on this machine."""
    return tuple(style for style in styles if style in ("noto", "photo") or available(style))


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = Parser(description="Draw a sheet of pictures and their questions.")
    parser.add_argument("--out", type=Path, required=True, help="the sheet, a PNG")
    parser.add_argument("--seed", type=int, default=0, help="another sheet")
    parser.add_argument("--count", type=int, default=12, help="pictures on it")
    parser.add_argument("--split", choices=("train", "dev", "test"), default="train")
    parser.add_argument("--objects", choices=("all", "shapes"), default="all")
    parser.add_argument("--what", choices=tuple(CARDS), default="scenes", help="several: sets of pictures")
    parser.add_argument("--layout", choices=(*LAYOUTS, DRAWN_BY_CODE), help="pictures of one layout only")
    parser.add_argument(
        "--styles", nargs="*", choices=("noto", "photo", *SOURCES), default=here(STYLES),
        help="whose drawings (default: all those that are on this machine)",
    )
    args = parser.parse_args(argv)
    if not 1 <= args.count <= MOST:
        raise UserError(f"--count must be from 1 to {MOST}, not {args.count}")
    if args.objects == "all":
        require_styles(tuple(args.styles))
    rows = -(-args.count // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * HEIGHT), "white")
    for i in range(args.count):
        rng = random.Random(f"preview-{args.seed}-{i}")
        card = CARDS[args.what](rng, args.split, args.objects, tuple(args.styles), args.layout)
        sheet.paste(card, (i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT))
    try:
        with replacing(args.out) as temporary:
            sheet.save(temporary)
    except (OSError, ValueError) as error:  # no such folder, or an ending that is no picture's
        raise UserError(f"cannot write {args.out}: {getattr(error, 'strerror', None) or error}") from None
    return 0


if __name__ == "__main__":
    sys.exit(main())
