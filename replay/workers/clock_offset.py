"""Measures the offset of this machine's clock from the clock that all workers share, with its uncertainty.

Read the clock here, ask for the other, read the clock here again: the answer was given between the two readings. The
shortest round trip says most: its middle is wrong by at most half of it, however unequal the two ways were.

Source: the clock filter of NTP (RFC 5905, section 10) chooses by the same rule.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logreplay.replay.clock import Clock, monotonic

ROUNDS: Final = 40
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The offset that turns the common clock into this machine's. Nanoseconds.

    Attributes:
        offset: this clock - the common clock.
        uncertainty: the offset is wrong by this at most; 0 where both are the same clock.
    """

    offset: int = 0
    uncertainty: int = 0

    def here(self, common: int) -> int:
        """An instant of the common clock, on this one."""
        return common + self.offset

    def common(self, here: int) -> int:
        """An instant of this clock, on the common one."""
        return here - self.offset


SAME: Final = ClockOffset()


def measure(ask: Clock, clock: Clock = monotonic, rounds: int = ROUNDS) -> ClockOffset:
    """Measure the offset by round trips; ``ask`` reads the common clock, wherever that is."""

    def trip() -> ClockOffset:
        before, there, after = clock(), ask(), clock()
        return ClockOffset((before + after) // 2 - there, (after - before + 1) // 2)

    return min((trip() for _ in range(rounds)), key=lambda found: found.uncertainty)


def settled(measured: ClockOffset, *, same_boot: bool) -> ClockOffset:
    """The offset to use: none, where both sides are on one running kernel and the measurement does not contradict."""
    return SAME if same_boot and abs(measured.offset) <= measured.uncertainty else measured


def boot_id() -> str:
    """The identity of the running kernel, and so of its monotonic clock; a unique text where it has none."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return f"unknown since {time.time_ns()}"
