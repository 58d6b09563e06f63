"""A Hugging Face tokenizer with its chat template, in the place of ours.

Any dense Qwen3 folder brings one. A conversation grows turn by turn here, so the template is taken
apart once: what opens a user's turn, what opens the answer, and what stands after an answer's end.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from models.errors import UserError, in_brief, needed
from models.tokenizer import Tokenizer

FIRST, ANSWER, SECOND = "\ue000one\ue000", "\ue000two\ue000", "\ue000three\ue000"  # found again
BROKEN = "\ufffd"  # half a character


def load_tokenizer(folder: Path, name: str | Path | None = None) -> Tokenizer | HFTokenizer:
    """The tokenizer of a checkpoint folder, or of another folder or name at Hugging Face.

    Raises:
        UserError: there is none.
    """
    source = Path(folder if name is None else name)
    if (source / "tokenizer.model").is_file():
        return Tokenizer(source / "tokenizer.model")
    if name is not None or (source / "tokenizer.json").is_file():
        if not source.is_dir() and source.parent.is_dir():  # no OWNER/NAME, which may be fetched
            raise UserError(f"no tokenizer folder {source}: --model_name names one, or OWNER/NAME")
        return HFTokenizer.from_pretrained(source if source.is_dir() else str(name))
    if (source / "model.safetensors.index.json").is_file() or (source / "model.safetensors").is_file():
        raise UserError(
            f"no tokenizer.json or tokenizer.model in {source}: --model_name names another folder"
        )
    return Tokenizer(source / "tokenizer.model")


def as_ours(tokenizer):
    """A tokenizer of `transformers` with the methods of ours; ours, another's or None as it is."""
    return HFTokenizer(tokenizer) if hasattr(tokenizer, "apply_chat_template") else tokenizer


class HFTokenizer:
    """What `models.tokenizer.Tokenizer` does, by a tokenizer of `transformers`.

    Args:
        tokenizer: what `AutoTokenizer.from_pretrained` returns.
    """

    image = audio = None  # it has no placeholders

    def __init__(self, tokenizer) -> None:
        self._hf = tokenizer
        if tokenizer.eos_token_id is None:
            raise UserError(f"{tokenizer.name_or_path}: the tokenizer names no eos_token")
        self.eos: int = tokenizer.eos_token_id
        self.special = frozenset(tokenizer.all_special_ids)
        self.pad, self.bos = tokenizer.pad_token_id, tokenizer.bos_token_id
        self.opening, self.closing, after = self._parts()
        self.turn_end: list[int] = self._ids(after)  # between an answer's eos and the next turn

    @classmethod
    def from_pretrained(cls, source: str | Path) -> HFTokenizer:
        """Load a folder's tokenizer, or one by its name.

        Raises:
            UserError: the package is missing, or the tokenizer cannot be read.
        """
        transformers = needed("transformers", "a Hugging Face tokenizer", "-r requirements-chunks.txt")
        transformers.utils.logging.set_verbosity_error()
        try:
            return cls(transformers.AutoTokenizer.from_pretrained(str(source)))
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 (anything, for a damaged file)
            raise UserError(
                f"cannot read a tokenizer from {source} ({in_brief(error)}): --model_name names another"
            ) from None

    def __len__(self) -> int:
        return len(self._hf)

    @property
    def vocab_size(self) -> int:
        return len(self)

    # ---- text

    def encode(self, text: str) -> list[int]:
        """Ids of plain text, never a special id."""
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return self._hf(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]

    def _ids(self, text: str) -> list[int]:
        """Ids of a template's text, special tokens by their names."""
        return self._hf(text, add_special_tokens=False)["input_ids"] if text else []

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """Text of ids; incomplete UTF-8 shows as U+FFFD."""
        ids = [int(index) for index in ids]
        return self._hf.decode(
            ids, skip_special_tokens=skip_special, clean_up_tokenization_spaces=False
        )

    def stream_decoder(self) -> HFStreamDecoder:
        """A fresh decoder for one reply."""
        return HFStreamDecoder(self)

    decode_stream = Tokenizer.decode_stream

    def piece_bytes(self, index: int, skip_special: bool = True) -> bytes:
        """The text of one id in UTF-8; half a character shows as U+FFFD."""
        return self.decode([index], skip_special).encode()

    # ---- conversations

    def _render(self, messages: list[dict], add_generation_prompt: bool = True) -> str:
        try:
            return self._hf.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=add_generation_prompt
            )
        except Exception as error:  # noqa: BLE001 (templates raise what they like)
            name = self._hf.name_or_path
            raise UserError(f"{name}: the chat template fails ({in_brief(error)})") from None

    def _parts(self) -> tuple[str, str, str]:
        """What opens a user's turn, what follows its text, what follows an answer's eos."""
        if not self._hf.chat_template:
            return "", "", ""
        user = {"role": "user", "content": FIRST}
        talk = [user, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": SECOND}]
        plain, full = self._render([user]), self._render(talk)
        if FIRST not in plain or ANSWER not in full or SECOND not in full:
            raise UserError(f"{self._hf.name_or_path}: the chat template leaves texts out")
        closing = plain.partition(FIRST)[2]
        between = full.partition(ANSWER)[2].partition(SECOND)[0].removeprefix(self._hf.eos_token)
        heads = [plain.partition(FIRST)[0], between]
        try:  # some templates know no system prompt
            heads.append(self._render([{"role": "system", "content": ANSWER}, user]).partition(FIRST)[0])
        except UserError:
            pass
        opening = common_end(heads)
        return opening, closing, between.removesuffix(opening)

    def encode_head(self, system_prompt: str | None = None) -> list[int]:
        """What opens every conversation: the system prompt, the template's own if it has one."""
        if not self._hf.chat_template:
            bos = [self.bos] if getattr(self._hf, "add_bos_token", False) else []
            return bos + (self.encode(system_prompt + "\n") if system_prompt else [])
        messages = [{"role": "system", "content": system_prompt}] if system_prompt else []
        text = self._render([*messages, {"role": "user", "content": FIRST}]).partition(FIRST)[0]
        return self._ids(text.removesuffix(self.opening))

    def encode_turn(self, content: str | list[dict]) -> list[int]:
        """A user's turn and the opening of its answer."""
        text = text_of(content)
        names = (self.decode([index], skip_special=False) for index in self.special)
        if any(name and name in text for name in names):  # typed: they stay plain text
            return self._ids(self.opening) + self.encode(text) + self._ids(self.closing)
        return self._ids(self.opening + text + self.closing)

    def encode_chat(self, messages: list[dict], add_generation_prompt: bool = True) -> list[int]:
        """A whole conversation by the template."""
        plain = [message | {"content": text_of(message["content"])} for message in messages]
        return self._ids(self._render(plain, add_generation_prompt))


def common_end(texts: list[str]) -> str:
    """The longest text that all of them end in."""
    size = 0
    while size < min(map(len, texts)) and len({text[-size - 1] for text in texts}) == 1:
        size += 1
    return texts[0][len(texts[0]) - size :]


class HFStreamDecoder:
    """Text of ids one at a time: what is new in the text of the last few ids."""

    def __init__(self, tokenizer: HFTokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._start = self._read = 0  # of the ids that are decoded together, and of the unread ones

    def push(self, token: int) -> str:
        """Text that became complete with this id."""
        self._ids.append(token)
        text = self._new()
        if not text or text.endswith(BROKEN):
            return ""
        self._start, self._read = self._read, len(self._ids)
        return text

    def flush(self) -> str:
        """What is left at the end: a broken character shows as U+FFFD."""
        text, self._read = self._new(), len(self._ids)
        return text

    def _new(self) -> str:
        """The text of the unread ids, as it stands behind those before them."""
        decode = self._tokenizer.decode
        before = decode(self._ids[self._start : self._read])
        return decode(self._ids[self._start :])[len(before) :]


def text_of(content: str | list[dict]) -> str:
    """A message's text; pictures and sounds are refused."""
    if isinstance(content, str):
        return content
    if other := [part.get("type") for part in content if part.get("type") != "text"]:
        raise UserError(f"this checkpoint reads text alone, not {other[0]}")
    return "".join(part["text"] for part in content)
