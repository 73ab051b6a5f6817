"""Whatever a target answers over HTTP/2, the row says what it was, the next request is unharmed, nothing is left."""

import gc

import pytest
import uvloop

from logreplay.replay.senders.http2.connection import Http2Connection
from support.http2_server import Asked, http2_server, ok
from support.http2_ways import WAYS, Way
from support.sender_driver import PATIENCE, OneStream, asking, open_to, settles


@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
def test_each_way_of_answering_has_its_row(way: Way) -> None:
    """Over a socket, with a good request after it, on the same connection or on another one."""

    async def hostile(asked: Asked) -> None:
        await (asked.send(way.answer) if asked.stream == 1 else ok(asked))

    async def main() -> None:
        async with http2_server(answers={"/hostile": hostile}) as server:
            async with asking(OneStream, server.url, timeout=PATIENCE) as client:
                row = await client.ask("/hostile", way.method)
                assert row.seen == way.seen
                assert row.connect > 0
                assert row.connection == 1
                if way.broken and way.reset:  # the request ended before the connection did
                    assert await settles(lambda: not open_to(server.url))
                again = await client.ask("/ok")
                assert again.seen == ("", 200, 5)
                assert again.connection == (1 if way.broken is None else 2)
                assert not client.sender.busy
            assert await settles(lambda: not open_to(server.url))

    gc.disable()
    try:
        uvloop.run(main())
        gc.collect()
        assert not [one for one in gc.get_objects() if isinstance(one, Http2Connection)]
    finally:
        gc.enable()
