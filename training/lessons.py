"""Lessons of the omni stage: records of the world as conversations with media.

A lesson is {"messages", "images": encoded pictures, "sounds": quantised mels}, media in the order
in which the messages refer to them. Nothing is tokenised or padded here.
"""

import random

from models.audio import audio_tokens

FRAMES = 4  # pictures of a clip
TRANSCRIBE = (
    "What did you hear?",
    "What did you hear?",
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


def picture_lesson(record: dict, rng: random.Random) -> dict:
    """A picture and two to eight questions about it; follow-ups stay together."""
    asked = [[q] for q in record["questions"]] + list(record["follow_ups"])
    rng.shuffle(asked)
    asked = [q for group in asked for q in group][: rng.choice((2, 5, 6, 7, 8))]
    messages = []
    for place, q in enumerate(asked):
        image = [{"type": "image"}] if place == 0 else []
        messages += turn([*image, text_part(q["question"])], q["answer"])
    return {"messages": messages, "images": [record["image"]], "sounds": []}


def clip_lesson(record: dict, rng: random.Random) -> dict:
    """The frames of a clip in one turn, and one to three questions."""
    asked = rng.sample(record["questions"], min(len(record["questions"]), rng.randint(1, 3)))
    frames = [{"type": "image"}] * FRAMES
    messages = []
    for place, q in enumerate(asked):
        media = frames if place == 0 else []
        messages += turn([*media, text_part(q["question"])], q["answer"])
    images = [record[f"image{i}"] for i in range(FRAMES)]
    return {"messages": messages, "images": images, "sounds": []}


def transcript_lesson(record: dict, rng: random.Random) -> dict:
    """An utterance and the request to write it down."""
    content = [sound_part(record), text_part(rng.choice(TRANSCRIBE))]
    return {"messages": turn(content, record["text"]), "images": [], "sounds": [record["mel"]]}


def spoken_lesson(record: dict) -> dict:
    """A spoken question, answered as if it had been typed."""
    messages = turn([sound_part(record)], record["question"]["answer"])
    return {"messages": messages, "images": [], "sounds": [record["mel"]]}


def spoken_picture_lesson(record: dict, scene: dict) -> dict:
    """A picture and a spoken question about it."""
    content = [{"type": "image"}, sound_part(record)]
    messages = turn(content, record["question"]["answer"])
    return {"messages": messages, "images": [scene["image"]], "sounds": [record["mel"]]}
