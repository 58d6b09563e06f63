"""Questions about what was said: one recording or two, in unseen voices and wordings.

Most are typed, others asked aloud after the recordings; and a clip has a voice, of which and of what happens
is asked. Controls: the sounds of other statements, asked what is not answered by yes, no or "That was not
said."; the transcript itself as the answer, which tells how far repeating it would go. Beside them the
same statements typed, and direct answers without a chain of thought.
"""

from __future__ import annotations

import random

import torch

from data.scenes.build import build_pictures
from data.scenes.clips import FRAMES, Clip
from data.scenes.voiced import voice_question
from data.shards import ShardReader
from data.speech.asr_corpus import dequantise_mel
from data.speech.statement_corpus import build_questions, build_statements
from data.speech.statement_pairs import Pairs, pair_questions
from data.speech.statement_questions import right
from evaluation.asking import Asker, another, graded, user_turn
from evaluation.results import by_kind, error_rate, rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.vision import CLIPS
from evaluation.words import word_errors
from training.media import picture

STATEMENTS = 300
ASKED = 2  # questions of each statement
PAIRS, ASKED_OF_PAIR = 200, 2
GUESSED = ("check", "both", "unsaid")  # kinds that another sound may answer alike

Case = tuple[list[int], dict]  # numbers of the statements heard, a question about them


def measure(setting: Setting) -> Measured:
    """Figures of one sound and of two, in all and by kind of question."""
    records = statements(setting)
    mels = [dequantise_mel(record["mel"]) for record in records]
    asker = Asker(setting.omni("hearing"))
    one, two = about_one(records), about_two(records, setting.count(PAIRS))
    figures = ask(asker, mels, one, "one") | ask(asker, mels, two, "two")
    typed = [user_turn(f"{records[at[0]]['text']} {question['question']}") for at, question in one]
    said = asker.ask(typed, "statements typed")
    direct = asker.direct().ask(turns(mels, one), "direct answers")
    figures["one/typed"] = rate(marks(one, said))
    figures["one/direct"] = rate(marks(one, direct))
    figures["one/repeated"] = rate(marks(one, [records[at[0]]["text"] for at, _ in one]))
    return figures | ask_aloud(asker, setting) | ask_voiced(asker, records, mels, setting)


def statements(setting: Setting) -> list[dict]:
    """The test set, made when it is missing."""
    folder = setting.data_dir / "statements_test"
    build_statements(folder, STATEMENTS, SEED, "test", setting.workers, shard_size=100)
    clips = ShardReader(folder)
    return [clips[i] for i in range(setting.count(len(clips)))]


def about_one(records: list[dict]) -> list[Case]:
    """The first questions of each statement."""
    return [([i], question) for i, record in enumerate(records) for question in record["questions"][:ASKED]]


def about_two(records: list[dict], count: int) -> list[Case]:
    """Questions about so many pairs of statements."""
    rng, pairs, cases = random.Random(SEED), Pairs(records), []
    for _ in range(count):
        i, j = pairs.draw(rng)
        asked = pair_questions(records[i], records[j], rng, "test")
        cases += [([i, j], question) for question in asked[:ASKED_OF_PAIR]]
    return cases


def turns(mels: list[torch.Tensor], cases: list[Case]) -> list:
    """The cases as a user puts them: the sounds, then the typed question."""
    return [user_turn(question["question"], mels=[mels[i] for i in at]) for at, question in cases]


def marks(cases: list[Case], answers: list[str]) -> list[bool]:
    """Which answers are right."""
    return [right(a, question) for a, (_, question) in zip(answers, cases, strict=True)]


def ask(asker: Asker, mels: list[torch.Tensor], cases: list[Case], name: str) -> Measured:
    """One or two sounds: all, by kind, and with the sounds of other statements."""
    answers = asker.ask(turns(mels, cases), f"questions about {name}")
    open_cases = [case for case in cases if case[1]["kind"] not in GUESSED]
    far = another(len(mels))
    shuffled = [([far[i] for i in at], question) for at, question in open_cases]
    others = asker.ask(turns(mels, shuffled), f"questions about {name}, other sounds")
    kinds = [question["kind"] for _, question in cases]
    return by_kind(name, kinds, marks(cases, answers), [tuple(at) for at, _ in cases]) | {
        f"{name}_shuffled/all": rate(marks(open_cases, others))
    }


def ask_aloud(asker: Asker, setting: Setting) -> Measured:
    """Questions that are asked aloud, in one turn after the one or two statements that they are about."""
    stated, folder = setting.data_dir / "statements_test", setting.data_dir / "statement_questions_test"
    build_questions(folder, stated, STATEMENTS, SEED + 1, "test", setting.workers, shard_size=100)
    clips, heard = ShardReader(folder), ShardReader(stated)
    records = [clips[i] for i in range(setting.count(len(clips)))]
    sounds = [[*(heard[i] for i in record["statements"]), record] for record in records]
    turns = [user_turn("", mels=[dequantise_mel(one["mel"]) for one in played]) for played in sounds]
    answers = asker.ask(turns, "questions aloud")
    good = [right(answer, record["question"]) for answer, record in zip(answers, records, strict=True)]
    return by_kind("aloud", ["one" if len(record["statements"]) == 1 else "two" for record in records], good)


def ask_voiced(asker: Asker, records: list[dict], mels: list[torch.Tensor], setting: Setting) -> Measured:
    """Clips in which a statement is heard: what it was, what of it is asked, and what happens.

    Control: clips with the sound of another statement.
    """
    folder, rng = setting.data_dir / "clips_test", random.Random(SEED)
    build_pictures(folder, CLIPS, SEED, "test", "clips", workers=setting.workers)
    clips = ShardReader(folder)
    n = min(len(records), len(clips))
    frames = [[picture(clips[i][f"image{k}"]) for k in range(FRAMES)] for i in range(n)]
    cases = [
        next(([i], q) for q in record["questions"] if q["kind"] not in GUESSED)
        for i, record in enumerate(records[:n])
    ]
    heard = [question for _, question in cases]
    seen = [rng.choice(clips.record(i)["questions"]) for i in range(n)]
    shown = [Clip.from_dict(clips.record(i)["clip"]) for i in range(n)]
    said = [voice_question(clip, r["text"], rng, "test") for clip, r in zip(shown, records, strict=False)]

    def ask(questions: list[dict], sounds: list[torch.Tensor], desc: str) -> list[str]:
        parts = zip(questions, frames, sounds, strict=True)
        return asker.ask([user_turn(q["question"], images, [mel]) for q, images, mel in parts], desc)

    others = [mels[i] for i in another(n)]
    words = zip(said, ask(said, mels[:n], "what is said in clips"), strict=True)
    return {
        "voiced/heard": rate(marks(cases, ask(heard, mels[:n], "questions about clips' voices"))),
        "voiced_shuffled/heard": rate(marks(cases, ask(heard, others, "other voices"))),
        "voiced/seen": rate(graded(ask(seen, mels[:n], "what happens in clips with voices"), seen)),
        "voiced/said": error_rate([word_errors(question["answer"], answer) for question, answer in words]),
    }
