"""How searches end whose server fails a share of the requests at any rate, singly or in bursts.

The server is `MM4`. Failures within the bound should cost no promise: as many searches as without failures, of the same
seeds, should promise `_NEAR` of the rate that the server keeps, or more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from accuracy._tables import Table, numbers, span, where
from accuracy.find import searched
from search_servers import MM4

RUNS: Final = 200
_NEAR: Final = 0.8
_FEW: Final = (1, 5)
_MANY: Final = (100, 300)
_FEWER: Final = 5
"""One search of so many where failures come in bursts of `_MANY`, or where more fail than may."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a search ended.

    Attributes:
        low: the promise, requests/s; 0: none.
        why: as of `Answer`.
    """

    low: float
    why: str


def ended(fails: float, burst: int, seed: int, load_fails: float = 0.0) -> Ended:
    """Search `MM4` of which this share of the requests fails, and so many more from 80 % of the truth on."""
    _, answer = searched(replace(MM4, fails=fails, burst=burst, load_fails=load_fails), seed)
    return Ended(answer.low if answer.holds and answer.low else 0.0, answer.why)


def table(runs: int, seed: int) -> str:
    """Make the tables of searches with failures."""
    many, few = range(seed, seed + runs), range(seed, seed + max(runs // _FEWER, 1))
    return "\n\n".join(("\n".join(_within_the_bound(many, few)), "\n".join(_above_the_bound(few)), _noticed(many)))


def _within_the_bound(many: Sequence[int], few: Sequence[int]) -> Iterator[str]:
    yield "| up to 1 % fail at any rate | in bursts of | searches | promise | promise of 80 % of the rate |"
    yield "|---|--:|--:|--:|--:|"
    for fails in (0.0, 0.005, 0.01):
        for burst in (*_FEW, *_MANY) if fails else (1,):
            found = [ended(fails, burst, seed) for seed in (many if burst in _FEW else few)]
            shares = [sum(each.low > low for each in found) / len(found) for low in (0, _NEAR * MM4.truth)]
            yield f"| {fails:.1%} | {burst} | {len(found)} | {shares[0]:.0%} | {shares[1]:.0%} |"


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
    """How many searches promise a rate with failures within the bound, and above it."""
    within, above, _ = tables
    without, *few = numbers(where(within, "in bursts of", *map(str, _FEW)), "promise of 80 % of the rate")
    single = where(above, "in bursts of", *map(str, _FEW))
    return (
        f"Searches with a promise near the rate: {without:g} % without failures, {span(few)} with up to 1 % in bursts "
        f"of up to {_FEW[-1]}. With 2 or 3 %, any promise: {sum(numbers(single, 'promise')):.0f} of "
        f"{sum(numbers(single, 'searches')):.0f}, in bursts of {_MANY[0]} and more "
        f"{sum(numbers(above, 'promise')) - sum(numbers(single, 'promise')):.0f} of "
        f"{sum(numbers(above, 'searches')) - sum(numbers(single, 'searches')):.0f}"
    )
