"""Damaged checkpoints: one line when the folder is loaded, never a traceback."""

import json
import random
import shutil
import time

import pytest

from inference import Omni
from models.errors import UserError

WRONG = [None, -1, 0, 2.5, "x", [], {}, 10**30, True, float("nan")]


def leaves(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


@pytest.mark.filterwarnings("ignore")
def test_damaged_folders_are_one_line(nano_omni_dir, tmp_path):
    rng = random.Random(int(time.time()) // 86_400)  # others each day
    folder = tmp_path / "c"
    shutil.copytree(nano_omni_dir, folder)
    config = json.loads((folder / "config.json").read_text())
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    for number in range(40):
        name = "config.json" if number % 2 else rng.choice(names)
        whole = (folder / name).read_bytes()
        if number % 2:
            values = json.loads(json.dumps(config))
            *way, last = rng.choice(list(leaves(values)))
            node = values
            for key in way:
                node = node[key]
            node[last] = rng.choice(WRONG)
            (folder / name).write_text(json.dumps(values))
        else:
            (folder / name).write_bytes(whole[: rng.randrange(len(whole))])
        try:
            Omni.from_pretrained(folder)
        except UserError as error:
            assert "\n" not in str(error), (name, number)
        (folder / name).write_bytes(whole)
