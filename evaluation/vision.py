"""Questions about held-out scenes, clips, drawings and photographs, beside what blind answers would score.

Held out are scenes of a fresh seed, combinations of object and colour, and wordings. Controls:
direct answers without a chain of thought, a grey picture, another scene's picture, each kind's most
frequent answer.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict

from torch import Tensor

from data.scenes.build import build_pictures
from data.scenes.clips import CHANGES, FRAMES, MOVES
from data.shards import ShardReader
from evaluation.asking import Asker, another, graded, user_turn
from evaluation.framed import BLANK, ask_colours, ask_first, ask_framed, ask_several
from evaluation.photos import ask_photos
from evaluation.results import by_kind
from evaluation.setting import SEED, Measured, Setting
from evaluation.styles import ask_styles
from training.media import picture

QUESTIONS, CONTROLS = 2000, 500  # scenes asked about, one question each; of them in each control
FOLLOW_UPS, CLIPS = 500, 300
CHANGED = {change: change for change in CHANGES if change not in MOVES}  # the others move


def measure(setting: Setting) -> Measured:
    """Figures by kind of question and by control."""
    asker = Asker(setting.omni("seeing"))
    scenes, clips = setting.data_dir / "scenes_test", setting.data_dir / "clips_test"
    build_pictures(scenes, QUESTIONS, SEED, "test", workers=setting.workers)
    build_pictures(clips, CLIPS, SEED, "test", "clips", workers=setting.workers)
    figures = ask_scenes(asker, ShardReader(scenes), setting)
    figures |= ask_follow_ups(asker, ShardReader(scenes), setting.count(FOLLOW_UPS))
    figures |= ask_clips(asker, ShardReader(clips), setting.count(CLIPS))
    figures |= ask_framed(asker, ShardReader(scenes), setting) | ask_several(asker, setting)
    figures |= ask_colours(asker) | ask_first(asker, setting)
    return figures | ask_styles(asker, setting) | ask_photos(asker, setting)


def ask_scenes(asker: Asker, scenes: ShardReader, setting: Setting) -> Measured:
    """One question a scene, drawn as they come; then the same under controls."""
    n = min(setting.count(QUESTIONS), len(scenes))
    rng = random.Random(SEED)
    questions = [rng.choice(scenes.record(i)["questions"]) for i in range(n)]
    kinds = [q["kind"] for q in questions]

    def ask(images: list[Tensor], desc: str, asker: Asker = asker) -> list[bool]:
        asked = questions[: len(images)]
        pairs = zip(asked, images, strict=True)
        turns = [user_turn(q["question"], [image]) for q, image in pairs]
        return graded(asker.ask(turns, desc), asked)

    images = [picture(scenes[i]["image"]) for i in range(n)]
    figures = by_kind("scene", kinds, ask(images, "scenes"))
    few = min(CONTROLS, n)
    figures |= by_kind("blank", kinds[:few], ask([BLANK] * few, "blank pictures"))
    direct = ask(images[:few], "scenes, direct answers", asker.direct())
    figures |= by_kind("direct", kinds[:few], direct)
    wrong = [images[i] for i in another(n)[:few]]
    figures |= by_kind("shuffled", kinds[:few], ask(wrong, "shuffled pictures"))
    return figures | by_kind("majority", kinds, graded(majority(questions), questions))


def majority(questions: list[dict]) -> list[str]:
    """For each question its kind's most frequent answer here: one constant answer a kind."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for q in questions:
        counts[q["kind"]][q["answer"]] += 1
    return [counts[q["kind"]].most_common(1)[0][0] for q in questions]


def ask_follow_ups(asker: Asker, scenes: ShardReader, count: int) -> Measured:
    """Two questions about one picture; the second leans on the first and on the model's answer."""
    pairs = [
        (i, pair) for i in range(len(scenes)) for pair in scenes.record(i)["follow_ups"][:1]
    ][:count]
    first = asker.prompts(
        [user_turn(a["question"], [picture(scenes[i]["image"])]) for i, (a, _) in pairs]
    )
    replies = asker.replies(first, "first questions")
    second = [
        asker.follow(prompt, reply, b["question"])
        for prompt, reply, (_, (_, b)) in zip(first, replies, pairs, strict=True)
    ]
    questions = [b for _, (_, b) in pairs]
    right = graded(asker.answers(second, "follow-ups"), questions)
    return by_kind("followup", [q["kind"] for q in questions], right)


def ask_clips(asker: Asker, clips: ShardReader, count: int) -> Measured:
    """What changes in four frames, by kind of question and by what changes.

    Controls: grey frames, the frames backwards, and in an order that no change has.
    """
    rng = random.Random(SEED)
    n = min(count, len(clips))
    questions = [rng.choice(clips.record(i)["questions"]) for i in range(n)]
    kinds = [q["kind"] for q in questions]
    frames = [[picture(clips[i][f"image{k}"]) for k in range(FRAMES)] for i in range(n)]
    sources = {
        "clip": frames,
        "clip_blank": [[BLANK] * FRAMES] * n,
        "clip_backwards": [images[::-1] for images in frames],
        "clip_shuffled": [[images[k] for k in (2, 0, 3, 1)] for images in frames],
    }
    changes = [CHANGED.get(clips.record(i)["clip"]["change"], "moves") for i in range(n)]
    figures: Measured = {}
    for name, shown in sources.items():
        pairs = zip(questions, shown, strict=True)
        turns = [user_turn(q["question"], images) for q, images in pairs]
        right = graded(asker.ask(turns, name), questions)
        figures |= by_kind(name, kinds, right)
        if shown is frames:
            figures |= by_kind("clip_change", changes, right)
    return figures
