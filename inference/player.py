"""Playing sound as it comes: through `sounddevice` where it works, else through a program.

A thread feeds the device, so that the next chunk is made while this one sounds. `open_player`
refuses in one line where nothing can play.
"""

from __future__ import annotations

import queue
import shutil
import subprocess
import threading
from contextlib import suppress
from typing import Protocol

import numpy as np

from inference.output import pcm16, wav_header
from models.errors import UserError

STARTUP = 0.5  # seconds in which a program without a sound device gives up
PATIENCE = 10.0  # seconds beyond the sound's own length before a program counts as stuck
NO_DEVICE = (
    "no sound can be played here: there is no sound device, or neither the Python package "
    "sounddevice nor aplay nor ffplay; --audio_out writes a file instead"
)


class Output(Protocol):
    """Where sound goes: float32 (samples,), in order."""

    def write(self, samples: np.ndarray) -> None: ...
    def finish(self) -> None: ...
    def stop(self) -> None: ...


class Device:
    """The default device, by sounddevice."""

    def __init__(self, rate: int) -> None:
        import sounddevice

        self.stream = sounddevice.OutputStream(samplerate=rate, channels=1, dtype="float32")
        self.stream.start()

    def write(self, samples: np.ndarray) -> None:
        self.stream.write(samples[:, None])  # (samples, channels)

    def finish(self) -> None:
        self.stream.stop()  # after what was written has sounded
        self.stream.close()

    def stop(self) -> None:
        self.stream.abort()
        self.stream.close()


class Program:
    """A program that plays what it reads from standard input."""

    def __init__(self, command: list[str], head: bytes, rate: int) -> None:
        self.name, self.rate, self.seconds = command[0], rate, 0.0
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is ours to answer
        )
        self._send(head)

    def _send(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def plays(self) -> bool:
        """Whether it is still there after a moment of silence."""
        try:
            self._send(pcm16(np.zeros(self.rate // 10)).tobytes())
            self.process.wait(STARTUP)
        except subprocess.TimeoutExpired:
            return True
        except OSError:
            pass
        self.stop()
        return False

    def write(self, samples: np.ndarray) -> None:
        self.seconds += len(samples) / self.rate
        self._send(pcm16(samples).tobytes())

    def finish(self) -> None:
        self.process.stdin.close()
        if self.process.wait(self.seconds + PATIENCE):
            raise OSError(f"{self.name} ended with code {self.process.returncode}")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Player:
    """Sound written here is played by a thread; leaving the context waits until it has sounded."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.waiting: queue.Queue[np.ndarray | None] = queue.Queue()
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.thread.start()

    def _play(self) -> None:
        try:
            while (samples := self.waiting.get()) is not None:
                self.output.write(samples)
            self.output.finish()
        except Exception as error:  # of any library; `write` tells it
            self.failure = error

    def write(self, samples: np.ndarray) -> None:
        """Play this after what was written before."""
        self._check()
        self.waiting.put(samples)

    def drop(self) -> None:
        """Forget what has not begun to sound."""
        with suppress(queue.Empty):
            while True:
                self.waiting.get_nowait()

    def _check(self) -> None:
        if self.failure is not None:
            raise UserError(f"the sound could not be played: {self.failure}") from self.failure

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            self.drop()
            self.output.stop()
            return
        self.waiting.put(None)
        self.thread.join()
        if self.failure is not None:
            self.output.stop()
        self._check()


def open_player(rate: int) -> Player:
    """The first way to play that works.

    Raises:
        UserError: there is none.
    """
    try:
        return Player(Device(rate))
    except Exception:  # not installed, no PortAudio, no device: then a program
        pass
    commands = {
        "aplay": (["-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(rate), "-"], b""),
        "ffplay": (["-loglevel", "quiet", "-nodisp", "-autoexit", "-i", "-"], wav_header(rate)),
    }
    for name, (arguments, head) in commands.items():
        if shutil.which(name):
            program = Program([name, *arguments], head, rate)
            if program.plays():
                return Player(program)
    raise UserError(NO_DEVICE)
