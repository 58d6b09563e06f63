"""Lessons of the omni stage: records of the world as conversations with media.

A lesson is {"messages", "images": encoded pictures, "sounds": quantised mels}, media in the order
in which the messages refer to them. Nothing is tokenised or padded here.
"""

import random

from data.scenes.notes import clip_notes, scene_notes
from data.scenes.photos import photo_notes, photo_questions
from data.scenes.scene import Scene
from models.audio import audio_tokens
from models.omni import NOTE_QUESTION, TRANSCRIBE_QUESTION

FRAMES = 4  # pictures of a clip
NOTED = 0.85  # of the lessons with pictures begin with notes; the others answer from sight alone
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


def turn(question: str | list, answer: str) -> list[dict]:
    """A user message and the reply to it."""
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def sound_part(record: dict) -> dict:
    """The content part that stands for an utterance."""
    return {"type": "audio", "tokens": audio_tokens(record["mel"].shape[1])}


def text_part(text: str) -> dict:
    """The content part of typed words."""
    return {"type": "text", "text": text}


def chat(messages: list[dict]) -> dict:
    """A conversation without media."""
    return {"messages": messages, "images": [], "sounds": []}


def shown(count: int, notes: str, rng: random.Random) -> tuple[list[dict], list[dict]]:
    """Pictures come into a conversation: the messages that note them, and the parts that stand for
    them in the question that follows. One of the two is empty."""
    images = [{"type": "image"}] * count
    if rng.random() < NOTED:
        return turn([*images, text_part(NOTE_QUESTION)], notes), []
    return [], images


def asked_about(questions: list[dict], media: list[dict]) -> list[dict]:
    """Questions one after another with their answers; the media come with the first."""
    messages = []
    for q in questions:
        messages += turn([*media, text_part(q["question"])], q["answer"])
        media = []
    return messages


def picture_lesson(record: dict, rng: random.Random) -> dict:
    """A picture and two to eight questions about it; follow-ups stay together."""
    asked = [[q] for q in record["questions"]] + list(record["follow_ups"])
    rng.shuffle(asked)
    asked = [q for group in asked for q in group][: rng.choice((2, 5, 6, 7, 8))]
    messages, media = shown(1, scene_notes(Scene.from_dict(record["scene"])), rng)
    messages += asked_about(asked, media)
    return {"messages": messages, "images": [record["image"]], "sounds": []}


def photo_lesson(record: dict, rng: random.Random, split: str) -> dict:
    """A photograph and one to four questions about it."""
    messages, media = shown(1, photo_notes(record), rng)
    messages += asked_about(photo_questions(record, rng, split), media)
    return {"messages": messages, "images": [record["image"]], "sounds": []}


def clip_lesson(record: dict, rng: random.Random) -> dict:
    """The frames of a clip in one turn, and one to three questions."""
    asked = rng.sample(record["questions"], min(len(record["questions"]), rng.randint(1, 3)))
    scenes = [Scene.from_dict(frame) for frame in record["clip"]["frames"]]
    messages, media = shown(FRAMES, clip_notes(scenes), rng)
    messages += asked_about(asked, media)
    images = [record[f"image{i}"] for i in range(FRAMES)]
    return {"messages": messages, "images": images, "sounds": []}


def transcript_lesson(record: dict, rng: random.Random) -> dict:
    """An utterance and the request to write it down."""
    content = [sound_part(record), text_part(rng.choice(TRANSCRIBE))]
    return {"messages": turn(content, record["text"]), "images": [], "sounds": [record["mel"]]}


def rival_lesson(record: dict, text: str) -> dict:
    """An utterance, written down as it is when a question is heard, rightly or not."""
    content = [sound_part(record), text_part(TRANSCRIBE_QUESTION)]
    return {"messages": turn(content, text), "images": [], "sounds": [record["mel"]]}


def spoken(record: dict, media: list[dict], rng: random.Random) -> list[dict]:
    """The messages of a spoken question: written down and then answered as typed, or at once.

    One whose rivals are known is written down as the ears read it first, rightly or not: a question
    misheard is to be answered as far as it was understood, and the mishearing is not learnt.
    """
    answer = record["question"]["answer"]
    if rng.random() < NOTED:
        text = record["rivals"][0][0] if "rivals" in record else record["text"]
        heard = turn([sound_part(record), text_part(TRANSCRIBE_QUESTION)], text)
        heard[1]["learnt"] = text == record["text"]
        return heard + turn([*media, text_part(text)], answer)
    return turn([*media, sound_part(record)], answer)


def spoken_lesson(record: dict, rng: random.Random) -> dict:
    """A spoken question, answered as if it had been typed."""
    return {"messages": spoken(record, [], rng), "images": [], "sounds": [record["mel"]]}


def spoken_picture_lesson(record: dict, scene: dict, rng: random.Random) -> dict:
    """A picture and a spoken question about it."""
    messages, media = shown(1, scene_notes(Scene.from_dict(scene["scene"])), rng)
    messages += spoken(record, media, rng)
    return {"messages": messages, "images": [scene["image"]], "sounds": [record["mel"]]}
