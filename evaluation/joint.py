"""Several senses at once: spoken questions, alone and about a picture, beside the same ones typed.

The spoken ones are unseen sentences in unseen voices. Controls: a grey picture under the spoken
question, the question heard apart from its picture, another clip's question, and direct answers
without a chain of thought. Answers to spoken questions about pictures are also spoken, and
judged by ear.
"""

from __future__ import annotations

from data.dialogue.conversation import score_turn
from data.progress import progress
from data.scenes.build import build_pictures
from data.scenes.scoring import Question, score
from data.shards import ShardReader
from data.speech.asr_corpus import dequantise_mel
from evaluation.asking import Asker, another, graded, user_turn
from evaluation.audio import heard, records, transcripts
from evaluation.judge import hear, knows
from evaluation.results import rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.vision import BLANK, QUESTIONS
from evaluation.words import spoken_words
from inference.speech import Speaker
from training.media import picture

ASKED = 2400  # clips of which those that ask about a picture are asked, some 600: one is a sixth of a point


def measure(setting: Setting) -> Measured:
    """Figures of spoken and typed questions."""
    asker = Asker(setting.omni("seeing"))
    clips = heard(setting)
    scenes = setting.data_dir / "scenes_test"
    build_pictures(scenes, QUESTIONS, SEED, "test", workers=setting.workers)
    figures = ask_talk(asker, records(clips, setting.count(len(clips)), ("talk_question",)))
    about = records(clips, setting.count(len(clips)), ("scene_question",))
    more = []
    if setting.limit is None or len(about) < setting.limit:
        further = heard(setting, clips=ASKED)
        more = records(further, setting.count(len(further)), ("scene_question",))[len(about) :]
    found, answers = ask_about_pictures(asker, about, more, ShardReader(scenes))
    questions = [record["question"] for record in about]
    return figures | found | aloud(asker.omni.speaker, answers, questions, setting.workers)


def ask_talk(asker: Asker, records: list[dict]) -> Measured:
    """Questions of conversation, heard and read."""
    checks = [record["question"] for record in records]
    mels = [dequantise_mel(record["mel"]) for record in records]
    spoken = [user_turn("", mels=[mel]) for mel in mels]
    said = asker.ask(spoken, "spoken questions")
    direct = asker.direct().ask(spoken, "spoken questions, direct answers")
    typed = asker.ask([user_turn(r["text"]) for r in records], "typed questions")
    other = [said[i] for i in another(len(said))]
    return {
        name: rate([score_turn(a, c) for a, c in zip(answers, checks, strict=True)])
        for name, answers in (
            ("talk/spoken", said), ("talk/typed", typed), ("talk/direct", direct),
            ("talk/shuffled", other),
        )
    }


def ask_about_pictures(
    asker: Asker, records: list[dict], more: list[dict], scenes: ShardReader
) -> tuple[Measured, list[str]]:
    """Questions about a picture, heard and read; and the answers to those that were heard.

    Those of `more` are asked, too, but not of the controls with a grey picture or direct answers.
    """
    spoken, typed, apart = [], [], []
    alone = transcripts(asker, records + more, "questions heard apart from their pictures")
    for record, words in zip(records + more, alone, strict=True):
        image = picture(scenes[record["scene"]]["image"])
        spoken.append(user_turn("", [image], [dequantise_mel(record["mel"])]))
        typed.append(user_turn(record["question"]["question"], [image]))
        apart.append(user_turn(words, [image]))
    controls = spoken[: len(records)]
    blank = [user_turn("", [BLANK], [sound.mel for sound in turn.sounds]) for turn in controls]
    answers = {
        "picture/spoken": asker.ask(spoken, "spoken questions about pictures"),
        "picture/typed": asker.ask(typed, "typed questions about pictures"),
        "picture/apart": asker.ask(apart, "questions heard apart"),
        "picture/blank": asker.ask(blank, "of a grey picture"),
        "picture/direct": asker.direct().ask(controls, "direct answers"),
    }
    questions = [record["question"] for record in records + more]
    figures = {
        name: rate(graded(said, questions[: len(said)]))
        for name, said in answers.items()
    }
    return figures, answers["picture/spoken"][: len(records)]


def aloud(
    speaker: Speaker, answers: list[str], questions: list[Question], workers: int
) -> Measured:
    """Speech to speech: the answers in the Talker's voice, right by what a judge hears.

    The judge chooses among the different answers given, of words that it knows. Control: the sound
    that answered another question.
    """
    fit = [i for i, answer in enumerate(answers) if spoken_words(answer) and knows(answer)]
    waves = [speaker.speak(answers[i], seed=SEED)[0] for i in progress(fit, desc="answering aloud")]
    written = {" ".join(spoken_words(answers[i])): answers[i] for i in fit}
    said = hear(waves, workers, "judging answers", list(written.values()))
    texts = [written.get(words, words) for words in said]
    others = [texts[i] for i in another(len(texts))]
    return {
        name: rate([score(t, questions[i]) for i, t in zip(fit, found, strict=True)])
        for name, found in (("aloud/spoken", texts), ("aloud/shuffled", others))
    }
