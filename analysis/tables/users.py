"""Computes throughput and response time by number of users, and where the throughput levels off.

Theory of operation: N users who wait R seconds for a response and think for Z make X = N / (R + Z) requests a second
(Little's law). A target that carries X_max at most, and needs R_0 where nobody waits, lies below two asymptotes:
X <= N / (R_0 + Z) and X <= X_max. They cross at N* = X_max (R_0 + Z). With fewer users the target is not busy. With
more, users wait for each other, and throughput does not grow.

Sources: J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9 (1961); P. J. Denning and
J. P. Buzen, "The operational analysis of queueing network models", Computing Surveys 10 (1978), on the asymptotes.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, log, nan, sqrt
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show, show_range, show_rate
from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.run_metadata import ClosedLoop
from logreplay.analysis.json_text import finite
from logreplay.analysis.statistics.estimates import error_of_sum, student
from logreplay.analysis.statistics.quantiles import Floats, Micros, quantile
from logreplay.analysis.tables.aggregate import SETTLE
from logreplay.core.plural import first_of, number_of

PLATEAU: Final = 0.95
"""A throughput of at least this share of the highest is on the plateau."""
_FLAT: Final = 0.5
"""Growth of the throughput per growth of the users, both as logarithms: 1 of an idle target, 0 of a saturated one."""
_LEVEL: Final = 0.15
"""The same, up to which a throughput is as good as level, however many users lie between."""
_LIKELY: Final = 1.3
"""Standard errors: one-sided, 90 %."""
_IDLE: Final = 1.5
"""Multiple of the fewest users tried, below which users that keep the target busy may have waited at the fewest."""
_BLOCKS: Final = 50
_WAVES: Final = 3
"""Cosines, of 1 to so many half periods in a step, that tell how much its blocks wander together."""
_T: Final = student(0.95, _WAVES)
"""Standard errors: two-sided, 95 %, of a mean whose error comes from `_WAVES` cosines (Student's t)."""


@dataclass(frozen=True)
class UsersVerdict:
    """The plateau and the crossing that a sweep over users shows.

    Attributes:
        plateau: the fewest users that were tried and reached the highest throughput; None if it still grew at the end.
        saturated_at_first: already the first point was on the plateau, so all others only waited longer.
        enough: whole users up to the crossing; None if it is not known.
        throughput: requests/s: of the plateau, or the highest if there is none; NaN, as its range, if no step counts.
        throughput_low, throughput_high: its range, 95 %.
        crossing: users at which the asymptotes cross; None if it is not known.
        crossing_low, crossing_high: its range, 95 %.
        sentence: in words.
    """

    plateau: int | None
    saturated_at_first: bool
    enough: int | None
    throughput: float
    throughput_low: float
    throughput_high: float
    crossing: float | None
    crossing_low: float | None
    crossing_high: float | None
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The verdict for summary.json."""
        return finite(asdict(self))


@dataclass(frozen=True)
class UsersSweep:
    """A sweep over users: its settings, its table (`users_table`) and its verdict."""

    closed: ClosedLoop
    table: pl.DataFrame
    verdict: UsersVerdict
    limited: Collection[int] = ()

    @classmethod
    def of(
        cls,
        requests: RequestArrays,
        closed: ClosedLoop,
        limited: Collection[int] = (),
        cut: Collection[int] = (),
    ) -> "UsersSweep":
        """Judge the steps of a run, without those that were cut short or in which the replaying machine met a limit."""
        table = users_table(requests, closed)
        whole = table.filter(~pl.col("step").is_in(list(cut)))
        counted = whole.filter(~pl.col("step").is_in(list(limited)))
        verdict = judge_users(counted, closed.think) if counted.height else _no_verdict(whole["users"].to_list())
        return cls(closed, table, verdict, frozenset({*limited, *cut}))

    def as_dict(self) -> dict[str, Any]:
        """The form of summary.json."""
        asked = {"think_s": self.closed.think, "step_s": self.closed.step_s}
        return {**self.verdict.as_dict(), **asked, "steps": self.table.to_dicts()}

    def of_steps(self, steps: pl.DataFrame) -> pl.DataFrame:
        """A step table with the column ``users``; a step with more users than the plateau needs is overloaded.

        What judges a step of a rate does not judge one of users, of whom each always has a request in flight.
        """
        users = pl.col("step").replace_strict(dict(self.closed.users), return_dtype=pl.Int64)
        most = self.verdict.plateau
        over = users > most if most is not None else pl.lit(False)
        apart = (pl.col("verdict") == "outage") | pl.col("step").is_in(list(self.limited))
        known = pl.when(apart).then("verdict").when("failing").then(pl.lit("errors"))
        word = known.when(over).then(pl.lit("overloaded")).otherwise(pl.lit("stable"))
        return steps.with_columns(users=users, over=over, verdict=word)


def users_table(requests: RequestArrays, closed: ClosedLoop) -> pl.DataFrame:
    """Return a row for each step of a sweep over users, in order of users.

    The throughput (answered as expected, per second; with its 95 % range) is counted when the users have come, which
    takes a think time, and after the first fifth of a step, up to its end: later responses do not belong to a load of
    that many users. ``mean_error`` is the standard error of the mean response time; ``errors`` counts the failed.
    """
    rows = []
    for index, label in enumerate(requests.labels):
        mine = requests.step == index
        begin = int(those(requests.scheduled, mine).min())
        ends = (those(requests.scheduled + requests.response, mine) - begin) / SECOND
        good = those(requests.good, mine)
        length = min(closed.step_s, float(ends.max()))
        settled = min(max(SETTLE * length, closed.think), length / 2)
        judged = max(length, settled + 1e-6) - settled
        counts = np.histogram(ends[good], bins=_BLOCKS, range=(settled, settled + judged))[0]
        rate = counts.sum() / judged
        error = error_of_sum(np.asarray(counts - counts.mean(), np.float64), _WAVES) / judged
        times = those(requests.response, mine)[good]
        mean, mean_error = _mean_time((those(requests.scheduled, mine)[good] - begin) / SECOND, times)
        times = np.sort(times)
        figures = {f"p{q:g}": quantile(times, q / 100) if len(times) else None for q in (50, 90, 99)}
        rows.append(
            {
                "users": closed.users[label],
                "step": label,
                "sent": int(those(requests.sent, mine).sum()),
                "throughput": rate,
                "throughput_low": max(0.0, rate - _T * error),
                "throughput_high": rate + _T * error,
                "errors": int(those(requests.failed, mine).sum()),
                "mean": mean,
                "mean_error": mean_error,
                **figures,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None).sort("users", maintain_order=True)


def _mean_time(begun: Floats, times: Micros) -> tuple[float, float] | tuple[None, None]:
    """Mean of response times in seconds, and its standard error: requests of one moment meet the same machine.

    ``begun``: (n,) seconds since the begin of the step; ``times``: (n,) microseconds.
    """
    if not len(times):
        return None, None
    mean, most = float(times.mean()), float(begun.max())
    block = np.minimum((begun / max(most, 1e-6) * _BLOCKS).astype(np.int64), _BLOCKS - 1)
    error = error_of_sum(np.bincount(block, times - mean, _BLOCKS).astype(np.float64), _WAVES) / len(times)
    return mean / SECOND, error / SECOND


def judge_users(table: pl.DataFrame, think: float = 0.0) -> UsersVerdict:
    """Say where the throughput stops growing, and how many users make the target busy.

    The plateau holds the highest throughput and all neighbours that reach 95 % of it, or it except for their error, or
    grow far less than the users do, and that have enough users for it by Little's law. It counts only if the throughput
    surely grows less within it than the users do, or falls after it. Of several trials of as many users, means count.
    """
    levels, silent = _levels(table), ""
    if failed := int(levels["mean"].is_not_null().arg_max() or 0):  # nothing is known of them
        names = ", ".join(str(count) for count in levels["users"][:failed])
        silent = f"with {names} user{'s' * (names != '1')} no request was answered as expected; "
        levels = levels[failed:]
    verdict = _judged(levels, think)
    return replace(verdict, sentence=silent + verdict.sentence)


def _no_verdict(limited: Sequence[int]) -> UsersVerdict:
    """The verdict where no step counts: with these numbers of users the replaying machine met a limit."""
    names = first_of([number_of(count, "user") for count in dict.fromkeys(limited)])
    return _verdict(None, nan, nan, "no step counts" + f"; this machine was the limit with {names}" * bool(names))


def _judged(levels: pl.DataFrame, think: float) -> UsersVerdict:
    """Judge the rows of `_levels`; the first was answered, if any was."""
    users, rates, errors = levels["users"].to_list(), levels["throughput"].to_numpy(), levels["error"].to_numpy()
    if not rates.max() > 0:
        return _verdict(None, 0.0, 0.0, "no response came within its step: no throughput was measured")
    best = int(rates.argmax())
    shares = (errors / np.maximum(rates, 1e-9))[rates > 0]
    chance = 2 * sqrt(2) * float(np.median(shares)) * rates[best]  # the error of one level is itself uncertain
    near = rates >= min(PLATEAU * rates[best], rates[best] - chance)
    near |= rates >= rates[best] * (np.array(users) / users[best]) ** _LEVEL
    first, last = best, best
    while last < len(users) - 1 and near[last + 1]:
        last += 1
    idle, idle_error = _idle(levels)
    while first > 0 and near[first - 1]:
        busy = _pooled(rates[first : last + 1], errors[first : last + 1])[0] * (idle + think)
        if first > 1 and users[first - 1] < PLATEAU * busy:  # so few cannot make the target busy
            break
        first -= 1
    if len(users) == 1:
        several = ",".join(str(count) for count in sorted({1, max(1, users[0] // 4), users[0], 4 * users[0]}))
        text = f"one number of users does not show saturation: {number_of(users[0], 'user')} got "
        text += _rate(rates[0], errors[0])
        return _verdict(None, rates[0], errors[0], f"{text}, p90 {show(levels['p90'][0])}; try --vusers {several}")
    flat = _flat_from(users, rates, errors, first, last)
    if flat is None:
        before = users[-2], rates[-2], errors[-2]
        if log(max(rates[-1], 1e-9) / max(before[1], 1e-9)) < _FLAT * log(users[-1] / before[0]):
            text = f"whether throughput still grows from {before[0]} to {users[-1]} users cannot be told: "
            text += f"{_rate(*before[1:])}, {_rate(rates[-1], errors[-1])}; use longer steps with --for"
            return _verdict(None, rates[best], errors[best], text)
        more = ",".join(str(users[-1] * factor) for factor in (1, 2, 4))
        text = f"throughput still grew at {users[-1]} users, to {_rate(rates[best], errors[best])}: try more, such as"
        return _verdict(None, rates[best], errors[best], f"{text} --vusers {more}")
    first = flat
    rate, error = _pooled(rates[first : last + 1], errors[first : last + 1])
    answered = levels.drop_nulls("p90")
    waits = ", ".join(f"{'p90 ' * (not at)}{show(answered['p90'][at])} with {answered['users'][at]}" for at in (0, -1))
    falls = f"; it falls to {show_rate(rates[-1], 4)}/s with {users[-1]}" if last < len(users) - 1 else ""
    if first == 0:
        text = (
            f"saturated at {_rate(rate, error)} with the fewest users, {users[0]}, already: more users only wait "
            f"longer ({waits}){falls}; begin with fewer users"
        )
        return _verdict(users[0], rate, error, text, at_first=True)
    crossing = rate * (idle + think)
    unsure = _T * crossing * sqrt((error / rate) ** 2 + (idle_error / (idle + think)) ** 2)
    waited = users[0] > 1 and crossing < _IDLE * users[0]  # so many users may have waited for each other
    low, high = 1.0 if waited else max(1.0, crossing - unsure), crossing + unsure
    text = (
        f"throughput stops growing at {users[first]} users, at {_rate(rate, error)}{falls}; the asymptotes cross at "
        f"N* = {show_rate(crossing)} users{' at most' * waited} ({show_range(low, high)}), "
        f"{show_rate(rate, 4)}/s x ({show(idle)} + {show(think)}): with more, users wait for each other ({waits})"
    )
    return _verdict(users[first], rate, error, text, crossing=(crossing, low, high))


def _flat_from(users: Sequence[int], rates: Floats, errors: Floats, first: int, last: int) -> int | None:
    """The first level from which the throughput surely grows less than the users do; None if there is none."""
    if last < len(users) - 1:
        return first
    for index in range(first, last):
        width = log(users[last] / users[index])
        unsure = _LIKELY * sqrt((errors[index] / rates[index]) ** 2 + (errors[last] / rates[last]) ** 2)
        if (log(rates[last] / rates[index]) + unsure) / width < _FLAT:
            return index
    return None


def _idle(levels: pl.DataFrame) -> tuple[float, float]:
    """Response time where nobody waits, and its standard error: of the fewest users, or of others who surely wait less.

    More users do not wait less. Where they seem to, something else held the target up at first.
    """
    found: tuple[float, float] = (levels["mean"][0], levels["mean_error"][0])
    for mean, error in levels.select("mean", "mean_error").drop_nulls().iter_rows():
        if mean + 3 * sqrt(error**2 + found[1] ** 2) < found[0]:
            found = mean, error
    return found


def _levels(table: pl.DataFrame) -> pl.DataFrame:
    """A row for each number of users: means of its trials, and the standard error of their throughput.

    Two trials tell little of their spread, so all levels tell it together, as a share of the throughput.
    """
    error = (pl.col("throughput_high") - pl.col("throughput_low")) / (2 * _T)
    rate = pl.col("throughput")
    levels = (
        table.with_columns(error=error)
        .group_by("users")
        .agg(
            pl.col("throughput", "mean", "p90").mean(),
            mean_error=pl.col("mean_error").mean().fill_null(0.0),
            error=(pl.col("error") ** 2).sum().sqrt() / pl.len(),
            trials=pl.len(),
            spread=((rate / rate.mean() - 1) ** 2).sum().fill_nan(0.0),
        )
        .sort("users")
    )
    freedom = len(table) - len(levels)
    if not freedom:
        return levels
    spread = sqrt(levels["spread"].sum() / freedom) * student(0.95, freedom) / _T  # so that `_T` of it are 95 %
    return levels.with_columns(error=pl.max_horizontal("error", spread * rate / pl.col("trials").sqrt()))


def _pooled(rates: Floats, errors: Floats) -> tuple[float, float]:
    """The throughput of a plateau, and its standard error."""
    spread = float(rates.std(ddof=1)) if len(rates) > 1 else 0.0
    return float(rates.mean()), max(spread, sqrt(float(np.mean(errors**2)))) / sqrt(len(rates))


def _rate(rate: float, error: float) -> str:
    low, high = max(0.0, rate - _T * error), rate + _T * error
    return f"{show_rate(rate, 4)}/s ({show_rate(low, 4)}–{show_rate(high, 4)})"


def _verdict(
    plateau: int | None,
    rate: float,
    error: float,
    sentence: str,
    *,
    at_first: bool = False,
    crossing: tuple[float, float, float] | None = None,
) -> UsersVerdict:
    at, low, high = crossing or (None, None, None)
    enough = None if at is None else ceil(at - 1e-6)
    bounds = (max(float(rate - _T * error), 0.0), float(rate + _T * error))
    return UsersVerdict(plateau, at_first, enough, float(rate), *bounds, at, low, high, sentence)
