"""Plans: every row is sent or named, in order, byte for byte."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, to_csv
from logreplay.replay.requests import plan as plan_module
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.schedules.arrivals import FollowSchedule
from logreplay.replay.schedules.rates import Constant, Limited, Schedule, Together


def write(path: Path, rows: Sequence[tuple[str | None, str | None]]) -> Path:
    frame = pl.DataFrame(
        {
            "date": ["2026-01-01"] * len(rows),
            "time": ["00:00:00.000000"] * len(rows),
            **dict.fromkeys(("latency", "xfertime", "thinktime"), [0.5] * len(rows)),
            "bytes": [7] * len(rows),
            "url": pl.Series([url for url, _ in rows], dtype=pl.String),
            "rc": [200] * len(rows),
            "op": pl.Series([op for _, op in rows], dtype=pl.String),
        }
    )
    path.write_bytes(to_csv(frame.select(CORE_COLUMNS), header=True))
    return path


@pytest.mark.parametrize(
    ("url", "op", "reason"),
    [
        ("/ok", "GET", None),
        ("//evil.example/", "GET", None),
        ("/a?u=http://x/", "HEAD", None),
        ("http://evil.example/", "GET", "url does not begin with /"),
        ("evil.example:443", "CONNECT", "method CONNECT"),
        ("*", "GET", "url does not begin with /"),
        ("@evil.example/", "GET", "url does not begin with /"),
        ("/a b", "GET", "control byte or blank in url"),
        ("/a\r\nX: y", "GET", "control byte or blank in url"),
        ("/a\x00", "GET", "control byte or blank in url"),
        ("/\x1b[31m", "GET", "control byte or blank in url"),
        ("/ä", "GET", "control byte or blank in url"),
        ("", "GET", "no url"),
        (None, "GET", "no url"),
        ("/", "", "no method"),
        ("/", None, "no method"),
        ("/", "POST", "method POST"),
        ("/", "get", "method get"),
        ("/", "M-SEARCH", "method M-SEARCH"),
        ("/", "GET /x HTTP/1.1\r\nA: b\r\n\r\nGET", "bad method"),
        ("/", "\x16\x03\x01", "bad method"),
    ],
)
def test_what_may_not_be_sent_is_left_out_and_named(
    tmp_path: Path, url: str | None, op: str | None, reason: str | None
) -> None:
    requests = Requests(write(tmp_path / "log.csv", [("/first", "GET"), (url, op)]), loop=False)
    frame = pl.concat(requests.frames())
    assert frame["url"].to_list() == ["/first"] + ([] if reason else [url])
    assert requests.left_out == ({reason: 1} if reason else {})
    assert requests.usable + sum(requests.left_out.values()) == 2


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(st.text(max_size=8), st.sampled_from(["GET", "HEAD", "POST", "", "X"])), max_size=30))
def test_any_text_is_sent_as_it_stands_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    """Whatever a log holds: what is planned has no blank, control byte or line end, and nothing is lost."""
    path = write(tmp_path_factory.mktemp("plan") / "log.csv", [*rows, ("/", "GET")])
    requests = Requests(path, loop=False)
    frame = pl.concat(requests.frames())
    assert frame.height + sum(requests.left_out.values()) == len(rows) + 1
    written = [*rows, ("/", "GET")]
    for row, url, op in frame.select("row", "url", "op").iter_rows():
        assert (url, op) == written[row]
        assert url.startswith("/")
        assert all(0x21 <= ord(character) <= 0x7E for character in url)
        assert op in ("GET", "HEAD")


@pytest.mark.parametrize("height", [1, 3, 2048, 5000])
def test_a_short_log_is_gone_round(tmp_path: Path, height: int) -> None:
    path = write(tmp_path / "log.csv", [(f"/{number}", "GET") for number in range(height)])
    plan = Plan(Requests(path), Limited(Constant(1000), requests=12_345))
    rows = pl.concat(chunk.frame for chunk in plan)["row"].to_numpy()
    assert (rows == np.arange(12_345) % height).all()


@pytest.mark.parametrize("kept", [0, 1 << 16], ids=["read again", "kept"])
@pytest.mark.parametrize("height", [1, 3, 2048, 5000])
def test_a_plan_reads_on_from_where_another_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, height: int, kept: int
) -> None:
    monkeypatch.setattr(plan_module, "KEPT_ROWS", kept)
    path = write(tmp_path / "log.csv", [(f"/{number}", "GET") for number in range(height)])
    requests = min(7000, 20 * height)  # to read a file of one line again takes as long as one of a block
    for begin in (1, height - 1, height, 3 * height + 2):
        plan = Plan(Requests(path), Limited(Constant(1000), requests=requests), begin=begin)
        rows = pl.concat(chunk.frame for chunk in plan)["row"].to_numpy()
        assert (rows == np.arange(begin, begin + requests) % height).all()


class Uploads:
    """A log of fifteen uploads of 100 kB; counts how often it is read."""

    def __init__(self, log: Path) -> None:
        self._log, self.passes = log, 0

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        self.passes += 1
        row = pl.read_csv(self._log).with_columns(client=pl.lit("c")).select(columns)
        for _ in range(15):
            yield row.with_columns(pl.Series("payload", [bytes(100_000)]))

    def lacking(self, column: str, methods: Collection[str]) -> int:
        return 0


def test_a_short_log_with_large_bodies_is_read_again_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_module, "KEPT_BYTES", 1_000_000)
    uploads = Uploads(write(tmp_path / "log.csv", [("/", "PUT")]))
    frames = Requests(uploads, methods=("PUT",)).frames()
    assert [row for frame in islice(frames, 20) for row in frame["row"]] == [*range(15), *range(5)]
    assert uploads.passes == 2


def test_a_plan_ends_with_its_schedule_or_its_log(log: Path) -> None:
    assert sum(len(chunk.due) for chunk in Plan(Requests(log), Constant(10, duration=5))) == 50
    assert sum(len(chunk.due) for chunk in Plan(Requests(log, loop=False), Constant(10))) == 100
    assert sum(len(chunk.due) for chunk in Plan(Requests(log, loop=False), Constant(10, duration=60))) == 100


def test_a_plan_streams(log: Path) -> None:
    first = next(islice(iter(Plan(Requests(log), Constant(1_000_000, duration=1_000_000))), 1))
    assert first.frame.height == len(first.due) <= 2048


def test_what_the_log_had_goes_along(log: Path) -> None:
    chunk = next(iter(Plan(Requests(log), Constant(10, 1))))
    assert chunk.frame.row(3, named=True) == {
        "row": 3,
        "url": "/page/3?q=%203",
        "op": "GET",
        "expected_rc": 200,
        "expected_bytes": 3,
        "expected_latency": 0.01,
        "client": None,
    }


def test_a_log_without_anything_to_send_says_why(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", [("/", "POST"), ("/", "POST"), ("x", "GET")])
    why = (
        "nothing to replay: all requests are left out: 2 x method POST, 1 x url does not begin with /; "
        "send POST with --methods GET,HEAD,POST; these may change data on the target$"
    )
    with pytest.raises(LogreplayError, match=why):
        list(Requests(path).frames())
    path = write(tmp_path / "odd.csv", [("/", "OPTIONS"), ("/", "connect")])
    with pytest.raises(LogreplayError, match=r"; send OPTIONS with --methods GET,HEAD,OPTIONS$"):
        list(Requests(path).frames())
    with pytest.raises(LogreplayError, match=r"nothing to replay: it holds no requests$"):
        list(Requests(write(tmp_path / "empty.csv", [])).frames())


class Idle:
    """A log that is followed, with four requests; nobody writes to it any more."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield pl.read_csv(self._log).with_columns(client=pl.lit("c")).select(columns)
        pytest.fail("the log was read on")

    def lacking(self, column: str, methods: Collection[str]) -> int:
        return 0


@pytest.mark.parametrize(
    "schedule",
    [
        Limited(FollowSchedule(0.0), requests=4),
        Limited(Limited(FollowSchedule(0.0), requests=4), seconds=1e9),
        Together(Limited(FollowSchedule(0.0), requests=2), 2),
    ],
    ids=["limited", "limited in time too", "pairs"],
)
def test_a_followed_log_is_not_waited_for_after_the_last_request_that_is_wanted(
    tmp_path: Path, schedule: Schedule
) -> None:
    """With --requests, the run went on until one line more was written."""
    source = Idle(write(tmp_path / "log.csv", [("/ok", "GET")] * 4))
    assert sum(len(chunk.due) for chunk in Plan(Requests(source, loop=False), schedule)) == 4


def test_the_rest_of_a_log_is_counted_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Requests(write(tmp_path / "log.csv", [("/", "GET")] * 60_000 + [("/", "POST")]))
    next(requests.frames())
    monkeypatch.setattr(plan_module, "_COUNTED", 60_000)
    requests.count_on()
    assert not requests.whole
    assert 0 < requests.rows < 60_000
    monkeypatch.setattr(plan_module, "_COUNTED", 60_001)
    monkeypatch.setattr(plan_module, "_COUNTED_BYTES", 1000)
    requests.count_on()
    assert not requests.whole
    monkeypatch.setattr(plan_module, "_COUNTED_BYTES", 1 << 28)
    requests.count_on()
    assert requests.whole
    assert (requests.usable, requests.left_out, requests.figures.requests) == (60_000, {"method POST": 1}, 60_000)


def test_a_log_that_can_no_longer_be_read_keeps_its_counts(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", [("/", "GET")] * 3)
    requests = Requests(log)
    next(requests.frames())
    log.unlink()
    requests.count_on()
    assert (requests.whole, requests.rows) == (False, 3)
