"""The log of the logins of a run, which grows during the run as the result log does."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.files import not_through_a_link, writing
from logreplay.core.masking import masked
from logreplay.core.record import to_csv
from logreplay.replay.sessions.client_sessions import LoginRow

_COLUMNS: Final = {
    **dict.fromkeys(("target", "date", "time", "client", "op", "url"), pl.String),
    "rc": pl.Int64,
    "error": pl.String,
    "seconds": pl.Float64,
}
_EVERY_S: Final = 0.5


class LoginLog:
    """Appends logins to a CSV, the secrets of their URLs masked; it is created with the first.

    Args:
        path: path of the file; existing rows stay.
        several: they go to several targets: the first column names them.
    """

    def __init__(self, path: Path, *, several: bool = False) -> None:
        self._path, self._several = path, several
        self._lock = threading.Lock()

    @asynccontextmanager
    async def following(self, logins: Callable[[], list[LoginRow]]) -> AsyncIterator[None]:
        """Write the logins that are not written yet, twice a second and at the end of the block."""
        writing = asyncio.create_task(self._follow(logins))
        try:
            yield
        except BaseException:
            with suppress(LogreplayError):  # what ended the block says more
                self.write(logins())
            raise
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        self.write(logins())

    async def _follow(self, logins: Callable[[], list[LoginRow]]) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            if logins():
                await asyncio.to_thread(self.write, logins())

    def write(self, rows: list[LoginRow]) -> None:
        """Append logins, and take them out of the list when they are written; another thread may be adding to it."""
        with self._lock:
            if new := rows[:]:
                with writing(self._path):
                    self._append(new)
                del rows[: len(new)]

    def _append(self, rows: Sequence[LoginRow]) -> None:
        table = [
            (
                *(row.target, *_start(row), row.client, row.op, masked(row.url), row.rc, row.error or None),
                round(row.seconds, 6),
            )
            for row in rows
        ]
        frame = pl.DataFrame(table, _COLUMNS, orient="row")
        frame = frame if self._several else frame.drop("target")
        with open(self._path, "ab", buffering=0, opener=not_through_a_link) as file:
            before = file.tell()
            rest = memoryview(to_csv(frame, header=not before))
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(before)
                raise


def _start(row: LoginRow) -> tuple[str, str]:
    began = datetime.fromtimestamp(row.ended - row.seconds, UTC)
    return f"{began:%Y-%m-%d}", f"{began:%H:%M:%S.%f}"
