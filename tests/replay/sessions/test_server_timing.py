"""Durations of the header Server-Timing come into columns of the result log, whatever a target sends."""

import math
import re
import time
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import scan
from logreplay.replay.sessions.server_timing import column_of, durations, metrics
from support.background_server import beside
from support.logging_nginx import LoggingNginx
from support.raw_server import raw_server, response, sends


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (b"db;dur=53.2, app;dur=47.25", [0.0532, 0.04725]),
        (b' DB ; desc="a, app;dur=9" ; dur="1" ,app', [0.001, None]),
        (b"db;dur=1,db;dur=2;desc=x,app;dur=-1", [0.003, None]),
        (b'db;desc="dur=7;dur=8";x=;dur=3, app;duration=4', [0.003, None]),
        (b"db;dur=nan,app;dur=1e999", [None, None]),
        (b"db;dur=12.345678901234567,app;dur=1e-3", [0.012345678901234567, 1e-6]),
        (b"db;dur=.5,app;dur=+1.", [0.0005, 0.001]),
        (b"db;dur=1.5.5,app;dur=0x10", [None, None]),
        (b'app;dur=1,"db;dur=2', [None, 0.001]),
        (b"\xff\x00;dur=1,db;dur=" + b"9" * 5000, [None, None]),
        (b'"' * 4096, [None, None]),
        (b'db;desc="' + b"\\" * 4096, [None, None]),
        (b"a," * 50_000 + b"db;dur=1", [None, None]),
        (b"", [None, None]),
    ],
)
def test_a_header_of_any_kind_gives_durations_or_nothing(header: bytes, found: list[float | None]) -> None:
    read = [None if value != value else value for value in durations(header, ("db", "app"))]
    assert read == pytest.approx(found)


@pytest.mark.parametrize("number", ["9", ".9", "9.", "1e9"])
def test_the_time_to_read_a_number_is_linear_in_its_length(number: str) -> None:
    """With backtracking, a header of 4000 digits takes a second, and one of 400 a hundredth of that."""

    def seconds(digits: int, times: int) -> float:
        header = f"db;dur={number}{'9' * digits}x".encode()
        began = time.process_time()
        for _ in range(times):
            assert durations(header, ("db",)) == pytest.approx([math.nan], nan_ok=True)
        return time.process_time() - began

    assert min(seconds(4000, 20) for _ in range(3)) < 5 * min(seconds(400, 200) for _ in range(3)) + 0.01


@pytest.mark.parametrize(
    "text", ["", "db,", "a b", 'db;"', "db,DB", "a-b,a.b", "-", ",".join(f"m{n}" for n in range(60))]
)
def test_a_name_that_no_metric_and_no_column_can_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"name of a metric|same column|more than 50"):
        metrics(text)


def test_names_become_columns() -> None:
    assert metrics("db, Cache-Read,db") == ("db", "Cache-Read")
    assert [*map(column_of, ("db", "Cache-Read", "_x.y_"))] == ["server_db", "server_cache_read", "server_x_y"]


@pytest.mark.parametrize(
    "ways",
    [
        (),
        ("--http", "2", "--digest"),
        ("--sender", "aiohttp", "--trace", "10%"),
        ("--by-client", "--cookies", "--http", "2"),
    ],
)
def test_the_row_has_the_durations_of_its_response(nginx: ServerFactory, tmp_path: Path, ways: tuple[str, ...]) -> None:
    server = LoggingNginx.of(nginx, answer='add_header Server-Timing "db;dur=$arg_ms, x;dur=1"; return 200 "hello";')
    pl.DataFrame({
        "date": "2026-01-01", "time": "12:00:00.000000", "latency": 0.01, "xfertime": 0, "thinktime": 0, "bytes": 5,
        "url": [f"/?ms={number}.5" if number % 2 else f"/{number}" for number in range(40)], "rc": 200, "op": "GET",
        "client": [f"192.0.2.{number % 3}" for number in range(40)],
    }).write_csv(tmp_path / "log.csv")  # fmt: skip
    words = ("run", tmp_path / "log.csv", server.url_for(ways), "--tps", 300, "--server-timing", "db,app", *ways)
    assert run([str(word) for word in (*words, "-o", tmp_path / "out.csv")]) in (0, 3)  # 3: a busy machine
    rows = scan(tmp_path / "out.csv").collect()
    traced = ["trace_id"] if "--trace" in ways else []
    assert rows.columns == [*RESULT_COLUMNS, "server_db", "server_app", *traced]
    for row in rows.iter_rows(named=True):
        _, given, ms = row["url"].partition("ms=")
        assert (float(row["server_db"]) * 1000 if given else row["server_db"]) == (
            pytest.approx(float(ms)) if given else None
        )
        assert row["server_app"] is None
        assert (row["digest"] is not None) == ("--digest" in ways)


COMMANDS = {
    "run": ("run", "{log}", "{url}", "--tps", "300"),
    "two workers": ("run", "{log}", "{url}", "--tps", "300", "--workers", "2"),
    "sweep": ("sweep", "100,200", "{log}", "{url}", "--for", "300ms", "--no-plots"),
    "duet": ("duet", "{log}", "{url}", "{url}", "--tps", "100"),
}


@pytest.mark.usefixtures("_plans_begin_at_once")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_metric_that_never_comes_or_cannot_be_read_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """The columns were empty, and nothing said why."""
    log = tmp_path / "urls.txt"
    log.write_text("/\n" * 60)
    answer = response(b"hello", "200 OK", "Server-Timing: db;dur=5, app;dur=x9, hit")
    with beside(partial(raw_server, answers={"/": sends(answer, keep=True)})) as server:
        words = [word.format(log=log, url=server.url) for word in COMMANDS[command]]
        out = "out.csv" if words[0] == "run" else "out"
        assert run([*words, "--server-timing", "db,app,cache,hit", "-o", str(tmp_path / out)]) in (0, 3)
    told = " ".join(capsys.readouterr().err.split())
    if words[0] == "run":
        assert scan(tmp_path / out).collect()["server_db"].cast(pl.Float64).to_list() == [0.005] * 60
    for name in ("cache", "hit"):
        assert told.count(f"no response had the Server-Timing metric {name} with a duration;") == 1
    assert "the Server-Timing metric db" not in told
    assert len(re.findall(r"the Server-Timing metric app of (\d+) responses of \1 has no duration", told)) == 1
