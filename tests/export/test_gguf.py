"""GGUF files hold the checkpoint, and llama.cpp (where there is one) answers from them as we do."""

import random
import re
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

from data.dialogue.conversation import sample_conversation
from export.gguf import MADE_BY_LLAMA, TYPES, export_to_gguf, gguf_package, main, write_gguf
from export.llamacpp import INSTALL, LlamaCpp, library, library_path
from inference import Omni, generate
from inference.prompt import Prompt
from models.errors import UserError
from models.lora import LoraConfig, adapted, add_lora, merged_state
from models.omni import thinker_of
from models.thinker import Thinker, ThinkerConfig
from models.tokenizer import SYMBOLS, Tokenizer

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "checkpoints" / "thinker_tiny"
NAMES = {  # ours, llama.cpp's
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
NEAR = 0.05  # of the logits' spread: closer than this, rounding may decide


def their_name(key: str) -> str:
    """Our name of a weight -> llama.cpp's."""
    layer, rest = re.fullmatch(r"(?:model\.layers\.(\d+)\.)?(.+)\.weight", key).groups()
    return (f"blk.{layer}." if layer else "") + NAMES[rest] + ".weight"


def written(folder: Path, out: Path, kind: str = "f32") -> gguf.GGUFReader:
    """The file that the command makes, opened."""
    assert main(["--ckpt_dir", str(folder), "--out", str(out), "--type", kind]) == 0
    return gguf.GGUFReader(out)


def tensors(reader: gguf.GGUFReader) -> dict[str, np.ndarray]:
    """Every tensor as float32, by name."""
    return {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}


def fields(reader: gguf.GGUFReader) -> dict:
    """All metadata."""
    return {name: field.contents() for name, field in reader.fields.items()}


def tolerance(weight: np.ndarray, kind: str) -> np.ndarray | float:
    """The most that storing a weight may move each of its numbers."""
    if weight.ndim == 1 or kind in ("f32", "bf16"):  # checkpoints are stored in bf16
        return 0.0
    if kind == "f16":
        return np.abs(weight) * 2.0**-11 + 2.0**-25
    blocks = np.abs(weight).reshape(-1, 32).max(1, keepdims=True)
    steps, share = (8, 1.05) if kind == "q4_0" else (127, 0.57)  # q4_0 has no +8: its ends are a step off
    step = np.broadcast_to(blocks / steps, (len(blocks), 32)).reshape(weight.shape)
    return step * share + 1e-6  # half a step in q8_0, and that the scale is rounded to f16


@pytest.mark.parametrize("kind", TYPES)
def test_every_tensor_is_the_checkpoints(nano_text_dir, tmp_path, kind):
    found = tensors(written(nano_text_dir, tmp_path / "nano.gguf", kind))
    weights = Thinker.from_pretrained(nano_text_dir).state_dict()
    assert {their_name(key) for key in weights} == set(found)
    for key, weight in weights.items():
        stored = found[their_name(key)]
        assert stored.shape == tuple(weight.shape), key
        assert (np.abs(stored - weight.numpy()) <= tolerance(weight.numpy(), kind)).all(), key


def test_matrices_have_the_type_that_was_asked_for(nano_text_dir, tmp_path):
    for kind, type_of_file in zip(TYPES, (0, 1, 32, 7, 2), strict=True):  # llama.cpp's llama_ftype
        reader = written(nano_text_dir, tmp_path / f"{kind}.gguf", kind)
        assert fields(reader)["general.file_type"] == type_of_file
        types = {(t.data.ndim > 1, t.tensor_type.name) for t in reader.tensors}
        assert types == {(False, "F32"), (True, kind.upper())}


def test_an_adapter_is_merged_into_the_file(nano_text_dir, tmp_path):
    torch.manual_seed(0)
    thinker = add_lora(Thinker.from_pretrained(nano_text_dir), LoraConfig())
    for module in adapted(thinker).values():
        torch.nn.init.normal_(module.lora_B.weight, std=0.3)
    tokenizer = Tokenizer(nano_text_dir / "tokenizer.model")
    out = export_to_gguf(thinker, tmp_path / "lora.gguf", "f32", tokenizer=tokenizer)
    found = tensors(gguf.GGUFReader(out))
    base = Thinker.from_pretrained(nano_text_dir).state_dict()
    for key, weight in merged_state(thinker).items():
        stored = torch.from_numpy(found[their_name(key)].copy())
        assert torch.allclose(stored, weight.float(), atol=1e-6), key
        assert torch.equal(stored, base[key]) != key.endswith("_proj.weight"), key


def test_metadata_says_how_to_compute(nano_text_dir, tmp_path):
    found = fields(written(nano_text_dir, tmp_path / "nano.gguf"))
    config = Thinker.from_pretrained(nano_text_dir).config
    assert found["general.architecture"] == "qwen3"
    assert found["general.name"] == nano_text_dir.name
    assert found["general.sampling.temp"] == 0.0
    expected = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.key_length": config.head_dim,
        "attention.value_length": config.head_dim,
        "rope.freq_base": config.rope_theta,
        "attention.layer_norm_rms_epsilon": pytest.approx(config.rms_norm_eps),
        "vocab_size": config.vocab_size,
    }
    assert {key: found[f"qwen3.{key}"] for key in expected} == expected


def test_vocabulary_is_the_tokenizers(nano_text_dir, tmp_path):
    found = fields(written(nano_text_dir, tmp_path / "nano.gguf"))
    tokenizer = Tokenizer(nano_text_dir / "tokenizer.model")
    names = [f"tokenizer.ggml.{name}" for name in ("tokens", "scores", "token_type")]
    pieces, scores, kinds = (found[name] for name in names)
    assert len(pieces) == len(scores) == len(kinds) == len(tokenizer)
    kind = gguf.TokenType
    assert pieces[:4] == ["<unk>", "<s>", "</s>", "<pad>"]
    assert kinds[:4] == [kind.UNKNOWN, kind.CONTROL, kind.CONTROL, kind.CONTROL]
    assert {pieces[i] for i, k in enumerate(kinds) if k == kind.CONTROL} >= set(SYMBOLS)
    assert kinds.count(kind.BYTE) == 256 and kinds.count(kind.CONTROL) == 3 + len(SYMBOLS)
    for i, (piece, k) in enumerate(zip(pieces, kinds)):
        if k == kind.NORMAL:
            assert piece.replace("\u2581", " ").encode() == tokenizer.piece_bytes(i)
        elif k == kind.BYTE:
            assert int(piece[3:5], 16) == tokenizer.piece_bytes(i)[0]
    joined = [score for score, k in zip(scores, kinds) if k == kind.NORMAL]
    assert joined == sorted(joined, reverse=True) and joined[0] > joined[-1]  # what to join first
    ids = {name: found[f"tokenizer.ggml.{name}_token_id"] for name in ("bos", "eos", "padding")}
    assert ids == {"bos": 1, "eos": 2, "padding": 3} and found["tokenizer.ggml.model"] == "llama"
    assert found["tokenizer.ggml.add_bos_token"] and not found["tokenizer.ggml.add_eos_token"]
    assert not found["tokenizer.ggml.add_space_prefix"]
    assert set(found["tokenizer.ggml.suppress_tokens"]) == tokenizer.special - {tokenizer.eos}


def test_an_omni_checkpoint_gives_its_thinker(nano_omni_dir, nano_text_dir, tmp_path):
    whole = tensors(written(nano_omni_dir, tmp_path / "omni.gguf"))
    alone = tensors(written(nano_text_dir, tmp_path / "text.gguf"))
    assert whole.keys() == alone.keys()
    assert all((whole[name] == alone[name]).all() for name in whole)


def test_a_head_of_its_own_and_rows_without_a_piece(nano_text_dir, tmp_path):
    tokenizer = Tokenizer(nano_text_dir / "tokenizer.model")
    size, out = len(tokenizer) + 3, tmp_path / "wide.gguf"
    config = ThinkerConfig(size, 32, 1, 2, 1, 16, 64, tie_word_embeddings=False)
    thinker = Thinker(config)
    write_gguf(thinker, tokenizer, out, "f32", "wide")
    reader = gguf.GGUFReader(out)
    assert (tensors(reader)["output.weight"] == thinker.lm_head.weight.detach().numpy()).all()
    found = fields(reader)
    assert len(set(found["tokenizer.ggml.tokens"])) == size
    assert found["tokenizer.ggml.token_type"][-3:] == [gguf.TokenType.UNUSED] * 3


def test_the_chat_template_writes_what_encode_chat_does(nano_text_dir, tmp_path):
    jinja2 = pytest.importorskip("jinja2")
    source = fields(written(nano_text_dir, tmp_path / "nano.gguf"))["tokenizer.chat_template"]
    template = jinja2.Environment().from_string(source)
    tokenizer = Tokenizer(nano_text_dir / "tokenizer.model")
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": ' Hello,\nyou "two"! '},
        {"role": "assistant", "content": "Hi."},
    ]
    for messages, ask in (chat[:2], True), (chat, False), (chat[1:], True):
        given = {"messages": messages, "add_generation_prompt": ask}
        text = template.render(bos_token="<s>", eos_token="</s>", **given)
        ids = tokenizer.encode_chat(messages, add_generation_prompt=ask)
        assert text == tokenizer.decode(ids, skip_special=False)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--ckpt_dir", "nowhere"], "nowhere does not exist"),
        (["--ckpt_dir", "."], "no config.json"),
        (["--out", "model.bin"], "ending in .gguf"),
        (["--out", "nowhere/model.gguf"], "nowhere does not exist"),
    ],
)
def test_a_mistake_is_one_line(arguments, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and reason in said
    assert not list(tmp_path.iterdir())


def test_without_the_package_it_names_the_command(nano_text_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gguf", None)
    assert main(["--ckpt_dir", str(nano_text_dir), "--out", str(tmp_path / "a.gguf")]) == 2
    assert capsys.readouterr().err == "error: writing GGUF needs the package gguf: pip install gguf\n"


def test_what_llama_cpp_cannot_compute_is_refused(nano_text_dir, tmp_path):
    tokenizer, out = Tokenizer(nano_text_dir / "tokenizer.model"), tmp_path / "old.gguf"
    out.write_bytes(b"old")
    sizes = {"vocab_size": 512, "hidden_size": 48, "num_hidden_layers": 1, "intermediate_size": 64}
    with pytest.raises(UserError, match="attention dba is not a Qwen3"):
        write_gguf(Thinker(ThinkerConfig(attention="dba", **sizes)), tokenizer, out, "f32", "x")
    with pytest.raises(UserError, match="multiple of 32 numbers, not 48"):
        write_gguf(Thinker(ThinkerConfig(**sizes)), tokenizer, out, "q8_0", "x")
    assert out.read_bytes() == b"old" and list(tmp_path.iterdir()) == [out]


# ---- in llama.cpp itself

needs_llama = pytest.mark.skipif(library_path() is None, reason=f"no llama.cpp here: {INSTALL}")


@pytest.fixture(scope="module")
def text_omni() -> Omni:
    return Omni.from_pretrained(TEXT)


@pytest.fixture(scope="module")
def held_out() -> list[list[dict]]:
    """Conversations in unseen wordings, up to what is to be answered."""
    rng = random.Random("gguf")
    chats = [sample_conversation(rng, "test")["messages"] for _ in range(24)]
    return [chat[:-1] if chat[-1]["role"] == "assistant" else chat for chat in chats]


@pytest.fixture(scope="module")
def replies(text_omni, held_out) -> list[list[int]]:
    """Our greedy answers to them."""
    config, tokenizer = text_omni.config(max_new_tokens=32), text_omni.tokenizer
    prompts = [Prompt(tokenizer.encode_chat(chat)) for chat in held_out]
    return [generate(text_omni.model, prompt, config) for prompt in prompts]


@torch.inference_mode()
def gap(omni: Omni, ids: list[int]) -> float:
    """How far the likeliest next token is before the second, in the logits' standard deviations."""
    logits = thinker_of(omni.model)(torch.tensor([ids]))[0, -1]  # (V,)
    first, second = logits.topk(2).values.tolist()
    return (first - second) / float(logits.std())


@needs_llama
@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_llama_cpp_chooses_the_same_tokens(text_omni, held_out, replies, tmp_path, kind):
    path, tokenizer, same = tmp_path / f"{kind}.gguf", text_omni.tokenizer, 0
    write_gguf(thinker_of(text_omni.model), tokenizer, path, kind, "tiny")
    with LlamaCpp(path, 512) as llama:
        assert llama.eos == tokenizer.eos
        for chat, ours in zip(held_out, replies, strict=True):
            ids = tokenizer.encode_chat(chat)
            theirs = llama.greedy(ids, 32, end=tokenizer.eos)
            same += ours == theirs
            if ours != theirs:  # only where two tokens are as good as equal
                both = zip([*ours, tokenizer.eos], [*theirs, tokenizer.eos])
                first = next(i for i, (one, other) in enumerate(both) if one != other)
                assert gap(text_omni, ids + ours[:first]) < NEAR, tokenizer.decode(ids)
    assert same >= 22  # of 24


@needs_llama
def test_llama_cpp_cuts_text_into_the_same_pieces(text_omni, held_out, tmp_path):
    path, tokenizer = tmp_path / "tiny.gguf", text_omni.tokenizer
    write_gguf(thinker_of(text_omni.model), tokenizer, path, "q8_0", "tiny")
    odd = ["", "  two  spaces ", "a\nb\tc", "12345", "naïve 🙂 漢字 μ", "<|user|> <s> </s>", "a\0b"]
    with LlamaCpp(path, 256) as llama:
        for text in odd + [message["content"] for chat in held_out for message in chat]:
            assert llama.tokenize(text) == tokenizer.encode(text), text
        for chat in held_out:
            ids = tokenizer.encode_chat(chat)
            assert llama.tokenize(tokenizer.decode(ids, skip_special=False), symbols=True) == ids


@needs_llama
@torch.inference_mode()
def test_llama_cpp_has_the_same_logits_after_every_token(text_omni, held_out, tmp_path):
    path, ids = tmp_path / "f32.gguf", text_omni.tokenizer.encode_chat(held_out[0])
    write_gguf(thinker_of(text_omni.model), text_omni.tokenizer, path, "f32", "tiny")
    ours = thinker_of(text_omni.model)(torch.tensor([ids]))[0].log_softmax(-1)  # (T, V)
    with LlamaCpp(path, 256) as llama:
        for _ in range(2):  # what was read before does not matter
            theirs = torch.from_numpy(llama.logits(ids)).log_softmax(-1)
            assert theirs.shape == ours.shape and (theirs.exp() - ours.exp()).abs().max() < 0.02


@needs_llama
def test_llama_cpp_refuses_a_file_that_is_none(tmp_path):
    (tmp_path / "no.gguf").write_bytes(b"GGUF, it says")
    with pytest.raises(UserError, match="llama.cpp cannot read"):
        LlamaCpp(tmp_path / "no.gguf")


@needs_llama
@pytest.mark.parametrize("kind", MADE_BY_LLAMA)
def test_llama_cpp_quantises_and_answers(text_omni, held_out, replies, tmp_path, kind):
    """By the function in its library that llama-quantize calls; xllamacpp's wheel has none."""
    if not hasattr(library(), "llama_model_quantize"):
        pytest.skip("this build of llama.cpp has no quantiser")
    path = export_to_gguf(text_omni, tmp_path / "k.gguf", kind, tokenizer=text_omni.tokenizer)
    stored = {tensor.tensor_type.name for tensor in gguf_package().GGUFReader(path).tensors}
    assert kind[:4].upper() in stored
    with LlamaCpp(path, 512) as llama:
        ids = [text_omni.tokenizer.encode_chat(chat) for chat in held_out]
        said = [llama.greedy(one, 32, end=text_omni.tokenizer.eos) for one in ids]
    assert sum(one == other for one, other in zip(said, replies, strict=True)) >= 12  # of 24
