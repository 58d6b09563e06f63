"""LoRA: merging changes no logit, and PEFT reads what we write, as we read what it writes."""

import json

import pytest
import torch

from inference import Omni
from inference.memory import attach_memory
from inference.merge import attach_adapter
from models.checkpoint import read_tensors
from models.errors import UserError
from models.lora import (
    FILE,
    TARGETS,
    LoraConfig,
    adapted,
    add_lora,
    load_lora,
    merge_lora,
    save_lora,
)
from models.memory import MemoryAdapter, MemoryConfig
from models.omni import thinker_of
from models.quantization import quantise_rows
from models.thinker import Thinker
from tests.models.test_memory import MEMORY, SIZES

IDS = torch.randint(64, (2, 9), generator=torch.Generator().manual_seed(1))


def made(learnt: bool = True, **settings) -> Thinker:
    torch.manual_seed(0)
    thinker = add_lora(Thinker(SIZES).eval(), LoraConfig(**settings))
    if learnt:
        for module in adapted(thinker).values():
            torch.nn.init.normal_(module.lora_B.weight, std=0.3)
    return thinker


def plain() -> Thinker:
    torch.manual_seed(0)
    return Thinker(SIZES).eval()


@torch.no_grad()
def test_a_new_adapter_changes_nothing_and_merging_changes_nothing():
    assert torch.equal(made(learnt=False)(IDS), plain()(IDS))
    thinker = made()
    before = thinker(IDS)
    assert not torch.allclose(before, plain()(IDS), atol=1e-2)
    assert torch.allclose(merge_lora(thinker)(IDS), before, atol=1e-4)
    assert not adapted(thinker)


def test_only_the_adapter_learns():
    thinker = made()
    thinker(IDS).sum().backward()
    assert all((p.grad is not None) == ("lora_" in n) for n, p in thinker.named_parameters())


@torch.no_grad()
def test_ours_loads_again(tmp_path):
    thinker = made(r=4, lora_alpha=6.0, target_modules=("q_proj", "down_proj"))
    save_lora(thinker, tmp_path)
    assert json.loads((tmp_path / "adapter_config.json").read_text())["peft_type"] == "LORA"
    assert torch.equal(load_lora(plain(), tmp_path)(IDS), thinker(IDS))


def test_names_shapes_and_settings_are_pefts(tmp_path):
    save_lora(made(r=4, lora_alpha=6.0, target_modules=("q_proj", "down_proj")), tmp_path)
    shapes = {key: tuple(tensor.shape) for key, tensor in read_tensors(tmp_path, FILE).items()}
    wanted = {}
    for layer in range(SIZES.num_hidden_layers):
        name = f"base_model.model.model.layers.{layer}"
        wanted[f"{name}.self_attn.q_proj.lora_A.weight"] = (4, 32)
        wanted[f"{name}.self_attn.q_proj.lora_B.weight"] = (32, 4)
        wanted[f"{name}.mlp.down_proj.lora_A.weight"] = (4, 64)
        wanted[f"{name}.mlp.down_proj.lora_B.weight"] = (32, 4)
    assert shapes == wanted
    assert json.loads((tmp_path / "adapter_config.json").read_text()) == {
        "r": 4, "lora_alpha": 6.0, "target_modules": ["q_proj", "down_proj"], "peft_type": "LORA",
        "task_type": "CAUSAL_LM", "bias": "none", "lora_dropout": 0.0, "base_model_name_or_path": "",
        "inference_mode": True,
    }  # fmt: skip


def hugging_face(thinker: Thinker):
    """The same network in transformers."""
    transformers = pytest.importorskip("transformers")
    config = transformers.Qwen3Config(**thinker.config.to_hugging_face())
    model = transformers.Qwen3ForCausalLM(config).eval()
    model.load_state_dict(thinker.state_dict(), strict=False)
    return model


@torch.no_grad()
def test_peft_loads_ours(tmp_path):
    peft = pytest.importorskip("peft", reason="peft is not installed: requirements-adapters.txt")
    thinker = made()
    save_lora(thinker, tmp_path)
    theirs = peft.PeftModel.from_pretrained(hugging_face(plain()), tmp_path).eval()
    assert torch.allclose(theirs(IDS).logits, thinker(IDS), atol=1e-4)


@torch.no_grad()
def test_ours_loads_pefts(tmp_path):
    peft = pytest.importorskip("peft", reason="peft is not installed: requirements-adapters.txt")
    config = peft.LoraConfig(r=4, lora_alpha=12, target_modules=["q_proj", "v_proj", "up_proj"],
                             init_lora_weights=False, task_type="CAUSAL_LM")  # fmt: skip
    theirs = peft.get_peft_model(hugging_face(plain()), config).eval()
    theirs.save_pretrained(tmp_path)
    ours = load_lora(plain(), tmp_path)
    assert torch.allclose(theirs(IDS).logits, ours(IDS), atol=1e-4)
    assert not torch.allclose(ours(IDS), plain()(IDS), atol=1e-2)


@pytest.mark.parametrize("values", [{"r": 0}, {"lora_alpha": -1}, {"target_modules": ("lm_head",)}])
def test_impossible_settings_are_refused(values):
    with pytest.raises(UserError):
        LoraConfig(**values)


def test_an_adapter_of_another_model_is_refused(tmp_path):
    save_lora(made(), tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps(config | {"r": 3}))
    thinker = plain()
    with pytest.raises(UserError, match="does not fit"):
        load_lora(thinker, tmp_path)
    assert not adapted(thinker)
    (tmp_path / "adapter_config.json").write_text(json.dumps(config | {"use_dora": True}))
    with pytest.raises(UserError, match="use_dora"):
        load_lora(thinker, tmp_path)


def test_all_targets_are_adapted_by_default():
    assert len(adapted(made())) == SIZES.num_hidden_layers * len(TARGETS)


@pytest.mark.parametrize("wrong", [{"lora_alpha": None}, {"lora_alpha": "16"}, {"r": "8"}])
def test_damaged_settings_are_one_line(wrong, tmp_path):
    save_lora(made(), tmp_path)
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | wrong))
    with pytest.raises(UserError, match=f"{next(iter(wrong))} must be a"):
        load_lora(plain(), tmp_path)


def test_a_memory_bank_is_not_adapted():
    adapter = add_lora(MemoryAdapter.around(plain(), MEMORY), LoraConfig())
    assert len(adapted(adapter)) == SIZES.num_hidden_layers * len(TARGETS)


def test_a_bank_goes_with_the_thinker_it_was_trained_on(nano_text_dir, tmp_path):
    """An adapter makes another Thinker of it, rounded or not; behind a bank it is refused."""
    base = Thinker.from_pretrained(nano_text_dir)
    config = MemoryConfig(num_chapters=4, layers=[0])
    MemoryAdapter.around(base, config).save_pretrained(tmp_path / "bank")
    add_lora(base, LoraConfig())
    for module in adapted(base).values():
        torch.nn.init.normal_(module.lora_B.weight, std=0.3)
    save_lora(base, tmp_path / "lora")
    for dtype in ("fp32", "int8"):
        omni = Omni.from_pretrained(nano_text_dir, dtype=dtype)
        attach_adapter(omni, tmp_path / "lora")
        with pytest.raises(UserError, match="another Thinker"):
            attach_memory(omni, tmp_path / "bank")
    omni = Omni.from_pretrained(nano_text_dir)
    attach_memory(omni, tmp_path / "bank")
    with pytest.raises(UserError, match="before the memory bank"):
        attach_adapter(omni, tmp_path / "lora")
    assert not adapted(thinker_of(omni.model))


def test_an_int8_thinker_stays_one_with_an_adapter(nano_text_dir, tmp_path, compiled_step):
    torch.manual_seed(0)
    base = add_lora(Thinker.from_pretrained(nano_text_dir), LoraConfig())
    for module in adapted(base).values():
        torch.nn.init.normal_(module.lora_B.weight, std=0.3)
    save_lora(base, tmp_path)
    omni = Omni.from_pretrained(nano_text_dir, dtype="int8")
    attach_adapter(omni, tmp_path)
    for name, weight in thinker_of(omni.model).named_parameters():
        if weight.dim() == 2:
            codes, scales = quantise_rows(weight)
            assert torch.allclose(codes * scales, weight, atol=1e-6), name
    if compiled_step is not None:
        plain, native = (omni.chat("hi", max_new_tokens=24, native=how) for how in ("off", "on"))
        assert plain == native


@pytest.mark.parametrize("names", [[3, "q_proj"], ["q_proj", None], [["q_proj"], {}], [0.5, "q_proj"]])
def test_targets_that_are_no_names_are_refused(names, tmp_path):
    save_lora(made(), tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps(config | {"target_modules": names}))
    with pytest.raises(UserError, match="no target"):
        load_lora(plain(), tmp_path)
