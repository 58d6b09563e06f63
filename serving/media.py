"""Media in a request: data URIs and base64 -> files that `Omni` opens by their content.

Nothing is fetched: a remote address is refused. A file lives as long as the loading takes.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tempfile import NamedTemporaryFile

from models.errors import UserError
from serving.errors import ApiError

DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.+-]+=[^;,]*)*);base64,", re.ASCII)
PIECE = 2**20  # characters decoded in one call, during which no other thread goes on
SUFFIX = re.compile(r"[a-z0-9]{1,8}", re.ASCII)


@dataclass(frozen=True)
class Media:
    """One picture, sound or video as it came."""

    kind: str  # image, audio or video
    content: bytes
    suffix: str = ""  # of a file's name, where the client said it

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.kind.encode() + self.content).digest()


def from_data_uri(uri: str, kind: str, param: str) -> Media:
    """The content of a data URI."""
    match = DATA_URI.match(uri[:300])
    if match is None:
        shown = uri[:60] + ("…" if len(uri) > 60 else "")
        raise ApiError(
            f"{kind}s are taken as base64 data URIs, data:…;base64,…, and never fetched: {shown!r}",
            code="invalid_image_url" if kind == "image" else "invalid_value", param=param,
        )
    return Media(kind, from_base64(uri[match.end() :], param))


def from_base64(text: str, param: str) -> bytes:
    """Decode strictly; blanks and line ends within are allowed."""
    text = "".join(text.split())
    try:
        if "=" in text[:-2]:
            raise ValueError("more after the padding")
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        content = b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
    except (binascii.Error, ValueError):
        raise ApiError(f"{param} is not valid base64", code="invalid_base64", param=param) from None
    if not content:
        raise ApiError(f"{param} is empty", code="invalid_value", param=param)
    return content


@contextmanager
def files_of(media: list[Media]) -> Iterator[dict[str, list[str]]]:
    """Paths by kind, as `Omni`'s arguments; a UserError within names the medium, not the path."""
    paths: dict[str, list[str]] = {"image": [], "audio": [], "video": []}
    names = {}
    with ExitStack() as stack:
        for one in media:
            suffix = f".{one.suffix}" if SUFFIX.fullmatch(one.suffix) else ""
            file = stack.enter_context(NamedTemporaryFile(prefix="muomni-", suffix=suffix))
            file.write(one.content)
            file.flush()
            paths[one.kind].append(file.name)
            names[file.name] = f"the {one.kind}"
        try:
            yield paths
        except UserError as error:
            message = str(error)
            for path, name in names.items():
                message = message.replace(path, name)
            raise ApiError(message, code="invalid_media") from None
