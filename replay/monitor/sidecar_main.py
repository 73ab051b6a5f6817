"""The main program of the process beside the replay (`logreplay.replay.monitor.sidecar`)."""

import asyncio
import os
import threading
from contextlib import AsyncExitStack, suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from aiohttp import web

from logreplay.core.errors import LogreplayError
from logreplay.replay.child_process import connection_to_parent
from logreplay.replay.monitor.live_page import PageState, metrics_app, page_app
from logreplay.replay.monitor.probes import keep_reading
from logreplay.replay.monitor.sidecar import Opened, SidecarConfig, StopAsked, take
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.servers.server_process import listening

_LESS_URGENT = 10


async def _serve(config: SidecarConfig, replay: "Connection[Any, Any]") -> None:
    """Serve and read until the connection is closed."""
    state, over, loop, tell = PageState(), asyncio.Event(), asyncio.get_running_loop(), replay.send

    def show_snapshots() -> None:
        while isinstance(snapshot := take(replay), Snapshot):
            loop.call_soon_threadsafe(state.show, snapshot)
        loop.call_soon_threadsafe(over.set)

    async with AsyncExitStack() as stack:
        urls = []
        page = partial(page_app, state, config.token, lambda who: tell(StopAsked(who)))
        metrics = partial(metrics_app, state)
        for option, at, app in (("--live", config.live, page), ("--metrics", config.metrics, metrics)):
            if not at:
                urls.append("")
                continue
            runner = web.AppRunner(app(), access_log=None, shutdown_timeout=1.0)
            try:
                urls.append(await stack.enter_async_context(listening(runner, at.host, at.port)))
            except OSError as error:
                why = os.strerror(error.errno) if error.errno else str(error)
                tell(LogreplayError(f"{option}: cannot serve at {at.host}:{at.port}: {why}; choose another port"))
                return
        tell(Opened(*urls))
        threading.Thread(target=show_snapshots, daemon=True).start()
        reading = asyncio.create_task(keep_reading(config.probes, tell))
        await over.wait()
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


if __name__ == "__main__":
    with suppress(OSError):
        os.nice(_LESS_URGENT)
    replay = connection_to_parent()
    first = take(replay)
    if isinstance(first, SidecarConfig):  # nothing: the replay was interrupted before it said what to serve
        with suppress(ConnectionError):
            asyncio.run(_serve(first, replay))
