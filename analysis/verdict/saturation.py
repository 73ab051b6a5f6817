"""Finds onset and saturation in the steps of a run, each with a range or the reason for its absence.

A "knee" moves with the scale of the axes, so none is reported. Two rates are. **Onset**: the rate at which p90 is twice
its floor. **Saturation**: the rate from which the backlog grows or errors start. A flat or gently rising curve has
neither: the reason is given instead of a number.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics import queueing
from logreplay.analysis.statistics.failing_rate import (
    bracket,
    failing_rates,
    last_below,
    rises,
    share_that_may_fail,
)
from logreplay.analysis.statistics.failures import ERROR_SHARE, FAILING
from logreplay.analysis.statistics.isotonic import isotonic
from logreplay.analysis.statistics.quantiles import Bools, Floats
from logreplay.analysis.tables.slow_routes import SlowRoute, slow_routes
from logreplay.analysis.verdict import saturation_sentences as sentences
from logreplay.analysis.verdict.outages import FEWEST
from logreplay.analysis.verdict.saturation_sentences import RateEstimate
from logreplay.analysis.verdict.stability import CUT, GROWTH, LATE_S, MIX, VOID, dropped_too_many

TWICE: Final = 2.0
"""The onset is the rate at which p90 is this many times its floor."""
NEAR: Final = 0.075
"""Share of a rate: so close to saturation steps of ten seconds are good or bad by chance."""
WITHIN: Final = 0.12
"""Half width of the range as a share of the rate, if overloaded steps show the capacity and steps are wider."""
WITHIN_ERRORS: Final = 0.2
"""The same where errors come first: at least."""
SHORT: Final = 0.975
"""A target has reached a plateau where its goodput stays below this share of the rate at all higher rates, …"""
PLATEAU: Final = 1.04
"""… and is at most this many times the goodput at the first of these rates."""
LARGE_BASE: Final = 0.03
"""A base of failures above this share hides where failures begin to rise: steps within chance do not tell it."""
PAUSE: Final = 0.5
CARRIED: Final = 0.97
"""The target carries a rate if it answers at least this share of it as expected."""
FALLS: Final = 1.12
"""Capacity falls at once if the target carried this many times as much while the backlog formed as in overload."""
LASTING: Final = 2
"""Overloaded rates, the highest, whose goodput the lasting rate must explain."""


@dataclass(frozen=True)
class SaturationVerdict:
    """Onset, saturation and limit of a sweep, and its step table.

    Attributes:
        sentence: the answer in words.
        onset: the rate at which p90 is twice its floor.
        saturation: the rate from which the backlog grows or errors start.
        generator_limit: highest rate this machine could send, where that ended the measurement; else None.
        steps: the step table with the evidence of each step.
        target_failing: True if more than half of the requests failed at every rate.
        answered: True if the steps show a saturation, or that there is none.
        lacks: reason why they cannot be judged, in words; empty if they can.
    """

    sentence: str
    onset: RateEstimate
    saturation: RateEstimate
    generator_limit: float | None
    steps: pl.DataFrame = field(repr=False, compare=False)
    target_failing: bool = False
    answered: bool = True
    lacks: str = ""

    @property
    def carried(self) -> float | None:
        """The rate of saturation, or the highest stable one below the first failing one; None without a saturation.

        Stable steps up to this rate have no queue: where errors come first, some of them may fail more than 1 %.
        """
        if not self.saturation.found or self.saturation.rate is None:
            return None
        above = self.steps.filter(pl.col("rate") > self.saturation.rate).sort("rate")
        bad = above.filter(pl.col("verdict").is_in(("overloaded", "errors")))
        if bad.is_empty() or bad["verdict"][0] == "overloaded":
            return self.saturation.rate
        below = above.filter((pl.col("verdict") == "stable") & (pl.col("rate") < bad["rate"][0]))
        return float(below["rate"].to_numpy().max(initial=self.saturation.rate))

    @property
    def word(self) -> str:
        """Whether the target was measured: ``VALID``, ``GENERATOR_BOUND`` or ``TARGET_FAILING``."""
        if self.generator_limit is not None:
            return "GENERATOR_BOUND"
        return "TARGET_FAILING" if self.target_failing else "VALID"


def judge(table: pl.DataFrame, asked: Collection[float] = (), routes: pl.DataFrame | None = None) -> SaturationVerdict:
    """Find onset and saturation in the steps of a run, of `stability.judged_steps`, or say why there is none.

    Requests that the generator dropped count neither as sent nor as failures of the target. ``asked`` are the rates of
    a sweep that ended by itself, also those that it left out; ``routes`` the balance of each in each step, if known.
    """
    sent = table.with_columns(pl.col("scheduled", "errors") - pl.col("dropped"))
    found = _judge(sent.filter(~pl.col("verdict").is_in([CUT, VOID, MIX])), asked, routes)
    cut, void = (table.filter(pl.col("verdict") == word)["rate"] for word in (CUT, VOID))
    aside = sentences.describe_cut_steps(f"at {rate:g}/s" for rate in cut)
    aside += sentences.describe_left_out(void, table.filter(dropped_too_many())["rate"])
    return replace(found, sentence=found.sentence + aside, steps=table)


def _judge(table: pl.DataFrame, asked: Collection[float], routes: pl.DataFrame | None) -> SaturationVerdict:
    measured = table.filter((pl.col("scheduled") >= sentences.FEWEST_REQUESTS) & pl.col("rate").is_not_nan())
    tested = by_rate(measured.filter(pl.col("outage").is_null()))
    usable = _with_plateau(_sent(measured, tested))
    bad = (usable["over"] | usable["failing"]).to_numpy()
    if _failed(counting := by_rate(table.filter(pl.col("outage").is_null()))):
        return no_verdict(sentences.all_failed(counting), table, target_failing=True)
    if tested.height < sentences.FEWEST_STEPS and not (
        sentences.GIVES_UP_AFTER <= usable.height == tested.height and bad.all()
    ):
        lacks = f"not enough data: {sentences.too_few(measured, tested.height)}"
        text = lacks + sentences.remedy(table, tested, asked) + sentences.outages(measured)
        return replace(no_verdict(text, table), lacks=lacks)
    first_generator, first_bad = first_lasting(tested["generator"].to_numpy()), _first_bad(usable, bad)
    if first_generator is not None:
        below = int((usable["rate"] < tested["rate"][first_generator]).sum())
        if first_bad is None or below <= first_bad + 1:
            return _generator_limited(tested, first_generator, table)
    rates, limited = usable["rate"].to_numpy(), tested.filter(pl.col("generator"))
    if first_bad is None and (above := limited.filter(pl.col("rate") > rates[~bad].max(initial=0.0))).height:
        first = tested["rate"].to_list().index(above["rate"][0])
        return _generator_limited(tested, first, table)
    if first_bad == 0:
        fewer = table.filter((pl.col("rate") < rates[0]) & (pl.col("scheduled") < sentences.FEWEST_REQUESTS))
        text = sentences.saturated_at_first(rates[0], fewer, others=bool(limited.height))
        return no_verdict(text + sentences.outages(measured), table)
    alone = [] if routes is None else slow_routes(_that_count(routes, measured), rates)
    if alone and 0 < (first := rates.tolist().index(alone[0].first)) <= (
        len(rates) if first_bad is None else first_bad
    ):
        onset, saturation = find_onset(usable[:first].filter(~bad[:first])), _of_routes(usable, first, alone)
        sentence = sentences.saturated(saturation) + sentences.outages(measured)
        return SaturationVerdict(sentence, onset, saturation, None, table)
    onset = find_onset(usable[:first_bad].filter(~bad[:first_bad]))
    if first_bad is None:
        return _none(usable, onset, table, sentences.outages(measured))
    saturation = _saturation(usable, first_bad)
    collapse = sentences.collapse(usable) if usable["over"][first_bad] else ""
    sentence = sentences.saturated(saturation) + collapse + sentences.outages(measured)
    return SaturationVerdict(sentence, onset, saturation, None, table)


def _that_count(routes: pl.DataFrame, measured: pl.DataFrame) -> pl.DataFrame:
    """The routes of the steps that had no outage and that this machine could send."""
    counted = measured.filter(pl.col("outage").is_null() & ~pl.col("generator"))["step"]
    return routes.filter(pl.col("step").is_in(counted.implode()))


def no_verdict(text: str, table: pl.DataFrame, *, target_failing: bool = False) -> SaturationVerdict:
    """Find neither onset nor saturation, for the reason given in words."""
    return SaturationVerdict(
        text, RateEstimate(False, text), RateEstimate(False, text), None, table, target_failing, answered=False
    )


def _sent(measured: pl.DataFrame, tested: pl.DataFrame) -> pl.DataFrame:
    """One row per rate, without steps in which the generator was the limit."""
    rates = tested.filter(~pl.col("generator"))["rate"].implode()
    return by_rate(measured.filter(pl.col("outage").is_null() & ~pl.col("generator") & pl.col("rate").is_in(rates)))


def by_rate(steps: pl.DataFrame) -> pl.DataFrame:
    """Return one row per rate, ascending: sums and medians of its trials, and flags that at least half of them have."""
    bad = pl.col("over") | pl.col("failing")
    mostly_over = pl.col("over").sum() >= (~pl.col("over") & pl.col("failing")).sum()
    medians = ("mean", "p50", "p90", "p95", "p99", "sent", "settled_goodput", "slope", "lag_p95", "growth")
    return (
        steps.group_by("rate")
        .agg(
            pl.col("scheduled", "errors", "net_errors").sum(),
            pl.col(*medians, "settled_completed", "fell_behind", "ok_p50", "ok_p99", "failed_p50", "duration").median(),
            pl.col("failure", "died").drop_nulls().first(),
            pl.col("error_base").first(),
            over=_half(bad) & mostly_over,
            failing=_half(bad) & (_half(pl.col("failing")) | ~mostly_over),
            generator=_half(pl.col("generator")),
        )
        .sort("rate")
    )


def _with_plateau(usable: pl.DataFrame) -> pl.DataFrame:
    """The same rates, of which those from a plateau of the goodput on are overloaded, whatever their times show.

    A backlog that drains between steps, or that is served in another order than it came, does not make the median of
    the response times rise within a step. But a target that answers no more at any higher rate has reached its limit.
    """
    rates, good = usable["rate"].to_numpy(), _good(usable)
    answered = usable["settled_completed"].cast(pl.Float64).fill_null(np.inf).to_numpy()
    growth = usable["growth"].cast(pl.Float64).fill_null(0.0).to_numpy()
    short = (good < SHORT * rates) & (answered < SHORT * rates) & (growth > GROWTH)
    p50 = usable["p50"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    for first in range(1, len(rates) - 1):
        most = good[first:].max()
        level = most <= PLATEAU * rates[first] and most * PLATEAU < rates[-1]
        if short[first:].all() and level and p50[first] > sentences.RISE * np.median(p50[:first]):
            return usable.with_columns(over=pl.Series(usable["over"].to_numpy() | (np.arange(len(rates)) >= first)))
    return usable


def _half(flag: pl.Expr) -> pl.Expr:
    return flag.mean() >= 0.5


def first_lasting(bad: Bools) -> int | None:
    """Return the first bad step after which 3 of the next 4 steps, or all remaining, are bad; None if there is none."""
    for index in np.flatnonzero(bad):
        following = bad[index + 1 : index + 5]
        if following.all() or following.sum() >= 3:
            return int(index)
    return None


def _first_bad(usable: pl.DataFrame, bad: Bools) -> int | None:
    """Return the first bad step that stays bad and is not refuted: by a higher rate at which more was answered.

    A server cannot answer more than it carries. Where a backlog grew at a rate, and more than this rate was answered
    at half of the higher ones, or at one without a backlog, other load, a pause or a cold cache had slowed the server,
    and not the rate. Where it grew at all higher rates as well, a part of the server is saturated, as by one slow
    route, and the rest is not. After such a slowness the highest rate alone proves nothing, nor where its backlog came
    of a pause: while it grew, less than `PAUSE` of the rate below was answered.
    """
    rates, over = usable["rate"].to_numpy(), usable["over"].to_numpy()
    good = usable["settled_goodput"].fill_null(0.0).to_numpy() / (1 - usable["error_base"].to_numpy())
    left = bad.copy()
    while (first := first_lasting(left)) is not None:
        later, more = good[first + 1 :], (1 + NEAR) * rates[first]
        carried = ~bad & (good >= CARRIED * rates) & (rates > more)
        refuted = over[first] and not bad[first:].all() and (carried.any() or np.median(later) > more)
        if not refuted:
            alone = first == len(rates) - 1
            paused = alone and first and (usable["fell_behind"][first] or math.inf) < PAUSE * good[first - 1]
            return None if alone and (bad[:first].any() or paused) else first
        left[first] = False
    return None


def find_onset(steps: pl.DataFrame) -> RateEstimate:
    """Find the rate at which p90 is `TWICE` its floor, its value at the lowest rates.

    Between the rates that were tried, p90 is taken to rise with the rate (isotonic regression of its logarithm). The
    range is that of `widened`. The steps are the good ones below saturation. Where p90 is not known, the mean serves.
    """
    name = _known(steps, "p90", "mean")
    frame = steps.filter(pl.col(name).is_finite() & (pl.col(name) > 0))
    if frame.height < sentences.FEWEST_STEPS:
        return RateEstimate(False, "too few steps before saturation to find the onset")
    rates, rising = frame["rate"].to_numpy(), isotonic(np.log(frame[name].to_numpy()))
    limit = rising[0] + math.log(TWICE)
    above = int(np.searchsorted(rising, limit))
    if above == len(rates):
        return RateEstimate(
            False, f"{name} stays below twice its floor (it rose {math.exp(rising[-1] - rising[0]):.1f}x)"
        )
    at = float(np.interp(limit, rising[above - 1 : above + 1], rates[above - 1 : above + 1]))
    return RateEstimate(True, f"{name} is twice its floor", at, *widened(rates, above))


def _saturation(usable: pl.DataFrame, first: int) -> RateEstimate:
    rates = usable["rate"].to_numpy()
    low, high = widened(rates, first)
    why = sentences.seen(usable, first)
    if usable["over"][first]:
        least, most = (1 - NEAR) * rates[first - 1], (1 + NEAR) * rates[first]
        partly = np.median(_good(usable)[first:]) > most  # where one of several routes is slow, the others go on
        near = [] if partly else [guess for guess in _capacities(usable, first) if least <= guess <= most]
        rate = float(np.median(near) if near else rates[first - 1 : first + 1].mean())
        if (lasting := _lasting_rate(usable, first)) is not None:
            seen = usable["fell_behind"][first:].drop_nulls().to_numpy()
            wide = rates[first] > (1 + 2 * NEAR) * rates[first - 1]  # what was seen for a moment is no more exact
            rate = float(np.clip(seen[0], least, most)) if len(seen) and wide else rate
            why += sentences.falls(rate, lasting)
        elif near:
            low, high = max(low, (1 - WITHIN) * rate), min(high, (1 + WITHIN) * rate)
    elif usable["died"][first] is not None:
        rate = float(rates[first - 1 : first + 1].mean())
    else:
        least, rate, most = _one_percent_errors(usable, first)
        why = sentences.seen(usable, first, likely_before=rate < rates[first - 1])
        low = min(max(low, (1 - WITHIN_ERRORS) * rate), least)
        high = max(min(high, (1 + WITHIN_ERRORS) * rate), most)
    return RateEstimate(True, why, rate, low, high)


def _of_routes(usable: pl.DataFrame, first: int, alone: list[SlowRoute]) -> RateEstimate:
    """The rate of all requests at which some routes saturate: what they answer, over their share of the requests."""
    rates = usable["rate"].to_numpy()
    low, high = widened(rates, first)
    guesses = [route.completed / route.share for route in alone if route.completed > 0]
    guess = float(np.median(guesses)) if guesses else float(rates[first - 1 : first + 1].mean())
    rate = float(np.clip(guess, (1 - 2 * NEAR) * rates[first - 1], (1 + NEAR) * rates[first]))
    low = min(low, (1 - NEAR) * rate)  # near its limit the backlog of a small route is within chance
    named = [(each.name, each.share) for each in alone]
    why = sentences.of_routes(usable, first, named, grows=bool(guesses))
    return RateEstimate(True, why, rate, low, high)


def _lasting_rate(usable: pl.DataFrame, first: int) -> float | None:
    """What a target carries in overload where its capacity falls at once; None where it does not.

    It carried more than that at a lower rate or as the backlog formed, and the two highest overloaded rates without
    errors agree.
    """
    over = _good(usable[first:].filter(pl.col("over") & ~pl.col("failing")))
    if not len(over) or usable["settled_goodput"][first] is None:
        return None
    before = usable["fell_behind"][first:].drop_nulls().to_numpy().max(initial=_good(usable)[first - 1])
    lasting = float(np.median(over))
    return lasting if before > FALLS * lasting and over[-LASTING:].max() <= FALLS * lasting else None


def _good(usable: pl.DataFrame) -> Floats:
    """(rates,) requests/s answered as expected, or that failed as they do at the lowest rates."""
    good: Floats = usable["settled_goodput"].to_numpy() / (1 - usable["error_base"].to_numpy())
    return np.where(np.isnan(good), usable["rate"].to_numpy(), good)


def _one_percent_errors(usable: pl.DataFrame, first: int) -> tuple[float, float, float]:
    """The rate at which 1 % fail beyond the base, between the ends of the range that the failures show.

    Steps below the first failing one may have failed more than 1 %, and not beyond chance: where the share rises below
    it, all steps from there on tell the rate and the range. Elsewhere, and beside a base above `LARGE_BASE`, it rises
    between the last good step and the first failing one, exponentially, as that of a queue with a limit. The target
    carries no more than the failing step answered, or the last good rate if that is higher. Where it answered more than
    `NEAR` less than that rate, the target collapsed: then the rate is half-way between both.
    """
    good = usable[:first].filter(~pl.col("over") & ~pl.col("failing"))
    upto = pl.concat([good if good.height else usable[first - 1 : first], usable[first : first + 1]])
    rates, failed, sent = (upto[name].to_numpy() for name in ("rate", "errors", "scheduled"))
    base, answered = float(usable["error_base"][first]), float(_good(upto)[-1])
    if base > LARGE_BASE or not rises(failed[:-1], sent[:-1]):
        shares = np.maximum.accumulate(np.maximum(failed[-2:], 0.5) / sent[-2:])
        rate = float(np.interp(math.log(ERROR_SHARE + base), np.log(shares), rates[-2:]))
        least, most = math.inf, 0.0
    else:
        may_fail = share_that_may_fail(failed, sent, base)
        start = last_below(failed[:-1], sent[:-1], may_fail)
        found = failing_rates(rates[start:], failed[start:], sent[start:], may_fail)
        least, rate, most = (min(each, float(rates[-1])) for each in bracket(*found))
        rate = max(rate, float(rates[start]))
    rate = float(rates[-2:].mean()) if answered < (1 - NEAR) * rates[-2] else min(rate, max(answered, rates[-2]))
    return min(least, rate), rate, max(most, rate)


def _capacities(usable: pl.DataFrame, first: int) -> list[float]:
    """What the overloaded steps say the capacity is: what they answered, and how fast they fell behind.

    While r requests/s come and c are served, waiting grows by r/c - 1 seconds a second, until the time-out cuts it
    off. What a server answers in overload may fall from step to step: then the first step says most.
    """
    answered = _good(usable[first : first + 3].filter(pl.col("settled_goodput").is_not_null()))
    growing = usable[first : first + 5].filter(pl.col("slope").is_not_null())
    fluid = growing["rate"].to_numpy() / (1 + np.maximum(growing["slope"].to_numpy(), 0.0))
    guesses = [float(max(answered[0], np.median(answered)))] if len(answered) else []
    return [*guesses, float(np.median(fluid))] if len(fluid) else guesses


def widened(rates: Floats, first_bad: int) -> tuple[float, float]:
    """Return the bracket [last good, first bad], one step wider on each side.

    docs/accuracy.md says in how many simulated sweeps it holds saturation.
    Where steps are small, it is wider by `NEAR` at least: close to saturation a step is good or bad by chance.
    """
    good, bad = float(rates[first_bad - 1]), float(rates[first_bad])
    low = float(rates[first_bad - 2]) if first_bad >= 2 else max(2 * good - bad, 0.0)
    high = float(rates[first_bad + 1]) if first_bad + 1 < len(rates) else 2 * bad - good
    return min(low, (1 - NEAR) * good), max(high, (1 + NEAR) * bad)


def _failed(steps: pl.DataFrame) -> bool:
    """Whether more than half of the requests failed at each rate, and not for lack of a generator."""
    failed = steps["errors"] > FAILING * steps["scheduled"]
    sent = steps.filter(~pl.col("generator"))["scheduled"].sum()
    return int(sent) >= FEWEST and bool(failed.all())


def _generator_limited(usable: pl.DataFrame, first: int, table: pl.DataFrame) -> SaturationVerdict:
    limit, offered = (float(usable[name].to_numpy()[: first + 1].max()) for name in ("sent", "rate"))
    lag, measured = usable["lag_p95"][first], usable.filter(~pl.col("generator"))["rate"].to_list()
    late = lag if lag > LATE_S else None
    text = sentences.generator_limited(limit, offered, late, measured[-1] if measured else None)
    return replace(no_verdict(text, table), generator_limit=limit)


def _none(usable: pl.DataFrame, onset: RateEstimate, table: pl.DataFrame, outages: str) -> SaturationVerdict:
    usable = usable.filter(~pl.col("over") & ~pl.col("failing"))
    high = float(usable["rate"].to_numpy().max())
    name = _known(usable, "p99", "ok_p99", "p95", "p90", "mean")
    tail = usable[name].drop_nulls().to_numpy()
    tail = tail[np.isfinite(tail)]
    name = "p99 of the good responses" if name == "ok_p99" else name
    rise = None
    if len(tail):
        rise = float(tail.max() / tail[0]) if tail[0] > 0 else 1.0
    fits = onset.found and rise is not None and rise >= sentences.RISE
    queue = queueing.fit(usable["rate"].to_numpy(), usable["mean"].to_numpy()) if fits else None
    text = sentences.no_saturation(high, name, rise, onset, queue if queue and queue.usable else None)
    return SaturationVerdict(text + outages, onset, RateEstimate(False, text), None, table)


def _known(steps: pl.DataFrame, *names: str) -> str:
    """The first of these columns that has a time for enough steps; otherwise the last."""
    enough = max(sentences.FEWEST_STEPS, steps.height - 1)  # one step may have an infinite one
    return next((name for name in names if steps[name].is_finite().sum() >= enough), names[-1])
