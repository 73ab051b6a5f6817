"""Measures what --cookies costs a request where the target sets no cookie, in pairs of runs.

Usage, from the folder ``tests``: ``python -m benchmarks.session_cost [PAIRS [1.1|2 [URL]]]``. Without a URL a minimal
server of HTTP/1.1 answers in a process of its own, or nginx with HTTP/2. Prints the processor time of a request with
and without sessions, and the median difference.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl
import uvloop

from conftest import NGINX, NGINX_CONF, free_port, running
from logreplay.replay.clock import monotonic
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.per_client import ByClientSender, SessionSender
from logreplay.replay.senders.http2.per_client import Http2ByClientSender, Http2SessionSender
from logreplay.replay.servers.minimal import responding
from logreplay.replay.sessions.client_sessions import SessionPlan

REQUESTS: Final = 40_000
CLIENTS: Final = 50
PLAN: Final = SessionPlan(cookies=True)
KINDS: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "1.1": (ByClientSender, lambda *given, **named: SessionSender(*given, **named, plan=PLAN)),
    "2": (Http2ByClientSender, lambda *given, **named: Http2SessionSender(*given, **named, plan=PLAN)),
}


@contextmanager
def http2() -> Iterator[str]:
    """nginx with HTTP/2 in cleartext."""
    assert NGINX
    with TemporaryDirectory(prefix="http2-") as name:
        folder, port = Path(name), free_port()
        folder.chmod(0o755)
        conf = NGINX_CONF.format(
            folder=folder, port=port, server='location / { return 200 "hello"; }', log_format="-", escape="default"
        )
        (folder / "conf").write_text(conf.replace("backlog=4096", "http2 backlog=4096"))
        with running([NGINX, "-c", folder / "conf", "-p", folder, "-e", folder / "error.log"], folder, port) as server:
            yield server.url


SERVERS: Final[dict[str, Callable[[], AbstractContextManager[str]]]] = {"1.1": responding, "2": http2}


async def cost(kind: Callable[..., Any], url: str) -> float:
    """Processor time of a request, microseconds; each client sends its next one when the answer has come."""
    sender = kind(await resolve(parse_target(url)), timeout=30)
    frame = pl.DataFrame({"op": ["GET"], "url": ["/page"]})
    blocks = {
        f"10.0.0.{n}": sender.prepare(frame.with_columns(client=pl.lit(f"10.0.0.{n}")))[0] for n in range(CLIENTS)
    }
    requests, left, over = list(blocks.values()), REQUESTS, asyncio.Event()

    def done(seq: int, *rest: int) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            over.set()
        elif left >= CLIENTS:
            asyncio.get_running_loop().call_soon(sender.send, seq + CLIENTS, requests[seq % CLIENTS], monotonic())

    await sender.open(done, monotonic)
    began = time.process_time()
    for seq in range(CLIENTS):
        sender.send(seq, requests[seq], monotonic())
    await over.wait()
    spent = time.process_time() - began
    await sender.close()
    return spent / REQUESTS * 1e6


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    version = sys.argv[2] if len(sys.argv) > 2 else "1.1"
    kinds = KINDS[version]
    with nullcontext(sys.argv[3]) if len(sys.argv) > 3 else SERVERS[version]() as url:
        plain, kept = list[float](), list[float]()
        for pair in range(pairs):
            for which in (0, 1) if pair % 2 else (1, 0):
                (kept if which else plain).append(uvloop.run(cost(kinds[which], url)))
    differences = [one - two for one, two in zip(kept, plain, strict=True)]
    print(
        f"plain {statistics.median(plain):.2f} us, --cookies {statistics.median(kept):.2f} us, difference "
        f"{statistics.median(differences):.2f} us, quartiles "
        f"{', '.join(f'{each:.2f}' for each in statistics.quantiles(differences))}, {pairs} pairs"
    )


if __name__ == "__main__":
    main()
