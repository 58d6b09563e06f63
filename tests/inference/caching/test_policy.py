"""The automatic cache policy: decisions on given figures, plans that last, and one real probe."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import infer_chat
from inference import Notice
from inference.caching.needle import FACT, needle
from inference.caching.options import DAY
from inference.caching.planfile import read_plans, write_plans
from inference.caching.planning import kept, resolve
from inference.caching.policy import Gates, Quality, cache_kinds, choose
from inference.caching.probe import CacheProbe
from models.cachekind import parse_cache_kind
from models.errors import UserError

GATES = Gates(max_delta_nll=0.05, max_ppl_ratio=1.01, max_mean_kl=0.01)
GOOD = Quality(0.0, 1.0, 0.0)
OPEN = {f"cache_quality_{name}": 1e9 for name in ("max_delta_nll", "max_ppl_ratio", "max_mean_kl")}


class Figures:
    """Measurements that a test writes down; counts what was asked for."""

    def __init__(self, **rows: tuple[int, Quality, float]):
        self.rows = rows
        self.asked: list[str] = []

    def nbytes(self, kind: str) -> int:
        if self.rows[kind][0] < 0:
            raise UserError("heads do not fit")
        return self.rows[kind][0]

    def quality(self, kind: str) -> Quality:
        self.asked.append(kind)
        return self.rows[kind][1]

    def speeds(self, kinds: list[str]) -> dict[str, float]:
        return {kind: self.rows[kind][2] for kind in kinds}


def test_budget_then_gates_then_speed():
    figures = Figures(
        fp32=(4000, GOOD, 90.0), fp16=(2000, GOOD, 80.0), q8_0=(1000, GOOD, 60.0),
        nf4=(500, Quality(0.2, 1.0, 0.0), 100.0), q4_0=(-1, GOOD, 100.0),
    )
    best, candidates = choose(figures.rows, figures, 2500, GATES)
    assert best.kind == "fp16"
    assert figures.asked == ["fp16", "q8_0", "nf4"], "what exceeds the budget is not measured"
    refused = {c.kind: c.refused for c in candidates}
    assert "above 0.0025" in refused["fp32"] and "delta_nll 0.2" in refused["nf4"]
    assert refused["q4_0"] == "heads do not fit"
    assert next(c for c in candidates if c.kind == "nf4").tokens_per_second is None
    assert choose(figures.rows, figures, None, GATES)[0].kind == "fp32"


def test_of_two_as_quick_the_smaller_wins():
    figures = Figures(fp32=(4000, GOOD, 100.0), fp16=(2000, GOOD, 98.0), q8_0=(1000, GOOD, 90.0))
    assert choose(figures.rows, figures, None, GATES)[0].kind == "fp16"


@pytest.mark.parametrize("quality", [Quality(0.06, 1, 0), Quality(0, 1.02, 0), Quality(0, 1, 0.02),
                                     Quality(float("nan"), 1, 0)])
def test_every_gate_refuses(quality):
    assert GATES.refusal(quality)
    assert GATES.refusal(GOOD) is None
    with pytest.raises(UserError, match="exact enough"):
        choose(["nf4"], Figures(nf4=(1, quality, 1.0)), None, GATES)


def test_nothing_fits_names_the_smallest():
    figures = Figures(fp32=(4_000_000, GOOD, 1.0), nf4=(500_000, GOOD, 1.0))
    with pytest.raises(UserError, match=r"cache_budget_mb 0.1: the smallest, nf4, takes 0.5 MB"):
        choose(figures.rows, figures, 1e5, GATES)


def test_every_candidate_is_a_kind():
    for parts in (2, 3):
        assert all(len(parse_cache_kind(kind, parts)) == parts for kind in cache_kinds(parts))


def test_plans_are_kept_until_they_are_old(tmp_path, omni, monkeypatch):
    path = tmp_path / "deep" / "plan.json"
    config = omni.config().__class__(
        cache_kind="auto", cache_plan_path=str(path), cache_plan_probe_interval_sec=2 * DAY
    )
    measured = []

    def ask(now: float, key: str = "a", memory: dict | None = None) -> None:
        measure = lambda: measured.append(now) or {"cache_kind": "fp32"}  # noqa: E731
        with monkeypatch.context() as patched:
            patched.setattr("inference.caching.planning.time.time", lambda: now)
            kept(config, key, {} if memory is None else memory, measure)

    ask(0.0)
    ask(1.9 * DAY)
    assert measured == [0.0], "a fresh plan is used again"
    ask(1.0 * DAY, "b")
    ask(2.1 * DAY)
    assert measured == [0.0, 1.0 * DAY, 2.1 * DAY]
    assert {key: plan["probed"] for key, plan in read_plans(path).items()} == {
        "a": 2.1 * DAY, "b": 1.0 * DAY,
    }
    memory: dict = {}
    ask(9 * DAY, "c", memory)
    ask(99 * DAY, "c", memory)
    assert measured[-2:] == [9 * DAY, 99 * DAY], "a process that lives long measures again, too"
    config = replace(config, cache_plan_probe=False)
    ask(999 * DAY, "c", memory)
    assert measured[-1] == 99 * DAY, "a plan may be said to hold for ever"
    path.unlink()
    ask(999 * DAY, "c", memory)
    assert measured[-1] == 99 * DAY and set(read_plans(path)) == {"c"}, "what is known is written, too"


def test_a_file_that_is_no_plan_is_refused_and_kept(tmp_path):
    path = tmp_path / "notes.json"
    odd = ('{"probed": "x", "cache_kind": "fp32"}', '{"probed": [1], "cache_kind": "fp32"}', '{"probed": 1}',
           '{"probed": 1, "decode_table": 3}', "3", "[]")  # fmt: skip
    texts = ["my notes", "[]", '{"version": 0, "plans": {}}', '{"version": 1, "plans": 3}', "[" * 9999]
    for text in texts + [f'{{"version": 1, "plans": {{"a": {plan}}}}}' for plan in odd]:
        path.write_text(text)
        with pytest.raises(UserError, match="no plan"):
            read_plans(path)
        assert path.read_text() == text
    with pytest.raises(UserError, match="cannot write"):
        write_plans(path / "inside.json", {})
    with pytest.raises(UserError, match="cannot write"):
        write_plans(Path("a\0b"), {})
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UserError, match="regular file|directory"):
            read_plans(place)


def test_the_needle_fits_and_ends_in_the_fact(omni):
    for length in (100, 300):
        prompt = needle(omni.tokenizer, length)
        assert 0.7 * length < len(prompt.ids) <= length
        assert omni.tokenizer.decode(prompt.ids[prompt.answer :]) == FACT


def test_a_real_probe_is_persisted_and_reused(omni, tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    thinker, context = omni.model.thinker, 160
    budget = thinker.new_cache(1, 1, "q8_0").nbytes * context / 1e6
    settings = {"cache_kind": "auto", "cache_plan_path": str(path), "max_seq_len": context,
                "cache_budget_mb": budget, **OPEN}
    config = omni.config(**settings)
    assert thinker.new_cache(1, 1, config.cache_kind).nbytes * context <= budget * 1e6
    (plan,) = read_plans(path).values()
    assert plan["cache_kind"] == config.cache_kind
    rows = {row["kind"]: row for row in plan["candidates"]}
    assert rows["fp32"]["refused"] and rows["fp32"]["quality"] is None
    assert rows["q8_0"]["quality"]["mean_kl"] < rows["nf4"]["quality"]["mean_kl"]
    assert rows["q8_0"]["tokens_per_second"] > 0
    reply = omni.chat("hello there", max_new_tokens=5, **settings)
    assert reply == omni.chat("hello there", max_new_tokens=5, cache_kind=config.cache_kind,
                              max_seq_len=context)
    monkeypatch.setattr("inference.caching.planning.plan_cache", lambda *_: pytest.fail("measured again"))
    from inference.config import GenerateConfig

    again = resolve(GenerateConfig(**settings), thinker, omni.tokenizer, {})
    assert again.cache_kind == config.cache_kind
    json.dumps(asdict(again))


def test_chunks_are_timed_on_the_kind_just_chosen(omni, monkeypatch):
    timed = []
    plans = {"plan_cache": {"cache_kind": "q8_0"}, "plan_chunks": {"decode_table": "max:64:0"}}
    for name, plan in plans.items():
        monkeypatch.setattr(f"inference.caching.planning.{name}",
                            lambda config, *_, plan=plan: timed.append(config.cache_kind) or plan)
    config = omni.config(cache_kind="auto", decode_plan="auto")
    assert timed == ["auto", "q8_0"] and config.cache_kind == "q8_0"


def test_fp32_costs_nothing_and_coarser_kinds_ever_more(omni):
    probe = CacheProbe(omni.model.thinker, needle(omni.tokenizer, 128), 128)
    assert probe.quality("fp32") == GOOD
    costs = [probe.quality(kind).mean_kl for kind in ("fp16", "q8_0", "nf4")]
    assert 0 < costs[0] + 1e-6 < costs[1] < costs[2]


@pytest.mark.parametrize("flags, words", [
    (("--cache_kind", "auto", "--cache_budget_mb", "0.001"), "the smallest, "),
    (("--cache_kind", "q8_0", "--cache_budget_mb", "0.001"), "use cache_kind auto"),
    (("--cache_kind", "auto", "--cache_plan", __file__), "no plan"),
    (("--decode_plan", "fixed", "--decode_table", "5"), "decode_table"),
    (("--cache_kind", "auto/q8_0"), "unknown"),
])
def test_the_command_line_refuses_in_one_line(nano_omni_dir, capsys, flags, words):
    assert infer_chat.main(["--text", "hi", "--quiet", "--ckpt_dir", str(nano_omni_dir), *flags]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1 and words in err


def test_the_command_line_plans_and_answers(nano_omni_dir, capsys, tmp_path):
    plan = tmp_path / "plan.json"
    flags = ("--cache_kind", "auto", "--cache_plan", str(plan), "--decode_plan", "fixed")
    asked = ["--text", "hi", "--max_new_tokens", "4", "--ckpt_dir", str(nano_omni_dir), *flags]
    assert infer_chat.main(asked) == 0
    first = capsys.readouterr()
    assert "cache_kind auto: " in first.err and read_plans(plan)
    assert infer_chat.main(asked) == 0
    second = capsys.readouterr()
    assert second.out == first.out and "measuring" not in second.err


def test_what_runs_is_what_is_timed(compiled_step, omni):
    for native in ("auto", "off"):
        memory = {}
        config = omni.config().__class__(cache_kind="auto", native=native)
        resolve(config, omni.model.thinker, omni.tokenizer, memory)
        (plan,) = memory.values()
        compiled = compiled_step is not None and native == "auto"
        assert plan["path"] == ("compiled" if compiled else "PyTorch")
        assert any(c["tokens_per_second"] for c in plan["candidates"])


def test_without_a_benchmark_the_smallest_exact_kind_is_taken():
    figures = Figures(fp32=(4000, GOOD, 90.0), q8_0=(1000, GOOD, 60.0))
    best, _ = choose(figures.rows, figures, None, GATES, race=False)
    assert best.kind == "q8_0" and best.tokens_per_second is None


def test_a_context_beyond_the_model_is_said(omni):
    with pytest.warns(Notice, match="8192 is beyond this model: its context is 1024"):
        assert omni.config(max_seq_len=8192).max_seq_len == 1024
