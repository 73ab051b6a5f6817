"""The live page, the metrics and the JSON lines of a run that goes on."""

import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import polars as pl
import pytest

from logreplay.core.rows import scan
from support.browser import CHROMIUM, browser
from support.raw_server import RawServer, raw_server

pytestmark = pytest.mark.slow

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
TILES = "[...$('tiles').children].map(tile => [...tile.children].map(part => part.textContent))"
HOSTILE = "/404?<img/src=x/onerror=document.title='owned'><script>document.title='owned'</script>"


@dataclass
class Running:
    """A command that goes on; what it has said on stderr."""

    process: asyncio.subprocess.Process
    said: list[str]

    async def address(self, what: str) -> str:
        """Wait until it names an address."""
        assert self.process.stderr
        async for line in self.process.stderr:
            self.said.append(line.decode())
            if match := re.match(rf"{what}: (\S+)", self.said[-1]):
                return match[1]
        raise AssertionError("".join(self.said))

    async def end(self) -> int:
        """Wait until it has ended."""
        assert self.process.stderr
        self.said.append((await asyncio.wait_for(self.process.stderr.read(), 60)).decode())
        return await self.process.wait()


@asynccontextmanager
async def running(*words: object) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "logreplay.cli.main", *map(str, words),
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Running(process, [])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def served(folder: Path, urls: list[str]) -> AsyncIterator[tuple[Path, RawServer]]:
    """A log of these urls, and a server for it."""
    log = folder / "log.csv"
    rows = [f'2026-01-01,00:00:00.000000,0,0,0,5,"{url}",200,GET' for url in urls]
    log.write_text("\n".join([HEADER, *rows]) + "\n")
    async with raw_server() as server:
        yield log, server


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_page_shows_the_run_harmlessly_and_its_button_stops_it(tmp_path: Path) -> None:
    async def look_on() -> None:
        async with served(tmp_path, ["/ok"] * 9 + [HOSTILE]) as (log, server), browser() as page:
            words = ("run", log, server.url, "--tps", 50, "--for", 120, "-o", tmp_path / "r.csv", "--live")
            async with running(*words, "--control", tmp_path / "load") as run:
                url = await run.address("live page")
                await page.open(url)
                await page.until("document.querySelectorAll('#errors td').length > 0")
                await page.until("document.querySelectorAll('#rates path').length === 3")
                tiles = dict(
                    await page.value("[...$('tiles').children].map(t => [...t.children].map(c => c.textContent))")
                )
                assert tiles["offered"] == "50/s"
                assert re.fullmatch(r"\d\d\.?\d?/s", tiles["completed"])
                assert tiles["p99"].endswith(("ms", "µs", " s"))
                assert int(tiles["errors"]) > 0
                assert HOSTILE in await page.value("$('errors').textContent")
                await page.value("document.querySelector('#hand button[value=\"raise 20%\"]').click()")
                await page.until("$('told').textContent.startsWith('50 requests/s → 60 requests/s')")
                await page.until("$('stage').textContent.includes('60 requests/s')")
                await page.value("$('pause').click()")
                await page.until("$('pause').textContent === 'Continue'")
                await page.value("$('pause').click()")
                assert "owned" not in await page.value("document.title")
                assert not await page.value("document.querySelectorAll('img').length")
                assert page.console == []
                for name, width, dark in (("wide", 1200, False), ("dark", 1200, True), ("phone", 390, False)):
                    await page.look(tmp_path / f"{name}.png", width, 900, dark=dark)
                    assert await page.value("document.documentElement.scrollWidth") <= width
                await page.value("$('stop').click()")
                assert await run.end() == 130, run.said
                await page.until("$('state').textContent === 'the run is over'")
                assert "stopped from the live page, by 127.0.0.1" in "".join(run.said)
        assert scan(tmp_path / "r.csv").collect().height < 50 * 100

    asyncio.run(look_on())


def test_only_who_has_the_token_and_comes_from_the_page_can_stop_a_run(tmp_path: Path) -> None:
    async def try_all() -> None:
        async with served(tmp_path, ["/ok"]) as (log, server):
            words = ("run", "--live", log, server.url, "--tps", 20, "--for", 120, "-o", tmp_path / "r.csv", "-q")
            async with running(*words) as run, aiohttp.ClientSession() as guest:
                base, _, token = (await run.address("live page")).partition("/#")
                good = {"Authorization": f"Bearer {token}"}
                for headers in (
                    {},
                    {"Authorization": "Bearer wrong"},
                    {**good, "Origin": "http://evil.example"},
                    {**good, "Origin": "null"},
                    {**good, "Host": "evil.example"},
                ):
                    assert (await guest.post(f"{base}/stop", headers=headers)).status == 403
                assert (await guest.get(f"{base}/stop", headers=good)).status == 405
                assert (await guest.get(base, headers={"Host": "evil.example:80"})).status == 403
                assert run.process.returncode is None
                page = await guest.get(base)
                assert "default-src 'none'" in page.headers["Content-Security-Policy"]
                assert token not in await page.text()
                assert (await guest.post(f"{base}/stop", headers=good)).status == 200
                assert await run.end() == 130, run.said

    asyncio.run(try_all())


def test_metrics_json_lines_and_figures_from_elsewhere_of_a_run_of_two_processes(tmp_path: Path) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    async def scrape() -> None:
        async with served(tmp_path, ["/ok", "/ok", "/404"]) as (log, server):
            words = (
                "run", log, server.url, "--tps", 60, "--for", 12, "--workers", 2, "-o", tmp_path / "r.csv",
                "--metrics", 0, "--progress", "json", "--watch", "load=!echo 1.5", "--watch", "gone=http://127.0.0.1:1/",
            )  # fmt: skip
            async with running(*words) as run, aiohttp.ClientSession() as prometheus:
                url = await run.address("metrics")
                found: dict[str, float] = {}
                while found.get("logreplay_watch") is None or not found["logreplay_response_seconds_count"]:
                    assert run.process.returncode is None, run.said
                    text = await (await prometheus.get(url)).text()
                    families = list(text_string_to_metric_families(text))
                    found = {sample.name: sample.value for family in families for sample in family.samples}
                assert found["logreplay_sent_total"] > 0
                assert found["logreplay_response_seconds_count"] > 0
                assert found["logreplay_watch"] == 1.5
                assert await run.end() in (0, 3), run.said
        told = [json.loads(line) for line in "".join(run.said).splitlines() if line.startswith("{")]
        assert len(told) >= 4
        assert told[-1]["over"]
        totals = told[-1]["totals"]
        assert totals["scheduled"] == totals["sent"] == totals["ok"] + totals["http_error"] == 720
        assert totals["samples"] == {"status 404": "GET /404"}
        assert "watch gone: " in "".join(run.said)
        summary = json.loads((tmp_path / "r.summary.json").read_text())
        assert [finding["code"] for finding in summary["findings"]].count("watch") == 1

    asyncio.run(scrape())
    readings = pl.read_csv(tmp_path / "r.watch.csv")
    assert set(readings["name"]) == {"load"}
    assert set(range(1, 4)) <= set(readings["second"]) <= set(range(14))


def test_a_port_that_is_taken_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    async def begin() -> None:
        async with served(tmp_path, ["/ok"]) as (log, server):
            port = server.url.rpartition(":")[2]
            words = ("run", log, server.url, "--tps", 20, "-o", tmp_path / "r.csv", "--live", port)
            async with running(*words) as run:
                assert await run.end() == 1
                assert f"--live: cannot serve at 127.0.0.1:{port}: Address already in use" in "".join(run.said)
            assert not server.counts

    asyncio.run(begin())


def kill_children(pid: int) -> None:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find a child")
def test_a_sidecar_that_is_killed_does_not_stop_the_run_which_says_what_has_ended(tmp_path: Path) -> None:
    async def kill() -> None:
        async with served(tmp_path, ["/ok"]) as (log, server):
            words = (
                *("run", log, server.url, "--tps", 50, "--for", 4, "-o", tmp_path / "r.csv", "--live", 0),
                *("--watch", "load=!echo 1.5", "--progress", "json"),
            )
            async with running(*words) as run:
                await run.address("live page")
                await asyncio.to_thread(kill_children, run.process.pid)
                began = time.monotonic()
                assert await run.end() in (0, 3), run.said
                assert time.monotonic() - began < 30
        assert scan(tmp_path / "r.csv").collect().height == 200
        said = "".join(run.said)
        assert "warning: the process of --live, --watch has ended, perhaps for lack of memory; the run goes on" in said
        assert json.loads([line for line in said.splitlines() if line.startswith("{")][-1])["watch"] == {}
        findings = json.loads((tmp_path / "r.summary.json").read_text())["findings"]
        (watch,) = (finding for finding in findings if finding["code"] == "watch")
        assert watch["severity"] == "warning"
        assert re.match(r"the readings of --watch end at second [0-4]: ", watch["text"])

    asyncio.run(kill())
