"""Serves the live page and the metrics of a run over HTTP: one page, server-sent events, some buttons.

Access. Everyone who reaches the port may look; only holders of the token, which is printed with the address, may
change the load or stop the run. The user's browser may have a hostile page open: a request must name this machine by an
address or name of its own (against DNS rebinding), a POST must come from the live page, and needs the token in a
header, which no form can send. All figures and texts reach the page as JSON and are inserted as text; its content
security policy admits no script but its own.
"""

import asyncio
import base64
import hashlib
import json
import re
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Final

from aiohttp import web

from logreplay.replay.monitor.access import is_this_machine, may_change
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.schedules.orders import Order, parse_order

_TRACED: Final = 600
_GUESTS: Final = 50
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_Row = list[float | None]
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def content_policy(page: str) -> str:
    """The content security policy of a page: its own script and style, by their hashes, and nothing else."""

    def digest(tag: str) -> str:
        inside = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inside
        return base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest('script')}'; style-src 'sha256-{digest('style')}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class TooMany(Exception):
    """Nobody more is served."""


class PageState:
    """The served state: the newest snapshot, and a trace of those before it."""

    def __init__(self) -> None:
        self.now = Snapshot()
        self._trace: deque[_Row] = deque(maxlen=_TRACED)
        self._guests: set[asyncio.Queue[tuple[Snapshot, _Row | None]]] = set()

    def show(self, snapshot: Snapshot) -> None:
        """Serve this from now on. A slow guest misses the snapshots in between."""
        before, self.now = self.now, snapshot
        row = None  # what only says that something has ended has no new figures
        if (snapshot.stage, snapshot.elapsed) != (before.stage, before.elapsed):
            row = _traced(snapshot)
            self._trace.append(row)
        for guest in self._guests:
            if guest.full():
                guest.get_nowait()
            guest.put_nowait((snapshot, row))

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events: the trace so far, then each snapshot as it comes, until the run is over.

        Raises:
            TooMany: are looking on already.
        """
        if len(self._guests) >= _GUESTS:
            raise TooMany(f"{_GUESTS} are looking on already")
        guest: asyncio.Queue[tuple[Snapshot, _Row | None]] = asyncio.Queue(8)
        self._guests.add(guest)
        try:
            yield _event("trace", list(self._trace))
            snapshot, row = self.now, None
            while True:
                yield _event("now", {**snapshot.as_dict(), "traced": row})
                if snapshot.over:
                    break
                snapshot, row = await guest.get()
        finally:
            self._guests.discard(guest)


def _traced(now: Snapshot) -> _Row:
    """The figures of the charts over time."""
    rate, times = now.rate, now.response
    return [now.second, rate.offered, rate.sent, rate.completed, times.p50, times.p99, now.in_flight, now.lag.p99]


def _event(name: str, value: object) -> str:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n"


def page_app(
    stand: PageState,
    token: str,
    stop: Callable[[str], object],
    give: Callable[[Order, str], Awaitable[tuple[bool, str]]],
) -> web.Application:
    """The page, its events, and its buttons: ``stop``, and ``give`` for the orders of those that change the load."""
    page = files("logreplay.replay.monitor").joinpath("live_page.html").read_text(encoding="utf-8")
    headers = {"Content-Security-Policy": content_policy(page)}

    async def show_page(_: web.Request) -> web.StreamResponse:
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def show_events(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_HEADERS})
        try:
            async for event in stand.events():
                if not response.prepared:
                    await response.prepare(request)
                await response.write(event.encode())
        except TooMany as error:
            raise web.HTTPServiceUnavailable(text=str(error)) from None
        except ConnectionResetError:
            pass  # the guest has left
        return response

    async def show_snapshot(_: web.Request) -> web.StreamResponse:
        return web.json_response(stand.now.as_dict())

    async def stop_run(request: web.Request) -> web.StreamResponse:
        check(request)
        stop(request.remote or "")
        return web.Response(text="stopping")

    async def change_load(request: web.Request) -> web.StreamResponse:
        check(request)
        try:
            order = parse_order((await request.read()).decode(errors="replace"))
        except ValueError as error:
            raise web.HTTPBadRequest(text=str(error)) from None
        done, text = await give(order, f"live page, {request.remote}")
        return web.Response(text=text, status=200 if done else 409)

    def check(request: web.Request) -> None:
        if not may_change(request.headers, token):
            raise web.HTTPForbidden(text="this needs the token, from the address that was printed")

    app = _guarded()
    app.router.add_get("/", show_page)
    app.router.add_get("/events", show_events)
    app.router.add_get("/snapshot.json", show_snapshot)
    app.router.add_post("/stop", stop_run)
    app.router.add_post("/control", change_load)
    return app


def metrics_app(stand: PageState) -> web.Application:
    """The newest snapshot for Prometheus."""

    from logreplay.replay.monitor.prometheus import CONTENT_TYPE, exposition

    async def show(_: web.Request) -> web.StreamResponse:
        return web.Response(body=exposition(stand.now), headers={"Content-Type": CONTENT_TYPE})

    app = _guarded()
    app.router.add_get("/metrics", show)
    return app


def _guarded() -> web.Application:
    """An application that answers only requests that name this machine."""
    names = frozenset({"localhost", socket.gethostname().lower(), socket.getfqdn().lower()})

    @web.middleware
    async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
        if not is_this_machine(request.headers.get("Host"), names):
            raise web.HTTPForbidden(text="this server answers to an address or a name of this machine only")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    return web.Application(middlewares=[guard], client_max_size=1024)
