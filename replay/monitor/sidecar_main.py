"""The main program of the process beside the replay (`logreplay.replay.monitor.sidecar`)."""

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from aiohttp import web

from logreplay.core.errors import LogreplayError
from logreplay.replay.child_process import connection_to_parent
from logreplay.replay.monitor.control_socket import control_socket
from logreplay.replay.monitor.live_page import PageState, metrics_app, page_app
from logreplay.replay.monitor.otlp_push import keep_pushing
from logreplay.replay.monitor.probes import keep_reading
from logreplay.replay.monitor.sidecar import (
    Opened,
    OrderAnswered,
    OrderAsked,
    SidecarAlive,
    SidecarConfig,
    StopAsked,
    take,
)
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.schedules.orders import Order
from logreplay.replay.servers.server_process import SERVER_LOG, listening

_LESS_URGENT = 10
_BEAT_S = 0.5
_COUNTS_S = 3.0
"""Seconds in which the run must take an order; later, it refuses it."""
_ANSWER_S = _COUNTS_S + 1.0


class _Orders:
    """Passes orders up, and waits for their answers."""

    def __init__(self, tell: Callable[[object], object]) -> None:
        self._tell, self._numbers = tell, count()
        self._waiting: dict[int, asyncio.Future[tuple[bool, str]]] = {}

    async def give(self, order: Order, who: str) -> tuple[bool, str]:
        """Return what became of an order."""
        number = next(self._numbers)
        answer: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._tell(OrderAsked(number, order, who, time.monotonic() + _COUNTS_S))
            return await asyncio.wait_for(answer, _ANSWER_S)
        except TimeoutError:
            return False, "the run does not answer: it is ending, or the machine is busy; the order does not count"
        finally:
            del self._waiting[number]

    def take(self, answer: OrderAnswered) -> None:
        """Hand an answer to who waits for it."""
        waiting = self._waiting.get(answer.number)
        if waiting and not waiting.done():
            waiting.set_result((answer.done, answer.text))


def _offer(replay: "Connection[Any, Any]", message: object) -> None:
    """Tell the replay something, unless the connection is full: to send to a stopped replay would block."""
    if select.select((), (replay,), (), 0)[1]:
        with suppress(ConnectionError):  # the replay has ended
            replay.send(message)


async def _beat(offer: Callable[[object], object]) -> None:
    """Tell the replay that this loop runs."""
    while True:
        offer(SidecarAlive())
        await asyncio.sleep(_BEAT_S)


async def _serve(config: SidecarConfig, replay: "Connection[Any, Any]") -> None:
    """Serve and read until the connection is closed."""
    state, over, loop = PageState(), asyncio.Event(), asyncio.get_running_loop()

    def tell(message: object) -> None:
        with suppress(ConnectionError):  # the replay has ended, which `over` says
            replay.send(message)

    orders, offer = _Orders(tell), partial(_offer, replay)

    def hear(message: Snapshot | OrderAnswered) -> None:
        if isinstance(message, OrderAnswered):
            orders.take(message)
        else:
            state.show(message)

    def show_snapshots() -> None:
        while isinstance(message := take(replay), Snapshot | OrderAnswered):
            loop.call_soon_threadsafe(hear, message)
        loop.call_soon_threadsafe(over.set)

    async with AsyncExitStack() as stack:
        urls = []
        page = partial(page_app, state, config.token, lambda who: tell(StopAsked(who)), orders.give)
        metrics = partial(metrics_app, state)
        for option, at, app in (("--live", config.live, page), ("--metrics", config.metrics, metrics)):
            if not at:
                urls.append("")
                continue
            runner = web.AppRunner(app(), access_log=None, logger=SERVER_LOG, shutdown_timeout=1.0)
            try:
                urls.append(await stack.enter_async_context(listening(runner, at.host, at.port)))
            except OSError as error:
                why = os.strerror(error.errno) if error.errno else str(error)
                tell(LogreplayError(f"{option}: cannot serve at {at.host}:{at.port}: {why}; choose another port"))
                return
        if config.control:
            try:
                await stack.enter_async_context(control_socket(config.control, orders.give))
            except LogreplayError as error:
                tell(error)
                return
        tell(Opened(*urls))
        threading.Thread(target=show_snapshots, daemon=True).start()
        beating = asyncio.create_task(_beat(offer))
        stack.callback(beating.cancel)
        reading = asyncio.create_task(keep_reading(config.probes, offer))
        if config.otlp:
            await keep_pushing(config.otlp, lambda: state.now, over, offer)
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
        asyncio.run(_serve(first, replay))
