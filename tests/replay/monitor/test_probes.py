"""Figures from elsewhere: what is read from an answer, and where it goes."""

import asyncio
import contextlib
import json
from pathlib import Path

import polars as pl
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.input.external_metrics import watch_beside, with_watched
from logreplay.replay.monitor.probe_log import ProbeLog
from logreplay.replay.monitor.probes import Growth, Probe, ProbeReading, keep_reading, number_in, parse_probe


def prometheus(*results: object, kind: str = "vector") -> str:
    result = results[0] if kind == "scalar" else list(results)
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("cpu=http://p:9090/api/v1/query?query=a=b", Probe("cpu", "http://p:9090/api/v1/query?query=a=b")),
        ("load=!cat /proc/loadavg", Probe("load", "cat /proc/loadavg", command=True)),
        ("served/s=http://p/count", Probe("served_per_s", "http://p/count", counter=True)),
        ("forks/s=!cat n", Probe("forks_per_s", "cat n", command=True, counter=True)),
    ],
)
def test_a_probe_is_read(text: str, probe: Probe) -> None:
    assert parse_probe(text) == probe


@pytest.mark.parametrize("text", ["", "cpu", "=http://x", "c-u=http://x", "cpu=ftp://x", "cpu=!", "cpu=cat x"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"NAME=URL|neither a url"):
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
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="42") if request.path == "/n" else web.Response(status=302, headers={"Location": "/n"})

    async def read() -> dict[str, ProbeReading]:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        probes = (
            Probe("url", f"{url}/n"),
            Probe("moved", f"{url}/elsewhere"),
            Probe("command", "echo 1.5", command=True),
            Probe("wrong", "printf 'oh\\033[2J'; exit 3", command=True),
            Probe("flood", "yes", command=True),
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
    assert told["flood"].problem == "more than 1048576 bytes"


def test_readings_become_columns_of_the_seconds_they_were_asked_for_in(tmp_path: Path) -> None:
    log = ProbeLog(watch_beside(tmp_path / "r.csv"))
    log.hear(ProbeReading("cpu", 99.0, 0.9))  # before the run
    log.hear(ProbeReading("cpu", 100.3, 0.1))
    log.begin(100.0)
    log.hear(ProbeReading("cpu", 102.4, 0.3))
    log.hear(ProbeReading("mem", 101.5, None, "refused"))
    log.close()
    table = with_watched(pl.DataFrame({"second": [0, 1, 2, 3]}), tmp_path / "r.csv")
    assert table["watch_cpu"].to_list() == [0.1, None, 0.3, None]
    assert [finding.text for finding in log.findings()] == ["watch mem: 1 of 1 readings failed and left gaps: refused"]


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
    (finding,) = log.findings()
    assert finding.text.startswith(f"watch cpu: 1 of 1 readings failed and left gaps: {tmp_path / 'gone'}")


def test_a_run_that_goes_on_keeps_its_readings(tmp_path: Path) -> None:
    for first, at in ((0, 0.5), (10, 1.5)):
        log = ProbeLog(tmp_path / "r.watch.csv", first)
        log.begin(0.0)
        log.hear(ProbeReading("cpu", at, 1.0))
        log.close()
    assert (tmp_path / "r.watch.csv").read_text() == "second,name,value\n0,cpu,1.0\n11,cpu,1.0\n"


def test_a_result_log_without_readings_stays_as_it_is(tmp_path: Path) -> None:
    table = pl.DataFrame({"second": [0]})
    assert with_watched(table, tmp_path / "r.csv") is table
    assert with_watched(table, None) is table


def test_a_counter_is_read_as_its_growth_per_second_and_a_fall_is_told() -> None:
    growth = Growth()
    assert growth.since(10.0, 500) is None
    assert growth.since(11.0, 700) == 200
    assert growth.since(13.0, 800) == 50
    with pytest.raises(ValueError, match="the counter fell from 800 to 3: its server was restarted"):
        growth.since(14.0, 3)
    assert growth.since(15.0, 10) == 7
