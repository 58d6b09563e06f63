"""The application: routes, errors, the page. What they do is in the modules beside this one."""

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response

from serving import audio, chat, realtime_open, trace
from serving.errors import ApiError, invalid, not_found, not_json
from serving.guard import Guard
from serving.metrics import Metrics
from serving.schema import ChatBody, SpeechBody
from serving.service import MODEL, Service
from serving.streaming import Gone

PAGE = Path(__file__).parent / "page"
GONE = 499  # a status of nginx's: the client left

log = logging.getLogger("serving")


def create_app(service: Service, api_key: str | None, local: bool) -> "Counted":
    """The ASGI application of a service.

    Args:
        local: whether it is bound to this machine alone.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI):
        service.start()
        yield
        await asyncio.to_thread(service.close)  # answers that are given up must be able to end

    # FastAPI's own documentation pages load scripts from another host: they are left out.
    app = FastAPI(title="μOmni", lifespan=lifespan, docs_url=None, redoc_url=None)
    add_errors(app, service.metrics)
    add_api(app, service)
    add_page(app, service)
    app.openapi()  # kept before HEAD joins: it needs no description of its own
    for route in app.routes:
        if "GET" in (getattr(route, "methods", None) or ()):
            route.methods.add("HEAD")  # answered as GET; uvicorn leaves the body out
    return Counted(Guard(app, api_key, local), service.metrics)


class Counted:
    """Counts answers by path and status, refusals and failures too; unknown paths count as one."""

    def __init__(self, app, metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope, receive, send) -> None:
        async def watched(message) -> None:
            if message["type"] == "http.response.start":
                status, route = message["status"], scope.get("route")
                path = "page" if status < 400 else "unknown"  # the page's files have no route
                if route is not None and route.include_in_schema:
                    path = route.path
                self.metrics.requests.labels(path, status).inc()
            await send(message)

        await self.app(scope, receive, watched if scope["type"] == "http" else send)


def add_errors(app: FastAPI, metrics: Metrics) -> None:
    """Every error in OpenAI's shape."""

    def answered(error: ApiError) -> JSONResponse:
        return JSONResponse(error.body(), error.status, headers=error.headers())

    @app.exception_handler(ApiError)
    async def _(_: Request, error: ApiError):
        return answered(error)

    @app.exception_handler(ClientDisconnect)  # within an upload
    @app.exception_handler(Gone)
    async def _(_: Request, __: Exception):
        metrics.disconnects.inc()
        return Response(status_code=GONE)

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError):
        errors = error.errors()
        if errors[0]["type"] == "json_invalid":
            return answered(not_json())
        if errors[0]["loc"] == ("body",):  # none came, or it is called something else
            return answered(ApiError("send a JSON object, with Content-Type: application/json"))
        return answered(invalid(errors))

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException):
        if error.status_code == 400:  # FastAPI's, of a body that cannot be parsed
            return answered(not_json())
        message = str(error.detail)
        if error.status_code in (404, 405):
            message = f"there is no {request.method} {request.scope['path'][:80]}"
        return JSONResponse(ApiError(message, error.status_code).body(), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception):
        log.error("%s failed", request.scope["path"], exc_info=error)
        return answered(ApiError("the server failed at this request and logged why", 500))


def add_api(app: FastAPI, service: Service) -> None:
    """OpenAI's endpoints."""
    started = int(time.time())

    def check_model(name: str) -> None:
        if name != MODEL:
            raise not_found(name)

    async def described() -> dict:
        senses = ["text", "image", "audio", "video"] if service.hears else ["text"]
        return {
            "id": MODEL,
            "object": "model",
            "created": started,
            "owned_by": "muomni",
            "context": service.engine.capacity,
            "modalities": senses,
            "voices": await service.voices(),
        }

    @app.get("/v1/models")
    async def models():
        return {"object": "list", "data": [await described()]}

    @app.get("/v1/models/{name}")
    async def model(name: str):
        check_model(name)
        return await described()

    @app.post("/v1/chat/completions", response_model=None)
    async def chat_completions(body: ChatBody, request: Request):
        check_model(body.model)
        return await chat.complete(service, body, request)

    @app.post("/v1/trace", response_model=None)
    async def see_inside(body: ChatBody, request: Request):
        check_model(body.model)
        return HTMLResponse(await trace.page(service, body, request))

    @app.post("/v1/audio/speech", response_model=None)
    async def speech(body: SpeechBody, request: Request):
        check_model(body.model)
        return await audio.speech(service, body, request)

    @app.post("/v1/audio/transcriptions", response_model=None)
    async def transcriptions(request: Request):
        return await audio.transcription(service, request)

    @app.websocket("/v1/realtime")
    async def _(socket: WebSocket):
        await realtime_open.serve(service, socket)

    @app.websocket("/{rest:path}")
    async def _(socket: WebSocket):
        path = socket.scope["path"][:80]
        await realtime_open.deny(socket, ApiError(f"there is no WebSocket at {path}", 404))

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    @app.api_route("/v1/{rest:path}", methods=methods, include_in_schema=False)
    async def _(rest: str):
        raise HTTPException(404)  # before the page's files, which take GET alone


def add_page(app: FastAPI, service: Service) -> None:
    """The page at `/`, health and metrics."""

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.get("/metrics")
    async def metrics():
        service.metrics.busy.set(service.busy)
        service.metrics.rows.set(len(service.engine.active))
        service.metrics.sockets.set(service.sockets)
        return Response(service.metrics.page(), media_type="text/plain; version=0.0.4")

    app.mount("/", StaticFiles(directory=PAGE, html=True))
