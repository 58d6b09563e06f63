"""Responses that end with their client: streams, and answers that somebody waits for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event

from starlette.requests import Request
from starlette.responses import Response

from serving.metrics import Metrics

STALLED = 60.0  # seconds that a client may take none of a stream before it is given up

log = logging.getLogger("serving")


class Gone(Exception):
    """The client left before the answer was made."""


Check = Callable[[], None]  # raises Gone once nobody waits for the result any more


def wanted() -> None:
    """The check of what is always waited for."""


@contextmanager
def while_wanted() -> Iterator[Check]:
    """A check for work in another thread: it raises Gone once nobody waits for the result any more."""
    left = Event()

    def check() -> None:
        if left.is_set():
            raise Gone

    try:
        yield check
    finally:
        left.set()


async def disconnected(receive) -> None:
    """Wait until the client has gone; its request has been read already."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(request: Request, answer: Awaitable):
    """The result of `answer`, which is cancelled when the client leaves.

    Raises:
        Gone: it left.
    """
    work = asyncio.ensure_future(answer)
    watch = asyncio.create_task(disconnected(request.receive))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise Gone
        return work.result()
    finally:
        await finished(work, watch)


async def finished(*tasks: asyncio.Future) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def produced(queue: asyncio.Queue, work: Awaitable) -> None:
    """Run a producer of a queue; its end is told by None, its failure by the error."""
    try:
        await work
        queue.put_nowait(None)
    except Exception as error:
        queue.put_nowait(error)


async def drained(queue: asyncio.Queue, producers: int) -> AsyncIterator:
    """What is put into a queue, until all its producers have ended or one has failed."""
    while producers:
        item = await queue.get()
        if isinstance(item, Exception):
            raise item
        if item is None:
            producers -= 1
        else:
            yield item


class Streamed(Response):
    """A response of chunks as they are made. What `stack` holds is let go however it ends."""

    def __init__(
        self, chunks: AsyncIterator[bytes], kind: str, stack: ExitStack, metrics: Metrics
    ) -> None:
        self.chunks, self.kind, self.stack, self.metrics = chunks, kind, stack, metrics
        self.status_code, self.background = 200, None

    async def __call__(self, scope, receive, send) -> None:
        pump = asyncio.create_task(self._pump(send))
        watch = asyncio.create_task(disconnected(receive))
        try:
            await asyncio.wait({pump, watch}, return_when=asyncio.FIRST_COMPLETED)
            error = pump.exception() if pump.done() else Gone()
            if isinstance(error, Gone):
                self.metrics.disconnects.inc()
            elif error is not None:
                log.error("a stream failed", exc_info=error)
        finally:
            await finished(pump, watch)
            await self.chunks.aclose()
            self.stack.close()

    async def _pump(self, send) -> None:
        """Send all chunks.

        Raises:
            Gone: the client left, or takes nothing any more.
        """

        async def sent(message: dict) -> None:
            try:
                async with asyncio.timeout(STALLED):
                    await send(message)
            except Exception:
                raise Gone from None

        headers = [(b"content-type", self.kind.encode()), (b"cache-control", b"no-store")]
        headers.append((b"x-accel-buffering", b"no"))  # proxies: pass it on at once
        await sent({"type": "http.response.start", "status": 200, "headers": headers})
        async for chunk in self.chunks:
            if chunk:
                await sent({"type": "http.response.body", "body": chunk, "more_body": True})
        await sent({"type": "http.response.body", "body": b"", "more_body": False})
