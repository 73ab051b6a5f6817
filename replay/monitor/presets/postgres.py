"""Reads a PostgreSQL server by ``psql``: connections, active sessions, sessions that wait for locks.

One session stays open: when all connections of the server are taken, a new one would be refused, and the readings
that matter would be lost. Source: https://www.postgresql.org/docs/current/monitoring-stats.html.
"""

import asyncio
import os
import re
import shutil
import signal
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import unquote

from logreplay.replay.monitor.presets.figures import Figure, Source

if TYPE_CHECKING:
    from aiohttp import ClientSession

_QUERY: Final = b"""SELECT 'figures',
 count(*) FILTER (WHERE backend_type = 'client backend' OR query = '<insufficient privilege>' AND datname IS NOT NULL),
 count(*) FILTER (WHERE backend_type = 'client backend' AND state = 'active'),
 count(*) FILTER (WHERE wait_event_type = 'Lock'),
 count(*) FILTER (WHERE query = '<insufficient privilege>' AND datname IS NOT NULL),
 current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
 - coalesce(nullif(current_setting('reserved_connections', true), '')::int, 0) - 1
 FROM pg_stat_activity WHERE pid <> pg_backend_pid();
"""
_HIDDEN: Final = "other users' sessions are hidden: GRANT pg_monitor to the user that watches"
_URL: Final = re.compile(r"postgres(?:ql)?://")
_IN_URL: Final = re.compile(r"(?<=://)([^/?#@:]*):([^/?#]*)(?=@)")
_IN_WORDS: Final = re.compile(r"(?<!\w)password\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))")


class Postgres(Source):
    """The figures of a server.

    Args:
        text: connection string of libpq, such as ``postgresql://127.0.0.1/shop`` or ``service=shop``.
    """

    figures: ClassVar[tuple[str, ...]] = ("connections", "active", "lock_waits")

    def __init__(self, text: str) -> None:
        if not (_URL.match(text) or re.match(r"\w+\s*=", text)):
            raise ValueError("postgres:…: expected a connection string, such as postgres:service=shop or "
                             "postgres:postgresql://127.0.0.1/shop")  # fmt: skip
        if not (program := shutil.which("psql")):
            raise ValueError("postgres:…: psql is not installed; install the client of PostgreSQL, or watch a command")
        self._program = program
        self._where, self._password = without_password(text)
        self._psql: Process | None = None

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        if self._psql is None:
            self._psql = await self._opened()
        try:
            connections, active, waits, hidden, most = await _answer(self._psql)
        except BaseException:
            await self.close()
            raise
        known = Figure(None, problem=_HIDDEN) if hidden else None
        return {
            "connections": Figure(connections, most),
            "active": known or Figure(active),
            "lock_waits": known or Figure(waits),
        }

    async def close(self) -> None:
        """End psql."""
        psql, self._psql = self._psql, None
        if psql:
            with suppress(ProcessLookupError):
                os.killpg(psql.pid, signal.SIGKILL)
            await psql.communicate()

    async def _opened(self) -> Process:
        password = {"PGPASSWORD": self._password} if self._password else {}
        return await asyncio.create_subprocess_exec(
            self._program,
            *("--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--no-password", "-v", "ON_ERROR_STOP=1"),
            *("-d", self._where),
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
            env={"PGCONNECT_TIMEOUT": "5", "PGAPPNAME": "logreplay", **os.environ, **password},
        )


async def _answer(psql: Process) -> tuple[float, float, float, float, float]:
    """Ask, and read the line of figures; other lines are notices or errors."""
    assert psql.stdin
    assert psql.stdout
    with suppress(ConnectionError):  # it has ended, and says why
        psql.stdin.write(_QUERY)
        await psql.stdin.drain()
    said = ""
    while line := (await psql.stdout.readline()).decode(errors="replace"):
        words = line.strip().split("|")
        if words[0] == "figures" and len(words) == 6:
            connections, active, waits, hidden, most = map(float, words[1:])
            return connections, active, waits, hidden, most
        said = f"{said}{line}"[:1000]
    raise ValueError(f"psql ended: {' '.join(said.split())[:200]}")


def without_password(text: str) -> tuple[str, str]:
    """Split a connection string into itself without the password, and the password.

    Other users of the machine can read the words of a command, so psql gets the password by its environment.
    """
    if not _URL.match(text):
        words = _IN_WORDS.findall(text)  # libpq takes the last one
        return _IN_WORDS.sub("", text), re.sub(r"\\(.)", r"\1", "".join(words[-1])) if words else ""
    place, mark, query = text.partition("?")
    passwords = [unquote(found[2]) for found in (_IN_URL.search(place),) if found]
    kept = []
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if unquote(name) == "password":
            passwords.append(unquote(value))
        else:
            kept.append(part)
    return _IN_URL.sub(r"\1", place) + mark * bool(kept) + "&".join(kept), passwords[-1] if passwords else ""
