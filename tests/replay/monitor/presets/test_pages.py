"""The pages that servers serve about themselves: a real nginx, real Prometheus texts, and hostile ones."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from urllib.request import urlopen

import pytest
from aiohttp import ClientSession, web
from hypothesis import given
from hypothesis import strategies as st

from conftest import ServerFactory
from logreplay.replay.monitor.presets.figures import Figure, Source
from logreplay.replay.monitor.presets.pages import NodeExporter, PrometheusPage, StubStatus, samples_of

NODE = """# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{{cpu="0",mode="idle"}} 1000
node_cpu_seconds_total{{cpu="0",mode="user"}} {busy}
node_cpu_seconds_total{{cpu="1",mode="iowait"}} 50
node_cpu_seconds_total{{cpu="1",mode="system"}} 1e1
node_procs_running 5
node_filefd_allocated 1200
node_filefd_maximum 9.2e+05
"""
METRICS = """# TYPE pool_in_use gauge
pool_in_use{pool="a b",zone="x"} 3
pool_in_use{pool="c\\"d",zone="x"} 4 1700000000000
pool_in_use_limit 10
"""


def read_pages(make: Callable[[str], Source], *pages: str, status: int = 200) -> Mapping[str, Figure]:
    """Read a source once for each page, a second apart; the last reading."""
    served = list(pages)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=served.pop(0), status=status)

    async def read() -> Mapping[str, Figure]:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        source, found = make(f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"), {}
        try:
            async with ClientSession() as session:
                for at in range(len(pages)):
                    found = dict(await source.read(session, float(at)))
            return found
        finally:
            await runner.cleanup()

    return asyncio.run(read())


def test_the_page_of_nginx_is_read(nginx: ServerFactory) -> None:
    server = nginx(server='location /status { stub_status; } location / { return 200 "hello"; }')

    async def read() -> tuple[Mapping[str, Figure], Mapping[str, Figure]]:
        source = StubStatus(f"{server.url}/status")
        async with ClientSession() as session:
            first = await source.read(session, 0.0)
            for _ in range(4):
                await asyncio.to_thread(lambda: urlopen(server.url).close())
            return first, await source.read(session, 2.0)

    first, second = asyncio.run(read())
    assert first["accepts_per_s"].value is None
    assert second["accepts_per_s"].value == pytest.approx(2, abs=0.6)
    assert second["requests_per_s"].value == pytest.approx(2.5)
    assert second["writing"].value == 1
    assert second["active"].value


@pytest.mark.parametrize(
    ("chosen", "value"),
    [
        ("pool_in_use_limit", 10),
        ('pool_in_use{pool="a b"}', 3),
        ('pool_in_use{zone="x", pool="a b"}', 3),
        ("sum(pool_in_use)", 7),
        ('max(pool_in_use{zone="x"})', 4),
    ],
)
def test_a_metric_of_a_page_is_chosen_by_name_and_labels(chosen: str, value: float) -> None:
    found = read_pages(lambda url: PrometheusPage(f"{url}#{chosen}"), METRICS)
    assert found == {"": Figure(value)}


@pytest.mark.parametrize(
    ("chosen", "page", "why"),
    [
        ("pool_in_use", METRICS, r"2 samples of pool_in_use: give labels of one, or sum\(pool_in_use\)"),
        ('pool_in_use{pool="z"}', METRICS, "the page has no pool_in_use with these labels"),
        ("pool", METRICS, "the page has no metric pool"),
        ("pool_in_use", "pool_in_use{ 3\n", "a line of pool_in_use cannot be read"),
        ("pool_in_use", "x" * (5 << 20), "more than 4194304 bytes"),
    ],
)
def test_a_page_without_that_one_metric_says_so(chosen: str, page: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_pages(lambda url: PrometheusPage(f"{url}#{chosen}"), page)


def test_a_page_with_an_error_says_its_status() -> None:
    with pytest.raises(ValueError, match="status 500"):
        read_pages(StubStatus, "oh", status=500)
    with pytest.raises(ValueError, match="no page of stub_status, but 'hello'"):
        read_pages(StubStatus, "hello")


@pytest.mark.parametrize("text", ["#m", "ftp://h/#m", "http://h/", "http://h/#", "http://h/#sum(m", "http://h/#m)",
                                  "http://h/#m{a=b}", "http://h/#rate(m)"])  # fmt: skip
def test_what_names_no_metric_of_a_page_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="prometheus:"):
        PrometheusPage(text)


def test_a_host_is_read_from_its_node_exporter() -> None:
    found = read_pages(NodeExporter, NODE.format(busy=100), NODE.format(busy=101.5))
    assert found["cpu"] == Figure(1.5, 2.0)
    assert found["runnable"] == Figure(5.0)
    assert found["descriptors"] == Figure(1200.0, 920000.0)
    with pytest.raises(ValueError, match="no page of node_exporter"):
        read_pages(NodeExporter, METRICS)


@given(st.text() | st.text().map(lambda text: f"m{{{text}}} 1\nm {text}\n"))
def test_no_page_can_do_more_than_fail(page: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(samples_of(page, "m"), list)


def test_a_page_with_very_many_samples_of_a_metric_is_refused_before_they_are_read() -> None:
    page = "".join(f'm{{n="{number}"}} 1\n' for number in range(6000))
    with pytest.raises(ValueError, match="the page has 6,000 samples of m, more than 5,000"):
        samples_of(page, "m")
    assert len(samples_of(page[: page.index('m{n="5000"}')], "m")) == 5000
