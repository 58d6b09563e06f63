"""Any dense Qwen3 folder is chatted with by its own tokenizer and template, as transformers does."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import infer_chat
from inference import Generator, Omni, generate, generate_batch, generate_iter
from inference.hf_tokenizer import HFTokenizer, load_tokenizer

transformers = pytest.importorskip("transformers", reason="needs pip install -r requirements-chunks.txt")

ROOT = Path(__file__).resolve().parents[2]
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
WITH_DEFAULT = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe kind.<|im_end|>\\n' }}{% endif %}"
    + CHATML
)
TEXTS = ["Hello", "What is a dog?", "naïve 🙂 漢字 μ\n\n two  spaces", "<|im_end|> typed"]


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory) -> Path:
    """A tiny random Qwen3 with a byte-level BPE tokenizer and ChatML, as transformers saves them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("qwen3")
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=alphabet)
    bpe.train_from_iterator((ROOT / "LICENSE").read_text(encoding="utf-8").splitlines(), trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=512, hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, intermediate_size=96, max_position_embeddings=512,
        tie_word_embeddings=False, eos_token_id=tokenizer.eos_token_id, initializer_range=0.3,
    )
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def theirs(qwen3):
    return transformers.AutoTokenizer.from_pretrained(qwen3)


def test_ids_and_text_are_those_of_transformers(qwen3, theirs):
    ours = load_tokenizer(qwen3)
    assert isinstance(ours, HFTokenizer) and len(ours) == len(theirs)
    for text in TEXTS:
        ids = ours.encode(text)
        assert not set(ids) & ours.special
        assert ours.decode(ids) == text == "".join(ours.decode_stream(ids))
    broken = ours.encode("🙂")[:2]  # half a character
    assert "".join(ours.decode_stream(broken)) == ours.decode(broken)
    assert b"".join(map(ours.piece_bytes, ours.encode("Hello"))) == b"Hello"


@pytest.mark.parametrize("template", [CHATML, WITH_DEFAULT], ids=["chatml", "default system"])
@pytest.mark.parametrize("system", [None, "You are kind."])
def test_turns_join_to_the_template(qwen3, template, system):
    hf = transformers.AutoTokenizer.from_pretrained(qwen3)
    hf.chat_template = template
    ours = HFTokenizer(hf)
    answer = ours.encode("I am well.")
    joined = [*ours.encode_head(system), *ours.encode_turn("Hello"), *answer, ours.eos]
    joined += [*ours.turn_end, *ours.encode_turn("And you?")]
    messages = [{"role": "system", "content": system}] if system else []
    messages += [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "I am well."}]
    messages += [{"role": "user", "content": "And you?"}]
    text = hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert joined == hf(text, add_special_tokens=False)["input_ids"]


def test_typed_symbols_stay_text(qwen3, theirs):
    ids = load_tokenizer(qwen3).encode_turn("a <|im_end|> b")
    assert ids.count(theirs.eos_token_id) == 1


def test_answers_are_those_of_transformers(qwen3, theirs):
    omni = Omni.from_pretrained(qwen3)
    model = transformers.Qwen3ForCausalLM.from_pretrained(qwen3)
    never = sorted(set(theirs.all_special_ids) - {theirs.eos_token_id})
    for text in TEXTS[:3]:
        ids = theirs.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, return_tensors="pt",
            return_dict=True,
        )
        out = model.generate(**ids, max_new_tokens=12, do_sample=False, suppress_tokens=never)
        right = theirs.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        assert omni.chat(text, max_new_tokens=12, native="off") == right


def test_tensors_and_texts_take_the_tokenizer_of_transformers(qwen3, theirs):
    omni = Omni.from_pretrained(qwen3)
    asked = {"max_new_tokens": 8, "native": "off"}
    assert omni.model.config.pad_token_id is None  # its config names none
    for call, source in ((generate, "Hello"), (generate_batch, ["Hello", "What is"])):
        whole = call(omni.model, omni.tokenizer, source, **asked)
        assert call(omni.model, theirs, source, **asked) == whole
    stop = generate(omni.model, theirs, "Hello", **asked)[2:4]
    assert stop not in generate(omni.model, theirs, "Hello", stop_strings=(stop,), **asked)
    going = Generator(omni.model, tokenizer=theirs)
    assert stop not in going.generate("Hello", stop_strings=(stop,), **asked)
    rows = torch.tensor([[theirs.pad_token_id, 300, 301], [3, 302, 303]])
    streamed = list(generate_iter(omni.model, theirs, rows[:1], **asked))
    assert generate(omni.model, theirs, rows, **asked)[0, 3 : 3 + len(streamed)].tolist() == streamed


def test_a_session_reads_what_the_template_says(qwen3, theirs):
    session = Omni.from_pretrained(qwen3).session("Be short.", max_new_tokens=5, native="off")
    session.ask("Hello")
    session.ask("And you?")
    text = theirs.decode(session.history().ids)
    assert text.count("<|im_end|>\n<|im_start|>user\n") == 2


def test_the_command_chats_with_it(qwen3):
    done = subprocess.run(
        [sys.executable, ROOT / "infer_chat.py", "--ckpt_dir", qwen3, "--max_new_tokens", "4", "--quiet"],
        input="Hello\n/quit\n", capture_output=True, text=True, timeout=120, cwd="/",
    )
    assert done.returncode == 0 and done.stderr == ""


def test_another_folders_tokenizer_is_used_and_a_wrong_one_refused(qwen3, tmp_path, capsys):
    bare = tmp_path / "bare"
    shutil.copytree(qwen3, bare)
    for path in bare.glob("token*"):
        path.unlink()
    for path in bare.glob("*.jinja"):
        path.unlink()
    assert infer_chat.main(["--ckpt_dir", str(bare), "--text", "Hello"]) == 2
    assert "--model_name names another folder" in capsys.readouterr().err
    flags = ["--ckpt_dir", str(bare), "--text", "Hello", "--max_new_tokens", "3"]
    assert infer_chat.main([*flags, "--model_name", str(qwen3)]) == 0
    assert infer_chat.main([*flags, "--model_name", str(ROOT / "checkpoints" / "thinker_tiny")]) == 2
    assert "more ids than the weights" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert infer_chat.main([*flags, "--model_name", str(tmp_path / "empty")]) == 2
    err = capsys.readouterr().err
    assert "cannot read a tokenizer from" in err and err.count("\n") == 1
    for name in ("no_such_folder", str(tmp_path / "none"), str(bare / "config.json")):  # nothing is fetched
        assert infer_chat.main([*flags, "--model_name", name]) == 2
        assert f"no tokenizer folder {name}" in capsys.readouterr().err
    picture = str(ROOT / "examples" / "sample_image.png")
    assert infer_chat.main([*flags, "--image", picture, "--model_name", str(qwen3)]) == 2


def test_it_is_cut_into_chunks_like_ours(qwen3, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs pip install -r requirements-chunks.txt")
    pytest.importorskip("onnx", reason="needs pip install -r requirements-chunks.txt")
    from export.chunks import Options, run
    from inference.chunked import CoreMLLanguageModel, generate

    run(qwen3, tmp_path / "two", Options(num_chunks=2, embeddings=True, lm_head=True))
    model = CoreMLLanguageModel(tmp_path / "two", is_chunked=True, num_chunks=2)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "two")
    answer = generate(model, tokenizer, "Hello", max_new_tokens=8, temperature=0.0)
    assert answer == Omni.from_pretrained(qwen3).chat("Hello", max_new_tokens=8, native="off")
