"""The other end of `logreplay.replay.monitor.sidecar`: what runs in the process beside the replay."""

import asyncio
import os
import pickle
import sys
import threading
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import IO

from logreplay.replay.monitor.live_page import PageState, metrics_app, page_app, serving
from logreplay.replay.monitor.probes import keep_reading
from logreplay.replay.monitor.sidecar_messages import Failed, Opened, SidecarConfig, StopAsked
from logreplay.replay.monitor.snapshot import Snapshot

_LESS_URGENT = 10


def main() -> None:
    """Do what the first message says, until the pipe is closed."""
    with suppress(OSError):
        os.nice(_LESS_URGENT)
    errand = pickle.load(sys.stdin.buffer)
    with suppress(BrokenPipeError):
        asyncio.run(_accompany(errand))


async def _accompany(errand: SidecarConfig) -> None:
    stand, over, loop = PageState(), asyncio.Event(), asyncio.get_running_loop()

    def stop(who: str) -> None:
        _tell(StopAsked(who))

    async with AsyncExitStack() as stack:
        urls = []
        page, metrics = partial(page_app, stand, errand.token, stop), partial(metrics_app, stand)
        for option, at, app in (("--live", errand.live, page), ("--metrics", errand.metrics, metrics)):
            try:
                urls.append(await stack.enter_async_context(serving(app(), at)) if at else "")
            except OSError as error:
                assert at
                why = os.strerror(error.errno) if error.errno else str(error)
                _tell(Failed(f"{option}: cannot serve at {at.host}:{at.port}: {why}; choose another port"))
                return
        _tell(Opened(*urls))
        take_in = partial(_take_in, sys.stdin.buffer, stand, loop, over)
        threading.Thread(target=take_in, daemon=True).start()
        reading = asyncio.create_task(keep_reading(errand.probes, _tell))
        await over.wait()
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


def _take_in(pipe: IO[bytes], stand: PageState, loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    """In a thread of its own: what the replay says."""
    with suppress(EOFError, pickle.UnpicklingError, OSError):
        while isinstance(snapshot := pickle.load(pipe), Snapshot):
            loop.call_soon_threadsafe(stand.show, snapshot)
    loop.call_soon_threadsafe(over.set)


def _tell(message: object) -> None:
    pickle.dump(message, sys.stdout.buffer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
