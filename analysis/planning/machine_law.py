"""The scalability of machines that was measured before: the number for a load, in place of n times one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.planning.supply import NoAnswer
from logreplay.analysis.scaling.law import fewest, throughput
from logreplay.analysis.scaling.scale_out import FARTHEST, share_range
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.core.errors import LogreplayError
from logreplay.core.quantities import percent

_NAMES: Final = ("contention", "coherency")
_ENDS: Final = (0, -1, 1)
_ENDLESS: Final = 1e6
"""An upper end from this value on is unknown: older files hold such numbers in place of null."""
_MOST: Final = 1_000_000
"""Most machines that a file may name: the law is computed for each number up to `FARTHEST` times it."""


@dataclass(frozen=True, slots=True)
class MachineLaw:
    """The universal scalability law of some machines.

    Attributes:
        contention, coherency: values of the law with their ranges: likely, low, high; high is infinite if unknown.
        largest: the largest number of machines that was measured.
        not_covered: weaknesses of its measurements, in words; empty if they have none.
    """

    contention: tuple[float, float, float]
    coherency: tuple[float, float, float]
    largest: int
    not_covered: str = ""

    def times(self, numbers: Sequence[float] | Floats, end: int = 0) -> Floats:
        """The rate that each number of machines carries, over that of one machine; ``end`` as of `number`."""
        place = _ENDS.index(end)
        values = np.array([[1.0, *(min(each[place], _ENDLESS) for each in (self.contention, self.coherency))]])
        return np.asarray(throughput(values, np.asarray(numbers, np.float64))[0])

    def number(self, times: float, end: int = 0, survive: int = 0) -> int:
        """Return the fewest machines that carry this many times what one carries.

        Args:
            times: load over what one machine carries.
            survive: number of machines that may be lost.
            end: 0: likely values; -1, 1: those of the ends of their ranges, better and worse.

        Raises:
            NoAnswer: more machines than `FARTHEST` times the most measured would be needed, or none carry it.
        """
        most = FARTHEST * self.largest
        found = fewest(self.times(range(1, most + 1), end)[None], times, survive)[0]
        if found is None:
            raise NoAnswer(
                f"{times:.3g} times what one machine carries is needed, and by the scalability law no number up to "
                f"{most}, {FARTHEST} times the most measured, is sure to carry it: measure more machines"
            )
        return found

    @property
    def sentence(self) -> str:
        """The law in words."""
        parts = (
            f"{name} {percent(likely)} ({share_range(low, high)})"
            for name, (likely, low, high) in zip(_NAMES, (self.contention, self.coherency), strict=True)
        )
        return f"{', '.join(parts)}, measured up to {self.largest} machines, in place of n times one"


def read_law(path: Path) -> MachineLaw:
    """Read what ``capacity --machines --json`` printed.

    Raises:
        LogreplayError: it is another file, or the curve had not bent; names the key of a wrong value.
    """
    told = JsonValue.read(path, "make the file with: logreplay capacity … --machines 1,2,4 --json")
    if told["kind"].text() != "bent":
        raise LogreplayError(f"{path}: holds no scalability law: {told['sentence'].text()}")
    contention, coherency = (_range(told, name) for name in _NAMES)
    numbers = [int(point["number"].number(1, _MOST)) for point in told["points"].each()]
    if not numbers:
        raise told["points"].wrong("a number of machines or more")
    unknown = told["not_covered"].text() if told["not_covered"].value is not None else ""
    return MachineLaw(contention, coherency, max(numbers), unknown.removeprefix("not covered: "))


def _range(told: JsonValue, name: str) -> tuple[float, float, float]:
    """The likely value of a parameter, its low and its high end."""
    low = told[f"{name}_low"].number()
    likely = told[name].number(low)
    high = told[f"{name}_high"]
    end = math.inf if high.value is None else high.number(likely, math.inf)
    return likely, low, end if end < _ENDLESS else math.inf
