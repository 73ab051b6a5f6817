"""A log of a shop, and what a real server receives when it is shaped and replayed."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from logreplay.replay.engine.engine import Limits, replay
from logreplay.replay.requests.plan import SAFE_METHODS, Plan, Requests, RequestStream, Shape
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant, Schedule
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from support.recording_server import Received, RecordingServer, recording

COLUMNS = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client,host,referer,agent,request_bytes,body"
FAST = Constant(5000)
HOSTILE = "x\r\nX-Injected: 1\r\n\r\nGET /injected HTTP/1.1\r\nHost: a\r\n\r\n\0\n\x7f"


def written(path: Path, *rows: str) -> Path:
    """A normalized CSV with a request a second."""
    lines = [COLUMNS]
    for second, row in enumerate(rows):
        op, url, rc, client, host, referer, agent, size, body = (*row.split(" "), "", "", "", "", "", "", "")[:9]
        fields = ["" if field == "-" else field for field in (client, host, referer, agent, size, body)]
        lines.append(",".join(("2026-01-01", f"12:00:{second:02}.000000", "0.01,0,0,5", url, rc, op, *fields)))
    path.write_text("\n".join(lines) + "\n")
    return path


def server_saw(
    stream: RequestStream, sender: str = "wire", schedule: Schedule = FAST, results: MemoryResults | None = None
) -> list[Received]:
    """Replay a stream against a server that keeps what it receives."""

    async def main() -> tuple[RecordingServer, Outcome]:
        async with recording() as server:
            endpoint = await resolve(parse_target(server.url))
            chosen = WireSender if sender == "wire" else AiohttpSender
            one_by_one = Limits(max_in_flight=1)  # so that they arrive in the order in which they are sent
            outcome = await replay(
                Plan(stream, schedule), chosen(endpoint, timeout=5), results or MemoryResults(), limits=one_by_one
            )
            return server, outcome

    server, outcome = asyncio.run(main())
    assert outcome.counters.ok == outcome.scheduled == len(server.received)
    return sorted(server.received, key=lambda received: received.at)


def shaped(log: Path, *shapes: Shape, methods: Sequence[str] = tuple(SAFE_METHODS), **options: object) -> Requests:
    return Requests(log, methods=methods, loop=False, shapes=shapes, **options)  # type: ignore[arg-type]


def targets(received: Sequence[Received]) -> list[str]:
    return [one.target for one in received]


both_senders = pytest.mark.parametrize("sender", ["wire", "aiohttp"])
