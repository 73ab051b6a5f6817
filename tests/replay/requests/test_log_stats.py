"""What a log says of itself, however it is cut into blocks."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.errors import LogError
from logreplay.replay.requests.log_stats import ORDER_OVER, LogFigures

US = 1_000_000
STARTS = st.lists(st.integers(0, 20 * US), max_size=40).map(
    lambda gaps: sorted(gap + 1_700_000_000 * US for gap in gaps)
)


def counted(starts: list[int], size: int) -> LogFigures:
    figures = LogFigures()
    for at in range(0, len(starts), size):
        figures.add(np.array(starts[at : at + size], np.int64))
    return figures


@given(STARTS, st.integers(1, 10))
def test_the_figures_are_the_same_however_the_log_is_cut(starts: list[int], size: int) -> None:
    figures = counted(starts, size)
    assert figures.requests == len(starts)
    assert figures.peak == max(Counter(start // US for start in starts).values(), default=0)
    assert (figures.first, figures.last) == ((starts[0], starts[-1]) if starts else (0, 0))


@given(STARTS, st.integers(0, 5))
def test_rows_without_a_time_are_requests_and_nothing_else(starts: list[int], unknown: int) -> None:
    with_unknown, without = counted([0] * unknown + starts, 3), counted(starts, 3)
    assert with_unknown.requests == without.requests + unknown
    assert (with_unknown.first, with_unknown.last, with_unknown.peak) == (without.first, without.last, without.peak)


def test_a_log_begins_again_a_mean_gap_after_its_end() -> None:
    figures = counted([US, 2 * US, 4 * US], 2)
    assert figures.period == 4.5 * US
    assert figures.mean == pytest.approx(3 / 4.5)


@pytest.mark.parametrize("starts", [[], [0, 0], [US], [US, US]])
def test_a_log_without_a_span_begins_again_after_a_second_and_has_no_rate(starts: list[int]) -> None:
    figures = counted(starts, 1)
    assert (figures.period, figures.mean) == (US, 0.0)


@pytest.mark.parametrize("at", [1000, 30 * ORDER_OVER])
def test_a_log_is_out_of_order_wherever_that_is(at: int) -> None:
    figures, block = LogFigures(), np.arange(ORDER_OVER // 10)
    for begin in range(0, at, len(block)):
        figures.add(US + begin + block)
        figures.expect_order("log")
    figures.add(US + block // 10)
    with pytest.raises(LogError, match=r"log: [\d,]+ of its requests [\d,]+ to [\d,]+ are out of order: "):
        figures.expect_order("log")


def test_few_requests_out_of_order_are_no_fault_however_long_the_log_is() -> None:
    figures = LogFigures()
    for begin in range(US, 2 * US, 1000):
        figures.add(np.r_[begin - 10, begin : begin + 999])
        figures.expect_order("log")
    assert figures.unordered == 999
