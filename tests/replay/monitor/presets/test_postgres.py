"""The figures of a real PostgreSQL, also when all of its connections are taken."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from logreplay.replay.monitor.presets.figures import Figure
from logreplay.replay.monitor.presets.postgres import Postgres, without_password
from support.postgres import postgres


def session(stack: ExitStack, at: str) -> "subprocess.Popen[str]":
    """A session of psql that obeys lines."""
    psql = stack.enter_context(
        subprocess.Popen(["psql", "-XAtq", at], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    )
    stack.callback(psql.kill)
    return psql


def tell(psql: "subprocess.Popen[str]", sql: str, answered: bool = True) -> None:
    assert psql.stdin
    assert psql.stdout
    psql.stdin.write(f"{sql};\nSELECT 'done';\n" if answered else f"{sql};\n")
    psql.stdin.flush()
    if answered:
        assert psql.stdout.readline() == "done\n"


@pytest.mark.slow
def test_connections_locks_and_their_maximum_are_read_from_a_real_server() -> None:
    web: Any = None

    async def read(source: Postgres, until: Callable[[Mapping[str, Figure]], bool]) -> Mapping[str, Figure]:
        for _ in range(2000):  # a session that begins to wait tells nobody
            if until(found := await source.read(web, 0.0)):
                return found
        raise AssertionError(found)

    async def watch(at: str) -> None:
        source = Postgres(at)
        with ExitStack() as stack:
            try:
                idle = await read(source, lambda found: True)
                assert idle["connections"] == Figure(0.0, 8.0), "12, 3 for superusers by default, less this one"
                tell(session(stack, at), "CREATE ROLE app LOGIN")
                app = at.replace("user=shop", "user=app")
                one, two = session(stack, app), session(stack, app)
                tell(one, "DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$")
                tell(two, "BEGIN")
                tell(two, "SELECT pg_advisory_lock(1)", answered=False)
                waits = await read(source, lambda found: found["lock_waits"].value == 1)
                assert waits["active"] == Figure(1.0)
                while True:
                    try:
                        tell(session(stack, app), "BEGIN")
                    except (AssertionError, BrokenPipeError):  # too many clients already
                        break
                assert (await read(source, lambda found: True))["connections"] == Figure(8.0, 8.0)
            finally:
                await source.close()

    with postgres(max_connections=12) as at:
        asyncio.run(watch(at))


@pytest.mark.parametrize(
    ("text", "rest", "password"),
    [
        ("postgresql://shop:p%40ss@h/db", "postgresql://shop@h/db", "p@ss"),
        ("host=h password='it\\'s' user=u", "host=h  user=u", "it's"),
        ("host=h password=x", "host=h ", "x"),
        ("service=shop", "service=shop", ""),
        ("password=a host=h password='b c'", " host=h ", "b c"),
        ("postgresql://h/db?user=u&password=x%26y&sslmode=disable", "postgresql://h/db?user=u&sslmode=disable", "x&y"),
        ("postgres://u:a@h/db?p%61ssword=b", "postgres://u@h/db", "b"),
        ("postgresql://u:pa@ss@h", "postgresql://u@h", "pa@ss"),
        ("postgresql://u@h/db?sslmode=require", "postgresql://u@h/db?sslmode=require", ""),
    ],
)
def test_psql_gets_the_password_by_its_environment(text: str, rest: str, password: str) -> None:
    assert without_password(text) == (rest, password)


def test_what_is_no_connection_string_is_refused_and_a_missing_psql_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("", "shop", "http://h/"):
        with pytest.raises(ValueError, match="expected a connection string, such as postgres:service=shop"):
            Postgres(text)
    monkeypatch.setitem(os.environ, "PATH", "/nowhere")
    with pytest.raises(ValueError, match="psql is not installed; install the client of PostgreSQL, or watch a command"):
        Postgres("service=shop")
