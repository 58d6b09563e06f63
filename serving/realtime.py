"""A spoken conversation over one WebSocket, with OpenAI's events (docs/serving.md)."""

import asyncio
import json
import logging
from contextlib import suppress

import numpy as np
from starlette.websockets import WebSocket, WebSocketDisconnect

from serving.activity import Paused, Started, Stopped, TurnDetector
from serving.encoding import WIRE_RATE, Resampler
from serving.errors import ApiError
from serving.realtime_items import (
    MAX_BYTES,
    MAX_ITEMS,
    RATE,
    Item,
    new_name,
    pcm_samples,
    read_item,
    to_truncate,
    told,
)
from serving.realtime_response import Response
from serving.realtime_session import ResponseSettings, Session, parse_event, updated
from serving.schema import checked
from serving.service import Service, new_id
from serving.streaming import finished

MAX_BUFFER = 60 * RATE  # samples that may wait to be committed
MAX_UNSENT = 4096  # events that a client may leave lying before it is given up
TOO_SLOW = 1008, "the client takes too few of its events"  # RFC 6455: it breaks the server's policy
CLOSING = 5.0  # seconds: one that reads nothing takes no goodbye either
MIN_COMMIT = RATE // 10 - RATE // 500  # samples: 100 ms, of which the resampler holds some back
TAIL_MS = 96  # of silence kept after speech

log = logging.getLogger("serving")


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
        self.pumps: tuple[asyncio.Task, ...] = ()  # what sends, and what reads
        self.left = 1000, ""  # why the socket is closed: nothing is wrong
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
        self.pumps = tuple(map(asyncio.create_task, (self._send_all(), self._read_all())))
        self.send("session.created", session=self._shown())
        try:
            await asyncio.wait(self.pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self.stop_response("client_left")
            await finished(*self.pumps, *self.tasks)
            with suppress(RuntimeError, WebSocketDisconnect, TimeoutError):  # it may have gone already
                await asyncio.wait_for(self.socket.close(*self.left), CLOSING)

    def send(self, kind: str, **fields) -> None:
        """Queue an event for the client; one that takes none is given up, wherever sending waits."""
        if self.unsent.qsize() >= MAX_UNSENT:
            self.left = TOO_SLOW
            for pump in self.pumps:
                pump.cancel()
            return
        self.unsent.put_nowait({"type": kind, "event_id": new_id("event")} | fields)

    def send_error(self, error: ApiError, event_id: str | None = None) -> None:
        self.send("error", error=error.body()["error"] | {"event_id": event_id})

    async def _send_all(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
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
        self.session = session
        turns = session.audio.input.turn_detection
        if (turns is None) != (self.detector is None):
            self._forget_eager()
            self.detector = self._new_detector()
            self.base, self.speech = self.start + len(self.buffer), None
        elif turns is not None:  # who speaks meanwhile goes on
            self.detector.threshold = turns.threshold
            self.detector.silence_ms = turns.silence_duration_ms
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
            self._forget_eager()
            self.eager = found.at, self._words(samples)
            return
        self.send("input_audio_buffer.speech_stopped", audio_end_ms=ms(found.at), item_id=item_id)
        known = self._forget_eager(but=found.at)
        self._drop(end - self.start)
        self.speech = None
        self._commit(samples, item_id, known)
        if settings.create_response:
            await self._answer_turn(settings.interrupt_response)

    async def _answer_turn(self, interrupts: bool) -> None:
        """Answer what was said, at once or after the answer that may not be interrupted."""
        running = self.response
        if running is None or running.ended or interrupts:
            await self.stop_response("turn_detected")
            self.start_response(ResponseSettings())
        else:
            self._background(self._answer_after(running))

    async def _answer_after(self, running: Response) -> None:
        await asyncio.wait({running.task})
        if self.response is running:
            self.start_response(ResponseSettings())

    def _forget_eager(self, but: int | None = None) -> asyncio.Task | None:
        """Give up a transcript that was begun before its turn had ended; one up to `but` is returned."""
        eager, self.eager = self.eager, None
        if eager and eager[0] == but:
            return eager[1]
        if eager:
            eager[1].cancel()
        return None

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
        name = self.speech[1] if self.speech else new_id("item")  # the one that was announced
        self._empty()
        self._commit(samples, name)

    def _empty(self) -> None:
        self._drop(len(self.buffer))
        self._forget_eager()
        self.speech = None
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
        end, more = await told(item)
        if end == "failed" or self.session.audio.input.transcription is not None:
            kind = f"conversation.item.input_audio_transcription.{end}"
            self.send(kind, item_id=item.id, content_index=0, **more)

    # ---- the conversation

    def add(self, item: Item, done: bool = True, after: str | None = None) -> None:
        """Add an item to the end of the conversation, or an answer behind what it answers."""
        names = list(self.items)
        self.items[item.id] = item
        if after in names:  # what came meanwhile is still to be answered
            for name in names[names.index(after) + 1 :]:
                self.items[name] = self.items.pop(name)
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
        name = new_name(values, self.items)
        item, sounds = await self.service.work("listen", read_item, values, name)
        if item.media:
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
        item = self._item(event)
        played = to_truncate(item, event)
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
