"""Serve in a thread, for tests that are no coroutines or start processes."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

Server = TypeVar("Server")


@contextmanager
def beside(serving: Callable[[], AbstractAsyncContextManager[Server]]) -> Iterator[Server]:
    """Run a server in an event loop and a thread of its own while the block runs."""
    ready: list[Server] = []
    started, ended = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with serving() as server:
            ready.append(server)
            started.set()
            await ended.wait()

    with ThreadPoolExecutor(1) as threads:
        served = threads.submit(loop.run_until_complete, serve())
        served.add_done_callback(lambda _: started.set())
        started.wait()
        if served.done():
            served.result()  # raises: it could not begin
        try:
            yield ready[0]
        finally:
            loop.call_soon_threadsafe(ended.set)
            served.result()
            loop.close()
