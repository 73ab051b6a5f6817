"""Pushes to a real server that accepts them, refuses them, asks for patience, or does not answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from logreplay.replay.monitor import otlp_push
from logreplay.replay.monitor.otlp_push import keep_pushing
from logreplay.replay.monitor.otlp_settings import OtlpSettings, PushCounts
from logreplay.replay.monitor.snapshot import Snapshot
from support.otlp import metrics_of

Answer = Callable[[int], Awaitable[web.Response]]


@asynccontextmanager
async def collector(answer: Answer) -> AsyncIterator[tuple[str, list[tuple[web.Request, bytes]]]]:
    """A server whose answer to the n-th push is that of the function."""
    got: list[tuple[web.Request, bytes]] = []

    async def take(request: web.Request) -> web.Response:
        got.append((request, await request.read()))
        return await answer(len(got))

    app = web.Application()
    app.router.add_post("/v1/metrics", take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1/metrics", got
    finally:
        await runner.cleanup()


async def pushed(url: str, *, pushes: int, headers: dict[str, str] | None = None) -> PushCounts:
    """What became of so many pushes."""
    counts: list[PushCounts] = []
    over = asyncio.Event()

    def tell(now: PushCounts) -> None:
        counts.append(now)
        if len(counts) >= pushes - 1:
            over.set()

    if pushes == 1:
        over.set()
    settings = OtlpSettings(url, headers or {}, {"service.name": "x"}, interval=0.01)
    await keep_pushing(settings, lambda: Snapshot(at=1.0), over, tell)
    assert counts[-1].made == len(counts) == pushes
    return counts[-1]


def test_a_state_is_pushed_again_and_again_and_once_at_the_end() -> None:
    async def main() -> None:
        async def accept(_: int) -> web.Response:
            return web.json_response({})

        async with collector(accept) as (url, got):
            counts = await pushed(url, pushes=3, headers={"api-key": "k"})
            assert (counts.failed, len(got)) == (0, 3)
            for request, body in got:
                assert request.headers["Content-Type"] == "application/json"
                assert request.headers["api-key"] == "k"
                assert list(metrics_of(body))

    asyncio.run(main())


def test_only_429_and_503_are_tried_again_and_failures_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_push, "_PAUSE_S", 0.01)

    async def main() -> None:
        async def answer(number: int) -> web.Response:
            statuses = {1: 500, 2: 302, 3: 503, 4: 429, 5: 200, 6: 200}
            await asyncio.sleep(0)
            headers = {"Retry-After": "0.01"} if number != 2 else {"Location": "/elsewhere"}
            rejecting = {
                "partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old\nverdict: \x1b[31mVALID"}
            }
            return web.json_response(rejecting if number == 6 else {}, status=statuses[number], headers=headers)

        async with collector(answer) as (url, got):
            counts = await pushed(url, pushes=4)
            assert len(got) == 6
            assert (counts.made, counts.failed) == (4, 3)
            assert counts.why == "3 points rejected: too old verdict:  [31mVALID"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", ""),
        ("{}", ""),
        ('{"partialSuccess":null}', ""),
        ('{"partialSuccess":{"rejectedDataPoints":0,"errorMessage":"slow down"}}', ""),
        ('{"partialSuccess":{"errorMessage":"' + 5000 * "x" + '","rejectedDataPoints":1}}', "1 points rejected: xxx"),
        ('{"partialSuccess":{"rejectedDataPoints":1e999}}', "not the answer of a collector: '{\"partialSuccess"),
        ('{"partialSuccess":{"rejectedDataPoints":NaN}}', "not the answer of a collector"),
        ('{"partialSuccess":{"rejectedDataPoints":[1]}}', "not the answer of a collector"),
        ("[" * 4096, "not the answer of a collector: '[[["),
        ("null", "not the answer of a collector: 'null'"),
        ("<html>\x1b[31m", "not the answer of a collector: '<html>\\x1b[31m'"),
        (" " * (4 << 20) + "{}", "more than 4194304 bytes"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_failure_with_its_reason(answer: str, why: str) -> None:
    """Some of them ended the process with a traceback, and a long one counted as accepted."""

    async def main() -> None:
        async def say(_: int) -> web.Response:
            return web.Response(text=answer)

        async with collector(say) as (url, _):
            counts = await pushed(url, pushes=2)
            assert counts.failed == 2 * bool(why)
            assert why in counts.why

    asyncio.run(main())


def test_a_collector_that_does_not_answer_or_is_not_there_is_a_failure_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(otlp_push, "LAST_S", 0.2)

    async def main() -> None:
        async def hang(_: int) -> web.Response:
            await asyncio.sleep(60)
            return web.Response()

        async with collector(hang) as (url, _):
            assert (await pushed(url, pushes=1)).why == "no answer in time"
        counts = await pushed("http://127.0.0.1:9/v1/metrics", pushes=2)
        assert counts.failed == 2
        assert counts.why == "connection refused"

    asyncio.run(main())


def test_the_end_of_the_run_cuts_a_push_that_hangs_and_pushes_the_last_state() -> None:
    async def main() -> None:
        told, over = list[PushCounts](), asyncio.Event()

        async def answer(number: int) -> web.Response:
            if number == 1:
                over.set()
                await asyncio.sleep(60)
            return web.json_response({})

        async with collector(answer) as (url, got):
            settings = OtlpSettings(url, interval=0.01)
            await asyncio.wait_for(keep_pushing(settings, lambda: Snapshot(at=1.0), over, told.append), 7)
            assert len(got) == 2
        assert told == [PushCounts(url, 1, ended=True)]

    asyncio.run(main())


def test_nothing_is_pushed_before_the_run_has_a_state() -> None:
    async def main() -> None:
        over, told = asyncio.Event(), list[PushCounts]()
        over.set()
        await keep_pushing(OtlpSettings("http://127.0.0.1:9"), Snapshot, over, told.append)
        assert told == []

    asyncio.run(main())
