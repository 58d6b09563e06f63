"""Questions about a clip in which somebody speaks: "What does the voice say while the car moves up?" """

from __future__ import annotations

import random

from data.scenes.clips import Clip, clip_answer

WORDINGS = {
    "train": (
        "What does the voice say while {x}?", "What is said while {x}?", "What do you hear while {x}?",
        "Tell me what the voice says while {x}.", "Which words do you hear while {x}?",
        "While {x}, what does somebody say?", "What did the voice say as {x}?", "What can you hear as {x}?",
    ),
    "test": ("What is being said while {x}?", "Write down the words that are spoken while {x}."),
}


def voice_question(clip: Clip, text: str, rng: random.Random, split: str = "train") -> dict:
    """What is said, which is `text`, while the clip does what it does."""
    does = clip_answer(clip)[:-1]
    asked = rng.choice(WORDINGS[split]).format(x=does[0].lower() + does[1:])
    return {"kind": "voice", "question": asked, "answer": text}
