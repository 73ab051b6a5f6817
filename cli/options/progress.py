"""Options that report progress, and their readers: terminal, live page, Prometheus, JSON lines."""

import asyncio
import atexit
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import click

from logreplay.cli.display.live_line import LiveLine
from logreplay.cli.display.outlet import Outlet
from logreplay.cli.display.terminal import can_redraw, say
from logreplay.cli.options.groups import bundle
from logreplay.cli.options.types import ParsedType
from logreplay.cli.settings.configurable import Configurable

if TYPE_CHECKING:
    from logreplay.replay.monitor.access import Address
    from logreplay.replay.monitor.probe_log import ProbeLog
    from logreplay.replay.monitor.probes import Probe, ProbeReading
    from logreplay.replay.monitor.sidecar import Sidecar, StopAsked
    from logreplay.replay.monitor.snapshot import Snapshot, Stage
    from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder
    from logreplay.replay.results.outcome import Outcome, Progress
    from logreplay.replay.results.verdict import Finding

_ADDRESS = re.compile(r"(\S+:)?\d+")


class Audience:
    """All who are told of one run. `begin`, `see`, `end` belong to the loop that sends, and take a fraction of a ms.

    Args:
        builder: makes the snapshots.
        write: takes the text for stderr, and does not wait.
        line: shows the state of the run on the terminal.
        readings: figures from elsewhere.
    """

    def __init__(
        self, builder: "SnapshotBuilder", write: Callable[[str], object], line: LiveLine, readings: "ProbeLog"
    ) -> None:
        self.write = write
        self._builder, self._line, self._readings = builder, line, readings
        self._listeners: list[Callable[[Snapshot], object]] = []
        self._on_stop: Callable[[], object] | None = None
        self._asked = False

    @property
    def findings(self) -> "list[Finding]":
        """What went wrong beside the run."""
        return self._readings.findings()

    def add(self, listener: "Callable[[Snapshot], object]") -> None:
        """Tell another one, who must not take long."""
        self._listeners.append(listener)

    def begin(self, stage: "Stage") -> None:
        """Say what runs from now on."""
        self._builder.begin(stage)

    def see(self, now: "Progress") -> None:
        """Tell how it goes."""
        self._readings.begin(time.monotonic() - now.elapsed)
        snapshot = self._builder.see(now, time.time(), dict(self._readings.latest))
        self._line.show(snapshot)
        self._tell(snapshot)

    def end(self, outcome: "Outcome", *, state: str = "", note: str = "") -> None:
        """Tell what became of a stage; see `logreplay.replay.monitor.snapshot_builder.SnapshotBuilder.end`."""
        self._line.clear()
        self._tell(self._builder.end(outcome, time.time(), state=state, note=note))

    def close(self) -> None:
        """Tell that it is over."""
        self._line.clear()
        self._tell(self._builder.close(time.time()))

    @contextmanager
    def may_set(self, stop: asyncio.Event) -> Iterator[None]:
        """Within the block, who presses the button of the page sets this; it belongs to the running loop."""
        loop = asyncio.get_running_loop()
        self._on_stop = lambda: loop.call_soon_threadsafe(stop.set)
        if self._asked:
            stop.set()
        try:
            yield
        finally:
            self._on_stop = None

    def stop(self) -> None:
        """The button was pressed. From any thread."""
        self._asked = True
        if self._on_stop:
            self._on_stop()

    def _tell(self, snapshot: "Snapshot") -> None:
        for listener in self._listeners:
            listener(snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Whom to tell, as the user asked for it."""

    live: "Address | None" = None
    metrics: "Address | None" = None
    progress: str = "auto"
    watch: "tuple[Probe, ...]" = ()

    def __post_init__(self) -> None:
        """Refuse two figures of one name.

        Raises:
            UsageError: names them.
        """
        names = [probe.name for probe in self.watch]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise click.UsageError(f"--watch: {name} is given twice; give each figure its own name")

    @contextmanager
    def audience(
        self, command: str, target: str, results: Path, *, first: int = 0, quiet: bool = False
    ) -> Iterator[Audience]:
        """All who asked to be told, until the block ends.

        Args:
            command, target: what runs.
            results: the result log, where it grows.
            first: the second of the run at which it begins; above 0 if it goes on.
            quiet: only explicitly requested output is told.

        Raises:
            LogreplayError: the page or the metrics cannot be served where they should.
        """
        from logreplay.analysis.input.external_metrics import watch_beside
        from logreplay.replay.monitor.probe_log import ProbeLog
        from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder

        with ExitStack() as stack:
            readings = stack.enter_context(closing(ProbeLog(watch_beside(results), first)))
            outlet = stack.enter_context(_stderr())
            line = LiveLine(outlet, enabled=self.progress == "auto" and can_redraw() and not quiet)
            audience = Audience(SnapshotBuilder(command, target), outlet.write, line, readings)
            if self.progress == "json":
                audience.add(lambda snapshot: outlet.write(json.dumps(snapshot.as_dict()) + "\n"))
            if sidecar := self._sidecar(audience, readings, quiet=quiet):
                stack.callback(sidecar.close)
                audience.add(sidecar.show)
            stack.callback(audience.close)
            yield audience

    def _sidecar(self, audience: Audience, readings: "ProbeLog", *, quiet: bool) -> "Sidecar | None":
        from logreplay.replay.monitor.sidecar import Sidecar, SidecarConfig, StopAsked

        config = SidecarConfig(self.live, self.metrics, self.watch)
        if not config:
            return None

        def hear(message: "ProbeReading | StopAsked") -> None:
            if isinstance(message, StopAsked):
                audience.write(f"stopped from the live page, by {message.who}\n")
                audience.stop()
            else:
                readings.hear(message)

        sidecar = Sidecar(config, hear)
        if self.live:
            url = re.sub(r"//(0\.0\.0\.0|\[::\])(?=:)", f"//{gethostname()}", sidecar.opened.live)
            say(f"live page: {url}/#{config.token}")
        if self.metrics:
            say(f"metrics: {sidecar.opened.metrics}/metrics", quiet=quiet)
        return sidecar


@contextmanager
def _stderr() -> Iterator[Outlet]:
    """Standard error until the block ends. A halted terminal may take the rest until the program ends."""
    outlet = Outlet(sys.stderr)
    try:
        yield outlet
    finally:
        if not outlet.drain():
            atexit.register(outlet.drain)
        outlet.close()


class WithLive(Configurable):
    """A command on which ``--live`` may stand before an argument: only an address is its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for index, word in enumerate(args[:-1]):
            if word == "--":
                break
            if word == "--live" and not _ADDRESS.fullmatch(args[index + 1]):
                args = [*args[:index], "--live=0", *args[index + 1 :]]
        return super().parse_args(ctx, args)


_OPTIONS = (
    click.option(
        "--live",
        type=ParsedType("replay.monitor.access:parse_address"),
        is_flag=False,
        flag_value="0",
        metavar="[[HOST:]PORT]",
        help="Serve a live page.  [default: a free port of this machine]",
    ),
    click.option(
        "--metrics",
        type=ParsedType("replay.monitor.access:parse_address"),
        metavar="[HOST:]PORT",
        help="Serve /metrics for Prometheus.",
    ),
    click.option(
        "--progress",
        type=click.Choice(["auto", "json", "none"]),
        default="auto",
        show_default=True,
        help="On stderr: a line, JSON each second, or nothing.",
    ),
    click.option(
        "--watch",
        type=ParsedType("replay.monitor.probes:parse_probe"),
        multiple=True,
        metavar="NAME[/s]=URL|!COMMAND",
        help="Record a figure of URL or COMMAND each second. Repeatable.",
    ),
)
telling_options = bundle("telling", Telling, _OPTIONS)
"""Gives a command the options of telling; it receives them as one ``telling``."""
