"""The HTTP/2 sender against servers of raw frames: connections, streams, queues, and targets that end connections."""

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any, cast

import polars as pl
import pytest
import uvloop

from logreplay.core.record import ERRORS
from logreplay.replay.clock import monotonic
from logreplay.replay.requests.header_columns import PAYLOAD
from logreplay.replay.senders import errors
from logreplay.replay.senders.contract import Exchange
from logreplay.replay.senders.digests import ByteBudget, Digests, ResponseObserver
from logreplay.replay.senders.endpoint import Dialer, parse_target, resolve
from logreplay.replay.senders.http2.client_state import MAX_RESETS
from logreplay.replay.senders.http2.connection import Http2Connection
from logreplay.replay.senders.http2.per_client import Http2ByClientSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.tls import tls_context
from support import raw_server as http1
from support.certificates import Authority
from support.http2_frames import answer, data, goaway, head, rst, settings
from support.http2_server import Asked, Http2Server, after, http2_server, ok, stall
from support.raw_server import raw_server
from support.sender_driver import PATIENCE, Row, open_to, settles

MS = 1_000_000


class Asking:
    """Asks a sender for several requests at once."""

    def __init__(self, sender: Http2Sender) -> None:
        self.sender, self._ended, self._next = sender, dict[int, asyncio.Future[Row]](), 0

    def done(self, *row: int) -> None:
        self._ended.pop(row[0]).set_result(Row(*row))

    def begin(self, paths: list[str], latest: float = float("inf"), **columns: Any) -> list[asyncio.Future[Row]]:
        """Start a request for each path now."""
        frame = pl.DataFrame({"op": ["GET"] * len(paths), "url": paths, **columns})
        loop, begun = asyncio.get_running_loop(), list[asyncio.Future[Row]]()
        for request in self.sender.prepare(frame):
            ended = self._ended[self._next] = loop.create_future()
            begun.append(ended)
            self._next += 1
            self.sender.send(self._next - 1, request, monotonic(), monotonic() + latest)
        return begun

    async def ask(self, *paths: str, **options: Any) -> list[Row]:
        """Start a request for each path, and wait for the ends of all."""
        rows: list[Row] = await asyncio.wait_for(asyncio.gather(*self.begin([*paths], **options)), PATIENCE)
        return rows


@asynccontextmanager
async def asking(server: Http2Server | str, *, by_client: bool = False, **options: Any) -> AsyncIterator[Asking]:
    endpoint = await resolve(parse_target(server if isinstance(server, str) else server.url))
    kind = Http2ByClientSender if by_client else Http2Sender
    client = Asking(kind(endpoint, **{"timeout": PATIENCE, **options}))
    await client.sender.open(client.done, monotonic)
    try:
        yield client
    finally:
        await client.sender.close()
        assert not client.sender.busy


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run, and see that nothing is left behind."""
    uvloop.run(main)
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, Http2Connection)]


def words(rows: list[Row]) -> list[str]:
    return [("", *ERRORS)[row.error] for row in rows]


def test_many_requests_share_two_connections() -> None:
    async def main() -> None:
        async with http2_server() as server, asking(server) as client:
            rows = await client.ask(*["/ok"] * 60)
            assert words(rows) == [""] * 60
            assert server.connections == 2
            assert client.sender.counts.connections == 2
            assert all(row.connect > 0 and row.queued == 0 for row in rows)
            (row,) = await client.ask("/ok")
            assert (row.connect, row.status, row.size) == (0, 200, 5)

    run(main())


def test_a_lower_limit_of_the_target_opens_more_connections() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/slow": after(0.05)}, max_concurrent_streams=10) as server,
            asking(server) as client,
        ):
            await client.ask("/ok", "/ok")
            rows = await client.ask(*["/slow"] * 45)
            assert words(rows) == [""] * 45
            assert server.connections == 5
            assert max(peer.most for peer in server.peers) <= 10
            assert all(row.queued == 0 for row in rows)

    run(main())


def test_what_exceeds_the_streams_is_queued() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/slow": after(0.05)}, max_concurrent_streams=5) as server,
            asking(server, connections=2) as client,
        ):
            await client.ask("/ok", "/ok")
            rows = await client.ask(*["/slow"] * 30)
            assert words(rows) == [""] * 30
            waits = sorted(row.queued for row in rows)
            assert waits[:10] == [0] * 10
            assert waits[10] >= 45 * MS
            assert waits[20] >= 90 * MS
            assert (server.connections, client.sender.counts.queued) == (2, 20)
            assert max(peer.most for peer in server.peers) == 5
            assert all(row.latency >= 45 * MS for row in rows)

    run(main())


def delay_connections(monkeypatch: pytest.MonkeyPatch, seconds: Iterator[float]) -> None:
    """Let each connection wait for so many seconds before it is opened."""
    opened = Dialer.open

    async def open_late(self: Dialer, factory: Any, client: str | None) -> Any:
        await asyncio.sleep(next(seconds))
        return await opened(self, factory, client)

    monkeypatch.setattr(Dialer, "open", open_late)


def test_requests_whose_time_is_nearly_up_do_not_give_up_the_connection_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection takes 80 ms to open, and each request that waits for it times out 10 ms after the one before."""

    async def close_late(asked: Asked) -> None:
        await asyncio.sleep(0.2)
        asked.close()

    async def main() -> None:
        async with (
            http2_server(answers={"/close": close_late}) as server,
            asking(server, connections=1, streams=1, timeout=0.3) as client,
        ):
            begun = client.begin(["/close"])
            for _ in range(40):
                begun += client.begin(["/ok"])
                await asyncio.sleep(0.01)
            rows = await asyncio.gather(*begun)
            assert rows[-1].error == 0
            assert client.sender.counts.connections == 2

    delay_connections(monkeypatch, repeat(0.08))
    run(main())


def test_a_connection_that_does_not_open_in_the_time_of_a_request_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with http2_server() as server, asking(server, connections=1, streams=1, timeout=0.2) as client:
            begun = client.begin(["/ok"])
            for _ in range(40):
                begun += client.begin(["/ok"])
                await asyncio.sleep(0.01)
            rows = await asyncio.gather(*begun)
            assert words(rows)[0] == "connect_timeout"
            assert rows[-1].error == 0
            assert client.sender.counts.connections == 2

    delay_connections(monkeypatch, chain([3600], repeat(0)))
    run(main())


@pytest.mark.parametrize("by_client", [False, True])
def test_what_waits_for_a_connection_that_does_not_open_goes_to_another(
    monkeypatch: pytest.MonkeyPatch, by_client: bool
) -> None:
    """The first connection hangs: only the first request times out, the others have time left for the next one."""

    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}) as server,
            asking(server, by_client=by_client, connections=1, timeout=0.4) as client,
        ):
            begun = client.begin(["/ok"])
            await asyncio.sleep(0.2)
            begun += client.begin(["/ok", "/ok", "/stall"])
            rows = await asyncio.gather(*begun)
            assert words(rows) == ["connect_timeout", "", "", "timeout"]
            assert all(row.queued >= 150 * MS for row in rows[1:])
            assert rows[3].total == 400 * MS
            assert (client.sender.counts.connections, client.sender.counts.retried) == (2, 0)

    delay_connections(monkeypatch, chain([3600], repeat(0)))
    run(main())


def test_streams_may_be_limited_below_what_the_target_allows() -> None:
    async def main() -> None:
        async with http2_server() as server, asking(server, connections=3, streams=2) as client:
            rows = await client.ask(*["/ok"] * 30)
            assert words(rows) == [""] * 30
            assert server.connections == 3
            assert max(peer.most for peer in server.peers) == 2

    run(main())


def test_a_queued_request_times_out_and_is_dropped_when_it_must_not_be_late() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}) as server,
            asking(server, connections=1, streams=1, timeout=0.3) as client,
        ):
            first = client.begin(["/stall"])
            dropped = client.begin(["/ok"], latest=50 * MS)
            kept = client.begin(["/stall"])
            rows = [await one for one in (*first, *kept, *dropped)]
            assert words(rows) == ["timeout", "timeout", "dropped"]
            assert [row.total for row in rows[:2]] == [300 * MS] * 2
            assert rows[1].queued > 200 * MS
            assert 50 * MS <= rows[2].queued < 250 * MS
            assert words(await client.ask("/ok")) == [""]

    run(main())


def test_a_target_that_ends_connections_loses_no_request_and_gets_none_twice() -> None:
    """As nginx does after some requests: what it did not look at is sent again, a POST too."""

    answered = []

    async def ends_after_ten(asked: Asked) -> None:
        if asked.number <= 10:
            answered.append(asked)
            await asked.send(answer(asked.stream) + (goaway(asked.stream) if asked.number == 10 else b""))

    async def main() -> None:
        async with http2_server(answers={"/ok": ends_after_ten}) as server, asking(server) as client:
            rows = []
            for _ in range(10):
                rows += await client.ask(*["/ok"] * 23, op=["POST"] * 23)
            assert words(rows) == [""] * 230
            assert len(answered) == 230
            assert client.sender.counts.retried > 0
            assert server.connections >= 23

    run(main())


def test_a_successor_is_opened_before_it_is_needed() -> None:
    async def ends(asked: Asked) -> None:
        await asked.send(answer(asked.stream) + goaway(asked.stream))

    async def main() -> None:
        async with http2_server(answers={"/end": ends}) as server, asking(server) as client:
            await client.ask("/ok", "/ok")
            await client.ask("/end")
            assert await settles(lambda: server.connections == 3)
            rows = await client.ask("/ok", "/ok")
            assert [row.connect for row in rows] == [0, 0]

    run(main())


def test_a_refused_stream_is_sent_again_but_not_for_ever() -> None:
    async def refused_once(asked: Asked) -> None:
        await (asked.send(rst(asked.stream, 7)) if asked.number == 1 else ok(asked))

    async def refused(asked: Asked) -> None:
        await asked.send(rst(asked.stream, 7))

    async def main() -> None:
        answers = {"/once": refused_once, "/always": refused}
        async with http2_server(answers=answers) as server, asking(server, connections=1) as client:
            assert words(await client.ask("/once", op=["POST"])) == [""]
            assert client.sender.counts.retried == 1
            assert words(await client.ask("/always")) == ["reset"]
            assert server.counts["/always"] == 4
            assert client.sender.counts.details["reset"] == "RST_STREAM: REFUSED_STREAM"
            assert server.connections == 1

    run(main())


def test_a_body_that_was_refused_behind_its_beginning_frees_its_memory() -> None:
    """The keeper of a duet had room for 128 of them, and then compared no bodies."""

    async def refused_late(asked: Asked) -> None:
        pieces = b"".join(data(asked.stream, bytes(16_000), end=False) for _ in range(3))
        await asked.send(head(asked.stream) + pieces + rst(asked.stream, 7))

    async def main() -> None:
        room = ByteBudget(1 << 20)
        digests = Digests(ResponseObserver(room, lambda: None))
        async with (
            http2_server(answers={"/late": refused_late}) as server,
            asking(server, connections=1, digests=digests) as client,
        ):
            assert words(await client.ask("/late")) == ["reset"]
            assert client.sender.counts.retried == 3
            assert room.held == 0

    run(main())


def test_a_request_that_times_out_is_cancelled_alone() -> None:
    async def after_the_reset(asked: Asked) -> None:
        assert await settles(lambda: bool(asked.connection.resets))
        await ok(asked)

    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall, "/slow": after_the_reset}) as server,
            asking(server, timeout=0.6, connections=1) as client,
        ):
            stalled = client.begin(["/stall"])
            await asyncio.sleep(0.3)
            slow = client.begin(["/slow"])
            rows = [await one for one in (*stalled, *slow)]
            assert words(rows) == ["timeout", ""]
            assert rows[0].total == 600 * MS
            assert server.connections == 1
            assert await settles(lambda: server.peers[0].resets == {1: 8})

    run(main())


def test_how_many_requests_wait_is_counted_without_a_look_at_each() -> None:
    """A look at 100,000 of them took 12 ms, in which none was sent, once a second."""

    async def main() -> None:
        sender = Http2Sender(await resolve(parse_target("http://127.0.0.1:1")), timeout=PATIENCE)
        sender.pool.queue = cast(Any, range(10**12))
        sender._waiting[sender.pool] = None
        assert sender.waiting == 10**12

    run(main())


def test_a_queued_request_whose_time_is_up_is_not_sent() -> None:
    """The stream that the one before it leaves would carry it for a moment, and then a reset."""

    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}) as server,
            asking(server, timeout=0.3, connections=1, streams=2) as client,
        ):
            assert words(await client.ask("/ok", *["/stall"] * 20)) == ["", *["timeout"] * 20]
            assert server.counts["/stall"] < 6
            assert words(await client.ask("/ok")) == [""]

    run(main())


def test_many_time_outs_retire_a_connection() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}, max_concurrent_streams=500) as server,
            asking(server, timeout=0.3, connections=1) as client,
        ):
            rows = await client.ask("/ok", *["/stall"] * (MAX_RESETS + 20))
            assert words(rows).count("timeout") == MAX_RESETS + 20
            assert words(await client.ask("/ok")) == [""]
            assert server.connections == 2
            assert await settles(lambda: len(server.peers[0].resets) == MAX_RESETS)

    run(main())


def test_a_target_that_asks_for_calm_is_quoted() -> None:
    async def calm(asked: Asked) -> None:
        await asked.send(goaway(asked.stream, 11, b"too_many_pings"))
        asked.close()

    async def main() -> None:
        async with http2_server(answers={"/calm": calm}) as server, asking(server) as client:
            assert words(await client.ask("/calm")) == ["closed"]
            assert client.sender.counts.details == {"closed": "GOAWAY: ENHANCE_YOUR_CALM too_many_pings"}
            assert client.sender.counts.calm == 1

    run(main())


def test_bodies_arrive_whole() -> None:
    body = bytes(range(256)) * 300

    async def main() -> None:
        async with http2_server(initial_window_size=2**31 - 1) as server, asking(server, connections=1) as client:
            bodies = pl.Series([body[:60_000], None], dtype=pl.Binary)
            rows = await client.ask("/ok", "/ok", op=["POST", "POST"], **{PAYLOAD: bodies})
            assert words(rows) == ["", ""]
            assert sorted(server.bodies, key=len) == [b"", body[:60_000]]

    run(main())


@pytest.mark.parametrize("tls", [False, True])
def test_a_target_without_http2_is_named(tls: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    context = Authority(tmp_path_factory.mktemp("tls")).good if tls else None
    if context:
        context.set_alpn_protocols(["http/1.1"])

    async def main() -> None:
        options: dict[str, Any] = {"tls": tls_context(verify=False)} if tls else {}
        async with raw_server(tls=context) as server, asking(server.url, **options) as client:
            rows = await client.ask("/ok")
            assert rows[0].status == 0
            assert client.sender.counts.unspoken
            assert not server.heads or server.heads[0].startswith(b"PRI ")

    uvloop.run(main())


def test_without_keep_alive_the_advice_names_no_streams() -> None:
    """It named `--streams 1`, which `--no-keep-alive` excludes."""

    async def main() -> None:
        async with http2_server() as server, asking(server, connections=1, keep_alive=False) as client:
            assert words(await client.ask("/ok", "/ok")) == ["", ""]
            limits = "a stream: --connections and --no-keep-alive limit them"
            assert client.sender.counts.queued_for.startswith(limits)
            assert "--streams" not in client.sender.counts.queued_for

    run(main())


def test_each_client_has_a_connection_of_its_own() -> None:
    async def main() -> None:
        async with http2_server(answers={"/slow": after(0.05)}) as server, asking(server, by_client=True) as client:
            rows = await client.ask(*["/slow"] * 6, client=["a", "b", "a", None, "c", "b"])
            assert words(rows) == [""] * 6
            assert server.connections == 4
            assert sorted(peer.most for peer in server.peers) == [1, 1, 2, 2]
            assert all(row.queued == 0 for row in rows)
            await client.ask("/ok", client=["a"])
            assert server.connections == 4

    run(main())


def test_a_client_waits_for_a_stream_of_its_own_connection() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/slow": after(0.05)}) as server,
            asking(server, by_client=True, streams=1) as client,
        ):
            rows = await client.ask(*["/slow"] * 3, client=["a", "a", "b"])
            assert words(rows) == [""] * 3
            assert [row.queued > 40 * MS for row in rows] == [False, True, False]
            assert "raise --streams" in client.sender.counts.queued_for
            assert "--connections" not in client.sender.counts.queued_for, "which --by-client excludes"

    run(main())


def test_the_time_out_of_a_client_that_waits_begins_with_its_stream() -> None:
    """As over HTTP/1.1: the wait for the client's earlier requests is no fault of the target."""

    async def main() -> None:
        async with (
            http2_server(answers={"/slow": after(0.1), "/quick": after(0.05)}) as server,
            asking(server, by_client=True, streams=1, timeout=0.6) as client,
        ):
            rows = await client.ask(*["/slow"] * 7, *["/quick"] * 14, client=["a"] * 7 + ["b"] * 14)
            assert words(rows) == [""] * 21
            assert min(rows[6].total, rows[20].total) > 600 * MS

    async def stalled() -> None:
        async with (
            http2_server(answers={"/slow": after(0.1), "/stall": stall}) as server,
            asking(server, by_client=True, streams=1, timeout=0.5) as client,
        ):
            rows = await client.ask("/slow", "/stall", "/slow", client=["a", "a", "b"])
            assert words(rows) == ["", "timeout", ""]
            assert rows[1].total - rows[1].queued == 500 * MS
            assert rows[1].queued >= 99 * MS

    run(main())
    run(stalled())


@pytest.mark.parametrize("streams", [None, 8])
def test_requests_that_are_due_together_are_written_together(streams: int | None) -> None:
    async def main() -> None:
        async with http2_server() as server, asking(server, streams=streams) as client:
            await client.ask("/ok", "/ok")
            client.sender.hold()
            begun = client.begin(["/ok"] * 5)
            await asyncio.sleep(0.05)
            assert len(server.heads) == 2
            client.sender.flush()
            assert words([await one for one in begun]) == [""] * 5
            assert sorted(peer.most for peer in server.peers)[-1] > 1, "on one connection"

    run(main())


def test_requests_in_flight_and_queued_ones_can_be_cancelled() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}) as server,
            asking(server, connections=1, streams=3) as client,
        ):
            begun = client.begin(["/stall"] * 5)
            await asyncio.sleep(0.05)
            client.sender.cancel()
            assert words([await one for one in begun]) == ["cancelled"] * 5

    run(main())


def test_an_exchange_is_shown_in_full() -> None:
    shown: list[Exchange] = []

    async def main() -> None:
        async with http2_server() as server:
            sender = Http2Sender(await resolve(parse_target(server.url)), timeout=PATIENCE)
            client = Asking(sender)
            await sender.open(client.done, monotonic, shown.append)
            await client.ask("/a?b=c")
            await sender.close()

    uvloop.run(main())
    (one,) = shown
    assert one.request.startswith(b"GET /a?b=c HTTP/2\r\nhost: 127.0.0.1:")
    assert one.request.endswith(b"\r\nuser-agent: logreplay\r\naccept: */*\r\n\r\n")
    assert (one.status, one.headers, one.body) == (200, ((b"content-length", b"5"),), b"hello")


def test_requests_lost_with_a_connection_share_its_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "RACE_NS", 500_000_000)  # a busy machine may see the loss late

    async def lost(asked: Asked) -> None:
        if asked.connection.server.connections > 2:
            await ok(asked)
        elif asked.number == 40:
            asked.reset()

    async def main() -> None:
        async with http2_server(answers={"/lost": lost}) as server, asking(server) as client:
            await client.ask("/ok", "/ok")
            rows = await client.ask(*["/lost"] * 80)
            assert words(rows) == [""] * 80
            assert client.sender.counts.retried == 80
            assert server.connections <= 4

    run(main())


def test_all_requests_that_met_the_end_of_an_idle_connection_are_sent_again() -> None:
    """The connection was idle for 300 ms; the target closes it 100 ms after they began."""

    async def ends_when_idle(asked: Asked) -> None:
        if asked.connection.server.connections > 1:
            await ok(asked)
        elif asked.number == 6:
            await asyncio.sleep(0.1)
            asked.close()

    async def main() -> None:
        async with http2_server(answers={"/late": ends_when_idle}) as server, asking(server, connections=1) as client:
            await client.ask("/ok")
            await asyncio.sleep(0.3)
            assert words(await client.ask(*["/late"] * 5)) == [""] * 5
            assert client.sender.counts.retried == 5

    run(main())


@pytest.mark.parametrize("first", ["/ok", "/hints", "/head"])
def test_requests_that_are_lost_with_a_busy_connection_are_not_sent_again(first: str) -> None:
    """The target answers the first request, or begins to, and loses the others with the connection 100 ms later."""
    beginnings = {"/hints": lambda number: head(number, 103), "/head": head, "/ok": answer}

    async def begun(asked: Asked) -> None:
        await asked.send(beginnings[first](asked.stream))

    async def crash(asked: Asked) -> None:
        if asked.number == 4:
            await asyncio.sleep(0.1)
            asked.close()

    async def main() -> None:
        async with (
            http2_server(answers={"/first": begun, "/crash": crash}) as server,
            asking(server, connections=1) as client,
        ):
            await client.ask("/ok")
            await asyncio.sleep(0.3)
            rows = await client.ask("/first", "/crash", "/crash")
            lost = "short_body" if first == "/head" else "closed"
            assert words(rows) == ["" if first == "/ok" else lost, "closed", "closed"]
            assert client.sender.counts.retried == 0

    run(main())


def test_a_request_on_a_connection_that_stalls_is_not_sent_again_for_the_stall() -> None:
    """The first request is not answered, the second one begins 300 ms later and is lost in work."""

    async def main() -> None:
        async with http2_server() as server, asking(server, connections=1) as client:
            await client.ask("/ok")
            stalled = client.begin(["/stall"])
            await asyncio.sleep(0.3)
            assert words([*await client.ask("/crash"), await stalled[0]]) == ["closed", "closed"]
            assert client.sender.counts.retried == 0

    run(main())


def test_without_keep_alive_no_connection_is_used_after_a_time_out() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}) as server,
            asking(server, timeout=0.3, keep_alive=False) as client,
        ):
            assert words(await client.ask("/stall")) == ["timeout"]
            assert words(await client.ask("/ok")) == [""]
            assert server.connections == 2
            assert client.sender.counts.reused == 0

    run(main())


async def refuse_behind_a_stall(asked: Asked) -> None:
    """Refuse a request when another one has stalled, and allow one stream only from then on."""
    assert await settles(lambda: asked.connection.server.counts["/stall"] == 1)
    await asked.send(settings(max_concurrent_streams=1) + rst(asked.stream, 7))


def test_the_wait_of_a_request_that_is_sent_again_is_queued() -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/refused": refuse_behind_a_stall, "/stall": stall}) as server,
            asking(server, timeout=0.4, connections=1) as client,
        ):
            begun = client.begin(["/refused"])
            await asyncio.sleep(0.2)
            begun += client.begin(["/stall"])
            rows = [await one for one in begun]
            assert words(rows) == ["timeout", "timeout"]
            assert [row.queued for row in rows] == [400 * MS, 0]

    run(main())


def test_a_request_that_the_target_refuses_is_not_sent_again_when_it_is_too_late() -> None:
    """Back in the queue, it lost the instant from which it counts as too late."""

    async def main() -> None:
        async with (
            http2_server(answers={"/refused": refuse_behind_a_stall, "/stall": stall}) as server,
            asking(server, timeout=0.6, connections=1) as client,
        ):
            begun = client.begin(["/refused", "/stall"], latest=200 * MS)
            rows = [await one for one in begun]
            assert words(rows) == ["dropped", "timeout"]
            assert 200 * MS <= rows[0].queued < 600 * MS
            assert server.counts["/refused"] == 1

    run(main())


def test_a_request_whose_connection_does_not_open_is_not_sent_when_it_is_too_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        async with (
            http2_server(answers={"/stall": stall}) as server,
            asking(server, timeout=0.3, connections=1, streams=2) as client,
        ):
            begun = client.begin(["/stall"], latest=100 * MS)
            await asyncio.sleep(0.05)
            begun += client.begin(["/ok"], latest=100 * MS)
            rows = [await one for one in begun]
            assert words(rows) == ["connect_timeout", "dropped"]
            assert server.counts["/ok"] == 0

    delay_connections(monkeypatch, iter([60.0, 0.0]))
    run(main())


def test_a_connection_that_opens_when_it_was_given_up_is_closed() -> None:
    """As of a dial that hung: the target says nothing by which this would be noticed."""

    async def main() -> None:
        async with raw_server(greeting=http1.stall) as server, asking(server.url) as client:
            client.sender.pool.open(monotonic())
            client.sender.close_idle(monotonic() + MS)
            assert await settles(lambda: server.connections == 1)
            assert await settles(lambda: open_to(server.url) == 0)

    run(main())
