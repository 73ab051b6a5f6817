"""All senders, against a server that answers well and badly: the same rows, the right words, the right counts."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
import uvloop
from numpy.typing import NDArray

from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import Engine, Limits, replay
from logreplay.replay.engine.recorder import Recorder
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders import aiohttp_sender, errors
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import SenderCounts
from logreplay.replay.senders.endpoint import Endpoint, parse_target, resolve
from logreplay.replay.senders.http1.per_client import ByClientSender
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.tls import tls_context
from support.certificates import Authority
from support.http2_server import http2_server
from support.raw_server import CHUNKED, RawServer, raw_server, response
from support.sender_driver import Client, OneStream, resolved

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
TIMEOUT = 0.8

SENDERS = pytest.mark.parametrize("sender", [WireSender, AiohttpSender, OneStream])


def server_for(sender: Any) -> Any:
    """The server that answers badly in the protocol of a sender."""
    return http2_server if issubclass(sender, OneStream) else raw_server


def write_log(folder: Path, urls: Sequence[str], op: str = "GET") -> Path:
    path = folder / "log.csv"
    rows = [f"2026-01-01,00:00:00.000000,0,0,0,0,{url},200,{op}" for url in urls]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def send(
    sender: type[WireSender] | type[AiohttpSender],
    log: Path,
    *,
    rate: float = 200,
    host: str = "127.0.0.1",
    certificate: ssl.SSLContext | None = None,
    socket_path: str = "",
    name: str = "",
    methods: Sequence[str] = ("GET", "HEAD"),
    at_once: int | None = None,
    timeout: float = TIMEOUT,
    **options: Any,
) -> tuple[Outcome, pl.DataFrame, RawServer, Any]:
    """Replay a log once against the raw server."""
    results = MemoryResults()

    async def main() -> tuple[Outcome, RawServer, Any]:
        async with server_for(sender)(host, tls=certificate, socket_path=socket_path) as server:
            endpoint = await resolved(server.url.replace(host, name or host))
            made = sender(endpoint, timeout=timeout, **options)
            plan = Plan(Requests(log, methods=methods, loop=False), Constant(rate))
            outcome = await replay(plan, made, results, limits=Limits(max_in_flight=at_once))
            await asyncio.sleep(0.01)
            return outcome, server, made

    outcome, server, made = uvloop.run(main())
    return outcome, results.frame.sort("seq"), server, made


def test_a_connection_that_never_comes_about_is_given_up_with_its_exchange(tmp_path: Path) -> None:
    """A server that takes connections and does not speak TLS: nothing of it is left after the time-out."""
    log = write_log(tmp_path, ["/ok"] * 5)

    async def main() -> tuple[Outcome, int]:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        made = WireSender(
            Endpoint(parse_target(f"https://127.0.0.1:{port}"), ("127.0.0.1",)),
            timeout=0.3,
            tls=tls_context(verify=False),
        )
        outcome = await replay(Plan(Requests(log, loop=False), Constant(100)), made, MemoryResults())
        server.close()
        return outcome, len(made.busy) + len(made.idle)

    outcome, left = uvloop.run(main())
    assert outcome.counters.errors == {"connect_timeout": 5}
    assert left == 0


@pytest.mark.parametrize(
    ("sender", "sources"), [(WireSender, ()), (WireSender, ("127.0.0.2",)), (Http2Sender, ()), (AiohttpSender, ())]
)
def test_a_handshake_may_take_as_long_as_a_request(sender: Any, sources: tuple[str, ...]) -> None:
    """Event loops end a handshake after 60 s, unless they are given another limit."""
    limits = []

    async def main() -> None:
        async def connect(*_: object, sock: socket.socket | None = None, **options: object) -> None:
            limits.append(options.get("ssl_handshake_timeout"))
            if sock:
                sock.close()
            raise ConnectionRefusedError

        asyncio.get_running_loop().create_connection = connect  # type: ignore[method-assign, assignment]
        async with raw_server() as server:
            endpoint = replace(await resolved(server.url.replace("http:", "https:")), sources=sources)
            client = Client(sender(endpoint, timeout=90, tls=tls_context(verify=False)))
            await client.sender.open(client.done, monotonic)
            await client.ask("/x")
            await client.sender.close()

    asyncio.run(main())
    assert limits == [91]


def test_progress_counts_the_whole_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first second, too: half of it is no figure to look at."""
    monkeypatch.setattr("logreplay.replay.engine.engine._COUNTED_S", 60)  # on a busy machine the recorder is slow
    log = write_log(tmp_path, ["/ok"])
    seen: list[tuple[int, int]] = []
    handed: list[tuple[int, int]] = []
    take = Recorder.take

    def note(recorder: Recorder, records: NDArray[np.void]) -> None:
        handed.append((monotonic(), len(records)))
        take(recorder, records)

    monkeypatch.setattr(Recorder, "take", note)
    monkeypatch.setattr("logreplay.replay.engine.recorder._rehearse", lambda: None)  # it takes a record, too

    async def main() -> None:
        async with raw_server() as server:
            sender = WireSender(await resolve(parse_target(server.url)), timeout=10)
            async with Engine(sender, MemoryResults()) as engine:

                def look(now: Progress) -> None:
                    seen.append((handed[-1][0] - began, now.counters.completed - sum(count for _, count in handed)))
                    if len(seen) >= 2 and now.counters.completed:
                        engine.stop()

                began = monotonic()
                await engine.run(Plan(Requests(log), Constant(200, 60)), look)

    uvloop.run(main())
    for second, (until, uncounted) in enumerate(seen, 1):
        assert uncounted == 0
        assert until > (second - 0.05) * 1e9


@SENDERS
def test_the_bytes_of_heads_and_bodies_are_counted(tmp_path: Path, sender: type[WireSender]) -> None:
    head, chunked = len(response()) - 5, len(CHUNKED) + len(b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n")
    outcome, *_ = send(sender, write_log(tmp_path, ["/ok", "/chunked"] * 10), rate=100)
    assert outcome.counters.bytes == 10 * 5 + 10 * 7
    if issubclass(sender, OneStream):  # headers are compressed, and acknowledgements come between them
        assert 10 * (5 + 7) < outcome.received < 10 * (head + 5) + 10 * chunked
    else:
        assert outcome.received == 10 * (head + 5) + 10 * chunked


@pytest.mark.slow
@SENDERS
def test_everything_at_once_is_accounted_for(tmp_path: Path, sender: type[WireSender]) -> None:
    paths = ["/ok", "/404", "/chunked", "/reset", "/stall", "/garbage", "/close", "/short", "/endless", "/until-close"]
    # a time-out long enough that even on a busy machine only the answers that never end reach it
    outcome, rows, server, made = send(sender, write_log(tmp_path, paths * 40), rate=400, timeout=3)
    assert outcome.scheduled == outcome.counters.sent == 400
    assert outcome.counters.errors == {
        "reset": 40, "timeout": 80, "protocol": 40, "closed": 40, "short_body": 40,
    }  # fmt: skip
    assert outcome.counters.status == {200: 200, 404: 40}
    assert (outcome.counters.ok, outcome.counters.http_error, outcome.counters.net_error) == (120, 40, 240)
    assert rows["seq"].to_list() == list(range(400))
    retried = made.counts.retried
    assert sum(server.counts.values()) == 400 + retried


@SENDERS
def test_a_timed_out_row_adds_up_to_the_timeout(tmp_path: Path, sender: type[WireSender]) -> None:
    _, rows, _, _ = send(sender, write_log(tmp_path, ["/stall", "/stall-in-body", "/endless"]), timeout=0.4)
    total = rows["connect"] + rows["latency"] + rows["xfertime"]
    assert total.to_list() == pytest.approx([0.4] * 3, abs=1e-9)
    assert (rows["xfertime"] > 0).to_list() == [False, True, True]


@SENDERS
def test_heads_have_no_body_and_keep_their_connection(tmp_path: Path, sender: type[WireSender]) -> None:
    _, rows, server, _ = send(sender, write_log(tmp_path, ["/ok"] * 10, op="HEAD"), at_once=1)
    assert rows["bytes"].sum() == 0
    assert rows["error"].null_count() == 10
    assert server.connections == 1


@pytest.fixture
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may see late that a connection was lost."""
    monkeypatch.setattr(errors, "RACE_NS", 500_000_000)


@pytest.mark.usefixtures("_unhurried")
@SENDERS
def test_a_reused_connection_that_was_closed_is_replaced_once(tmp_path: Path, sender: type[WireSender]) -> None:
    outcome, _, server, made = send(sender, write_log(tmp_path, ["/reused"] * 6), rate=20, at_once=1)
    assert outcome.counters.ok == 6
    assert made.counts.retried > 0
    assert server.counts["/reused"] == 6 + made.counts.retried


@SENDERS
def test_a_reused_connection_that_is_lost_while_the_target_works_is_a_failure(
    tmp_path: Path, sender: type[WireSender]
) -> None:
    _, rows, server, made = send(sender, write_log(tmp_path, ["/crash"] * 2), rate=100, at_once=1)
    assert rows["error"].to_list() == [None, "closed"]
    assert rows["latency"][1] > 0.09
    assert (server.counts["/crash"], made.counts.retried) == (2, 0)


@SENDERS
def test_a_connection_that_a_busy_target_closes_late_after_it_was_idle_is_replaced(
    tmp_path: Path, sender: type[WireSender]
) -> None:
    """It is idle for 0.4 s, and closed 0.1 s after the second request."""
    log, results = write_log(tmp_path, ["/crash"] * 2), MemoryResults()

    async def main() -> tuple[RawServer, Any]:
        async with server_for(sender)() as server:
            made = sender(await resolve(parse_target(server.url)), timeout=TIMEOUT)
            async with Engine(made, results, closed=True) as engine:
                await engine.run(Plan(Requests(log, loop=False), Users(1, 0.4)))
            return server, made

    server, made = uvloop.run(main())
    assert results.frame["error"].to_list() == [None, None]
    assert (server.counts["/crash"], made.counts.retried) == (3, 1)


@pytest.mark.usefixtures("_unhurried")
@SENDERS
def test_a_request_that_got_an_interim_answer_is_not_sent_again(tmp_path: Path, sender: type[WireSender]) -> None:
    _, rows, server, made = send(sender, write_log(tmp_path, ["/hints"] * 2), rate=20, at_once=1)
    assert rows["error"].to_list() == [None, "closed"]
    assert (server.counts["/hints"], made.counts.retried) == (2, 0)


@pytest.mark.usefixtures("_unhurried")
@pytest.mark.parametrize("sender", [*SENDERS.args[1], ByClientSender])
def test_the_time_before_a_second_attempt_is_queued(tmp_path: Path, sender: type[WireSender]) -> None:
    _, rows, server, made = send(sender, write_log(tmp_path, ["/crash"] * 2), rate=20, at_once=1)
    assert rows["error"].to_list() == [None, None]
    assert rows["queued"][1] > 0.09
    assert 0 < rows["connect"][1] < rows["queued"][1]
    assert (server.counts["/crash"], made.counts.retried) == (3, 1)


@pytest.mark.usefixtures("_unhurried", "_plans_begin_at_once")
@SENDERS
def test_a_second_attempt_gets_a_new_connection(tmp_path: Path, sender: type[WireSender]) -> None:
    """The target has closed every idle connection, not only the one that was tried first."""
    log = write_log(tmp_path, ["/reused"] * 3)
    results = MemoryResults()

    async def main() -> Any:
        async with server_for(sender)() as server:
            made = sender(await resolve(parse_target(server.url)), timeout=TIMEOUT)
            async with Engine(made, results, closed=True) as engine:
                for users in (3, 1):
                    await engine.run(Plan(Requests(log, loop=False), Users(users, 0.0, requests=3)))
            return made

    made = uvloop.run(main())
    assert results.frame["error"].to_list() == [None] * 6
    assert made.counts.retried > 0


@pytest.mark.slow
@SENDERS
@pytest.mark.parametrize("path", ["/close", "/reset"])
def test_what_a_new_connection_did_not_answer_is_not_sent_again(
    tmp_path: Path, sender: type[WireSender], path: str
) -> None:
    choices: list[dict[str, Any]] = [{}, {"socket_path": str(tmp_path / "socket")}]
    for options in choices:
        _, rows, server, made = send(sender, write_log(tmp_path, [path]), **options)
        assert rows["error"].is_in(["closed", "reset"]).all()
        assert server.counts[path] == 1
        assert made.counts.retried == 0


def test_a_post_is_never_sent_twice(tmp_path: Path) -> None:
    log = write_log(tmp_path, ["/reused"] * 2, op="POST")
    _, rows, server, made = send(WireSender, log, rate=20, methods=["POST"])
    assert rows["error"].to_list() == [None, "closed"]
    assert made.counts.retried == 0
    assert server.counts["/reused"] == 2


@SENDERS
def test_without_keep_alive_each_request_has_a_connection_of_its_own(tmp_path: Path, sender: type[WireSender]) -> None:
    _, rows, server, _ = send(sender, write_log(tmp_path, ["/ok"] * 10), keep_alive=False)
    assert server.connections == 10
    assert (rows["connect"] > 0).all()
    if not issubclass(sender, OneStream):  # HTTP/2 has no such header
        assert all(b"\r\nConnection: close\r\n" in head for head in server.heads)


@SENDERS
def test_nothing_but_the_planned_headers_is_sent(tmp_path: Path, sender: type[WireSender]) -> None:
    _, _, server, _ = send(sender, write_log(tmp_path, ["/cookie", "/ok"]), rate=20)
    host = server.url.removeprefix("http://")
    expected = sorted([f"Host: {host}", "User-Agent: logreplay", "Accept: */*"])
    assert [sorted(head.decode().split("\r\n")[1:-2]) for head in server.heads] == [expected] * 2


@SENDERS
def test_ipv6_is_as_good(tmp_path: Path, sender: type[WireSender]) -> None:
    outcome, _, server, _ = send(sender, write_log(tmp_path, ["/ok"] * 3), host="::1")
    assert outcome.counters.ok == 3
    assert b"Host: [::1]:" in server.heads[0]


@SENDERS
def test_urls_arrive_byte_for_byte(tmp_path: Path, sender: type[WireSender]) -> None:
    urls = ["/a%2Fb", "//x//y", "/a/../b/./c", "/a;b=c", "/%zz", "/?", "/a?b?c", "/%3A:%c3%A4", "/a#b", "/a|b^{c}"]
    _, _, server, _ = send(sender, write_log(tmp_path, urls), rate=100)
    assert sorted(head.split(b" ")[1].decode() for head in server.heads) == sorted(urls)


@SENDERS
def test_a_unix_socket_is_as_good(tmp_path: Path, sender: type[WireSender]) -> None:
    log = write_log(tmp_path, ["/ok", "/short", "/ok"])
    outcome, rows, server, _ = send(sender, log, socket_path=str(tmp_path / "socket"))
    assert rows["error"].to_list() == [None, "short_body", None]
    assert outcome.counters.ok == 2
    assert b"\r\nHost: localhost\r\n" in server.heads[0]


@SENDERS
def test_the_time_to_connect_to_a_unix_socket_is_measured(tmp_path: Path, sender: type[WireSender]) -> None:
    log = write_log(tmp_path, ["/ok"] * 3)
    _, rows, server, made = send(sender, log, rate=20, at_once=1, socket_path=str(tmp_path / "socket"))
    assert (rows["connect"] > 0).to_list() == [True, False, False]
    assert (made.counts.connections, made.counts.reused) == (server.connections, 2) == (1, 2)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's context with a certificate for localhost, and the file of the authority to trust."""
    authority = Authority(tmp_path_factory.mktemp("tls"))
    return authority.good, authority.cert


@SENDERS
@pytest.mark.parametrize(
    ("trusting", "name", "error"),
    [(True, "localhost", None), (True, "127.0.0.1", "tls"), (False, "localhost", "tls")],
)
def test_certificates_are_verified(
    tmp_path: Path,
    sender: type[WireSender],
    certificate: tuple[ssl.SSLContext, Path],
    trusting: bool,
    name: str,
    error: str | None,
) -> None:
    context, cert = certificate
    tls = tls_context(cacert=cert) if trusting else tls_context()
    log = write_log(tmp_path, ["/ok", "/chunked", "/until-close", "/ok"])
    outcome, rows, server, _ = send(sender, log, rate=50, certificate=context, name=name, tls=tls)
    assert rows["error"].to_list() == [error] * 4
    assert outcome.counters.ok == (0 if error else 4)
    assert len(server.heads) == (0 if error else 4)


@SENDERS
def test_insecure_does_not_look_at_the_certificate(
    tmp_path: Path, sender: type[WireSender], certificate: tuple[ssl.SSLContext, Path]
) -> None:
    log = write_log(tmp_path, ["/ok"] * 4)
    outcome, rows, server, _ = send(sender, log, at_once=1, certificate=certificate[0], tls=tls_context(verify=False))
    assert outcome.counters.ok == 4
    assert server.connections == 1
    assert (rows["connect"] > 0).to_list() == [True, False, False, False]


@SENDERS
def test_tls_to_a_plain_server_is_a_tls_error(tmp_path: Path, sender: type[WireSender]) -> None:
    async def main() -> Outcome:
        async with raw_server() as server:
            endpoint = await resolve(parse_target(server.url.replace("http:", "https:")))
            made = sender(endpoint, timeout=0.3, tls=tls_context(verify=False))
            plan = Plan(Requests(write_log(tmp_path, ["/ok"]), loop=False), Constant(100))
            return await replay(plan, made, MemoryResults())

    assert set(uvloop.run(main()).counters.errors) <= {"tls", "connect_timeout"}


@SENDERS
def test_all_addresses_are_used_in_turn(tmp_path: Path, sender: type[WireSender]) -> None:
    """The one server listens on all of 127/8; each new connection goes to the next address."""

    async def main() -> list[str]:
        async with server_for(sender)("0.0.0.0") as server:
            port = server.url.rpartition(":")[2]
            endpoint = Endpoint(parse_target(f"name.test:{port}"), ("127.0.0.1", "127.0.0.2", "127.0.0.3"))
            made = sender(endpoint, timeout=TIMEOUT, keep_alive=False)
            plan = Plan(Requests(write_log(tmp_path, ["/ok"] * 6), loop=False), Constant(50))
            assert (await replay(plan, made, MemoryResults())).counters.ok == 6
            asked: list[str] = server.asked
            return asked

    assert sorted(uvloop.run(main())) == ["127.0.0.1"] * 2 + ["127.0.0.2"] * 2 + ["127.0.0.3"] * 2


HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"


@pytest.mark.parametrize("before", [b"", HINTS, HINTS * 2, b"\r\n" + HINTS + b"\r\n"])
def test_the_first_byte_behind_interim_answers_counts_when_it_arrives_with_aiohttp_too(before: bytes) -> None:
    """A part of the head that came in one piece with the end of an interim answer did not count."""
    head, now = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0

    async def first_byte(*pieces: bytes) -> int:
        nonlocal now
        now, points = 0, aiohttp_sender._Points(0)
        handler = aiohttp_sender._TimedHandler(lambda: now, SenderCounts(), asyncio.get_running_loop())
        handler.connection_made(cast(asyncio.Transport, Mock(spec=asyncio.Transport)))
        handler.set_response_params()
        handler.serve(points)
        for now, piece in enumerate(pieces, 1):  # noqa: B007  the clock
            handler.data_received(piece)
        return points.first

    async def main() -> list[int]:
        data = before + head + b"hello"
        return [await first_byte(data[:cut], data[cut:]) for cut in range(1, len(data))]

    assert asyncio.run(main()) == [2] * len(before) + [1] * (len(head) + 4)
