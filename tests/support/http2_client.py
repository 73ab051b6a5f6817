"""Asks a URL once over HTTP/2, as the command that h2specd starts for each of its cases."""

import asyncio
import sys
from urllib.parse import urlsplit

import polars as pl

from logreplay.replay.clock import monotonic
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http2.sender import Http2Sender


async def ask(url: str) -> None:
    """Send one request, and stay for what the server sends after its answer."""
    parts = urlsplit(url)
    # one stream on a connection: the next case would meet a second connection of this one
    sender = Http2Sender(await resolve(parse_target(f"{parts.scheme}://{parts.netloc}")), timeout=4, streams=1)
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    await sender.open(lambda *row: ended.set_result(None), monotonic)
    sender.send(0, sender.prepare(pl.DataFrame({"op": ["GET"], "url": ["/"]}))[0], monotonic())
    await ended
    await asyncio.sleep(0.2)
    await sender.close()


if __name__ == "__main__":
    asyncio.run(ask(sys.argv[1]))
