"""Measures what digests cost a request with a body of 1 kB, in turns with and without them.

Usage, from the folder ``tests``::

    python -m benchmarks.digest_cost COMMAND BODY [--turns N] [--tps R] [--seconds S] [--url URL] [OPTION ...]
    python -m benchmarks.digest_cost sender|pairs BODY [--turns N] [--url URL] [--http 2]

COMMAND is ``run`` or ``duet``; BODY is ``same``, for answers that are all the same, or ``json``, for JSON that differs
each time, also between the targets of a duet. Servers of HTTP/1.1 answer, in processes of their own; with ``--url``
that server answers. Other options are passed on. Prints medians of the processor time of a request from the first to
the last, of all threads and of the event loop's alone, and of what the command uses before and after.

``sender`` and ``pairs`` measure the sender alone, of a run and of a duet: a closed loop of `IN_FLIGHT` requests in
bursts of some milliseconds, with and without digests in turn, so that other work on the machine disturbs both alike.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from email.utils import formatdate
from functools import partial
from itertools import count
from pathlib import Path
from random import randrange
from typing import Any, Final, NamedTuple

import polars as pl
import uvloop

from logreplay.analysis.input.routes import Routes
from logreplay.analysis.response_diff.rules import default_ignored
from logreplay.cli.main import run
from logreplay.replay.clock import monotonic
from logreplay.replay.results.self_monitor import ProcessLoad, SelfMonitor
from logreplay.replay.senders.digests import Digests
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.multi_target import SeveralSenders, target_of
from logreplay.replay.senders.pair_keeper import PairSender, SamplingConfig
from logreplay.replay.servers.minimal import MinimalResponder, serve
from logreplay.replay.servers.server_process import server_process

SIZE: Final = 1000
IN_FLIGHT: Final = 32
BURST: Final = 1000
"""Requests."""
HEADER: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
WITHOUT: Final = {"run": (), "duet": ("--no-digest",)}
WITH: Final = {"run": ("--digest",), "duet": ()}


class Responder(MinimalResponder):
    """Answers with 1 kB; see the usage."""

    numbers: "count[int] | None" = None

    def answer(self, answer: bytes) -> None:
        number = 0 if self.numbers is None else next(self.numbers)
        body = b'{"number": %d, "name": "a", "list": [1, 2, 3], "text": "' % (10**8 + number)
        head = (
            f"HTTP/1.1 200 OK\r\nServer: benchmark\r\nDate: {formatdate(usegmt=True)}\r\nContent-Type: application/json"
            f'\r\nContent-Length: {SIZE}\r\nConnection: keep-alive\r\nETag: "5f3e2a-3e8"\r\n\r\n'
        )
        super().answer(head.encode() + body + b"x" * (SIZE - 2 - len(body)) + b'"}')


class Bursts:
    """A closed loop of requests through one sender."""

    def __init__(self, sender: Any, requests: Sequence[Any]) -> None:
        self._sender, self._requests = sender, requests
        self._next = self._last = 0
        self._left = 0

    async def open(self) -> None:
        """Open the sender."""
        self._loop = asyncio.get_running_loop()
        await self._sender.open(self._done, monotonic)

    def _done(self, seq: int, *rest: int) -> None:
        self._left -= 1
        if not self._left:
            self._over.set_result(None)
        elif self._next < self._last:
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        seq = self._next
        self._next += 1
        self._sender.send(seq, self._requests[seq % len(self._requests)], monotonic())

    async def cost(self) -> float:
        """Processor time of a request in one burst, microseconds."""
        self._over = self._loop.create_future()
        self._left, self._last = BURST, self._next + BURST
        began = time.process_time()
        for _ in range(IN_FLIGHT):
            self._send()
        await self._over
        return (time.process_time() - began) / BURST * 1e6

    async def close(self) -> None:
        """Close the sender."""
        await self._sender.close()


async def senders(kind: Any, urls: Sequence[str], folder: str, turns: int) -> tuple[list[float], list[float]]:
    """What requests cost without and with digests, in bursts in turn."""
    endpoints = [await resolve(parse_target(url)) for url in urls]
    number = 1000 * len(urls)
    frame = pl.DataFrame({"op": "GET", "url": "/one/1", "row": range(number), "target": [*range(len(urls))] * 1000})
    made: list[Any]
    if len(urls) == 1:
        made = [kind(endpoints[0], timeout=30, digests=digests) for digests in (None, Digests())]
    else:
        plain = [kind(endpoint, timeout=30) for endpoint in endpoints]
        makers = [lambda listener, at=at: kind(at, timeout=30, digests=Digests(listener)) for at in endpoints]
        keeping = SamplingConfig(Path(folder), len(urls), 30, Routes, default_ignored)
        made = [SeveralSenders(plain, target_of), PairSender(makers, target_of, keeping)]
    loops = [Bursts(sender, sender.prepare(frame)) for sender in made]
    for one in loops:
        await one.open()
        await one.cost()
    found: tuple[list[float], list[float]] = [], []
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(await loops[which].cost())
    for one in loops:
        await one.close()
    return found


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
    parser.add_argument("command", choices=("run", "duet", "sender", "pairs"))
    parser.add_argument("body", choices=("same", "json"))
    parser.add_argument("--turns", type=int)
    parser.add_argument("--tps", type=float)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--url")
    given, more = parser.parse_known_args()
    each = 2 if given.command in ("duet", "pairs") else 1
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        serving = partial(server_process, __file__, "serve", given.body, failed="the server did not start")
        urls = [given.url] * each if given.url else [stack.enter_context(serving()) for _ in range(each)]
        if given.command in ("sender", "pairs"):
            kind = Http2Sender if more == ["--http", "2"] else WireSender
            without, with_ = uvloop.run(senders(kind, urls, folder, given.turns or 300))
            show("us of a request", without, with_)
        else:
            commands(given, more, urls, folder)


def commands(given: argparse.Namespace, more: list[str], urls: Sequence[str], folder: str) -> None:
    """Measure whole commands."""
    tps = given.tps or 4000 / len(urls)
    common = ["--tps", str(tps), "--loop", "--workers", "1", "-q", "--for", f"{given.seconds}s", *more]
    command = [given.command, log(folder), *urls, *common]
    ways = WITHOUT[given.command], WITH[given.command]
    found: tuple[list[Cost], list[Cost]] = [], []
    for turn in range(given.turns or 9):
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(cost([*command, *ways[which]], tps * len(urls) * given.seconds))
    for name, without, with_ in zip(Cost._fields, *(zip(*of, strict=True) for of in found), strict=True):
        show(name, without, with_)


def show(name: str, without: Sequence[float], with_: Sequence[float]) -> None:
    """Print the medians, and the median and the quartiles of the ratios."""
    ratios = [one / other - 1 for one, other in zip(with_, without, strict=True)]
    quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    print(
        f"{name}: {statistics.median(without):.2f} without, {statistics.median(with_):.2f} with digests, least "
        f"{min(without):.2f} and {min(with_):.2f}; median ratio of {len(ratios)} turns {quartiles[1]:+.1%}, quartiles "
        f"{quartiles[0]:+.1%} and {quartiles[2]:+.1%}",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        Responder.numbers = count(randrange(10**8)) if sys.argv[2] == "json" else None
        uvloop.run(serve(Responder))
    elif sys.argv[1:2] == ["measured"]:
        sys.exit(measured(*sys.argv[2:]))
    else:
        main()
