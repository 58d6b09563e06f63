"""Measures of seeing, hearing and talking: who knows gets all right, who is shown another thing nothing."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from data.scenes.build import build_pictures
from data.scenes.clips import FRAMES
from data.scenes.objects import CSS
from data.scenes.render import render
from data.shards import ShardReader
from evaluation import audio, framed, joint, styles, text, vision
from evaluation.asking import user_turn
from evaluation.setting import SEED, Setting
from inference.prompt import UserTurn
from models.image import image_to_tensor
from training.media import picture

SCENES, CLIPS = 24, 12


class Knowing:
    """Answers of somebody who knows what each picture, sound and text is asked; of others: "What?"."""

    def __init__(self) -> None:
        self.answers: dict[tuple, str] = {}

    def direct(self) -> Knowing:
        return self

    @staticmethod
    def key(words: str, images=(), mels=()) -> tuple:
        media = [*images, *mels]
        return (words, *(np.asarray(one).tobytes() for one in media))

    def learn(self, answer: str, words: str, images=(), mels=()) -> None:
        self.answers[self.key(words, images, mels)] = answer

    def ask(self, turns: list, desc: str) -> list[str]:
        keys = [
            self.key(turn.text, [x.pixels for x in turn.images], [x.mel for x in turn.sounds])
            for turn in turns
        ]
        return [self.answers.get(key, "What?") for key in keys]

    # Conversations: a prompt is the list of all that was asked.

    def prompts(self, turns: list, system: str | None = None) -> list[list]:
        return [[turn] for turn in turns]

    def replies(self, prompts: list[list], desc: str) -> list[str]:
        last = [prompt[-1] for prompt in prompts]
        return self.ask([turn if isinstance(turn, UserTurn) else user_turn(turn) for turn in last], desc)

    def texts(self, replies: list[str]) -> list[str]:
        return replies

    def follow(self, prompt: list, reply: str, question: str) -> list:
        return [*prompt, question]



@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    folder = tmp_path_factory.mktemp("measured")
    build_pictures(folder / "scenes_test", SCENES, SEED, "test", workers=1)
    build_pictures(folder / "clips_test", CLIPS, SEED, "test", "clips", workers=1)
    return Setting(folder, folder, folder, None)


def test_scenes_are_right_by_what_is_seen(setting):
    scenes, knowing = ShardReader(setting.data_dir / "scenes_test"), Knowing()
    for i in range(SCENES):
        for question in scenes.record(i)["questions"]:
            knowing.learn(question["answer"], question["question"], [picture(scenes[i]["image"])])
    figures = vision.ask_scenes(knowing, scenes, setting)
    assert figures["scene/all"].value == figures["direct/all"].value == 1.0
    assert figures["scene/all"].n == SCENES
    assert figures["blank/all"].value == figures["shuffled/all"].value == 0.0
    assert 0 < figures["majority/all"].value < 1


def test_clips_are_right_by_their_frames_in_order(setting):
    clips, knowing = ShardReader(setting.data_dir / "clips_test"), Knowing()
    for i in range(CLIPS):
        frames = [picture(clips[i][f"image{k}"]) for k in range(FRAMES)]
        if torch.equal(frames[0], frames[-1]):
            continue  # backwards it is the same clip
        for question in clips.record(i)["questions"]:
            knowing.learn(question["answer"], question["question"], frames)
    figures = vision.ask_clips(knowing, clips, CLIPS)
    assert figures["clip/all"].value > 0.5
    assert figures["clip_blank/all"].value == figures["clip_backwards/all"].value == 0.0
    assert figures["clip_shuffled/all"].value == 0.0
    by_change = {key: figure for key, figure in figures.items() if key.startswith("clip_change/")}
    found = [clips.record(i)["clip"]["change"] for i in range(CLIPS)]
    moves = sum(change in ("left", "right", "up", "down") for change in found)
    assert by_change["clip_change/moves"].n == moves and by_change["clip_change/all"].n == CLIPS
    still = by_change.get("clip_change/still")
    assert (still.n if still else 0) == found.count("still")


def test_scenes_on_other_grounds_are_the_same_scenes(setting):
    scenes, knowing = ShardReader(setting.data_dir / "scenes_test"), Knowing()
    for i in range(SCENES):
        image = Image.open(io.BytesIO(scenes[i]["image"])).convert("RGB")
        for question in scenes.record(i)["questions"]:
            for change in (Image.Image.copy, framed.GROUNDS["wide"], ImageOps.grayscale):
                knowing.learn(question["answer"], question["question"], [image_to_tensor(change(image))])
    figures = framed.ask_framed(knowing, scenes, setting)
    assert figures["framed/plain"].value == figures["framed/in_colour"].value == 1.0
    assert figures["framed/wide"].value == figures["framed/grey"].value == 1.0
    assert figures["framed/tall"].n == SCENES > figures["framed/grey"].n == figures["framed/in_colour"].n > 0
    assert framed.colourless({"kind": "where", "question": "Where is the dog?", "answer": "On the left."})
    for asked in ("Where is the red dog?", "What color is it?"):
        assert not framed.colourless({"kind": "where", "question": asked, "answer": "On the left."})


def test_a_ground_keeps_its_picture_whole():
    image = Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8))
    wide, tall = framed.GROUNDS["wide"](image), framed.GROUNDS["tall"](image)
    assert wide.size == (132, 60) and tall.size == (60, 132)
    assert wide.crop((36, 0, 96, 60)).tobytes() == tall.crop((0, 36, 60, 96)).tobytes() == image.tobytes()
    assert wide.getpixel((0, 0)) == (255, 255, 255) and tall.getpixel((0, 0)) == (0, 0, 0)


def test_colours_are_right_by_their_names():
    knowing = Knowing()
    for name, shades in CSS.items():
        for shade in shades:
            for side in framed.SIDES:
                for circle, asked in ((True, "What color is the circle?"), (False, "What color is this?")):
                    image = image_to_tensor(framed.in_one_colour(shade, side, circle))
                    knowing.learn(f"It is {name}.", asked, [image])
    figures = framed.ask_colours(knowing)
    assert figures["css/circle"].value == figures["css/plain"].value == 1.0
    assert figures["css/circle"].n == len(framed.SIDES) * sum(map(len, CSS.values())) >= 48
    assert framed.in_one_colour((255, 255, 255), 50, True).getpixel((0, 0)) == (0, 0, 0)


def test_several_pictures_are_needed_all(setting):
    build_pictures(setting.data_dir / "several_test", framed.SETS, SEED, "test", "several", workers=1)
    sets, knowing = ShardReader(setting.data_dir / "several_test"), Knowing()
    for i in range(len(sets)):
        images = [picture(sets[i][f"image{k}"]) for k in range(len(sets.record(i)["scenes"]))]
        for question in sets.record(i)["questions"]:
            knowing.learn(question["answer"], question["question"], images)
    figures = framed.ask_several(knowing, setting)
    assert figures["several/all"].value == 1.0 and figures["several/all"].n == framed.SETS
    assert figures["several_blank/all"].value == 0.0


def test_a_named_thing_is_right_in_its_own_picture():
    scenes = styles.drawn("noto", 8)
    assert all(len(scene.things) == 1 and scene.things[0].drawing.style == "noto" for scene in scenes)
    images = [image_to_tensor(render(scene)) for scene in scenes]
    knowing = Knowing()
    for scene, image in zip(scenes, images, strict=True):
        knowing.learn(f"A {scene.things[0].name}.", styles.QUESTION, [image])
    assert all(styles.named(knowing, scenes, images, ""))
    others = styles.named(knowing, scenes, images[1:] + images[:1], "")
    assert sum(others) == sum(
        one.things[0].name == other.things[0].name
        for one, other in zip(scenes, scenes[1:] + scenes[:1], strict=True)
    )


def test_a_sound_is_right_by_its_own_words():
    rng = np.random.default_rng(0)
    voices = ["festival:cmu_us_slt_arctic_hts", "festival:ked_diphone"]
    words = ["one dog", "two cats", "red house", "blue river", "old man", "new car"]
    records = [
        {"text": words[i], "voice": voices[i % 2], "corpus": "synthetic", "kind": "sentence",
         "mel": rng.integers(0, 255, (128, 8)).astype(np.uint8)}
        for i in range(6)
    ]
    knowing = Knowing()
    for i, record in enumerate(records):
        heard = words[i] if i % 2 else words[i].split()[0]  # of slt's voice the second word is lost
        knowing.learn(heard, audio.TRANSCRIBE_QUESTION, mels=[audio.dequantise_mel(record["mel"])])
    figures = audio.transcribe(knowing, records, "set")
    assert figures["set/wer"].value == 0.25 and figures["set/wer"].n == 6
    assert figures["set/new_voices"].value == 0.0 and figures["set/new_voices"].n == 3
    assert figures["set/shuffled"].value > 0.9


def test_recordings_of_a_speaker_hang_together():
    records = [{"voice": f"set:{i // 10}", "corpus": "set"} for i in range(40)]
    wrong = [(int(i < 10), 1) for i in range(40)]  # one speaker of four is never understood
    by_speaker = audio.by_speaker(records, wrong)
    apart = audio.by_speaker([r | {"corpus": "synthetic"} for r in records], wrong)
    assert by_speaker.value == apart.value == 0.25 and by_speaker.n == apart.n == 40
    assert by_speaker.high - by_speaker.low > 1.5 * (apart.high - apart.low)


def test_conversations_are_right_by_their_own_question():
    rng = random.Random(f"evaluation-{SEED}")
    chats = [text.sample_conversation(rng, "test") for _ in range(40)]
    knowing = Knowing()
    for chat in chats:
        asked = [m["content"] for m in chat["messages"] if m["role"] == "user"]
        told = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
        for question, answer in zip(asked, told, strict=True):
            knowing.learn(answer, question)
    figures = text.converse(knowing, 40, "talk")
    assert figures["talk/all"].value > 0.9  # a question of two conversations has two answers
    assert figures["talk/shuffled"].value < 0.1
    assert figures["talk/all"].n == sum(len(chat["checks"]) for chat in chats)
    by_distance = [figures[f"talk/told {what}"] for *_, what in text.DISTANCES]
    facts = [c for chat in chats for c in chat["checks"] if "after" in c]
    assert sum(figure.n for figure in by_distance) == len(facts) > 5


def test_a_fact_is_asked_for_as_many_turns_later_as_is_said():
    rng = random.Random(3)
    far = set()
    for _ in range(300):
        chat = text.sample_conversation(rng, "test")
        answers = [m["content"] for m in chat["messages"] if m["role"] == "assistant"]
        for place, check in enumerate(chat["checks"]):
            if "after" in check:
                told = place - check["after"] - 1  # its reply says the fact again
                short = check["answer"].rstrip(".").split()[-1]
                assert short in answers[told] or "Nice to meet you" in answers[told], (answers, place)
                far.add(check["after"])
    assert {0, 1, 2, 3, 4, 5} <= far


def test_spoken_questions_need_their_picture(setting):
    scenes, knowing = ShardReader(setting.data_dir / "scenes_test"), Knowing()
    records, rng = [], np.random.default_rng(1)
    for i in range(SCENES):
        question = scenes.record(i)["questions"][0]
        mel = rng.integers(0, 255, (128, 8)).astype(np.uint8)
        records.append({"scene": i, "mel": mel, "question": question, "text": question["question"]})
        image, sound = picture(scenes[i]["image"]), joint.dequantise_mel(mel)
        knowing.learn(question["question"], audio.TRANSCRIBE_QUESTION, mels=[sound])
        knowing.learn(question["answer"], "", [image], [sound])
        knowing.learn(question["answer"], question["question"], [image])
    figures, answers = joint.ask_about_pictures(knowing, records, [], scenes)
    for name in ("spoken", "typed", "apart", "direct"):
        assert figures[f"picture/{name}"].value == 1.0
    assert figures["picture/blank"].value == 0.0
    assert answers == [record["question"]["answer"] for record in records]
