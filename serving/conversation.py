"""Messages of a chat -> one prompt, as `ChatSession` would have it after the same turns.

Turns and answers that were seen before keep their tokens, so that the next request of a
conversation begins with exactly what the last one ended with, and its cache can be used again.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from inference.config import GenerateConfig
from inference.media import load_image
from inference.notice import notices_kept
from inference.omni import Omni
from inference.prompt import Prompt
from inference.thinking import thoughts_of
from models.errors import ContextError
from serving.errors import ApiError
from serving.media import Files, Media, files_of, from_base64, from_data_uri
from serving.schema import Message, Part
from serving.streaming import Check, wanted
from serving.thinking import ThinkingEngine

TURNS = 128  # prepared turns that are remembered; a picture takes 150 KB, a 30 s sound 1.5 MB
REPLIES = 2048  # answers whose tokens are remembered
Turn = tuple[Prompt, list[str]]  # as the model reads it, and what of it was not read


@dataclass
class Asking:
    """One user turn as it came, and the answer that followed it, if any."""

    text: str = ""
    media: list[Media] = field(default_factory=list)
    reply: str | None = None


@dataclass
class Prepared:
    """A conversation ready to be continued."""

    prompt: Prompt
    thinking: str  # what was written down of the last turn's media before answering
    dropped: int  # oldest turns that did not fit the context
    notices: list[str] = field(default_factory=list)  # what of the last turn was not read
    silent: bool = False  # the last turn's sound holds no speech: there is nothing to read


class Recent(OrderedDict):
    """A dictionary that keeps its most recently used entries; threads may share it."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.lock = most, Lock()

    def put(self, key, value) -> None:
        with self.lock:
            self[key] = value
            self.move_to_end(key)
            while len(self) > self.most:
                self.popitem(last=False)

    def look(self, key):
        """The value, or None; it becomes the most recent."""
        with self.lock:
            if key in self:
                self.move_to_end(key)
            return self.get(key)


def parse(messages: list[Message], spoken: dict[str, str]) -> tuple[str | None, list[Asking]]:
    """System prompt and turns; messages of one side that follow each other are one.

    Args:
        spoken: texts of spoken answers by their ids.
    """
    system, turns = [], []
    for place, message in enumerate(messages):
        param = f"messages[{place}]"
        if message.role in ("system", "developer"):
            system.append(text_of(message, param))
        elif message.role == "assistant":
            if not turns:
                raise ApiError("the conversation must begin with the user", param=param)
            turns[-1].reply = joined(turns[-1].reply, answer_of(message, spoken, param))
        else:
            if not turns or turns[-1].reply is not None:
                turns.append(Asking())
            add(turns[-1], message, param)
    if not turns or turns[-1].reply is not None:
        raise ApiError("the last message must be the user's", param="messages")
    return "\n".join(filter(None, system)) or None, [*answerable(turns[:-1]), turns[-1]]


def answerable(turns: list[Asking]) -> list[Asking]:
    """Turns with something in them; the page may have lost a recording that an old one was."""
    return [turn for turn in turns if turn.text.strip() or turn.media]


def joined(before: str | None, text: str) -> str:
    return text if not before else f"{before}\n{text}"


def text_of(message: Message, param: str) -> str:
    """The text of a message that may hold nothing else."""
    if isinstance(message.content, str) or message.content is None:
        return message.content or message.refusal or ""
    for part in message.content:
        if part.type not in ("text", "refusal"):
            raise ApiError(f"messages of role {message.role} hold text only", param=param)
    return "".join(part.text or part.refusal or "" for part in message.content)


def answer_of(message: Message, spoken: dict[str, str], param: str) -> str:
    if message.audio is None:
        return text_of(message, param)
    if message.audio.id not in spoken:
        raise ApiError(
            f"no spoken answer {message.audio.id!r} is known any more: send its transcript as content",
            404, "audio_not_found", param,
        )
    return spoken[message.audio.id]


def add(turn: Asking, message: Message, param: str) -> None:
    """Add a user's message to a turn."""
    if isinstance(message.content, str):
        turn.text = joined(turn.text, message.content)
        return
    for place, part in enumerate(message.content or []):
        where = f"{param}.content[{place}]"
        if part.type == "text":
            turn.text = joined(turn.text, part.text or "")
        else:
            turn.media.append(media_of(part, where))


def media_of(part: Part, where: str) -> Media:
    """The medium of a content part."""
    if part.type in ("image_url", "video_url"):
        value = getattr(part, part.type)
        uri = value.get("url") if isinstance(value, dict) else value
        if not isinstance(uri, str):
            raise ApiError(f"{where} has no {part.type}.url", param=where)
        return from_data_uri(uri, part.type.removesuffix("_url"), f"{where}.{part.type}")
    if part.type == "input_audio":
        data = (part.input_audio or {}).get("data")
        if not isinstance(data, str):
            raise ApiError(f"{where} has no input_audio.data", param=where)
        if data.startswith("data:"):
            return from_data_uri(data, "audio", where)
        suffix = str((part.input_audio or {}).get("format") or "").lower()
        return Media("audio", from_base64(data, f"{where}.input_audio.data"), suffix, where)
    raise ApiError(
        f"unknown content part {part.type[:40]!r}: use text, image_url, input_audio or video_url",
        param=where,
    )


class Conversations:
    """Makes prompts of conversations for one Omni."""

    def __init__(self, omni: Omni, thinking: ThinkingEngine) -> None:
        self.omni, self.thinking = omni, thinking
        self.turns = Recent(TURNS)
        self.replies = Recent(REPLIES)
        self.opening = Lock()  # one picture's pixels in memory at a time

    def remember(self, ids: list[int]) -> None:
        """Note the tokens of an answer: when its text comes back, it is read as they were."""
        self.replies.put(self.omni.tokenizer.decode(ids), tuple(ids))

    def check_pictures(self, media: list[Media]) -> None:
        """Refuse pictures that cannot be opened: every answer after them would fail."""
        with self.opening, files_of(media) as files, notices_kept():  # answers tell them
            for path in files.paths["image"]:
                load_image(path, self.omni.limits)

    def prepare(
        self, system: str | None, turns: list[Asking], config: GenerateConfig, check: Check = wanted
    ) -> Prepared:
        """The prompt of the last turn with as many turns before it as the context has room for.

        Args:
            check: raises Gone once nobody waits for the prompt any more.
        """
        head = self.omni.head(system, config)
        room = self.omni.room(config) - len(head)
        last, notices = self._turn(turns[-1], config, room, check)
        kept: list[Prompt] = [last]
        left = room - len(last)
        for turn in reversed(turns[:-1]):
            try:
                read, _ = self._turn(turn, config, room, check)
            except ContextError:
                break
            if len(read):  # else nobody spoke: as if it had not been
                read = read + Prompt([*self.reply(turn.reply), config.eos_token_id])
            if len(read) > left:
                break
            kept.append(read)
            left -= len(read)
        prompt = head
        for part in reversed(kept):
            prompt = prompt + part
        thinking = thoughts_of(self.omni.tokenizer, last.ids) if turns[-1].media else ""
        return Prepared(prompt, thinking, len(turns) - len(kept), notices, not last.ids)

    def read(self, turns: list[Asking], config: GenerateConfig, head: Prompt) -> list[Prompt]:
        """Each turn as the model reads it."""
        room = self.omni.room(config) - len(head)
        return [self._turn(turn, config, room, wanted)[0] for turn in turns]

    def reply(self, text: str) -> list[int]:
        """Tokens of an answer's text: those it was made of, where it was made here."""
        return list(self.replies.look(text) or self.omni.tokenizer.encode(text))

    def _turn(self, turn: Asking, config: GenerateConfig, room: int, check: Check) -> Turn:
        key = hashlib.sha256(turn.text.encode("utf-8", "surrogatepass"))
        for media in turn.media:
            key.update(media.digest)
        name = key.digest(), config.think, config.vad, config.video_sound, room
        found = self.turns.look(name)
        if found is None:
            with notices_kept() as notices:
                prompt, files = self._read(turn, config, room, check)
            found = prompt, [files.renamed(one) for one in notices]
            self.turns.put(name, found)
        return found

    def _read(
        self, turn: Asking, config: GenerateConfig, room: int, check: Check
    ) -> tuple[Prompt, Files]:
        """The turn as the model reads it; empty where its sound holds no speech."""
        if len(self.omni.tokenizer.encode(turn.text[: 64 * (room + 1)])) > room:
            raise ContextError(f"a message is longer than the context: {room} tokens are left for it")
        with self.opening, files_of(turn.media) as files:
            asked = self.omni.take(turn.text, **files.paths, config=config)
        if asked.silent:
            return Prompt([]), files
        if not turn.media:
            return self.omni.turns([asked], config, room)[0], files
        return self.thinking.turn(asked, config, room, check), files
