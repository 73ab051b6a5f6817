"""Starts Python programs of this package as child processes, and connects them with this one.

A child runs no file of the current folder (``python -P``), needs no ``if __name__ == "__main__"`` in the program that
calls the library, and notices by its end of the connection when this process has ended, also by ``kill -9``.
"""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run in good order."""
_STDIN: Final = 0


def start_python(*arguments: object, stdin: int, stdout: int, in_group: bool = False) -> "subprocess.Popen[bytes]":
    """Start Python in a process that the signals which end this one do not reach.

    Args:
        arguments: arguments of Python, such as ``-m`` and a module.
        stdin, stdout: as `subprocess.Popen` takes them.
        in_group: it stays in the group of this process, so that Ctrl-Z and ``fg`` are for both; it is deaf to the
            signals of `ENDING`.
    """
    command = [sys.executable, "-P", *map(str, arguments)]
    if not in_group:
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, start_new_session=True)
    with deaf_to_group():
        return subprocess.Popen(command, stdin=stdin, stdout=stdout)


def start_child(module: str, *, in_group: bool = False) -> "tuple[subprocess.Popen[bytes], Connection[Any, Any]]":
    """Start a module that talks by `connection_to_parent`; return its process, and this end of the connection."""
    own, peer = Pipe()
    with peer:
        process = start_python("-m", module, stdin=peer.fileno(), stdout=subprocess.DEVNULL, in_group=in_group)
    with suppress(OSError):  # it has ended already; whoever reads will notice
        own.send([folder for folder in sys.path if os.path.isabs(folder)])  # not the current one
    return process, own


def connection_to_parent() -> "Connection[Any, Any]":
    """In a child: its end of the connection, which its own children do not inherit.

    What the parent can import, the child can import from now on.
    """
    connection: Connection[Any, Any] = Connection(os.dup(_STDIN))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), _STDIN)
    with suppress(EOFError, OSError):  # the parent has ended; whoever reads will notice
        sys.path += [folder for folder in connection.recv() if folder not in sys.path]  # behind those of this package
    return connection


def end_with_parent(connection: "Connection[Any, Any]") -> None:
    """In a child: end at once when the process that started it has ended, whatever this one does."""

    def wait() -> None:
        hung_up = select.poll()
        hung_up.register(connection, 0)
        hung_up.poll()
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()


@contextmanager
def deaf_to_group() -> Iterator[None]:
    """Let processes that the block starts ignore the signals that end this one, which ends them in good order.

    Ctrl-C, a closed terminal, ``timeout`` and systemd send a signal to all processes of the group. A process inherits
    the mask of the thread that starts it; a handler in it would come too late for a signal during its start.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
