"""A server that is stopped lets go of what it does, and tells those who wait."""

import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

import numpy as np
import soundfile

ROOT = Path(__file__).resolve().parents[2]
COPIES = 600  # of a question of 1.3 s: longer than a server has to end


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_transcription_ends_with_the_server_and_its_client_is_told(stop, tmp_path):
    wave, rate = soundfile.read(ROOT / "examples/question.wav")
    soundfile.write(tmp_path / "long.wav", np.tile(wave, COPIES), rate)
    sound = (tmp_path / "long.wav").read_bytes()
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "serve.py", "--port", "0"]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
        port = int(re.search(r":(\d+)/", server.stdout.readline()).group(1))
        with socket.create_connection(("127.0.0.1", port), 60) as wire:
            body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
            body += sound + b"\r\n--b--\r\n"
            head = "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            head += f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(body)}\r\n\r\n"
            wire.sendall(head.encode() + body)
            time.sleep(1.5)  # it has begun
            server.send_signal(stop)
            reply = b""
            while block := wire.recv(65_536):
                reply += block
        assert server.wait(60) in (0, 130, -signal.SIGTERM)
        log.seek(0)
        assert "Traceback" not in log.read()
    assert b" 503 " in reply and b"the server is stopping" in reply
