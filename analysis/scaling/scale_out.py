"""The number of machines for a load, from the throughput of several numbers of them; in words and values."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show_rate
from logreplay.analysis.json_text import finite
from logreplay.analysis.machine_count import machines_for, spare_words
from logreplay.analysis.scaling.law import FEWEST, ScalingLaw, fewest, fitted_law
from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.core.plural import number_of
from logreplay.core.quantities import percent

FARTHEST: Final = 2
"""No number above this many times the largest that was measured is given: the law may be another there."""
_USERS_LEVEL: Final = 1.96
_LEVEL: Final = 1.645
"""Standard errors: two-sided, 90 %."""


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """The throughput of a number of machines or users.

    Attributes:
        number: number of machines or users.
        rate: requests/s that they carry, ``low`` to ``high``.
        level: standard errors from the middle to an end of the range.
    """

    number: int
    rate: float
    low: float
    high: float
    level: float = _LEVEL

    @property
    def error(self) -> float:
        """Relative standard error."""
        low = max(self.low, 0.2 * self.rate)
        return max(math.log(self.high / self.rate), math.log(self.rate / low), 0.0) / self.level


@dataclass(frozen=True, repr=False)
class ScaleOut(CheckedAnswer):
    """Whether more machines carry more. Ranges are 95 %; an upper end that the points do not set is infinite.

    Attributes:
        sentence: the answer in words.
        points: measured throughput, by number.
        kind: ``bent``: the universal scalability law holds; ``straight``, ``wall``, ``uncertain``, ``unlike`` or
            ``few``: no law.
        single: rate of one by the law, and ``single_low`` to ``single_high``; null without a law, as all that follow.
        contention: share of the work that waits for what all share, ``contention_low`` to ``contention_high``.
        coherency: growth of the work with each pair, ``coherency_low`` to ``coherency_high``.
        peak: number from which more carry less; None: none up to any number.
        peak_rate: the most that any number carries.
        machines: number for the load, ``machines_low`` to ``machines_high``; None: no load was given, or not known.
        survive: number of machines that may be lost.
        not_covered: the sentence on the weaknesses of the measurements; empty if they have none.
    """

    sentence: str
    points: tuple[ScalingPoint, ...]
    kind: str
    single: float | None = None
    single_low: float | None = None
    single_high: float | None = None
    contention: float | None = None
    contention_low: float | None = None
    contention_high: float | None = None
    coherency: float | None = None
    coherency_low: float | None = None
    coherency_high: float | None = None
    peak: int | None = None
    peak_rate: float | None = None
    machines: int | None = None
    machines_low: int | None = None
    machines_high: int | None = None
    survive: int = 0
    not_covered: str = ""

    @property
    def verdict(self) -> str:
        """``VALID``, or ``NO_ANSWER``: the number of machines is not known."""
        return "NO_ANSWER" if self.machines is None else "VALID"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Whether the number of machines is known."""
        return (Check("the machines are known", "unjudged" if self.machines is None else "passed", self.sentence),)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return finite({**asdict(self), "points": [asdict(each) for each in self.points]})

    def drawn(self) -> ScalingLaw:
        """The law that was fitted, with its draws, for a picture."""
        return _law(self.points)


def scale_out(
    points: Sequence[ScalingPoint],
    unit: str = "machine",
    *,
    tps: float | None = None,
    headroom: float = 0.0,
    survive: int = 0,
) -> ScaleOut:
    """Fit the law, and say how many machines carry a load.

    Args:
        points: throughput of each number.
        unit: ``machine`` or ``user``.
        tps: load to carry, requests/s; None: none.
        headroom: share of each machine that is to stay free.
        survive: number of machines that may be lost.
    """
    ordered = tuple(sorted(points, key=lambda point: point.number))
    law = _law(ordered)
    text = _described(law, ordered, unit)
    if law.kind != "bent":
        return ScaleOut(text, ordered, law.kind, survive=survive)
    peak, most = _peak(law)
    values = [float(value) for value in law.values]
    ranges = [law.range(place) for place in range(3)]
    needed: tuple[int | None, int | None, int | None] = (None, None, None)
    if tps is not None:
        needed, more = _needed(law, ordered[-1].number, tps, headroom, survive, unit)
        text = f"{more}; {text}"
    return ScaleOut(
        text, ordered, law.kind, values[0], *ranges[0], values[1], *ranges[1], values[2], *ranges[2],
        peak, most, *needed, survive=survive,
    )  # fmt: skip


def of_users(table: pl.DataFrame) -> ScaleOut | None:
    """Whether more users get more, from the table of a sweep over users; None for fewer than two numbers of users."""
    columns = ("throughput", "throughput_low", "throughput_high")
    rows = table.filter(pl.col("throughput") > 0).group_by("users").agg(pl.col(columns).mean())
    points = [
        ScalingPoint(int(users), rate, low, high, _USERS_LEVEL)
        for users, rate, low, high in rows.select("users", *columns).iter_rows()
    ]
    return scale_out(points, "user") if len(points) > 1 else None


def _law(points: Sequence[ScalingPoint]) -> ScalingLaw:
    numbers, rates, errors = zip(*((point.number, point.rate, point.error) for point in points), strict=True)
    return fitted_law(numbers, rates, errors)


def _described(law: ScalingLaw, points: Sequence[ScalingPoint], unit: str) -> str:
    """Words for the curve."""
    first, last = points[0], points[-1]
    times, of = last.rate / first.rate, last.number / first.number
    apart = 1.96 * math.hypot(first.error, last.error)
    ends = f"{times * math.exp(-apart):.3g}–{times * math.exp(apart):.3g}"
    measured = (
        f"{number_of(last.number, unit)} carry {times:.3g} times ({ends}) what "
        f"{number_of(first.number, unit)} {'carries' if first.number == 1 else 'carry'}"
    )
    more = ",".join(str(each) for each in sorted({first.number, last.number, 2 * last.number, 4 * last.number}))
    if law.kind == "few":
        linear = f"{measured}: n times one {'may hold' if times * math.exp(apart) >= 0.97 * of else 'does not hold'}"
        if first is last:
            one = f"{number_of(last.number, unit)} {'carries' if last.number == 1 else 'carry'}"
            linear = f"{one} {show_rate(last.rate)}/s; others were not measured"
        return f"{linear}; a law needs {FEWEST} numbers of {unit}s at least, such as {more}"
    if law.kind == "straight":
        return (
            f"{measured}: straight up to {number_of(last.number, unit)}, n times one holds so far; where it bends was "
            f"not measured, so no number beyond is given: measure {more}"
        )
    if law.kind == "wall" and law.knee:
        number, rate = law.knee
        units = unit if round(number, 2) == 1 else f"{unit}s"
        return (
            f"{measured}: a wall, straight up to about {number:.3g} {units} and level at {show_rate(rate)}/s: "
            "something that all share ends there, such as a database; no number is given"
        )
    if law.kind == "uncertain":
        straight = law.may_be_straight(last.number)
        linear, kinds = (
            ("may hold", "a straight line from a curve") if straight else ("does not hold", "a curve from a wall")
        )
        return (
            f"{measured}: n times one {linear}; the points are too uncertain to tell {kinds}, so no number is given: "
            f"measure {more}, or longer"
        )
    if law.kind != "bent":
        return f"{measured}: neither the universal scalability law nor a wall fits; repeat the measurements"
    peak, most = _peak(law)
    top = "more never carry less" if peak is None else f"the most is {show_rate(most)}/s, with {peak}"
    return (
        f"{measured}: contention {percent(law.values[1])} ({share_range(*law.range(1))}), coherency "
        f"{100 * law.values[2]:.2g} % ({share_range(*law.range(2))}); {top}"
    )


def share_range(low: float, high: float) -> str:
    """Write a range of a share in percent: ``2.1–4``; ``26 or more`` if its upper end is infinite."""
    return f"{100 * low:.2g} or more" if math.isinf(high) else f"{100 * low:.2g}–{100 * high:.2g}"


def _peak(law: ScalingLaw) -> tuple[int | None, float]:
    """The number from which more carry less, if there is one, and the most that any number carries."""
    g, a, b = (float(value) for value in law.values)
    if not b:
        return None, g / a if a else math.inf
    place = math.sqrt(max(1 - a, 0.0) / b)
    near = np.array([max(1, math.floor(place)), max(1, math.ceil(place))], np.float64)
    rates = law.rates(near)
    best = int(rates.argmax())
    return int(near[best]), float(rates[best])


def _needed(
    law: ScalingLaw, largest: int, tps: float, headroom: float, survive: int, unit: str
) -> tuple[tuple[int | None, int | None, int | None], str]:
    """The number for a load, its range, and words for it."""
    rate, asked = tps / (1 - headroom), f"{show_rate(tps)}/s{spare_words(headroom, survive)}"
    numbers = np.arange(1, FARTHEST * largest + 1, dtype=np.float64)
    rates = law.rates(numbers)[None]
    likely = fewest(rates, rate, survive)[0]
    if likely is None:
        _, most = _peak(law)
        why = (
            f"more than {number_of(FARTHEST * largest, unit)}, {FARTHEST} times the most measured, would be needed: "
            f"measure more of them"
        )
        if most < rate:
            why = (
                f"no number of {unit}s carries more than {show_rate(most * (1 - headroom))}/s{spare_words(headroom, 0)}"
            )
        elif (whole := fewest(rates, rate, 0)[0]) is not None:
            why = (
                f"{whole} carry it, and no number up to {len(numbers)} carries it both with all of them and with "
                f"{survive} lost"
            )
        return (None, None, None), f"not known how many {unit}s carry {asked}: {why}"
    found = fewest(law.drawn_rates(numbers), rate, survive)
    drawn = np.sort([len(numbers) + 1 if each is None else each for each in found])
    low, high = int(drawn[int(0.015 * len(drawn))]), int(drawn[int(0.985 * len(drawn)) - 1])
    upper = None if high > len(numbers) else high
    ends = f"{low} at least" if upper is None else f"{low}–{upper}"
    alone = machines_for(rate, float(law.values[0])) + survive
    return (likely, low, upper), f"{number_of(likely, unit)} for {asked} ({ends}; n times one would be {alone})"
