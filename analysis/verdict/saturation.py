"""Finds onset and saturation in the steps of a run, each with a range or the reason for its absence.

A "knee" moves with the scale of the axes, so none is reported. Two rates are. **Onset**: the rate at which p90 is twice
its floor. **Saturation**: the rate from which the backlog grows or errors start. A flat or gently rising curve has
neither: the reason is given instead of a number.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show
from logreplay.analysis.statistics import queueing
from logreplay.analysis.statistics.failures import ERROR_SHARE, FAILING
from logreplay.analysis.statistics.isotonic import isotonic
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict.outages import FEWEST
from logreplay.analysis.verdict.stability import CUT, LATE_S
from logreplay.analysis.verdict.status_changes import CREDENTIALS
from logreplay.core.plural import number_of

FEWEST_STEPS: Final = 5
GIVES_UP_AFTER: Final = 2
"""Bad steps in a row after which a sweep goes no higher: if it had no others, that is the answer."""
FEWEST_REQUESTS: Final = 100
STEADY: Final = 1.5
"""Below so many times their value at the lowest rate, response times stay flat."""
RISE: Final = 3.0
"""From so many times on, they rise."""
TWICE: Final = 2.0
"""The onset is where p90 is so many times its floor."""
FLAT: Final = 2.0
"""Response times are flat if the median of the good responses is below so many times that at the lowest rate."""
GAVE_UP: Final = 3.0
GAVE_UP_S: Final = 0.1
"""Errors that take so many times as long as a good response, and so long, are the end of a wait."""
NEAR: Final = 0.075
"""Share of a rate: so close to saturation steps of ten seconds are good or bad by chance."""

_OTHERS: Final = {
    "tls": "which are failures of TLS",
    "protocol": "which violate HTTP",
    "other": "for which the log has a word of its own",
}
"""What the other kinds of errors say."""


@dataclass(frozen=True)
class RateEstimate:
    """A rate at which the curve changes, or why there is none.

    Attributes:
        found: whether there is one.
        why: what it rests on, or why there is none.
        rate: requests/s.
        low: lower end of the range that holds it, in how many runs docs/analysis.md says.
        high: upper end.
    """

    found: bool
    why: str
    rate: float | None = None
    low: float | None = None
    high: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The form of summary.json."""
        return asdict(self) if self.found else {"found": False, "why": self.why}


@dataclass(frozen=True)
class SaturationVerdict:
    """Onset, saturation and limit of a sweep, and its step table.

    Attributes:
        sentence: the answer in words.
        onset: the rate at which p90 is twice its floor.
        saturation: the rate from which the backlog grows or errors start.
        generator_limit: highest rate this machine could send, where that ended the measurement; else None.
        steps: the step table with the evidence of each step.
        target_failing: whether more than half of the requests failed at every rate.
    """

    sentence: str
    onset: RateEstimate
    saturation: RateEstimate
    generator_limit: float | None
    steps: pl.DataFrame = field(repr=False, compare=False)
    target_failing: bool = False

    @property
    def word(self) -> str:
        """Whether the target was measured: ``VALID``, ``GENERATOR_BOUND`` or ``TARGET_FAILING``."""
        if self.generator_limit is not None:
            return "GENERATOR_BOUND"
        return "TARGET_FAILING" if self.target_failing else "VALID"


def judge(table: pl.DataFrame, asked: Collection[float] = ()) -> SaturationVerdict:
    """Find onset and saturation in the steps of a run, or say why there is none.

    Requests that the generator dropped count neither as sent nor as failures of the target.

    Args:
        table: steps with their evidence, of `stability.judged_steps`. Those that are ``cut`` do not count.
        asked: the rates of a sweep that ended by itself, also those that it left out.
    """
    sent = table.with_columns(pl.col("scheduled", "errors") - pl.col("dropped"))
    found, cut = _judge(sent.filter(pl.col("verdict") != CUT), asked), table.filter(pl.col("verdict") == CUT)["rate"]
    return replace(found, sentence=found.sentence + describe_cut_steps(f"at {rate:g}/s" for rate in cut), steps=table)


def describe_cut_steps(cut: Iterable[str]) -> str:
    """Words for steps that were cut short."""
    return "".join(f"; the step {name} was cut short, not counted" for name in cut)


def _judge(table: pl.DataFrame, asked: Collection[float]) -> SaturationVerdict:
    measured = table.filter((pl.col("scheduled") >= FEWEST_REQUESTS) & pl.col("rate").is_not_nan())
    tested = by_rate(measured.filter(pl.col("outage").is_null()))
    usable = _sent(measured, tested)
    bad = (usable["over"] | usable["failing"]).to_numpy()
    if _failed(counting := by_rate(table.filter(pl.col("outage").is_null()))):
        return no_verdict(_all_failed(counting), table, target_failing=True)
    if tested.height < FEWEST_STEPS and not (GIVES_UP_AFTER <= usable.height == tested.height and bad.all()):
        return no_verdict(
            f"not enough data: {_too_few(measured, tested.height)}{_remedy(table, tested, asked)}{_outages(measured)}",
            table,
        )
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
        text = (
            f"saturated already at the lowest rate{' that counts' * bool(limited.height)}, {rates[0]:g}/s: sweep lower"
        )
        return no_verdict(text + _outages(measured), table)
    onset = find_onset(usable[:first_bad].filter(~bad[:first_bad]))
    if first_bad is None:
        return _none(usable, onset, table, _outages(measured))
    saturation = _saturation(usable, first_bad)
    sentence = f"saturation ~{saturation.rate:.0f}/s ({_span(saturation)}): {saturation.why}"
    collapse = _collapse(usable) if usable["over"][first_bad] else ""
    return SaturationVerdict(sentence + collapse + _outages(measured), onset, saturation, None, table)


def _span(bend: RateEstimate) -> str:
    """The range of a rate, as text."""
    return f"{round(bend.low or 0.0, 1):g}–{round(bend.high or 0.0, 1):g}"


def no_verdict(text: str, table: pl.DataFrame, *, target_failing: bool = False) -> SaturationVerdict:
    """Find neither onset nor saturation, for the reason given in words."""
    return SaturationVerdict(text, RateEstimate(False, text), RateEstimate(False, text), None, table, target_failing)


def _sent(measured: pl.DataFrame, tested: pl.DataFrame) -> pl.DataFrame:
    """The rates that this machine could send, one row each: what a step shows in which it could not does not count."""
    rates = tested.filter(~pl.col("generator"))["rate"].implode()
    return by_rate(measured.filter(pl.col("outage").is_null() & ~pl.col("generator") & pl.col("rate").is_in(rates)))


def by_rate(steps: pl.DataFrame) -> pl.DataFrame:
    """Return one row per rate, ascending: of several trials their sums and medians, and what at least half of them are.

    Args:
        steps: with their evidence.
    """
    bad = pl.col("over") | pl.col("failing")
    mostly_over = pl.col("over").sum() >= (~pl.col("over") & pl.col("failing")).sum()
    medians = ("mean", "p50", "p90", "p95", "p99", "sent", "settled_goodput", "slope", "lag_p95")
    return (
        steps.group_by("rate")
        .agg(
            pl.col("scheduled", "errors", "net_errors").sum(),
            pl.col(*medians, "ok_p50", "ok_p99", "failed_p50", "duration").median(),
            pl.col("failure").drop_nulls().first(),
            pl.col("error_base").first(),
            over=_half(bad) & mostly_over,
            failing=_half(bad) & (_half(pl.col("failing")) | ~mostly_over),
            generator=_half(pl.col("generator")),
        )
        .sort("rate")
    )


def _half(flag: pl.Expr) -> pl.Expr:
    return flag.mean() >= 0.5


def first_lasting(bad: "np.ndarray[Any, np.dtype[np.bool_]]") -> int | None:
    """Return the first bad step that stays bad: so are 3 of the next 4, or all that remain; None if none does."""
    for index in np.flatnonzero(bad):
        following = bad[index + 1 : index + 5]
        if following.all() or following.sum() >= 3:
            return int(index)
    return None


def _first_bad(usable: pl.DataFrame, bad: "np.ndarray[Any, np.dtype[np.bool_]]") -> int | None:
    """Return the first bad step that stays bad and is not refuted: by a higher rate at which more was answered.

    A server cannot answer more than it carries. Where a backlog grew at a rate, and more than this rate was answered
    at a higher one, other load, a pause or a cold cache had slowed the server, and not the rate. Where it grew at all
    higher rates as well, a part of the server is saturated, as by one slow route, and the rest is not. After such a
    slowness the highest rate alone proves nothing.
    """
    rates, over = usable["rate"].to_numpy(), usable["over"].to_numpy()
    good = usable["settled_goodput"].fill_null(0.0).to_numpy() / (1 - usable["error_base"].to_numpy())
    left = bad.copy()
    while (first := first_lasting(left)) is not None:
        later = good[first + 1 :]
        if not over[first] or bad[first:].all() or not len(later) or np.median(later) <= (1 + NEAR) * rates[first]:
            return None if first == len(rates) - 1 and bad[:first].any() else first
        left[first] = False
    return None


def find_onset(steps: pl.DataFrame) -> RateEstimate:
    """Find the rate at which p90 is `TWICE` its floor, its value at the lowest rates.

    Between the rates that were tried, p90 is taken to rise with the rate (isotonic regression of its logarithm). The
    range is that of `widened`.

    Args:
        steps: the good steps in order of rate, below saturation. Where p90 is not known, the mean serves.
    """
    name = _known(steps, "p90", "mean")
    frame = steps.filter(pl.col(name).is_finite() & (pl.col(name) > 0))
    if frame.height < FEWEST_STEPS:
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
    if usable["over"][first]:
        least, most = (1 - NEAR) * rates[first - 1], (1 + NEAR) * rates[first]
        partly = np.median(_good(usable)[first:]) > most  # where one of several routes is slow, the others go on
        near = [] if partly else [guess for guess in _capacities(usable, first) if least <= guess <= most]
        rate = float(np.median(near) if near else rates[first - 1 : first + 1].mean())
    else:
        rate = _one_percent_errors(usable, first)
    return RateEstimate(True, _why(usable, first), rate, low, high)


def _good(usable: pl.DataFrame) -> Floats:
    """(rates,) requests/s answered as expected, or that failed as they do at the lowest rates."""
    good: Floats = usable["settled_goodput"].to_numpy() / (1 - usable["error_base"].to_numpy())
    return np.where(np.isnan(good), usable["rate"].to_numpy(), good)


def _one_percent_errors(usable: pl.DataFrame, first: int) -> float:
    """The rate at which 1 % fail: at most what the first failing step answered.

    Between the last good step and that one the share is taken to grow exponentially, as that of a queue with a limit.
    """
    ends = usable[first - 1 : first + 1]
    shares = np.maximum(ends["errors"].to_numpy(), 0.5) / ends["scheduled"].to_numpy()
    rates = ends["rate"].to_numpy()
    limit = ERROR_SHARE + usable["error_base"][first]
    rate = float(np.interp(math.log(limit), np.log(np.maximum.accumulate(shares)), rates))
    return float(np.clip(min(rate, _good(ends)[1]), rates[0], rates[1]))


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

    docs/analysis.md says in how many simulated sweeps it holds saturation.
    Where steps are small, it is wider by `NEAR` at least: close to saturation a step is good or bad by chance.
    """
    good, bad = float(rates[first_bad - 1]), float(rates[first_bad])
    low = float(rates[first_bad - 2]) if first_bad >= 2 else max(2 * good - bad, 0.0)
    high = float(rates[first_bad + 1]) if first_bad + 1 < len(rates) else 2 * bad - good
    return min(low, (1 - NEAR) * good), max(high, (1 + NEAR) * bad)


def _why(usable: pl.DataFrame, first: int) -> str:
    row, lowest = usable.row(first, named=True), usable.row(0, named=True)
    span = f"from {round(usable['rate'][first - 1], 1):g}–{round(row['rate'], 1):g}/s on"
    if row["over"]:
        return f"the backlog grows {span}" + (f", then errors ({row['failure']})" if row["failing"] else "")
    return f"errors {span} ({row['failure']}), {_cause(row, lowest)}"


def _cause(row: Mapping[str, Any], lowest: Mapping[str, Any]) -> str:
    """Words for what refuses requests, from the kind of the errors and from how long the others and they took."""
    kind = row["failure"].partition(":")[0]
    normal, now, failed = (each or math.nan for each in (lowest["ok_p50"], row["ok_p50"], row["failed_p50"]))
    flat, rising = now <= FLAT * normal, now > FLAT * normal  # neither where a time is not known
    if kind in ("timeout", "connect_timeout"):
        return "which are time-outs of the client" + (f", after {show(failed)}" if failed > 0 else "")
    if kind in ("refused", "reset", "closed", "short_body"):
        if flat and kind == "refused":
            return "response times flat: a limit of connections or load shedding"
        return "the target dropped connections: crashes, or a limit of connections"
    if failed > GAVE_UP * normal and failed > GAVE_UP_S:
        return f"which came after {show(failed)}: a time-out in the target, as of a connection pool or a queue"
    if kind in ("429", "503"):
        limiter = "a queue with a limit: load shedding" if rising else "rate limiter or load shedding"
        return f"response times flat: {limiter}" if flat else limiter
    if kind.isdigit():
        return "which the application answers" + " at once" * (failed > 0)
    return _OTHERS.get(kind, "whose kind the log does not say")


def _too_few(measured: pl.DataFrame, usable: int) -> str:
    """Words for fewer rates than a verdict needs."""
    tried = measured["rate"].n_unique()
    if tried and not usable:
        return f"all {tried} rates had an outage" if tried > 1 else "the only rate had an outage"
    calm = " and no outage" * (tried > usable)
    have = "no rate has" if not usable else number_of(usable, "rate has", "rates have")
    return f"{have} {FEWEST_REQUESTS} requests or more{calm}; {FEWEST_STEPS} such rates are needed"


def _remedy(table: pl.DataFrame, tested: pl.DataFrame, asked: Collection[float]) -> str:
    """Words for what to do about fewer rates than a verdict needs; empty where nothing but outages was measured."""
    tried = table.filter(pl.col("rate").is_not_nan() & (pl.col("rate") > 0))  # 0: of users, who set no rate
    rates = tried["rate"].unique().to_list()
    if not rates or (not tested.height and tried["outage"].is_not_null().any()):
        return ""
    left_out = len(set(asked)) - len(rates)
    ended_itself = tested.height > 0 and bool((tested["over"] | tested["failing"])[-1])
    if left_out > 0 and not ended_itself:
        return f": measure the {number_of(left_out, 'other rate')}, too"
    told = suggest_more_data(rates, float(tried["duration"].to_numpy().max())) or "repeat the measurement"
    return f": {told}" + f", or add --keep-going for the {number_of(left_out, 'rate')} left out" * (left_out > 0)


def check_feasible(rates: Collection[float], seconds: float) -> str:
    """Say why a sweep of steps so long cannot have an answer, before it is made; empty if it can."""
    enough = sum(rate * seconds >= FEWEST_REQUESTS for rate in set(rates))
    if enough >= FEWEST_STEPS:
        return ""
    text = f"an answer needs {FEWEST_STEPS} rates with {FEWEST_REQUESTS} requests each, and this sweep has {enough}"
    return f"{text}: {suggest_more_data(rates, seconds)}"


def suggest_more_data(rates: Collection[float], seconds: float) -> str:
    """Say which rates, and how long steps, give enough rates enough requests; empty where these do."""
    some = sorted(set(rates), reverse=True)
    low, high = some[-1], some[0] if len(some) > 1 else FEWEST_STEPS * some[0]
    fewer = f"give more rates, such as {low:g}..{high:g}:{_step((high - low) / (FEWEST_STEPS - 1)):g}"
    needed = FEWEST_REQUESTS / some[:FEWEST_STEPS][-1]
    longer = f"make the steps longer, such as --for {math.ceil(needed - 1e-9)}s"
    return " and ".join([fewer] * (len(some) < FEWEST_STEPS) + [longer] * (needed > 1.01 * seconds))


def _step(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above."""
    power = 10.0 ** math.floor(math.log10(most))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= most * (1 + 1e-9))


def _failed(steps: pl.DataFrame) -> bool:
    """Whether more than half of the requests failed at each rate, and not for want of a generator."""
    failed = steps["errors"] > FAILING * steps["scheduled"]
    sent = steps.filter(~pl.col("generator"))["scheduled"].sum()
    return int(sent) >= FEWEST and bool(failed.all())


def _all_failed(usable: pl.DataFrame) -> str:
    """Words for a target that failed more than half of the requests at every rate."""
    share = int(usable["errors"].sum()) / int(usable["scheduled"].sum())
    text = f"the target fails at every rate: {100 * share:.0f} % of the requests ({usable['failure'][0]}); "
    best = usable.select((pl.col("rate") * (1 - pl.col("errors") / pl.col("scheduled"))).max()).item()
    if best > 0:
        return f"{text}at most {best:.3g}/s were answered as expected: sweep lower, or repair the target"
    if usable["failure"][0].startswith(("401", "403")):
        return f"{text}nothing was measured: it asks for cookies or passwords; {CREDENTIALS}"
    return text + "nothing was measured: check its address and its log"


def _outages(measured: pl.DataFrame) -> str:
    """Words for the outages in steps that do not count."""
    steps = measured.filter(pl.col("outage").is_not_null())
    told = ""
    for text in steps["outage"].unique(maintain_order=True):
        rates = steps.filter(pl.col("outage") == text)["rate"].unique().sort()
        told += f"; {text} ({', '.join(f'{rate:g}' for rate in rates)}/s, not counted)"
    return told


def _generator_limited(usable: pl.DataFrame, first: int, table: pl.DataFrame) -> SaturationVerdict:
    lag = usable["lag_p95"][first]
    limit = float(usable["sent"].to_numpy()[: first + 1].max())
    why = f"generator lag p95 {1000 * lag:.0f} ms" if lag > LATE_S else "the findings name its limit"
    measured = usable.filter(~pl.col("generator"))["rate"]
    upto = f"the target was measured up to {round(measured[-1], 1):g}/s" if len(measured) else "nothing was measured"
    asked = float(usable["rate"].to_numpy()[: first + 1].max())
    of = f" of {asked:g}/s offered" if round(asked) > round(limit) else ""
    text = f"replay machine limited at {limit:.0f}/s{of} ({why}): {upto}"
    return SaturationVerdict(text, RateEstimate(False, text), RateEstimate(False, text), limit, table)


def _none(usable: pl.DataFrame, onset: RateEstimate, table: pl.DataFrame, outages: str) -> SaturationVerdict:
    usable = usable.filter(~pl.col("over") & ~pl.col("failing"))
    high = float(usable["rate"].to_numpy().max())
    name = _known(usable, "p99", "ok_p99", "p95", "p90", "mean")
    tail = usable[name].drop_nulls().to_numpy()
    tail = tail[np.isfinite(tail)]
    if not len(tail):
        text = f"no saturation up to {round(high, 1):g}/s: no backlog grows; how response times rise is unknown"
        return SaturationVerdict(text + outages, onset, RateEstimate(False, text), None, table)
    rise = float(tail.max() / tail[0]) if len(tail) and tail[0] > 0 else 1.0
    name = "p99 of the good responses" if name == "ok_p99" else name
    if rise < RISE:
        seen = "response times stay flat" if round(rise, 1) < STEADY else "no queue builds up"
        text = f"no saturation up to {round(high, 1):g}/s: {seen} ({name} rose {rise:.1f}x)"
    else:
        text = f"no saturation up to {round(high, 1):g}/s; response times rise"
        text += f" (onset ~{onset.rate:.0f}/s, range {_span(onset)})" if onset.found else f" ({name} rose {rise:.1f}x)"
        found = queueing.fit(usable["rate"].to_numpy(), usable["mean"].to_numpy())
        if found and found.usable and onset.found:
            text += (
                f"; queueing fit suggests ~{found.capacity:.0f}/s (rho {found.utilisation:.2f} reached; rough, ±15 %)"
            )
    return SaturationVerdict(text + outages, onset, RateEstimate(False, text), None, table)


def _known(steps: pl.DataFrame, *names: str) -> str:
    """The first of these columns that has a time for enough steps; else the last."""
    enough = max(FEWEST_STEPS, steps.height - 1)  # one step may have an infinite one
    return next((name for name in names if steps[name].is_finite().sum() >= enough), names[-1])


def _collapse(usable: pl.DataFrame) -> str:
    """Words for goodput that falls by more than a fifth under its peak, and stays there, while more is offered.

    Steps with time-outs of the client are left out: there, goodput depends on the time-out.
    """
    waited = usable.filter(pl.col("net_errors") < ERROR_SHARE * pl.col("scheduled"))
    goodput = waited["settled_goodput"].drop_nulls().to_numpy()
    if not len(goodput):
        return ""
    after = goodput[int(goodput.argmax()) + 1 :]
    return "; congestion collapse" if len(after) >= GIVES_UP_AFTER and after[-2:].max() < 0.8 * goodput.max() else ""
