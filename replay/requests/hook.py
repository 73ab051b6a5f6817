"""Hooks: a user's function sees each request before it is sent, and may change it or leave it out."""

import importlib
import re
import sys
import time
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from sys import intern
from typing import Final, TypeVar

import polars as pl
from multidict import CIMultiDict

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.bodies import loaded
from logreplay.replay.requests.header_columns import (
    PAYLOAD,
    PROTOCOL,
    RESERVED,
    SINGLE,
    TOKEN,
    header_column,
    headers,
    is_sent,
)
from logreplay.replay.requests.plan import CHUNK_ROWS, SAFE_METHODS, Chunk, Made, RequestStream, part_of

_ROWS: Final = 64
"""Requests handed to a hook together."""
_FAILURES: Final = 10_000
"""A hook that did nothing but fail for so many requests is not called again."""
_SIGNING: Final = "__logreplay_signing__"
_OF_HOOK: Final = "hook: "
_LEFT_OUT: Final = "hook: left out"
_TARGET: Final = re.compile(r"/[\x21-\x7e]*")


@dataclass(slots=True)
class Planned:
    """A request as a hook sees it. Everything may be changed but its number and row.

    Attributes:
        number: number of the request in the plan, from 0.
        op, url: method, and request target as it will be on the wire.
        headers: by name, whose case does not matter; a name may have several values (``getall``, ``add``). The
            sender's own headers are not among them, and are replaced by these.
        body: None: no body.
        client: as the log has it. With `--by-client` and sessions the request is sent as one of this client.
        row: in the log, from 0; negative for an injected request.
    """

    number: int
    op: str
    url: str
    headers: CIMultiDict[str]
    body: bytes | None
    client: str | None
    row: int


Hook = Callable[[Planned], Planned | None]
"""Returns the request, changed or not; None leaves it out."""

_Marked = TypeVar("_Marked", bound=Hook)


def signing(hook: _Marked) -> _Marked:
    """Mark a hook whose result expires, such as a signature: it is called within the second before a request is due.

    Other hooks are called up to a thousand requests ahead. The schedule is made before a marked hook sees it: a
    request that it leaves out leaves a gap in the schedule.
    """
    setattr(hook, _SIGNING, True)
    return hook


@dataclass(slots=True)
class Hooked(Made):
    """A stream whose requests all pass through a hook.

    Attributes:
        requests: the stream.
        hook: called for each request, ahead of time and in another thread than the loop's; an exception leaves
            that request out, counted by the name of the error. One that is marked as `signing` is not called by
            `frames`, but by the reader of the plan: see `sign`.
        methods: that may be sent, also after the hook.
        calls, spent: number of calls in all plans, and seconds spent in them.
        first_error: in full, of the first call that failed; empty if none did.
    """

    requests: RequestStream
    hook: Hook
    methods: Collection[str] = SAFE_METHODS
    calls: int = 0
    spent: float = 0.0
    first_error: str = ""
    _left_out_before: Counter[str] = field(default_factory=Counter)
    _left_out: Counter[str] = field(default_factory=Counter)
    _kept: int = 0
    _gaps: "array[int]" = field(default_factory=partial(array, "q"))
    _reasons: list[str] = field(default_factory=list)
    _used: int = 0

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        self._left_out_before += Counter(self._reasons[: self._used])
        self._left_out.clear()
        self._kept, self._gaps, self._reasons, self._used = 0, array("q"), [], 0
        if self.signing:
            yield from self.requests.frames(rows, begin)
            return
        refused = 0
        for frame in loaded(self.requests.frames(min(rows, _ROWS), begin)):
            _, seen = self._through_hook(frame)
            refused = 0 if seen.height else refused + frame.height
            failing = not self._kept and _LEFT_OUT not in self._left_out
            if refused >= _FAILURES and (failing or refused > self.requests.usable):
                why = ", ".join(f"{n:,} x {why.removeprefix(_OF_HOOK)}" for why, n in self._left_out.most_common(3))
                every = "each request" if failing else "every request of the log"
                every += f" in its first {refused:,} calls"
                raise LogreplayError(f"the hook leaves out {every}, so no request can be sent: {why}{self._first()}")
            yield seen

    @property
    def signing(self) -> bool:
        return getattr(self.hook, _SIGNING, False)

    @property
    def together(self) -> int:
        return _ROWS

    def sign(self, chunk: Chunk) -> Chunk:
        """Call a hook that is marked as `signing` for each request of a chunk; left-out requests are removed."""
        kept, frame = self._through_hook(chunk.frame)
        return Chunk(frame, chunk.due[kept.to_numpy()])

    def _through_hook(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        """The rows that the hook keeps, and their changes."""
        seen = [self._seen(planned) for planned in _planned(frame, self._kept + len(self._gaps))]
        for planned in seen:
            if planned is None:
                self._gaps.append(self._kept)
            else:
                self._kept += 1
        kept = pl.Series([planned is not None for planned in seen], dtype=pl.Boolean)
        return kept, _with(frame.filter(kept), [planned for planned in seen if planned])

    @property
    def left_out(self) -> Counter[str]:
        return self.requests.left_out + self._left_out_before + self._left_out

    def used(self, sent: int) -> int:
        """Requests of the stream up to the last of the first ``sent`` that the hook kept; it sees others ahead."""
        return sent + bisect_left(self._gaps, sent)

    def forget_ahead(self, sent: int) -> None:
        """Count no request of the plan as left out that would come after the next one to send; argument as of `used`.

        The next plan counts those between the last sent one and the next one itself.
        """
        self._used = bisect_left(self._gaps, sent)
        self._left_out = Counter(self._reasons[: bisect_right(self._gaps, sent)])

    @property
    def cost(self) -> float:
        return self.spent / self.calls if self.calls else 0.0

    def _seen(self, planned: Planned) -> Planned | None:
        began, logged = time.perf_counter_ns(), planned.url
        try:
            result = self.hook(planned)
            fault = "" if result is None else self._fault(result, logged)
        except Exception as error:  # the user's code; it may fail for one request and not for the next
            result, fault = None, f"failed: {type(error).__name__}"
            self.first_error = self.first_error or f"{type(error).__name__}: {error}"
        except BaseException as error:  # sys.exit(), or a panic of a library: it wants to end more than one request
            raise LogreplayError(f"the hook ended with {type(error).__name__}: {error}") from error
        self.calls += 1
        self.spent += (time.perf_counter_ns() - began) / 1e9
        if result is None or fault:
            reason = intern(f"{_OF_HOOK}{fault}") if fault else _LEFT_OUT
            self._reasons.append(reason)
            self._left_out[reason] += 1
            return None
        return result

    def _fault(self, planned: Planned, logged: str) -> str:
        """Why the result of a hook cannot be sent; ``logged`` is the url that it got."""
        if not isinstance(planned, Planned):
            return f"returned {type(planned).__name__}, not the request"
        if planned.op not in self.methods or planned.op == "CONNECT":
            return f"method {planned.op}" if TOKEN.fullmatch(str(planned.op)) else "bad method"
        if not _TARGET.fullmatch(planned.url) and (planned.url, planned.op) != ("*", "OPTIONS"):
            return "url that cannot be sent"
        if "#" in planned.url and "#" not in logged:
            return "url with a fragment (#), which is never sent"
        for name, value in planned.headers.items():
            if name.lower() in SINGLE and len(planned.headers.getall(name)) > 1:
                return f"header {name[:40]!r} that may stand once only"
            if not TOKEN.fullmatch(name) or name.lower() in RESERVED or not isinstance(value, str):
                return f"header {name[:40]!r} that cannot be set"
        if not (planned.client is None or isinstance(planned.client, str)):
            return "client that is not text"
        return "" if planned.body is None or isinstance(planned.body, bytes) else "body that is not bytes"

    def _first(self) -> str:
        return f"; the first: {self.first_error}" if self.first_error else ""


def hooked(stream: RequestStream) -> Hooked | None:
    """The part of a stream that passes requests through a hook; None without one."""
    return part_of(stream, Hooked)


def load(name: str) -> Hook:
    """Import ``module:function``; the module may be in the current folder."""
    module, _, function = name.partition(":")
    if not (module and function):
        raise LogreplayError(f"hook {name!r}: write MODULE:FUNCTION, such as hooks:sign for sign in hooks.py")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, SyntaxError) as error:
        remedy = "write MODULE:FUNCTION of a file here or an installed module"
        raise LogreplayError(f"hook {name!r}: {error}; {remedy}") from None
    except (Exception, SystemExit) as error:
        raise LogreplayError(f"hook {name!r}: importing {module} failed: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise LogreplayError(f"hook {name!r}: {function} is not a function")
    hook: Hook = found
    return hook


def _planned(frame: pl.DataFrame, first: int) -> Iterator[Planned]:
    names, values = headers(frame.columns)
    given = frame.select(values).iter_rows() if names else repeat(())
    for number, (row, own) in enumerate(zip(frame.iter_rows(named=True), given, strict=False), first):
        pairs = CIMultiDict((name.lower(), value) for name, value in zip(names, own, strict=True) if value is not None)
        yield Planned(number, row["op"], row["url"], pairs, row.get(PAYLOAD), row["client"], row["row"])


def _with(frame: pl.DataFrame, planned: list[Planned]) -> pl.DataFrame:
    columns = [
        pl.Series("op", [one.op for one in planned], dtype=pl.String),
        pl.Series("url", [one.url for one in planned], dtype=pl.String),
        pl.Series("client", [one.client for one in planned], dtype=pl.String),
    ]
    taken: dict[str, list[str | None]] = {}
    for row, one in enumerate(planned):
        own: set[str] = set()
        for name, value in one.headers.items():
            column = header_column(name.lower(), own)
            own.add(column)
            taken.setdefault(column, [None] * len(planned))[row] = value
    columns += [pl.Series(column, values, dtype=pl.String) for column, values in sorted(taken.items())]
    if any(one.body is not None for one in planned):
        columns.append(pl.Series(PAYLOAD, [one.body for one in planned], dtype=pl.Binary))
    return frame.drop(name for name in frame.columns if is_sent(name) and name != PROTOCOL).with_columns(columns)
