"""`/v1/realtime`: who is let in, and a connection from its opening to its end."""

from starlette.responses import JSONResponse
from starlette.websockets import WebSocket

from serving.errors import ApiError, not_found
from serving.realtime import Connection
from serving.realtime_session import Session, updated
from serving.service import MODEL, Service

MAX_SESSIONS = 32


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
        await deny(socket, error)
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


async def deny(socket: WebSocket, error: ApiError) -> None:
    """Answer a connection that is not accepted."""
    await socket.send_denial_response(JSONResponse(error.body(), error.status, error.headers()))
