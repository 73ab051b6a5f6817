"""Pushes metrics to a collector every few seconds, and once more at the end. Runs beside the process that sends.

A collector that is away costs the run nothing: one push is under way at a time, each has a limit of time, and since
figures are of the whole run, the next push makes up for one that failed. Only 429 and 503 are tried again at once, as
https://opentelemetry.io/docs/specs/otlp/#failures-1 allows.
"""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from logreplay.core.masking import masked, terminal_safe
from logreplay.replay.monitor.otlp_metrics import payload
from logreplay.replay.monitor.otlp_settings import LAST_S, OtlpSettings, PushCounts
from logreplay.replay.monitor.presets.figures import fault_of, text_of
from logreplay.replay.monitor.snapshot import Snapshot

if TYPE_CHECKING:
    from aiohttp import ClientSession

_TIMEOUT_S: Final = 8.0
_AGAIN: Final = (429, 503)
_TRIES: Final = 3
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 5.0


async def keep_pushing(
    settings: OtlpSettings, newest: Callable[[], Snapshot], over: asyncio.Event, tell: Callable[[PushCounts], object]
) -> None:
    """Push until the run is over, and then the last state."""
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar

    began_ns, counts = time.time_ns(), PushCounts(settings.url)
    headers = {**settings.headers, "Content-Type": "application/json", "User-Agent": "logreplay"}
    timeout = ClientTimeout(total=_TIMEOUT_S)
    async with ClientSession(headers=headers, timeout=timeout, cookie_jar=DummyCookieJar()) as session:
        ended = False
        while not ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), settings.interval)
            ended, now = over.is_set(), newest()
            if not now.at:
                continue
            push = asyncio.create_task(_pushed(settings, session, now, began_ns, LAST_S if ended else _TIMEOUT_S))
            if ended or await _before(over, push):
                counts = counts.and_one(await push, ended=ended)
                tell(counts)


async def _before(over: asyncio.Event, push: "asyncio.Task[str]") -> bool:
    """Wait for a push; cut it when the run is over, since the push of the end says all that it says and more."""
    ending = asyncio.create_task(over.wait())
    await asyncio.wait((push, ending), return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    return push.done() or not push.cancel()


async def _pushed(settings: OtlpSettings, session: "ClientSession", now: Snapshot, began_ns: int, limit: float) -> str:
    """Push one state within some seconds; return why no collector accepted it, empty if one did."""
    body = json.dumps(payload(now, began_ns, settings.resource), separators=(",", ":")).encode()
    why = ""
    try:
        async with asyncio.timeout(limit):
            for attempt in range(_TRIES):
                why, pause = await _posted(settings.url, session, body)
                if pause is None or attempt + 1 == _TRIES:
                    break
                await asyncio.sleep(min(pause or _PAUSE_S * 2**attempt, _LONGEST_PAUSE_S))
    except TimeoutError:
        return why or "no answer in time"
    return why


async def _posted(url: str, session: "ClientSession", body: bytes) -> tuple[str, float | None]:
    """POST once; return why it failed, empty if it did not, and the seconds until a second try: 0: any; None: never."""
    try:
        async with session.post(url, data=body, allow_redirects=False) as response:
            if response.status == 200:
                return _rejected(await text_of(response.content)), None
            text = f"status {response.status}"
            if response.status not in _AGAIN:
                return text, None
            after = response.headers.get("Retry-After", "")
            return text, float(after) if after.isascii() and after.isdigit() else 0.0
    except Exception as error:  # whatever a library finds wrong with a foreign answer
        return masked(fault_of(error)), None


def _rejected(answer: str) -> str:
    """Why a collector that answered 200 did not accept all points; empty if it did. The answer may be empty, too."""
    try:
        partial = json.loads(answer.strip() or "{}").get("partialSuccess") or {}
        count = int(partial.get("rejectedDataPoints") or 0)
        why = terminal_safe(str(partial.get("errorMessage", ""))[:200], " ")
        return f"{count} points rejected: {why}" if count else ""
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return f"status 200, but not the answer of a collector: {answer[:40]!r}"
