"""ChatSession: a conversation that remembers, at the cost of its new tokens only.

The KV cache lives across turns. When the context is full the oldest turns are dropped with a
notice, what is kept is read again, and the chat goes on. Commands and printing are the REPL's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from inference.config import GenerateConfig
from inference.notice import notice
from inference.prompt import Prompt, UserTurn
from inference.thinking import thoughts_of
from inference.timing import cache_block
from models.errors import UserError
from models.omni import NO_SPEECH

FORGOTTEN = 4  # a full context loses a quarter, one in so many parts
CHANGEABLE = {  # between turns; the others shape the cache
    *("max_new_tokens", "think", "temperature", "num_beams", "ctc_weight", "top_k", "top_p", "min_p"),
    *("repetition_penalty", "seed", "stop_strings", "vad", "video_sound"),
}


@dataclass
class Turn:
    """One question as the model reads it, and the ids of its answer."""

    prompt: Prompt
    reply: list[int] = field(default_factory=list)


class ChatSession:
    """A conversation with one `Omni`; `messages` is what was said, for display."""

    def __init__(self, omni, system_prompt: str | None = None, **settings) -> None:
        self.omni = omni
        self.system_prompt = system_prompt
        self.config: GenerateConfig = omni.config(**settings)
        self.head = omni.head(system_prompt, self.config)
        self.generator = omni.generator(self.config)
        self.turns: list[Turn] = []
        self.messages: list[dict[str, str]] = []
        self.thinking = ""  # the chain of thought before the latest answer

    @property
    def closing(self) -> list[int]:
        """What ends an answer, before the next turn."""
        return [self.config.eos_token_id, *self.omni.tokenizer.turn_end]

    @property
    def last_prefill(self) -> int:
        """Tokens the latest turn had to read before its first new one."""
        return self.generator.timing.prompt_tokens

    def ask(self, text: str | None = None, **media) -> str:
        """The whole answer; arguments as for `stream`."""
        return "".join(self.stream(text, **media))

    def stream(self, text: str | None = None, *, image=None, audio=None, video=None):
        """Ask, with any media, and return the answer's pieces as they are generated.

        Pieces taken are remembered even when the caller stops half way.
        """
        question = self.omni.take(text, image, audio, video, self.config)
        return self.answer(question, text or "")

    def answer(self, question: UserTurn, text: str) -> Iterator[str]:
        """The same for what is loaded already; `text` is what `messages` shows as the user's."""
        self.thinking = ""
        if question.silent:  # there is nothing to read: the conversation goes on as if it had not been
            self.messages.append({"role": "user", "content": text})
            self.messages.append({"role": "assistant", "content": NO_SPEECH})
            return (text for text in [NO_SPEECH])  # it can be closed, as every answer
        room = self.omni.room(self.config) - len(self.head)
        turn = Turn(self.omni.turns([question], self.config, room)[0])
        if question.images or question.sounds:
            self.thinking = thoughts_of(self.omni.tokenizer, turn.prompt.ids)
        return self._stream(turn, text)

    def _stream(self, turn: Turn, text: str) -> Iterator[str]:
        config = self.config  # /set may change it before the next turn
        tokens = self.generator.stream(self._context(turn), config)
        self.turns.append(turn)
        self.messages.append({"role": "user", "content": text})
        answer = {"role": "assistant", "content": ""}
        self.messages.append(answer)
        try:
            for piece in self.omni.text(self._remember(tokens, turn), config):
                answer["content"] += piece
                yield piece
        except (Exception, KeyboardInterrupt):
            self.generator.reset()  # stopped inside a step: the next turn reads everything again
            raise

    def _remember(self, tokens: Iterator[int], turn: Turn) -> Iterator[int]:
        for token in tokens:
            turn.reply.append(token)
            yield token

    def _context(self, turn: Turn) -> Prompt:
        """What the model has yet to read so that it can answer this turn."""
        end = Prompt(self.closing)
        needed = self.generator.position + len(end + turn.prompt)
        if self.generator.ids and needed <= self.omni.room(self.config):
            return end + turn.prompt  # the last answer's eos was chosen or is due, but never read
        dropped = self._drop_oldest(turn)
        self.generator.reset()
        if dropped:
            notice(f"the context is full: {dropped} oldest turn(s) of this chat are forgotten")
        return self.history() + turn.prompt

    def history(self) -> Prompt:
        """All that was said and is not forgotten, each answer closed by its eos."""
        history = self.head
        for turn in self.turns:
            closed = Prompt(turn.reply + self.closing)
            history = history + turn.prompt + closed
        return history

    def _drop_oldest(self, turn: Turn) -> int:
        """Forget turns where the new one does not fit, a quarter of the context at once; how many.

        Later turns then fit again, so that the cache serves them.
        """
        room = self.omni.room(self.config) - len(self.head) - len(turn.prompt)
        sizes = [len(old.prompt) + len(old.reply) + len(self.closing) for old in self.turns]
        if sum(sizes) <= room:
            return 0
        room = max(room - self.omni.room(self.config) // FORGOTTEN, 0)
        dropped = 0
        while sum(sizes[dropped:]) > room:
            dropped += 1
        del self.turns[:dropped]
        return dropped

    def level(self) -> str:
        """How full the context is."""
        return cache_block(self.generator.position, self.generator.capacity)

    def set(self, **settings) -> None:
        """Change how the following turns are answered; nothing is read again."""
        if unknown := settings.keys() - CHANGEABLE:
            raise UserError(
                f"cannot set {', '.join(sorted(unknown))}: there are {', '.join(sorted(CHANGEABLE))}"
            )
        self.config = replace(self.config, **settings)

    def reset(self) -> None:
        """Forget the conversation; the system prompt stays."""
        self.generator.reset()
        self.turns.clear()
        self.messages.clear()
