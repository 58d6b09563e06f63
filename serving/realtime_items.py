"""Items of a realtime conversation: what was said, and the turns that the model reads of it."""

import asyncio
import logging
from dataclasses import dataclass, field
from math import inf

import numpy as np

from inference.media import SAMPLE_RATE
from serving.conversation import Asking
from serving.encoding import WIRE_RATE, Resampler
from serving.errors import ApiError
from serving.media import Media, from_base64, from_data_uri
from serving.service import new_id

RATE = SAMPLE_RATE  # Hz, as the model hears
MAX_ITEMS = 512
MAX_BYTES = 64_000_000  # of the texts and pictures of a conversation
LETTER_MS = 65  # of sound a character takes, where a sentence's sound was not made to its end

log = logging.getLogger("serving")


@dataclass
class Item:
    """One message. A recording counts by its words, which may still be being found."""

    id: str
    role: str
    text: str = ""
    media: list[Media] = field(default_factory=list)
    words: asyncio.Task | None = None  # the transcript of its recording
    heard_seconds: float = 0.0  # of the recording
    said: list[tuple[int, float]] = field(default_factory=list)  # a spoken answer's sentences: the
    # character each ends before, and the ms of sound made of it
    whole: bool = False  # all of that sound was made
    truncated: bool = False  # what is made of it from now on was not heard
    spoken: bool = False
    status: str = "completed"

    def shown(self) -> dict:
        """The item as the client sees it."""
        content: list[dict] = []
        if self.role == "assistant":
            kind = ("output_audio", "transcript") if self.spoken else ("output_text", "text")
            content = [{"type": kind[0], kind[1]: self.text}] if self.text else []
        else:
            if self.words is not None:
                content.append({"type": "input_audio", "transcript": self.known_words()})
            content += [{"type": "input_image"} for _ in self.media]
            if self.text:
                content.append({"type": "input_text", "text": self.text})
        return {
            "id": self.id, "object": "realtime.item", "type": "message", "status": self.status,
            "role": self.role, "content": content,
        }

    @property
    def size(self) -> int:
        """Bytes of its pictures, characters of its text."""
        return len(self.text) + sum(len(one.content) for one in self.media)

    @property
    def usage(self) -> dict:
        """What its transcript took, as OpenAI counts it."""
        return {"type": "duration", "seconds": round(self.heard_seconds, 3)}

    def known_words(self) -> str | None:
        done = self.words.done() and not self.words.cancelled() and not self.words.exception()
        return self.words.result() if done else None

    def add_sound(self, end: int, ms: float) -> None:
        """Sound was made of the sentence that ends before this character."""
        if self.said and self.said[-1][0] == end:
            ms += self.said.pop()[1]
        self.said.append((end, ms))

    def truncate(self, played_ms: float) -> None:
        """Keep what was heard of a spoken answer: sentences, and by its share of sound words of one."""
        if self.whole and played_ms >= sum(ms for _, ms in self.said):
            return
        self.truncated = True
        start, kept, left = 0, [], played_ms
        for place, (end, ms) in enumerate(self.said):
            if not self.whole and place == len(self.said) - 1:  # more of its sound would have come
                ms = max(ms, LETTER_MS * (end - start))
            if left < ms:
                end = self._words_before(start + int((end - start) * left / ms), start)
            kept.append((end, min(left, ms)))
            start, left = end, left - ms
            if left < 0:
                break
        self.text, self.said, self.whole = self.text[:start].rstrip(), kept, True

    def _words_before(self, place: int, start: int) -> int:
        """The end of the last whole word before a character, from `start` on."""
        if self.text[place - 1 : place + 1].find(" ") >= 0:
            return place
        return max(start, self.text.rfind(" ", start, place))


def pcm_samples(data: str, param: str) -> np.ndarray:
    """Base64 PCM of the wire as int16 (samples,) at 24 kHz."""
    if not isinstance(data, str):
        raise ApiError(f"{param} must be base64 text", code="invalid_value", param=param)
    content = from_base64(data, param)
    if len(content) % 2:
        raise ApiError(f"{param} has an odd number of bytes: samples have two", param=param)
    return np.frombuffer(content, "<i2")


def heard(pcm: np.ndarray) -> np.ndarray:
    """A whole recording of the wire, float32 (samples,) at 16 kHz."""
    change = Resampler(WIRE_RATE, RATE)
    parts = [change.push(pcm), change.flush()]
    return np.concatenate(parts).astype(np.float32) / 32_768


def read_item(values: dict, name: str) -> tuple[Item, list[np.ndarray]]:
    """An item that a client made, and its recordings."""
    if not isinstance(values, dict) or values.get("type") != "message":
        raise ApiError("an item must be an object of type message", param="item.type")
    role = values.get("role")
    if role not in ("system", "user", "assistant"):
        raise ApiError("role must be system, user or assistant", param="item.role")
    content = values.get("content")
    if not isinstance(content, list) or not content or len(content) > 16:
        raise ApiError("content must be a list of 1 to 16 parts", param="item.content")
    item, sounds = Item(name, role), []
    for place, part in enumerate(content):
        param = f"item.content[{place}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("input_text", "output_text", "text"):
            if not isinstance(text := part.get("text"), str):
                raise ApiError(f"{param}.text must be text", param=param)
            item.text = f"{item.text}\n{text}" if item.text else text
        elif kind == "input_audio" and role == "user":
            sounds.append(heard(pcm_samples(part.get("audio"), f"{param}.audio")))
        elif kind == "input_image" and role == "user":
            uri = part.get("image_url")
            if not isinstance(uri, str):
                raise ApiError(f"{param}.image_url must be a data URI", param=param)
            item.media.append(from_data_uri(uri, "image", param))
        else:
            raise ApiError(f"{param}: items of role {role} hold no {str(kind)[:40]!r}", param=param)
    item.heard_seconds = sum(map(len, sounds)) / RATE
    return item, sounds


def new_name(values: dict, taken: dict) -> str:
    """The id of an item that a client makes."""
    name = values.get("id") if isinstance(values, dict) else None
    if name is not None and (not isinstance(name, str) or len(name) > 64 or name in taken):
        raise ApiError("id must be new, and text of up to 64 characters", param="item.id")
    return name or new_id("item")


def to_truncate(item: Item, event: dict) -> float:
    """How much of a spoken answer was played, in ms, as an event says."""
    if type(index := event.get("content_index", 0)) is not int or index:
        raise ApiError("content_index must be 0: an answer has one part", param="content_index")
    played = event.get("audio_end_ms")
    if not isinstance(played, int | float) or isinstance(played, bool) or not 0 <= played < inf:
        raise ApiError("audio_end_ms must be 0 or more", param="audio_end_ms")
    if item.role != "assistant" or not item.spoken:
        raise ApiError("only a spoken answer can be truncated", param="item_id")
    return played


async def told(item: Item) -> tuple[str, dict]:
    """How the search for its words ends, completed or failed, and what the client is told then."""
    try:
        words = await asyncio.shield(item.words)
    except ApiError as error:
        return "failed", {"error": error.body()["error"]}
    except Exception:
        log.exception("a recording could not be transcribed")
        error = ApiError("the words could not be found: the server logged why", 500)
        return "failed", {"error": error.body()["error"]}
    return "completed", {"transcript": words, "usage": item.usage}


async def words_of(item: Item) -> str:
    """Words of its recording; of one that could not be read, whose failure was told, none."""
    try:
        return await asyncio.shield(item.words) if item.words else ""
    except Exception:
        return ""


async def turns_of(items: list[Item]) -> tuple[list[str], list[Asking]]:
    """System texts, and turns; items of one side that follow each other are one turn."""
    system: list[str] = []
    turns: list[Asking] = []
    for item in items:
        if item.role == "system":
            system.append(item.text)
            continue
        if item.role == "assistant":
            if turns and item.text:
                before = turns[-1].reply
                turns[-1].reply = f"{before} {item.text}" if before else item.text
            continue
        words = await words_of(item)
        if not turns or turns[-1].reply is not None:
            turns.append(Asking())
        turns[-1].text = " ".join(filter(None, [turns[-1].text, words, item.text]))
        turns[-1].media += item.media
    return system, turns
