"""Notes: written down first, kept in the context, and left out where they are not wanted."""

import pytest
import torch

from inference.beams import HEARING_BEAMS, beams_for
from inference.generation import generate, generate_batch
from inference.noting import NOTE_BEAMS, NOTE_TOKENS, TRANSCRIBE_QUESTION, Asked
from inference.omni import Omni
from inference.prompt import Prompt
from inference.session import ChatSession
from models.finder import Found
from models.notes import Sight
from models.omni import NOTE_QUESTION
from tests.inference.conftest import speech, tone


@pytest.fixture
def noting(omni, monkeypatch) -> Omni:
    monkeypatch.setattr(omni.model, "picture_notes", True)
    return omni


def closed(omni, head: Prompt, asked: Asked, beams: int | None = None) -> tuple[Prompt, str]:
    """A turn that the user did not ask, with its answer, and the answer's words."""
    config = omni.config(max_new_tokens=NOTE_TOKENS, num_beams=beams)
    turn = omni.phrase(asked)
    reply = generate(omni.model, head + turn, config, omni.tokenizer)
    return turn + Prompt([*reply, config.eos_token_id]), omni.tokenizer.decode(reply).strip()


def test_a_picture_is_noted_before_the_question(noting, red):
    config = noting.config()
    asked = noting.take("what is it?", red)
    question = Asked(NOTE_QUESTION, asked.images)
    notes, _ = closed(noting, noting.head(None, config), question, NOTE_BEAMS)
    whole = noting.head("be kind", config) + notes + noting.phrase(Asked("what is it?"))
    prompt = noting.prompt("what is it?", red, None, None, "be kind", config)
    assert prompt.ids == whole.ids and len(prompt.images) == 1
    plain = noting.prompt("what is it?", red, None, None, "be kind", noting.config(notes=False))
    assert plain.ids == (noting.head("be kind", config) + noting.turn("what is it?", red)).ids


def test_notes_of_a_picture_are_searched_for_unless_beams_are_given(noting, red, monkeypatch):
    widths = []
    written = generate_batch

    def watch(model, prompts, config, tokenizer):
        widths.append((config.num_beams, config.temperature))
        return written(model, prompts, config, tokenizer)

    monkeypatch.setattr("inference.noting.generate_batch", watch)
    noting.chat("what?", image=red, max_new_tokens=2)
    noting.chat("what?", image=red, max_new_tokens=2, temperature=0.7)
    noting.chat("what?", image=red, max_new_tokens=2, num_beams=1)
    assert widths == [(NOTE_BEAMS, 0.0), (NOTE_BEAMS, 0.0), (1, 0.0)]


class Seeing:
    """A finder of which the eyes' tokens are not asked: so many dogs in every picture."""

    def __init__(self, dogs: int):
        self.dogs = dogs

    def find(self, tokens):
        dogs = [Sight("dog", "dogs", "small", 20.0 + 60 * i, 20.0) for i in range(self.dogs)]
        return [Found("red", dogs) for _ in tokens]


def refuse(*_):
    raise AssertionError("nothing is to be written")


def test_what_was_found_is_noted_without_writing_it(noting, red, blue, monkeypatch):
    monkeypatch.setattr(noting.model, "finder", Seeing(2))
    monkeypatch.setattr("inference.noting.generate_batch", refuse)
    config = noting.config()
    prompt = noting.prompt("what is it?", red, None, None, None, config)
    said = "On a red background: small dog one top left, small dog two top. So: two dogs."
    messages = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": NOTE_QUESTION}]},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "what is it?"},
    ]
    assert prompt.ids == noting.tokenizer.encode_chat(messages) and len(prompt.images) == 1
    film = noting.prompt("what is it?", [red, blue], None, None, None, config)
    assert "Frames: small dog one one" in noting.tokenizer.decode(film.ids)
    with pytest.raises(AssertionError, match="nothing is to be"):  # the control: no finder
        monkeypatch.setattr(noting.model, "finder", None)
        noting.prompt("what is it?", red, None, None, None, config)


class Photographs:
    """A glance that takes every picture for a photograph."""

    def probabilities(self, pixels):
        return torch.tensor([[0.1, 0.9]]).expand(len(pixels), -1)


@pytest.mark.parametrize("dogs", [0, 2])
def test_what_the_finder_does_not_know_the_model_notes_itself(noting, red, dogs, monkeypatch):
    own = noting.prompt("what is it?", red, None, None, None, noting.config())
    monkeypatch.setattr(noting.model, "finder", Seeing(dogs))
    if dogs:  # seen in a photograph, which is the glance's
        find = noting.model.find
        monkeypatch.setattr(noting.model, "find", lambda pixels: [None for _ in find(pixels)])
    assert noting.prompt("what is it?", red, None, None, None, noting.config()).ids == own.ids


def test_a_photograph_is_not_searched_for_things(noting, red, monkeypatch):
    monkeypatch.setattr(noting.model, "finder", Seeing(2))
    pixels = noting.take("what?", red).images[0][None]
    assert noting.model.find(pixels)[0].sights
    monkeypatch.setattr(noting.model, "glance", Photographs())
    assert noting.model.find(pixels) == [None]


def test_a_model_that_was_not_taught_notes_takes_none(omni, red):
    config = omni.config()
    assert not omni.model.picture_notes
    assert omni.prompt("what?", red, None, None, None, config).ids == (
        omni.head(None, config) + omni.turn("what?", red)
    ).ids


def test_a_spoken_question_is_written_down_and_then_asked(omni):
    sound, config = (tone(500), 16_000), omni.config()
    mels = omni.take(None, None, sound).mels
    notes, words = closed(omni, omni.head(None, config), Asked(TRANSCRIBE_QUESTION, mels=mels))
    assert words
    prompt = omni.prompt(None, None, sound, None, None, config)
    assert prompt.ids == (omni.head(None, config) + notes + omni.phrase(Asked(words))).ids
    assert (len(prompt.mels), prompt.noted) == (1, 1)
    assert beams_for(config, prompt) == 1
    direct = omni.prompt(None, None, sound, None, None, omni.config(notes=False))
    assert beams_for(config, direct) == HEARING_BEAMS


def test_beside_a_picture_a_spoken_question_is_as_if_it_were_typed(noting, red):
    sound, config = (tone(500), 16_000), noting.config()
    mels = noting.take(None, None, sound).mels
    _, words = closed(noting, noting.head(None, config), Asked(TRANSCRIBE_QUESTION, mels=mels))
    prompt = noting.prompt(None, red, sound, None, None, config)
    assert words and prompt.ids == noting.prompt(words, red, None, None, None, config).ids
    assert (len(prompt.images), len(prompt.mels)) == (1, 0)


def test_what_is_seen_is_expected_in_the_question(noting, red, blue, monkeypatch):
    monkeypatch.setattr(noting.model, "finder", Seeing(1))
    heard = []

    def watch(model, prompts, config, tokenizer):
        heard.extend(prompt.seen for prompt in prompts)
        return generate_batch(model, prompts, config, tokenizer)

    monkeypatch.setattr("inference.noting.generate_batch", watch)
    sound, config = (speech(), 16_000), noting.config()
    noting.prompts([noting.take(None, red, sound), noting.take(None, None, sound)], config)
    assert heard == [{"dog", "dogs"}, frozenset()]
    chat = ChatSession(noting, max_new_tokens=2)
    for media in ({"image": red}, {}, {"image": blue, "audio": sound}, {"audio": sound}):
        chat.ask(None if "audio" in media else "what?", **media)
        monkeypatch.setattr(noting.model, "finder", Seeing(0))  # in the second picture is nothing
    assert [set(turn.prompt.seen) for turn in chat.turns] == [{"dog", "dogs"}] * 2 + [set()] * 2


def test_words_about_a_sound_are_asked_of_the_sound(omni):
    prompt = omni.prompt("how loud?", None, (tone(500), 16_000), None, None, omni.config())
    assert (len(prompt.mels), prompt.noted) == (1, 0)


def test_media_that_leave_no_room_have_no_notes(noting, red):
    config = noting.config(max_seq_len=49 + 2 * NOTE_TOKENS, max_new_tokens=20)
    prompt = noting.prompt("what?", red, None, None, None, config)
    assert prompt.ids == (noting.head(None, config) + noting.turn("what?", red)).ids


def test_many_turns_are_noted_as_one_by_one(noting, red, blue):
    config = noting.config(max_new_tokens=8)
    sound = (tone(300), 16_000)
    turns = [
        noting.take("what?", red), noting.take("hello"), noting.take(None, None, sound),
        noting.take(None, blue, sound),
    ]
    together = noting.prompts(turns, config)
    alone = [noting.prompts([turn], config)[0] for turn in turns]
    assert [prompt.ids for prompt in together] == [prompt.ids for prompt in alone]
    assert [len(prompt.mels) for prompt in together] == [0, 0, 1, 0]  # beside a picture, as if typed
