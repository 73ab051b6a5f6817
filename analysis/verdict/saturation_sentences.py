"""The sentences of the verdict on a sweep: one for the evidence, and one for the limits of this evidence.

Each sentence stands beside the rule that chooses its words; `logreplay.analysis.verdict.saturation` finds the figures.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from logreplay.analysis.format_time import show, show_length, show_range, show_rate
from logreplay.analysis.statistics.failures import ERROR_SHARE
from logreplay.analysis.tables.aggregate import SETTLE
from logreplay.analysis.untested import OTHER_LOAD, another_mix, not_tested
from logreplay.analysis.verdict.status_changes import CREDENTIALS
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import first_of, number_of

if TYPE_CHECKING:
    from logreplay.analysis.statistics import queueing

FEWEST_STEPS: Final = 5
FEWEST_REQUESTS: Final = 100
GIVES_UP_AFTER: Final = 2
"""Bad steps in a row after which a sweep tries no higher rate; if it has no other steps, all were bad."""
CHANCE_Z: Final = 2.3
LEAST_APART: Final = 0.02
"""Share of the rate: closer to the capacity no step decides within minutes."""
RISE: Final = 3.0
"""Multiple of their value at the lowest rate, from which response times rise."""
STEADY: Final = 1.5
"""Multiple of their value at the lowest rate, below which response times stay flat."""
FLAT: Final = 2.0
"""Multiple of its value at the lowest rate, below which the median of good responses counts as flat."""
GAVE_UP: Final = 3.0
GAVE_UP_S: Final = 0.1
"""Errors that take this many times as long as a good response, and this many seconds, end a wait."""

_OTHERS: Final = {
    "tls": "which are failures of TLS",
    "protocol": "which violate HTTP",
    "other": "for which the log has a word of its own",
}
"""Meanings of the other kinds of errors."""


@dataclass(frozen=True)
class RateEstimate:
    """A rate at which the curve changes, or why there is none.

    Attributes:
        found: True if there is such a rate.
        why: evidence for the rate, or the reason why there is none.
        rate: requests/s.
        low: lower end of the range; docs/accuracy.md says how often it holds the rate.
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


def saturated(found: RateEstimate) -> str:
    """Words for a saturation that was found."""
    rate, low, high = (show_rate(each or 0.0) for each in (found.rate, found.low, found.high))
    return f"saturation at about {rate}/s (between {low} and {high}/s): {found.why}"


def generator_limited(limit: float, offered: float, lag_s: float | None, measured: float | None) -> str:
    """Words for a sweep that this machine ended, which could send ``limit`` of the requests/s offered.

    ``lag_s`` is p95 of the generator lag there, if it was late, ``measured`` the highest rate that was measured.
    """
    why = "the findings name its limit" if lag_s is None else f"generator lag p95 {1000 * lag_s:.0f} ms"
    of = f" of {offered:g}/s offered" if offered > limit and show_rate(offered) != show_rate(limit) else ""
    upto = "nothing was measured" if measured is None else f"the target was measured up to {round(measured, 1):g}/s"
    return f"replay machine limited at {show_rate(limit)}/s{of} ({why}): {upto}"


def no_saturation(
    high: float, figure: str, rise: float | None, onset: RateEstimate, queue: "queueing.Fit | None"
) -> str:
    """Words for a sweep without saturation up to the highest rate.

    ``rise``: highest value of the figure as a multiple of that at the lowest rate; ``queue``: fits the response times.
    """
    text = f"no saturation up to {round(high, 1):g}/s"
    if rise is None:
        return f"{text}: no backlog grows; how response times rise is unknown"
    rose = f"({figure} rose {rise:.1f}x)"
    if rise < RISE:
        return f"{text}: {'response times stay flat' if round(rise, 1) < STEADY else 'no queue builds up'} {rose}"
    text += "; response times rise "
    text += f"(onset ~{show_rate(onset.rate or 0.0)}/s, range {_range(onset)})" if onset.found else rose
    if queue is None:
        return text
    capacity = show_rate(queue.capacity)
    return f"{text}; queueing fit suggests ~{capacity}/s (rho {queue.utilisation:.2f} reached; rough, ±15 %)"


def _range(found: RateEstimate) -> str:
    return show_range(found.low or 0.0, found.high or 0.0)


def seen(usable: pl.DataFrame, first: int, *, likely_before: bool = False) -> str:
    """Words for the evidence at the first bad rate; ``likely_before``: the rate below it is likely bad, too."""
    row, lowest = usable.row(first, named=True), usable.row(0, named=True)
    place = _place(row["rate"], usable["rate"][first - 1], likely_before=likely_before)
    if row["died"] and not row["over"]:
        return f"the target died at {row['rate']:g}/s with {row['died']}, and did not answer again ({row['failure']})"
    if row["over"]:
        return f"the backlog grows {place}" + (f", then errors ({row['failure']})" if row["failing"] else "")
    return f"errors {place} ({row['failure']}), {_cause(row, lowest)}"


def _place(bad: float, good: float, *, likely_before: bool = False) -> str:
    """The lowest rate that is bad, and the highest below it, requests/s."""
    return f"at {round(bad, 1):g}/s{' for sure, likely' if likely_before else ', not'} at {round(good, 1):g}/s"


def _cause(row: Mapping[str, Any], lowest: Mapping[str, Any]) -> str:
    """Words for the cause of refusals, from the kind of the errors, their times and those of good responses."""
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


def falls(before: float, lasting: float) -> str:
    """Words for capacity that falls at once under overload."""
    first, then = show_rate(before), show_rate(lasting)
    return f"; the target carries {first}/s until a backlog forms, and {then}/s then, which lasts"


def of_routes(usable: pl.DataFrame, first: int, routes: Sequence[tuple[str, float]], *, grows: bool) -> str:
    """Words for routes (name, share) that saturate alone from a rate on: their backlog grows, or else they fail."""
    row, good = usable.row(first, named=True), usable["rate"][first - 1]
    shares = [f"{safe_to_show(name)} ({100 * share:.0f} % of the requests)" for name, share in routes]
    place = _place(row["rate"], good)
    place += f" ({row['failure']})" if row["failure"] and not grows else ""
    alone = f"only on {'route' if len(routes) == 1 else 'routes'} {' and '.join(shares)}"
    return f"{'the backlog grows' if grows else 'errors'} {place}, {alone}"


def saturated_at_first(rate: float, below: pl.DataFrame, *, others: bool) -> str:
    """Words for a target that is overloaded at the lowest rate that counts.

    ``below``: the steps at lower rates with too few requests to be judged; ``others``: lower rates do not count for
    another reason.
    """
    if below.is_empty() or below.sort("rate").select(pl.col("over") | pl.col("failing")).item(0, 0):
        return f"saturated already at the lowest rate{' that counts' * others}, {rate:g}/s: sweep lower"
    longest = float(below["duration"].to_numpy().max())
    fewer = number_of(below["rate"].n_unique(), "rate has", "rates have")
    text = f"not enough data below {rate:g}/s, where the target is overloaded: {fewer} under {FEWEST_REQUESTS} requests"
    return f"{text}: {suggest_more_data(below['rate'].unique().to_list(), longest)}"


def resolved(rate: float, seconds: float) -> float:
    """Return by which share a rate has to be above the capacity, or below it, so that a step shows which.

    The number of random arrivals in the judged part of a step has this spread, and so has that of the answers.
    """
    return CHANCE_Z * math.sqrt(2 / ((1 - SETTLE) * rate * seconds))


def undecided(rate: float, seconds: float, capacity: float | None) -> str:
    """Words for the highest stable rate where it is too close to the capacity to be told from a rate above it.

    ``capacity`` is None where no saturation was found and response times rise.
    """
    share = resolved(rate, seconds)
    if capacity is None:
        return (
            f"at {rate:g}/s response times are {RISE:g} times as long as at the lowest rate, or longer, and steps of "
            f"{show_length(seconds)} do not show whether a rate is up to {100 * share:.0f} % above the capacity: sweep "
            f"higher, or {longer_steps(seconds * max(share / LEAST_APART, 1) ** 2)}"
        )
    apart = max(abs(1 - rate / capacity), LEAST_APART)
    if apart >= share:
        return ""
    needed = seconds * (share / apart) ** 2
    return (
        f"at {rate:g}/s, {100 * apart:.0f} % from saturation, a step of {show_length(seconds)} is good or bad by "
        f"chance: to decide this rate, hold it for {math.ceil(needed)} s"
    )


def not_covered(held: str, seconds: Iterable[float], trials: int, routes: int, *, all_count: bool = True) -> str:
    """The sentence on the conditions that a sweep did not test.

    ``held`` is ``rate`` or ``number of users``, ``trials`` the number of steps at the rate that has the fewest.
    """
    once = "once" if trials == 1 else "twice" if trials == 2 else f"{trials} times"
    each = f"each {held}{'' if all_count else ' that counts'} was held {once} for"
    return not_tested(each, seconds, "answer", another_mix(routes), OTHER_LOAD)


def describe_cut_steps(cut: Iterable[str]) -> str:
    """Words for steps that were cut short."""
    return "".join(f"; the step {name} was cut short, not counted" for name in cut)


def describe_left_out(void: Collection[float], dropped: Collection[float]) -> str:
    """Words for the rates of trials that were not valid, and of steps of which too many requests were dropped."""
    at = [first_of([f"{rate:g}/s" for rate in sorted(set(rates))]) for rates in (void, dropped)]
    text = f"; {number_of(len(void), 'invalid trial')} not counted, at {at[0]}" if len(void) else ""
    return text + (f"; not reached, since requests were dropped: {at[1]}" if len(dropped) else "")


def too_few(measured: pl.DataFrame, usable: int) -> str:
    """Words for fewer rates than a verdict needs."""
    tried = measured["rate"].n_unique()
    if tried and not usable:
        return f"all {tried} rates had an outage" if tried > 1 else "the only rate had an outage"
    calm = " and no outage" * (tried > usable)
    have = "no rate has" if not usable else number_of(usable, "rate has", "rates have")
    return f"{have} {FEWEST_REQUESTS} requests or more{calm}; {FEWEST_STEPS} such rates are needed"


def remedy(table: pl.DataFrame, tested: pl.DataFrame, asked: Collection[float]) -> str:
    """Words for what to do about fewer rates than a verdict needs; empty where nothing but outages was measured."""
    tried = table.filter(pl.col("rate").is_not_nan() & (pl.col("rate") > 0))  # 0: of users, who set no rate
    rates = tried["rate"].unique().to_list()
    if not rates or (not tested.height and tried["outage"].is_not_null().any()):
        return ""
    left_out = len(set(asked)) - len(rates)
    ended_itself = tested.height > 0 and bool((tested["over"] | tested["failing"])[-1])
    cut = left_out > 0 and not ended_itself
    if cut and len(set(asked)) >= FEWEST_STEPS:
        return f": measure the {number_of(left_out, 'other rate')}, too"
    seconds = float(tried["duration"].to_numpy().max())
    told = suggest_more_data(asked if cut else rates, seconds) or "repeat the measurement"
    going_on = f", or add --keep-going for the {number_of(left_out, 'rate')} left out"
    return f": {told}" + going_on * (left_out > 0 and ended_itself)


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
    return " and ".join([fewer] * (len(some) < FEWEST_STEPS) + [longer_steps(needed)] * (needed > 1.01 * seconds))


def longer_steps(seconds: float) -> str:
    """Advise steps so long."""
    return f"make the steps longer, such as --for {math.ceil(seconds - 1e-9)}s"


def _step(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above."""
    power = 10.0 ** math.floor(math.log10(most))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= most * (1 + 1e-9))


def all_failed(usable: pl.DataFrame) -> str:
    """Words for a target that failed more than half of the requests at every rate."""
    share = int(usable["errors"].sum()) / int(usable["scheduled"].sum())
    text = f"the target fails at every rate: {100 * share:.0f} % of the requests ({usable['failure'][0]}); "
    best = usable.select((pl.col("rate") * (1 - pl.col("errors") / pl.col("scheduled"))).max()).item()
    if best > 0:
        return f"{text}at most {show_rate(best)}/s were answered as expected: sweep lower, or repair the target"
    if usable["failure"][0].startswith(("401", "403")):
        return f"{text}nothing was measured: it asks for cookies or passwords; {CREDENTIALS}"
    return text + "nothing was measured: check its address and its log"


def outages(measured: pl.DataFrame) -> str:
    """Words for the outages in steps that do not count."""
    steps = measured.filter(pl.col("outage").is_not_null())
    told = ""
    for text in steps["outage"].unique(maintain_order=True):
        rates = steps.filter(pl.col("outage") == text)["rate"].unique().sort()
        told += f"; {text} ({', '.join(f'{rate:g}' for rate in rates)}/s, not counted)"
    return told


def collapse(usable: pl.DataFrame) -> str:
    """Words for goodput that falls by more than a fifth under its peak, and stays there, while more is offered.

    Steps with time-outs of the client are left out: there, goodput depends on the time-out.
    """
    waited = usable.filter(pl.col("net_errors") < ERROR_SHARE * pl.col("scheduled"))
    goodput = waited["settled_goodput"].drop_nulls().to_numpy()
    if not len(goodput):
        return ""
    after = goodput[int(goodput.argmax()) + 1 :]
    return "; congestion collapse" if len(after) >= GIVES_UP_AFTER and after[-2:].max() < 0.8 * goodput.max() else ""
