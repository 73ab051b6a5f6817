"""Counts of a run add up, whatever the order of the requests and however these are divided."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from logreplay.replay.results.counters import Counters
from logreplay.replay.senders.contract import ERROR_CODES, RECORD

Ended = tuple[int, int, int, int]
"""Status and error of a request, its logged status, and its latency in nanoseconds."""
STATUSES = (200, 204, 304, 404, 429, 500, 503)
ENDED: st.SearchStrategy[Ended] = st.tuples(
    st.sampled_from((0, *STATUSES)),
    st.sampled_from(sorted(ERROR_CODES.values())),
    st.sampled_from((0, *STATUSES)),
    st.integers(0, 10**10),
).map(lambda one: (one[0] or 200, *one[1:]) if one[1] == 0 else one)


def records_of(ended: Sequence[Ended]) -> NDArray[np.void]:
    records = np.zeros(len(ended), RECORD)
    for name, column in (("status", 0), ("error", 1), ("latency", 3)):
        records[name] = [one[column] for one in ended]
    records["size"] = 10
    return records


def counted(ended: Sequence[Ended]) -> Counters:
    counters = Counters()
    counters.add(records_of(ended), np.zeros(len(ended), np.int64), np.array([one[2] for one in ended], np.int64))
    return counters


def figures(counters: Counters) -> dict[str, Any]:
    """What the counters say, in a form that can be compared."""
    histograms = {name: getattr(counters, name) for name in ("lag", "response", "without_lag", "waiting")}
    plain = {name: getattr(counters, name) for name in Counters.__dataclass_fields__ if name not in histograms}
    quantiles = {name: (each.total, each.quantile(0.5), each.quantile(1.0)) for name, each in histograms.items()}
    return {**plain, **quantiles}


@given(st.lists(ENDED, max_size=40))
def test_each_request_is_counted_once(ended: list[Ended]) -> None:
    counters = counted(ended)
    assert counters.sent + counters.dropped + counters.not_sent == counters.ended == len(ended)
    assert counters.ok + counters.http_error + counters.net_error == counters.sent
    assert counters.errors.total() == counters.net_error + counters.dropped
    assert 0 <= counters.new_errors <= counters.http_error
    assert counters.lag.total == len(ended)
    assert counters.response.total == counters.without_lag.total == counters.sent - counters.errors["cancelled"]
    assert counters.status.total() == sum(status > 0 for status, *_ in ended)
    assert counters.bytes == 10 * len(ended)


@settings(max_examples=30)
@given(st.lists(ENDED, max_size=40), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_and_the_parts_make_no_difference(ended: list[Ended], size: int, random: Any) -> None:
    whole = figures(counted(ended))
    random.shuffle(ended)
    parts = [counted(ended[at : at + size]) for at in range(0, len(ended), size)]
    assert figures(sum(parts, Counters())) == figures(sum(reversed(parts), Counters())) == whole


def test_an_error_status_is_new_where_the_log_had_another_class() -> None:
    ended = [(404, 0, 404, 0), (404, 0, 400, 0), (404, 0, 200, 0), (404, 0, 500, 0), (503, 0, 0, 0)]
    counters = counted(ended)
    assert (counters.http_error, counters.new_errors, counters.failed) == (5, 3, 3)


def test_a_status_that_no_log_should_have_is_not_mixed_up_with_another_one() -> None:
    counters = counted([(200, 0, 1 << 48, 0), (201, 0, 0, 0), (200, 0, -1, 0)])
    assert counters.status == {200: 2, 201: 1}
    assert counters.unexpected == {f"{1 << 48} → 200": 1, "-1 → 200": 1}


def test_a_dropped_request_has_a_lag_but_no_response_time() -> None:
    counters = counted([(0, ERROR_CODES["dropped"], 200, 0), (0, ERROR_CODES["timeout"], 200, 10**9)])
    assert (counters.sent, counters.dropped, counters.net_error, counters.completed) == (1, 1, 1, 0)
    assert (counters.lag.total, counters.response.total) == (2, 1)


def test_a_request_that_was_cancelled_has_no_response_time() -> None:
    """Times that the end of a run cut off were in the metrics, on the live page and in the verdict during the run."""
    cut = (0, ERROR_CODES["cancelled"], 200, 10**10)
    counters = counted([(200, 0, 200, 10**7), *[cut] * 9])
    assert (counters.sent, counters.net_error, counters.response.total, counters.without_lag.total) == (10, 9, 1, 1)
    assert (counters.response.quantile(1.0) or 0) < 0.011


@pytest.mark.parametrize(("lag_s", "queued_s"), [(0, 3), (3, 0)])
def test_a_request_that_was_held_back_until_the_stop_was_not_sent(lag_s: int, queued_s: int) -> None:
    """It counted as sent and as a network error, and whoever showed the requests sent had to subtract it."""
    records = records_of([(200, 0, 200, 10**7), *[(0, ERROR_CODES["cancelled"], 200, 0)] * 2])
    records["start"][1], records["queued"][1] = lag_s * 10**9, queued_s * 10**9
    records["latency"][2] = 10**9
    counters = Counters()
    counters.add(records, np.zeros(3, np.int64), np.full(3, 200))
    assert (counters.sent, counters.not_sent, counters.ok, counters.net_error, counters.ended) == (2, 1, 1, 1, 3)
    assert (counters.errors["cancelled"], counters.failed, counters.new_errors) == (2, 0, 0)


def test_requests_that_a_stop_cancels_are_at_no_moment_new_errors() -> None:
    """Another thread reads the counters while they count."""
    counters, read = Counters(), list[int]()

    class Errors(Counter[str]):
        def __setitem__(self, word: str, count: int) -> None:
            super().__setitem__(word, count)
            read.append(counters.new_errors)

    counters.errors = Errors()
    records = records_of([(0, ERROR_CODES["cancelled"], 200, 0)] * 2)
    records["latency"][0], records["queued"][1] = 10**9, 10**9
    counters.add(records, np.zeros(2, np.int64), np.full(2, 200))
    assert (counters.not_sent, counters.net_error, max(read)) == (1, 1, 0)


def test_the_response_time_counts_from_the_scheduled_send_time() -> None:
    records = records_of([(200, 0, 200, 10**9)])
    records["start"], records["connect"], records["xfertime"] = 2 * 10**9, 4 * 10**9, 8 * 10**9
    counters = Counters()
    counters.add(records, np.array([10**9]), np.array([200]))
    assert round(counters.lag.quantile(1.0) or 0, 1) == 1.0
    assert round(counters.response.quantile(1.0) or 0) == 14


def test_a_copy_stays_as_it_is_while_its_original_counts_on() -> None:
    counters = counted([(200, 0, 200, 10**6)])
    copy = counters.copy()
    before = figures(copy.copy())
    more = records_of([(500, 0, 200, 10**9), (0, ERROR_CODES["reset"], 0, 0)])
    counters.add(more, np.zeros(2, np.int64), np.zeros(2, np.int64))
    counters.sample(more, pl.DataFrame({"op": ["GET", "PUT"], "url": ["/a", "/b"]}))
    assert figures(copy) == before
    assert figures(counters) != before


def test_the_first_request_of_each_error_and_of_each_bad_status_is_remembered() -> None:
    reset, dropped = ERROR_CODES["reset"], ERROR_CODES["dropped"]
    ended = [(200, 0, 0, 0), (404, 0, 0, 0), (404, 0, 0, 0), (0, reset, 0, 0), (404, reset, 0, 0), (0, dropped, 0, 0)]
    rows = pl.DataFrame({"op": ["GET"] * 6, "url": [f"/{number}" for number in range(6)]})
    counters = Counters()
    counters.sample(records_of(ended), rows)
    counters.sample(records_of(ended[::-1]), rows.with_columns(url=pl.lit("/later")))
    assert counters.samples == {"status 404": "GET /1", "reset": "GET /3"}


def test_a_secret_in_a_sample_is_masked_before_the_url_is_cut() -> None:
    counters, url = Counters(), f"/?a={'a' * 240}&to=http://user:{'verysecret' * 4}@host/"
    counters.sample(records_of([(500, 0, 0, 0)]), pl.DataFrame({"op": ["GET"], "url": [url]}))
    assert "verysecret" not in counters.samples["status 500"]


def test_a_sample_of_a_hostile_url_is_short() -> None:
    counters = Counters()
    counters.sample(records_of([(500, 0, 0, 0)]), pl.DataFrame({"op": ["GET"], "url": ["/" + "x" * 100_000]}))
    assert len(counters.samples["status 500"]) == 300


def test_of_two_samples_of_a_kind_a_sum_keeps_the_left_one() -> None:
    assert (Counters(samples={"reset": "a"}) + Counters(samples={"reset": "b", "tls": "c"})).samples == {
        "reset": "a",
        "tls": "c",
    }


def test_unexpected_statuses_are_counted_beside_those_of_the_log() -> None:
    ended = [(404, 0, 200, 0), (404, 0, 200, 0), (200, 0, 304, 0), (404, 0, 404, 0), (503, 0, 0, 0), (200, 0, 0, 0)]
    assert counted(ended).unexpected == {"200 → 404": 2, "none → 503": 1}
