"""Computes throughput and response time by number of users, and how many users are enough."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.compact import HTTP_ERROR
from logreplay.analysis.statistics.quantiles import quantile

PLATEAU: Final = 0.95
"""A throughput of at least this share of the highest is on the plateau."""


@dataclass(frozen=True)
class UsersVerdict:
    """What a sweep over users says.

    Attributes:
        plateau: the fewest users that were tried and reached the highest throughput; None if it still grew at the end.
        saturated_at_first: already the first point was on the plateau, so all others only waited longer.
        enough: users that Little's law asks for; None if it cannot tell.
        throughput: requests/s, the highest.
        sentence: in words.
    """

    plateau: int | None
    saturated_at_first: bool
    enough: int | None
    throughput: float
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The verdict for summary.json."""
        return asdict(self)


def users_table(requests: RequestArrays, users: Mapping[int, int], duration: float) -> pl.DataFrame:
    """Return a row for each step of a sweep over users.

    Args:
        requests: of the run.
        users: how many each step had, by its index.
        duration: seconds of each step, without the wait for the last answers.

    Returns:
        In order of users: ``users``, ``step``, ``sent``, ``throughput`` (answered within the step, per second),
        ``errors``, and of the response times in seconds ``mean``, ``p50``, ``p90``, ``p99``.
    """
    rows = []
    end = requests.scheduled + requests.response
    for index, label in enumerate(requests.labels):
        mine = requests.step == index
        begin = int(requests.scheduled[mine].min())
        answered = mine & (requests.outcome <= HTTP_ERROR)
        in_time = answered & (end <= begin + duration * SECOND)
        times = np.sort(requests.response[answered])
        figures = {f"p{q:g}": quantile(times, q / 100) if len(times) else None for q in (50, 90, 99)}
        rows.append(
            {
                "users": users[label],
                "step": label,
                "sent": int(mine.sum()),
                "throughput": float(in_time.sum()) / duration,
                "errors": int((mine & ~requests.good).sum()),
                "mean": float(times.mean()) / SECOND if len(times) else None,
                **figures,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None).sort("users", maintain_order=True)


def judge_users(table: pl.DataFrame, think: float = 0.0) -> UsersVerdict:
    """Say where the throughput stops growing, and how many users are enough to get there.

    By Little's law N users who need R seconds for an answer and think for Z make X = N / (R + Z) requests a second. A
    target that carries X at most, and answers in R when nobody waits, is fully used by N* = X (R + Z) users; all
    further ones only wait: response times then grow in proportion to N, and throughput not at all.

    Args:
        table: as of `users_table`; of several trials of as many users the medians count.
        think: Z in seconds.

    Source: J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9 (1961).
    """
    table = table.group_by("users").median().sort("users")
    users, throughput = table["users"].to_list(), table["throughput"].to_numpy()
    best = float(throughput.max(initial=0.0))
    fastest = table["mean"].min()
    if not best or not isinstance(fastest, float):
        return UsersVerdict(None, False, None, best, "no response came within its step: no throughput was measured")
    first = int(np.argmax(throughput >= PLATEAU * best))
    grew = first == len(users) - 1
    enough = ceil(best * (fastest + think) - 1e-6)
    law = f"by Little's law {enough} users are enough ({best:.4g}/s x ({fastest:.4g} s + {think:.4g} s))"
    if len(users) == 1:
        several = ",".join(str(count) for count in sorted({max(1, users[0] // 2), users[0], 2 * users[0]}))
        text = (
            f"{users[0]} users reached {best:.4g}/s; one number of users does not show where throughput stops growing: "
            f"try several, such as --vusers {several}; {law} for this throughput"
        )
        return UsersVerdict(None, False, enough, best, text)
    if grew:
        text = f"throughput still grew at {users[-1]} users, to {best:.4g}/s: try more; {law} for this throughput"
        return UsersVerdict(None, False, enough, best, text)
    if first == 0:
        text = (
            f"the target was saturated at {best:.4g}/s with the fewest users, {users[0]}: more users only wait longer "
            f"(90th percentile {table['p90'][0]:.3g} s with {users[0]}, {table['p90'][-1]:.3g} s with {users[-1]}); "
            f"start with fewer users; {law} at most"
        )
        return UsersVerdict(users[0], True, enough, best, text)
    text = f"throughput stops growing at {users[first]} users, at {best:.4g}/s; {law}"
    return UsersVerdict(users[first], False, enough, best, text)
