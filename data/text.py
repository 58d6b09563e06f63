"""Plain English on disk, as a stream of clean strings.

Reads the text sets of the manifest, and any JSONL, TXT or Parquet file a user brings
(TinyStories, a Hugging Face dataset saved to disk). Normalises punctuation to ASCII and drops
lines with profanity. It does not shuffle, tokenise or download.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from models.errors import UserError, needed

SPLITS = ("train", "dev", "test")
# Words that drop a line, written in ROT13 so that this file stays clean to read.
_BLOCKED = frozenset(codecs.decode(
    "shpx fuvg ovgpu onfgneq phag avttre avttn snttbg snt qlxr juber fyhg encr encvfg cbea "
    "chffl qvpx nffubyr nff gvgf obbof cravf intvan qnza cvff ergneq ergneqrq genaal fcvp "
    "puvax xvxr jrgonpx tbbx fhvpvqr xvyyvat zheqre znffnper anmv uvgyre wvuna wrjf arteb "
    "zbyrfg frk frkl frkhny anxrq ahqr urebva pbpnvar bofprar ybyvgn fgevccre cebfgvghgr "
    "ahqvgl bematn betnfz snttbgf avttref ovgpurf juberf fyhgf qvpxf unezovat qrivyvfu",
    "rot13",
).split())
_STRETCHED = re.compile(r"\b(?:f+u+c+k|s+h+i+t)")
_WORD = re.compile(r"\w+")
_ASCII = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": " - ",
     "\u2026": "...", "\u00a0": " ", "\u2060": "", "\ufeff": "", "\u2212": "-", "\u00e6": "ae"}
)
_BLANKS = re.compile(r"[ \t\r\f\v]+")


def clean(text: str) -> str:
    """ASCII punctuation, single blanks; line breaks are kept."""
    text = _BLANKS.sub(" ", text.translate(_ASCII))
    return "\n".join(line.strip() for line in text.split("\n")).strip()


def is_clean(text: str) -> bool:
    """False when the text holds a blocked word."""
    text = text.lower()
    return _BLOCKED.isdisjoint(_WORD.findall(text)) and _STRETCHED.search(text) is None


def split_of(text: str) -> str:
    """Stable split of a string: 1 % dev, 1 % test, the rest train."""
    slot = zlib.crc32(text.encode("utf-8", "replace")) % 100
    return "test" if slot == 0 else "dev" if slot == 1 else "train"


def _open(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise UserError(f"no text file at {path}")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        yield from file


def _records(path: Path) -> Iterator[dict]:
    for number, line in enumerate(_open(path), 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(f"{path} line {number} is not JSON: {error}") from error


# ---- the manifest's sets ---------------------------------------------------------------------


def dialogues(folder: str | Path, name: str) -> Iterator[tuple[str, list[str]]]:
    """(system line, turns) of one dialogue set; the system line says who the speakers are.

    The line keeps a stranger's habits (taste in films, bookings) apart from the assistant's own.
    """
    for record in _records(Path(folder) / "text" / f"{name}.jsonl.gz"):
        turns = [clean(turn) for turn in record["turns"]]
        if name == "self_dialogue":
            system = f"You are a friend who talks about {record['topic'].replace('_', ' ')}."
        elif name == "sgd_dialogues":
            system = "You help people find and book things."
        elif name == "taskmaster4_coffee":
            system = "You take coffee orders."
            wrong = record["speakers"][:1] != ["user"]
            turns = turns[1:] if wrong else turns
        else:
            system = clean(" ".join(["About you:", *record["p2"]]))
        if len(turns) > 1 and all(turns) and is_clean(" ".join([system, *turns])):
            yield system, turns


DIALOGUES = ("self_dialogue", "sgd_dialogues", "synthetic_persona_chat", "taskmaster4_coffee")


def stories(folder: str | Path, chars: int = 1800) -> Iterator[str]:
    """Old stories in passages of at most `chars` characters, cut between paragraphs."""
    for record in _records(Path(folder) / "text" / "stories_standardebooks.jsonl.gz"):
        passage = ""
        for paragraph in clean(record["text"]).split("\n"):
            if passage and len(passage) + len(paragraph) > chars:
                if is_clean(passage):
                    yield passage
                passage = ""
            passage = f"{passage}\n{paragraph}".strip()
        if passage and is_clean(passage):
            yield passage


def _sentences(path: Path) -> Iterator[str]:
    for line in _open(path):
        text = clean(line.rsplit("|", 1)[-1])
        if text and is_clean(text):
            yield text


def ljspeech(folder: str | Path) -> Iterator[str]:
    """LJ Speech sentences."""
    return _sentences(Path(folder) / "text" / "ljspeech_transcripts.txt.gz")


def librispeech(folder: str | Path) -> Iterator[str]:
    """LibriSpeech dev-clean sentences; upper case in the source, sentence case here."""
    for text in _sentences(Path(folder) / "text" / "librispeech_devclean_transcripts.txt.gz"):
        yield re.sub(r"^.|\bi\b", lambda m: m[0].upper(), text.lower()) + "."


def piper(folder: str | Path) -> Iterator[str]:
    """Modern prompt sentences."""
    return _sentences(Path(folder) / "text" / "piper_prompts_en.txt.gz")


def trivia(folder: str | Path) -> Iterator[tuple[str, str]]:
    """(question, answer) pairs of OpenTriviaQA."""
    for record in _records(Path(folder) / "text" / "opentriviaqa.jsonl.gz"):
        question, answer = clean(record["q"]), clean(str(record["a"]))
        if question and answer and is_clean(f"{question} {answer}"):
            yield question, answer


SENTENCES: dict[str, Callable[[str | Path], Iterator[str]]] = {
    "stories": stories, "ljspeech": ljspeech, "librispeech": librispeech, "piper": piper,
}


# ---- what a user brings ----------------------------------------------------------------------


def text_files(path: str | Path, column: str = "text") -> Iterator[str]:
    """Documents of a TXT, JSONL or Parquet file, or of every such file below a folder.

    TXT documents are parted by <|endoftext|> (TinyStories) or by an empty line. JSONL and
    Parquet (a Hugging Face dataset on disk) give the field `column`.
    """
    path = Path(path)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and _kind(p))
        if not found:
            raise UserError(f"no .txt, .jsonl or .parquet file below {path}")
        for one in found:
            yield from text_files(one, column)
        return
    reader = {"txt": _txt, "jsonl": _jsonl, "parquet": _parquet}.get(_kind(path))
    if reader is None:
        raise UserError(f"{path}: only .txt, .jsonl (also .gz) and .parquet can be read")
    for document in reader(path, column):
        document = clean(document)
        if document and is_clean(document):
            yield document


def _kind(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return name.rsplit(".", 1)[-1] if name.endswith((".txt", ".jsonl", ".parquet")) else ""


def _txt(path: Path, column: str) -> Iterator[str]:
    head = "".join(line for line, _ in zip(_open(path), range(2000), strict=False))
    mark = "<|endoftext|>" if "<|endoftext|>" in head else ""
    lines: list[str] = []
    for line in _open(path):
        if line.strip() != mark:
            lines.append(line)
        elif lines:
            yield "".join(lines)
            lines = []
    if lines:
        yield "".join(lines)


def _jsonl(path: Path, column: str) -> Iterator[str]:
    for record in _records(path):
        if column not in record:
            raise UserError(f"{path} has no field {column!r}; it has {', '.join(record)}")
        yield str(record[column])


def _parquet(path: Path, column: str) -> Iterator[str]:
    parquet = needed("pyarrow.parquet", f"reading {path}", "pyarrow")
    file = parquet.ParquetFile(path)
    if column not in file.schema.names:
        raise UserError(f"{path} has no column {column!r}; it has {', '.join(file.schema.names)}")
    for batch in file.iter_batches(columns=[column]):
        yield from (str(value) for value in batch.column(0).to_pylist())
