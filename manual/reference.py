"""The generated reference, docs/reference: flags, config fields and the Python API, read from source.

Read as syntax, not run: what depends on the machine (a number of cores, a folder) shows as written.
"""

from __future__ import annotations

import ast
from pathlib import Path

import yaml

from manual.chapters import ROOT

FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- made by `python -m manual reference`; do not edit -->\n\n"
COMMANDS = (
    "infer_chat.py", "serve.py", "inference/codec.py", "inference/manifest.py", "train.py",
    "training/export.py", "training/provenance.py", "export/draft_table.py",
    "evaluation/compare_attention.py", "export/gguf.py", "export/hf_tokenizer.py",
    "export/chunks.py", "export/vllm.py", "evaluate.py", "benchmark.py",
    "data/preview.py", "data/readers/emoji.py", "data/scenes/build.py", "data/speech/teachers.py",
    "data/examples.py",
)
CONFIGS = ("models", "inference", "training/config.py", "data/corpus.py")
PRESETS = ("nano", "tiny", "small")
DATA = {  # what the keys below `data` in a preset mean; the stages read them, no class declares them
    "kinds": "of conversation, in a smaller world; none: all",
    "conversations": "generated conversations that the vocabulary is made from",
    "sequence_length": "tokens of a row of text",
    "corpus": "sizes of the token stream: fields of CorpusOptions",
    "extra": "your own text for the token stream: a .txt, .jsonl or .parquet file, or a folder of them",
    "scenes": "drawn pictures to train on",
    "signs": "vision: pictures of signs besides; omni: whether samples use them",
    "held_out": "items of the dev and test sets",
    "objects": "what is drawn: all (needs an emoji font), shapes, or few (one of ten large shapes)",
    "styles": "whose drawings the pictures show (data/scenes/styles.py); none: Noto's as they are",
    "several": "sets of two or three pictures in one request",
    "clips": "audio: clips of each list of voices (data/speech/voices.py); omni: moving scenes",
    "source": "who speaks: engines, or what the repository holds: samples, words",
    "voices": "lists of voices whose clips are samples",
    "noisy": "share of clips that noise is added to, anew each time",
    "masked": "share of clips with SpecAugment",
    "tempo": "share of batches whose clips are all faster or slower, at 0.75 to 1.4 of their speed",
    "recorded": "whether recorded people are trained on (needs --real_dir)",
    "times": "how often a clip of a list, or of the recorded people, comes in an epoch; else once",
    "ngram": "size of the n-gram model, and how much is counted besides sentences",
    "speech": "utterances of each set of speech (data/speech/speaking_sets.py)",
    "asked": "share of short statements that become questions, whose ends then rise",
    "adversary_from": "share of the steps after which the discriminators join",
    "shares": "samples of each kind in the pattern that a batch repeats",
    "photos": "photographs of a step, beside its scenes (needs --real_dir)",
    "photos_of_set": "photographs of each set, at most",
    "photo_shares": "photographs of each set, and drawings, in the pattern that they repeat",
    "small_scenes": "scenes among the photographs, at most, whose name is drawing",
    "statements": "spoken statements with questions; 0: none",
    "fixed": "parameters, by how their names begin, that stay as their own stages left them",
    "facts": "share of the rows that are facts; the others are ordinary dialogues",
}
EXPORTS = "inference/__init__.py"


def tree(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def cell(text: str) -> str:
    """Text that does not break a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def words(node: ast.expr | None) -> str:
    """A help text; what is filled in when it runs shows as …"""
    if isinstance(node, ast.JoinedStr):
        return "".join(p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
    return node.value if isinstance(node, ast.Constant) else ""


def meaning(given: dict[str | None, ast.expr]) -> str:
    """An argument's help text and the values it may have."""
    texts = [words(given.get("help"))]
    if isinstance(given.get("choices"), ast.List | ast.Tuple):
        options = given["choices"].elts
        texts.append(" or ".join(f"`{words(o)}`" for o in options if isinstance(o, ast.Constant)))
    return "; ".join(filter(None, texts))


def flag_rows(module: ast.Module) -> str:
    """A table row for every argument that a file's parser knows."""
    rows = []
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = ast.unparse(node.func)  # a parser's method, or a short name for it; not a set's add
        adds = called == "add" or called.endswith(".add_argument")
        if not adds or not isinstance(node.args[0], ast.Constant):
            continue
        given = {word.arg: word.value for word in node.keywords}
        names = ", ".join(f"`{ast.literal_eval(arg)}`" for arg in node.args)
        if ast.unparse(given.get("help", node)) == "argparse.SUPPRESS":
            continue  # an alias
        default = f"`{cell(ast.unparse(given['default']))}`" if "default" in given else ""
        rows.append(f"| {names} | {default} | {cell(meaning(given))} |\n")
    return "".join(rows)


def flags() -> str:
    """Every flag of the command lines."""
    out = [NOTE + "# Flags\n\nDefaults are shown as the source writes them.\n"]
    for name in COMMANDS:
        module = tree(ROOT / name)
        about = (ast.get_docstring(module) or "").split("\n")[0]
        command = name if "/" not in name else f"python -m {name[:-3].replace('/', '.')}"
        head = "| flag | default | meaning |\n| --- | --- | --- |\n"
        out.append(f"\n## {command}\n\n{about}\n\n{head}{flag_rows(module)}")
    return "".join(out)


def sources(place: str) -> list[Path]:
    """A file, or the files of a package."""
    path = ROOT / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def is_dataclass(node: ast.stmt) -> bool:
    """Whether a statement defines a dataclass."""
    return isinstance(node, ast.ClassDef) and any(
        "dataclass" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def configs() -> str:
    """Every field of every config dataclass, with the comment beside it."""
    about = "Presets (`configs/*.yaml`) set these by name; see also [training](../training.md)."
    out = [f"{NOTE}# Config fields\n\n{about}\n"]
    for path in [path for place in CONFIGS for path in sources(place)]:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in tree(path).body:
            if not is_dataclass(node) or not node.name.endswith(("Config", "Options")):
                continue
            about = ast.get_docstring(node) or ""
            link = f"[{node.name}](../../{path.relative_to(ROOT)}#{node.name})"
            out.append(f"\n## {node.name}\n\n{link}. {about}\n\n")
            out.append("| field | type | default | |\n| --- | --- | --- | --- |\n")
            for field in node.body:
                if not isinstance(field, ast.AnnAssign):
                    continue
                default = f"`{cell(ast.unparse(field.value))}`" if field.value else "required"
                after = "".join(lines[field.lineno - 1 : field.end_lineno])
                comment = after.split("  # ")[-1] if "  # " in after else ""
                kind = cell(ast.unparse(field.annotation))
                out.append(f"| `{field.target.id}` | `{kind}` | {default} | {cell(comment)} |\n")
    return "".join(out) + data_settings()


def data_settings() -> str:
    """The `data` section of every stage in every preset."""
    presets = {name: yaml.safe_load((ROOT / f"configs/{name}.yaml").read_text()) for name in PRESETS}
    head = "| stage | key | meaning | " + " | ".join(PRESETS) + " |\n" + "| --- " * 6 + "|\n"
    out = [f"\n## The data section of a stage\n\nA dash: the preset leaves it out.\n\n{head}"]
    for stage in presets["tiny"]:
        given = {name: (preset[stage] or {}).get("data") or {} for name, preset in presets.items()}
        for key in dict.fromkeys(key for keys in given.values() for key in keys):
            values = " | ".join(f"`{keys[key]}`" if key in keys else "–" for keys in given.values())
            out.append(f"| {stage} | `{key}` | {DATA[key]} | {values} |\n")
    return "".join(out)


def signature(node: ast.FunctionDef) -> str:
    """`name(arguments) -> result`, without self."""
    arguments = ast.unparse(node.args)
    for receiver in ("self, ", "cls, ", "self", "cls"):
        arguments = arguments.removeprefix(receiver)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){result}"


def entry(node: ast.FunctionDef, level: str) -> str:
    """A function's heading, signature and docstring."""
    about = ast.get_docstring(node) or ""
    return f"\n{level} {node.name}\n\n```text\n{signature(node)}\n\n{about}\n```\n"


def api() -> str:
    """What `from inference import …` offers, then one line on each class and function of models/."""
    out = [
        NOTE
        + "# Python API\n\n`from inference import …` gives these names; they are kept stable.\n"
    ]
    homes = next(
        ast.literal_eval(node.value)
        for node in tree(ROOT / EXPORTS).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOME"
    )
    for name, home in homes.items():
        module = tree(ROOT / "inference" / f"{home.replace('.', '/')}.py")
        node = next(n for n in module.body if getattr(n, "name", None) == name)
        if isinstance(node, ast.FunctionDef):
            out.append(entry(node, "##"))
            continue
        out.append(f"\n## {name}\n\n{ast.get_docstring(node) or ''}\n")
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
        out += [entry(n, "###") for n in methods if not n.name.startswith("_")]
    out.append("\n## The networks\n\n| name | |\n| --- | --- |\n")
    for path in sources("models"):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                about = (ast.get_docstring(node) or "").split("\n")[0]
                link = f"[`{node.name}`](../../models/{path.name}#{node.name})"
                out.append(f"| {link} | {cell(about)} |\n")
    return "".join(out)


def contents() -> dict[Path, str]:
    """What each generated page should hold."""
    pages = {"flags": flags(), "config": configs(), "api": api()}
    return {FOLDER / f"{name}.md": text for name, text in pages.items()}
