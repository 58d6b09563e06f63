"""The conversation in a terminal: reads lines, streams answers, knows a few slash commands.

Everything it can do is in ChatSession and Omni; a bad command or file is one line and the chat
goes on.
"""

import os
import shlex
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from inference.config import GenerateConfig
from inference.media import check_file
from inference.notice import notices_after
from inference.omni import Omni
from inference.output import AUDIO_FORMATS, check_apart, check_audio_path, write_audio, write_text
from inference.session import CHANGEABLE
from inference.timing import statistics
from models.errors import UserError, in_one_line, tell

HELP = """\
/image PATH   show a picture with the next message     /audio PATH  let it hear a recording
/video PATH   show a clip                              (paths as a shell reads them: ~, quotes, \\ )
/say TEXT     speak this text (without TEXT: the last answer); /save writes it
/voice NAME   the voice to speak with                  /save FILE   .txt: the chat; .wav, .mp3, …: speech
/stats        how full the context is                  /stats on    and the time of each answer
/trace FILE   a page (.html) that shows the inside of the last answer
/set          lists all settings; /set temperature 0.7 changes one, off unsets it
/set video_sound off   do not hear the videos          /set vad off  transcribe sounds without speech
/think off    answer directly, without a chain of thought (on: again; show, hide: whether to print it)
/reset        forget the conversation                  ↑ ↓          what was typed before
/help         this list                                /quit        leave (also exit, quit, q)
An empty line sends waiting pictures and recordings without words."""
MEDIA = {"image": "picture", "audio": "recording", "video": "clip"}
SWITCHES = ("think", "vad", "video_sound")  # settings that are on or off
LEAVE = {"exit", "quit", "q", "/quit", "/exit", "/q"}


class Repl:
    """One conversation at the terminal."""

    def __init__(
        self, omni: Omni, system_prompt: str | None, speech: dict, quiet: bool, sinks,
        show_thinking: bool = False, **settings,
    ):
        self.omni = omni
        self.session = omni.session(system_prompt, **settings)
        self.speech = speech  # voice, speed, vocoder, seed for speaking
        self.quiet = quiet
        self.sinks = list(sinks)  # where answers and /say are spoken to at once, if anywhere
        self.show_thinking = show_thinking
        self.timed = False  # whether an answer's timing follows it
        self.waiting: dict[str, list[str]] = {kind: [] for kind in MEDIA}  # for the next message
        self.shown: list[str] = []  # every file of this chat: /save overwrites none
        self.spoken = None  # (samples, rate) of the latest /say
        self.commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: print(HELP),
            "/reset": self.reset,
            "/stats": self.stats,
            "/set": self.set,
            "/think": self.think,
            **{f"/{kind}": partial(self.show, kind) for kind in MEDIA},
            "/say": self.say,
            "/voice": self.voice,
            "/save": self.save,
            "/trace": self.trace,
        }

    def run(self) -> None:
        """Read and answer until the user leaves: by a word, end of input, or Ctrl-C where one types."""
        read = line_reader()
        if not self.quiet:
            print("Talk to μOmni; /help lists the commands, exit leaves.")
        while True:
            try:
                line = read("" if self.quiet else "You: ").strip()
            except (EOFError, KeyboardInterrupt):
                if not self.quiet:
                    print()
                return
            if line.lower() in LEAVE:
                return
            try:
                self.handle(line)
            except KeyboardInterrupt:  # while media are read, or /say speaks: the chat goes on
                for sink in self.sinks:
                    sink.drop()
                print(flush=True)
            except Exception as error:  # what the user can do something about; else it is a bug
                told = in_one_line(error)
                if told is None:
                    raise
                tell(told)

    def handle(self, line: str) -> None:
        """One line: a command, or a message with whatever media wait for it."""
        if line.startswith("/"):
            name, rest = [*line.split(None, 1), ""][:2]
            if name.lower() not in self.commands:
                if os.path.exists(read_paths(line)[0]):  # dropped into the terminal
                    raise UserError(f"write /image, /audio or /video before {line}")
                raise UserError(f"{name} is not a command; /help lists them")
            self.commands[name.lower()](rest.strip())
        elif line or any(self.waiting.values()):
            self.answer(line)

    def answer(self, line: str) -> None:
        """Stream the answer, aloud too where asked; Ctrl-C stops it and the chat goes on."""
        media, self.waiting = self.waiting, {kind: [] for kind in MEDIA}
        try:
            pieces = self.session.stream(line, **media)
        except UserError as error:
            if sum(map(len, media.values())) < 2:
                raise
            raise UserError(f"{error}; no file waits any more: show the good ones again") from None
        self.spoken = None
        with notices_after():
            try:
                if self.show_thinking and self.session.thinking:
                    print(f"<think>\n{self.session.thinking}\n</think>")
                print("" if self.quiet else "μOmni: ", end="", flush=True)
                if self.sinks:
                    self.sound(self.omni.speak_stream(self.printed(pieces), **self.speech))
                else:
                    deque(self.printed(pieces), maxlen=0)
            except KeyboardInterrupt:
                pieces.close()
                for sink in self.sinks:
                    sink.drop()
            finally:
                print(flush=True)
        if self.timed and not self.quiet:
            print(statistics(self.session.generator), flush=True)

    def stats(self, switch: str) -> None:
        if switch.lower() not in ("", "on", "off"):
            raise UserError(f"/stats takes on or off, not {switch}")
        if switch:
            self.timed = switch.lower() == "on"
        print(self.session.level())

    def set(self, words: str) -> None:
        name, _, value = words.partition(" ")
        name = name.lower()
        if not name:
            for known in sorted(CHANGEABLE):
                print(f"{known} {shown_setting(getattr(self.session.config, known))}", flush=True)
            return
        self.session.set(**{name: parse_setting(name, value.strip())})
        self.say_done(f"{name} is {shown_setting(getattr(self.session.config, name))} from now on")

    def think(self, switch: str) -> None:
        if switch.lower() in ("on", "off"):
            self.session.set(think=switch.lower() == "on")
        elif switch.lower() in ("show", "hide"):
            self.show_thinking = switch.lower() == "show"
        else:
            raise UserError(f"/think takes on, off, show or hide, not {switch!r}")
        self.say_done(f"thinking is {'on' if self.session.config.think else 'off'}, "
                      f"{'shown' if self.show_thinking else 'hidden'}")

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
        self.waiting, self.spoken = {kind: [] for kind in MEDIA}, None
        self.say_done("the conversation is forgotten")

    def show(self, kind: str, typed: str) -> None:
        """Keep files for the next message."""
        self.omni.need_omni("hearing" if kind == "audio" else "seeing")
        paths = [str(check_file(path, kind)) for path in read_paths(typed) or [""]]
        self.waiting[kind] += paths
        self.shown += paths
        one = f"the {MEDIA[kind]} goes" if len(paths) == 1 else f"the {len(paths)} {MEDIA[kind]}s go"
        self.say_done(f"{one} with your next message")

    def say(self, text: str) -> None:
        self.spoken = samples, rate = self.omni.speak(text or self.last_answer(), **self.speech)
        self.sound([samples])
        self.say_done(f"{len(samples) / rate:.1f} s of speech; /save FILE.wav writes it")

    def voice(self, name: str) -> None:
        if not name:
            raise UserError("/voice needs a name")
        self.omni.check_speech(voice=name)
        self.speech = self.speech | {"voice": name}
        self.say_done(f"{name} speaks from now on")
        self.spoken = None

    def save(self, typed: str) -> None:
        path = " ".join(read_paths(typed))  # a blank belongs to the name
        check_apart(path, self.shown)
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

    def trace(self, typed: str) -> None:
        from inference.tracepage import write_page

        path = " ".join(read_paths(typed))
        if not path:
            raise UserError("/trace needs a name ending in .html")
        write_page(path, self.session, self.speech if self.sinks else None)
        self.say_done(f"wrote {path}: open it in a browser")

    def last_answer(self) -> str:
        if not self.session.messages:
            raise UserError("there is no answer yet: ask something first, or /say some text")
        return self.session.messages[-1]["content"]

    def say_done(self, what: str) -> None:
        if not self.quiet:
            print(f"({what})", flush=True)


def read_paths(typed: str) -> list[str]:
    """File names as a shell would read them, or as a terminal drops them.

    A name that exists as typed is taken as it is; else quotes, backslashes, ~ and file:// count.
    """
    typed = typed.strip()
    if not typed or os.path.exists(typed):
        return [typed] if typed else []
    try:
        words = shlex.split(typed)
    except ValueError:  # a quote that never ends: an apostrophe in a name
        words = [typed]
    paths = [path_of(word) for word in words]
    whole = path_of(typed)
    return [whole] if len(paths) > 1 and os.path.exists(whole) else paths


def path_of(word: str) -> str:
    """One name with its ~ or file:// read."""
    if word.startswith("file://"):
        return unquote(word.removeprefix("file://").removeprefix("localhost"))
    try:
        return str(Path(word).expanduser()) if word.startswith("~") else word
    except RuntimeError:  # no such user, or no home
        return word


def line_reader() -> Callable[[str], str]:
    """`input` with history and editing, where a person is typing.

    History stays in memory: what somebody says to a chat is nobody else's to find on the disk.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return input
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory

    return PromptSession(auto_suggest=AutoSuggestFromHistory()).prompt


def shown_setting(value) -> str:
    """A setting's value as `/set` takes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(value) or "off"
    return "off" if value is None else str(value)


def parse_setting(name: str, value: str) -> bool | int | float | tuple[str, ...] | None:
    """A typed value in the type its setting has; `off` is False of a switch, else the default."""
    if name in SWITCHES:
        if value.lower() not in ("on", "off"):
            raise UserError(f"/set {name} needs on or off, not {value!r}")
        return value.lower() == "on"
    if name == "stop_strings" or name not in CHANGEABLE:  # the session tells what there is
        return () if value == "off" else (value,)
    if value.lower() == "off":
        return getattr(GenerateConfig(), name)
    try:
        return int(value) if name in ("max_new_tokens", "top_k", "seed") else float(value)
    except ValueError:
        raise UserError(f"/set {name} needs a number, not {value!r}") from None
