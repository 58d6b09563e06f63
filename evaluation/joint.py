"""Several senses at once: spoken questions, alone and about a picture, beside the same ones typed.

The spoken ones are unseen sentences in unseen voices. Controls: a grey picture under the spoken
question, and another clip's question.
"""

from __future__ import annotations

from data.conversation import score_turn
from data.hearing import dequantise_mel
from data.scenes import build_scenes
from data.scoring import score
from data.shards import ShardReader
from evaluation.asking import Asker, another
from evaluation.audio import heard
from evaluation.results import rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.vision import BLANK, QUESTIONS
from inference.omni import Omni
from training.media import picture


def measure(setting: Setting) -> Measured:
    """Figures of spoken and typed questions."""
    asker = Asker(Omni.from_pretrained(setting.ckpt_dir))
    clips = heard(setting)
    scenes = setting.data_dir / "scenes_test"
    build_scenes(scenes, QUESTIONS, SEED, "test", workers=setting.workers)
    figures = ask_talk(asker, of_kind(clips, "talk_question", setting))
    about = of_kind(clips, "scene_question", setting)
    return figures | ask_about_pictures(asker, about, ShardReader(scenes))


def of_kind(clips: ShardReader, kind: str, setting: Setting) -> list[dict]:
    """The utterances of one kind."""
    picks = [i for i in range(len(clips)) if clips.record(i)["kind"] == kind]
    return [clips[i] for i in picks[: setting.count(len(picks))]]


def ask_talk(asker: Asker, records: list[dict]) -> Measured:
    """Questions of conversation, heard and read."""
    checks = [record["question"] for record in records]
    mels = [dequantise_mel(record["mel"]) for record in records]
    said = asker.answers([asker.prompt(mels=[mel]) for mel in mels], "spoken questions")
    typed = asker.answers([asker.prompt(r["text"]) for r in records], "typed questions")
    other = [said[i] for i in another(len(said))]
    return {
        name: rate([score_turn(a, c) for a, c in zip(answers, checks, strict=True)], SEED)
        for name, answers in (
            ("talk/spoken", said), ("talk/typed", typed), ("talk/shuffled", other)
        )
    }


def ask_about_pictures(asker: Asker, records: list[dict], scenes: ShardReader) -> Measured:
    """Questions about a picture, heard and read."""
    questions = [record["question"] for record in records]
    mels = [dequantise_mel(record["mel"]) for record in records]
    images = [picture(scenes[record["scene"]]["image"]) for record in records]
    pairs = list(zip(mels, images, strict=True))
    ways = {
        "picture/spoken": [asker.prompt("", [image], [mel]) for mel, image in pairs],
        "picture/typed": [
            asker.prompt(q["question"], [image])
            for q, image in zip(questions, images, strict=True)
        ],
        "picture/blank": [asker.prompt("", [BLANK], [mel]) for mel in mels],
    }
    figures: Measured = {}
    for name, prompts in ways.items():
        answers = asker.answers(prompts, name)
        figures[name] = rate([score(a, q) for a, q in zip(answers, questions, strict=True)], SEED)
    return figures
