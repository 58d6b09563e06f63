"""Running the application under uvicorn: the socket, the line with the address, a graceful stop."""

import logging
import socket
import sys
import warnings

import uvicorn

from inference.notice import Notice, show_notice
from inference.omni import Omni
from models.errors import UserError
from serving.app import create_app
from serving.guard import LOOPBACK, MAX_BODY
from serving.service import Service

STOP_SECONDS = 5  # that requests have to end when the server is stopped


def run(args) -> int:
    """Load, open the port, serve until Ctrl-C or SIGTERM."""
    bound, local = bind(args.host, args.port), args.host in LOOPBACK
    warnings.simplefilter("always", Notice)
    warnings.showwarning = show_notice
    if not local and args.api_key is None:
        print(
            f"warning: --host {args.host} without --api_key: whoever reaches this machine can use "
            "the model", file=sys.stderr,
        )
    omni = Omni.from_pretrained(args.ckpt_dir, dtype=args.dtype)
    app = create_app(Service(omni, args.max_queue, args.thinker_url), args.api_key, local)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws_max_size=MAX_BODY,
        timeout_graceful_shutdown=STOP_SECONDS, timeout_keep_alive=30, server_header=False,
    )
    logging.getLogger("uvicorn.error").addFilter(is_news)
    Announcing(config, bound).run(sockets=[bound])
    return 0


def is_news(record: logging.LogRecord) -> bool:
    """uvicorn logs an error for each WebSocket that is refused as its protocol allows."""
    return "without completing handshake" not in record.getMessage()


def bind(host: str, port: int) -> socket.socket:
    """Open the port before anything slow, so that a wrong one is told at once."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, UnicodeError) as error:  # the latter of a host that is no name
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot listen on {host}:{port}: {reason}; try another --port") from None
    return bound


class Announcing(uvicorn.Server):
    """Says where it is once it answers."""

    def __init__(self, config: uvicorn.Config, bound: socket.socket) -> None:
        super().__init__(config)
        self.bound = bound

    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        host, port = self.bound.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print(f"μOmni is at http://{shown}:{port}/ (API: http://{shown}:{port}/v1)", flush=True)
