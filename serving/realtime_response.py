"""One answer of a realtime session: made, sent as it is made, and stopped when asked to."""

import asyncio
import base64
import logging
from time import perf_counter
from typing import TYPE_CHECKING

from serving.answer import Answer, Sound
from serving.conversation import answerable
from serving.encoding import WIRE_RATE, PcmEncoder
from serving.errors import ApiError
from serving.realtime_items import Item, turns_of
from serving.realtime_session import ResponseSettings
from serving.service import new_id
from serving.streaming import finished

if TYPE_CHECKING:
    from serving.realtime import Connection

log = logging.getLogger("serving")
STATUS = {"stop": "completed", "length": "incomplete"}


class Response:
    """An answer to the conversation as it is now; it is announced at once, and `run` makes it."""

    def __init__(self, connection: "Connection", settings: ResponseSettings) -> None:
        self.connection, self.service = connection, connection.service
        self.id, self.items = new_id("resp"), list(connection.items.values())
        session = connection.session
        self.speaks = (settings.output_modalities or session.output_modalities) == ["audio"]
        self.instructions = settings.instructions
        if self.instructions is None:
            self.instructions = session.instructions
        self.most = settings.max_output_tokens or session.max_output_tokens
        given = settings.audio and settings.audio.output.voice
        self.voice = given or session.audio.output.voice
        self.speed, self.metadata = session.audio.output.speed, settings.metadata
        self.item: Item | None = None
        self.answer: Answer | None = None
        self.task: asyncio.Task | None = None
        self.ended, self.reason = False, "client_cancelled"
        connection.send("response.created", response=self._shown("in_progress"))

    async def run(self) -> None:
        """Make and send it; whatever happens, `response.done` ends it."""
        try:
            with self.service.place():
                status, details = await self._make(), None
        except asyncio.CancelledError:
            status, details = "cancelled", {"type": "cancelled", "reason": self.reason}
        except ApiError as error:
            status, details = "failed", {"type": "failed", "error": error.body()["error"]}
        except Exception:
            log.exception("a realtime answer failed")
            error = ApiError("the answer could not be made: the server logged why", 500)
            status, details = "failed", {"type": "failed", "error": error.body()["error"]}
        self._finish(status, details)

    async def cancel(self, reason: str) -> None:
        """Stop it and wait until it has said so."""
        self.reason = reason
        await finished(self.task)
        if not self.ended:  # it was stopped before it began
            self._finish("cancelled", {"type": "cancelled", "reason": reason})

    async def _make(self) -> str:
        """Its status."""
        began = perf_counter()
        system, turns = await turns_of(self.items)
        if not turns:
            raise ApiError("there is nothing to answer: create an item or commit sound first")
        if turns[-1].reply is not None:
            raise ApiError("the last item is an answer: there is nothing new to answer")
        if not (turns[-1].text.strip() or turns[-1].media):
            return "completed"  # nothing was said
        speech = None
        if self.speaks:
            speech = await self.service.speech(self.voice, self.speed, "response.audio.output.")
        most = self.service.engine.capacity if self.most == "inf" else self.most
        config = self.service.config({"max_new_tokens": most})
        prompt = "\n".join(filter(None, [self.instructions, *system])) or None
        prepared = await self.service.prepare(prompt, answerable(turns), config)
        self.answer = Answer(self.service, prepared, config, speech, began=began)
        self._open(self.items[-1].id)
        wire, end = PcmEncoder(), 0
        async with self.answer:
            async for event in self.answer:
                if isinstance(event, Sound):
                    end = event.end
                    self._sound(wire.push(event.samples), end)
                else:
                    self._text(event.text)
        self._sound(wire.finish(), end)
        self.item.whole = True
        return STATUS[self.answer.reason]

    # ---- events

    def _about(self) -> dict:
        about = {"response_id": self.id, "item_id": self.item.id}
        return about | {"output_index": 0, "content_index": 0}

    def _open(self, after: str) -> None:
        """Announce the answer's item, behind the last that it answers."""
        self.item = Item(new_id("item"), "assistant", spoken=self.speaks, status="in_progress")
        send = self.connection.send
        send(
            "response.output_item.added", response_id=self.id, output_index=0,
            item=self.item.shown(),
        )
        self.connection.add(self.item, done=False, after=after)
        send("response.content_part.added", **self._about(), part=self._part())

    def _part(self) -> dict:
        if self.speaks:
            return {"type": "audio", "transcript": self.item.text}
        return {"type": "text", "text": self.item.text}

    def _text(self, text: str) -> None:
        if text:
            self.item.text += "" if self.item.truncated else text
            kind = "output_audio_transcript" if self.speaks else "output_text"
            self.connection.send(f"response.{kind}.delta", **self._about(), delta=text)

    def _sound(self, pcm: bytes, end: int) -> None:
        """Send sound of the sentence that ends before this character."""
        if self.speaks and pcm:
            if not self.item.truncated:
                self.item.add_sound(end, 1000 * len(pcm) / 2 / WIRE_RATE)
            sound = base64.b64encode(pcm).decode()
            self.connection.send("response.output_audio.delta", **self._about(), delta=sound)

    def _finish(self, status: str, details: dict | None) -> None:
        """Close what was opened, and the response."""
        send = self.connection.send
        self.ended = True
        if self.item is not None:
            self.item.status = "completed" if status == "completed" else "incomplete"
            if self.speaks:
                send("response.output_audio.done", **self._about())
                send(
                    "response.output_audio_transcript.done", **self._about(),
                    transcript=self.item.text,
                )
            else:
                send("response.output_text.done", **self._about(), text=self.item.text)
            send("response.content_part.done", **self._about(), part=self._part())
            send(
                "response.output_item.done", response_id=self.id, output_index=0,
                item=self.item.shown(),
            )
            self.connection.tell(self.item, "done")
        if status == "incomplete":
            details = {"type": "incomplete", "reason": "max_output_tokens"}
        send("response.done", response=self._shown(status, details))

    def _shown(self, status: str, details: dict | None = None) -> dict:
        shown = {
            "id": self.id,
            "object": "realtime.response",
            "status": status,
            "status_details": details,
            "output": [self.item.shown()] if self.item else [],
            "output_modalities": ["audio" if self.speaks else "text"],
            "metadata": self.metadata,
            "usage": None,
        }
        if self.answer is not None and status != "in_progress":
            prepared, usage = self.answer.prepared, self.answer.usage()
            shown |= {"dropped_turns": prepared.dropped} if prepared.dropped else {}
            shown |= {"notices": prepared.notices} if prepared.notices else {}
            shown["usage"] = {
                "total_tokens": usage["total_tokens"],
                "input_tokens": usage["prompt_tokens"],
                "output_tokens": usage["completion_tokens"],
                "input_token_details": usage["prompt_tokens_details"],
            }
        return shown
