"""Arguments of the Python API: what is given counts, or is refused in one line."""

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from inference import GenerateConfig, Generator, generate, text_generation
from inference.merge import load_quantized, quantize_full_model
from inference.notice import Notice
from inference.sampling import apply_temperature
from models.cachekind import KVCacheKind, KVCacheTensorConfig
from models.errors import UserError
from models.lora import LoraConfig, add_lora
from models.omni import thinker_of
from models.thinker import Thinker, ThinkerConfig

IDS = torch.tensor([[1, 40, 41, 42]])


@pytest.fixture
def thinker() -> Thinker:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
    return Thinker(ThinkerConfig(vocab_size=64, head_dim=16, intermediate_size=48, **sizes)).eval()


def test_the_prompt_stands_where_the_signature_has_it(thinker):
    wanted = generate(thinker, IDS, max_new_tokens=5)
    assert torch.equal(generate(thinker, prompt=IDS, max_new_tokens=5), wanted)
    assert torch.equal(generate(thinker, IDS, 5), wanted)


def test_a_models_own_end_counts_in_a_config_that_names_none(thinker):
    (first,) = generate(thinker, IDS[0].tolist(), max_new_tokens=1, eos_token_id=None)
    thinker.config.eos_token_id = first
    config = GenerateConfig(max_new_tokens=5)
    assert generate(thinker, IDS[0].tolist(), config) == []
    assert Generator(thinker, config=config).generate(IDS[0].tolist()) == []
    assert len(generate(thinker, IDS[0].tolist(), config, eos_token_id=None)) == 5


@pytest.mark.parametrize("mask", [torch.ones(1, 5), torch.ones(2, 4), [[1, 1, 1, 1]]])
def test_a_mask_of_another_shape_is_refused(thinker, mask):
    with pytest.raises(UserError, match="attention_mask"):
        generate(thinker, IDS, attention_mask=mask, max_new_tokens=2)
    with pytest.raises(UserError, match="empty"):
        generate(thinker, IDS[:0], max_new_tokens=2)


def test_what_the_cache_was_made_by_is_not_changed_later(thinker):
    generator = Generator(thinker, config=GenerateConfig(max_new_tokens=2))
    for given in ({"cache_kind": "q8_0"}, {"max_seq_len": 8}, {"ctx": 8}):
        with pytest.raises(UserError, match="fixed when the Generator is made"):
            generator.generate(IDS, **given)
        with pytest.raises(UserError, match="fixed when the Generator is made"):
            generator.generate_iter(IDS, **given)
    with pytest.raises(UserError, match="by their places"):
        generator.generate(IDS, 3, 0.8, 0.9, 5)


def test_a_list_of_one_is_answered_without_the_context(thinker):
    generator = Generator(thinker, config=GenerateConfig(max_new_tokens=3, eos_token_id=None))
    alone, prompt = generate(thinker, IDS[0].tolist(), max_new_tokens=3, eos_token_id=None), IDS[0].tolist()
    generator.generate(prompt)
    assert generator.generate([prompt]) == [alone] and generator.generate([prompt, prompt]) == [alone] * 2


def test_media_may_be_wider_than_the_model(thinker):
    media = torch.randn(1, 3, 32)
    thinker = thinker.bfloat16()
    given = {"max_new_tokens": 3, "native": "off"}
    assert torch.equal(generate(thinker, IDS, multimodal_emb=media, **given),
                       generate(thinker, IDS, multimodal_emb=media.bfloat16(), **given))


@pytest.mark.parametrize("temperature", [0.0, 1e-39, 1e-6])
def test_the_coldest_draw_is_the_likeliest_token(temperature):
    logits = torch.tensor([[0.1, 2.0, -1.0, 0.3]])
    assert apply_temperature(logits, temperature).softmax(-1).tolist() == [[0, 1, 0, 0]]
    with pytest.raises(UserError, match="repetition_penalty"):
        GenerateConfig(repetition_penalty=1e-40)


def test_a_kind_of_cache_has_its_short_name_and_no_other():
    assert KVCacheTensorConfig("q8").kind is KVCacheKind.Q8_0
    with pytest.raises(UserError, match="unknown cache kind auto"):
        KVCacheTensorConfig("auto")


def test_what_no_folder_can_hold_is_refused(thinker, tmp_path):
    small = quantize_full_model(thinker, "dynamic")
    with pytest.raises(UserError, match="quantised"):
        quantize_full_model(small, "fp16")
    for model in (small, add_lora(thinker, LoraConfig(r=2))):
        with pytest.raises(UserError, match="merge_lora first"):
            thinker_of(model).save_pretrained(tmp_path / "made")
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("method", ["fp8", "dynamic", "bf16"])
def test_a_quantised_file_is_read_whole_or_not_at_all(thinker, method, tmp_path):
    path = tmp_path / "small.safetensors"
    quantize_full_model(thinker, method, path)
    load_quantized(path)
    with safe_open(path, "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}
        meta = file.metadata()
    for name in ("model.norm.weight", next(key for key in tensors if "q_proj" in key)):
        save_file({key: value for key, value in tensors.items() if key != name}, path, meta)
        with pytest.raises(UserError, match="missing"):
            load_quantized(path)


def test_an_omni_is_taken_where_its_model_is(omni):
    assert thinker_of(omni) is omni.model.thinker is thinker_of(omni.model) is thinker_of(omni.model.thinker)
    assert quantize_full_model(omni, "bf16").model.norm.weight.dtype is torch.bfloat16


def test_a_text_that_is_too_long_keeps_its_end_everywhere(omni):
    model, tokenizer, long = omni.model, omni.tokenizer, "word " * 3000
    generator = Generator(model, tokenizer=tokenizer, config=GenerateConfig(max_new_tokens=3))
    with pytest.warns(Notice, match="longer than the context"):
        assert isinstance(generator.generate(long), str)
        assert len(generator.generate([long, "a"])) == 2
        assert len(list(Generator(model, tokenizer=tokenizer).generate_iter(long, max_new_tokens=3))) <= 3
        assert isinstance(text_generation.generate(model, tokenizer, long, max_new_tokens=3), str)
