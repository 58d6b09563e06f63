"""The conversation in a terminal: reads lines, streams answers, knows a few slash commands.

Everything it can do is in ChatSession and Omni; a bad command or file is one line and the chat
goes on.
"""

import sys
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from inference.media import check_file
from inference.omni import Omni
from inference.output import AUDIO_FORMATS, check_audio_path, write_audio, write_text
from models.errors import UserError

HELP = """\
/image PATH   show a picture with the next message     /audio PATH  let it hear a recording
/say TEXT     speak this text (without TEXT: the last answer); /save writes it
/voice NAME   the voice to speak with                  /save FILE   .wav: speech, .txt: the chat
/stats        how full the context is                  /reset       forget the conversation
/help         this list                                /quit        leave (also exit, quit, q)
An empty line sends waiting pictures and recordings without words."""
LEAVE = {"exit", "quit", "q", "/quit", "/exit", "/q"}


class Repl:
    """One conversation at the terminal."""

    def __init__(
        self, omni: Omni, system_prompt: str | None, speech: dict, quiet: bool, sinks, **settings
    ):
        self.omni = omni
        self.session = omni.session(system_prompt, **settings)
        self.speech = speech  # voice, speed, vocoder, seed for speaking
        self.quiet = quiet
        self.sinks = list(sinks)  # where answers and /say are spoken to at once, if anywhere
        self.images: list[str] = []
        self.sounds: list[str] = []
        self.spoken = None  # (samples, rate) of the latest /say
        self.commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: print(HELP),
            "/reset": self.reset,
            "/stats": lambda _: print(self.session.level()),
            "/image": self.image,
            "/audio": self.audio,
            "/say": self.say,
            "/voice": self.voice,
            "/save": self.save,
        }

    def run(self) -> None:
        """Read and answer until the user leaves, by a word, end of input or Ctrl-C."""
        try:
            import readline  # noqa: F401  (line editing and history in input())
        except ImportError:
            pass  # Windows has none: input() still reads
        if not self.quiet:
            print("Talk to μOmni; /help lists the commands, exit leaves.")
        while True:
            try:
                line = input("" if self.quiet else "You: ").strip()
            except (EOFError, KeyboardInterrupt):
                if not self.quiet:
                    print()
                return
            if line.lower() in LEAVE:
                return
            try:
                self.handle(line)
            except UserError as error:
                print(f"error: {error}", file=sys.stderr, flush=True)

    def handle(self, line: str) -> None:
        """One line: a command, or a message with whatever media wait for it."""
        if line.startswith("/"):
            name, _, rest = line.partition(" ")
            if name not in self.commands:
                raise UserError(f"{name} is not a command; /help lists them")
            self.commands[name](rest.strip())
        elif line or self.images or self.sounds:
            self.answer(line)

    def answer(self, line: str) -> None:
        """Stream the answer, aloud too where asked; Ctrl-C stops it and the chat goes on."""
        images, sounds = self.images, self.sounds
        self.images, self.sounds = [], []
        pieces = self.session.stream(line, image=images, audio=sounds)
        self.spoken = None
        try:
            print("" if self.quiet else "μOmni: ", end="", flush=True)
            if self.sinks:
                self.sound(self.omni.speak_stream(self.printed(pieces), **self.speech))
            else:
                for _ in self.printed(pieces):
                    pass
        except KeyboardInterrupt:
            pieces.close()
            for sink in self.sinks:
                sink.drop()
        finally:
            print(flush=True)

    def printed(self, pieces: Iterable[str]) -> Iterator[str]:
        for piece in pieces:
            print(piece, end="", flush=True)
            yield piece

    def sound(self, chunks: Iterable[np.ndarray]) -> None:
        for chunk in chunks:
            for sink in self.sinks:
                sink.write(chunk)

    def reset(self, _: str) -> None:
        self.session.reset()
        self.images, self.sounds, self.spoken = [], [], None
        self.say_done("the conversation is forgotten")

    def image(self, path: str) -> None:
        self.omni.need_omni("seeing")
        self.images.append(str(check_file(path, "image")))
        self.say_done("the picture goes with your next message")

    def audio(self, path: str) -> None:
        self.omni.need_omni("hearing")
        self.sounds.append(str(check_file(path, "audio")))
        self.say_done("the recording goes with your next message")

    def say(self, text: str) -> None:
        self.spoken = self.omni.speak(text or self.last_answer(), **self.speech)
        samples, rate = self.spoken
        self.sound([samples])
        self.say_done(f"{len(samples) / rate:.1f} s of speech; /save FILE.wav writes it")

    def voice(self, name: str) -> None:
        if not name:
            raise UserError("/voice needs a name")
        self.omni.check_speech(name)
        self.speech = self.speech | {"voice": name}
        self.spoken = None

    def save(self, path: str) -> None:
        if path.lower().endswith(".txt"):
            names = {"user": "You", "assistant": "μOmni"}
            said = [f"{names[m['role']]}: {m['content']}\n" for m in self.session.messages]
            write_text(path, "".join(said))
        elif path.lower().endswith(tuple(AUDIO_FORMATS)):
            check_audio_path(path)
            if self.spoken is None:
                self.spoken = self.omni.speak(self.last_answer(), **self.speech)
            write_audio(path, *self.spoken)
        else:
            raise UserError(f"/save needs a name ending in .txt, {', '.join(AUDIO_FORMATS)}")
        self.say_done(f"wrote {path}")

    def last_answer(self) -> str:
        if not self.session.messages:
            raise UserError("there is no answer yet: ask something first, or /say some text")
        return self.session.messages[-1]["content"]

    def say_done(self, what: str) -> None:
        if not self.quiet:
            print(f"({what})", flush=True)
