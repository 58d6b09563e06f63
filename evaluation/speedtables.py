"""Tables of speed and memory: caches, contestants side by side, growth with context and batch."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.markdown import MISSING, Results, grid, listed, names_of, show, table
from evaluation.speeds import growth
from training.objective import COUNTED, STAGES


def caches(results: Results) -> str:
    """What each cache kind takes and costs."""
    kinds = ("fp32", "fp16", "bf16", "q8_0", "q4_0", "nf4", "q8_0/nf4")
    head = ["kind", "bytes a token and layer", "bits per byte", "more than fp32"]
    head += ["speed compiled, fp32 = 1", "in PyTorch, fp32 = 1"]
    columns = ["bytes_per_token_per_layer", "bits_per_byte", "loss_percent", "compiled_ratio", "ratio"]
    return grid(results, "caches", head, [(kind, kind) for kind in kinds], columns)


def speed(results: Results) -> str:
    """Ours beside others on the same weights and machine, each bench's first row being 1."""
    figures = results.get("speed", {}).get("figures", {})
    rows = []
    for name in sorted(figures, key=lambda n: (n.split("/")[0], n.split("/")[1].split(", ")[::-1])):
        bench, row, unit = name.split("/")
        if unit == "ratio" and bench not in ("context", "batch", "memory"):
            took = f"{bench}/{row}/seconds"
            took = took if took in figures else f"{bench}/{row}/tokens_per_second"
            rows.append([bench, row, show(results, "speed", took), show(results, "speed", name)])
    rows = rows or [[MISSING] * 4]
    head = ["bench", "what, rows at once or tokens read", "tokens a second, or seconds", "ratio"]
    return table(head, rows)


def context(results: Results) -> str:
    """What a token costs after contexts of each length."""
    found = growth(results, "context")
    return growth_table("tokens before", found, lambda speed: f"{1000 / speed:.2f} ms")


def batch(results: Results) -> str:
    """Tokens a second of all rows together."""
    return growth_table("rows at once", growth(results, "batch"), lambda speed: f"{speed:.0f}")


def growth_table(what: str, found: dict[str, dict[int, float]], cell: Callable[[float], str]) -> str:
    """A line for each number, a column for each contestant."""
    numbers = sorted({number for speeds in found.values() for number in speeds})
    rows = [
        [str(number), *(cell(speeds[number]) if number in speeds else MISSING for speeds in
                        found.values())]
        for number in numbers
    ]  # fmt: skip
    return table([what, *found], rows) if rows else table([what, "speed"], [[MISSING] * 2])


def memory(results: Results) -> str:
    """The most that a process of each contestant held."""
    rows = [(name, f"memory/{name}") for name in names_of(results, "speed", "memory/")]
    head = ["what", "most memory held", "of it since the imports", "ratio"]
    return grid(results, "speed", head, rows, ["megabytes", "grown_megabytes", "ratio"])


def attention(results: Results) -> str:
    """Standard and decoupled attention, trained alike."""
    rows = [
        ("standard", "standard"), ("standard, heads half as wide", "narrow"), ("decoupled", "dba"),
    ]
    about = results.get("attention", {}).get("about", {})
    kind, steps = about.get("cache_kind", "bf16"), about.get("steps", "?")
    head = ["attention", f"cache, bytes a token ({kind})", "parameters"]
    head.append(f"dev loss in nats a token after {steps} steps (lowest–highest of n seeds)")
    return grid(results, "attention", head, rows, ["bytes", "parameters", "loss"])


def routers(results: Results) -> str:
    """Routing strategies of a memory bank: facts, speed, what routing holds."""
    rows = []
    for name in ("no bank", "sequence", "rolling", "token", "hybrid"):
        fact = "none" if name == "no bank" else name
        cells = [show(results, "memory", f"facts/{fact}")]
        cells += [show(results, "speed", f"{way}, {name}/ratio") for way in
                  ("routers/read", "routers/decode")]  # fmt: skip
        held = f"routers/read, {name}/routing_megabytes"
        rows.append([name, *cells, "" if name == "no bank" else show(results, "speed", held)])
    head = ["strategy", "facts right", "reading 512 tokens, speed ratio", "decoding, speed ratio"]
    return table([*head, "memory of routing"], rows)


def bank(results: Results) -> str:
    """What a memory bank knows, beside its controls."""
    rows = [
        ("facts in held-out wordings, with the bank", "facts/hybrid"),
        ("control: without a bank", "facts/none"),
        ("control: the bank's numbers shuffled", "facts/shuffled"),
        ("control: the chapters that score lowest", "facts/wrong_chapters"),
        ("guessing among a relation's values", "facts/chance"),
        ("ordinary conversation, with the bank", "talk/with"),
        ("ordinary conversation, without", "talk/without"),
    ]
    return listed(results, "memory", ["measured", "right"], rows)


def serving(results: Results) -> str:
    """One client alone, and many at once."""
    many = ("32 clients", "ratio of 32 clients", "32 at once", "ratio of 32 at once")
    rows = [(who, f"serve/{who}") for who in ("one client", *many)]
    head = ["", "tokens a second", "first word of a text", "of a picture's answer", "of a spoken answer"]
    columns = [f"first_word_{kind}" for kind in ("text", "picture", "speech")]
    return grid(results, "speed", head, rows, ["tokens_per_second", *columns])


def realtime(results: Results) -> str:
    """A spoken turn, step by step."""
    head = ["from the end of speech to", "the turn's end", "its words", "the first sound", "95th percentile"]
    columns = ["turn_found", "words", "first_sound", "first_sound_p95"]
    return grid(results, "speed", head, [("median of eight turns", "realtime/end of speech to")], columns)


def quantisers(results: Results) -> str:
    """Ways of storing the Thinker."""
    rows = [(name, f"quantise/{name}") for name in names_of(results, "speed", "quantise/")]
    head = ["method", "file", "bits per byte", "tokens a second", "ratio"]
    columns = ["file_megabytes", "bits_per_byte", "tokens_per_second", "ratio"]
    return grid(results, "speed", head, rows, columns)


def recipe(results: Results) -> str:
    """What each stage of the shipped weights took."""
    columns = ("steps", "hours", "sittings")
    rows = [
        [stage, *(show(results, "recipe", f"{stage}/{column}") for column in columns)]
        for stage in STAGES if stage not in COUNTED
    ]
    return table(["stage", *columns], [*rows, ["all", "", show(results, "recipe", "all/hours"), ""]])
