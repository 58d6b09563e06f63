"""The front end: what is said for what is written, spelling to phones, durations."""

import pytest
import torch

from models.errors import UserError
from models.frontend import Frontend, FrontendConfig
from models.g2p import G2PConfig, GraphemeToPhone, can_learn, letters_to_ids
from models.normalizer import can_say, normalise
from models.phones import IDS, PAD_ID, PAUSE_ID

SAID = {
    "Hello, world!": "hello , world .",
    "I have 3 cats and 21 dogs.": "i have three cats and twenty one dogs .",
    "1,234,567": "one million two hundred and thirty four thousand five hundred and sixty seven",
    "It costs $3.50.": "it costs three dollars and fifty cents .",
    "$1": "one dollar",
    "£0.99": "ninety nine pence",
    "$5 million": "five million dollars",
    "at 5:30 pm": "at five thirty pee em",
    "5:00": "five o clock",
    "at 7 a.m. today": "at seven ay em today",
    "on 2024-03-05": "on march fifth , twenty twenty four",
    "3/5/2024": "march fifth , twenty twenty four",
    "July 4": "july fourth",
    "in 1984": "in nineteen eighty four",
    "the 1990s": "the nineteen nineties",
    "the 21st": "the twenty first",
    "Dr. Smith": "doctor smith",
    "Mr. J. R. Smith": "mister jay are smith",
    "50% & more": "fifty percent and more",
    "25°C": "twenty five degrees celsius",
    "5 km": "five kilometers",
    "1 kg": "one kilogram",
    "1/2 cup": "one half cup",
    "-5": "minus five",
    "3.14": "three point one four",
    "007": "zero zero seven",
    "The FBI": "the eff bee eye",
    "Café naïve Ærø": "cafe naive aero",
    "the dog's bone isn't here": "the dog's bone isn't here",
    "wait... what?": "wait . what .",
    "tv": "tee vee",
    "No. 5": "number five",
    "2 + 2 = 4": "two plus two equals four",
    "i.e. this": "that is this",
    "x": "ex",
}


@pytest.mark.parametrize("text", SAID)
def test_normalise(text):
    assert " ".join(normalise(text)) == SAID[text]


@pytest.mark.parametrize("text", ["", "   ", "!!!", "你好", "\u0000", "🙂"])
def test_nothing_to_say_is_a_clear_error(text):
    assert not can_say(text)
    with pytest.raises(UserError, match="nothing to say"):
        normalise(text)


@pytest.mark.parametrize(
    "text", ["99:99", "1/0", "13/45/2020", "2024-99-99", "$.5", "9" * 400, "a" * 5000, "1.2.3.4",
             "--", "٣ cats", "x" * 40, "0/0/0000", "25:00", "1e5", "½", "Ⅷ and ①", "🙂 hello"]
)
def test_odd_text_does_not_break(text):
    if can_say(text):
        words = normalise(text)
        assert all(w in ",." or set(w) <= set("abcdefghijklmnopqrstuvwxyz'") for w in words)
        Frontend(FrontendConfig()).eval()(text, "rms")


def test_g2p_learns_spelling():
    torch.manual_seed(0)
    model = GraphemeToPhone(G2PConfig(hidden_size=48, num_layers=1, intermediate_size=96))
    book = {"cat": "k ae1 t", "dog": "d ao1 g", "cot": "k aa1 t", "tag": "t ae1 g", "box": "b aa1 k s"}
    phones = [torch.tensor([IDS[p] for p in said.split()]) for said in book.values()]
    sounds = torch.nn.utils.rnn.pad_sequence(phones, batch_first=True)
    letters = letters_to_ids(list(book))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    for _ in range(120):
        optimizer.zero_grad()
        model.loss(letters, sounds).backward()
        optimizer.step()
    assert model.eval().phones(list(book)) == [p.tolist() for p in phones]


def test_g2p_batch_equals_single():
    model = Frontend(FrontendConfig()).eval().g2p
    words = ["a", "extraordinary", "cat's"]
    assert model.phones(words) == [model.phones([word])[0] for word in words]


def test_ctc_needs_room():
    assert can_learn("x", [3, 4, 5])
    assert not can_learn("x", [3, 3, 5])  # a blank must part equal neighbours
    assert not can_learn("", [3])


def test_sentence_has_pauses_and_durations():
    frontend = Frontend(FrontendConfig()).eval()
    ready = frontend("Hello, world.", "slt")
    assert ready.phones[0] == PAUSE_ID and ready.phones[-1] == PAUSE_ID
    assert int(ready.starts.sum()) <= 2 and (ready.seconds > 0).all()
    assert (ready.phones != PAD_ID).all()


def test_speed_shortens():
    frontend = Frontend(FrontendConfig()).eval()
    slow, fast = (float(frontend("Hello there.", "rms", s).seconds.sum()) for s in (0.8, 1.6))
    assert slow == pytest.approx(2 * fast, rel=0.05)


@pytest.mark.parametrize("wrong", [{"voice": "bob"}, {"voice": "rms", "speed": 9.0}])
def test_wrong_voice_or_speed_is_a_clear_error(wrong):
    with pytest.raises(UserError):
        Frontend(FrontendConfig()).eval()("Hello", **wrong)


def test_parameter_budget():
    assert sum(p.numel() for p in Frontend(FrontendConfig()).parameters()) <= 700_000
