"""Compiled decoding: PyTorch's answers from one call a token, or a notice and PyTorch itself."""

import shutil
import warnings
from pathlib import Path

import pytest
import torch

import infer_chat
from inference import Notice, Omni, generate, generate_batch, generation
from inference.config import GenerateConfig
from inference.generation import Generator, prefill
from inference.native import library as libraries
from inference.native.step import native_step, unsuited
from inference.prompt import Prompt
from inference.runner import Runner
from models.cachekind import KVCacheKind
from models.errors import UserError
from models.omni import thinker_of
from models.thinker import Thinker
from tests.inference.conftest import picture, tone
from tests.inference.turns import first_turn

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compiled(compiled_step):
    if compiled_step is None:
        pytest.skip("no C++ compiler here")


def prompts(omni) -> list[Prompt]:
    """Text, picture and sound, of different lengths."""
    config = omni.config()
    return [
        first_turn(omni, "hello there", None, None, None, None, config),
        first_turn(omni, "what is this?", picture(3), None, None, "be kind", config),
        first_turn(omni, None, None, (tone(700, 0.3), 16_000), None, None, config),
    ]


@torch.inference_mode()
def next_logits(omni, native: str, rows: int, steps: int = 6) -> torch.Tensor:
    """Logits (steps, rows, V) of fixed tokens after left-padded prompts of fixed tokens."""
    thinker = thinker_of(omni.model)
    generator = torch.Generator().manual_seed(rows)
    ids = torch.randint(10, 400, (rows, 20 + steps), generator=generator)
    mask = torch.arange(20 + steps)[None] >= torch.arange(rows)[:, None]  # (B, 20 + steps)
    cache, seen = thinker.new_cache(rows, 20 + steps), []
    thinker.hidden(thinker.embed(ids[:, :20]), mask[:, :20], cache)
    step = native_step(thinker, cache, omni.config(native="on")) if native == "on" else None
    for t in range(20, 20 + steps):
        x, real = thinker.embed(ids[:, t : t + 1]), mask[:, : t + 1]  # (B, 1, D)
        if step is not None:
            seen.append(step(x, real).logits.clone())
        else:
            seen.append(thinker.logits(thinker.hidden(x, real, cache)[:, -1]).float())
    return torch.stack(seen)


def far(one: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference, in standard deviations of the logits."""
    return float((one - other).abs().max() / other.std())


@pytest.mark.parametrize("kind", [None, "bf16", "q8_0"])
def test_the_same_tokens_as_pytorch(compiled, omni, kind):
    on = omni.config(max_new_tokens=24, native="on", cache_kind=kind)
    off = omni.config(max_new_tokens=24, native="off", cache_kind=kind)
    expected = [generate(omni.model, prompt, off) for prompt in prompts(omni)]
    assert len({tuple(reply) for reply in expected}) == 3
    assert [generate(omni.model, prompt, on) for prompt in prompts(omni)] == expected
    assert generate_batch(omni.model, prompts(omni), on) == expected


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_fp32_logits_are_pytorchs_whatever_the_threads(compiled, omni, rows):
    threads = torch.get_num_threads()
    alone = next_logits(omni, "on", rows)
    assert far(alone, next_logits(omni, "off", rows)) < 1e-4
    try:
        torch.set_num_threads(2)
        assert torch.equal(next_logits(omni, "on", rows), alone)
    finally:
        torch.set_num_threads(threads)


def test_bf16_is_closer_to_fp32_than_pytorchs_bf16(compiled, omni, nano_omni_dir):
    short = Omni.from_pretrained(nano_omni_dir, dtype="bf16")  # weights are stored in bf16
    exact = next_logits(omni, "off", 3)
    error = far(next_logits(short, "on", 3), exact)
    assert error < 0.1
    assert error < far(next_logits(short, "off", 3), exact)


def test_int8_is_what_pytorch_computes_with_rounded_weights(compiled, nano_omni_dir):
    rounded = Omni.from_pretrained(nano_omni_dir, dtype="int8")
    assert far(next_logits(rounded, "on", 3), next_logits(rounded, "off", 3)) < 5e-3
    for question in ("hello there", "what is this?"):
        answers = {rounded.chat(question, max_new_tokens=12, native=x) for x in ("on", "off")}
        assert len(answers) == 1


@torch.inference_mode()
def test_int8_rounding_keeps_the_shipped_models_choices():
    folder = ROOT / "checkpoints" / "thinker_tiny"
    exact, rounded = (Omni.from_pretrained(folder, dtype=dtype) for dtype in ("fp32", "int8"))
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    ids = torch.tensor([exact.tokenizer.encode(text)[:400]])  # (1, S)
    p, q = (omni.model(input_ids=ids)[0].log_softmax(-1) for omni in (exact, rounded))  # (S, V)
    assert float((p.exp() * (p - q)).sum(-1).mean()) < 0.01  # nats a token
    assert float((p.argmax(-1) == q.argmax(-1)).float().mean()) > 0.93


def test_new_weights_are_packed_again(compiled, nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    before = next_logits(omni, "on", 1)
    with torch.no_grad():
        omni.model.thinker.model.layers[0].mlp.up_proj.weight.mul_(0.5)
    after = next_logits(omni, "on", 1)
    assert far(after, before) > 0.01
    assert far(after, next_logits(omni, "off", 1)) < 1e-4


def test_a_chat_goes_on_in_one_cache_and_time_is_split(compiled, omni):
    prompt = prompts(omni)[1]
    answers = []
    for native in ("on", "off"):
        generator = Generator(omni.model, omni.config(max_new_tokens=8, native=native))
        answers.append([generator.generate(prompt), generator.generate(Prompt([7, 8, 9]))])
        assert generator.timing.model > 0 and generator.timing.head > 0
    assert answers[0] == answers[1]


def test_a_full_cache_is_refused(compiled, omni):
    thinker = thinker_of(omni.model)
    cache = thinker.new_cache(1, 4)
    prefill(omni.model, [Prompt([5, 6, 7, 8])], Runner(thinker, cache))
    step = native_step(thinker, cache, omni.config())
    with pytest.raises(UserError, match="KV cache is full"):
        step([5])


def test_what_it_does_not_serve_is_left_to_pytorch(omni):
    cache = thinker_of(omni.model).new_cache(9, 16)
    assert "8 rows" in unsuited(thinker_of(omni.model), cache)
    assert native_step(thinker_of(omni.model), cache, omni.config()) is None
    with pytest.raises(UserError, match="8 rows"):
        native_step(thinker_of(omni.model), cache, omni.config(native="on"))


@torch.inference_mode()
@pytest.mark.parametrize("kind", [*map(str, KVCacheKind), "q8_0/nf4"])
@pytest.mark.parametrize("length", [5, 70])  # stepped over, and read
def test_caches_of_every_kind_hold_what_pytorch_stores(compiled, omni, kind, length):
    """Keys and values of the first layer are rounded from the same numbers: only ties differ."""
    thinker = thinker_of(omni.model)
    ids = torch.randint(10, 400, (2, length), generator=torch.Generator().manual_seed(0))
    theirs, ours = (thinker.new_cache(2, 80, kind) for _ in range(2))
    thinker.hidden(thinker.embed(ids), cache=theirs)
    native_step(thinker, ours, omni.config(native="on"))(thinker.embed(ids))
    for one, other in zip(theirs.layers[0], ours.layers[0]):
        assert one.parts[0][:, :, :length].ne(0).float().mean() > 0.5
        if len(one.parts) > 1:  # codes and scales
            for mine, its in zip(one.parts, other.parts):
                assert (mine != its).float().mean() < 0.01
        exact, close = one.read(0, length).float(), other.read(0, length).float()
        assert ((exact - close).abs() > 1e-2 * exact.std()).float().mean() < 0.01
    both = [thinker(torch.tensor([[7], [8]]), cache=x).float() for x in (theirs, ours)]
    assert far(*both) < (1e-4 if kind == "fp32" else 0.1)  # and PyTorch goes on in either


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["fp32", "q8_0"])
def test_windows_are_looked_through_as_pytorch_does(compiled, omni, kind):
    thinker = thinker_of(omni.model)
    ids = torch.randint(10, 400, (2, 60), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(66)[None] >= torch.tensor([[0], [9]])  # (2, 66)

    def read(native: bool, windows) -> list[torch.Tensor]:
        cache = thinker.new_cache(2, 70, kind)
        cache.windows = windows
        step = native_step(thinker, cache, omni.config(native="on")) if native else None
        seen = []
        for part in (ids[:, :40], *ids[:, 40:46].split(1, 1)):  # a prompt, then single tokens
            x, real = thinker.embed(part), mask[:, : cache.length + part.shape[1]]
            if native:
                seen.append(step(x, real).logits.clone())
            else:
                seen.append(thinker.logits(thinker.hidden(x, real, cache)[:, -1]).float())
        return torch.stack(seen)

    windows = ((0, None), (16, 12))
    assert far(read(True, windows), read(False, windows)) < (1e-4 if kind == "fp32" else 0.1)
    assert far(read(True, windows), read(True, ())) > 0.1


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A user who has compiled nothing yet, with a cache and a checkpoint folder of his own."""
    monkeypatch.delenv("MUOMNI_NATIVE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(libraries, "_libraries", {})
    (tmp_path / "checkpoint").mkdir()
    return tmp_path / "checkpoint"


def test_without_a_compiler_one_notice_and_the_same_answers(bare, omni, monkeypatch):
    expected = omni.chat("hello", max_new_tokens=6, native="off")

    def no_compiler(*_, **__):
        raise RuntimeError("g++ not found")

    monkeypatch.setattr(libraries, "build", no_compiler)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert omni.chat("hello", max_new_tokens=6) == expected
        assert omni.chat("hello", max_new_tokens=6) == expected
    told = [str(x.message) for x in told if x.category is Notice]
    assert len(told) == 2 and "compiling" in told[0] and "g++ not found" in told[1]
    with pytest.raises(UserError, match="native is on, but .*g\\+\\+ not found"):
        omni.chat("hello", max_new_tokens=6, native="on")


def test_kept_beside_the_checkpoint_and_found_again(compiled, bare, monkeypatch):
    ready = ROOT / "build" / "native" / f"decode-{libraries.machine_key()}.so"
    calls = []

    def build(folder):
        calls.append(folder)
        return Path(shutil.copy(ready, folder / "decode.so"))

    if not ready.exists():
        pytest.skip("MUOMNI_NATIVE_DIR names another folder")
    monkeypatch.setattr(libraries, "build", build)
    for _ in range(2):
        libraries._libraries.clear()
        assert not isinstance(libraries.library(bare), str)
    assert len(calls) == 1
    shutil.rmtree(bare / "compiled")
    libraries._libraries.clear()
    libraries.library(bare)
    assert len(calls) == 2


def test_a_library_that_came_with_a_checkpoint_is_not_run(bare):
    path = libraries.library_folder(bare) / f"decode-{libraries.machine_key()}.so"
    assert path.parent == bare / "compiled"
    path.parent.mkdir()
    path.write_bytes(b"a stranger's code")
    assert not libraries.usable(path)
    assert libraries.usable(libraries.user_cache() / "none.so") is False


def test_a_folder_that_others_write_holds_no_library(bare):
    for mode in (0o777, 0o775):
        bare.chmod(mode)
        assert libraries.library_folder(bare) == libraries.user_cache()
    bare.chmod(0o755)
    assert libraries.library_folder(bare) == bare / "compiled"


def test_a_path_with_blanks_and_a_failure_that_says_why(bare, monkeypatch):
    folder = bare / "my own projects"
    folder.mkdir()
    commands = []
    monkeypatch.setattr(libraries, "run", lambda *command: commands.append(command))
    assert libraries.build(folder) == folder / "decode.so"
    assert folder / "decode.o" in commands[0] and folder / "decode.o" in commands[1]
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="no such file|No such file"):
        libraries.run("c++", "-c", folder / "none.cpp")


def test_ids_that_are_none_are_refused(compiled, nano_text_dir):
    """They would be read from beside the table."""
    thinker = Thinker.from_pretrained(nano_text_dir).eval()
    step = native_step(thinker, thinker.new_cache(1, 8), GenerateConfig(native="on"))
    for wrong in (-1, thinker.config.vocab_size):
        with pytest.raises(IndexError, match="token ids"):
            step([wrong])


def test_another_torch_processor_or_source_wants_another_library(monkeypatch):
    keys = {libraries.machine_key()}
    monkeypatch.setattr(torch, "__version__", "9.9")
    keys.add(libraries.machine_key())
    monkeypatch.setattr(libraries, "processor", lambda: "another")
    keys.add(libraries.machine_key())
    monkeypatch.setattr(libraries, "SOURCES", libraries.SOURCES[:1])
    assert len({*keys, libraries.machine_key()}) == 4


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
def test_from_the_command_line(compiled, nano_text_dir, capsys, dtype):
    flags = ["--text", "hi", "--dtype", dtype, "--native", "on", "--max_new_tokens", "5"]
    assert infer_chat.main([*flags, "--ckpt_dir", str(nano_text_dir)]) == 0
    assert infer_chat.main([*flags[:-3], "maybe", "--ckpt_dir", str(nano_text_dir)]) == 2
    assert "native must be auto, on or off" in capsys.readouterr().err


def read_and_go_on(run: Omni, native: str, prompt: Prompt, pad: int, chunk: int | None):
    """Logits after a padded prompt, its part of the cache, and logits of PyTorch's next step."""
    thinker, row = thinker_of(run.model), Prompt([3] * pad, []) + prompt
    mask = torch.arange(len(row) + 1)[None] >= pad  # (1, S + 1)
    cache = thinker.new_cache(1, len(row) + 1, "fp32" if thinker.int8 else None)  # exact beside int8
    runner = Runner(thinker, cache, run.config(native=native))
    logits = prefill(run.model, [row], runner, mask[:, :-1], chunk).float()
    kept = [x.read(pad, cache.length).float() for layer in cache.layers for x in layer]
    return logits, torch.stack(kept), thinker(torch.tensor([[7]]), None, mask, cache).float()


@torch.inference_mode()
@pytest.mark.parametrize("dtype, error", [("fp32", 1e-4), ("bf16", 0.2), ("int8", 5e-3)])
@pytest.mark.parametrize("pad, chunk", [(0, None), (21, None), (0, 40), (21, 40)])
def test_prompts_are_read_as_pytorch_reads_them(
    compiled, nano_omni_dir, monkeypatch, dtype, error, pad, chunk
):
    """Text, picture, sound, and a text of more than one piece; PyTorch goes on in the same cache."""
    short = Omni.from_pretrained(nano_omni_dir, dtype=dtype)
    exact = Omni.from_pretrained(nano_omni_dir, dtype="int8" if dtype == "int8" else "fp32")

    embed = generation.embed
    monkeypatch.setattr(  # both read what the same encoders give: these differ by processor in bf16
        generation, "embed",
        lambda model, rows: embed(short.model, rows).to(next(thinker_of(model).parameters()).dtype),
    )
    for prompt in (*prompts(short), Prompt([9 + i % 300 for i in range(150)])):
        expected = read_and_go_on(exact, "off", prompt, pad, chunk)
        for theirs, ours in zip(expected, read_and_go_on(short, "on", prompt, pad, chunk)):
            assert far(ours, theirs) < error


@torch.inference_mode()
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
def test_a_row_is_read_in_company_as_alone_whatever_the_threads(compiled, nano_omni_dir, dtype):
    omni = Omni.from_pretrained(nano_omni_dir, dtype=dtype)
    thinker, generator = thinker_of(omni.model), torch.Generator().manual_seed(0)
    ids = torch.randint(10, 400, (3, 70), generator=generator)
    pads = torch.tensor([0, 5, 33])
    mask = torch.arange(70)[None] >= pads[:, None]  # (3, 70)

    def read(rows: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        step = native_step(thinker, thinker.new_cache(len(rows), 70), omni.config())
        return step(thinker.embed(rows), seen).logits

    threads, together = torch.get_num_threads(), read(ids, mask)
    for row, pad in enumerate(pads.tolist()):
        assert torch.equal(read(ids[row : row + 1, pad:], None)[0], together[row])
    try:
        torch.set_num_threads(2)
        assert torch.equal(read(ids, mask), together)
    finally:
        torch.set_num_threads(threads)


@torch.inference_mode()
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
def test_guesses_are_scored_as_single_steps_are(compiled, nano_omni_dir, dtype):
    omni = Omni.from_pretrained(nano_omni_dir, dtype=dtype)
    thinker, ids = thinker_of(omni.model), [7, 19, 300, 7, 45, 8, 9, 101, 11]
    step = native_step(thinker, thinker.new_cache(1, 40), omni.config())
    step(list(range(20, 50)))
    single = []
    for token in ids:
        scores = step([token])
        assert scores.likeliest == scores.logits.argmax(-1).tolist()
        single.append(scores.logits[0].clone())
    step.cache.truncate(30)
    together = step(ids, every=True)
    assert torch.equal(together.logits[0], torch.stack(single))
    assert together.likeliest == together.logits[0].argmax(-1).tolist()


def test_the_first_token_waits_for_no_compiler(bare, omni, monkeypatch):
    cache = thinker_of(omni.model).new_cache(1, 8)
    monkeypatch.setattr(libraries, "load", lambda *_: pytest.fail("compiled too early"))
    assert native_step(thinker_of(omni.model), cache, omni.config(), wait=False) is None
