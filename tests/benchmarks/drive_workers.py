"""One replay by workers, for the benchmarks; prints its figures as JSON.

Usage: drive_workers.py COUNT LOG URL RATE SECONDS OUTPUT [MAX_IN_FLIGHT] (COUNT 0: an engine in this process)
"""

import json
import resource
import sys
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import ResultLog
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.workers.coordinator import Coordinator
from logreplay.replay.workers.processes import processes


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def main(count: int, log: str, url: str, rate: float, seconds: float, output: str, limit: int) -> dict[str, Any]:
    sender = partial(WireSender, await resolve(parse_target(url)), timeout=30)
    plan = Plan(Requests(Path(log)), Constant(rate, seconds))
    results, limits = ResultLog(Path(output), force=True), Limits(max_in_flight=limit)
    workers = Coordinator(processes(count), sender, results, limits=limits) if count else None
    async with workers or Engine(sender(), results, limits=limits) as engine:
        before = used()
        outcome = await engine.run(plan)
        used_by_coordinator = used() - before
    p50, p99 = ((outcome.counters.lag.quantile(share) or 0.0) * 1e3 for share in (0.5, 0.99))
    vitals, sent = outcome.evidence.vitals, max(outcome.counters.sent, 1)
    return {
        "rate": outcome.counters.sent / max(outcome.evidence.seconds, 1e-9),
        "achieved": outcome.evidence.achieved,
        "ok": outcome.counters.ok / sent,
        "lag_p50_ms": p50,
        "lag_p99_ms": p99,
        "worker_us": vitals.process / (sent / max(count, 1)) * 1e6,
        "coordinator_us": used_by_coordinator / sent * 1e6 if count else 0.0,
    }


if __name__ == "__main__":
    count, log, url, rate, seconds, output, *more = sys.argv[1:]
    print(json.dumps(uvloop.run(main(int(count), log, url, float(rate), float(seconds), output, int(more[0])))))
