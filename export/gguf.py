"""The Thinker as one GGUF file, which llama.cpp and what is built on it read.

    python -m export.gguf --ckpt_dir checkpoints/thinker_tiny --out thinker_tiny-f16.gguf

It holds weights, vocabulary and chat template of the language part, in llama.cpp's terms for Qwen3:
nothing is trained, merged or renumbered. The encoders and the parts that speak stay out: llama.cpp has
no counterpart of them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from sentencepiece import SentencePieceProcessor

from export.hf_tokenizer import CHAT_TEMPLATE
from export.llamacpp import quantise_file
from inference.omni import Omni
from inference.output import check_writable, replace_file
from models.errors import Parser, UserError, needed, one_line_errors, remark
from models.lora import merged_state
from models.memory import PREFIX
from models.omni import thinker_of
from models.thinker import Thinker
from models.tokenizer import SYMBOLS, Tokenizer

TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0")
MADE_BY_LLAMA = ("q4_k_m", "q5_k_m", "q6_k")  # by llama.cpp's own quantiser
BLOCK = 32  # numbers of a row that share a scale in q8_0
ROOT = Path(__file__).resolve().parent.parent


def gguf_package() -> ModuleType:
    """The package that knows the format."""
    return needed("gguf", "writing GGUF", "gguf")


def write_gguf(thinker: Thinker, tokenizer: Tokenizer, path: Path, kind: str, name: str) -> None:
    """Write a Thinker and its vocabulary; an old file is replaced by a complete new one.

    Args:
        kind: one of TYPES, how matrices are stored; vectors stay f32, as llama.cpp wants them.
        name: what the file says the model is called.

    Raises:
        UserError: no gguf package, a Thinker that is no Qwen3, or rows that q8_0 cannot divide.
    """
    gguf = gguf_package()
    check_exportable(thinker, kind)

    def write(temporary: Path) -> None:
        writer = gguf.GGUFWriter(temporary, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.QWEN3])
        add_model(writer, thinker, kind, name)
        add_vocabulary(writer, tokenizer, thinker.config.vocab_size)
        add_tensors(writer, thinker, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    replace_file(path, write)


def check_exportable(thinker: Thinker, kind: str) -> None:
    """Refuse what llama.cpp could not compute with."""
    if thinker.config.decoupled:
        raise UserError("a Thinker with attention dba is not a Qwen3: llama.cpp cannot read it")
    weights = merged_state(thinker).items()
    widths = {w.shape[1] for key, w in weights if w.dim() == 2 and not key.startswith(PREFIX)}
    if kind in ("q8_0", "q4_0") and (odd := sorted(width for width in widths if width % BLOCK)):
        raise UserError(f"{kind} needs rows of a multiple of {BLOCK} numbers, not {odd[0]}: use f16")


def add_model(writer, thinker: Thinker, kind: str, name: str) -> None:
    """What the networks need to be built; widths in channels, lengths in tokens."""
    c, types = thinker.config, gguf_package().LlamaFileType
    files = {
        "f32": types.ALL_F32,
        "f16": types.MOSTLY_F16,
        "bf16": types.MOSTLY_BF16,
        "q8_0": types.MOSTLY_Q8_0,
        "q4_0": types.MOSTLY_Q4_0,
    }
    writer.add_type("model")
    writer.add_name(name)
    writer.add_file_type(files[kind])
    writer.add_quantization_version(gguf_package().GGML_QUANT_VERSION)
    writer.add_sampling_temp(0.0)  # greedy unless asked otherwise, as here
    writer.add_vocab_size(c.vocab_size)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_key_length(c.head_dim)
    writer.add_value_length(c.head_dim)
    writer.add_rope_freq_base(c.rope_theta)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)


def add_vocabulary(writer, tokenizer: Tokenizer, size: int) -> None:
    """Pieces, their scores and kinds, and how to use them; `size` counts rows of the embeddings."""
    pieces, scores, kinds = vocabulary(tokenizer, size)
    writer.add_tokenizer_model("llama")  # SentencePiece; its BPE joins pieces by score
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(tokenizer.bos)
    writer.add_eos_token_id(tokenizer.eos)
    writer.add_pad_token_id(tokenizer.pad)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_array("tokenizer.ggml.suppress_tokens", sorted(tokenizer.special - {tokenizer.eos}))
    writer.add_chat_template(CHAT_TEMPLATE)


def vocabulary(tokenizer: Tokenizer, size: int) -> tuple[list[str], list[float], list[int]]:
    """Every piece with its score and kind; rows of the embeddings that have no piece are unused.

    Our symbols are control pieces there: text that a user types then never becomes one of them.
    """
    pieces = SentencePieceProcessor(model_file=str(tokenizer.path))
    kind = gguf_package().TokenType

    def kind_of(index: int) -> int:
        if pieces.is_unknown(index):
            return kind.UNKNOWN
        if pieces.is_control(index) or pieces.id_to_piece(index) in SYMBOLS:
            return kind.CONTROL
        return kind.BYTE if pieces.is_byte(index) else kind.NORMAL

    known = range(len(tokenizer))
    rest = range(len(tokenizer), size)
    texts = [pieces.id_to_piece(i) for i in known] + [f"[unused {i}]" for i in rest]
    scores = [pieces.get_score(i) for i in known] + [0.0 for _ in rest]
    return texts, scores, [int(kind_of(i)) for i in known] + [int(kind.UNUSED) for _ in rest]


def add_tensors(writer, thinker: Thinker, kind: str) -> None:
    """Every weight under llama.cpp's name; Qwen3's rows stand there in the same order."""
    gguf = gguf_package()
    layers = thinker.config.num_hidden_layers
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, layers)
    for key, weight in merged_state(thinker).items():
        if key.startswith(PREFIX):
            continue  # llama.cpp has no memory bank
        name = names.get_name(key, try_suffixes=(".weight",))
        if name is None:
            raise UserError(f"llama.cpp has no name for {key}: this is not a Qwen3")
        stored = gguf.GGMLQuantizationType[kind.upper() if weight.dim() == 2 else "F32"]
        numbers = gguf.quants.quantize(weight.detach().float().cpu().numpy(), stored)
        writer.add_tensor(name, numbers, raw_dtype=stored)


def tokenizer_for(thinker: Thinker) -> Tokenizer:
    """The tokenizer of the folder that a Thinker was loaded from."""
    if thinker.folder is None:
        raise UserError("this model came from no folder: give export_to_gguf its tokenizer")
    return Tokenizer(thinker.folder / "tokenizer.model")


def export_to_gguf(
    model,
    output_path: str | Path,
    quantization_type: str = "q4_k_m",
    llama_cpp_path: str | Path | None = None,
    tokenizer: Tokenizer | None = None,
    name: str | None = None,
) -> Path:
    """Write a model's Thinker as one GGUF file, LoRA adapters merged; a memory bank stays out.

    Args:
        model: an Omni, OmniModel or Thinker, loaded from a folder.
        quantization_type: one of TYPES, or of MADE_BY_LLAMA (by llama.cpp's quantiser).
        llama_cpp_path: where `llama-quantize` is. Default: the PATH, else llama.cpp's library.
        tokenizer: the folder's if none is given.
        name: in the metadata. Default: the file's.

    Raises:
        UserError: an unknown type, no tokenizer, or a package that is not installed.
    """
    kind, out = quantization_type.lower(), Path(output_path)
    if kind not in (*TYPES, *MADE_BY_LLAMA):
        raise UserError(f"no GGUF type {kind}: use {', '.join((*TYPES, *MADE_BY_LLAMA))}")
    thinker = thinker_of(model.model if isinstance(model, Omni) else model)
    tokenizer = tokenizer_for(thinker) if tokenizer is None else tokenizer
    if not isinstance(tokenizer, Tokenizer):
        raise UserError("GGUF files are written with our tokenizer alone, a tokenizer.model")
    out.parent.mkdir(parents=True, exist_ok=True)
    if kind in TYPES:
        write_gguf(thinker, tokenizer, out, kind, name or out.stem)
        return out
    with TemporaryDirectory() as folder:
        made = Path(folder) / "f16.gguf"
        write_gguf(thinker, tokenizer, made, "f16", name or out.stem)
        replace_file(out, lambda temporary: quantise_file(made, temporary, kind, llama_cpp_path))
    return out


def run(folder: Path, out: Path | None, kind: str) -> Path:
    """Write the Thinker of a checkpoint folder; returns the file."""
    out = out or Path(f"{folder.resolve().name}-{kind}.gguf")
    if out.suffix != ".gguf":
        raise UserError(f"{out}: write to a name ending in .gguf")
    gguf_package()
    check_writable(out)
    omni = Omni.from_pretrained(folder)
    export_to_gguf(omni, out, kind, tokenizer=omni.tokenizer, name=folder.resolve().name)
    return out


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = Parser("python -m export.gguf", description=__doc__.split("\n")[0])
    default = ROOT / "checkpoints" / "thinker_tiny"
    parser.add_argument("--ckpt_dir", type=Path, default=default, help="text alone, or an omni one")
    parser.add_argument("--out", type=Path, help="default: FOLDER-TYPE.gguf, in this folder")
    parser.add_argument("--type", choices=(*TYPES, *MADE_BY_LLAMA), default="f16", help="of the matrices")
    args = parser.parse_args(argv)
    out = run(args.ckpt_dir, args.out, args.type)
    remark(f"wrote {out}: {out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
