"""Whatever a target answers, the row says what it was, the next request is unharmed, and nothing is left behind."""

import asyncio
import gc
import re
from pathlib import Path

import pytest
import uvloop

from logreplay.replay.senders import aiohttp_sender
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.http1 import connection as wire
from logreplay.replay.senders.http1.sender import WireSender
from support.hostile_target import CASES, CHUNKED, ENDLESS, HELLO, UNTIL_CLOSE, Case, Seen, sized
from support.raw_server import Answer, Exchange, raw_server
from support.sender_driver import PATIENCE, SENDERS, TIMEOUT, Kind, Row, asking, open_to, settles


def connections() -> int:
    """Connections of the senders that are still in memory."""
    kinds = (wire.Connection, aiohttp_sender._TimedHandler)
    return sum(isinstance(each, kinds) for each in gc.get_objects())


def expected(case: Case, sender: Kind) -> Seen:
    return case.aiohttp if case.aiohttp and sender is AiohttpSender else case.seen


def agrees(row: Row, seen: Seen) -> bool:
    """A size of -1 is: some."""
    return row.seen == seen or (seen.size < 0 < row.size and row.seen[:2] == seen[:2])


@SENDERS
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_way_of_answering_has_its_row(sender: Kind, case: Case) -> None:
    """With a good request after it, which must come through unharmed; and again, unless it takes its time."""
    seen = expected(case, sender)
    timeout = TIMEOUT if seen.error == "timeout" else PATIENCE
    path = f"/{case.name}"

    async def main() -> None:
        greeting = case.answer if case.greets else None
        async with raw_server(answers={path: case.answer} if not case.greets else {}, greeting=greeting) as server:
            async with asking(sender, server.url, timeout=timeout) as client:
                row = await client.ask(path, case.op)
                assert agrees(row, seen)
                assert row.connect > 0
                assert row.latency >= case.late * 1e9
                assert row.xfertime >= (case.spread if seen == case.seen else 0) * 1e9
                if seen.error == "timeout":
                    assert row.total == int(TIMEOUT * 1e9)
                assert not case.late_part or await settles(lambda: not open_to(server.url))
                assert (await client.ask("/good")).seen == HELLO
                if seen.error != "timeout":
                    assert agrees(await client.ask(path, case.op), HELLO if case.greets else seen)
                    assert not case.late_part or await settles(lambda: not open_to(server.url))
                    assert (await client.ask("/good")).seen == HELLO
                if isinstance(client.sender, WireSender):
                    assert not client.sender.busy
            assert await settles(lambda: not open_to(server.url))

    gc.collect()
    gc.disable()
    try:
        uvloop.run(main())
        if sender is AiohttpSender:  # its own objects are in cycles
            gc.collect()
        assert connections() == 0
    finally:
        gc.enable()


@pytest.mark.slow
@SENDERS
@pytest.mark.parametrize("is_shown", [False, True])
@pytest.mark.parametrize("case", ENDLESS, ids=[case.name for case in ENDLESS])
def test_an_endless_answer_takes_no_memory(sender: Kind, case: Case, is_shown: bool) -> None:
    shown: list[object] = []

    async def main() -> float:
        async with (
            raw_server(answers={f"/{case.name}": case.answer}) as server,
            asking(sender, server.url, shown.append if is_shown else None, timeout=0.7) as client,
        ):
            await client.ask("/good")
            before = peak_mb()
            await client.ask(f"/{case.name}")
            return peak_mb() - before

    assert uvloop.run(main()) < 30


def peak_mb() -> float:
    """The most memory that was used since the last look."""
    status = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]


@SENDERS
@pytest.mark.parametrize("kind", ["length", "chunked", "until-close"])
@pytest.mark.parametrize("end", ["reset", "closed"])
def test_an_answer_may_end_at_any_byte(sender: Kind, kind: str, end: str) -> None:
    """Cut off after each byte of it: the row says how, and what had come."""
    answer, body = {
        "length": (sized(), lambda got: got),
        "chunked": (CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", None),
        "until-close": (UNTIL_CLOSE + b"hello", lambda got: got),
    }[kind]
    start = answer.index(b"\r\n\r\n") + 4

    def cut(at: int) -> Answer:
        async def send(exchange: Exchange) -> bool:
            await exchange.send(answer[:at])
            if end == "reset":
                await asyncio.sleep(0.002)  # or the reset overtakes what was sent
                exchange.reset()
            return False

        return send

    def expect(at: int) -> Seen:
        headless = at < start
        rc = 0 if at < len("HTTP/1.1 200 ") or (headless and sender is AiohttpSender) else 200
        size = max(0, at - start) if body else sum(start + n < at for n in (3, 4, 10, 11, 12))
        if end == "reset":
            return Seen("reset", rc, size)
        if kind == "until-close" and not headless:
            return Seen("", 200, size)
        return Seen("closed" if headless else "short_body", rc, size)

    async def main() -> None:
        cuts = range(len(answer) - (kind != "until-close"))
        async with (
            raw_server(answers={f"/{at}": cut(at) for at in cuts}) as server,
            asking(sender, server.url, timeout=PATIENCE) as client,
        ):
            rows = await asyncio.gather(*(client.ask(f"/{at}") for at in cuts))
            assert [row.seen for row in rows] == [expect(at) for at in cuts]
            assert (await client.ask("/good")).seen == HELLO
            assert await settles(lambda: open_to(server.url) <= 1)

    uvloop.run(main())
