"""Records of the omni stage: pictures, clips and utterances of both splits, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from data.scenes.first_tries import first_questions, one_color
from data.scenes.scene import Scene
from data.shards import ShardReader
from data.speech.statement_pairs import PAIRED, Pairs, pair_questions
from data.speech.statement_questions import typed_question
from training.augmentation import augment_mel, mask_mel
from training.objective import Paths
from training.objectives.audio import clips_folder

SPLITS = ("train", "dev")
QUIZ = "quiz.json"  # split -> questions from outside the world; kept, so that a run goes on with the same
ONE_COLOR = 0.03  # of the pictures are nothing but a colour
SIGNS = 0.15  # of the pictures are extra ones with signs, which are hard to read
NEIGHBOURS = 64  # utterances to either side of a length that count as alike
ASKED = {  # kind of sample: its records
    "photo": ("photos",), "several": ("several",), "statement": ("statements", "statement_questions"),
}
SHOWN = {"scene": "scenes", "photo": "photos", "clip": "clips"}  # kind of segment: its records


class Records:
    """Shards of both splits, and which utterances can serve as which sample.

    Args:
        data: the stage's `data` section.
        kinds: of samples that are wanted; shards of others are not opened.
    """

    def __init__(self, data: dict, paths: Paths, kinds: set[str]) -> None:
        both = ["scenes", "clips"]
        both += [name for kind, names in ASKED.items() if kind in kinds for name in names]
        self.readers = {
            (name, split): ShardReader(paths.data / f"{name}_{split}") for name in both for split in SPLITS
        }
        training = {name: clips_folder(paths, name) for name in data["voices"]}
        if data["signs"]:
            training["signs"] = paths.data / "signs_train"
        if data["recorded"]:
            training["recorded"] = paths.data / "hearing_real_train"
        self.readers |= {(name, "train"): ShardReader(folder) for name, folder in training.items()}
        self.readers["dev", "dev"] = ShardReader(paths.data / "hearing_dev")
        self.speech = ("dev", "recorded", *data["voices"])
        self.noisy = data["noisy"]
        self.tried = data["objects"] == "all"  # the smaller worlds have no more questions than they need
        self.utterances = {split: self._sorted(split) for split in SPLITS}
        self.pairs = {
            split: Pairs([reader.record(i) for i in range(len(reader))])
            for (name, split), reader in self.readers.items()
            if name == "statements"
        }

    def _sorted(self, split: str) -> dict[str, list[tuple[str, int]]]:
        """Which utterances (reader, index) can serve as which sample, the shortest first."""
        scenes = len(self.readers["scenes", split])
        found: dict[str, list] = {"transcript": [], "spoken": [], "spoken_picture": []}
        places = [
            (name, i) for name in self.speech for i in range(len(self.readers.get((name, split), ())))
        ]
        for place in sorted(places, key=lambda p: self._words(p, split)["seconds"]):
            record = self._words(place, split)
            found["transcript"].append(place)
            if record["kind"] == "talk_question":
                found["spoken"].append(place)
            if record["kind"] == "scene_question" and record["scene"] < scenes:
                found["spoken_picture"].append(place)
        return found

    def _words(self, place: tuple[str, int], split: str) -> dict:
        """What an utterance says, without its sound."""
        return self.readers[place[0], split].record(place[1])

    def any(self, name: str, rng: random.Random, split: str) -> dict:
        """A record of these shards."""
        reader = self.readers[name, split]
        return reader[rng.randrange(len(reader))]

    def picture(self, rng: random.Random, split: str) -> dict:
        """A scene, or a picture of one colour."""
        if self.tried and rng.random() < ONE_COLOR:
            return one_color(rng, split)
        signs = ("signs", split) in self.readers and rng.random() < SIGNS
        record = self.any("signs" if signs else "scenes", rng, split)
        if not self.tried:
            return record
        more = first_questions(Scene.from_dict(record["scene"]), rng, split)
        return record | {"questions": record["questions"] + more}

    def scene_of(self, utterance: dict, split: str) -> dict:
        """The scene that a spoken question is about."""
        return self.readers["scenes", split][utterance["scene"]]

    def utterance(self, kind: str, rng: random.Random, split: str, length: float) -> dict:
        """An utterance for a sample of a kind.

        Args:
            length: in 0..1, its rank from shortest to longest, about.
        """
        chosen = self.utterances[split][kind]
        near = int(length * len(chosen))
        low, high = max(0, near - NEIGHBOURS), min(len(chosen), near + NEIGHBOURS)
        name, place = chosen[rng.randrange(low, high)]
        return self.augmented(self.readers[name, split][place], rng, split)

    def augmented(self, record: dict, rng: random.Random, split: str) -> dict:
        """An utterance, in training augmented anew."""
        if split != "train":
            return record
        chance = np.random.default_rng(rng.randrange(1 << 30))
        mel = augment_mel(record["mel"], chance, self.noisy)
        return record | {"mel": mask_mel(mel, chance)}

    def statements(
        self, rng: random.Random, split: str, places: Sequence[int] = ()
    ) -> tuple[list[dict], list[dict]]:
        """One statement or two, these or any, and typed questions about what is said."""
        reader = self.readers["statements", split]
        if not places:
            places = self.pairs[split].draw(rng) if rng.random() < PAIRED else (rng.randrange(len(reader)),)
        records = [self.augmented(reader[i], rng, split) for i in places]
        if len(records) == 2:
            return records, pair_questions(*records, rng, split)
        return records, [typed_question(records[0], rng, split) for _ in range(rng.randint(2, 4))]

    def voice(self, rng: random.Random, split: str) -> tuple[dict, list[dict]]:
        """One statement as the sound of a clip, and typed questions about it."""
        place = rng.randrange(len(self.readers["statements", split]))
        (record,), questions = self.statements(rng, split, (place,))
        return record, questions

    def asked_aloud(self, rng: random.Random, split: str) -> tuple[list[dict], list[dict], dict]:
        """One statement or two, typed questions about them, and a spoken one."""
        aloud = self.augmented(self.any("statement_questions", rng, split), rng, split)
        return *self.statements(rng, split, aloud["statements"]), aloud

    def sources(self, split: str, length: float) -> dict[str, Callable[[random.Random], dict]]:
        """What can come into a dialogue, by kind of segment; `length` as for an utterance."""
        found: dict[str, Callable[[random.Random], dict]] = {
            kind: lambda rng, name=name: self.any(name, rng, split)
            for kind, name in SHOWN.items()
            if (name, split) in self.readers
        }
        for kind, sample in (("heard", "transcript"), ("asked", "spoken")):
            if self.utterances[split][sample]:
                found[kind] = lambda rng, sample=sample: self.utterance(sample, rng, split, length)
        return found
