"""A preview says what a plan would send."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.hook import Hooked, Planned, signing
from logreplay.replay.requests.plan import Chunk, Plan, Requests
from logreplay.replay.requests.preview import Preview, preview
from logreplay.replay.schedules.rates import Constant, Limited


def test_a_preview_shows_what_a_signing_hook_makes_of_a_request(shop: Path) -> None:
    def sign(request: Planned) -> Planned:
        request.url += "&signed"
        return request

    seen = preview(Plan(Hooked(Requests(shop, loop=False), signing(sign)), Limited(Constant(100), requests=4)))
    assert all(url.endswith("&signed") for _, _, url in seen.head)


def chunk(*seconds: float) -> Chunk:
    """Requests that are due at these seconds."""
    urls = [f"/{second:g}" for second in seconds]
    frame = pl.DataFrame({"op": "GET", "url": pl.Series(urls, dtype=pl.String)})
    return Chunk(frame, (np.array(seconds) * 1e9).astype(np.int64))


@given(st.lists(st.floats(0, 40), max_size=40), st.integers(1, 7), st.integers(0, 12))
def test_every_request_is_counted_in_its_second_and_the_head_is_the_first_of_them(
    seconds: list[float], size: int, head: int
) -> None:
    seconds.sort()
    seen = preview([chunk(*seconds[at : at + size]) for at in range(0, len(seconds), size)], head)
    assert seen.requests == sum(seen.per_second) == len(seconds)
    assert [url for _, _, url in seen.head] == [f"/{second:g}" for second in seconds[:head]]
    assert seen.last == pytest.approx(seconds[-1] if seconds else 0, abs=1e-8)
    assert len(seen.per_second) == (int(seen.last) + 1 if seconds else 0)


def test_a_plan_of_many_years_is_refused_with_its_gap() -> None:
    """One row of 1971 in a log makes such a plan."""
    year = 365 * 86_400
    with pytest.raises(LogreplayError, match=r"takes 20,075 days, .* is 20,075 days, before second 1,734,480,000"):
        preview([chunk(0, 1), chunk(55 * year, 55 * year + 1)])


@given(st.lists(st.integers(0, 100), max_size=200), st.integers(1, 30))
def test_the_bars_cover_all_seconds_and_all_requests(per_second: list[int], bars: int) -> None:
    rates = Preview(per_second=per_second).rates(bars)
    assert len(rates) <= bars
    covered = [second for first, last, _ in rates for second in range(first, last + 1)]
    assert covered == list(range(len(per_second)))
    assert sum(rate * (last - first + 1) for first, last, rate in rates) == pytest.approx(sum(per_second))


def test_requests_that_may_change_data_are_counted_by_method_and_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logreplay.replay.requests.preview.MOST_PATHS", 3)
    ops = ["GET", "POST", "POST", "HEAD", "DELETE", "OPTIONS", "PUT", "PUT"]
    urls = ["/a", "/a?b=1", "/a?b=2", "/a", "/a/7", "/a", "/b", "/c"]
    seen = Preview()
    for at in (0, 4):
        seen.add_changes(pl.DataFrame({"op": ops[at : at + 4], "url": urls[at : at + 4]}))
    assert seen.changes.total() == 5
    assert seen.changes["POST", "/a"] == 2
    assert seen.changes["DELETE", "/a/7"] == 1
    assert seen.changes["PUT", "(other)"] == 1
