"""The server's side of one WebSocket (RFC 6455): text frames, enough for the page's tests."""

import base64
import hashlib
import struct
import threading
from http.server import BaseHTTPRequestHandler

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class WebSocket:
    """Upgrades an HTTP request; `receive` gives whole messages, None at the end."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.read, self.write = handler.rfile.read, handler.wfile.write
        self.lock = threading.Lock()
        key = handler.headers["Sec-WebSocket-Key"] + GUID
        handler.send_response(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        digest = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        handler.send_header("Sec-WebSocket-Accept", digest)
        handler.send_header("Sec-WebSocket-Protocol", "realtime")
        handler.end_headers()
        handler.wfile.flush()

    def receive(self) -> str | None:
        message = b""
        while True:
            head = self.read(2)
            if len(head) < 2:
                return None
            kind, data = head[0] & 0x0F, self._payload(head[1])
            if kind == CLOSE:
                return None
            if kind == PING:
                self._send(PONG, data)
            elif kind != PONG:
                message += data
                if head[0] & 0x80:
                    return message.decode()

    def _payload(self, second: int) -> bytes:
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", self.read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.read(8))
        mask = self.read(4)
        data = self.read(length)
        repeated = (mask * (length // 4 + 1))[:length]
        number = int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")
        return number.to_bytes(length, "big")

    def send(self, text: str) -> None:
        self._send(TEXT, text.encode())

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 0x80 | kind, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 0x80 | kind, 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | kind, 127, size)
        with self.lock:
            self.write(head + data)
