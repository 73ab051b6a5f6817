"""The scalability of machines that was measured before: the number for a load, in place of n times one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from logreplay.analysis.planning.supply import NoAnswer
from logreplay.analysis.scaling.law import fewest, throughput
from logreplay.analysis.scaling.scale_out import FARTHEST
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.core.errors import LogreplayError

_NAMES: Final = ("contention", "coherency")
_ENDS: Final = {0: "", -1: "_low", 1: "_high"}


@dataclass(frozen=True, slots=True)
class MachineLaw:
    """The universal scalability law of some machines.

    Attributes:
        contention, coherency: values of the law with their ranges: likely, low, high.
        largest: the largest number of machines that was measured.
    """

    contention: tuple[float, float, float]
    coherency: tuple[float, float, float]
    largest: int

    def times(self, numbers: Sequence[float] | Floats, end: int = 0) -> Floats:
        """The rate that each number of machines carries, over that of one machine; ``end`` as of `number`."""
        place = list(_ENDS).index(end)
        values = np.array([[1.0, self.contention[place], self.coherency[place]]])
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
            f"{name} {100 * likely:.3g} % ({100 * low:.2g}–{100 * high:.2g})"
            for name, (likely, low, high) in zip(_NAMES, (self.contention, self.coherency), strict=True)
        )
        return f"{', '.join(parts)}, measured up to {self.largest} machines, in place of n times one"


def read_law(path: Path) -> MachineLaw:
    """Read what ``capacity --machines --json`` printed.

    Raises:
        LogreplayError: it is another file, or the curve had not bent.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        kind, sentence = value["kind"], value["sentence"]
        if kind != "bent":
            raise LogreplayError(f"{path}: holds no scalability law: {sentence}")
        found = [tuple(float(value[name + _ENDS[end]]) for end in (0, -1, 1)) for name in _NAMES]
        largest = max(int(point["number"]) for point in value["points"])
    except OSError as error:
        raise LogreplayError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise LogreplayError(f"{path}: is not the output of: logreplay capacity … --machines 1,2,4 --json") from None
    return MachineLaw(found[0], found[1], largest)  # type: ignore[arg-type]  # three of each
