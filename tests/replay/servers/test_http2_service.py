"""The built-in target speaks HTTP/2 as it speaks HTTP/1.1, on the same port."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest

from logreplay.replay.senders.http2.frames import PREFACE
from logreplay.replay.servers.http2_service import MOST_STREAMS, Http2Service
from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity, serving

QUICK = ServerCapacity(workers=100, service_s=0.001)
LOG = (("GET", "/a", 200, 100_000), ("GET", "/old", 304, 9), ("HEAD", "/a", 200, 7), ("GET", "/odd", 101, 0))
HEADERS = [(":scheme", "http"), (":authority", "a")]


class Visitor:
    """A client made of the h2 package."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, window: int) -> None:
        self._reader, self._writer = reader, writer
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.local_settings = h2.settings.Settings(
            initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        )
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self._writer.write(self.h2.data_to_send())

    def ask(self, number: int, op: str, path: str, *, body: bytes = b"") -> None:
        self.h2.send_headers(number, [(":method", op), (":path", path), *HEADERS], end_stream=not body)
        if body:
            self.h2.send_data(number, body, end_stream=True)
        self.flush()

    async def answers(self, count: int) -> dict[int, tuple[str, int]]:
        """Status and bytes of so many streams; the status of one that was reset is its code."""
        status, size, ended = dict[int, str](), dict[int, int](), set[int]()
        while len(ended) < count:
            data = await asyncio.wait_for(self._reader.read(65536), 20)
            assert data, "closed"
            for event in self.h2.receive_data(data):
                match event:
                    case h2.events.ResponseReceived(headers=headers, stream_id=number):
                        status[number or 0] = dict(headers or [])[":status"]  # type: ignore[index, assignment]
                    case h2.events.DataReceived(stream_id=number, data=body, flow_controlled_length=length):
                        size[number or 0] = size.get(number or 0, 0) + len(body or b"")
                        self.h2.acknowledge_received_data(length or 0, number or 0)
                    case h2.events.StreamEnded(stream_id=number):
                        ended.add(number or 0)
                    case h2.events.StreamReset(stream_id=number, error_code=code):
                        status[number or 0] = f"reset {code:d}"
                        ended.add(number or 0)
            self.flush()
        return {number: (status[number], size.get(number, 0)) for number in sorted(ended)}


@asynccontextmanager
async def visiting(url: str, window: int = 65_535) -> AsyncIterator[Visitor]:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    yield Visitor(reader, writer, window)
    writer.close()
    await writer.wait_closed()


def test_responses_are_those_of_the_log_whatever_the_window_of_the_client() -> None:
    async def main(window: int) -> dict[int, tuple[str, int]]:
        async with serving(LoggedAnswers(iter(LOG)), QUICK) as url, visiting(url, window) as visitor:
            for number, (op, path) in enumerate([("GET", "/a"), ("GET", "/old"), ("HEAD", "/a"), ("GET", "/none")]):
                visitor.ask(2 * number + 1, op, path)
            visitor.ask(9, "POST", "/none", body=b"x" * 10_000)
            visitor.ask(11, "GET", "/odd")
            return await visitor.answers(6)

    for window in (500, 65_535, 2**31 - 1):
        assert asyncio.run(main(window)) == {
            1: ("200", 100_000), 3: ("304", 0), 5: ("200", 0), 7: ("404", 0), 9: ("404", 0), 11: ("reset 2", 0),
        }  # fmt: skip


class SlowLink(asyncio.Transport):
    """A transport that is full after each write."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def connect(self, service: Http2Service) -> None:
        self._service = service
        service.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self._service.pause_writing()

    def is_closing(self) -> bool:
        return False


@pytest.mark.parametrize("size", [2_000_000, 10**13])
def test_a_large_body_waits_for_a_client_that_does_not_read_it(size: int) -> None:
    """It was queued whole as soon as the client opened its window."""

    async def respond(method: str, path: str) -> tuple[int, int]:
        return 200, size

    async def main() -> None:
        client, link, service = h2.connection.H2Connection(), SlowLink(), Http2Service(respond, MOST_STREAMS)
        client.local_settings = h2.settings.Settings(
            initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2**31 - 1}
        )
        client.initiate_connection()
        client.increment_flow_control_window(2**31 - 1 - 65_535)
        client.send_headers(1, [(":method", "GET"), (":path", "/a"), *HEADERS], end_stream=True)
        link.connect(service)
        service.data_received(client.data_to_send().removeprefix(PREFACE))
        await asyncio.sleep(0)
        got, ended = 0, False
        for _ in range(20):
            service.resume_writing()
            assert len(link.written) < 600_000
            events = client.receive_data(link.written)
            got += sum(len(event.data or b"") for event in events if isinstance(event, h2.events.DataReceived))
            ended = ended or any(isinstance(event, h2.events.StreamEnded) for event in events)
            link.written = b""
        assert (got == size) == ended == (size == 2_000_000)

    asyncio.run(main())


def test_a_body_that_is_sent_is_forgotten_before_the_client_speaks_again() -> None:
    """Its stream was kept, and a larger window for the next ones was taken for a fault of the client."""

    async def respond(method: str, path: str) -> tuple[int, int]:
        return 200, 1_000_000

    async def main() -> None:
        client, link, service = h2.connection.H2Connection(), SlowLink(), Http2Service(respond, MOST_STREAMS)
        link.connect(service)
        client.initiate_connection()
        client.increment_flow_control_window(2**31 - 1 - 65_535)
        client.send_headers(1, [(":method", "GET"), (":path", "/a"), *HEADERS], end_stream=True)
        service.data_received(client.data_to_send().removeprefix(PREFACE))
        await asyncio.sleep(0)
        client.increment_flow_control_window(2**31 - 1 - 65_535, 1)
        service.data_received(client.data_to_send())
        for _ in range(10):
            service.resume_writing()
        assert any(isinstance(event, h2.events.StreamEnded) for event in client.receive_data(link.written))
        link.written = b""
        client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2**30})
        service.data_received(client.data_to_send())
        service.resume_writing()
        assert link.written == b"\0\0\0\4\1\0\0\0\0", "only the settings are acknowledged"

    asyncio.run(main())


def test_one_port_speaks_both_versions() -> None:
    async def main() -> None:
        async with (
            serving(LoggedAnswers(iter(LOG)), QUICK) as url,
            aiohttp.ClientSession() as session,
            visiting(url) as visitor,
        ):
            async with session.get(f"{url}/a") as response:
                assert (response.status, len(await response.read())) == (200, 100_000)
            visitor.ask(1, "GET", "/a")
            assert await visitor.answers(1) == {1: ("200", 100_000)}

    asyncio.run(main())


def test_the_capacity_is_shared_by_the_streams() -> None:
    async def main() -> float:
        async with serving(LoggedAnswers(iter(LOG)), ServerCapacity(2, 0.05)) as url, visiting(url) as visitor:
            loop = asyncio.get_running_loop()
            began = loop.time()
            for number in range(1, 12, 2):
                visitor.ask(number, "GET", "/none")
            await visitor.answers(6)
            return loop.time() - began

    assert 0.15 <= asyncio.run(main()) < 2


def test_more_requests_than_streams_are_refused() -> None:
    async def main() -> list[str]:
        async with serving(LoggedAnswers(iter(LOG)), ServerCapacity(1000, 0.3)) as url, visiting(url) as visitor:
            numbers = range(1, 2 * MOST_STREAMS + 5, 2)
            for number in numbers:
                visitor.ask(number, "GET", "/none")
            return [status for status, _ in (await visitor.answers(len(numbers))).values()]

    assert sorted(asyncio.run(main())) == ["404"] * MOST_STREAMS + ["reset 7"] * 2


@pytest.mark.parametrize("frames", [b"\xff" * 100, b"\0\0\5\4\0\0\0\0\0hello"])
def test_what_is_not_http2_after_the_preface_ends_the_connection(frames: bytes) -> None:
    async def main() -> bytes:
        async with serving(LoggedAnswers(iter(LOG)), QUICK) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            writer.write(b"PRI * HTTP/2.0\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.write(b"\r\nSM\r\n\r\n" + frames)
            got = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            return got

    assert b"\7\0\0\0\0\0" in asyncio.run(main()), "a GOAWAY"
