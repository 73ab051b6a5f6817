"""A quantile is the target's unless the generator's lag makes it longer by more than 5 ms and a tenth."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given as each_of
from hypothesis import strategies as st

from logreplay.analysis.statistics.quantiles import SMALLEST_SAMPLE
from logreplay.core.validity import (
    USUAL_CLUSTER,
    batch_variance,
    cluster_size,
    given,
    harmless,
    is_reached,
    newcombe,
    percentile,
    sent_late,
    valid_up_to,
    wilson,
)
from logreplay.replay.results.histogram import Histogram

MS = 1000


def ranks(service: Sequence[float], lag: Sequence[float]) -> int:
    """Up to which rank times are the target's, of requests with these service times and lags, ms."""
    without_lag = np.array(service) * MS
    response = without_lag + np.array(lag) * MS
    histograms = Histogram(), Histogram()
    for histogram, times in zip(histograms, (response, without_lag), strict=True):
        histogram.add((times * 1000).astype(np.int64))
    found = valid_up_to(np.sort(response), np.sort(without_lag))
    assert histograms[0].valid_up_to(histograms[1]) == pytest.approx(found / len(service))
    return found


def test_requests_that_were_late_lift_the_percentiles_above_the_others() -> None:
    assert ranks([5] * 100, [0] * 96 + [2000] * 4) == 96


def test_late_requests_below_a_slow_tail_do_no_harm_to_it() -> None:
    """2 % take 2 s whatever the generator does; 4 others are 400 ms late, and change what lies between."""
    service = [5] * 94 + [5] * 4 + [2000] * 2
    assert ranks(service, [0] * 94 + [400] * 4 + [0] * 2) == 94
    assert ranks([5] * 50 + [2000] * 50, [0] * 49 + [400] + [0] * 50) == 49


def test_the_others_of_late_requests_shift_a_percentile_that_no_late_request_has() -> None:
    """The 90th of 100 is on time, but without the lag of ten it would be the eightieth of the slow ones."""
    service = [8] * 10 + [10] * 80 + [100] * 10
    assert ranks(service, [1000] * 10 + [0] * 90) == 80


def test_lag_within_5_ms_or_a_tenth_does_no_harm() -> None:
    assert ranks([1] * 10, [4.9] * 10) == 10
    assert ranks([1] * 10, [5.2] * 10) == 0
    assert ranks([1000] * 10, [100] * 10) == 10
    assert ranks([1000] * 10, [130] * 10) == 0


def test_lag_that_is_small_beside_a_percentile_does_not_reach_it_whatever_it_reaches_below() -> None:
    """8 ms at a median of 20 ms left out p99, which was 520 ms."""
    median, p99 = 20 * MS, 520 * MS
    assert harmless(np.array([median, p99])).tolist() == [5 * MS, 52 * MS]
    assert is_reached(0.5, median, median - 8 * MS, 0.6)
    assert not is_reached(0.99, p99, p99 - 8 * MS, 0.0)
    assert is_reached(0.99, p99, p99 - 53 * MS, 0.0)


def test_more_lag_than_a_percentile_bears_may_be_as_rare_as_a_tenth_of_what_is_above_it() -> None:
    """A pause of 300 ms made 1 % of the requests late; those on time that had to wait for them took as long."""
    assert not is_reached(0.99, 305 * MS, 295 * MS, 0.001)
    assert is_reached(0.99, 305 * MS, 295 * MS, 0.0011)
    assert is_reached(1.0, 305 * MS, 295 * MS, 0.0001)


def test_a_finding_names_the_percentiles_and_the_lag_in_each() -> None:
    said = sent_late({0.5: 0.008}, 0.3, lambda seconds: f"{1000 * seconds:g} ms")
    assert said == "requests were sent late, by up to 300 ms: the lag adds 8 ms to p50, which is left out"
    queue = sent_late({0.9: 0.02, 0.99: 0.0}, 0.3, lambda seconds: f"{1000 * seconds:g} ms")
    assert queue.endswith("the lag adds 20 ms to p90 and up to 300 ms to p99, which are left out")
    more = sent_late({0.5: 8, 0.999: 9}, 9, "{:g} s".format, of=" of A", fate="not compared")
    assert more == (
        "requests of A were sent late, by up to 9 s: the lag adds 8 s to p50 and 9 s to p99.9, which are not compared"
    )


def test_nothing_is_valid_up_to_nothing() -> None:
    assert valid_up_to(np.zeros(0), np.zeros(0)) == 0
    assert Histogram().valid_up_to(Histogram()) == 1.0


def test_times_beyond_one_block_are_seen() -> None:
    response = np.full(200_000, 10 * MS)
    response[150_000:] = 90 * MS
    assert valid_up_to(response, np.full(200_000, 10 * MS)) == 150_000


@pytest.mark.parametrize(("count", "share"), [(1, 0.95), (367, 0.95), (368, 0.99), (3687, 0.99), (3688, 0.999)])
def test_the_percentiles_that_are_given_end_with_the_highest_that_a_number_of_requests_allows(
    count: int, share: float
) -> None:
    assert given(count)[:4] == (0.5, 0.75, 0.9, 0.95)
    assert given(count)[-1] == share
    assert share == 0.95 or SMALLEST_SAMPLE[share] <= count


@pytest.mark.parametrize(("share", "name"), [(0.96, "p96"), (0.9989, "p99.8"), (0.999, "p99.9"), (0.0, "p0")])
def test_a_quantile_is_written_rounded_down(share: float, name: str) -> None:
    assert percentile(share) == name


@each_of(st.floats(0, 1), st.floats(0.5, 1e6), st.floats(0.5, 5))
def test_the_interval_of_a_share_holds_it(share: float, number: float, z: float) -> None:
    low, high = wilson(share, number, z)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


def test_intervals_of_many_shares_are_those_of_each() -> None:
    shares, numbers = np.array([0.0, 0.01, 0.5, 1.0]), np.array([3, 100, 1000, 7])
    low, high = wilson(shares, numbers, 1.96)
    for index, (share, number) in enumerate(zip(shares.tolist(), numbers.tolist(), strict=True)):
        assert (low[index], high[index]) == wilson(share, number, 1.96)


def test_the_interval_is_that_of_the_literature() -> None:
    low, high = wilson(81 / 263, 263, 1.96)  # Newcombe, Two-sided confidence intervals, 1998, table I
    assert (float(low), float(high)) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@pytest.mark.parametrize(
    ("hits", "numbers", "interval"),
    [
        ((48, 56), (80, 70), (0.0524, 0.3339)),
        ((3, 9), (10, 10), (0.1705, 0.8090)),
        ((0, 5), (29, 56), (-0.0381, 0.1926)),
    ],
)
def test_the_interval_of_a_difference_is_that_of_the_literature(
    hits: tuple[int, int], numbers: tuple[int, int], interval: tuple[float, float]
) -> None:
    assert newcombe(hits, numbers, 1.96) == pytest.approx(interval, abs=5e-5)  # Newcombe 1998, table II


def test_costs_that_come_in_bunches_vary_more() -> None:
    counts, spread, bunched = np.full(60, 100), np.full(60, 1.0), np.zeros(60)
    bunched[20:22] = 30
    assert batch_variance(counts, spread) == 0
    assert batch_variance(counts, bunched) > 0


def test_hits_that_come_together_are_one_cluster() -> None:
    counts, spread, blip = np.full(60, 100), np.full(60, 3), np.zeros(60, np.int64)
    blip[20:22] = 90
    assert spread.sum() == blip.sum()
    assert cluster_size((counts, spread)) == 1
    assert 90 < cluster_size((counts, blip)) < 1.05 * 180
    assert cluster_size((counts, spread), (counts, blip)) == pytest.approx(cluster_size((counts, blip)) / 2, rel=0.1)


def test_two_seconds_tell_little_of_the_size_of_clusters() -> None:
    counts, hits = np.full(2, 100), np.array([5, 5])
    assert 4 < cluster_size((counts, hits)) < USUAL_CLUSTER
    for none in (np.zeros(2, np.int64), counts):
        assert cluster_size((counts, none)) == USUAL_CLUSTER, "nothing failed, or all did"


@pytest.mark.parametrize("seconds", [3, 5, 10, 60])
def test_the_variance_of_few_independent_seconds_is_as_large_as_that_of_many(seconds: int) -> None:
    rng, counts = np.random.default_rng(seconds), np.full(seconds, 100)
    found = [batch_variance(counts, rng.normal(50, 10, seconds)) for _ in range(20_000)]
    assert np.mean(found) == pytest.approx(100 / (seconds * 100**2), rel=0.5 if seconds < 10 else 0.1)
