"""Worker: the threads of one engine, begun together and stopped together."""

import threading
from collections.abc import Callable


class Worker:
    """What waits in `changed` for work, until `closed`.

    Args:
        loops: by the thread's name, what it runs until the worker is closed.
    """

    def __init__(self, **loops: Callable[[], None]) -> None:
        self.closed = False
        self.changed = threading.Condition()
        self.threads = [
            threading.Thread(target=loop, name=name, daemon=True) for name, loop in loops.items()
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def close(self) -> None:
        """Stop after the present step; what is unfinished ends with an error."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        for thread in self.threads:
            thread.join()
