"""What is exported: Core ML packages as the runner wants them, and folders that are whole or absent."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from export import chunk_targets, chunks
from export.chunk_check import check_packages, described
from export.chunk_modules import CoreMLChunk, HalfNorm, layer_ranges, vocabulary_parts
from export.chunks import Options, main, run, write_chunks
from inference.chunked import coreml, load_chunks
from inference.chunked.coreml import core_ml
from models.block import RMSNorm
from models.errors import UserError
from models.thinker import Thinker
from tests.conftest import ROOT

for name in ("onnx", "onnxruntime", "coremltools"):
    pytest.importorskip(name, reason="needs pip install -r requirements-chunks.txt")


@pytest.fixture(scope="module")
def packages(nano_text_dir, tmp_path_factory):
    """A nano Thinker as two Core ML packages."""
    out = tmp_path_factory.mktemp("coreml") / "two"
    manifest, said = run(nano_text_dir, out, Options("coreml", 2, embeddings=True, lm_head=True))
    assert said.startswith("verified" if sys.platform == "darwin" else "specifications checked")
    return out, manifest


def test_specifications_have_shapes_states_and_types(packages):
    folder, manifest = packages
    for i in range(2):
        spec = core_ml().utils.load_spec(str(folder / f"chunk_{i}.mlpackage"))
        about, state = spec.description, ("fp16", (1, 1, 1032, 32))
        hidden, position = ("fp16", (1, 64, 1, 8)), ("int32", (1,))
        assert described(about.input) == {"hidden_states": hidden, "position": position}
        assert described(about.output) == {"output": ("fp16", (1, 64, 1, 8))}
        assert described(about.state) == {"keys": state, "values": state}
        assert spec.specificationVersion >= 9  # macOS 15: the first with states
        kinds = [op.type for op in operations(spec)]
        assert kinds.count("slice_update") == 2 and "read_state" in kinds and "gather" in kinds
    head = core_ml().utils.load_spec(str(folder / "lm_head.mlpackage")).description
    assert described(head.output) == {
        "logits": ("fp16", (1, 512, 1, 8)),
        "chunk_logsumexp_stable": ("fp16", (1, 4, 1, 8)),
        "chunk_max": ("fp16", (1, 4, 1, 8)),
    }
    check_packages(folder, manifest)
    with pytest.raises(UserError, match="has inputs"):
        from dataclasses import replace

        check_packages(folder, replace(manifest, seq_len=4))


def operations(spec) -> list:
    main = spec.mlProgram.functions["main"]
    return list(main.block_specializations[main.opset].operations)


def test_weights_are_the_thinkers_in_fp16(packages, nano_text_dir):
    folder, _ = packages
    thinker = Thinker.from_pretrained(nano_text_dir)
    for i in range(2):
        stored = (folder / f"chunk_{i}.mlpackage/Data/com.apple.CoreML/weights/weight.bin").read_bytes()
        layer = thinker.model.layers[i]
        for weight in (layer.mlp.down_proj.weight, layer.self_attn.q_proj.weight):
            numbers = weight.detach().numpy().astype(np.float16)
            assert numbers.tobytes() in stored
            other = thinker.model.layers[1 - i].mlp.down_proj.weight.detach().numpy()
            assert other.astype(np.float16).tobytes() not in stored
    table = np.load(folder / "embeddings.npy")
    assert table.dtype == np.float16 and table.shape == (512, 64)


@torch.no_grad()
def test_the_core_ml_chunk_computes_what_the_thinker_does(nano_text_dir):
    """Its module in PyTorch: states written in place, padding overwritten, norms safe in fp16."""
    right, thinker = Thinker.from_pretrained(nano_text_dir), Thinker.from_pretrained(nano_text_dir)
    chunks = [CoreMLChunk(thinker, i, i + 1, 8, 40) for i in range(2)]
    x = right.embed(torch.arange(20, 41)[None])  # (1, 21, hidden)
    out, start = [], 0
    for piece in x.split(8, 1):
        real = piece.shape[1]
        padded = torch.cat([piece, piece[:, -1:].expand(1, 8 - real, -1)], 1)
        block = padded.transpose(1, 2).unsqueeze(2)  # (1, hidden, 1, 8)
        for chunk in chunks:
            block = chunk(block, torch.tensor([start], dtype=torch.int32))
        out.append(block.squeeze(2).transpose(1, 2)[:, :real])
        start += real
    found, wanted = torch.cat(out, 1), right.hidden(x)
    assert float((found - wanted).abs().max() / wanted.abs().max()) < 2e-2  # states are fp16


def test_the_half_norm_stands_large_numbers():
    norm = RMSNorm(64)
    x = 300 * torch.randn(5, 64)
    assert torch.allclose(HalfNorm(norm)(x), norm(x), atol=1e-3)
    half = HalfNorm(norm).half()(x.half()).float()
    assert torch.allclose(half, norm(x), atol=1e-2)
    assert x.half().square().isinf().any()  # as a plain norm would have it
    assert HalfNorm(norm)(torch.zeros(1, 64)).isfinite().all()


@pytest.mark.skipif(sys.platform != "darwin", reason="Core ML predicts on macOS only")
def test_core_ml_gives_the_tokens(packages, nano_text_dir):
    from inference import Omni

    chunked = load_chunks(packages[0], True, 2, cache_compiled=True)
    for question in ("Hello", "What is a dog?"):
        assert chunked.chat(question, max_new_tokens=8) == Omni.from_pretrained(nano_text_dir).chat(
            question, max_new_tokens=8
        )
    assert (packages[0] / "chunk_0.mlmodelc").is_dir()


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS runs Core ML")
def test_elsewhere_running_core_ml_is_one_line(packages):
    with pytest.raises(UserError, match="Core ML runs on macOS only: export with --target onnx"):
        load_chunks(packages[0], True, 2)


def test_core_ml_keeps_and_finds_compiled_forms(packages, tmp_path, monkeypatch):
    """With a stand-in for the runtime, which macOS alone has."""
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "model.mil").write_text("compiled")
    folder, opened = shutil.copytree(packages[0], tmp_path / "two"), []

    class Model:
        def __init__(self, path):
            opened.append(Path(path).name)

        def get_compiled_model_path(self):
            return str(tmp_path / "compiled")

    models = SimpleNamespace(MLModel=Model, CompiledMLModel=Model)
    monkeypatch.setattr(coreml, "need_macos", lambda: None)
    monkeypatch.setattr(coreml, "core_ml", lambda: SimpleNamespace(models=models))
    names = ("chunk_0", "chunk_1", "lm_head")
    for cache_compiled in False, True, False:
        load_chunks(folder, True, 2, cache_compiled=cache_compiled)
    plain, kept = [f"{name}.mlpackage" for name in names], [f"{name}.mlmodelc" for name in names]
    both = [name for pair in zip(plain, kept, strict=True) for name in pair]
    assert opened == [*plain, *both, *kept]
    assert all((folder / name / "model.mil").read_text() == "compiled" for name in kept)


def test_layers_and_vocabulary_are_cut_evenly():
    assert layer_ranges(6, 4) == ((0, 1), (1, 3), (3, 4), (4, 6))
    assert vocabulary_parts(4096) == (1024,) * 4
    assert vocabulary_parts(151_936) == (16_384,) * 9 + (4480,)


def test_large_weights_stand_beside_the_graph(nano_text_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk_targets, "LARGEST", 10_000)
    run(nano_text_dir, tmp_path / "large", Options(num_chunks=2, embeddings=True, lm_head=True))
    assert (tmp_path / "large" / "chunk_1.onnx.data").stat().st_size > 10_000
    assert load_chunks(tmp_path / "large", True, 2).chat("Hello", max_new_tokens=4)


BAD = [
    (("--num-chunks", "3"), "--num-chunks must be 1 to 2"),
    (("--num-chunks", "0"), "--num-chunks must be 1 to 2"),
    (("--seq-len", "0"), "--seq-len must be 1 to 1024"),
    (("--max-context-length", "9999"), "--max-context-length must be 2 to 1024"),
    (("--out", "{file}"), "is there already and holds no chunks"),
    (("--out", "/nowhere/else"), "the folder /nowhere does not exist"),
    (("--ckpt-dir", "/nowhere"), "the checkpoint folder /nowhere does not exist"),
]


@pytest.mark.parametrize("flags, said", BAD, ids=[said for _, said in BAD])
def test_misuse_is_one_line_and_writes_nothing(nano_text_dir, tmp_path, capsys, flags, said):
    file = tmp_path / "file"
    file.write_bytes(b"mine")
    given = ["--ckpt-dir", str(nano_text_dir), "--out", str(tmp_path / "new")]
    assert main(given + [flag.format(file=file) for flag in flags]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file] and file.read_bytes() == b"mine"


def test_without_the_package_it_names_the_command(nano_text_dir, tmp_path, monkeypatch, capsys):
    for target, package in ("onnx", "onnx"), ("coreml", "coremltools"):
        monkeypatch.setitem(sys.modules, package, None)
        flags = ["--target", target, "--ckpt-dir", str(nano_text_dir), "--out", str(tmp_path / "x")]
        assert main(flags) == 2
        assert "pip install -r requirements-chunks.txt" in capsys.readouterr().err


def test_chunks_that_compute_something_else_are_never_written(nano_text_dir, tmp_path, monkeypatch):
    from export import chunk_check

    monkeypatch.setattr(chunk_check, "deviation", lambda *_: 0.5)
    with pytest.raises(UserError, match="differ from the model"):
        run(nano_text_dir, tmp_path / "x", Options())
    assert not list(tmp_path.iterdir())


def test_chunks_of_other_weights_are_found_out(nano_text_dir, tmp_path, monkeypatch):
    def altered(thinker, folder, options):
        with torch.no_grad():
            thinker.model.layers[1].mlp.down_proj.weight[0] += 1.0
        return write_chunks(thinker, folder, options)

    monkeypatch.setattr(chunks, "write_chunks", altered)
    with pytest.raises(UserError, match="differ from the model"):
        run(nano_text_dir, tmp_path / "x", Options())
    assert not list(tmp_path.iterdir())


def test_a_second_export_takes_the_place_of_the_first(nano_text_dir, tmp_path):
    out = tmp_path / "x"
    run(nano_text_dir, out, Options(num_chunks=2, embeddings=True, lm_head=True))
    run(nano_text_dir, out, Options(num_chunks=1, embeddings=True, lm_head=True))
    assert list(tmp_path.iterdir()) == [out]
    assert [path.name for path in sorted(out.glob("chunk_*"))] == ["chunk_0.onnx"]
    with pytest.raises(UserError, match="another model's"):
        load_chunks(out, model_name=ROOT / "checkpoints" / "thinker_tiny")


def test_a_folder_with_a_manifest_of_something_else_stays(nano_text_dir, tmp_path, capsys):
    site = tmp_path / "site"
    site.mkdir()
    for content in ('{"name": "a web page"}', "no JSON", "[]"):
        (site / "manifest.json").write_text(content)
        assert main(["--ckpt-dir", str(nano_text_dir), "--out", str(site)]) == 2
        assert "holds no chunks" in capsys.readouterr().err
        assert (site / "manifest.json").read_text() == content
