"""Text to ids and back: SentencePiece BPE with byte fallback, and the chat template.

Any Unicode string round-trips. Text can never become a special id: role and media symbols are
added only by `encode_chat`, so a user who types "<|image|>" gets the characters, not a picture.
Training the vocabulary lives in training/objectives/tokenizer.py; this file only uses one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import sentencepiece

from models.errors import UserError

UNK, BOS, EOS, PAD = 0, 1, 2, 3
ROLES = ("system", "user", "assistant")
SYMBOLS = ("<|system|>", "<|user|>", "<|assistant|>", "<|image|>", "<|audio|>", "<think>", "</think>")
IMAGE_TOKENS = 50  # of every picture: a 7 x 7 grid of places, and the whole of it
SPACE = "\u2581"  # SentencePiece writes a space as this character
# Pieces that SentencePiece would not give back as typed: its own space mark, NUL, our symbols.
AWKWARD = re.compile("(" + "|".join([SPACE, "\0", *map(re.escape, SYMBOLS)]) + ")")
SURROGATE = re.compile("[\ud800-\udfff]")

Message = dict  # {"role": str, "content": str | list[part]}


class StreamDecoder:
    """Turns ids into text one at a time, holding back bytes that are half a character."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token: int) -> str:
        """Text that became complete with this id; often a word, sometimes nothing."""
        return self._utf8.decode(self._tokenizer.piece_bytes(token))

    def flush(self) -> str:
        """What is left at the end: a broken character shows as U+FFFD."""
        return self._utf8.decode(b"", final=True)


class Tokenizer:
    """The vocabulary of one model file, `tokenizer.model`."""

    def __init__(self, path: str | Path) -> None:
        if not Path(path).is_file():
            raise UserError(f"no tokenizer at {path}: train one with `python train.py tokenizer`")
        try:
            self._sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            raise UserError(f"{path} is not a SentencePiece model: {error}") from error
        self.path = Path(path)
        self.bos, self.eos, self.pad = BOS, EOS, PAD
        self.turn_end: list[int] = []  # ids between an answer's eos and the next turn
        self.symbols = {name: self._sp.piece_to_id(name) for name in SYMBOLS}
        missing = [name for name, index in self.symbols.items() if index == UNK]
        if missing:
            raise UserError(f"{path} lacks the symbols {', '.join(missing)}: it is not ours")
        self.image, self.audio = self.symbols["<|image|>"], self.symbols["<|audio|>"]
        self.think, self.think_end = self.symbols["<think>"], self.symbols["</think>"]
        self._byte = [self._sp.piece_to_id(f"<0x{value:02X}>") for value in range(256)]
        self._bytes = [self._bytes_of(index) for index in range(len(self))]
        self.special = frozenset([UNK, BOS, EOS, PAD, *self.symbols.values()])

    def __len__(self) -> int:
        return self._sp.get_piece_size()

    @property
    def vocab_size(self) -> int:
        return len(self)

    def _bytes_of(self, index: int) -> bytes:
        if self._sp.is_byte(index):
            return bytes([int(self._sp.id_to_piece(index)[3:5], 16)])
        if self._sp.is_control(index) or self._sp.is_unknown(index):
            return b""
        return self._sp.id_to_piece(index).replace(SPACE, " ").encode()

    def piece_bytes(self, index: int, skip_special: bool = True) -> bytes:
        """The UTF-8 bytes of one id; none for special ids unless asked for their names."""
        if index in self.special:
            return b"" if skip_special else self._sp.id_to_piece(index).encode()
        if not 0 <= index < len(self._bytes):
            raise ValueError(f"id {index} is outside the vocabulary of {len(self)}")
        return self._bytes[index]

    def encode(self, text: str) -> list[int]:
        """Ids of plain text, never a special id. Unpaired surrogates become U+FFFD."""
        if SURROGATE.search(text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if not AWKWARD.search(text):
            return self._sp.encode(text)
        ids: list[int] = []
        for part in AWKWARD.split(text):
            if part in SYMBOLS:  # broken in two, so that the symbol cannot match
                ids += self._sp.encode(part[:1]) + self._sp.encode(part[1:])
            elif part in (SPACE, "\0"):
                ids += [self._byte[value] for value in part.encode()]
            elif part:
                ids += self._sp.encode(part)
        return ids

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """Text of ids; incomplete UTF-8 shows as U+FFFD."""
        joined = b"".join(self.piece_bytes(int(index), skip_special) for index in ids)
        return joined.decode("utf-8", "replace")

    def stream_decoder(self) -> StreamDecoder:
        """A fresh decoder for one reply."""
        return StreamDecoder(self)

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yields text as ids arrive; the pieces join to exactly `decode(ids)`."""
        stream = self.stream_decoder()
        for index in ids:
            text = stream.push(int(index))
            if text:
                yield text
        rest = stream.flush()
        if rest:
            yield rest

    def _content(self, content: str | list[dict]) -> list[int]:
        if isinstance(content, str):
            return self.encode(content)
        ids: list[int] = []
        for part in content:
            kind = part.get("type")
            if kind == "text":
                ids += self.encode(part["text"])
            elif kind == "image":
                ids += [self.image] * IMAGE_TOKENS
            elif kind == "audio":
                ids += [self.audio] * int(part["tokens"])
            elif kind == "thinking":
                ids += [self.think, *self.encode(part["text"]), self.think_end]
            else:
                raise UserError(f"unknown message part {kind!r}: use text, image, audio or thinking")
        return ids

    def _message(self, message: Message) -> tuple[int, list[int]]:
        role = message.get("role")
        if role not in ROLES:
            raise UserError(f"unknown role {role!r}: use system, user or assistant")
        return self.symbols[f"<|{role}|>"], self._content(message["content"])

    def encode_chat(
        self, messages: list[Message], add_generation_prompt: bool = True
    ) -> list[int]:
        """bos, then role symbol + content + eos per message; then <|assistant|> to be answered."""
        ids, _ = self.encode_chat_targets(messages)
        if add_generation_prompt:
            ids.append(self.symbols["<|assistant|>"])
        return ids

    def encode_head(self, system_prompt: str | None = None) -> list[int]:
        """What opens every conversation: bos and the system prompt."""
        messages = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return self.encode_chat(messages, add_generation_prompt=False)

    def encode_turn(self, content: str | list[dict]) -> list[int]:
        """A user's turn and the opening of its answer, without bos."""
        return self.encode_chat([{"role": "user", "content": content}])[1:]

    def encode_chat_targets(self, messages: list[Message]) -> tuple[list[int], list[int]]:
        """Ids of a finished chat, and a mask that is 1 on assistant text and its eos."""
        ids, mask = [BOS], [0]
        for message in messages:
            role, content = self._message(message)
            ids += [role, *content, EOS]
            mask += [0] + [int(message["role"] == "assistant")] * (len(content) + 1)
        return ids, mask
