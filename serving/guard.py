"""Guard: who may ask, and how much may be sent. A pure ASGI wrapper around the application.

Checks the Host (DNS rebinding), the Origin (another site's page), the API key, the size of a body
and the time its upload takes. Refusals have OpenAI's shape.
"""

import asyncio
import hmac
import json
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit

from serving.errors import ApiError

MAX_BODY = 32 * 2**20  # bytes
MAX_VALUES = 100_000  # of a JSON body: parsing ten million takes seconds, in which nobody is answered
UPLOAD_SECONDS = 60.0  # for a whole body
DISCARDED = 4 * MAX_BODY  # bytes that a client may send before it reads that they are too many
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
KEY_PROTOCOL = "openai-insecure-api-key."  # how a browser sends a key with a WebSocket


class Guard:
    """Lets a request through to `app`, or refuses it.

    Args:
        api_key: what clients must send; None: nothing.
        local: whether only this machine can connect; then other host names are refused.
    """

    def __init__(self, app, api_key: str | None, local: bool) -> None:
        self.app, self.api_key, self.local = app, api_key, local

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        upload = Upload(receive, scope["headers"])
        try:
            self.check(scope)
        except ApiError as error:
            await refuse(scope, upload, send, error)
            return
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        started = False

        async def refused(error: ApiError) -> None:
            nonlocal started
            if not started:
                started = True
                await refuse(scope, upload, send, error)

        async def watched(message) -> None:
            nonlocal started
            if upload.error is not None:  # the application took it for an error of its own
                await refused(upload.error)
                return
            started = True
            await send(message)

        try:
            await self.app(scope, upload.receive, watched)
        except ApiError as error:  # the upload's: others are answered within
            await refused(error)
        except asyncio.CancelledError:  # the server is stopped before the answer was made
            upload.done = True
            await refused(ApiError("the server is stopping", 503))

    def check(self, scope) -> None:
        """Refuse by headers alone."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self.local and name_of(host) not in LOOPBACK:
            raise ApiError(f"this server is for this machine only, not for {host[:80]!r}", 403)
        origin = headers.get("origin")
        if origin is not None and parts_of(origin).netloc != host:
            raise ApiError(f"pages of {origin[:80]!r} may not use this server", 403)
        path = scope["path"]
        guarded = path.startswith("/v1") or path == "/metrics"  # the page's files hold no secret
        if self.api_key is not None and guarded:
            wanted = self.api_key.encode()
            if not any(hmac.compare_digest(key.encode(), wanted) for key in keys_of(headers)):
                raise ApiError("the API key is missing or wrong", 401, "invalid_api_key")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > MAX_BODY:
            raise too_large()


def name_of(host: str) -> str:
    """A host without its port."""
    return parts_of(f"//{host}").hostname or ""


def parts_of(url: str) -> SplitResult:
    """Its parts; none where it is no URL."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def keys_of(headers: dict[str, str]) -> list[str]:
    """The key a client sent, by header or as a WebSocket's subprotocol.

    A subprotocol holds few characters: the page sends others percent-encoded, so both readings count.
    """
    kind, _, key = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return [key.strip()]
    for protocol in headers.get("sec-websocket-protocol", "").split(","):
        if protocol.strip().startswith(KEY_PROTOCOL):
            key = protocol.strip().removeprefix(KEY_PROTOCOL)
            return [key, unquote(key)]
    return []


class Upload:
    """A request's body, bounded in bytes, values and seconds."""

    def __init__(self, receive, headers: list[tuple[bytes, bytes]]) -> None:
        self.inner, self.headers = receive, dict(headers)
        self.files = self.headers.get(b"content-type", b"").lower().startswith(b"multipart/")
        self.taken, self.values, self.done = 0, 0, False
        self.error: ApiError | None = None
        self.until = asyncio.get_running_loop().time() + UPLOAD_SECONDS

    async def receive(self) -> dict:
        if self.done:  # what comes now is the client leaving
            return await self.inner()
        try:
            async with asyncio.timeout_at(self.until):
                message = await self.inner()
        except TimeoutError:
            self.error = ApiError("the upload took too long", 408, "request_timeout")
            raise self.error from None
        body = message.get("body", b"")
        self.taken += len(body)
        self.values += 0 if self.files else body.count(b",") + body.count(b"&")  # JSON, or a form
        self.done = not message.get("more_body", False)
        if self.taken > MAX_BODY or self.values > MAX_VALUES:
            self.error = too_large()
            raise self.error
        return message


    async def discard(self) -> None:
        """Read what is still sent, within the bounds."""
        if self.taken == 0 and b"expect" in self.headers:  # the client waits to be asked for it
            return
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self.until):
                while not self.done and self.taken < DISCARDED:
                    message = await self.inner()
                    self.taken += len(message.get("body", b""))
                    self.done = not message.get("more_body", False)


def too_large() -> ApiError:
    most = f"{MAX_BODY // 2**20} MB and, but for files, {MAX_VALUES} values"
    return ApiError(f"a request may have {most}", 413, "request_too_large")


async def refuse(scope, upload: Upload, send, error: ApiError) -> None:
    """Answer with an error; a WebSocket is not accepted.

    Who is cut off while sending never reads the answer: what still comes is read before the end.
    """
    content = json.dumps(error.body(), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in error.headers().items()]
    kind = "http.response"
    if scope["type"] == "websocket":
        await upload.inner()  # its request to connect
        kind = "websocket.http.response"
    else:
        headers.append((b"connection", b"close"))
    await send({"type": f"{kind}.start", "status": error.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": content, "more_body": True})
    if scope["type"] == "http":
        await upload.discard()
    await send({"type": f"{kind}.body", "body": b"", "more_body": False})
