"""How searches end whose server fails a share of the requests at any rate, singly or in bursts.

The server is `MM4`. A search is stopped by these failures if its answer is that the bound on failures does not hold, or
may not hold, or a promise of less than `_STOPPED` of the rate that the server keeps: a trial below it failed for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from accuracy._tables import Table, numbers, where
from accuracy.find import searched
from search_servers import MM4

RUNS: Final = 200
_STOPPED: Final = 0.8
_FEW: Final = (1, 5)
_MANY: Final = (100, 300)
_FEWER: Final = 5
"""One search of so many where no failures come, where they come in bursts of `_MANY`, or where more fail than may."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a search ended.

    Attributes:
        low: the promise, requests/s; 0: none.
        why: as of `Answer`.
        stopped: by failures.
    """

    low: float
    why: str
    stopped: bool


def ended(fails: float, burst: int, seed: int, load_fails: float = 0.0) -> Ended:
    """Search `MM4` of which this share of the requests fails, and so many more from 80 % of the truth on."""
    search, answer = searched(replace(MM4, fails=fails, burst=burst, load_fails=load_fails), seed)
    low = answer.low if answer.holds and answer.low else 0.0
    judging = search.judging
    blamed = judging.fails_anyway is not None or bool(judging.fails_too_often)
    return Ended(low, answer.why, blamed or 0 < low < _STOPPED * MM4.truth)


def table(runs: int, seed: int) -> str:
    """Make the tables of searches with failures."""
    many, few = range(seed, seed + runs), range(seed, seed + max(runs // _FEWER, 1))
    return "\n\n".join(("\n".join(_within_the_bound(many, few)), "\n".join(_above_the_bound(few)), _noticed(many)))


def _within_the_bound(many: Sequence[int], few: Sequence[int]) -> Iterator[str]:
    yield "| up to 1 % fail at any rate | in bursts of | searches | promise | stopped by failures |"
    yield "|---|--:|--:|--:|--:|"
    for fails in (0.0, 0.005, 0.01):
        for burst in (*_FEW, *_MANY) if fails else (1,):
            found = [ended(fails, burst, seed) for seed in (many if fails and burst in _FEW else few)]
            promise, stopped = sum(each.low > 0 for each in found), sum(each.stopped for each in found)
            yield f"| {fails:.1%} | {burst} | {len(found)} | {promise / len(found):.0%} | {stopped / len(found):.1%} |"


def _above_the_bound(few: Sequence[int]) -> Iterator[str]:
    yield "| more than 1 % fail at any rate | in bursts of | searches | promise | not proven | bound does not hold |"
    yield "|---|--:|--:|--:|--:|--:|"
    for fails in (0.02, 0.03):
        for burst in (*_FEW, *_MANY):
            found = [ended(fails, burst, seed) for seed in few]
            promise, missed = sum(each.low > 0 for each in found), sum(each.why == "not-met" for each in found)
            yield f"| {fails:.1%} | {burst} | {len(found)} | {promise} | {len(found) - promise - missed} | {missed} |"


def _noticed(many: Sequence[int]) -> str:
    most = 0.82 * MM4.truth
    held = [ended(0.01, 1, seed, load_fails=0.05).low <= most for seed in many]
    return (
        "| 5 % more fail above 80 % of the rate, next to 1 % at any rate | searches |\n|---|--:|\n"
        f"| {sum(held) / len(held):.1%} promise no rate at which they do | {len(held)} |"
    )


def result(tables: Sequence[Table]) -> str:
    """How often failures within a bound stop a search, and failures above it do not."""
    within, above, _ = tables
    few = where(within, "in bursts of", *map(str, _FEW))
    single = where(above, "in bursts of", *map(str, _FEW))
    return (
        f"Up to 1 %, in bursts of up to {_FEW[-1]}, stop {max(numbers(few, 'stopped by failures')):g} "
        f"% of the searches. With 2 or 3 %, a rate is promised in {sum(numbers(single, 'promise')):.0f} of "
        f"{sum(numbers(single, 'searches')):.0f}, in bursts of {_MANY[0]} and more in "
        f"{sum(numbers(above, 'promise')) - sum(numbers(single, 'promise')):.0f} of "
        f"{sum(numbers(above, 'searches')) - sum(numbers(single, 'searches')):.0f}"
    )
