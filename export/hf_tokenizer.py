"""The tokenizer in Hugging Face's format: tokenizer.json and tokenizer_config.json.

    python -m export.hf_tokenizer --ckpt_dir checkpoints/thinker_tiny

`AutoTokenizer` then gives the ids of `models.tokenizer`, and `apply_chat_template` its prompts. Only
these two small files are written, beside tokenizer.model, which stays the source.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from models.checkpoint import read_json
from models.errors import Parser, one_line_errors, remark
from models.files import replacing
from models.tokenizer import IMAGE_TOKENS, ROLES, SPACE, SYMBOLS, Tokenizer

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("thinker_tiny", "omni_sft_tiny")
FILES = ("tokenizer.json", "tokenizer_config.json")
CONTEXT = 1024  # tokens, where config.json does not say
# Tokenizer.encode_chat in Jinja: bos, then role symbol + content + eos a message, then what is asked.
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    f"{{% if message['role'] not in {list(ROLES)} %}}"
    "{{ raise_exception('use the roles " + ", ".join(ROLES) + "') }}"
    "{% endif %}"
    "{{ '<|' + message['role'] + '|>' }}"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}"
    f"{{% elif part['type'] == 'image' %}}{{{{ '<|image|>' * {IMAGE_TOKENS} }}}}"
    "{% elif part['type'] == 'audio' %}{{ '<|audio|>' * part['tokens'] }}"
    "{% else %}{{ raise_exception('use the parts text, image, audio') }}{% endif %}"
    "{% endfor %}{% endif %}"
    "{{ eos_token }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def vocabulary(pieces: SentencePieceProcessor) -> dict[str, int]:
    """Piece -> id. Spaces stand as themselves, so that a typed U+2581 falls back to its bytes."""
    return {pieces.id_to_piece(i).replace(SPACE, " "): i for i in range(len(pieces))}


def merges(pieces: SentencePieceProcessor, vocab: dict[str, int]) -> list[list[str]]:
    """Pairs in the order in which SentencePiece's BPE would join them: by the score of the whole."""
    normal = [
        i
        for i in range(len(pieces))
        if not (pieces.is_control(i) or pieces.is_unknown(i) or pieces.is_byte(i))
        and pieces.id_to_piece(i) not in SYMBOLS
    ]
    parts = {pieces.id_to_piece(i).replace(SPACE, " ") for i in normal}
    names = {i: name for name, i in vocab.items()}
    found = []
    for i in sorted(normal, key=lambda i: -pieces.get_score(i)):
        whole = names[i]
        pairs = ([whole[:cut], whole[cut:]] for cut in range(1, len(whole)))
        found += [pair for pair in pairs if pair[0] in parts and pair[1] in parts]
    return found


def special_token(tokenizer: Tokenizer, index: int) -> dict:
    """An id that text encodes to only by its full name, and that `skip_special_tokens` drops."""
    content = tokenizer.piece_bytes(index, skip_special=False).decode()
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": index, "content": content, **flags, "special": True}


def tokenizer_json(tokenizer: Tokenizer) -> dict:
    """The content of tokenizer.json: BPE with byte fallback, no normaliser, no added bos."""
    pieces = SentencePieceProcessor(model_file=str(tokenizer.path))
    vocab = vocabulary(pieces)
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": pieces.id_to_piece(pieces.unk_id()),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": vocab,
        "merges": merges(pieces, vocab),
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special_token(tokenizer, index) for index in sorted(tokenizer.special)],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": model,
    }


def tokenizer_config(tokenizer: Tokenizer, context: int) -> dict:
    """The content of tokenizer_config.json; `context` is the model's length in tokens."""
    names = {"unk_token": 0, "bos_token": tokenizer.bos, "eos_token": tokenizer.eos}
    names["pad_token"] = tokenizer.pad
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{key: special_token(tokenizer, index)["content"] for key, index in names.items()},
        "additional_special_tokens": list(SYMBOLS),
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
        "padding_side": "left",
    }


def write_hf_tokenizer(folder: Path) -> list[Path]:
    """Write both files into a checkpoint folder, from its tokenizer.model.

    Raises:
        UserError: the folder has no tokenizer.model or no config.json.
    """
    tokenizer = Tokenizer(folder / "tokenizer.model")
    config = read_json(folder / "config.json")
    parts = config.get("parts", {})
    context = config.get("max_position_embeddings") or parts.get("thinker", {}).get(
        "max_position_embeddings", CONTEXT
    )
    contents = tokenizer_json(tokenizer), tokenizer_config(tokenizer, context)
    for name, content in zip(FILES, contents, strict=True):
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"  # a third of the room
        with replacing(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [folder / name for name in FILES]


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = Parser("python -m export.hf_tokenizer", description=__doc__.split("\n")[0])
    parser.add_argument("--ckpt_dir", type=Path, action="append", help="default: what ships")
    args = parser.parse_args(argv)
    for folder in args.ckpt_dir or [ROOT / "checkpoints" / name for name in SHIPPED]:
        for path in write_hf_tokenizer(folder):
            remark(f"wrote {path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
