"""Batched asking gives the answers that a user would get."""

import random

import torch
from PIL import Image

from evaluation.asking import Asker, user_turn
from evaluation.text import answer_all
from inference import Omni


def test_prompts_and_answers_are_those_of_a_user(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    asker = Asker(omni, max_new_tokens=6)
    grey = torch.full((3, 224, 224), 128, dtype=torch.uint8)
    wave = torch.sin(torch.arange(8000) * 0.1) * 0.1
    heard = omni.take(None, audio=(wave.numpy(), 16000))  # levelled, as a user's recording is
    turns = [user_turn("What is it?", [grey]), user_turn("Hi"), user_turn("", mels=[heard.sounds[0].mel])]
    users = [
        omni.chat("What is it?", image=Image.new("RGB", (224, 224), (128,) * 3), max_new_tokens=6),
        omni.chat("Hi", max_new_tokens=6),
        omni.chat(audio=(wave.numpy(), 16000), max_new_tokens=6, vad=False),
    ]
    assert asker.ask(turns, "test") == users


def test_conversations_go_on_from_the_models_own_answers(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    asker = Asker(omni, max_new_tokens=5)
    asked = [["Hello", "And you?"], ["One"]]
    chats = [{"messages": [{"role": "system", "content": "Be kind."}]}, {"messages": []}]
    said = answer_all(asker, chats, asked, "test")
    assert [len(row) for row in said] == [2, 1]
    session = omni.session("Be kind.", max_new_tokens=5)
    assert said[0] == [session.ask(text) for text in asked[0]]


def test_majority_is_the_most_frequent_answer_of_the_kind():
    from evaluation.vision import majority

    questions = [{"kind": "color", "answer": a} for a in ("Red.", "Blue.", "Red.")]
    random.Random(0).shuffle(questions)
    assert majority(questions) == ["Red."] * 3


def test_a_direct_asker_opens_no_thinking(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    asker, grey = Asker(omni, max_new_tokens=7), torch.full((3, 224, 224), 128, dtype=torch.uint8)
    turns = [user_turn("Hm?", [grey])]
    assert omni.tokenizer.think in asker.prompts(turns)[0].ids
    assert omni.tokenizer.think not in asker.direct().prompts(turns)[0].ids
    assert asker.direct().config.max_new_tokens == 7
