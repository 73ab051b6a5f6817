"""The part ``limit`` of the page: the limit that a sweep names, of families of simulated systems of known limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from accuracy._tables import Table, numbers, totals, where
from limit_systems import FAMILIES, Limited, swept, unlimited
from logreplay.analysis.analyze import verdict_on
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.limit import limit_of
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.verdict.stability import judged_steps

RUNS: Final = 43
"""Sweeps of a family: about 600 in all."""
_SECONDS: Final = 10.0
_NUMBERED: Final = ("workers", "sharing", "split", "refuses")
"""Kinds whose number at once is the system's."""


@dataclass(frozen=True, slots=True)
class Named:
    """A system, and what the sweep says of its limit."""

    system: Limited
    found: TargetLimit

    @property
    def right(self) -> bool:
        """Whether a kind is named, and is that of the system."""
        return self.found.kind is not None and self.found.kind in self.system.kinds

    @property
    def wrong(self) -> bool:
        """Whether another kind is named."""
        return self.found.kind is not None and not self.right

    @property
    def number(self) -> tuple[float, float, float, float] | None:
        """The number at once that is named, its range, and the truth; None where there is none."""
        found, truth = self.found, self.system.at_once
        if not self.right or found.kind not in _NUMBERED or truth is None or found.at_once is None:
            return None
        assert found.low is not None
        assert found.high is not None
        return found.at_once, found.low, found.high, truth


def named(name: str, seed: int, number: int, seconds: float = _SECONDS) -> Named:
    """Sweep a system of a family."""
    make = {**FAMILIES, "no limit within the sweep": unlimited}[name]
    rng = np.random.default_rng([seed, *name.encode(), number])
    system = make(rng)
    requests = arrays.read(swept(system, rng, seconds))
    found = limit_of(requests, verdict_on(requests, judged_steps(requests)))
    assert found
    return Named(system, found)


def table(runs: int, seed: int) -> str:
    """Truth against answer, and how far numbers at once are off, in Markdown."""
    found = {name: [named(name, seed, each) for each in range(runs)] for name in FAMILIES}
    none = [named("no limit within the sweep", seed, each) for each in range(round(runs * 100 / RUNS))]
    return "\n".join([*_families({**found, "no limit within the sweep": none}), "", *_numbers(found)])


def _families(found: dict[str, list[Named]]) -> Iterator[str]:
    yield "| system | right | cannot tell | wrong | wrong answers |"
    yield "|---|--:|--:|--:|---|"
    for name, every in found.items():
        right, wrong = sum(each.right for each in every), [each.found.kind for each in every if each.wrong]
        kinds = ", ".join(sorted({str(kind) for kind in wrong}))
        counts = (right, len(every) - right - len(wrong), len(wrong))
        yield f"| {name} | {' | '.join(f'{count} of {len(every)}' for count in counts)} | {kinds} |"


def _numbers(found: dict[str, list[Named]]) -> Iterator[str]:
    yield "| number at once of | named | within 10 % | range holds |"
    yield "|---|--:|--:|--:|"
    for name, every in found.items():
        told = [each.number for each in every if each.number]
        if len(told):
            near = sum(abs(number - truth) <= 0.1 * truth for number, _, _, truth in told)
            holds = sum(low <= truth <= high for _, low, high, truth in told)
            yield f"| {name} | {len(told)} | {near} of {len(told)} | {holds} of {len(told)} |"


def result(tables: Sequence[Table]) -> str:
    """How many causes are wrong, and how good the numbers are."""
    families, counts = tables
    limited = [row for row in families if row["system"] in FAMILIES]
    right, sweeps = totals(limited, "right")
    wrong, _ = totals(limited, "wrong")
    unknown, _ = totals(limited, "cannot tell")
    workers = where(families, "system", "workers")[0]
    near, told = totals(where(counts, "number at once of", "workers"), "within 10 %")
    holds, ranges = totals(counts, "range holds")
    (invented,) = numbers(where(families, "system", "no limit within the sweep"), "wrong")
    return (
        f"Of {sweeps} sweeps, {right} name the right cause, {wrong} a wrong one "
        f"({100 * wrong / (right + wrong):.1f} % of those named); {unknown} cannot tell. Workers named: "
        f"{workers['right']}, within 10 %: {near} of {told}; range of the number holds: {holds} of {ranges}. "
        f"Invented: {invented:.0f}"
    )
