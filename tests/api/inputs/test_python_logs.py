"""Logs that a Python program gives: tables, requests, and functions that make them."""

import itertools
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pandas as pd
import polars as pl
import pytest

import logreplay
from logreplay import Request
from logreplay.inputs.python_logs import RequestsFrom, python_log
from logreplay.inputs.streams import count_on
from logreplay.replay.requests.combine import Mixed
from logreplay.replay.requests.hook import Planned
from logreplay.replay.requests.plan import Requests
from support.background_server import beside
from support.recording_server import RecordingServer, recording

COLUMNS = ("date", "time", "url", "op", "rc", "bytes", "client")
EAST = timezone(timedelta(hours=1))
SHORT: dict[str, Any] = {"tps": 40, "requests": 6, "timeout": 5}


@pytest.fixture
def target() -> Iterator[RecordingServer]:
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    seen: list[RecordingServer] = []

    @asynccontextmanager
    async def serving() -> AsyncIterator[None]:
        async with recording(0.0) as server:
            seen.append(server)
            yield

    with beside(serving):
        yield seen[0]


def rows(log: object) -> pl.DataFrame:
    return pl.concat([*python_log(log).batches(COLUMNS)], how="diagonal")


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
def test_a_table_is_a_log_whose_other_columns_are_unknown(made: Callable[..., Any]) -> None:
    table = made({"url": ["/a", "/b"], "rc": [200, None], "body": ["x", None], "mine": [1, 2]})
    found = rows(table)
    assert found.select("url", "op", "rc", "date").rows() == [("/a", "GET", 200, None), ("/b", "GET", None, None)]
    assert found["payload"].to_list() == [b"x", None]


def test_instants_of_a_table_are_dates_and_times_in_utc() -> None:
    at = datetime(2026, 1, 1, 1, 2, 3, 400_000, timezone(timedelta(hours=1)))
    for table in (pd.DataFrame({"url": ["/a"], "start": [at]}), pl.DataFrame({"url": ["/a"], "time": [at]})):
        assert rows(table).select("date", "time").row(0) == ("2026-01-01", "00:02:03.400000")


@pytest.mark.parametrize("column", ["start", "time"])
@pytest.mark.parametrize(
    "instants",
    [
        ["2026-01-01T01:00:00+01:00", None, "2026-01-01 00:00:01.5"],
        [datetime(2026, 1, 1, 1, tzinfo=EAST), None, datetime(2026, 1, 1, 0, 0, 1, 500_000)],
    ],
)
def test_instants_as_texts_and_those_with_and_without_a_zone_are_read(column: str, instants: list[Any]) -> None:
    found = rows(pd.DataFrame({"url": "/a", column: pd.Series(instants, dtype=object)}))
    assert found["date"].to_list() == ["2026-01-01", None, "2026-01-01"]
    assert found["time"].to_list() == ["00:00:00.000000", None, "00:00:01.500000"]


@pytest.mark.parametrize("column", ["start", "time"])
@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
def test_numbers_are_seconds_or_parts_of_them_since_1970(made: Callable[..., Any], unit: int, column: str) -> None:
    """Those in ``start`` were ignored in silence."""
    seconds = [1_767_225_600, 1_767_225_602]
    for values in ([second * unit for second in seconds], [seconds[0] * unit, None]):
        found = rows(made({"url": "/a", column: values}))
        assert found["date"].to_list()[0] == "2026-01-01"
        assert found["time"].to_list() == ["00:00:00.000000", "00:00:02.000000" if values[1] else None]
    assert rows(pd.DataFrame({"url": ["/a"], column: [1_767_225_600.25]}))["time"].item() == "00:00:00.250000"


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("start", "noon", "'noon'"),
        ("time", "12:00:00", "'12:00:00'"),
        ("time", time(12), "datetime.time(12, 0)"),
        ("start", 0.25, "0.25"),
        ("start", -1, "-1"),
        ("time", 10**20, "1e+20"),
        ("start", timedelta(seconds=1), "datetime.timedelta(seconds=1)"),
        ("start", "2026-01-01T00:00:00+01", None),
    ],
)
def test_a_table_whose_times_cannot_be_read_is_replayed_at_a_rate_only(
    column: str, value: object, shown: str | None, target: RecordingServer
) -> None:
    """A rate needs no dates: such a table was refused, or its times were ignored where they count."""
    log = pl.DataFrame({"url": "/a", column: [value if value != 10**20 else 1e20] * 2})
    with logreplay.run(log, target.url, **SHORT) as result:
        assert len(result.requests) == 6
    said = f"a table of 2 rows: row 0, column {column}: {shown}: expected an instant" if shown else "have the same time"
    loads: list[dict[str, Any]] = [{"speed": 1}, {"tps": 5, "arrivals": "log"}]
    for load in (*loads, *[{"tps": 5, "since": "2026-01-01"}] * bool(shown)):  # it said: all are before the beginning
        with pytest.raises(logreplay.LogreplayError, match=re.escape(said)):
            logreplay.run(log, target.url, **load)


def test_a_column_of_midnights_is_a_column_of_dates() -> None:
    for table in (pd.DataFrame, pl.DataFrame):
        found = rows(table({"url": ["/a"], "date": [datetime(2026, 1, 1)], "time": ["01:00:00.5"]}))
        assert found.select("date", "time").row(0) == ("2026-01-01", "01:00:00.5")


def test_times_of_day_keep_their_fractions() -> None:
    at = time(1, 2, 3, 400_000)
    for made in (pd.DataFrame, pl.DataFrame):
        found = rows(made({"url": ["/a"], "date": ["2026-01-01"], "time": [at]}))
        assert found.select("date", "time").row(0) == ("2026-01-01", "01:02:03.400000")


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("column", ["latency", "xfertime", "thinktime"])
def test_durations_are_seconds_by_their_unit(column: str, unit: Any) -> None:
    values = pl.Series(column, [timedelta(milliseconds=1500), None], dtype=pl.Duration(unit))
    tables = [pl.DataFrame({"url": ["/a", "/a"], column: values})]
    kind: Any = f"timedelta64[{unit}]"
    pandas = pd.Series([pd.Timedelta("1500ms"), pd.NaT]).astype(kind)
    for table in (*tables, pd.DataFrame({"url": ["/a", "/a"], column: pandas})):
        found = pl.concat([*python_log(table).batches((column,))])
        assert found[column].to_list() == [1.5, None]


def test_a_duration_is_refused_as_a_status_and_as_a_size() -> None:
    for column in ("rc", "bytes"):
        with pytest.raises(logreplay.LogreplayError, match=f"column {column}: .*: expected a whole number"):
            python_log(pl.DataFrame({"url": ["/a"], column: [timedelta(seconds=1)]}))


def test_columns_of_python_objects_are_read_by_their_texts() -> None:
    values = {"latency": Decimal("0.25"), "rc": 200, "more": Path("a")}
    table = pl.DataFrame([pl.Series("url", ["/a"]), *(pl.Series(name, [values[name]], pl.Object) for name in values)])
    found = pl.concat([*python_log(table).batches((*values,))])
    assert found.select(*values).row(0) == (0.25, 200, "a")
    with pytest.raises(logreplay.LogreplayError, match="column rc: 'x': expected a whole number"):
        python_log(table.with_columns(pl.Series("rc", ["x"], pl.Object)))


def test_requests_become_rows_with_their_headers_and_bodies() -> None:
    found = rows(
        [
            Request("/a", headers={"X-A": "1"}),
            Request("/b", "POST", "ü", {"x-a": "2", "X-B": "3"}, datetime(2026, 1, 1, tzinfo=UTC), "me", 201),
        ]
    )
    assert found["header:X-A"].to_list() == ["1", "2"]
    assert found["header:X-B"].to_list() == [None, "3"]
    assert found["payload"].to_list() == [None, "ü".encode()]
    assert found.select(COLUMNS).row(1) == ("2026-01-01", "00:00:00.000000", "/b", "POST", 201, None, "me")


URLS = ["/a", "/b?c=1"]


def logs(folder: Path) -> dict[str, Any]:
    """A log of two requests in each form that a program can give."""
    path = folder / "urls.txt"
    path.write_text("".join(f"http://127.0.0.1{url}\n" for url in URLS))
    posted = Request(URLS[1], "POST", b"\xff", {"X-A": "1"}, rc=201)
    table: dict[str, Any] = {"url": URLS, "body": [None, "x"], "header:X-A": [None, "1"], "mine": [1, 2]}
    return {
        "text": str(path),
        "path": path,
        "pandas": pd.DataFrame(table),
        "polars": pl.DataFrame(table),
        "list": [Request(URLS[0]), posted],
        "tuple": (Request(URLS[0]), posted),
        "function": lambda: iter([Request(URLS[0]), posted]),
        "generator": (each for each in [Request(URLS[0]), posted]),
    }


def sent_to(target: RecordingServer) -> list[str]:
    """The URLs that a target got, besides that of the check of the target."""
    return [url for received in target.received if (url := received.line.split()[1]) != "/"]


FORMS = ("text", "path", "pandas", "polars", "list", "tuple", "function", "generator")
ENDLESS = ("function", "generator")


@pytest.mark.parametrize("form", FORMS)
def test_a_run_sends_a_log_in_each_form(form: str, tmp_path: Path, target: RecordingServer) -> None:
    log = logs(tmp_path)[form]
    logreplay.run(log, target.url, tps=40, requests=None if form == "generator" else 2, methods="GET,POST")
    assert sent_to(target) == URLS


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ENDLESS])
def test_the_built_in_target_answers_from_a_log_in_each_form(form: str, tmp_path: Path) -> None:
    with logreplay.serve(logs(tmp_path)[form]) as server, urlopen(server.url + URLS[0]) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("form", ENDLESS)
def test_the_built_in_target_refuses_requests_that_may_have_no_end(form: str, tmp_path: Path) -> None:
    with pytest.raises(logreplay.UsageError, match="from files, tables and lists of requests only"):
        logreplay.serve(logs(tmp_path)[form])


def test_results_are_logs(tmp_path: Path, target: RecordingServer) -> None:
    converted = logreplay.convert(logs(tmp_path)["path"])
    sent = logreplay.run(converted, target.url, tps=40, requests=2)
    logreplay.run(sent, target.url, tps=40, requests=2)
    assert sent_to(target) == [*URLS, *URLS]
    for log in (converted, sent):
        logreplay.serve(log).close()


def test_an_open_file_is_refused_as_a_log(tmp_path: Path) -> None:
    for mode in ("r", "rb"):
        with (
            open(logs(tmp_path)["path"], mode) as file,
            pytest.raises(logreplay.UsageError, match="is an open file; give its path"),
        ):
            python_log(file)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (pl.DataFrame({"path": ["/a"]}), r"there is no column url \(columns: path\)"),
        (pl.DataFrame({"url": ["/a"], "method": ["POST"]}), "column method: methods are read from the column op"),
        (pl.DataFrame({"url": ["/a"], "Method": ["POST"]}), "column Method: methods are read from the column op"),
        (7, "a log of type int: expected a path"),
        (b"access.log", "request 0: expected logreplay.Request, got int"),
        (pl.DataFrame({"url": ["/a", None]}), "row 1, column url: the value is missing"),
        (pd.DataFrame({"url": ["/a", float("nan")]}), "row 1, column url: the value is missing"),
        (pd.DataFrame({"url": ["/a"], "op": [None]}), "row 0, column op: the value is missing"),
        (pl.DataFrame({"url": [1]}), "row 0, column url: 1: expected a text"),
        (pl.DataFrame({"url": ["/a"], "rc": ["ok"]}), "row 0, column rc: 'ok': expected a whole number"),
        (pl.DataFrame({"url": ["/a"], "rc": [200.5]}), "row 0, column rc: 200.5: expected a whole number"),
        (pl.DataFrame({"url": ["/a"], "thinktime": [float("inf")]}), "row 0, column thinktime: inf: expected a number"),
        (pl.DataFrame({"url": ["/a"], "body_ref": ["1-2"]}), "column body_ref points into a file"),
        (pl.DataFrame({"url": ["/a"], "header:Content-Length": ["5"]}), "'Content-Length' is written by the sender"),
        (
            pl.DataFrame({"url": ["/a", "/b"], "header:A": ["x", "x\r\ny"]}),
            "row 1, column header:A: the value of header",
        ),
        ([Request("/a"), "/b"], r"request 1: expected logreplay.Request, got str; make one of a URL"),
        ([Request("/a", body=7)], "request 0: body=7: expected bytes"),  # type: ignore[arg-type]
        ([Request("/a", headers={"Bad name": "x"})], "request 0: 'Bad name' is not the name of a header"),
        ([Request("/a", headers={"a": 1})], "request 0: header 'a': 1: expected a text"),  # type: ignore[dict-item]
        ([Request("/\udc80")], r"request 0: url='/\\udc80': half of a surrogate pair"),
        ([Request("/a", body="\udc80")], r"request 0: body='\\udc80': half of a surrogate pair"),
        ([Request("/a", headers={"a": "\udc80"})], "request 0: header 'a': half of a surrogate pair"),
        ([Request("/a", headers={"X-A": "1", "x-a": "2"})], "request 0: X-A and x-a are one header"),
        (pl.DataFrame({"url": ["/a"], "header:X-A": "1", "header:x-a": "2"}), "header:X-A and header:x-a are one"),
        (pd.DataFrame([["/a", "/b"]], columns=["url", "url"]), "two columns have the name url"),
        (lambda: None, "returned NoneType, not requests"),
        ([Request("/a", time=pd.NaT)], "request 0: time=NaT: expected"),  # type: ignore[arg-type]
        ([Request("/a", time=datetime(1, 1, 1, tzinfo=EAST))], "request 0: time=datetime.*: expected"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused_with_its_row_and_column(log: object, said: str) -> None:
    with pytest.raises(logreplay.LogreplayError, match=said):
        rows(log)


def test_a_table_and_a_function_are_replayed_with_a_function_as_hook(target: RecordingServer) -> None:
    def tag(request: Planned) -> Planned | None:
        request.headers["X-Run"] = "42"
        return None if request.url == "/order/2" else request

    def orders() -> Iterator[Request]:
        for number in itertools.count():
            yield Request(f"/order/{number}", op="POST", body=b"{}")

    with logreplay.run(pd.DataFrame({"url": ["/a", "/b"]}), target.url, hook=tag, **SHORT) as result:
        assert sorted(result.requests["url"]) == ["/a", "/a", "/a", "/b", "/b", "/b"]
    with logreplay.run(orders, target.url, methods="POST", hook=tag, **SHORT) as result:
        assert sorted(result.requests["url"]) == [f"/order/{number}" for number in (0, 1, 3, 4, 5, 6)]
        assert result.left_out[0] == "not sent: 1 x hook: left out"
    sent = [each for each in target.received if each.target.startswith("/order")]
    assert {(each.header("x-run"), each.body) for each in sent} == {("42", b"{}")}


def test_two_tables_of_the_same_seconds_are_replayed_together_and_not_one_in_a_burst(target: RecordingServer) -> None:
    start = pd.Timestamp("2026-01-01T00:00:00Z")
    one, other = (
        pd.DataFrame({"url": f"/{name}", "start": [start + pd.Timedelta(ms, "ms") for ms in range(0, 400, 100)]})
        for name in "ab"
    )
    with logreplay.run(pd.concat([one, other]), target.url, speed=1) as result:
        due = result.requests.sort_values("seq")
    assert due["url"].tolist() == ["/a", "/b"] * 4
    assert due["scheduled"].tolist() == pytest.approx([0, 0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
    assert due["row"].tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_a_row_without_a_time_stays_behind_the_one_before_it_when_a_table_is_put_in_order() -> None:
    at = [datetime(2026, 1, 1, 0, 0, second) for second in (2, 0, 1)]
    log = python_log(pl.DataFrame({"url": ["/2", "/2/too", "/0", "/1"], "start": [at[0], None, *at[1:]]}))
    (frame,) = Requests(log, loop=False, sorted_within=4).frames()
    assert frame["url"].to_list() == ["/0", "/1", "/2", "/2/too"]


def test_each_client_sends_its_login_from_a_table_first(target: RecordingServer) -> None:
    log = pd.DataFrame({"url": ["/a", "/b"], "client": "10.0.0.7"})
    logins = pd.DataFrame({"client": ["10.0.0.7"], "op": "POST", "url": "/login", "body": "u=a&p=b"})
    with logreplay.run(log, target.url, tps=20, requests=2, by_client=True, cookies=True, login=logins) as result:
        assert len(result.requests) == 2
    sent = [(one.target, one.body) for one in target.received if one.target != "/"]
    assert sent == [("/login", b"u=a&p=b"), ("/a", b""), ("/b", b"")]


def test_a_generator_is_sent_once_and_refused_where_it_must_begin_anew(target: RecordingServer) -> None:
    def made() -> Iterator[Request]:
        yield from map(Request, ("/a", "/b"))

    with logreplay.run(made(), target.url, tps=40) as result:
        assert sorted(result.requests["url"]) == ["/a", "/b"]
    with pytest.raises(logreplay.UsageError, match="made: a generator cannot begin again"):
        logreplay.run(made(), target.url, tps=40, duration=60)


def test_an_exception_in_the_log_ends_the_run_and_is_raised_and_the_rows_stay(
    target: RecordingServer, tmp_path: Path
) -> None:
    def orders() -> Iterator[Request]:
        for number in range(200):
            yield Request(f"/{number}")
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        logreplay.run(orders, target.url, tps=400, duration=60, output=tmp_path / "rows.csv")
    assert len(logreplay.analysis.load(tmp_path / "rows.csv")) > 0


def test_an_exception_in_a_hook_leaves_that_request_out_and_is_counted(target: RecordingServer) -> None:
    def odd(request: Planned) -> Planned:
        if request.url == "/b":
            raise KeyError("mine")
        return request

    with logreplay.run([Request("/a"), Request("/b")], target.url, hook=odd, tps=40) as result:
        assert result.left_out[0] == "not sent: 1 x hook: failed: KeyError"


def test_a_function_as_log_is_sent_by_one_process() -> None:
    def orders() -> Iterator[Request]:
        yield Request("/a")

    with pytest.raises(logreplay.UsageError, match=r"orders\(\) and workers= exclude each other"):
        logreplay.run(orders, "http://127.0.0.1:1", tps=40, workers=2)


def test_a_table_gives_the_answers_of_the_built_in_target() -> None:
    table = pd.DataFrame({"url": ["/a"], "rc": [201], "bytes": [5]})
    with logreplay.run(table, tps=40, requests=4, demo_target=True) as result:
        assert set(result.requests["rc"]) == {201}
    with logreplay.serve(table) as server:
        assert server.url


def test_a_sweep_over_a_table_and_requests_that_a_function_makes(target: RecordingServer) -> None:
    def orders() -> Iterator[Request]:
        for number in itertools.count():
            yield Request(f"/order/{number}")

    for log in (pd.DataFrame({"url": ["/a", "/b"]}), orders):
        with logreplay.sweep(log, target.url, [20, 40], duration="500ms") as curve:
            assert len(curve.requests) == 30
    with pytest.raises(logreplay.UsageError, match="orders: a generator cannot begin again"):
        logreplay.sweep(orders(), target.url, [20, 40], duration="500ms")


def test_an_injected_log_that_a_program_makes_is_not_made_once_more_to_be_counted(tmp_path: Path) -> None:
    calls = itertools.count()

    def make() -> Iterator[Request]:
        next(calls)
        yield from [Request("/a")] * 10_000

    path = tmp_path / "log.csv"
    rows = ["2026-01-01,00:00:00,0,0,0,5,/ok,200,GET"] * 40_000
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    log = Requests(path)
    stream = Mixed(log, Requests(RequestsFrom("make()", make)), 0.5)
    next(stream.frames())
    count_on(stream)
    assert log.usable == 40_000
    assert next(calls) == 1


def test_requests_out_of_order_end_a_run_wherever_they_come(
    target: RecordingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the first requests, whose order is checked before the run, all were sent at once with a warning."""
    monkeypatch.setattr("logreplay.replay.requests.log_stats.ORDER_OVER", 100)

    def orders() -> Iterator[Request]:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for number in range(1000):
            yield Request("/a", time=start + timedelta(milliseconds=number % 250))

    with pytest.raises(logreplay.LogreplayError, match=r"orders\(\): 6 of its requests 129 to 256 are out of order"):
        logreplay.run(orders, target.url, speed=1, output=tmp_path / "r.csv")
    sent = [each for each in target.received if each.target == "/a"]
    assert 0 < len(sent) <= 250
    assert len(pd.read_csv(tmp_path / "r.csv")) == len(sent)


def test_a_missing_number_in_a_header_leaves_the_others_whole() -> None:
    """They were sent as 7.0."""
    assert rows(pd.DataFrame({"url": "/a", "header:X-Id": [7, None]}))["header:X-Id"].to_list() == ["7", None]
