"""Reads figures of other systems once a second while a run goes on.

A source is a url that answers with a number or with the JSON of a Prometheus query, a command that prints a number,
or one of `logreplay.replay.monitor.presets`. Reading never stops a run: a failure leaves a gap and its reason. Runs in
another process than the one that sends.
"""

import asyncio
import json
import math
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from logreplay.replay.monitor.presets.cgroup import ControlGroup
from logreplay.replay.monitor.presets.figures import LARGEST, Figure, Growth, Source, fault_of, fetched, text_of
from logreplay.replay.monitor.presets.pages import NodeExporter, PrometheusPage, StubStatus
from logreplay.replay.monitor.presets.postgres import Postgres
from logreplay.replay.monitor.presets.process import ProcessTree

if TYPE_CHECKING:
    from aiohttp import ClientSession

TIMEOUT_S: Final = 5.0
_KILLED_S: Final = 1.0
"""Seconds that a command may take to end after it was killed."""
_NAMED: Final = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?P<counter>/s)?(?::(?P<most>\d+(?:\.\d+)?))?=(?P<source>.*)", re.ASCII | re.S
)
_PRESET: Final = re.compile(r"(?P<kind>[a-z]+):(?P<rest>.*)", re.S)


class _Url(Source):
    """A page that begins with a number, or the answer to a Prometheus query."""

    def __init__(self, text: str) -> None:
        self._url = text

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        return {"": Figure(number_in(await fetched(self._url, session)))}


class _Command(Source):
    """A command that prints a number."""

    def __init__(self, text: str) -> None:
        self._command = text

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        return {"": Figure(number_in(await _printed(self._command)))}


PRESETS: Final[Mapping[str, type[Source]]] = {
    "pid": ProcessTree,
    "cgroup": ControlGroup,
    "nginx": StubStatus,
    "postgres": Postgres,
    "prometheus": PrometheusPage,
    "node": NodeExporter,
}
_SOURCES: Final[Mapping[str, type[Source]]] = {"url": _Url, "command": _Command, **PRESETS}


@dataclass(frozen=True, slots=True)
class Probe:
    """What to read, as the user wrote it.

    Attributes:
        name: letters, digits and ``_``; the column is ``watch_NAME``, of a preset ``watch_NAME_FIGURE``.
        source: http(s) url; a command for the shell; or what a preset reads.
        kind: ``url``, ``command``, or a key of `PRESETS`.
        counter: the source only grows; a reading is its growth per second since the one before.
        maximum: largest possible value; None: unknown, or the preset knows it.
    """

    name: str
    source: str
    kind: str = "url"
    counter: bool = False
    maximum: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(f"{self.name}_{figure}" for figure in _SOURCES[self.kind].figures) or (self.name,)

    def opened(self) -> Source:
        """Begin to read."""
        return _SOURCES[self.kind](self.source)


@dataclass(frozen=True, slots=True)
class ProbeReading:
    """One reading of one figure.

    Attributes:
        name: name of the figure.
        at: time of the request, seconds of the monotonic clock, which all processes of a machine share.
        value: None if it failed.
        problem: reason of the failure; empty: none.
        maximum: largest possible value; None: unknown.
    """

    name: str
    at: float
    value: float | None
    problem: str = ""
    maximum: float | None = None


def parse_probe(text: str) -> Probe:
    """Read ``NAME=URL``, ``NAME=!COMMAND``, ``NAME=PRESET`` or ``PRESET``, such as ``pid:1234``.

    ``NAME/s=`` is a counter, its figure ``NAME_per_s``; ``NAME:MAX=`` gives the maximum of the figure. The maximum
    stands beside the name since a command or a URL may end in a colon and a number.
    """
    named = _NAMED.fullmatch(text)
    source = named["source"] if named else text
    preset = _PRESET.fullmatch(source)
    kind, rest = (preset["kind"], preset["rest"]) if preset and preset["kind"] in PRESETS else ("", "")
    if not (named or kind):
        raise ValueError(
            f"{text!r}: expected NAME=URL, NAME=!COMMAND or a preset such as pid:1234, NAME of letters, digits and _, "
            "NAME/s for the growth of a counter, NAME:MAX with the maximum"
        )
    counter, most = bool(named and named["counter"]), float(named["most"]) if named and named["most"] else None
    if most is not None and not 0 < most < math.inf:
        raise ValueError(f"{text!r}: expected a maximum above 0 behind the name, such as pool:10=…")
    name = (named["name"] if named else kind) + "_per_s" * counter
    probe = Probe(name, source, "url", counter, most)
    if kind:
        return _checked(text, replace(probe, source=rest, kind=kind), alone=not named)
    if source.startswith("!") and source[1:].strip():
        return replace(probe, source=source[1:].strip(), kind="command")
    if not re.match(r"https?://[^/\s]", source):
        raise ValueError(
            f"{text!r}: {source!r} is neither a url (http://…) nor a command (!cat /proc/loadavg) nor a preset "
            f"({', '.join(f'{each}:…' for each in PRESETS)})"
        )
    return probe


def _checked(text: str, probe: Probe, *, alone: bool) -> Probe:
    """Check that a preset can be read, and takes the arguments beside it; return it."""
    probe.opened()
    several = probe.names != (probe.name,)
    if several and (probe.counter or probe.maximum is not None):
        raise ValueError(f"{text!r}: {probe.kind}: has several figures and knows their maxima; give its name alone")
    if probe.kind == "prometheus" and not probe.counter and re.search(r"_total\b", probe.source.partition("#")[2]):
        raise ValueError(f"{text!r}: a metric …_total only grows; NAME/s= records its growth per second")
    if alone and not several:
        raise ValueError(f"{text!r}: name the figure: NAME={probe.kind}:…")
    return probe


def number_in(text: str) -> float:
    """The figure in an answer: its first word, or the one sample of a Prometheus query."""
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


def _known(figure: Figure) -> Figure:
    """Return a figure, without a value that is not finite: an idle summary has NaN, which JSON lacks."""
    maximum = figure.maximum if figure.maximum is None or math.isfinite(figure.maximum) else None
    try:
        return replace(figure, value=figure.value if figure.value is None else _finite(figure.value), maximum=maximum)
    except ValueError as error:
        return Figure(None, maximum, str(error))


async def keep_reading(probes: Sequence[Probe], tell: Callable[[ProbeReading], object]) -> None:
    """Read every probe once a second, until cancelled; the first time at once.

    A source that is slower than a second is asked again when it has answered, at the next second.
    """
    from aiohttp import ClientSession, ClientTimeout

    async with ClientSession(timeout=ClientTimeout(TIMEOUT_S)) as session, asyncio.TaskGroup() as group:
        for probe in probes:
            group.create_task(_keep_reading(probe, session, tell))


async def _keep_reading(probe: Probe, session: "ClientSession", tell: Callable[[ProbeReading], object]) -> None:
    first, growth = time.monotonic(), Growth()
    source: Source | None = None
    try:
        while True:
            at = time.monotonic()
            try:
                source = source or probe.opened()
                async with asyncio.timeout(TIMEOUT_S):
                    read = await source.read(session, at)
                figures: Mapping[str, Figure] = {name: _known(figure) for name, figure in read.items()}
                if probe.counter and not figures[""].problem:
                    figures = {"": Figure(growth.since(at, figures[""].value or 0.0))}
            except TimeoutError:
                figures = _failed(probe, f"no answer within {TIMEOUT_S:g} s")
            except Exception as error:  # whatever a library finds wrong with a foreign source
                figures = _failed(probe, fault_of(error))
            for figure, found in figures.items():
                if found.value is not None or found.problem:
                    name = f"{probe.name}_{figure}" if figure else probe.name
                    most = probe.maximum if found.maximum is None else found.maximum
                    tell(ProbeReading(name, at, found.value, found.problem, most))
            now = time.monotonic()
            await asyncio.sleep(first + math.floor(now - first) + 1 - now)
    finally:
        if source:
            await source.close()


def _failed(probe: Probe, why: str) -> Mapping[str, Figure]:
    return {figure: Figure(None, problem=why) for figure in _SOURCES[probe.kind].figures or ("",)}


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
        text = await text_of(process.stdout)
        await process.wait()
    finally:
        if process.returncode is None:  # it, and what it has started
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(TimeoutError):  # a process that left the session may keep the pipe open
                async with asyncio.timeout(_KILLED_S):
                    while await process.stdout.read(LARGEST):  # asyncio waits for the end of a pipe that nobody reads
                        pass
                    await process.wait()
    if process.returncode:
        raise ValueError(f"exit code {process.returncode}: {text.strip()[:200]}")
    return text
