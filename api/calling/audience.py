"""Outputs of a run's progress: the listener of the call, the live page, Prometheus; and figures from elsewhere."""

import asyncio
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from logreplay.core.errors import UsageError
from logreplay.core.masking import masked
from logreplay.replay.monitor.otlp_settings import OtlpSettings, PushCounts, otlp_settings
from logreplay.replay.schedules.orders import WORDS

if TYPE_CHECKING:
    from logreplay.calling.mailbox import CallListener
    from logreplay.replay.monitor.access import Address
    from logreplay.replay.monitor.probe_log import ProbeLog
    from logreplay.replay.monitor.probes import Probe
    from logreplay.replay.monitor.sidecar import Answer, Heard, OrderAsked, Sidecar
    from logreplay.replay.monitor.snapshot import Snapshot, Stage
    from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder
    from logreplay.replay.results.outcome import Outcome, Progress
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.schedules.orders import Order

Steer = Callable[["Order", str], str]
"""Changes the load: takes an order and who gives it; returns a sentence, or raises `ValueError` with the reason."""


class Audience:
    """Sends the progress of one run to its outputs.

    `begin`, `see`, `end` belong to the loop that sends, and take a fraction of a ms.

    Attributes:
        pushes: counts of the pushes of metrics.
        show: further receiver of each snapshot, which must not take long.
    """

    def __init__(self, builder: "SnapshotBuilder", listener: "CallListener", readings: "ProbeLog") -> None:
        self._builder, self._listener, self._readings = builder, listener, readings
        self.show: Callable[[Snapshot], object] = lambda _: None
        self._on_stop: Callable[[], object] | None = None
        self._asked = False
        self.pushes = PushCounts()
        self._on_order: Callable[[OrderAsked, Answer], object] | None = None

    def go_on(self, first: int) -> None:
        """An engine sends from now on, from this second of the run on; readings from there on are dropped."""
        self._readings.go_on(first)

    def end_readings(self) -> "list[Finding]":
        """Take no more readings of other systems; return what went wrong with them."""
        return self._readings.end()

    def begin(self, stage: "Stage") -> None:
        """Say what runs from now on."""
        self._builder.begin(stage)

    def see(self, now: "Progress") -> None:
        """Tell how it goes."""
        self._readings.begin(time.monotonic() - now.elapsed)
        snapshot = self._builder.see(now, time.time(), dict(self._readings.latest))
        self._listener.see(snapshot)
        self.show(snapshot)

    def end(self, outcome: "Outcome", *, state: str = "", note: str = "", told: str = "") -> None:
        """Tell what became of a stage; see `logreplay.replay.monitor.snapshot_builder.SnapshotBuilder.end`.

        The listener of the call gets ``told``, or the note.
        """
        snapshot = self._builder.end(outcome, time.time(), state=state, note=note)
        self._listener.ended(snapshot, told or note)
        self.show(snapshot)

    def close(self) -> None:
        """Tell that it is over."""
        snapshot = self._builder.close(time.time())
        self._listener.ended(snapshot)
        self.show(snapshot)

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

    @contextmanager
    def may_call(self, steer: Steer) -> Iterator[None]:
        """Within the block, orders to change the load are carried out by this, in the running loop."""
        loop = asyncio.get_running_loop()

        def carry_out(asked: "OrderAsked", answer: "Answer") -> None:
            if time.monotonic() > asked.until:  # who gave it was told that it does not count, and may give it again
                answer(False, "the order came too late, and does not count: the machine is busy")
                return
            try:
                text = steer(asked.order, asked.who)
            except ValueError as error:
                answer(False, str(error))
                return
            self._listener.note(f"{asked.order.text}, by {asked.who}: {text}", always=True)
            answer(True, text)

        self._on_order = lambda *order: loop.call_soon_threadsafe(carry_out, *order)
        try:
            yield
        finally:
            self._on_order = None

    def order(self, asked: "OrderAsked", answer: "Answer") -> None:
        """Somebody asks for a change of the load. From any thread."""
        if self._on_order:
            self._on_order(asked, answer)
        else:
            answer(False, "the run does not send now, or was started without --control")

    def stop(self) -> None:
        """The button was pressed. From any thread."""
        self._asked = True
        if self._on_stop:
            self._on_stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Whom to tell, as the user asked for it."""

    live: "Address | None" = None
    metrics: "Address | None" = None
    progress: str = "auto"
    watch: "tuple[Probe, ...]" = ()
    otlp: str | None = None
    control: Path | None = None

    def __post_init__(self) -> None:
        """Refuse two figures of one name."""
        names = [name for probe in self.watch for name in probe.names]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"--watch: {name} is given twice; give each figure its own name")

    def _otlp(self) -> "OtlpSettings | None":
        if self.otlp is None:
            return None
        try:
            return otlp_settings(self.otlp, os.environ)
        except ValueError as error:
            raise UsageError(str(error)) from None

    @contextmanager
    def audience(self, command: str, target: str, results: Path, listener: "CallListener") -> Iterator[Audience]:
        """All who asked to be told, until the block ends; ``results``: the result log, where it grows."""
        from logreplay.analysis.input.external_metrics import watch_beside
        from logreplay.replay.monitor.probe_log import ProbeLog
        from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder

        with ExitStack() as stack:
            readings = stack.enter_context(closing(ProbeLog(watch_beside(results))))
            audience = Audience(SnapshotBuilder(command, target), listener, readings)
            listener.opened()
            stack.callback(listener.closed)
            if sidecar := self._sidecar(audience, readings, listener):
                stack.callback(self._tell_of_pushes, audience, listener)
                stack.callback(sidecar.close)
                audience.show = sidecar.show
            stack.callback(audience.close)
            yield audience

    def _tell_of_pushes(self, audience: Audience, listener: "CallListener") -> None:
        """Say how many pushes failed, once the last one is over."""
        if self.otlp is not None and (text := audience.pushes.sentence()):
            listener.note(f"warning: {text}")

    def _sidecar(self, audience: Audience, readings: "ProbeLog", listener: "CallListener") -> "Sidecar | None":
        otlp = self._otlp()
        names = ("live", "metrics", "watch", "otlp", "control")
        if not (asked := [name for name in names if getattr(self, name) not in (None, ())]):
            return None
        from logreplay.replay.monitor.sidecar import Sidecar, SidecarConfig, SidecarDied, StopAsked

        if otlp:
            audience.pushes = PushCounts(otlp.url)
        config = SidecarConfig(self.live, self.metrics, self.watch, otlp, self.control and self.control.absolute())

        def hear(message: "Heard") -> None:
            if isinstance(message, StopAsked):
                listener.note(f"stopped from the live page, by {message.who}", always=True)
                audience.stop()
            elif isinstance(message, PushCounts):
                audience.pushes = message
            elif isinstance(message, SidecarDied):
                if self.watch:
                    readings.lose(message.at, message.why)
                options = ", ".join(f"--{name}" for name in asked)
                listener.note(f"warning: the process of {options} {message.why}; the run goes on")
            elif readings.hear(message):
                listener.note(f"watch {message.name}: {message.problem}")

        sidecar = Sidecar(config, hear, audience.order)
        if self.control:
            listener.note(f"control: logreplay control {shlex.quote(str(self.control))} ORDER; an order is {WORDS}")
        if self.live:
            url = re.sub(r"//(0\.0\.0\.0|\[::\])(?=:)", f"//{gethostname()}", sidecar.opened.live)
            listener.note(f"live page: {url}/#{config.token}", always=True)
        if otlp:
            listener.note(f"otlp: {masked(otlp.url)}")
        if self.metrics:
            listener.note(f"metrics: {sidecar.opened.metrics}/metrics")
        return sidecar
