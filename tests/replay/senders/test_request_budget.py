"""A connection carries about as many requests as were asked for, as nginx counts them."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.cli.main import run
from logreplay.replay.senders.request_budget import RequestBudget
from support.logging_nginx import LoggingNginx


@pytest.mark.parametrize(("mean", "least", "most"), [(1, 1, 1), (2, 1, 3), (5, 3, 7), (100, 50, 150)])
def test_numbers_are_drawn_around_the_mean(mean: int, least: int, most: int) -> None:
    budget = RequestBudget(mean, seed=3)
    drawn = [budget.draw() for _ in range(4000)]
    assert (min(drawn), max(drawn)) == (least, most)
    assert sum(drawn) / len(drawn) == pytest.approx(mean, rel=0.02)


@pytest.fixture
def server(nginx: ServerFactory) -> LoggingNginx:
    return LoggingNginx.of(nginx, "$connection", "$status")


@pytest.mark.parametrize(
    "ways",
    [
        (),
        ("--http", "2"),
        ("--workers", "2"),
        ("--by-client",),
        ("--by-client", "--http", "2"),
        ("--cookies", "--by-client"),
    ],
)
def test_no_connection_carries_more_and_no_request_is_lost(
    server: LoggingNginx, tmp_path: Path, ways: tuple[str, ...]
) -> None:
    count = 100
    pl.DataFrame({
        "date": "2026-01-01", "time": "12:00:00.000000", "latency": 0.01, "xfertime": 0, "thinktime": 0, "bytes": 5,
        "url": [f"/{number}" for number in range(count)], "rc": 200, "op": "GET",
        "client": [f"192.0.2.{number % 2}" for number in range(count)],
    }).write_csv(tmp_path / "log.csv")  # fmt: skip
    target = server.url_for(ways)
    words = ("run", tmp_path / "log.csv", target, "--tps", 400, "--requests-per-connection", 5, *ways)
    assert run([str(word) for word in (*words, "-o", tmp_path / "out.csv")]) in (0, 3)  # 3: a busy machine
    rows = server.rows()
    assert Counter(row[2] for row in rows) == {"200": count}
    carried = Counter(row[1] for row in rows)
    assert max(carried.values()) <= 7
    assert count / 7 <= len(carried) <= count / 2.5
