"""Samples of the omni stage: records of the world as conversations with media.

A sample is {"messages", "images": encoded pictures, "sounds": quantised mels}, media in the order
in which the messages refer to them. Nothing is tokenised or padded here.
"""

import random

from data.scenes.clips import FRAMES, Clip
from data.scenes.photos import photo_questions, photo_thinking
from data.scenes.scene import Scene
from data.scenes.thinking import clip_thinking, scene_thinking, several_thinking
from data.scenes.voiced import voice_question
from data.turns import text_part, thinking_part, turn
from models.audio import audio_tokens
from models.omni import NO_SPEECH, TRANSCRIBE_QUESTION

IMAGE = {"type": "image"}  # the content part that stands for a picture
THINKING = 0.7  # of the samples with media think before they answer; the others answer directly
VOICED = 0.3  # of the clips have a sound, in which a statement is heard
ALOUD = 0.35  # of the statements are asked about aloud
UNHEARD = 0.05  # of scenes and clips are asked what is said there
RARE = ("compare", "relation")  # kinds of questions that come before others where not all are asked
TRANSCRIBE = (
    TRANSCRIBE_QUESTION,
    TRANSCRIBE_QUESTION,
    "Write down what you hear.",
    "Transcribe this.",
    "What is said here?",
    "What does the voice say?",
    "What was said?",
    "Please transcribe the audio.",
    "What did I say?",
    "Tell me what you heard.",
    "What do you hear?",
    "Can you write down the words?",
)


def sound_part(record: dict) -> dict:
    """The content part that stands for an utterance."""
    return {"type": "audio", "tokens": audio_tokens(record["mel"].shape[1])}


def chat(messages: list[dict]) -> dict:
    """A conversation without media."""
    return {"messages": messages, "images": [], "sounds": []}


def asked_about(
    questions: list[dict],
    media: list[dict],
    rng: random.Random,
    *,
    heard: list[str] = (),
    seen: str = "",
) -> list[dict]:
    """Questions one after another with their answers; the media come with the first, and mostly a
    chain of thought before its answer.

    Args:
        heard: transcripts of the media's sounds.
        seen: what thinking tells of their pictures.
    """
    messages = []
    for q in questions:
        thinks = bool(media) and q["question"] != TRANSCRIBE_QUESTION and rng.random() < THINKING
        thinking = [thinking_part(heard, seen, q)] if thinks else []
        messages += turn([*media, text_part(q["question"])], q["answer"], *thinking)
        media = []
    return messages


def asked_aloud(
    record: dict, media: list[dict], rng: random.Random, *, heard: list[str] = (), seen: str = ""
) -> list[dict]:
    """A spoken question with its answer, in one turn with the media; arguments as of `asked_about`."""
    asked = record["question"]
    thinks = rng.random() < THINKING
    thinking = [thinking_part([*heard, record["text"]], seen, asked)] if thinks else []
    return turn([*media, sound_part(record)], asked["answer"], *thinking)


def picture_sample(record: dict, rng: random.Random) -> dict:
    """A picture and two to eight questions about it, with their follow-ups."""
    groups = [[q] for q in record["questions"] + unheard(rng)] + list(record["follow_ups"])
    rng.shuffle(groups)
    groups.sort(key=lambda group: group[0]["kind"] not in RARE)
    groups = groups[: rng.choice((2, 4, 6, 8))]
    rng.shuffle(groups)
    asked = [q for group in groups for q in group]
    thought = scene_thinking(Scene.from_dict(record["scene"]))
    messages = asked_about(asked, [IMAGE], rng, seen=thought)
    return {"messages": messages, "images": [record["image"]], "sounds": []}


def unheard(rng: random.Random) -> list[dict]:
    """Now and then, what was said is asked where there is no sound."""
    if rng.random() >= UNHEARD:
        return []
    return [{"kind": "unheard", "question": rng.choice(TRANSCRIBE[2:]), "answer": NO_SPEECH}]


def photo_sample(record: dict, rng: random.Random, split: str) -> dict:
    """A photograph and one to four questions about it."""
    messages = asked_about(photo_questions(record, rng, split), [IMAGE], rng, seen=photo_thinking(record))
    return {"messages": messages, "images": [record["image"]], "sounds": []}


def clip_sample(
    record: dict, rng: random.Random, voice: dict | None = None, about_voice: list[dict] = ()
) -> dict:
    """The frames of a clip in one turn, with its sound if it has one, and one to three questions."""
    clip, questions = Clip.from_dict(record["clip"]), record["questions"] + unheard(rng)
    voices = [voice] if voice else []
    if voice:
        spoken = {"question": rng.choice(TRANSCRIBE), "answer": voice["text"]}
        meanwhile = voice_question(clip, voice["text"], rng)
        questions = [rng.choice(record["questions"]), meanwhile, spoken, *about_voice[:1]]
    asked = rng.sample(questions, min(len(questions), rng.randint(1, 3)))
    media = [IMAGE] * FRAMES + [sound_part(one) for one in voices]
    heard = [one["text"] for one in voices]
    messages = asked_about(asked, media, rng, heard=heard, seen=clip_thinking(clip))
    images = [record[f"image{i}"] for i in range(FRAMES)]
    return {"messages": messages, "images": images, "sounds": [one["mel"] for one in voices]}


def several_sample(record: dict, rng: random.Random) -> dict:
    """Two or three pictures in one turn, and one to three questions."""
    asked = rng.sample(record["questions"], min(len(record["questions"]), rng.randint(1, 3)))
    scenes = [Scene.from_dict(scene) for scene in record["scenes"]]
    messages = asked_about(asked, [IMAGE] * len(scenes), rng, seen=several_thinking(scenes))
    images = [record[f"image{i}"] for i in range(len(scenes))]
    return {"messages": messages, "images": images, "sounds": []}


def transcript_sample(record: dict, rng: random.Random) -> dict:
    """An utterance and the request to write it down; TRANSCRIBE_QUESTION is always answered directly."""
    question = rng.choice(TRANSCRIBE)
    content = [sound_part(record), text_part(question)]
    direct = question == TRANSCRIBE_QUESTION or rng.random() > THINKING
    thinking = [] if direct else [thinking_part([record["text"]], "", {})]
    return {"messages": turn(content, record["text"], *thinking), "images": [], "sounds": [record["mel"]]}


def spoken_sample(record: dict, rng: random.Random) -> dict:
    """A spoken question."""
    return {"messages": asked_aloud(record, [], rng), "images": [], "sounds": [record["mel"]]}


def spoken_picture_sample(record: dict, scene: dict, rng: random.Random) -> dict:
    """A picture and a spoken question about it."""
    messages = asked_aloud(record, [IMAGE], rng, seen=scene_thinking(Scene.from_dict(scene["scene"])))
    return {"messages": messages, "images": [scene["image"]], "sounds": [record["mel"]]}


def statement_sample(
    rng: random.Random, records: list[dict], questions: list[dict], aloud: dict | None = None
) -> dict:
    """One or two spoken statements, typed questions about what was said, and perhaps a spoken one.

    That comes after up to two typed ones, or in one turn with the statements.
    """
    media, heard = [sound_part(record) for record in records], [record["text"] for record in records]
    if aloud:
        questions = questions[: rng.choice((0, 0, 1, 2))]
    messages = asked_about(questions, media, rng, heard=heard)
    if aloud and messages:
        messages += asked_aloud(aloud, [], rng)
    elif aloud:
        messages = asked_aloud(aloud, media, rng, heard=heard)
    sounds = [record["mel"] for record in (*records, *([aloud] if aloud else []))]
    return {"messages": messages, "images": [], "sounds": sounds}


def text_sample(ids: list[int]) -> dict:
    """Text whose every token is trained on."""
    return {"ids": ids, "targets": ids, "images": [], "sounds": []}
