"""The stage `memory`: what a row learns and is routed on; LoRA in a stage learns the adapter alone."""

import json

import pytest
import torch

from data.invented_world import all_questions, chance, facts, right, table
from models.lora import LoraConfig
from models.thinker import Thinker
from tests.models.test_memory import SIZES
from tests.training.test_thinker import symbols
from training.config import load_preset
from training.objective import Paths
from training.objectives.memory import IGNORED, MemoryObjective, exchange
from training.objectives.thinker import ThinkerTask
from training.stage import adapt


@pytest.fixture(scope="module")
def objective(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    section = load_preset("tiny")["memory"] | {"seed": 0}
    return MemoryObjective(section, Paths.of("tiny", folder, folder))


def test_the_world_holds_out_wordings_and_guessing_is_one_in_twelve():
    assert len(facts()) == 120
    assert chance() == pytest.approx(1 / 12)
    for row in table()["relations"].values():
        assert len(set(row["values"])) == 12
        seen = row["train"] + row["dev"] + row["test"]
        assert len(set(seen)) == len(seen)


def test_an_answer_must_name_the_value_and_no_other():
    fact, _ = all_questions("test")[0]
    assert right(fact.answer, fact)
    assert not right(f"{fact.value} or {fact.others[0]}", fact)
    assert not right("I do not know.", fact)


def test_a_row_learns_its_last_answer_and_is_routed_on_its_last_question(objective):
    messages = exchange("Hello", "Hi there.") + exchange("Who rules Velmora?", "Queen Adisa.")
    row = objective.row(messages)
    learnt = [t for t in row["targets"] if t != IGNORED]
    assert objective.tokenizer.decode(learnt) == "Queen Adisa."
    asked = [i for i, on in zip(row["ids"], row["asked"], strict=True) if on]
    assert objective.tokenizer.decode(asked) == "Who rules Velmora?"
    both = [on and t != IGNORED for on, t in zip(row["asked"], row["targets"], strict=True)]
    assert sum(both) == 1  # the symbol that opens the answer


def test_batches_are_pure_and_slices_add_up(objective):
    whole, again = objective.batch(3, 0, 1), objective.batch(3, 0, 1)
    assert all(torch.equal(whole[key], again[key]) for key in whole)
    parts = [objective.batch(3, rank, 2)["targets"] for rank in range(2)]
    learnt = sum(int((part != IGNORED).sum()) for part in parts)
    assert learnt == int((whole["targets"] != IGNORED).sum())


def test_lora_in_a_stage_learns_and_saves_the_adapter_alone(tmp_path):
    class Objective:
        model = ThinkerTask(SIZES, symbols())

    objective = Objective()
    adapt(objective, LoraConfig(r=2, target_modules=("q_proj",)))
    learnt = {n for n, p in objective.model.named_parameters() if p.requires_grad}
    assert len(learnt) == 2 * SIZES.num_hidden_layers
    assert all("lora_" in name for name in learnt)
    objective.save(tmp_path)
    assert json.loads((tmp_path / "adapter_config.json").read_text())["r"] == 2
    assert isinstance(objective.model.thinker, Thinker)
