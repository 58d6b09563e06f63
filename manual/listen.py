"""docs/listen.md: the voice and the codec as sounds side by side, with what judges made of each.

`python -m manual listen` speaks everything with the shipped weights (requirements-judges.txt).
Every figure is of the one sound beside it; means over many are in docs/results.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from data.speech.teachers import SHIPPED
from data.speech.tts import aligned
from evaluation import said
from evaluation.codebooks import coded, encoded, mean_frame
from evaluation.hearing import judged
from evaluation.said import Said, as_float
from evaluation.setting import SEED, Setting
from evaluation.words import word_errors
from inference.codec import decode
from inference.output import write_audio
from inference.speech import Speaker
from models.mel import SAMPLE_RATE

CHECKPOINT = "checkpoints/omni_sft_tiny"
TEXT = "The old clock in the hall struck seven, and nobody in the house was awake to hear it."
PEAK = 0.7  # of full scale, of every sound on the page
Rows = list[tuple[str, Said]]  # what it is, the sound

HEAD = """# Listen

Every sound here was made by `python -m manual listen` with the shipped weights. Beside each stand
its estimated mean opinion score (DistilMOS, 1 to 5) and how many of its words Whisper tiny.en
writes wrongly. One sound is an anecdote: the means over hundreds are in [results](results.md).
"""
SECTIONS = {
    "The Talker and its teachers": "One held-out sentence. The Talker learnt from the teacher above it.",
    "A statement and a question": "The same words; only the mark differs.",
    "Speed and seeds": "Speed keeps the pitch. Without `--seed` a sentence sounds the same each time.",
    "The codec on a voice it never heard": "One of Kokoro's voices that was held out of all training.",
    "The codec on a person":
        "A speaker of speechocean762 (free, also commercially) who was held out of all training.",
    "Controls": "What must not be understood: these say that the rows above mean something.",
}  # fmt: skip


def page(root: Path, real_dir: Path) -> str:
    """Write the sounds into docs/figures and return the page's Markdown."""
    speaker = Speaker.from_pretrained(root / CHECKPOINT)
    setting = Setting(root / CHECKPOINT, root / CHECKPOINT, root / "build", real_dir)
    person = next(s for s in said.people(setting) if len(s.wave) > 3 * SAMPLE_RATE)
    label = said.UNSEEN_VOICES[0]
    unseen = Said(TEXT, as_float(aligned.say(TEXT, *label.split(":"))))
    sections = zip(
        SECTIONS.items(),
        (
            talkers(speaker), marks(speaker), variations(speaker), books(speaker, unseen, label),
            books(speaker, person, "the person"), controls(speaker, unseen),
        ),
        strict=True,
    )  # fmt: skip
    parts = [HEAD]
    for number, ((title, note), rows) in enumerate(sections, 1):
        parts.append(f"\n## {title}\n\n{note}\n\n{rendered(root, rows, f'listen-{number}')}")
    return "".join(parts)


def rendered(root: Path, rows: Rows, stem: str) -> str:
    """Write the sounds of one section; its table."""
    heard = judged([sound for _, sound in rows], 1, stem)
    lines = ["| sound | | estimated MOS | words wrong |\n| --- | --- | --- | --- |\n"]
    for n, ((what, sound), judgement) in enumerate(zip(rows, heard, strict=True)):
        name = f"{stem}-{n}.mp3"
        wave = sound.wave * (PEAK / np.abs(sound.wave).max())
        write_audio(root / "docs/figures" / name, wave, SAMPLE_RATE)
        wrong, words = word_errors(sound.text, judgement.transcript)
        link = f"[listen: {what}](figures/{name})"
        lines.append(f"| {what} | {link} | {judgement.mos:.2f} | {wrong} of {words} |\n")
    return "".join(lines)


def spoken(speaker: Speaker, text: str, voice: str | None = None, **settings) -> Said:
    """What the Talker says."""
    return Said(text, speaker.speak(text, voice, **settings)[0])


def talkers(speaker: Speaker) -> Rows:
    """Each voice beside its teacher."""
    rows: Rows = []
    for label in SHIPPED:
        voice = said.name_of(label)
        teacher = as_float(aligned.say(TEXT, *label.split(":")))
        rows += [(f"{voice}, the teacher", Said(TEXT, teacher)),
                 (f"**{voice}, the Talker**", spoken(speaker, TEXT, voice))]
    return rows


def marks(speaker: Speaker) -> Rows:
    """The same words told, asked and exclaimed."""
    words = "You found the red door"
    return [(f"{words}{mark}", spoken(speaker, words + mark)) for mark in ".?!"]


def variations(speaker: Speaker) -> Rows:
    """Slow and fast; two seeds."""
    text = "Bread, butter, cheese and a little salt."
    rows = [(f"speed {speed}", spoken(speaker, text, speed=speed)) for speed in (0.7, 1.0, 1.5)]
    return rows + [(f"seed {seed}", spoken(speaker, text, seed=seed)) for seed in (1, 2)]


def books(speaker: Speaker, sound: Said, who: str) -> Rows:
    """A sound, and what the codec keeps of it with 1, 2, ... codebooks."""
    rows = [(who, sound)]
    for count in range(1, speaker.codec.config.num_codebooks + 1):
        rate = 0.25 * count  # kbit/s
        name = f"{count} codebook{'s' * (count > 1)}, {rate:g} kbit/s"
        rows.append((name, coded(speaker, [sound], count)[0]))
    return rows


def controls(speaker: Speaker, sound: Said) -> Rows:
    """Codes at random, in another order, and one frame throughout."""
    codes = encoded(speaker, sound.wave)[1]
    rng = torch.Generator().manual_seed(SEED)
    size = speaker.codec.config.codebook_size
    made: dict[str, Callable[[], torch.Tensor]] = {
        "random codes": lambda: torch.randint(0, size, codes.shape, generator=rng),
        "its codes in another order": lambda: codes[torch.randperm(len(codes), generator=rng)],
    }
    rows = [
        (name, Said(sound.text, decode(speaker.codec, speaker.vocoder, make()).numpy()))
        for name, make in made.items()
    ]
    return [*rows, ("its mean frame throughout", mean_frame(speaker, sound))]
