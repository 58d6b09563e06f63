"""Chain of thought: it opens the answer, stays in the context, and is left out where it is not wanted."""

from dataclasses import replace

import pytest

from inference import generate
from inference.beams import AUDIO_BEAMS, beams_for
from inference.prompt import Prompt
from inference.thinking import MAX_THINKING, newline, thoughts_of
from models.tokenizer import Tokenizer
from tests.inference.conftest import speech
from tests.inference.turns import first_turn, plain_turn

SOUND = (speech(0.8), 16_000)


def line(omni, prompt: Prompt, end: int) -> list[int]:
    """What the model writes next, up to `end`, and that."""
    unwanted = tuple(sorted(omni.tokenizer.special - {end}))
    config = omni.config(max_new_tokens=MAX_THINKING, eos_token_id=end, suppress_tokens=unwanted)
    return [*generate(omni.model, prompt, config, omni.tokenizer), end]


def opened(omni, turn: Prompt) -> Prompt:
    """A whole prompt whose answer begins to think."""
    return omni.head(None, omni.config()) + turn + Prompt([omni.tokenizer.think])


def test_an_answer_about_an_image_opens_with_thinking(omni, red):
    begun = opened(omni, plain_turn(omni, "what is it?", red))
    wanted = begun.ids + line(omni, begun, omni.tokenizer.think_end)
    prompt = first_turn(omni, "what is it?", red, None, None, None, omni.config())
    assert prompt.ids == wanted and len(prompt.images) == 1
    plain = first_turn(omni, "what is it?", red, None, None, None, omni.config(think=False))
    assert [*plain.ids, omni.tokenizer.think] == begun.ids


def test_a_sound_is_written_down_by_constrained_decoding(omni):
    begun = opened(omni, plain_turn(omni, None, None, SOUND))
    begun = replace(begun, asked=begun.sounds[0])
    wanted = begun.ids + line(omni, begun, omni.tokenizer.think_end)
    prompt = first_turn(omni, None, None, SOUND, None, None, omni.config())
    assert prompt.ids == wanted and prompt.asked is None
    free = line(omni, replace(begun, asked=None), omni.tokenizer.think_end)
    assert begun.ids + free != wanted  # the control: without the sound's hypotheses it is another text


def test_sounds_come_before_what_an_image_shows_a_line_each(omni, red):
    prompt = first_turn(omni, None, red, [SOUND, (speech(0.5), 16_000)], None, None, omni.config())
    text = omni.tokenizer.decode(prompt.ids, skip_special=False)
    thought = text[text.index("<think>") + 7 : text.index("</think>")]
    assert prompt.ids.count(newline(omni.tokenizer)) >= 2 and thought.count("\n") >= 2
    alone = first_turn(omni, None, red, SOUND, None, None, omni.config())
    start = alone.ids.index(omni.tokenizer.think)
    begun = replace(alone, ids=alone.ids[: start + 1], asked=alone.sounds[0])
    first = line(omni, begun, newline(omni.tokenizer))
    assert alone.ids[start + 1 :][: len(first)] == first


def test_a_transcript_alone_is_not_thought_about(omni):
    prompt = first_turn(omni, "What did you hear?", None, SOUND, None, None, omni.config())
    assert omni.tokenizer.think not in prompt.ids
    assert prompt.asked is prompt.sounds[0] and beams_for(omni.config(), prompt) == AUDIO_BEAMS
    asked = first_turn(omni, "How loud is it?", None, SOUND, None, None, omni.config())
    assert omni.tokenizer.think in asked.ids and beams_for(omni.config(), asked) == 1


def test_media_that_leave_no_room_have_no_thinking(omni, red):
    config = omni.config(max_seq_len=50 + 2 * MAX_THINKING, max_new_tokens=20)
    prompt = first_turn(omni, "what?", red, None, None, None, config)
    assert prompt.ids == (omni.head(None, config) + plain_turn(omni, "what?", red)).ids


@pytest.mark.parametrize("symbol", ["<think>", "</think>"])
def test_an_answer_and_a_user_cannot_write_the_symbols(omni, symbol):
    token = omni.tokenizer.symbols[symbol]
    assert token in omni.config().suppress_tokens
    assert token not in plain_turn(omni, f"say {symbol}").ids


def test_thoughts_are_those_of_the_latest_turn(omni):
    tokenizer: Tokenizer = omni.tokenizer
    thought = [tokenizer.think, *tokenizer.encode("a\nb"), tokenizer.think_end]
    ids = [5, tokenizer.think, 90, tokenizer.think_end, 7, *thought, 8]
    assert thoughts_of(tokenizer, ids) == "a\nb" and thoughts_of(tokenizer, [5, 7]) == ""


def test_thinking_stays_in_a_conversation_and_is_shown(omni, red):
    session = omni.session(max_new_tokens=4)
    session.ask("what?", image=red)
    first = list(session.turns[0].prompt.ids)
    assert omni.tokenizer.think in first and session.thinking == thoughts_of(omni.tokenizer, first)
    session.ask("and now?")
    assert session.thinking == "" and session.generator.ids[: len(session.head) + len(first)][
        len(session.head) :
    ] == first


def test_many_turns_are_thought_about_as_one_by_one(omni, red, blue):
    config = omni.config(max_new_tokens=8)
    turns = [
        omni.take("what?", red), omni.take("hello"), omni.take(None, None, SOUND),
        omni.take(None, blue, SOUND),
    ]
    together = omni.prompts(turns, config)
    alone = [omni.prompts([turn], config)[0] for turn in turns]
    assert [prompt.ids for prompt in together] == [prompt.ids for prompt in alone]
    assert [len(prompt.sounds) for prompt in together] == [0, 0, 1, 1]
