"""Figures from elsewhere: what is read from an answer, and where it goes."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import polars as pl
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.input.external_metrics import maxima, watch_beside, with_watched
from logreplay.core.errors import LogreplayError
from logreplay.replay.monitor.probe_log import HEADER, ProbeLog
from logreplay.replay.monitor.probes import Probe, ProbeReading, keep_reading, number_in, parse_probe
from support.file_size_limit import files_limited_to


def prometheus(*results: object, kind: str = "vector") -> str:
    result = results[0] if kind == "scalar" else list(results)
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("cpu=http://p:9090/api/v1/query?query=a=b", Probe("cpu", "http://p:9090/api/v1/query?query=a=b")),
        ("load=!cat /proc/loadavg", Probe("load", "cat /proc/loadavg", "command")),
        ("served/s=http://p/count", Probe("served_per_s", "http://p/count", counter=True)),
        ("cpu:2=!echo 1:2", Probe("cpu", "echo 1:2", "command", maximum=2.0)),
        ("served/s:0.5=http://p:80", Probe("served_per_s", "http://p:80", counter=True, maximum=0.5)),
        ("pid:2=!echo 1", Probe("pid", "echo 1", "command", maximum=2.0)),
        ("pid:1", Probe("pid", "1", "pid")),
        ("web=nginx:http://h/?a=b", Probe("web", "http://h/?a=b", "nginx")),
        ('q=prometheus:http://h/m#sum(a{b="c"})', Probe("q", 'http://h/m#sum(a{b="c"})', "prometheus")),
        ("forks/s=!cat n", Probe("forks_per_s", "cat n", "command", counter=True)),
    ],
)
def test_a_probe_is_read(text: str, probe: Probe) -> None:
    assert parse_probe(text) == probe


@pytest.mark.parametrize("text", ["", "cpu", "=http://x", "c-u=http://x", "cpu=ftp://x", "cpu=!", "cpu=cat x"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"NAME=URL|neither a url"):
        parse_probe(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("web:2=nginx:http://h/", "nginx: has several figures and knows their maxima; give its name alone"),
        ("web/s=nginx:http://h/", "nginx: has several figures"),
        ("prometheus:http://h/#m", "name the figure: NAME=prometheus:"),
        ("a=prometheus:http://h/#sum(requests_total)", "only grows; NAME/s= records its growth per second"),
        ("a=foo:1", "nor a preset"),
        ("pid:me", "expected the number of a process"),
        ("pool:0=!cat n", "'pool:0=!cat n': expected a maximum above 0 behind the name, such as pool:10="),
        (f"pool:{'9' * 400}=!cat n", "expected a maximum above 0"),
    ],
)
def test_a_source_that_lacks_something_says_what(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_probe(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.52 0.58 0.59 1/977 1234\n", 0.52),
        ("-3e2", -300),
        (prometheus({"metric": {}, "value": [1, "0.25"]}), 0.25),
        (prometheus([1, "7"], kind="scalar"), 7),
    ],
)
def test_the_figure_of_an_answer(text: str, number: float) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no number, but ''"),
        ("up 1", "no number, but 'up'"),
        ("nan", "no number"),
        (prometheus(), "0 results, not 1"),
        (prometheus({"value": [1, "1"]}, {"value": [1, "2"]}), "2 results, not 1"),
        (prometheus({"value": [1, "NaN"]}), "not a finite number"),
        ('{"status": "error", "error": "parse error"}', "the query failed: parse error"),
        ('{"a": 1}', "JSON, but not of a Prometheus query"),
    ],
)
def test_what_holds_no_figure_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        number_in(text)


@given(st.text())
def test_no_answer_can_do_more_than_fail(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(number_in(text), float)


def test_sources_are_read_and_what_fails_is_told() -> None:
    pages = {"/n": "42", "/metrics": "idle NaN\nfull +Inf\nfine 3\n"}

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        page = pages.get(request.path)
        return web.Response(text=page) if page else web.Response(status=302, headers={"Location": "/n"})

    async def read() -> dict[str, ProbeReading]:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        probes = (
            Probe("url", f"{url}/n"),
            Probe("moved", f"{url}/elsewhere"),
            Probe("command", "echo 1.5", "command"),
            Probe("wrong", "printf 'oh\\033[2J'; exit 3", "command"),
            Probe("flood", "yes", "command"),
            *(Probe(name, f"{url}/metrics#{name}", "prometheus") for name in ("idle", "full", "fine")),
            Probe("grown", f"{url}/metrics#idle", "prometheus", counter=True),
        )
        told: dict[str, ProbeReading] = {}
        complete = asyncio.Event()

        def tell(reading: ProbeReading) -> None:
            told.setdefault(reading.name, reading)
            if len(told) == len(probes):
                complete.set()

        reading = asyncio.create_task(keep_reading(probes, tell))
        await asyncio.wait_for(complete.wait(), 10)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await runner.cleanup()
        return told

    told = asyncio.run(read())
    assert (told["url"].value, told["command"].value) == (42, 1.5)
    assert told["moved"].problem == "status 302"
    assert told["wrong"].problem == "exit code 3: oh [2J"
    assert told["flood"].problem == "more than 4194304 bytes"
    assert (told["fine"].value, told["idle"].value, told["full"].value) == (3, None, None)
    assert told["idle"].problem == told["grown"].problem == "nan is not a finite number"
    assert told["full"].problem == "inf is not a finite number"


def test_readings_become_columns_of_the_seconds_they_were_asked_for_in(tmp_path: Path) -> None:
    log = ProbeLog(watch_beside(tmp_path / "r.csv"))
    log.hear(ProbeReading("cpu", 99.0, 0.9))  # before the run
    log.hear(ProbeReading("cpu", 100.3, 0.1))
    log.begin(100.0)
    log.hear(ProbeReading("cpu", 102.4, 0.3, maximum=2.0))
    log.hear(ProbeReading("cpu", 103.4, 0.3, maximum=2.0))
    log.hear(ProbeReading("mem", 101.5, None, "refused"))
    log.hear(ProbeReading("app_descriptors", 101.5, 40.0, maximum=1024.0))  # of the master
    log.hear(ProbeReading("app_descriptors", 102.5, 980.0, maximum=20000.0))  # of a worker
    log.close()
    table = with_watched(pl.DataFrame({"second": [0, 1, 2, 3]}), tmp_path / "r.csv")
    assert table["watch_cpu"].to_list() == [0.1, None, 0.3, 0.3]
    assert maxima(tmp_path / "r.csv") == {"cpu": 2.0}, "limits of two processes are no maximum"
    assert [finding.text for finding in log.end()] == ["watch mem: 1 of 1 readings failed and left gaps: refused"]


def test_the_file_of_readings_is_not_there_before_the_run_is(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.hear(ProbeReading("cpu", 99.0, 0.9))
    assert not (tmp_path / "r.watch.csv").exists()
    log.begin(100.0)
    log.close()
    assert not (tmp_path / "r.watch.csv").exists()


def test_readings_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "gone" / "r.watch.csv")
    log.begin(0.0)
    log.hear(ProbeReading("cpu", 1.0, 0.9))
    log.close()
    (finding,) = log.end()
    assert finding.text.startswith(f"watch cpu: 1 of 1 readings failed and left gaps: {tmp_path / 'gone'}")


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")
@pytest.mark.parametrize(
    ("size", "kept"), [(10, []), (40, [(1, 0.5)])], ids=["in the header line", "in the second reading"]
)
def test_a_disk_that_fills_up_leaves_whole_readings_and_stops_nothing(
    size: int, kept: list[tuple[int, float]], tmp_path: Path
) -> None:
    """Half a line stayed, so that the result log could not be analysed, and the run ended with a traceback."""
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.begin(0.0)
    with files_limited_to(size):
        for at in (1.0, 2.0, 3.0):
            log.hear(ProbeReading("cpu", at, 0.5))
        log.close()
    (finding,) = log.end()
    assert f"{3 - len(kept)} of 3 readings failed and left gaps" in finding.text
    seconds = with_watched(pl.DataFrame({"second": range(4)}), tmp_path / "r.csv")
    assert [row for row in seconds.drop_nulls().rows() if len(row) > 1] == kept
    assert maxima(tmp_path / "r.csv") == {}


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")
def test_readings_go_on_when_the_disk_has_space_again(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.begin(0.0)
    log.hear(ProbeReading("cpu", 1.0, 0.5))
    with files_limited_to(40):
        log.hear(ProbeReading("cpu", 2.0, 0.5))
        log.go_on(2)
    log.begin(10.0)
    log.hear(ProbeReading("cpu", 11.0, 0.7))
    log.close()
    assert (tmp_path / "r.watch.csv").read_text() == f"{HEADER}1,cpu,0.5,\n3,cpu,0.7,\n"


def test_a_sweep_that_goes_on_keeps_the_readings_of_its_finished_steps_and_no_others(tmp_path: Path) -> None:
    """The table had the means of the readings of a step that was thrown away and of the one made in its place."""
    path = tmp_path / "r.watch.csv"
    for first, at in ((0, (0.5, 9.5, 10.5, 11.5)), (10, (1.5,))):
        log = ProbeLog(path)
        log.go_on(first)
        log.begin(0.0)
        for each in at:
            log.hear(ProbeReading("cpu", each, 1.0 + first, maximum=2.0))
        log.close()
    with path.open("a") as file:
        file.write("3")  # of a process that was killed
    log = ProbeLog(path)
    log.go_on(12)
    assert path.read_text() == "second,name,value,maximum\n0,cpu,1.0,2.0\n9,cpu,1.0,2.0\n11,cpu,11.0,2.0\n"
    log.go_on(0)
    assert not path.exists()


def test_readings_between_two_parts_of_a_run_belong_to_neither(tmp_path: Path) -> None:
    """Those of refined steps lay beside later seconds than their rows: the shift was the time of the analysis."""
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.go_on(0)
    log.begin(100.0)
    log.hear(ProbeReading("cpu", 101.5, 0.1))
    log.hear(ProbeReading("cpu", 115.0, 0.9))  # while the first part is evaluated
    log.go_on(10)
    log.hear(ProbeReading("cpu", 120.0, 0.9))
    log.begin(130.0)
    log.hear(ProbeReading("cpu", 129.9, 0.9))  # was asked for before
    log.hear(ProbeReading("cpu", 130.5, 0.2))
    log.close()
    table = with_watched(pl.DataFrame({"second": range(40)}), tmp_path / "r.csv").drop_nulls()
    assert table.rows() == [(1, 0.1), (10, 0.2)]


def test_a_file_of_readings_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("second,name,value,maximum\n20,cpu,1.0,\n")
    (tmp_path / "r.watch.csv").symlink_to(tmp_path / "mine")
    with pytest.raises(LogreplayError, match=r"r\.watch\.csv is a link; remove it"):
        ProbeLog(tmp_path / "r.watch.csv").go_on(10)


def test_a_result_log_without_readings_stays_as_it_is(tmp_path: Path) -> None:
    table = pl.DataFrame({"second": [0]})
    assert with_watched(table, tmp_path / "r.csv") is table
    assert with_watched(table, None) is table
    assert maxima(tmp_path / "r.csv") == maxima(None) == {}


def test_figures_that_fail_together_are_named_together_and_the_first_problem_is_told_at_once(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.begin(0.0)
    new = [
        log.hear(ProbeReading(name, at, None, "process 7 has ended") if at != 2 else ProbeReading(name, at, 1.0))
        for at in (1.0, 2.0, 3.0)
        for name in ("app_cpu", "app_threads")
    ]
    log.close()
    assert new == [True, False, False, False, False, False]
    assert [finding.text for finding in log.end()] == [
        "watch app_cpu, app_threads: 2 of 3 readings failed and left gaps: process 7 has ended"
    ]
    assert (tmp_path / "r.watch.csv").read_text().count("\n") == 3


def test_readings_that_end_before_the_run_are_a_finding_and_leave_no_last_value(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.go_on(10)
    log.begin(100.0)
    log.hear(ProbeReading("pool", 101.0, 7.0))
    log.lose(109.5, "has ended")
    assert log.latest == {}
    text = "the readings of --watch end at second {}: the process beside the replay, which reads them, has ended; "
    assert [finding.text.startswith(text.format(19)) for finding in log.end()] == [True]
    log.go_on(15)  # the run goes on at second 15: the readings end there, not between its two parts
    assert [finding.text.startswith(text.format(15)) for finding in log.end()] == [True]


def test_the_file_holds_the_readings_that_the_findings_count_and_none_that_comes_after_them(tmp_path: Path) -> None:
    log = ProbeLog(tmp_path / "r.watch.csv")
    log.begin(0.0)
    log.hear(ProbeReading("pool", 1.0, 7.0))
    log.hear(ProbeReading("pool", 2.0, None, "status 500"))
    (finding,) = log.end()
    log.hear(ProbeReading("pool", 3.0, 7.0))
    log.close()
    assert finding.text == "watch pool: 1 of 2 readings failed and left gaps: status 500"
    assert (tmp_path / "r.watch.csv").read_text() == "second,name,value,maximum\n1,pool,7.0,\n"


def test_a_run_of_an_earlier_version_goes_on_without_maxima(tmp_path: Path) -> None:
    path = tmp_path / "r.watch.csv"
    path.write_text("second,name,value\n0,cpu,1.0\n")
    log = ProbeLog(path)
    log.go_on(5)
    log.begin(0.0)
    log.hear(ProbeReading("cpu", 0.5, 2.0, maximum=2.0))
    log.close()
    assert path.read_text() == "second,name,value\n0,cpu,1.0\n5,cpu,2.0\n"
    assert with_watched(pl.DataFrame({"second": [0, 5]}), tmp_path / "r.csv")["watch_cpu"].to_list() == [1.0, 2.0]
    assert maxima(tmp_path / "r.csv") == {}
