"""Reads figures of other systems once a second while a run goes on.

A source is a url that answers with a number or with the JSON of a Prometheus query, or a command that prints a
number. Reading never stops a run: a failure leaves a gap and its reason. Runs in another process than the
one that sends.
"""

import asyncio
import json
import math
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from logreplay.core.masking import terminal_safe

if TYPE_CHECKING:
    from aiohttp import ClientSession

TIMEOUT_S: Final = 5.0
_KILLED_S: Final = 1.0
"""How long a command may take to end after it was killed."""
_LARGEST: Final = 1 << 20
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Readable(Protocol):
    async def read(self, n: int = -1, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Probe:
    """A figure to read.

    Attributes:
        name: letters, digits and ``_``; the column is ``watch_NAME``.
        source: http(s) url; or a command for the shell.
        command: the source is a command.
        counter: the source only grows; a reading is its growth per second since the one before.
    """

    name: str
    source: str
    command: bool = False
    counter: bool = False


@dataclass(frozen=True, slots=True)
class ProbeReading:
    """One reading.

    Attributes:
        name: of the probe.
        at: when it was asked for, seconds of the monotonic clock, which all processes of a machine share.
        value: None if it failed; problem: why, in words.
    """

    name: str
    at: float
    value: float | None
    problem: str = ""


def parse_probe(text: str) -> Probe:
    """Read ``NAME=URL`` or ``NAME=!COMMAND``; ``NAME/s=`` is a counter, its figure ``NAME_per_s``.

    Raises:
        ValueError: it is neither.
    """
    name, equals, source = text.partition("=")
    counter = name.endswith("/s")
    name = name.removesuffix("/s")
    if not equals or not _NAME.fullmatch(name):
        raise ValueError(
            f"{text!r}: expected NAME=URL or NAME=!COMMAND, NAME of letters, digits and _, "
            "NAME/s for the growth of a counter"
        )
    if counter:
        name = f"{name}_per_s"
    if source.startswith("!") and source[1:].strip():
        return Probe(name, source[1:].strip(), command=True, counter=counter)
    if not re.match(r"https?://[^/\s]", source):
        raise ValueError(f"{text!r}: {source!r} is neither a url (http://…) nor a command (!cat /proc/loadavg)")
    return Probe(name, source, counter=counter)


def number_in(text: str) -> float:
    """The figure in an answer: its first word, or the one sample of a Prometheus query.

    Raises:
        ValueError: there is none, or there are several.
    """
    text = text.strip()
    if text.startswith("{"):
        return _finite(_sample(text))
    word = text.split(maxsplit=1)[0] if text else ""
    try:
        return _finite(float(word))
    except ValueError:
        raise ValueError(f"no number, but {word[:40]!r}") from None


def _sample(text: str) -> float:
    """Source: https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries."""
    try:
        answer = json.loads(text)
        if answer["status"] != "success":
            raise ValueError(f"the query failed: {str(answer.get('error'))[:200]}")
        kind, result = answer["data"]["resultType"], answer["data"]["result"]
        if kind == "vector":
            if len(result) != 1:
                raise ValueError(f"the query has {len(result)} results, not 1: sum(…) or choose one")
            result = result[0]["value"]
        return float(result[1])
    except (KeyError, TypeError, IndexError, json.JSONDecodeError, RecursionError):
        raise ValueError(f"JSON, but not of a Prometheus query: {text[:40]!r}") from None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return value


class Growth:
    """Turns readings of a counter into its growth per second."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None

    def since(self, at: float, count: float) -> float | None:
        """Return the growth since the reading before; None for the first.

        Args:
            at: seconds.
            count: what the counter has.

        Raises:
            ValueError: it fell: the counter was reset.
        """
        last, self._last = self._last, (at, count)
        if last is None:
            return None
        if count < last[1]:
            raise ValueError(f"the counter fell from {last[1]:g} to {count:g}: its server was restarted")
        return (count - last[1]) / (at - last[0])


async def keep_reading(probes: Sequence[Probe], tell: Callable[[ProbeReading], object]) -> None:
    """Read every probe once a second, until cancelled; the first time at once.

    A source that is slower than a second is asked again when it has answered, at the next second.
    """
    from aiohttp import ClientSession, ClientTimeout

    async with ClientSession(timeout=ClientTimeout(TIMEOUT_S)) as session, asyncio.TaskGroup() as group:
        for probe in probes:
            group.create_task(_keep_reading(probe, session, tell))


async def _keep_reading(probe: Probe, session: "ClientSession", tell: Callable[[ProbeReading], object]) -> None:
    first = time.monotonic()
    growth = Growth()
    while True:
        at = time.monotonic()
        try:
            text = await (_printed(probe.source) if probe.command else _fetched(probe.source, session))
            figure = growth.since(at, number_in(text)) if probe.counter else number_in(text)
            if figure is not None:
                tell(ProbeReading(probe.name, at, figure))
        except TimeoutError:
            tell(ProbeReading(probe.name, at, None, f"no answer within {TIMEOUT_S:g} s"))
        except Exception as error:  # whatever a library finds wrong with a foreign source
            tell(ProbeReading(probe.name, at, None, terminal_safe(str(error), " ") or type(error).__name__))
        now = time.monotonic()
        await asyncio.sleep(first + math.floor(now - first) + 1 - now)


async def _fetched(url: str, session: "ClientSession") -> str:
    async with session.get(url, allow_redirects=False) as response:
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return await _text(response.content)


async def _printed(command: str) -> str:
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout
    try:
        async with asyncio.timeout(TIMEOUT_S):
            text = await _text(process.stdout)
            await process.wait()
    finally:
        if process.returncode is None:  # it, and what it has started
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(TimeoutError):  # a process that left the session may keep the pipe open
                async with asyncio.timeout(_KILLED_S):
                    while await process.stdout.read(_LARGEST):  # asyncio waits for the end of a pipe that nobody reads
                        pass
                    await process.wait()
    if process.returncode:
        raise ValueError(f"exit code {process.returncode}: {text.strip()[:200]}")
    return text


async def _text(stream: "_Readable") -> str:
    """The body of an answer, up to the size that a figure can need."""
    data = b""
    while part := await stream.read(_LARGEST):
        data += part
        if len(data) > _LARGEST:
            raise ValueError(f"more than {_LARGEST} bytes")
    return data.decode(errors="replace")
