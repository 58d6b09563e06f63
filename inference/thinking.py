"""Chain of thought: the model writes down what it sees or hears before it answers.

A turn with images opens with `NOTE_QUESTION`, which the user did not ask, and a sound that comes without
words with `TRANSCRIBE_QUESTION`. The Thinker answers them; both stay in the context, and then comes the
user's question, a spoken one as it was transcribed. Beside an image only the transcript is kept, as if
it had been typed. What it buys is measured beside direct answers (`--no_think`).

Paper: Wei et al., Chain-of-thought prompting, arXiv:2201.11903.
"""

from dataclasses import replace

from inference.config import GenerateConfig
from inference.generation import generate_batch
from inference.prompt import Prompt, UserTurn
from models.omni import NOTE_QUESTION, TRANSCRIBE_QUESTION
from models.tokenizer import Tokenizer

MAX_THINKING = 160  # tokens: nine things in an image take 100
IMAGE_BEAMS = 4  # beams of the thinking about an image, unless `num_beams` says otherwise


def think(
    omni, questions: list[UserTurn], config: GenerateConfig, room: int
) -> list[tuple[Prompt, UserTurn]]:
    """For each question what is thought before its answer, and what is left to ask.

    Thinking depends on nothing that was said before. Media that leave no room for it have none.

    Args:
        omni: the `Omni` that is asked.
        room: tokens that a turn may have.
    """
    thoughts = [Prompt([]) for _ in questions]
    left = [replace(question) for question in questions]
    if omni.model.thinks:
        shown = {
            i: UserTurn(NOTE_QUESTION, question.images)
            for i, question in enumerate(questions)
            if question.images
        }
        beams = config.num_beams or IMAGE_BEAMS
        for i, (turn, _) in write(omni, shown, config, room, beams).items():
            thoughts[i], left[i].images = turn, []
    heard = {
        i: UserTurn(TRANSCRIBE_QUESTION, sounds=question.sounds)
        for i, question in enumerate(questions)
        if question.sounds and not question.text
    }
    for i, (turn, words) in write(omni, heard, config, room, config.num_beams).items():
        if not words:  # no words in it: the sound itself is left to be answered
            continue
        left[i].sounds, left[i].text = [], words
        if not questions[i].images:
            thoughts[i] = thoughts[i] + turn
    return list(zip(thoughts, left, strict=True))


def write(
    omni, questions: dict[int, UserTurn], config: GenerateConfig, room: int, beams: int | None
) -> dict[int, tuple[Prompt, str]]:
    """Answer these questions in one batch -> by key the whole turn, and the answer's text."""
    turns = {key: omni.phrase(question) for key, question in questions.items()}
    turns = {key: turn for key, turn in turns.items() if len(turn) + 2 * MAX_THINKING <= room}
    if not turns:
        return {}
    greedy = replace(
        config, max_new_tokens=MAX_THINKING, num_beams=beams, temperature=0.0,
        repetition_penalty=1.0, top_k=None, top_p=None, min_p=None, stop_strings=(),
    )
    prompts = [omni.head(None, config) + turn for turn in turns.values()]
    replies = generate_batch(omni.model, prompts, greedy, omni.tokenizer)
    return {
        key: (closed(turn, reply, config), omni.tokenizer.decode(reply).strip())
        for (key, turn), reply in zip(turns.items(), replies, strict=True)
    }


def closed(turn: Prompt, reply: list[int], config: GenerateConfig) -> Prompt:
    """A turn with its answer; its sounds are transcribed by then."""
    ids = [*turn.ids, *reply, config.eos_token_id]
    return Prompt(ids, turn.images, turn.sounds, transcribed=len(turn.sounds))


def thoughts_of(tokenizer: Tokenizer, ids: list[int]) -> tuple[list[str], str]:
    """The thinking in a user turn's ids, one text a medium, and the question that follows it."""
    user, assistant = (tokenizer.symbols[f"<|{role}|>"] for role in ("user", "assistant"))
    starts = [place for place, token in enumerate(ids) if token == user]
    parts = [ids[a:b] for a, b in zip(starts, [*starts[1:], len(ids)], strict=True)]
    thoughts = [part[part.index(assistant) + 1 :] for part in parts[:-1]]
    return [tokenizer.decode(one).strip() for one in thoughts], tokenizer.decode(parts[-1]).strip()
