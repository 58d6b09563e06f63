"""The manifest of exported chunks: what `export.chunks` wrote, and where its files are.

A folder holds `chunk_0…`, and, where they were asked for, `embeddings.npy` and `lm_head`; beside
them stand the files of the checkpoint that a chat needs (tokenizer, encoders, config).
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from models.checkpoint import config_from_dict, read_json, write_json
from models.errors import UserError
from models.thinker import ThinkerConfig

NAME = "manifest.json"
FORMAT = "muomni-chunks-1"
SUFFIXES = {"onnx": ".onnx", "coreml": ".mlpackage"}
COMMAND = "python -m export.chunks"
EMBEDDINGS, LM_HEAD = "embeddings.npy", "lm_head"


@dataclass(frozen=True)
class ChunkManifest:
    """How a Thinker was cut; lengths in tokens, `layers` as (first, after the last)."""

    target: str  # onnx or coreml
    layers: tuple[tuple[int, int], ...]  # of each chunk
    seq_len: int  # positions that one call of a chunk takes
    max_context_length: int  # positions that a state has room for, besides padding
    vocab_chunks: tuple[int, ...]  # rows of the vocabulary in each part of the LM head
    model: dict  # the config.json of the Thinker, as Hugging Face names it
    format: str = FORMAT

    @property
    def num_chunks(self) -> int:
        return len(self.layers)

    @property
    def state_length(self) -> int:
        """Positions of a state: the last block of a full context may be padding but for one."""
        return self.max_context_length + self.seq_len

    @property
    def config(self) -> ThinkerConfig:
        """The Thinker's sizes; its context is that of the states."""
        model = self.model | {"max_position_embeddings": self.max_context_length}
        return ThinkerConfig.from_hugging_face(model, NAME)

    def state_shape(self, chunk: int) -> tuple[int, int, int, int]:
        """Shape of the keys, and of the values, that a chunk keeps: (layers, Hkv, S, D)."""
        (first, last), config = self.layers[chunk], self.config
        return last - first, config.num_key_value_heads, self.state_length, config.head_dim

    def file(self, stem: str) -> str:
        """A program's name in the folder."""
        return stem + SUFFIXES[self.target]

    def write(self, folder: Path) -> None:
        """Write manifest.json."""
        write_json(folder / NAME, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> "ChunkManifest":
        """The manifest of a folder.

        Raises:
            UserError: there is none, or it is none of ours.
        """
        path = folder / NAME
        if not path.is_file():
            raise UserError(f"no {NAME} in {folder}: write one with {COMMAND} --out {folder}")
        values = read_json(path)
        if values.get("format") != FORMAT:
            raise UserError(f"{path} describes no chunks of format {FORMAT}: export them again")
        try:
            manifest = config_from_dict(cls, values, str(path))
            manifest.check()
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise UserError(f"{path} is damaged ({error}): export the chunks again") from error
        return manifest

    def check(self) -> None:
        """Refuse values that no export writes.

        Raises:
            ValueError: with the reason.
        """
        if self.target not in SUFFIXES:
            raise ValueError(f"target {self.target!r}")
        config, ends = self.config, [0, *(last for _, last in self.layers)]
        if [first for first, _ in self.layers] != ends[:-1] or ends != sorted(set(ends)):
            raise ValueError("its layers do not follow each other")
        if ends[-1] != config.num_hidden_layers or sum(self.vocab_chunks) != config.vocab_size:
            raise ValueError("its chunks are not the whole model")
        if self.seq_len < 1 or self.max_context_length < 2:
            raise ValueError("its lengths are too small")


@dataclass(frozen=True)
class ChunkFiles:
    """Everything that a run reads."""

    folder: Path
    chunks: tuple[Path, ...]
    embeddings: Path
    lm_head: Path

    @classmethod
    def find(
        cls,
        model_dir: str | Path,
        chunked: bool = False,
        num_chunks: int | None = None,
        embeddings: str | Path | None = None,
        lm_head: str | Path | None = None,
    ) -> tuple["ChunkFiles", ChunkManifest]:
        """The files, and their manifest.

        Args:
            model_dir: a folder of chunks, or the one package of a model that was not cut.
            chunked: whether several chunks are wanted; a wrong `num_chunks` is refused.
            embeddings, lm_head: default: those in the folder.

        Raises:
            UserError: anything is missing, or the folder holds another number of chunks.
        """
        path = Path(model_dir)
        if not path.exists():
            raise UserError(f"there is no model at {path}: write one with {COMMAND}")
        single = path.suffix in SUFFIXES.values()
        folder = path.parent if single else path
        if not folder.is_dir():
            raise UserError(f"{folder} is no folder of chunks: name one that {COMMAND} wrote")
        manifest = ChunkManifest.read(folder)
        check_count(path, manifest, chunked and not single, num_chunks)
        names = [manifest.file(f"chunk_{i}") for i in range(manifest.num_chunks)]
        files = cls(
            folder,
            (path,) if single else tuple(folder / name for name in names),
            Path(embeddings or folder / EMBEDDINGS),
            Path(lm_head or folder / manifest.file(LM_HEAD)),
        )
        files.check()
        return files, manifest

    def check(self) -> None:
        """Refuse a run whose files are not all there."""
        for chunk in self.chunks:
            if not chunk.exists():
                raise UserError(f"missing {chunk}: export the chunks again")
        for path, flag in (self.embeddings, "embeddings"), (self.lm_head, "lm_head"):
            if not path.exists():
                option = f"--export-{flag.replace('_', '-')}"
                raise UserError(f"missing {path}: export with {option}, or name another by --{flag}")


def check_count(path: Path, manifest: ChunkManifest, chunked: bool, given: int | None) -> None:
    """Refuse a number of chunks that the folder does not hold."""
    count = manifest.num_chunks
    if given is not None and given < 1:
        raise UserError(f"--num_chunks must be at least 1, not {given}")
    if not chunked and count > 1:
        raise UserError(f"{path} is one of {count} chunks: use --chunked --num_chunks {count}")
    if given is not None and given != count and (chunked or given != 1):
        raise UserError(f"{path} holds {count} chunks, not {given}: export it again to change that")
