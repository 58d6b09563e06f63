"""Stop strings: where an answer ends because of what it says, not because of an end token.

`StopWatch` tells the token loop when to stop; `until` cuts the text. Both see text, so a stop string
may begin inside one token and end inside another. Ends by eos or by length are generation's.
"""

from collections.abc import Iterable, Iterator

from models.errors import UserError


class StopWatch:
    """Follows one reply and says when any of the strings stands in it."""

    def __init__(self, strings: tuple[str, ...], tokenizer=None) -> None:
        if strings and tokenizer is None:
            raise UserError("stop_strings need the tokenizer: they are looked for in the text")
        self.strings = strings
        self._decoder = tokenizer.stream_decoder() if strings else None
        self._tail = ""  # the end of the text: all that a later stop string could begin in

    def push(self, token: int) -> bool:
        """Add a token; True once a stop string is complete."""
        if not self.strings:
            return False
        text = self._tail + self._decoder.push(token)
        self._tail = text[-max(map(len, self.strings)) :]
        return any(string in text for string in self.strings)

    def cut(self, reply: list[int]) -> list[int]:
        """A whole reply, up to the token that completes a stop string."""
        return next((reply[:count] for count, token in enumerate(reply, 1) if self.push(token)), reply)


def cut(text: str, strings: tuple[str, ...]) -> str:
    """The text before the first stop string, or all of it."""
    found = [place for string in strings if (place := text.find(string)) >= 0]
    return text[: min(found)] if found else text


class Cut:
    """A text that comes in pieces, up to the first stop string."""

    def __init__(self, strings: tuple[str, ...]) -> None:
        self.strings = strings
        self.held, self.stopped = "", False

    def push(self, piece: str, last: bool = False) -> str:
        """What is sure not to be part of a stop string, of this piece and those before."""
        if self.stopped or not self.strings:
            return "" if self.stopped else piece
        self.held += piece
        kept = cut(self.held, self.strings)
        self.stopped = len(kept) < len(self.held)
        sure = len(kept) if self.stopped or last else len(kept) - overlap(kept, self.strings)
        self.held = self.held[sure:]
        return kept[:sure]


def until(pieces: Iterable[str], strings: tuple[str, ...]) -> Iterator[str]:
    """The pieces of `cut(text)`, as soon as each is sure not to be part of a stop string.

    All pieces are taken: the loop beneath stops by itself, and finishes what it counts.
    """
    text = Cut(strings)
    for piece in pieces:
        if sure := text.push(piece):
            yield sure
    if rest := text.push("", last=True):
        yield rest


def overlap(text: str, strings: tuple[str, ...]) -> int:
    """Length of the longest end of the text that begins a stop string."""
    longest = max(map(len, strings)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(string.startswith(text[-length:]) for string in strings):
            return length
    return 0
