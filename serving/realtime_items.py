"""Items of a realtime conversation: what was said, and the turns that the model reads of it."""

import asyncio
from dataclasses import dataclass, field

import numpy as np

from inference.media import SAMPLE_RATE
from serving.conversation import Asking
from serving.encoding import WIRE_RATE, Resampler
from serving.errors import ApiError
from serving.media import Media, from_base64, from_data_uri

RATE = SAMPLE_RATE  # Hz, as the model hears
MAX_ITEMS = 512
MAX_BYTES = 64_000_000  # of the texts and pictures of a conversation


@dataclass
class Item:
    """One message. A recording counts by its words, which may still be being found."""

    id: str
    role: str
    text: str = ""
    media: list[Media] = field(default_factory=list)
    words: asyncio.Task | None = None  # the transcript of its recording
    heard_seconds: float = 0.0  # of the recording
    sound_ms: float = 0.0  # of a spoken answer
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

    def truncate(self, played_ms: float) -> None:
        """Keep what was heard of a spoken answer: whole words, by the share of its sound."""
        if played_ms < self.sound_ms:
            kept = int(len(self.text) * played_ms / self.sound_ms)
            cut = self.text[:kept]
            whole = kept == 0 or self.text[kept - 1 : kept + 1].find(" ") >= 0
            self.text = cut.rstrip() if whole else cut.rpartition(" ")[0]
            self.sound_ms = played_ms


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
            raise ApiError(f"{param}: a {role} item holds no {str(kind)[:40]!r}", param=param)
    item.heard_seconds = sum(map(len, sounds)) / RATE
    return item, sounds


async def words_of(item: Item) -> str:
    """Words of its recording; of one that could not be read, whose failure was told, none."""
    try:
        return await asyncio.shield(item.words) if item.words else ""
    except ApiError:
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
