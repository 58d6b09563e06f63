"""The small world of preset `nano`: what it holds, and that nothing of the large one leaks in."""

import random
import re

import pytest

from data.corpus import CorpusOptions, token_stream
from data.dialogue.conversation import KINDS, picture_lines, sample_conversation
from data.scenes.build import MakeScene
from data.scenes.objects import COLORS, FEW_COLORS, FEW_SHAPES
from data.scenes.objects import KINDS as THINGS
from data.scenes.scene import Scene
from data.shards import ShardReader
from data.speech.asr_corpus import build_hearing
from data.speech.samples import samples
from data.speech.speaking_sets import build_set
from data.speech.word_samples import PAIRS, SPEAKER, VOICES, WORDS
from models.tokenizer import Tokenizer
from training.config import load_preset
from training.objectives.tokenizer import train_tokenizer, training_lines

NANO = load_preset("nano")
CHATS = tuple(NANO["tokenizer"]["data"]["kinds"])
OTHERS = ({*THINGS, *COLORS} - {*FEW_SHAPES, *FEW_COLORS})


def named(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_picture_holds_one_of_ten_shapes_in_six_colours(split):
    seen = set()
    for index in range(300):
        scene, record = MakeScene(1, split, "few").describe(index)
        (thing,) = scene.things
        seen.add((thing.name, thing.color))
        assert scene.background.color in FEW_COLORS and thing.color != scene.background.color
        for question in record["questions"]:
            assert not named(question["question"] + question["answer"]) & OTHERS
    assert {name for name, _ in seen} == {*FEW_SHAPES} and {color for _, color in seen} == {*FEW_COLORS}


def test_conversations_are_of_the_kinds_asked_for():
    rng, kinds = random.Random(0), set()
    for _ in range(200):
        chat = sample_conversation(rng, "train", ("greeting", "thanks"))
        kinds |= {check["kind"] for check in chat["checks"]}
        assert 1 <= len(chat["checks"]) <= 3
    assert kinds == {"greeting", "thanks"}


def test_without_kinds_conversations_are_those_of_before():
    one, two = (sample_conversation(random.Random(7), "train", *kinds) for kinds in ((), ((),)))
    assert one == two


def test_the_vocabulary_is_cut_for_the_small_world_alone(tmp_path):
    lines = list(training_lines(None, seed=0, **NANO["tokenizer"]["data"] | {"conversations": 200}))
    assert not named(" ".join(picture_lines(random.Random(0), "train", "few"))) & OTHERS
    train_tokenizer(lines, tmp_path / "tokenizer.model", 512)
    tokenizer = Tokenizer(tmp_path / "tokenizer.model")
    assert len(tokenizer.encode("A red circle.")) <= 6
    data = NANO["thinker"]["data"]["corpus"] | {"train_tokens": 4000}
    tokens, counts = token_stream("train", tmp_path / "tokenizer.model", CorpusOptions(**data))
    assert counts["told"] and counts["conversations"]
    assert "star" in tokenizer.decode(tokens.tolist())


def test_each_split_has_its_own_voices_that_say_every_word():
    for split, voices in VOICES.items():
        said = {(r["voice"], r["text"]) for r in samples(split, "words") if r["voice"] != SPEAKER}
        assert said == {(voice, word) for voice in voices for word in WORDS}
    assert len({voice for voices in VOICES.values() for voice in voices}) == sum(map(len, VOICES.values()))


def test_words_are_heard_and_one_voice_says_all_of_them(tmp_path):
    build_hearing(tmp_path / "heard", 30, split="test", source="words")
    heard = ShardReader(tmp_path / "heard")
    assert {heard.record(i)["voice"] for i in range(30)} <= {*VOICES["test"]}
    build_set("words", tmp_path / "said", 48)
    said = ShardReader(tmp_path / "said")
    assert {(said.record(i)["voice"], said.record(i)["text"]) for i in range(48)} == {
        (SPEAKER, text) for text in WORDS + PAIRS
    }


def test_nano_needs_no_engine_font_or_real_data():
    assert set(CHATS) <= set(KINDS)
    assert NANO["audio"]["data"]["source"] == "words" and not NANO["audio"]["data"]["recorded"]
    assert NANO["vision"]["data"]["photos"] == 0 and NANO["omni"]["data"]["shares"]["photo"] == 0
    for stage in ("vision", "omni"):
        assert NANO[stage]["data"]["objects"] == "few" and "styles" not in NANO[stage]["data"]
    for stage in ("codec", "vocoder", "talker"):
        assert set(NANO[stage]["data"]["speech"]) == {"words"}


def test_scenes_can_be_read_back():
    scene, record = MakeScene(3, "test", "few").describe(0)
    assert Scene.from_dict(record["scene"]) == scene
