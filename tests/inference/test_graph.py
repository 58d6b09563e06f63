"""The step that a CUDA graph records: what is replayed on a GPU, replayed here without one."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from inference import generate, generate_batch
from inference.generation import thinker_of
from inference.graph import GraphStep, graph_step
from models.errors import UserError
from tests.inference.test_native import far, prompts

ROWS, HELD, STEPS = 3, 12, 5


def kernels_only(run):
    """A recording of another kind: the operations of one run on the very tensors it used.

    Like a CUDA graph it repeats no Python: a number that Python works out stays as it was.
    """
    return make_fx(lambda: run())()  # (it cannot trace a bound method)


@torch.inference_mode()
def steps(thinker, record, padded=True, kind=None):
    """Logits (STEPS, ROWS, V) of fixed tokens after a prompt: by PyTorch (no record), or replayed."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(10, 400, (ROWS, HELD + STEPS), generator=generator)
    mask = torch.arange(HELD + STEPS)[None] >= torch.arange(ROWS)[:, None]  # left padding
    mask = mask if padded else torch.ones_like(mask)
    cache, out = thinker.new_cache(ROWS, HELD + STEPS, kind), []
    thinker.hidden(thinker.embed(ids[:, :HELD]), mask[:, :HELD], cache)
    step = record and GraphStep(thinker, cache, mask[:, :HELD] if padded else None, record)
    for t in range(HELD, HELD + STEPS):
        if step:
            logits, likeliest, _ = step(ids[:, t].tolist())
            assert likeliest == logits.argmax(-1).tolist()
        else:
            hidden = thinker.hidden(thinker.embed(ids[:, t : t + 1]), mask[:, : t + 1], cache)
            logits = thinker.logits(hidden[:, -1])
        out.append(logits.float().clone())
    assert cache.length == HELD + STEPS
    return torch.stack(out)


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("kind", [None, "bf16"])
def test_replayed_steps_give_pytorchs_logits(omni, padded, kind):
    thinker = thinker_of(omni.model)
    expected = steps(thinker, None, padded, kind)
    assert far(steps(thinker, kernels_only, padded, kind), expected) < 1e-3


def test_a_step_that_remembers_its_first_position_is_caught(omni, monkeypatch):
    """The control: with the position worked out in Python, a recording goes wrong at once."""
    thinker = thinker_of(omni.model)

    def frozen(step):
        step.position = torch.tensor([int(step.position)])
        return GraphStep._run(step)

    expected = steps(thinker, None)
    recorded = steps(thinker, lambda run: kernels_only(lambda: frozen(run.__self__)))
    assert far(recorded, expected) > 0.1


def test_a_full_cache_is_an_error(omni):
    thinker = thinker_of(omni.model)
    step = GraphStep(thinker, thinker.new_cache(1, 1), None, kernels_only)
    step([5])
    with pytest.raises(UserError, match="full"):
        step([5])


def test_it_is_for_cuda_only(omni):
    thinker = thinker_of(omni.model)
    assert graph_step(thinker, thinker.new_cache(1, 8), omni.config(), None) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_the_same_tokens_on_a_gpu(omni):
    off = omni.config(max_new_tokens=16, native="off")
    on = omni.config(max_new_tokens=16)
    model = omni.model.to("cuda")
    try:
        expected = [generate(model, prompt, off) for prompt in prompts(omni)]
        assert [generate(model, prompt, on) for prompt in prompts(omni)] == expected
        assert generate_batch(model, prompts(omni), on) == expected
    finally:
        model.to("cpu")
