"""One replay in a process of its own, for the benchmarks; prints its figures as JSON.

Usage: drive.py SENDER LOG URL RATE SECONDS OUTPUT [MAX_IN_FLIGHT] (RATE 0: a closed loop of 64 users)
"""

import json
import resource
import sys
from pathlib import Path
from typing import Any, Final

import polars as pl
import uvloop

from logreplay.core.record import SCHEMA
from logreplay.replay.engine.engine import Engine, Limits, replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import ResultLog
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender

SENDERS: Final[dict[str, Any]] = {"wire": WireSender, "aiohttp": AiohttpSender, "http2": Http2Sender}

USERS = 64


async def main(name: str, log: str, url: str, rate: float, seconds: float, output: str, limit: int | None) -> Outcome:
    endpoint = await resolve(parse_target(url))
    sender = SENDERS[name](endpoint, timeout=30)
    results = ResultLog(Path(output), force=True)
    if not rate:
        async with Engine(sender, results, closed=True) as engine:
            return await engine.run(Plan(Requests(Path(log)), Users(USERS, duration=seconds)))
    plan = Plan(Requests(Path(log)), Constant(rate, seconds))
    return await replay(plan, sender, results, limits=Limits(max_in_flight=limit))


def used() -> tuple[float, float]:
    """Seconds of processor time: user, and system."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


if __name__ == "__main__":
    sender, log, url, rate, seconds, output, *more = sys.argv[1:]
    before = used()
    outcome = uvloop.run(main(sender, log, url, float(rate), float(seconds), output, int(more[0]) if more else None))
    user, system = (after - earlier for after, earlier in zip(used(), before, strict=True))
    cpu, rss = user + system, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = pl.read_csv(output, columns=["lag", "connect", "latency", "xfertime", "bytes"], schema_overrides=SCHEMA)
    service = rows["connect"] + rows["latency"] + rows["xfertime"]
    assert rows.height == outcome.scheduled
    print(
        json.dumps(
            {
                "sent": outcome.counters.sent,
                "ok": outcome.counters.ok,
                "rate": outcome.counters.sent / max(outcome.seconds, 1e-9),
                "achieved": outcome.evidence.achieved,
                "seconds": outcome.seconds,
                "cpu_s": cpu,
                "cpu_us": cpu / outcome.counters.sent * 1e6,
                "user_us": user / outcome.counters.sent * 1e6,
                "lag_p50": rows["lag"].quantile(0.5),
                "lag_p99": rows["lag"].quantile(0.99),
                "service_p50": service.quantile(0.5),
                "rss_mb": rss / 1024,
                "bytes_per_s": float(rows["bytes"].sum()) / max(outcome.seconds, 1e-9),
            }
        )
    )
