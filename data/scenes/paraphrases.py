"""Ways of asking and of saying, by kind. The ones held out are never seen in training.

`{x}` and `{y}` are things with no article ("dog", "red circle"), `{xs}` a plural, `{s}` a sentence
part. "color" is respelled "colour" in half of the questions by `ask`.
"""

from __future__ import annotations

import random
from pathlib import Path

from models.checkpoint import read_json

# Extra paraphrases for training alone, by kind: written by somebody who had seen none that are held out.
EXTRA: dict[str, list[str]] = read_json(Path(__file__).with_name("extra_paraphrases.json"))
EXTRA_SHARE = 0.6  # of training's questions; the others are worded as half of dev's and test's are

# kind -> (train, held out for dev and test)
ASK: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "what": (
        (
            "What is this?",
            "What do you see?",
            "What is in the picture?",
            "What is it?",
            "What does the picture show?",
            "Name the thing in the picture.",
            "What can you see?",
            "What object is this?",
            "Tell me what this is.",
            "What is shown here?",
            "What am I looking at?",
            "Can you tell me what this is?",
        ),
        ("What have we got here?", "Which object is in the image?", "Say what you see."),
    ),
    "list": (
        (
            "What do you see?",
            "What is in the picture?",
            "What can you see?",
            "List the things in the picture.",
            "What objects are there?",
            "Name everything here.",
            "What is shown here?",
            "What things do you see?",
            "What is there in the picture?",
            "Tell me what you see.",
            "What does the picture show?",
        ),
        ("Which things are in the image?", "List everything you see.", "Say what you see."),
    ),
    "caption": (
        (
            "Describe the picture.",
            "Describe the image.",
            "Describe this picture.",
            "Can you describe the picture?",
            "Tell me about the picture.",
            "Give a caption.",
            "Please describe what you see.",
            "What is going on in the picture?",
            "Write a caption for this image.",
            "Describe this scene.",
        ),
        ("Put the picture into words.", "Could you describe this image for me?"),
    ),
    "color": (
        (
            "What color is the {x}?",
            "What is the color of the {x}?",
            "Which color is the {x}?",
            "What color does the {x} have?",
            "The {x} has what color?",
            "Name the color of the {x}.",
            "Tell me the color of the {x}.",
            "Can you tell me what color the {x} is?",
            "What color is the {x} in the picture?",
            "Which color does the {x} have?",
        ),
        ("Say the color of the {x}.", "In what color is the {x}?"),
    ),
    "background": (
        (
            "What color is the background?",
            "What is the color of the background?",
            "Which color is the background?",
            "What color is behind everything?",
            "Name the background color.",
            "Tell me the color of the background.",
            "What color does the background have?",
            "What is the background color?",
        ),
        ("Say the color of the background.", "In what color is the background?"),
    ),
    "count": (
        (
            "How many {xs} are there?",
            "How many {xs} do you see?",
            "How many {xs} can you see?",
            "Count the {xs}.",
            "How many {xs} are in the picture?",
            "What is the number of {xs}?",
            "How many {xs} does the picture show?",
            "Can you count the {xs}?",
            "Tell me how many {xs} there are.",
            "How many {xs} are shown?",
        ),
        ("How many {xs} have we got here?", "Say how many {xs} you see."),
    ),
    "count_all": (
        (
            "How many objects are there?",
            "How many things are in the picture?",
            "How many things do you see?",
            "Count the objects.",
            "How many objects can you see?",
            "How many things are there?",
            "Count everything in the picture.",
            "What is the number of objects?",
        ),
        ("How many things have we got here?", "Say how many objects you see."),
    ),
    "where": (
        (
            "Where is the {x}?",
            "In which part of the picture is the {x}?",
            "Where can you see the {x}?",
            "Where in the picture is the {x}?",
            "Where do you see the {x}?",
            "Tell me where the {x} is.",
            "What is the position of the {x}?",
            "Where is the {x} located?",
            "Can you tell me where the {x} is?",
        ),
        ("Whereabouts is the {x}?", "Say where the {x} is."),
    ),
    "relation": (
        (
            "Is the {x} {r} the {y}?",
            "Do you see the {x} {r} the {y}?",
            "Does it show the {x} {r} the {y}?",
            "In the picture, is the {x} {r} the {y}?",
            "Tell me, is the {x} {r} the {y}?",
            "Would you say the {x} is {r} the {y}?",
            "Yes or no: is the {x} {r} the {y}?",
            "Can you see the {x} {r} the {y}?",
        ),
        ("Is it true that the {x} is {r} the {y}?", "Have we got the {x} {r} the {y}?"),
    ),
    "relation_what": (
        (
            "What is {r} the {y}?",
            "What do you see {r} the {y}?",
            "Which thing is {r} the {y}?",
            "What can you see {r} the {y}?",
            "Which object is {r} the {y}?",
            "Name the thing {r} the {y}.",
            "Tell me what is {r} the {y}.",
            "What thing is {r} the {y}?",
        ),
        ("Say what is {r} the {y}.", "What have we got {r} the {y}?"),
    ),
    "exists": (
        (
            "Is there {ax} in the picture?",
            "Is there {ax}?",
            "Do you see {ax}?",
            "Can you see {ax}?",
            "Does the picture show {ax}?",
            "Is {ax} in the picture?",
            "Is {ax} there?",
            "Does the picture have {ax}?",
            "Can you find {ax}?",
            "Tell me, is there {ax}?",
        ),
        ("Have we got {ax} here?", "Is it true that there is {ax}?"),
    ),
    "compare": (
        (
            "Which is bigger, the {x} or the {y}?",
            "What is bigger, the {x} or the {y}?",
            "Which one is larger, the {x} or the {y}?",
            "Is the {x} or the {y} bigger?",
            "Which is larger, the {x} or the {y}?",
            "Which of the two is bigger, the {x} or the {y}?",
            "Is the {x} or the {y} larger?",
            "What is larger, the {x} or the {y}?",
        ),
        ("Say which is bigger, the {x} or the {y}.", "Of the {x} and the {y}, which is larger?"),
    ),
    "smaller": (
        (
            "Which is smaller, the {x} or the {y}?",
            "What is smaller, the {x} or the {y}?",
            "Which one is smaller, the {x} or the {y}?",
            "Is the {x} or the {y} smaller?",
            "Which of the two is smaller, the {x} or the {y}?",
            "Tell me which is smaller, the {x} or the {y}.",
            "Which thing is smaller, the {x} or the {y}?",
            "Which object is smaller, the {x} or the {y}?",
        ),
        ("Say which is smaller, the {x} or the {y}.", "Of the {x} and the {y}, which is smaller?"),
    ),
    "more": (
        (
            "Are there more {xs} than {ys}?",
            "Do you see more {xs} than {ys}?",
            "Can you see more {xs} than {ys}?",
            "Does the picture show more {xs} than {ys}?",
            "Are more {xs} than {ys} in the picture?",
            "Tell me, are there more {xs} than {ys}?",
            "Yes or no: are there more {xs} than {ys}?",
            "In the picture, are there more {xs} than {ys}?",
        ),
        ("Have we got more {xs} than {ys}?", "Is it true that there are more {xs} than {ys}?"),
    ),
    "read": (
        (
            "What does the sign say?",
            "Read the sign.",
            "What is written on the sign?",
            "What does it say?",
            "What is the text on the sign?",
            "Can you read the sign?",
            "What do you read on the sign?",
            "Please read the text.",
            "What does the text say?",
            "What is written here?",
        ),
        ("Say what is written there.", "Which text do you see?"),
    ),
    "change": (
        (
            "What happens?",
            "What happens in the video?",
            "What changes?",
            "What is happening?",
            "Describe what happens.",
            "What do you see happen?",
            "What goes on in the video?",
            "Tell me what happens.",
            "What is going on in the video?",
            "Describe the video.",
        ),
        ("Say what happens.", "What is the change in this clip?"),
    ),
    "direction": (
        (
            "Which way does the {x} move?",
            "Where does the {x} move?",
            "In which direction does the {x} move?",
            "Where does the {x} go?",
            "Which way does the {x} go?",
            "In which direction does the {x} go?",
            "Which way is the {x} moving?",
            "Where is the {x} going?",
        ),
        ("Say which way the {x} moves.", "What direction is the {x} moving in?"),
    ),
    "changes": (
        (
            "Does anything change?",
            "Does anything happen?",
            "Is anything changing?",
            "Do you see anything change?",
            "Does something change in the video?",
            "Is there any change?",
            "Tell me, does anything change?",
            "Does anything happen in the video?",
        ),
        ("Does anything change in this clip?", "Have you seen anything change?"),
    ),
    "whether": (
        (
            "Does the {x} {v}?",
            "Do you see the {x} {v}?",
            "Can you see the {x} {v}?",
            "Does the video show the {x} {v}?",
            "Tell me, does the {x} {v}?",
            "Yes or no: does the {x} {v}?",
            "In the video, does the {x} {v}?",
            "Does the {x} {v} in the video?",
        ),
        ("Does the {x} {v} in this clip?", "Is it true that you see the {x} {v}?"),
    ),
    "mover": (
        (
            "What moves?",
            "What is moving?",
            "Which thing moves?",
            "What do you see move?",
            "Which object moves?",
            "What moves in the video?",
            "Tell me what moves.",
            "Name the thing that moves.",
        ),
        ("Say what moves.", "Which thing is moving in this clip?"),
    ),
    "ends": (
        (
            "Where is the {x} at the end?",
            "Where does the {x} end up?",
            "Where is the {x} in the last frame?",
            "Where does the {x} stop?",
            "At the end, where is the {x}?",
            "Tell me where the {x} is at the end.",
            "Where do you see the {x} at the end?",
            "In which part of the picture is the {x} at the end?",
        ),
        ("Say where the {x} is in the end.", "Whereabouts is the {x} at the end?"),
    ),
    "which_picture": (
        (
            "Which picture has {ax}?",
            "Which picture shows {ax}?",
            "In which picture is there {ax}?",
            "In which picture do you see {ax}?",
            "Which image has {ax}?",
            "Which of the pictures has {ax}?",
            "Which one has {ax}?",
            "Where do you see {ax}, in the first or in the second picture?",
            "Tell me which picture has {ax}.",
            "Which image shows {ax}?",
        ),
        ("Say which picture has {ax}.", "In which of the images can {ax} be seen?"),
    ),
    "more_pictures": (
        (
            "Which picture has more things?",
            "Which picture shows more things?",
            "Which picture has more objects?",
            "Which image has more in it?",
            "In which picture do you see more things?",
            "Which one has more things in it?",
            "Which of the two pictures has more objects?",
            "Are there more things in the first or in the second picture?",
        ),
        ("Say which picture has more things.", "Which of the images contains more objects?"),
    ),
    "both_pictures": (
        (
            "Is there {ax} in both pictures?",
            "Do both pictures have {ax}?",
            "Do both pictures show {ax}?",
            "Do you see {ax} in both pictures?",
            "Can you see {ax} in both images?",
            "Do both images have {ax}?",
            "Is {ax} in both pictures?",
            "Tell me, do both pictures have {ax}?",
        ),
        ("Have we got {ax} in both pictures?", "Is it true that both images show {ax}?"),
    ),
    "same_pictures": (
        (
            "Are the two pictures the same?",
            "Are these pictures the same?",
            "Are both pictures the same?",
            "Do the two pictures show the same?",
            "Are the images identical?",
            "Is the second picture the same as the first?",
            "Are these two images the same?",
            "Tell me, are the pictures the same?",
        ),
        ("Is it true that both pictures are the same?", "Would you say these images are the same?"),
    ),
    "difference": (
        (
            "What is different?",
            "What is the difference?",
            "What is the difference between the two pictures?",
            "What is different in the second picture?",
            "How do the pictures differ?",
            "What differs between the pictures?",
            "Find the difference.",
            "What changed between the pictures?",
            "Tell me what is different.",
            "Can you find the difference?",
            "What is the difference between these images?",
        ),
        ("Say what is different.", "In what do the two images differ?"),
    ),
}
# {s}: "a dog and three apples"; {b}: "a green background"; {is}: "is" or "are", as {s} asks.
SAY = (
    (
        "{s}.",
        "{s} on {b}.",
        "There {is} {s} in the picture.",
        "The picture shows {s}.",
        "I see {s}.",
        "This is a picture of {s}.",
        "You can see {s} on {b}.",
        "There {is} {s} on {b}.",
        "The picture shows {s} on {b}.",
        "A picture of {s}.",
        "I can see {s} on {b}.",
        "Here {is} {s}.",
    ),
    ("The image has {s}.", "An image of {s} on {b}.", "We see {s} in this image."),
)
# Two things: {x} and {y} with articles, {r} "to the left of", …
SAY_RELATION = (
    (
        "{x} is {r} {y}.",
        "{x} is {r} {y} on {b}.",
        "There is {x} {r} {y}.",
        "{x} {r} {y}.",
        "The picture shows {x} {r} {y}.",
        "I see {x} {r} {y}.",
        "You can see {x} {r} {y} on {b}.",
        "A picture of {x} {r} {y}.",
    ),
    ("The image has {x} {r} {y}.", "An image of {x} {r} {y} on {b}."),
)


def pick(rng: random.Random, pair: tuple[tuple[str, ...], tuple[str, ...]], split: str) -> str:
    """A template: in training from the train list, else half of the time a held-out one."""
    return rng.choice(pair[1] if split != "train" and rng.random() < 0.5 else pair[0])


def pick_for_training(rng: random.Random, kind: str, wordings: tuple[str, ...]) -> str:
    """A template for training: one of these, or of the extra ones of a kind."""
    extra = EXTRA.get(kind)
    return rng.choice(extra if extra and rng.random() < EXTRA_SHARE else wordings)


def ask(rng: random.Random, kind: str, split: str, **words: str) -> str:
    """A question of a kind."""
    template = pick_for_training(rng, kind, ASK[kind][0]) if split == "train" else pick(rng, ASK[kind], split)
    text = template.format(**words)
    return text.replace("color", "colour") if rng.random() < 0.5 else text
