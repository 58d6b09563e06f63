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
    param: str | None = None  # where the request has it

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
    return Media(kind, from_base64(uri[match.end() :], param), param=param)


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


class Files:
    """Media as files, for the time of loading.

    Attributes:
        paths: by kind, as `Omni`'s arguments.
    """

    def __init__(self) -> None:
        self.paths: dict[str, list[str]] = {"image": [], "audio": [], "video": []}
        self.media: dict[str, Media] = {}  # by path

    def add(self, path: str, media: Media) -> None:
        self.paths[media.kind].append(path)
        self.media[path] = media

    def renamed(self, message: str) -> str:
        """A message about a file, for the client: it names the medium."""
        for path, media in self.media.items():
            message = message.replace(path, f"the {media.kind}")
        return message

    def error(self, error: UserError) -> ApiError:
        """The client's error: of the medium that it names, if it does."""
        for path, media in self.media.items():
            if path in str(error):
                return ApiError(self.renamed(str(error)), code="invalid_media", param=media.param)
        return ApiError(str(error), code="invalid_value")


@contextmanager
def files_of(media: list[Media]) -> Iterator[Files]:
    """Write media to files; a UserError within becomes the client's."""
    files = Files()
    with ExitStack() as stack:
        for one in media:
            suffix = f".{one.suffix}" if SUFFIX.fullmatch(one.suffix) else ""
            file = stack.enter_context(NamedTemporaryFile(prefix="muomni-", suffix=suffix))
            file.write(one.content)
            file.flush()
            files.add(file.name, one)
        try:
            yield files
        except UserError as error:
            raise files.error(error) from None
