"""Measures what digests cost a request with a body of 1 kB, in turns with and without them.

Usage, from the folder ``tests``::

    python -m benchmarks.digest_cost COMMAND BODY [--turns N] [--tps R] [--seconds S] [--url URL] [OPTION ...]

COMMAND is ``run`` or ``duet``; BODY is ``same``, for answers that are all the same, or ``json``, for JSON that differs
each time, also between the targets of a duet. Servers of HTTP/1.1 answer, in processes of their own; with ``--url``
that server answers. Other options are passed on. Prints medians of the processor time of a request from the first to
the last, of all threads and of the event loop's alone, and of what the command uses before and after.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from email.utils import formatdate
from functools import partial
from itertools import count
from pathlib import Path
from random import randrange
from typing import Any, Final, NamedTuple

import uvloop

from logreplay.cli.main import run
from logreplay.replay.results.self_monitor import ProcessLoad, SelfMonitor
from logreplay.replay.servers.minimal import MinimalResponder, serve
from logreplay.replay.servers.server_process import server_process

SIZE: Final = 1000
HEADER: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
WITHOUT: Final = {"run": (), "duet": ("--no-digest",)}
WITH: Final = {"run": ("--digest",), "duet": ()}


class Responder(MinimalResponder):
    """Answers with 1 kB; see the usage."""

    numbers: "count[int] | None" = None

    def answer(self, answer: bytes) -> None:
        number = 0 if self.numbers is None else next(self.numbers)
        body = b'{"number": %09d, "name": "a", "list": [1, 2, 3], "text": "' % number
        head = (
            f"HTTP/1.1 200 OK\r\nServer: benchmark\r\nDate: {formatdate(usegmt=True)}\r\nContent-Type: application/json"
            f'\r\nContent-Length: {SIZE}\r\nConnection: keep-alive\r\nETag: "5f3e2a-3e8"\r\n\r\n'
        )
        super().answer(head.encode() + body + b"x" * (SIZE - 2 - len(body)) + b'"}')


class Cost(NamedTuple):
    """Processor time of a command."""

    request_us: float
    loop_us: float
    before_and_after_s: float


def cost(command: list[str], requests: float) -> Cost:
    """What a command costs that sends so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        load = Path(folder, "load")
        given = [sys.executable, __file__, "measured", str(load), *command, "-o", f"{folder}/results.csv"]
        process = subprocess.Popen(given, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not load.exists():
            raise SystemExit(f"{' '.join(given)} ended with {process.returncode}")
        of_plan = json.loads(load.read_text())
    whole = usage.ru_utime + usage.ru_stime
    return Cost(of_plan["process"] / requests * 1e6, of_plan["loop"] / requests * 1e6, whole - of_plan["process"])


def measured(path: str, *command: str) -> int:
    """Run a command, and write the load of its plan to a file."""
    stop: Callable[[SelfMonitor], ProcessLoad] = SelfMonitor.stop

    def stopped(monitor: SelfMonitor) -> ProcessLoad:
        load = stop(monitor)
        Path(path).write_text(json.dumps({"process": load.process, "loop": load.loop}))
        return load

    SelfMonitor.stop = stopped  # type: ignore[assignment, method-assign]
    return run([*command])


def log(folder: str) -> str:
    """A log of ten requests/s."""
    path = Path(folder, "log.csv")
    rows = [f"2026-01-01,00:00:{at // 10:02}.{at % 10},0,0,0,{SIZE},/one/{at % 7},200,GET" for at in range(100)]
    path.write_text("\n".join([HEADER, *rows, ""]))
    return str(path)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("command", choices=("run", "duet"))
    parser.add_argument("body", choices=("same", "json"))
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--tps", type=float)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--url")
    given, more = parser.parse_known_args()
    each = 2 if given.command == "duet" else 1
    tps = given.tps or 4000 / each
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        serving = partial(server_process, __file__, "serve", given.body, failed="the server did not start")
        urls = [given.url] * each if given.url else [stack.enter_context(serving()) for _ in range(each)]
        common = ["--tps", str(tps), "--loop", "--workers", "1", "-q", "--for", f"{given.seconds}s", *more]
        command = [given.command, log(folder), *urls, *common]
        ways: tuple[Any, Any] = WITHOUT[given.command], WITH[given.command]
        turns: dict[Any, list[Cost]] = {way: [] for way in ways}
        for turn in range(given.turns):
            for way in ways if turn % 2 else reversed(ways):
                turns[way].append(cost([*command, *way], tps * each * given.seconds))
    for name, without, with_ in zip(Cost._fields, *(zip(*turns[way], strict=True) for way in ways), strict=True):
        ratios = [one / other - 1 for one, other in zip(with_, without, strict=True)]
        print(
            f"{name}: {statistics.median(without):.2f} without, {statistics.median(with_):.2f} with digests; "
            f"ratio of {len(ratios)} turns {statistics.median(ratios):+.1%}, "
            f"from {min(ratios):+.1%} to {max(ratios):+.1%}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        Responder.numbers = count(randrange(10**8)) if sys.argv[2] == "json" else None
        uvloop.run(serve(Responder))
    elif sys.argv[1:2] == ["measured"]:
        sys.exit(measured(*sys.argv[2:]))
    else:
        main()
