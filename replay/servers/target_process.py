"""The target of known capacity in a process of its own, of which this module is the main program, too."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from logreplay.core.errors import LogreplayError
from logreplay.core.files import Closing
from logreplay.core.plural import number_of
from logreplay.core.rows import left_out
from logreplay.replay.child_process import connection_to_parent, start_child
from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity, serving


class Server(Closing):
    """A target that runs until `close`, until the end of a ``with`` block, or until this process ends, however it does.

    Args:
        log: a normalized CSV; read by the time the server has started.
        capacity: capacity of the target.
        port: to listen on; 0: a free one.
        notes: sentences on how the log was read.

    Attributes:
        url: url of the target.
        capacity: capacity of the target.
        notes: sentences on how the log was read.

    Raises:
        LogreplayError: it cannot listen there, or cannot read the log.
    """

    url: str

    def __init__(self, log: Path, capacity: ServerCapacity, port: int = 0, notes: tuple[str, ...] = ()) -> None:
        self.capacity = capacity
        self._process, self._connection = start_child("logreplay.replay.servers.target_process")
        try:
            self._connection.send((log, capacity, port))
            answer: tuple[str, Counter[str], int] | LogreplayError = self._connection.recv()
            if isinstance(answer, LogreplayError):
                raise answer
        except (EOFError, OSError):
            self.close()
            raise LogreplayError(f"the built-in target did not start; to see why, run: logreplay serve {log}") from None
        except BaseException:
            self.close()
            raise
        self.url, refused, varied = answer
        self.notes = (*notes, *([f"warning: {log}: {left_out(refused)}"] if refused else []))
        if varied:
            have = number_of(varied, "request has", "requests have")
            self.notes += (f"{have} several answers in the log, given in turn to whoever asks",)

    def wait(self) -> None:
        """Wait until somebody ends the process.

        Raises:
            LogreplayError: this process did not.
        """
        if self._process.wait() and not self._connection.closed:
            raise LogreplayError("the server was killed, or crashed; start it again")

    def close(self) -> None:
        """End the server; once more does nothing."""
        self._process.kill()  # not terminate: one that was stopped (SIGSTOP) would be waited for
        self._process.wait()
        self._connection.close()

    def __del__(self) -> None:
        with suppress(Exception):  # the interpreter ends, or it did not start
            self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}: {self.capacity}>"


@contextmanager
def spawned(log: Path, capacity: ServerCapacity) -> Iterator[str]:
    """Run a target while the block runs; the value is its URL."""
    with Server(log, capacity) as server:
        yield server.url


async def _serve(parent: "Connection[Any, Any]", log: Path, capacity: ServerCapacity, port: int) -> None:
    """In the process: serve until the parent ends."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(parent.fileno(), ended.set)
    answers = LoggedAnswers.of_log(log)
    async with serving(answers, capacity, port=port) as url:
        parent.send((url, answers.refused, answers.varied))
        await ended.wait()


if __name__ == "__main__":
    with suppress(EOFError, ConnectionError):  # the parent has ended
        parent = connection_to_parent()
        try:
            asyncio.run(_serve(parent, *parent.recv()))
        except LogreplayError as error:
            parent.send(error)
