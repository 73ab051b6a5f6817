"""A failing exchange is shown with the beginning of its body, by both senders."""

import asyncio
import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest
import uvloop

from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import KEPT_BODY, Exchange
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.per_client import ByClientSender
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.trace import SHOWN_BODY, describe
from support.raw_server import Answer, raw_server, response, sends

SENDERS = pytest.mark.parametrize("sender", [WireSender, ByClientSender, AiohttpSender])
ERROR = "500 Internal Server Error"
LONG = b"".join(b"line %05d %s\n" % (n, b"x" * 500) for n in range(40))

ANSWERS: Mapping[str, Answer] = {
    "/text": sends(response(b"no table \x1b[31m\xc3\xa4\n\tat db.c:7\r\n", ERROR), keep=True),
    "/json": sends(response(b'{"error": "denied", "token": "hunter2"}', ERROR), keep=True),
    "/long": sends(response(LONG, ERROR), keep=True),
    "/cut": sends(response(b"x" * (SHOWN_BODY - 20) + b' "password": "hunter2' + b"2" * KEPT_BODY, ERROR), keep=True),
    "/chunked": sends(
        f"HTTP/1.1 {ERROR}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), b"3\r\nabc\r\n", b"3\r\ndef\r\n0\r\n\r\n"
    ),
    "/zipped": sends(response(gzip.compress(LONG), ERROR, "Content-Encoding: gzip"), keep=True),
    "/short": sends(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    "/empty": sends(response(b"", ERROR), keep=True),
    "/fine": sends(response(b"as expected"), keep=True),
}


def shown(sender: type[WireSender] | type[AiohttpSender], folder: Path, *paths: str, secrets: bool = False) -> str:
    """What is shown of the exchanges with these paths."""
    log = folder / "log.csv"
    rows = [f"2026-01-01,00:00:00.000000,0,0,0,0,{path},200,GET,c" for path in paths]
    log.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op,client", *rows]) + "\n")
    seen: list[Exchange] = []

    async def main() -> None:
        async with raw_server(answers=ANSWERS) as server:
            made = sender(await resolve(parse_target(server.url)), timeout=5)
            plan = Plan(Requests(log, loop=False), Constant(100))
            await replay(plan, made, MemoryResults(), trace=seen.append)
            await asyncio.sleep(0)

    uvloop.run(main())
    return "".join(describe(exchange, secrets=secrets) for exchange in sorted(seen, key=lambda one: one.seq))


def body_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


@SENDERS
def test_the_body_of_a_failing_exchange_is_shown_with_control_bytes_escaped(
    sender: type[WireSender], tmp_path: Path
) -> None:
    text = shown(sender, tmp_path, "/text")
    assert body_lines(text) == [r"| no table \x1b[31m\xc3\xa4", "|         at db.c:7"]
    assert "\x1b" not in text


@SENDERS
def test_a_long_body_is_cut_at_4_kb_and_its_size_is_said(sender: type[WireSender], tmp_path: Path) -> None:
    lines = body_lines(shown(sender, tmp_path, "/long"))
    assert lines[0].startswith("| line 00000 xxx")
    assert lines[-1] == f"| ... the first {SHOWN_BODY} of {len(LONG)} bytes"
    assert SHOWN_BODY - 20 < sum(len(line) - 1 for line in lines[:-1]) < SHOWN_BODY + 20


@SENDERS
def test_secrets_in_a_body_are_masked_even_where_it_is_cut(sender: type[WireSender], tmp_path: Path) -> None:
    text = shown(sender, tmp_path, "/json", "/cut")
    assert '| {"error": "denied", "token": "***"}' in text
    assert "hunter2" not in text
    assert "hunter2" in shown(sender, tmp_path, "/json", secrets=True)


@SENDERS
def test_bodies_of_every_framing_are_shown_each_with_its_own_exchange(sender: type[WireSender], tmp_path: Path) -> None:
    text = shown(sender, tmp_path, "/short", "/chunked", "/empty", "/json", "/fine", "/fine")
    assert body_lines(text) == ["| abc", "| abcdef", '| {"error": "denied", "token": "***"}']


@SENDERS
def test_a_binary_body_is_named_as_such(sender: type[WireSender], tmp_path: Path) -> None:
    (line,) = body_lines(shown(sender, tmp_path, "/zipped"))
    assert line.startswith(f"| {len(gzip.compress(LONG))} bytes, binary (gzip), beginning 1f 8b 08 ")
    assert len(line) < 200
