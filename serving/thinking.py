"""ThinkingEngine: what must be thought about media before an answer (inference/thinking.py).

Images are thought about in the decode loop, as an answer is, whose cache then holds the beginning of
the answer's prompt. Sounds want a beam search: what waits for one is taken together by a thread of
its own (dynamic batching).
"""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Lock

from inference.config import GenerateConfig
from inference.generation import encode_media
from inference.omni import Omni
from inference.prompt import Prompt, UserTurn
from inference.thinking import begun, hear, line_config
from serving.engine import End, Job, Token
from serving.streaming import Check, Gone, wanted
from serving.worker import Worker

MOST = 8  # turns of a batch: more would make each of them wait longer


@dataclass(eq=False)
class Heard:
    """A turn that waits for the transcripts of its sounds."""

    prompt: Prompt
    config: GenerateConfig
    check: Check
    made: Future = field(default_factory=Future)


class ThinkingEngine(Worker):
    """Turns of questions with their thinking.

    Args:
        engine: the decode loop.
    """

    def __init__(self, omni: Omni, engine) -> None:
        self.omni, self.engine = omni, engine
        self.waiting: deque[Heard] = deque()
        self.encoding = Lock()  # two encoders at once take longer than one after the other
        super().__init__(hear=self._run)

    def turn(
        self, question: UserTurn, config: GenerateConfig, room: int, check: Check = wanted
    ) -> Prompt:
        """The turn as the model reads it; call from a thread that may wait.

        Args:
            check: raises Gone once nobody waits for the turn any more.
        """
        prompt = self.omni.phrase(question, room)
        thinking = begun(self.omni.tokenizer, [prompt], room) if config.think else {}
        if not thinking:
            return prompt
        one = self._heard(thinking[0], config, check) if prompt.sounds else thinking[0]
        return self._seen(one, config) if prompt.images else one

    def _heard(self, prompt: Prompt, config: GenerateConfig, check: Check) -> Prompt:
        """With the transcripts of its sounds."""
        waits = Heard(prompt, config, check)
        with self.changed:
            if self.closed:
                raise RuntimeError("the server stops")
            self.waiting.append(waits)
            self.changed.notify()
        return waits.made.result()

    def _seen(self, prompt: Prompt, config: GenerateConfig) -> Prompt:
        """With what its images show."""
        with self.encoding:
            encode_media(self.omni.model, prompt.images, [])
        end, reply, made = self.omni.tokenizer.think_end, [], Future()

        def deliver(event: Token | End) -> None:
            if isinstance(event, Token):
                reply.append(event.id)
            elif event.error is not None:
                made.set_exception(event.error)
            else:
                made.set_result(None)

        whole = self.omni.head(None, config) + prompt
        self.engine.submit(Job(whole, line_config(self.omni, config, end), deliver, thinks=True))
        made.result()
        return replace(prompt, ids=[*prompt.ids, *reply, end])

    def _run(self) -> None:
        while batch := self._next():
            if wanted := [one for one in batch if self._wanted(one)]:
                self._hear(wanted)
        for one in self.waiting:
            one.made.set_exception(RuntimeError("the server stops"))

    def _next(self) -> list[Heard]:
        """Those that are next; none once closed."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed)
            if self.closed:
                return []
            config = self.waiting[0].config
            batch = [one for one in self.waiting if one.config == config][:MOST]
            for one in batch:
                self.waiting.remove(one)
            return batch

    def _wanted(self, one: Heard) -> bool:
        """Whether its client still waits; else it ends here."""
        try:
            one.check()
        except Gone as error:
            one.made.set_exception(error)
            return False
        return True

    def _hear(self, batch: list[Heard]) -> None:
        """All at once; where that fails one by one, so that an error is one request's alone."""
        try:
            heard = hear(self.omni, {i: one.prompt for i, one in enumerate(batch)}, batch[0].config)
        except Exception as error:
            if len(batch) > 1:
                for one in batch:
                    self._hear([one])
                return
            batch[0].made.set_exception(error)
            return
        for i, one in enumerate(batch):
            one.made.set_result(heard[i])
