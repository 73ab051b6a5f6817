"""What a replay and the process beside it (`logreplay.replay.monitor.sidecar`) say, besides snapshots and readings."""

import secrets
from dataclasses import dataclass

from logreplay.replay.monitor.access import Address
from logreplay.replay.monitor.probes import Probe


@dataclass(frozen=True, slots=True)
class SidecarConfig:
    """What a companion is to do: said once, down.

    Attributes:
        live, metrics: where to serve the page and the metrics; None: not at all.
        probes: what to read once a second.
        token: with it, the run may be stopped from the page.
    """

    live: Address | None = None
    metrics: Address | None = None
    probes: tuple[Probe, ...] = ()
    token: str = ""

    @classmethod
    def new(cls, live: Address | None, metrics: Address | None, probes: tuple[Probe, ...]) -> "SidecarConfig":
        """An errand with a token of its own."""
        return cls(live, metrics, probes, secrets.token_urlsafe(24))

    def __bool__(self) -> bool:
        return bool(self.live or self.metrics or self.probes)


@dataclass(frozen=True, slots=True)
class Opened:
    """Up: I serve at these base urls; empty where nothing was asked for."""

    live: str
    metrics: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Up: I cannot begin."""

    why: str


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Up: somebody pressed the button; ``who`` is an address."""

    who: str
