"""The small world of preset `nano`: greetings, one shape a picture, a dozen words heard and said.

    python -m evaluation.small_world runs/nano/omni_sft_nano

shows answers beside the truth, and the rates that `evaluate.py small_world` writes. Held out are
wordings, pairs of shape and colour, and voices that are heard. What is said are the dozen words that
the Talker learns. Controls: the answer to another question, a grey picture, another clip, and the
codes of a sentence in another order.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import torch

from data.dialogue.conversation import sample_conversation, score_turn
from data.scenes.build import MakeScene
from data.scenes.captions import scene_groups, score_caption
from data.scenes.questions import what
from data.scenes.scene import Scene
from data.speech.asr_corpus import dequantise_mel, mel_of
from data.speech.samples import samples
from data.speech.word_samples import PAIRS, WORDS
from evaluation.asking import Asker, another, user_turn
from evaluation.judge import hear
from evaluation.results import rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.vision import BLANK
from inference.codec import decode
from inference.omni import Omni
from inference.speech import Speaker
from models.ctc import to_alphabet
from models.errors import UserError, one_line_errors
from models.omni import TRANSCRIBE_QUESTION
from training.config import load_preset
from training.media import picture

CHATS, SCENES = 150, 200
KINDS = tuple(load_preset("nano")["tokenizer"]["data"]["kinds"])
SHOWN = 3  # answers of each kind that are shown
Row = tuple[str, str, bool]  # the truth, what the model said, whether that is right


def greeted(asker: Asker, count: int) -> tuple[list[Row], list[bool]]:
    """Single questions in unseen wordings; and the answers held against other questions."""
    rng = random.Random(f"small-{SEED}")
    chats = [sample_conversation(rng, "test", KINDS) for _ in range(count)]
    asked, checks = [c["messages"][0]["content"] for c in chats], [c["checks"][0] for c in chats]
    said = asker.ask([user_turn(text) for text in asked], "greetings")
    rows = [(text, reply, score_turn(reply, c)) for text, reply, c in zip(asked, said, checks, strict=True)]
    return rows, [score_turn(said[i], c) for i, c in zip(another(count), checks, strict=True)]


def seen(asker: Asker, count: int) -> tuple[list[Row], list[bool]]:
    """What is in the picture, shape and colour; and the same of a grey one."""
    make = MakeScene(SEED, "test", "few")
    records = [make(index) for index in range(count)]
    scenes = [Scene.from_dict(record["scene"]) for record, _ in records]
    rng = random.Random(f"small-{SEED}")
    asked = [what(scene, rng, "test", "few") for scene in scenes]
    answers = [
        asker.ask([user_turn(q["question"], [image]) for q, image in zip(asked, images, strict=True)], desc)
        for desc, images in (
            ("pictures", [picture(blobs["image"]) for _, blobs in records]),
            ("grey pictures", [BLANK] * count),
        )
    ]
    right, blind = (
        [score_caption(a, scene_groups(scene)) for a, scene in zip(said, scenes, strict=True)]
        for said in answers
    )
    return [(q["answer"], a, r) for q, a, r in zip(asked, answers[0], right, strict=True)], blind


def heard(asker: Asker) -> tuple[list[Row], list[bool]]:
    """Words of unseen voices; and the transcripts held against other clips."""
    clips = samples("test", "words")
    mels = [dequantise_mel(mel_of(clip["wave"].astype(np.float32) / 32768)) for clip in clips]
    said = asker.ask([user_turn(TRANSCRIBE_QUESTION, mels=[mel]) for mel in mels], "words")
    truth = [clip["text"] for clip in clips]
    right = same(said, truth)
    return list(zip(truth, said, right, strict=True)), same(said[1:] + said[:1], truth)  # other words


def same(said: list[str], truth: list[str]) -> list[bool]:
    """Where the letters are the same."""
    return [to_alphabet(a) == to_alphabet(b) for a, b in zip(said, truth, strict=True)]


@torch.inference_mode()
def spoken(speaker: Speaker, workers: int) -> tuple[list[Row], list[bool]]:
    """All that it can say, as a judge hears it; and the same with its codes in another order."""
    texts, random_order = [*WORDS, *PAIRS], torch.Generator().manual_seed(SEED)
    waves, mixed = [], []
    for text in texts:
        _, frames = speaker.codes(text, speaker.voices[0])
        codes = torch.cat(list(frames))  # (T, K)
        order = torch.randperm(len(codes), generator=random_order)
        waves.append(decode(speaker.codec, speaker.vocoder, codes).numpy())
        mixed.append(decode(speaker.codec, speaker.vocoder, codes[order]).numpy())
    told, control = (hear(kept, workers, "the judge", choices=texts) for kept in (waves, mixed))
    return list(zip(texts, told, same(told, texts), strict=True)), same(control, texts)


def examine(setting: Setting) -> dict[str, tuple[list[Row], list[bool]]]:
    """Rows and controls by what is asked of the model."""
    omni = Omni.from_pretrained(setting.ckpt_dir)
    asker = Asker(omni, max_new_tokens=48)
    return {
        "answers": greeted(asker, setting.count(CHATS)),
        "pictures": seen(asker, setting.count(SCENES)),
        "hears": heard(asker),
        "says": spoken(Speaker.from_pretrained(setting.ckpt_dir), setting.workers),
    }


def measure(setting: Setting) -> Measured:
    """The rate of each, and of its control."""
    figures: Measured = {}
    for name, (rows, control) in examine(setting).items():
        figures[name] = rate([right for *_, right in rows])
        figures[f"{name}/control"] = rate(control)
    return figures


def main() -> None:
    """Shows answers beside the truth."""
    if len(sys.argv) != 2:
        raise UserError("give one argument, the folder of a checkpoint")
    folder = Path(sys.argv[1])
    for name, (rows, control) in examine(Setting(folder, folder, folder, None)).items():
        share, guessed = (100 * sum(x) / len(x) for x in ([row[2] for row in rows], control))
        print(f"\n{name}: {share:.0f} % right of {len(rows)}; control {guessed:.0f} %")
        for truth, said, right in rows[:: max(1, len(rows) // SHOWN)][:SHOWN]:
            print(f"  {'right' if right else 'wrong'}  {truth!r:38} {said!r}")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
