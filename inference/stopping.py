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


def cut(text: str, strings: tuple[str, ...]) -> str:
    """The text before the first stop string, or all of it."""
    found = [place for string in strings if (place := text.find(string)) >= 0]
    return text[: min(found)] if found else text


def until(pieces: Iterable[str], strings: tuple[str, ...]) -> Iterator[str]:
    """The pieces of `cut(text)`, as soon as each is sure not to be part of a stop string."""
    if not strings:
        yield from pieces
        return
    held = ""
    for piece in pieces:
        held += piece
        kept = cut(held, strings)
        if len(kept) < len(held):
            if kept:
                yield kept
            for _ in pieces:  # the loop beneath stops by itself: let it finish what it counts
                pass
            return
        sure = len(held) - overlap(held, strings)
        if sure:
            yield held[:sure]
            held = held[sure:]
    if held:
        yield held


def overlap(text: str, strings: tuple[str, ...]) -> int:
    """Length of the longest end of the text that begins a stop string."""
    longest = max(map(len, strings)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(string.startswith(text[-length:]) for string in strings):
            return length
    return 0
