"""Conversations are right, repeatable, and keep dev and test wordings out of train."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from data import interleaved, text
from data.corpus import (
    CorpusOptions,
    build_corpus,
    for_training,
    load_tokens,
    token_stream,
    without_held_out,
)
from data.dialogue import (
    chitchat,
    conversation,
    followups,
    model_parts,
    numbers,
    out_of_scope,
    social,
    told,
    user_facts,
    wordings,
    words,
    world,
)
from data.dialogue.conversation import (
    KINDS,
    ONE_WORD,
    normalise,
    sample_conversation,
    score_turn,
    speakable,
    user_sentences,
)
from data.dialogue.counting import count_on
from data.dialogue.draw import FURTHER, Draw, in_split, share
from data.dialogue.facts import AMOUNTS, ANIMALS, CAPITALS, COLORS, NAMES
from data.dialogue.followups import AND, AND_OF, AND_PLUS, WHAT_ASKED
from data.dialogue.things import THINGS
from data.speech import sentences
from models.errors import UserError
from models.tokenizer import Tokenizer
from tests.fixtures.wordings import plain
from training.objectives.tokenizer import train_tokenizer, training_lines


def chats(split: str, count: int, seed: int = 0):
    rng = random.Random(seed)
    return [sample_conversation(rng, split) for _ in range(count)]


def turns(split: str, count: int):
    """(kind, user text, assistant text) of many chats without a system line."""
    for chat in chats(split, count):
        spoken = [m for m in chat["messages"] if m["role"] != "system"]
        if len(spoken) == len(chat["messages"]):
            for place, check in enumerate(chat["checks"]):
                yield check["kind"], spoken[2 * place]["content"], spoken[2 * place + 1]["content"]


def test_same_seed_same_chats_and_other_splits_differ() -> None:
    assert chats("train", 50, 1) == chats("train", 50, 1)
    assert chats("train", 50, 1) != chats("train", 50, 2)
    with pytest.raises(ValueError, match="split"):
        chats("valid", 1)


def test_no_held_out_count_down_is_practised_from_another_start() -> None:
    draw = Draw(random.Random(4), "train")
    for _ in range(6000):
        said = [int(n) for n in count_on(draw)[0].answer.rstrip(".").split(", ")]
        if len(said) > 1 and said[0] > said[1]:
            assert in_split((said[-1], len(said) - 1), "train")


def test_the_corpus_leaves_out_what_hearing_keeps_for_its_tests() -> None:
    kept = [s for s in sentences.ordinary("train")[:40]]
    tested = list(sentences.ordinary("test")[:40])
    mixed = [s for pair in zip(kept, tested, strict=True) for s in pair]
    assert without_held_out(" ".join(mixed)) == " ".join(kept)
    assert for_training(kept[0]) and not any(map(for_training, tested))


def test_further_wordings_are_for_training_only() -> None:
    lists = [asked for groups in (social.REFUSALS, social.THANKS) for asked, _ in groups]
    for listed in [*lists, words.SPELL, world.DEFINE]:
        further, held = FURTHER[listed[0]], share(listed, "dev") + share(listed, "test")
        assert len(further) >= 10
        assert not {plain(w) for w in further} & {plain(w) for w in held}
        said = {split: set() for split in ("train", "dev", "test")}
        for split, seen in said.items():
            draw = Draw(random.Random(0), split)
            seen |= {draw.say(listed, w="tree", x="a tree") for _ in range(2000)}
        made = {w.format(w="tree", x="a tree") for w in further}
        assert len(made & said["train"]) > len(made) / 2
        assert not made & (said["dev"] | said["test"])


def test_further_lists_extend_lists_that_exist() -> None:
    known = set()

    def collect(value: object) -> None:
        if isinstance(value, tuple | list) and value and all(isinstance(v, str) for v in value):
            known.add(value[0])
            held = {plain(w) for split in ("dev", "test") for w in share(tuple(value), split)}
            if len(value) >= 7:
                assert not held & {plain(w) for w in FURTHER.get(value[0], ())}, value[0]
        elif isinstance(value, tuple | list | dict):
            for part in value.values() if isinstance(value, dict) else value:
                collect(part)

    modules = (social, words, world, numbers, told, followups, conversation, chitchat, out_of_scope)
    for module in (*modules, interleaved, user_facts, wordings, model_parts):
        for value in vars(module).values():
            collect(value)
    assert set(FURTHER) <= known


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_shape_and_scores(split: str) -> None:
    kinds = Counter()
    for chat in chats(split, 3000):
        roles = [m["role"] for m in chat["messages"]]
        roles = roles[1:] if roles[0] == "system" else roles
        assert roles == ["user", "assistant"] * len(chat["checks"])
        answers = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
        for answer, check in zip(answers, chat["checks"], strict=True):
            assert answer == check["answer"] and score_turn(answer, check)
            assert not score_turn("xyz", check)
            kinds[check["kind"]] += 1
        assert all(m["content"].strip() for m in chat["messages"])
        assert text.is_clean(" ".join(m["content"] for m in chat["messages"]))
    assert set(kinds) == {*KINDS, "fact", "fact_told", "fact_corrected"}


def test_arithmetic_is_right() -> None:
    seen = 0
    for kind, _, answer in turns("test", 4000):
        found = re.match(r"(\d+) (plus|minus|times) (\d+) is (\d+)\.$", answer)
        if kind in ("arithmetic", "followup") and found:
            a, b, value = int(found[1]), int(found[3]), int(found[4])
            assert value == {"plus": a + b, "minus": a - b, "times": a * b}[found[2]]
            seen += 1
    assert seen > 200


def test_spelling_counting_and_comparing_are_right() -> None:
    for kind, question, answer in turns("train", 6000):
        if kind == "spelling" and "letters" in answer:
            word, size = re.match(r"(\w+) has (\d+) letters", answer).groups()
            assert len(word) == int(size)
        elif kind == "compare" and "bigger" in answer and "than" not in answer:
            assert int(answer.split()[0]) == max(map(int, re.findall(r"\d+", question)))
        elif kind == "counting" and "," in answer:
            said = [int(n) for n in re.findall(r"\d+", answer)]
            low, high = sorted(map(int, re.findall(r"\d+", question)))
            assert said == list(range(low, high + 1))
        elif kind == "repeat":
            assert answer.lower().rstrip(".") in question.lower()


def test_follow_up_sum_starts_from_the_last_result() -> None:
    seen = 0
    for chat in chats("train", 12000):
        answers = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
        kinds = [check["kind"] for check in chat["checks"]]
        for before, after, kind in zip(answers, answers[1:], kinds[1:], strict=False):
            if kind == "followup" and re.match(r"\d+ (plus|minus) \d+ is", after):
                result = re.search(r" is (\d+)\.$", before)
                if result and after.startswith(result[1] + " "):
                    seen += 1
    assert seen > 67  # the rate that 50 of 6,000 chats were


WORDINGS = [numbers.ADD, numbers.COUNT, words.SPELL, words.OPPOSITE, words.REPEAT, world.CAPITAL,
            world.COLOR, world.DEFINE, world.IS_A, world.SOUND, social.INTRODUCE, social.ASK_NAME,
            AND, AND_OF, AND_PLUS, WHAT_ASKED, ONE_WORD]


def test_wordings_of_the_splits_do_not_meet() -> None:
    for options in WORDINGS:
        train, dev, test = (set(share(options, split)) for split in text.SPLITS)
        assert train and dev and test
        assert train | dev | test == set(options)
        assert not train & dev and not train & test and not dev & test


def test_test_questions_do_not_occur_in_train() -> None:
    for maker in (world.capital, world.definition, words.opposite, numbers.arithmetic,
                  numbers.counting, social.identity, social.refusal):
        def asked(split: str, maker=maker) -> set[str]:
            draw = Draw(random.Random(7), split)
            return {maker(draw)[0].question for _ in range(3000)}

        seen = asked("train")
        assert not seen & asked("test") and not seen & asked("dev")


def test_facts_are_well_formed() -> None:
    assert len(CAPITALS) >= 80 and len(THINGS) >= 200 and len(words.WORDS) >= 150
    assert len(NAMES) == len(set(NAMES)) and len({row[0] for row in THINGS}) == len(THINGS)
    assert all(row[3].isdigit() for row in ANIMALS) and all(row[2].isdigit() for row in AMOUNTS)
    assert all(color.isalpha() for color in COLORS.values())
    assert all(len(word) <= 8 for word in words.SPELLABLE)


def test_scoring_is_fair_and_strict() -> None:
    check = {"answer": "The capital of France is Paris.", "accept": ["Paris"]}
    assert score_turn("paris", check) and score_turn("The capital of France is Paris", check)
    assert not score_turn("The capital of France is Rome.", check)
    assert not score_turn("Paris Rome", check) and not score_turn("", check)
    assert score_turn("seven", {"answer": "7.", "accept": []})
    assert score_turn("twenty-one", {"answer": "21", "accept": []})
    assert not score_turn("C-T", {"answer": "C-A-T.", "accept": []})
    assert normalise("A cat.") == normalise("the Cat") == ["cat"]


def test_user_sentences_can_be_spoken() -> None:
    for item in islice(user_sentences(random.Random(3), "train"), 1500):
        assert not re.search(r"[\d+=*/μ]", item["question"])
        assert not re.search(r"[\dμ]", item["spoken"])
    assert speakable("12 plus 100 is 112.") == "twelve plus one hundred is one hundred twelve."


# ---- text and corpus -------------------------------------------------------------------------


def _gzip_lines(path, records) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for record in records:
            file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")


@pytest.fixture
def real(tmp_path):
    folder = tmp_path / "real" / "text"
    folder.mkdir(parents=True)
    many = [f"Turn number {i} of a talk." for i in range(6)]
    chat = [{"topic": "music", "turns": [f"Hello {i}.", *many]} for i in range(300)]
    _gzip_lines(folder / "self_dialogue.jsonl.gz", chat)
    _gzip_lines(folder / "sgd_dialogues.jsonl.gz", [{"turns": c["turns"]} for c in chat])
    _gzip_lines(folder / "synthetic_persona_chat.jsonl.gz",
                [{"p2": ["I like tea."], "turns": c["turns"]} for c in chat])
    _gzip_lines(folder / "taskmaster4_coffee.jsonl.gz",
                [{"speakers": ["assistant", "user"], "turns": ["Yes?", "one tea", "Ready."]}])
    _gzip_lines(folder / "stories_standardebooks.jsonl.gz",
                [{"text": f"Story {i}\nA “fox” ran\u2014fast."} for i in range(300)])
    for name in ("ljspeech_transcripts", "piper_prompts_en"):
        _gzip_lines(folder / f"{name}.txt.gz", [f"{i}|Sentence {i} is here." for i in range(300)])
    _gzip_lines(folder / "librispeech_devclean_transcripts.txt.gz", ["1|WHAT DO I SEE"])
    _gzip_lines(folder / "opentriviaqa.jsonl.gz", [{"q": "Who?", "a": "Me"}])
    return tmp_path / "real"


def test_readers_clean_and_normalise(real) -> None:
    assert next(text.stories(real)).endswith('A "fox" ran - fast.')
    assert list(text.librispeech(real)) == ["What do I see."]
    assert list(text.dialogues(real, "taskmaster4_coffee")) == [
        ("You take coffee orders.", ["one tea", "Ready."])
    ]
    assert not text.is_clean("well sh" + "it happens") and text.is_clean("a classic assembly")


def test_text_files(tmp_path) -> None:
    (tmp_path / "tiny.txt").write_text("One.\n\nstill one.\n<|endoftext|>\nTwo.\n")
    (tmp_path / "plain.txt").write_text("One.\n\nTwo.\n\n\nThree.\n")
    (tmp_path / "rows.jsonl").write_text('{"text": "A."}\n{"text": "B."}\n')
    assert list(text.text_files(tmp_path / "tiny.txt")) == ["One.\n\nstill one.", "Two."]
    assert list(text.text_files(tmp_path / "plain.txt")) == ["One.", "Two.", "Three."]
    assert list(text.text_files(tmp_path / "rows.jsonl")) == ["A.", "B."]
    assert len(list(text.text_files(tmp_path))) == 7
    with pytest.raises(UserError, match="no field 'story'"):
        list(text.text_files(tmp_path / "rows.jsonl", "story"))
    with pytest.raises(UserError, match="only .txt"):
        list(text.text_files(tmp_path / "x.zip"))


@pytest.mark.parametrize("with_real", [False, True])
def test_corpus(tmp_path, real, with_real: bool, capsys) -> None:
    path = tmp_path / "tokenizer.model"
    train_tokenizer(training_lines(None, 300, seed=0), path, vocab_size=600)
    options = CorpusOptions(train_tokens=60_000, dev_tokens=20_000, test_tokens=20_000)
    metas = [build_corpus(tmp_path / name, path, options, real if with_real else None, workers=n)
             for name, n in (("a", 1), ("b", 2))]
    assert metas[0] == metas[1]
    assert ("notice" in capsys.readouterr().err) == (not with_real)
    tokenizer = Tokenizer(path)
    for split in text.SPLITS:
        tokens = load_tokens(tmp_path / "a", split)
        assert tokens.dtype == np.uint16 and len(tokens) == metas[0]["splits"][split]["tokens"]
        assert np.array_equal(tokens, load_tokens(tmp_path / "b", split))
        assert tokens[0] == tokenizer.bos and tokens[-1] == tokenizer.eos
        starts = np.flatnonzero(tokens == tokenizer.bos)
        assert (tokens[starts[1:] - 1] == tokenizer.eos).all()
        assert tokens.max() < len(tokenizer) and tokenizer.image not in tokens
    assert ("self_dialogue" in metas[0]["splits"]["train"]) == with_real
    held_out, counts = token_stream("test", path, options, real if with_real else None)
    assert np.array_equal(held_out, load_tokens(tmp_path / "a", "test"))
    assert counts == metas[0]["splits"]["test"]
    with pytest.raises(UserError, match="no folder text/"):
        token_stream("test", path, options, tmp_path)
