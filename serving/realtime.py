"""`/v1/realtime`: a spoken conversation over one WebSocket, with OpenAI's events (docs/serving.md)."""

import asyncio
import json
import logging
from contextlib import suppress
from math import inf

import numpy as np
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from serving.activity import Paused, Started, Stopped, TurnDetector
from serving.encoding import WIRE_RATE, Resampler
from serving.errors import ApiError, not_found
from serving.realtime_items import (
    MAX_BYTES,
    MAX_ITEMS,
    RATE,
    Item,
    pcm_samples,
    read_item,
)
from serving.realtime_response import Response
from serving.realtime_session import ResponseSettings, Session, parse_event, updated
from serving.schema import checked
from serving.service import MODEL, Service, new_id
from serving.streaming import finished

MAX_SESSIONS = 32
MAX_BUFFER = 60 * RATE  # samples that may wait to be committed
MAX_UNSENT = 4096  # events that a client may leave lying before it is given up
MIN_COMMIT = RATE // 10  # samples: less is no recording
TAIL_MS = 96  # of silence kept after speech

log = logging.getLogger("serving")


async def serve(service: Service, socket: WebSocket) -> None:
    """One connection, from its opening to its end."""
    try:
        if socket.query_params.get("model", MODEL) != MODEL:
            raise not_found(socket.query_params["model"])
        if not service.hears:
            raise ApiError("this checkpoint is text alone: it does not hear", param="model")
        if service.sockets >= MAX_SESSIONS:
            raise ApiError("too many realtime sessions are open", 429, "rate_limit_exceeded")
    except ApiError as error:
        await socket.send_denial_response(JSONResponse(error.body(), error.status))
        return
    offered = socket.scope.get("subprotocols") or []
    service.sockets += 1
    try:
        voices = await service.voices()
        await socket.accept("realtime" if "realtime" in offered else None)
        session = updated(Session(), {"audio": {"output": {"voice": voices[0]}}})
        await Connection(service, socket, session).run()
    finally:
        service.sockets -= 1


class Connection:
    """A session: its settings, its conversation, the sound it has heard and the answer it gives."""

    def __init__(self, service: Service, socket: WebSocket, session: Session) -> None:
        self.service, self.socket, self.session = service, socket, session
        self.id = new_id("sess")
        self.items: dict[str, Item] = {}
        self.unsent: asyncio.Queue = asyncio.Queue()
        self.change = Resampler(WIRE_RATE, RATE)
        self.buffer = np.zeros(0, np.float32)  # at 16 kHz
        self.start = 0  # samples of the stream before the buffer
        self.detector: TurnDetector | None = self._new_detector()
        self.base = 0  # samples of the stream before the detector's first
        self.speech: tuple[int, str] | None = None  # where speech began, and its item's id
        self.eager: tuple[int, asyncio.Task] | None = None  # a transcript begun before its turn ended
        self.response: Response | None = None
        self.tasks: set[asyncio.Task] = set()
        self.handlers = {
            "session.update": self._update,
            "input_audio_buffer.append": self._append,
            "input_audio_buffer.commit": self._commit_event,
            "input_audio_buffer.clear": self._clear,
            "conversation.item.create": self._create,
            "conversation.item.delete": self._delete,
            "conversation.item.truncate": self._truncate,
            "conversation.item.retrieve": self._retrieve,
            "response.create": self._respond,
            "response.cancel": self._cancel,
        }

    # ---- the socket

    async def run(self) -> None:
        """Read and answer events until the client leaves."""
        sender = asyncio.create_task(self._send_all())
        reader = asyncio.create_task(self._read_all())
        self.send("session.created", session=self._shown())
        try:
            await asyncio.wait({sender, reader}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self.stop_response("client_left")
            await finished(sender, reader, *self.tasks)
            with suppress(RuntimeError, WebSocketDisconnect):  # it may have gone already
                await self.socket.close()

    def send(self, kind: str, **fields) -> None:
        """Queue an event for the client."""
        self.unsent.put_nowait({"type": kind, "event_id": new_id("event")} | fields)

    def send_error(self, error: ApiError, event_id: str | None = None) -> None:
        self.send("error", error=error.body()["error"] | {"event_id": event_id})

    async def _send_all(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            while self.unsent.qsize() < MAX_UNSENT:
                await self.socket.send_text(json.dumps(await self.unsent.get()))

    async def _read_all(self) -> None:
        while (message := await self.socket.receive())["type"] != "websocket.disconnect":
            event_id = None
            try:
                event = parse_event(message)
                named = event.get("event_id")
                event_id = named if isinstance(named, str) else None
                if event["type"] not in self.handlers:
                    unknown = f"unknown event {event['type'][:80]!r}"
                    raise ApiError(unknown, code="unknown_event", param="type")
                await self.handlers[event["type"]](event)
            except ApiError as error:
                self.send_error(error, event_id)
            except Exception:
                log.exception("a realtime event failed")
                error = ApiError("the server failed at this event and logged why", 500)
                self.send_error(error, event_id)

    # ---- settings

    def _shown(self) -> dict:
        shown = {"id": self.id, "object": "realtime.session"}
        return shown | self.session.model_dump()

    async def _update(self, event: dict) -> None:
        session = updated(self.session, event.get("session"))
        out = session.audio.output
        speech = await self.service.speech(out.voice, out.speed, "session.audio.output.")
        out.voice = speech.voice
        turns_changed = session.audio.input.turn_detection != self.session.audio.input.turn_detection
        self.session = session
        if turns_changed:
            self.detector = self._new_detector()
            self.base, self.speech = self.start + len(self.buffer), None
        self.send("session.updated", session=self._shown())

    def _new_detector(self) -> TurnDetector | None:
        settings = self.session.audio.input.turn_detection
        if settings is None:
            return None
        return TurnDetector(settings.threshold, settings.silence_duration_ms)

    # ---- sound

    async def _append(self, event: dict) -> None:
        pcm = pcm_samples(event.get("audio"), "audio")
        if len(self.buffer) + len(pcm) * RATE // WIRE_RATE > MAX_BUFFER:
            raise ApiError(
                f"the buffer holds {MAX_BUFFER // RATE} s: commit or clear it", code="buffer_full"
            )
        samples = self.change.push(pcm).astype(np.float32) / 32_768
        self.buffer = np.concatenate([self.buffer, samples])
        if self.detector is None:
            return
        for found in await self.service.work("listen", self.detector.push, samples):
            found.at += self.base
            await self._heard(found)
        if self.speech is None:  # nothing but what speech may need before it is kept
            padding = self.session.audio.input.turn_detection.prefix_padding_ms * RATE // 1000
            self._drop(max(0, len(self.buffer) - padding - RATE // 4))

    async def _heard(self, found: Started | Paused | Stopped) -> None:
        """Speech began, may have ended, or has ended."""
        settings = self.session.audio.input.turn_detection
        if isinstance(found, Started):
            padding = settings.prefix_padding_ms * RATE // 1000
            begin = max(self.start, found.at - padding)
            self.speech = begin, new_id("item")
            self.send(
                "input_audio_buffer.speech_started", audio_start_ms=ms(found.at),
                item_id=self.speech[1],
            )
            if settings.interrupt_response:
                await self.stop_response("turn_detected")
            return
        begin, item_id = self.speech
        end = found.at + TAIL_MS * RATE // 1000
        samples = self.buffer[begin - self.start : end - self.start]
        if isinstance(found, Paused):
            self.eager = found.at, self._words(samples)
            return
        self.send("input_audio_buffer.speech_stopped", audio_end_ms=ms(found.at), item_id=item_id)
        known = self.eager[1] if self.eager and self.eager[0] == found.at else None
        self._drop(end - self.start)
        self.speech = self.eager = None
        self._commit(samples, item_id, known)
        if settings.create_response:
            await self.stop_response("turn_detected")
            self.start_response(ResponseSettings())

    def _words(self, samples: np.ndarray) -> asyncio.Task:
        """Begin to find the words of a recording."""
        return self._background(self.service.transcribe((samples, RATE)))

    def _background(self, work) -> asyncio.Task:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen
        return task

    def _drop(self, samples: int) -> None:
        """Forget the beginning of the buffer."""
        self.buffer, self.start = self.buffer[samples:], self.start + min(samples, len(self.buffer))

    async def _commit_event(self, event: dict) -> None:
        if len(self.buffer) < MIN_COMMIT:
            raise ApiError(
                f"the buffer holds {ms(len(self.buffer))} ms: send at least 100 ms before a commit",
                code="input_audio_buffer_commit_empty",
            )
        samples = self.buffer
        self._empty()
        self._commit(samples, new_id("item"))

    def _empty(self) -> None:
        self._drop(len(self.buffer))
        self.speech = self.eager = None
        if self.detector is not None:
            self.detector.forget()

    async def _clear(self, _: dict) -> None:
        self._empty()
        self.send("input_audio_buffer.cleared")

    def _commit(self, samples: np.ndarray, item_id: str, words: asyncio.Task | None = None) -> None:
        """Make an item of a recording."""
        before = next(reversed(self.items), None)
        self.send("input_audio_buffer.committed", item_id=item_id, previous_item_id=before)
        words = words or self._words(samples)
        item = Item(item_id, "user", words=words, heard_seconds=len(samples) / RATE)
        self.add(item)
        self._background(self._tell_words(item))

    async def _tell_words(self, item: Item) -> None:
        """Send the transcript once it is known."""
        about = {"item_id": item.id, "content_index": 0}
        kind = "conversation.item.input_audio_transcription"
        try:
            words = await asyncio.shield(item.words)
        except ApiError as error:
            self.send(f"{kind}.failed", **about, error=error.body()["error"])
            return
        if self.session.audio.input.transcription is not None:
            self.send(f"{kind}.completed", **about, transcript=words, usage=item.usage)

    # ---- the conversation

    def add(self, item: Item, done: bool = True) -> None:
        """Add an item to the end of the conversation."""
        self.items[item.id] = item
        while len(self.items) > MAX_ITEMS or sum(i.size for i in self.items.values()) > MAX_BYTES:
            self.items.pop(next(iter(self.items)))  # both are far more than the context holds
        self.tell(item, "added")
        if done:
            self.tell(item, "done")

    def tell(self, item: Item, what: str) -> None:
        """Say that an item was added, or is done, and which is before it."""
        ids = [None, *self.items]
        before = ids[ids.index(item.id) - 1] if item.id in self.items else None
        self.send(f"conversation.item.{what}", item=item.shown(), previous_item_id=before)

    def _item(self, event: dict) -> Item:
        name = event.get("item_id")
        if not isinstance(name, str) or name not in self.items:
            raise ApiError(f"there is no item {str(name)[:80]!r}", 404, "item_not_found", "item_id")
        return self.items[name]

    async def _create(self, event: dict) -> None:
        if event.get("previous_item_id") is not None:
            raise ApiError("items join the end: leave out previous_item_id", param="previous_item_id")
        values = event.get("item")
        name = values.get("id") if isinstance(values, dict) else None
        if name is not None and (not isinstance(name, str) or len(name) > 64 or name in self.items):
            raise ApiError("id must be new, and text of up to 64 characters", param="item.id")
        item, sounds = await self.service.work("prepare", read_item, values, name or new_id("item"))
        await self.service.work("prepare", self.service.conversations.check_pictures, item.media)
        if sounds:
            item.words = self._words(np.concatenate(sounds))
        self.add(item)
        if sounds:
            self._background(self._tell_words(item))

    async def _delete(self, event: dict) -> None:
        del self.items[self._item(event).id]
        self.send("conversation.item.deleted", item_id=event["item_id"])

    async def _retrieve(self, event: dict) -> None:
        self.send("conversation.item.retrieved", item=self._item(event).shown())

    async def _truncate(self, event: dict) -> None:
        item, played = self._item(event), event.get("audio_end_ms")
        if type(index := event.get("content_index", 0)) is not int or index:
            raise ApiError("content_index must be 0: an answer has one part", param="content_index")
        if not isinstance(played, int | float) or isinstance(played, bool) or not 0 <= played < inf:
            raise ApiError("audio_end_ms must be 0 or more", param="audio_end_ms")
        if item.role != "assistant" or not item.spoken:
            raise ApiError("only a spoken answer can be truncated", param="item_id")
        item.truncate(played)
        self.send(
            "conversation.item.truncated", item_id=item.id, content_index=0, audio_end_ms=played
        )

    # ---- answers

    async def _respond(self, event: dict) -> None:
        settings = checked(ResponseSettings, event.get("response") or {}, "response")
        if self.response is not None and not self.response.ended:
            raise ApiError(
                "an answer is being made: cancel it first",
                code="conversation_already_has_active_response",
            )
        self.start_response(settings)

    def start_response(self, settings: ResponseSettings) -> None:
        self.response = Response(self, settings)
        self.response.task = self._background(self.response.run())

    async def stop_response(self, reason: str) -> None:
        """End the answer that is being made, if there is one."""
        if self.response is not None and not self.response.ended:
            await self.response.cancel(reason)

    async def _cancel(self, event: dict) -> None:
        wanted = event.get("response_id")
        active = self.response is not None and not self.response.ended
        if not active or wanted not in (None, self.response.id):
            raise ApiError("there is no such answer being made", code="response_cancel_not_active")
        await self.response.cancel("client_cancelled")


def ms(samples: int) -> int:
    return 1000 * samples // RATE
