"""Requests that exceed the streams of a target wait as in a queue with as many servers, first come first served."""

from functools import partial
from pathlib import Path

import numpy as np
import uvloop

import simulate
from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http2.sender import Http2Sender
from support.background_server import beside
from support.http2_server import Always, after, http2_server

STREAMS, SERVICE, RATE = 10, 0.05, 400


def test_a_target_of_ten_streams_is_a_queue_with_ten_servers(log: Path) -> None:
    """Twice its capacity for a second: the wait grows to a second, and all of it is in `queued`."""
    results = MemoryResults()

    async def main(url: str) -> Outcome:
        sender = Http2Sender(await resolve(parse_target(url)), timeout=30, connections=1)
        return await replay(Plan(Requests(log), Constant(RATE, 1)), sender, results)

    with beside(partial(http2_server, answers=Always(after(SERVICE)), max_concurrent_streams=STREAMS)) as server:
        outcome = uvloop.run(main(server.url))
    assert outcome.counters.ok == RATE
    assert outcome.evidence.queued_for.startswith("a stream: --connections")
    rows = results.frame.sort("seq")
    started = rows["scheduled"] + rows["lag"]
    services = rows["connect"] + rows["latency"] + rows["xfertime"]  # of this machine, now: 50 ms and some more
    expected = simulate.waits(started.to_numpy(), services.to_numpy(), STREAMS)
    queued = rows["queued"].to_numpy()
    assert (services >= SERVICE - 0.001).all()
    assert queued.max() > 0.8
    assert np.abs(queued - expected).mean() <= 0.05 * expected.mean()
    assert np.mean(queued > 0) > 0.9
