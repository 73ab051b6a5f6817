"""Watched figures of a whole run, with sources that fail in the middle."""

import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import polars as pl
import pytest
from aiohttp import web

import logreplay
from logreplay.replay.monitor.snapshot import Snapshot
from support.background_server import beside


@pytest.mark.slow
def test_a_source_that_fails_now_and_then_loses_these_readings_and_a_process_that_ends_the_rest(
    tmp_path: Path, target: str
) -> None:
    log = tmp_path / "log.csv"
    rows = "".join(f"2026-01-01,00:00:00.{n:06},0,0,0,0,/{n},200,GET\n" for n in range(400))
    log.write_text(f"date,time,latency,xfertime,thinktime,bytes,url,rc,op\n{rows}")
    asked = 0
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:

        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            nonlocal asked
            asked += 1
            return web.Response(status=500) if asked % 3 == 0 else web.Response(text="pool_in_use 7\n")

        @asynccontextmanager
        async def page() -> AsyncIterator[str]:
            runner = web.ServerRunner(web.Server(answer))
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            try:
                yield f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
            finally:
                await runner.cleanup()

        def see(now: Snapshot) -> None:
            if now.elapsed > 1.5:
                process.kill()
                process.wait()

        with beside(page) as url:
            watch = {"app": f"pid:{process.pid}", "pool:9": f"prometheus:{url}#pool_in_use", "text": "!echo hello"}
            result = logreplay.run(
                log, target, tps=40, duration=4, watch=watch, output=tmp_path / "r.csv", workers=2, progress=see
            )
    findings = [finding.text for finding in result.findings if finding.code == "watch"]
    lost = {
        name: (int(failed), int(read), why)
        for names, failed, read, why in (
            re.fullmatch(r"watch ([\w, ]+): (\d+) of (\d+) readings failed and left gaps: (.*)", each).groups()  # type: ignore[union-attr]
            for each in findings
        )
        for name in names.split(", ")
    }
    assert set(lost) == {"pool", "text", *(f"app_{each}" for each in (
        "cpu", "process", "thread", "waiting", "descriptors", "threads"))}  # fmt: skip
    failed, read, why = lost["pool"]
    assert why == "status 500"
    assert 1 <= failed <= read / 3 + 1
    assert lost["text"][0] == lost["text"][1]
    assert lost["text"][2] == "no number, but 'hello'"
    assert lost["app_cpu"][2] == f"process {process.pid} has ended"
    assert 0 < lost["app_cpu"][0] < lost["app_cpu"][1], "before it ended it was read"
    readings = pl.read_csv(tmp_path / "r.watch.csv")
    assert readings.filter(pl.col("name") == "pool")["maximum"].unique().to_list() == [9.0]
    assert readings.filter(pl.col("name") == "pool").height == read - failed
    assert set(readings.filter(pl.col("name") == "app_thread")["maximum"]) == {1.0}
    assert "text" not in set(readings["name"])
