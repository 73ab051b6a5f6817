"""Writes to standard output and standard error from a thread of its own while a run goes on.

A reader that is slow (``-v | less``, Ctrl-S) or gone (``| head -1``, a closed terminal) must not hold up the requests,
nor end the run.
"""

import codecs
import errno
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Final, TextIO

MOST_WAITING: Final = 8_000_000
"""Characters that may wait for the reader."""
PATIENCE_S: Final = 2.0
"""A reader that took nothing for so long is not waited for without saying so."""
SPELLED: Final = "logreplay.spelled"
"""Name of the error handler of encodings that writes signs in ASCII where a terminal has no others."""
_SPELLINGS: Final = {
    **{"µ": "u", "–": "-", "→": "->", "…": "...", "×": "x", "·": ".", "±": "+-", "²": "2", "½": "1/2"},
    **{"●": "*", "▲": "^", "╌": "-", "─": "-", "│": "|", "┤": "|", "┴": "+", "└": "+"},
}
_AT_ONCE: Final = 65_536
_LOOK_S: Final = 0.1


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """The signs that an encoding lacks, in ASCII; ``?`` for those without a spelling."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_SPELLINGS.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error(SPELLED, _spelled)


class Outlet:
    """Writes text to one stream, in order, without ever making the caller wait.

    Args:
        stream: standard output or standard error.
        most: characters that may wait; text that does not fit is left out whole.

    Attributes:
        left_out: texts that did not fit.
        failure: why nothing is written any more.
    """

    def __init__(self, stream: TextIO, most: int = MOST_WAITING) -> None:
        self.left_out = 0
        self.failure: OSError | None = None
        self._stream, self._most = stream, most
        self._put = _writer(stream)
        self._waiting: deque[str] = deque()
        self._size = 0
        self._wrote = time.monotonic()
        self._change = threading.Condition()
        self._closed = False
        threading.Thread(target=self._work, name="outlet", daemon=True).start()

    @property
    def idle(self) -> bool:
        """Whether all text has been written."""
        return not self._size

    def write(self, text: str) -> None:
        """Write this soon, or leave it out if too much waits; nobody misses it once the reader has gone."""
        with self._change:
            if self.failure or self._closed:
                return
            if self._size + len(text) > self._most:
                self.left_out += 1
                return
            self._waiting.append(text)
            self._size += len(text)
            self._change.notify_all()

    def drain(self, patience_s: float = PATIENCE_S) -> bool:
        """Wait until all is written, as long as the reader takes something at least this often; whether it did."""
        began = time.monotonic()
        with self._change:
            while self._size:
                if time.monotonic() - max(began, self._wrote) > patience_s:
                    return False
                self._change.wait(_LOOK_S)
        return True

    def close(self) -> None:
        """Take no more text."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _work(self) -> None:
        while (text := self._next()) is not None:
            try:
                for start in range(0, len(text), _AT_ONCE):
                    self._put(text[start : start + _AT_ONCE])
                    self._wrote = time.monotonic()
            except (OSError, ValueError) as error:
                self._give_up(error if isinstance(error, OSError) else OSError(errno.EBADF, str(error)))  # closed
                return
            with self._change:
                self._size -= len(text)
                self._change.notify_all()

    def _next(self) -> str | None:
        """The text that is due; None: no more comes."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._closed)
            return self._waiting.popleft() if self._waiting else None

    def _give_up(self, error: OSError) -> None:
        with suppress(OSError, ValueError):  # no file, as in a notebook
            lead_nowhere(self._stream)
        with self._change:
            self.failure, self._size = error, 0
            self._waiting.clear()
            self._change.notify_all()


def _writer(stream: TextIO) -> Callable[[str], object]:
    """Writes past the stream's own buffer, whose lock would make every other writer wait for the reader, too."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # no file, as in a notebook
        return stream.write

    def write(text: str) -> None:
        rest = memoryview(text.encode(stream.encoding, SPELLED))
        while rest:
            try:
                rest = rest[os.write(number, rest) :]
            except BlockingIOError:  # a process that shares the stream has made it non-blocking
                select.select([], [number], [])

    return write


class UnreadOutput(TextIOWrapper):
    """Standard output of a command whose verdict and files do not depend on a reader: it writes on to nowhere.

    Only for text: a product such as that of ``convert -o -`` is bytes, and to write these without a reader is an error.

    Attributes:
        absent: the caller has closed standard output.
        missed: a result was to be printed all the same, which is an error at the end of the command.
    """

    absent = missed = False

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._unread(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._unread(error)

    def _unread(self, error: OSError) -> None:
        if error.errno not in (errno.EPIPE, errno.EBADF):
            raise error
        lead_nowhere(self)


def lead_nowhere(stream: TextIO) -> None:
    """Lead a standard stream whose reader has gone to nowhere: the interpreter would fail to write the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
