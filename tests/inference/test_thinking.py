"""Chain of thought: written first, kept in the context, and left out where it is not wanted."""

import pytest

from inference.beams import AUDIO_BEAMS, beams_for
from inference.generation import generate, generate_batch
from inference.omni import Omni
from inference.prompt import Prompt, UserTurn
from inference.thinking import IMAGE_BEAMS, MAX_THINKING
from models.omni import NOTE_QUESTION, TRANSCRIBE_QUESTION
from tests.inference.conftest import speech


@pytest.fixture
def thinking(omni, monkeypatch) -> Omni:
    monkeypatch.setattr(omni.model, "thinks", True)
    return omni


def closed(omni, head: Prompt, asked: UserTurn, beams: int | None = None) -> tuple[Prompt, str]:
    """A turn that the user did not ask, with its answer, and the answer's words."""
    config = omni.config(max_new_tokens=MAX_THINKING, num_beams=beams)
    turn = omni.phrase(asked)
    reply = generate(omni.model, head + turn, config, omni.tokenizer)
    return turn + Prompt([*reply, config.eos_token_id]), omni.tokenizer.decode(reply).strip()


def test_thinking_comes_before_the_question(thinking, red):
    config = thinking.config()
    asked = thinking.take("what is it?", red)
    question = UserTurn(NOTE_QUESTION, asked.images)
    notes, _ = closed(thinking, thinking.head(None, config), question, IMAGE_BEAMS)
    whole = thinking.head("be kind", config) + notes + thinking.phrase(UserTurn("what is it?"))
    prompt = thinking.prompt("what is it?", red, None, None, "be kind", config)
    assert prompt.ids == whole.ids and len(prompt.images) == 1
    plain = thinking.prompt("what is it?", red, None, None, "be kind", thinking.config(think=False))
    assert plain.ids == (thinking.head("be kind", config) + thinking.turn("what is it?", red)).ids


def test_thinking_about_an_image_are_searched_for_unless_beams_are_given(thinking, red, monkeypatch):
    widths = []
    written = generate_batch

    def watch(model, prompts, config, tokenizer):
        widths.append((config.num_beams, config.temperature))
        return written(model, prompts, config, tokenizer)

    monkeypatch.setattr("inference.thinking.generate_batch", watch)
    thinking.chat("what?", image=red, max_new_tokens=2)
    thinking.chat("what?", image=red, max_new_tokens=2, temperature=0.7)
    thinking.chat("what?", image=red, max_new_tokens=2, num_beams=1)
    assert widths == [(IMAGE_BEAMS, 0.0), (IMAGE_BEAMS, 0.0), (1, 0.0)]


def test_a_model_that_was_not_trained_to_think_does_not(omni, red):
    config = omni.config()
    assert not omni.model.thinks
    assert omni.prompt("what?", red, None, None, None, config).ids == (
        omni.head(None, config) + omni.turn("what?", red)
    ).ids


def test_a_spoken_question_is_written_down_and_then_asked(omni):
    sound, config = (speech(), 16_000), omni.config()
    sounds = omni.take(None, None, sound).sounds
    notes, words = closed(omni, omni.head(None, config), UserTurn(TRANSCRIBE_QUESTION, sounds=sounds))
    assert words
    prompt = omni.prompt(None, None, sound, None, None, config)
    assert prompt.ids == (omni.head(None, config) + notes + omni.phrase(UserTurn(words))).ids
    assert (len(prompt.sounds), prompt.transcribed) == (1, 1)
    assert beams_for(config, prompt) == 1
    direct = omni.prompt(None, None, sound, None, None, omni.config(think=False))
    assert beams_for(config, direct) == AUDIO_BEAMS


def test_beside_a_picture_a_spoken_question_is_as_if_it_were_typed(thinking, red):
    sound, config = (speech(), 16_000), thinking.config()
    sounds = thinking.take(None, None, sound).sounds
    _, words = closed(thinking, thinking.head(None, config), UserTurn(TRANSCRIBE_QUESTION, sounds=sounds))
    prompt = thinking.prompt(None, red, sound, None, None, config)
    assert words and prompt.ids == thinking.prompt(words, red, None, None, None, config).ids
    assert (len(prompt.images), len(prompt.sounds)) == (1, 0)


def test_words_about_a_sound_are_asked_of_the_sound(omni):
    prompt = omni.prompt("how loud?", None, (speech(), 16_000), None, None, omni.config())
    assert (len(prompt.sounds), prompt.transcribed) == (1, 0)


def test_media_that_leave_no_room_have_no_thinking(thinking, red):
    config = thinking.config(max_seq_len=49 + 2 * MAX_THINKING, max_new_tokens=20)
    prompt = thinking.prompt("what?", red, None, None, None, config)
    assert prompt.ids == (thinking.head(None, config) + thinking.turn("what?", red)).ids


def test_many_turns_are_thought_about_as_one_by_one(thinking, red, blue):
    config = thinking.config(max_new_tokens=8)
    sound = (speech(0.8), 16_000)
    turns = [
        thinking.take("what?", red), thinking.take("hello"), thinking.take(None, None, sound),
        thinking.take(None, blue, sound),
    ]
    together = thinking.prompts(turns, config)
    alone = [thinking.prompts([turn], config)[0] for turn in turns]
    assert [prompt.ids for prompt in together] == [prompt.ids for prompt in alone]
    assert [len(prompt.sounds) for prompt in together] == [0, 0, 1, 0]  # beside a picture, as if typed
