"""ThinkingEngine: chains of thought of many requests at once, apart from the loop of answers.

What a request must think about its media waits here; one thread takes what waits together and runs
it as one batch (dynamic batching): a step for eight turns costs little more than for one.
"""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from inference.config import GenerateConfig
from inference.omni import Omni
from inference.prompt import Prompt, UserTurn
from serving.worker import Worker

MOST = 8  # turns of a batch: more would make each of them wait longer


@dataclass(eq=False)
class Thought:
    """A turn that waits."""

    question: UserTurn
    config: GenerateConfig
    room: int  # tokens it may have
    made: Future = field(default_factory=Future)

    @property
    def kind(self) -> tuple:
        """Turns of one kind can be thought about together."""
        return self.config, self.room


class ThinkingEngine(Worker):
    """Makes turns of questions, MOST of one kind at a time, in the order they came."""

    def __init__(self, omni: Omni) -> None:
        self.omni = omni
        self.waiting: deque[Thought] = deque()
        self.busy = False
        super().__init__(think=self._run)

    def turn(self, question: UserTurn, config: GenerateConfig, room: int) -> Prompt:
        """The turn as the model reads it; call from any thread but the event loop's."""
        thought = Thought(question, config, room)
        with self.changed:
            if self.closed:
                raise RuntimeError("the server stops")
            self.waiting.append(thought)
            self.changed.notify()
        return thought.made.result()

    def _run(self) -> None:
        while batch := self._next():
            self.busy = True
            self._think(batch)
            self.busy = bool(self.waiting)
        for thought in self.waiting:
            thought.made.set_exception(RuntimeError("the server stops"))

    def _next(self) -> list[Thought]:
        """Those that are next; none once closed."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed)
            if self.closed:
                return []
            kind = self.waiting[0].kind
            batch = [one for one in self.waiting if one.kind == kind][:MOST]
            for one in batch:
                self.waiting.remove(one)
            return batch

    def _think(self, batch: list[Thought]) -> None:
        """All at once; where that fails one by one, so that an error is one request's alone."""
        config, room = batch[0].kind
        try:
            turns = self.omni.turns([one.question for one in batch], config, room)
        except Exception as error:
            if len(batch) > 1:
                for one in batch:
                    self._think([one])
                return
            batch[0].made.set_exception(error)
            return
        for one, turn in zip(batch, turns, strict=True):
            one.made.set_result(turn)
