"""The front end: what is said for what is written, spelling to phones, durations."""

import pytest
import torch

from inference.normalisation import normalise
from models.errors import UserError
from models.frontend import Frontend, FrontendConfig
from models.g2p import G2PConfig, GraphemeToPhone, can_learn, letters_to_ids, split_long
from models.phones import IDS, MARKS, PAD_ID, PAUSE, PHONES

ODD = ["99:99", "x" * 40, "a" * 5000, "1.2.3.4", "½", "A"]


@pytest.mark.parametrize("text", ODD)
def test_odd_text_is_spoken(text):
    torch.manual_seed(0)  # some untrained weights give "A" too few phones
    ready = Frontend(FrontendConfig()).eval()(normalise(text), "fenrir")
    assert len(ready.phones) > 2


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


def test_long_words_are_read_to_their_end():
    """A word of 45 letters is read in parts; without them its end would be cut off."""
    model = Frontend(FrontendConfig()).eval().g2p
    word = "pneumonoultramicroscopicsilicovolcanoconiosis"
    assert split_long(word) == [word[:23], word[23:]] and split_long("cat") == ["cat"]
    first, last = model.phones(split_long(word))
    assert model.phones(["cat", word, "dog"])[1] == first + last


def test_no_word_is_silent():
    """A network that finds every slot blank still gives the word its likeliest phone."""
    model = Frontend(FrontendConfig()).eval().g2p
    model.head.bias = torch.nn.Parameter(torch.zeros(len(PHONES)))
    model.head.bias.data[PAD_ID] = 1000.0
    assert [len(row) for row in model.phones(["a", "dog"])] == [1, 1]
    assert PAD_ID not in sum(model.phones(["a", "dog"]), [])


def test_ctc_needs_room():
    assert can_learn("x", [3, 4, 5])
    assert not can_learn("x", [3, 3, 5])  # a blank must part equal neighbours
    assert not can_learn("", [3])


def test_sentence_has_pauses_and_durations():
    frontend = Frontend(FrontendConfig()).eval()
    ready = frontend(normalise("Hello, world."), "emma")
    assert ready.phones[0] == ready.phones[-1] == PAUSE
    assert int(ready.script.starts.sum()) <= 2 and (ready.seconds > 0).all()
    assert (ready.script.phones != PAD_ID).all()


def test_each_phone_knows_the_mark_that_ends_its_phrase():
    frontend = Frontend(FrontendConfig()).eval()
    frontend.g2p.phones = lambda words: [[IDS["b"]] for _ in words]
    ids, starts, marks = frontend.phones(normalise("Well, is it? Yes."))
    said = [(PHONES[i], s, MARKS[m]) for i, s, m in zip(ids, starts, marks, strict=True)]
    assert said == [("pau", 0, ","), ("b", 1, ","), ("pau", 0, ","), ("b", 1, "?"), ("b", 1, "?"),
                    ("pau", 0, "?"), ("b", 1, "."), ("pau", 0, ".")]


def test_speed_shortens():
    frontend = Frontend(FrontendConfig()).eval()
    slow, fast = (float(frontend(normalise("Hello there."), "fenrir", s).seconds.sum()) for s in (0.8, 1.6))
    assert slow == pytest.approx(2 * fast, rel=0.05)


@pytest.mark.parametrize("wrong", [{"voice": "bob"}, {"voice": "fenrir", "speed": 9.0}])
def test_wrong_voice_or_speed_is_a_clear_error(wrong):
    with pytest.raises(UserError):
        Frontend(FrontendConfig()).eval()(["hello"], **wrong)


def test_parameter_budget():
    assert sum(p.numel() for p in Frontend(FrontendConfig()).parameters()) <= 1_100_000


@pytest.mark.parametrize("part", ["g2p", "prosody"])
@pytest.mark.parametrize("value", [None, {}, "x", True, [1], float("nan")])
def test_wrong_sizes_of_its_networks_are_told_when_it_is_built(part, value):
    config = FrontendConfig()
    getattr(config, part)["rope_theta"] = value
    with pytest.raises(UserError, match="rope_theta"):
        Frontend(config)
