"""Text cut to what the context has room for, from its beginning: the question is often last."""

from inference.notice import notice
from models.errors import ContextError
from models.tokenizer import Tokenizer

CHARACTERS_PER_TOKEN = 64  # more than any token has: bounds what is tokenised of an endless text


def shortened(text: str, room: int, tokenizer: Tokenizer, media: bool = False) -> str:
    """The end of a text in `room` tokens, with a notice where something was left out.

    Raises:
        ContextError: no room at all; pictures and sounds have taken it where there are any (`media`).
    """
    if room < 0 and media:
        raise ContextError(
            f"the pictures and sounds take {-room} tokens more than the context has: use fewer"
        )
    if room < 0:
        raise ContextError("the context is too short for any question: raise --max_context_length")
    kept = text[-CHARACTERS_PER_TOKEN * (room + 1) :]
    ids = tokenizer.encode(kept)
    if len(ids) <= room and len(kept) == len(text):
        return text
    keep = room
    while len(ids) > room:  # cut text may tokenise into more tokens than it was cut from
        kept = tokenizer.decode(ids[len(ids) - keep :]).lstrip("\ufffd") if keep else ""
        ids, keep = tokenizer.encode(kept), keep - 1
    notice(
        f"the text is longer than the context: only its last {len(kept)} "
        f"of {len(text)} characters are read"
    )
    return kept
