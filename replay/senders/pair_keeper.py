"""Pairs the answers of several targets to one request, and keeps a sample of the pairs that differ.

Theory of operation. The loop notes each request when it is sent and each answer when it is whole; a pair whose answers
are all in is put on a list. A second thread takes the list ten times a second, compares the answers by status, digest
and headers, and writes pairs that differ to a file. Of each route at most `MOST_KEPT` pairs stay: a uniform sample of
the pairs that differ (reservoir sampling; Vitter, Random sampling with a reservoir, 1985): a pair takes a place in the
reservoir, and the last one written to a place counts. So the file grows with the logarithm of the number of pairs.

Memory is bounded: bodies are held until their pair is written, `MOST_HELD` bytes in all; of others only the digest is
known. A pair that never gets its last answer, because a request was dropped, is forgotten after the time-out.
"""

import os
import pickle
import random
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedWriter
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
import polars as pl
import zstandard
from numpy.typing import NDArray

from logreplay.parsers.files import unwritable
from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import Done, Trace
from logreplay.replay.senders.digests import Listener, ReceivedAnswer, pairs_of
from logreplay.replay.senders.several import SeveralSenders

MOST_KEPT: Final = 10_000
"""Pairs of a route that stay in the file."""
MOST_HELD: Final = 128 << 20
"""Bytes of bodies that are held until their pair is written."""
MOST_WAITING: Final = 50_000
"""Pairs that wait for the second thread; more are not compared."""
MOST_WRITTEN: Final = 1 << 30
"""Bytes of the file; beyond it pairs are written without bodies."""
FILES: Final = ".pairs-*"
"""Names of the files in their folder."""
_EVERY_S: Final = 0.1
_SWEEP_NS: Final = 1_000_000_000
_HEADER: Final = struct.Struct("<IHI")
"""Length of a record, number of its route, place in the reservoir."""
_TOTALS: Final = 0xFFFF
"""Stands for the route of the last record, which holds the counts."""


class RouteNumbers(Protocol):
    """Numbers the routes of URLs."""

    @property
    def names(self) -> Sequence[str]:
        """The route of each number."""

    def of(self, urls: pl.Series) -> NDArray[np.uint16]:
        """The number of the route of each URL, ``(n,)``."""


class KeptPair(NamedTuple):
    """A pair that differs.

    Attributes:
        row: of the log.
        url: request target.
        route: of the url.
        answers: status, headers, body, size, digest and error of each target's answer.
    """

    row: int
    url: str
    route: str
    answers: Sequence[ReceivedAnswer]


@dataclass(frozen=True, slots=True)
class Keeping:
    """How pairs are kept; makes a keeper in each process that sends.

    Attributes:
        folder: of the files.
        together: targets of a pair.
        timeout: seconds after which a request has ended.
        routes: makes the numbers of routes.
        is_ignored: whether a header, by its name in lower case, makes no difference.
    """

    folder: Path
    together: int
    timeout: float
    routes: Callable[[], RouteNumbers]
    is_ignored: Callable[[str], bool]


@dataclass(slots=True)
class _Pending:
    """A pair whose answers are not all in."""

    about: tuple[int, str, int]
    since: int
    answers: list[ReceivedAnswer | None]
    missing: int

    @property
    def size(self) -> int:
        """Bytes of the bodies that are held."""
        return sum(len(answer.body) for answer in self.answers if answer and answer.body)


class PairKeeper:
    """Keeps pairs that differ."""

    def __init__(self, keeping: Keeping) -> None:
        self._held = self._freed = 0
        self._keeping, self.routes, self.together = keeping, keeping.routes(), keeping.together
        self._pending: dict[int, _Pending] = {}
        self._complete: deque[_Pending] = deque()
        self._patience = int(2 * keeping.timeout * 1e9) + 10 * _SWEEP_NS
        self._swept = 0
        self._sent = 0
        self._compared: dict[int, int] = {}
        self._differing: dict[int, int] = {}
        self._sampled: dict[int, int] = {}
        self._random = random.Random(0)
        self._written = 0
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._stop = threading.Event()
        self._failure: OSError | None = None

    def open(self) -> None:
        """Begin to write.

        Raises:
            LogreplayError: the file cannot be made.
        """
        self._path = self._keeping.folder / FILES.replace("*", uuid4().hex)
        try:
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except OSError as error:
            raise unwritable(self._path, error) from None
        self._thread = threading.Thread(target=self._work, name="pairs", daemon=True)
        self._thread.start()

    def side(self, index: int) -> "Side":
        """What listens to the answers of one target."""
        return Side(self, index)

    def sent(self, pair: int, about: tuple[int, str, int], now: int) -> None:
        """Note that a request of a pair is sent.

        Args:
            pair: its number.
            about: row, url, number of the route.
            now: nanoseconds of the clock.
        """
        if pair in self._pending:
            return
        if now - self._swept > _SWEEP_NS:
            self._sweep(now)
        self._sent += 1
        self._pending[pair] = _Pending(about, now, [None] * self.together, self.together)

    def answered(self, index: int, pair: int, answer: ReceivedAnswer) -> None:
        """Note the answer of a target."""
        pending = self._pending.get(pair)
        if pending is None:
            self.free(len(answer.body or b""))
            return
        pending.answers[index] = answer
        pending.missing -= 1
        if not pending.missing:
            del self._pending[pair]
            if len(self._complete) < MOST_WAITING:
                self._complete.append(pending)
            else:
                self.free(pending.size)

    def _sweep(self, now: int) -> None:
        """Forget pairs that never get their last answer."""
        self._swept = now
        for number, pending in [*self._pending.items()]:
            if now - pending.since < self._patience:
                break
            del self._pending[number]
            self.free(pending.size)

    def hold(self, size: int) -> bool:
        """Reserve room for bytes of a body, in the loop; False: there is none."""
        if self._held - self._freed + size > MOST_HELD:
            return False
        self._held += size
        return True

    def free(self, size: int) -> None:
        """Give up room, in the loop."""
        self._held -= size

    def close(self) -> None:
        """Write the rest.

        Raises:
            LogreplayError: the file cannot be written.
        """
        self._stop.set()
        self._thread.join()
        self._write_complete()
        try:
            with self._file as file:
                if self._failure is None:
                    counts = (self.routes.names, self._sent, self._compared, self._differing, self._sampled)
                    _append(file, _TOTALS, 0, pickle.dumps(counts))
        except OSError as error:
            self._failure = self._failure or error
        if self._failure:
            raise unwritable(self._path, self._failure)

    # the second thread

    def _work(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._write_complete()

    def _write_complete(self) -> None:
        while self._complete:
            pending = self._complete.popleft()
            route = pending.about[2]
            self._compared[route] = self._compared.get(route, 0) + 1
            if self._failure is None and self._differs(pending.answers):
                try:
                    self._sample(pending)
                except OSError as error:  # the disk is full: the run goes on, `close` says it
                    self._failure = error
            self._freed += pending.size

    def _differs(self, answers: Sequence[ReceivedAnswer | None]) -> bool:
        first, *others = answers
        assert first
        return any(other is None or self._differ(first, other) for other in others)

    def _differ(self, first: ReceivedAnswer, other: ReceivedAnswer) -> bool:
        if (first.status, *first[3:]) != (other.status, *other[3:]):
            return True
        return first.head != other.head and self._headers(first) != self._headers(other)

    def _headers(self, answer: ReceivedAnswer) -> list[tuple[str, bytes]]:
        named = ((name.decode("latin-1").lower(), value) for name, value in pairs_of(answer.head))
        return sorted(pair for pair in named if not self._keeping.is_ignored(pair[0]))

    def _sample(self, pending: _Pending) -> None:
        """Write a pair, if it takes a place in the sample."""
        row, url, route = pending.about
        number = self._differing[route] = self._differing.get(route, 0) + 1
        place = number - 1
        if place >= MOST_KEPT:
            place = self._random.randrange(number)
            if place >= MOST_KEPT:
                return
        self._sampled[route] = min(number, MOST_KEPT)
        bare = self._written > MOST_WRITTEN
        answers = [
            (answer.status, [*pairs_of(answer.head)], None if bare else answer.body, *answer[3:])
            for answer in pending.answers
            if answer
        ]
        data = self._compress(pickle.dumps((row, url, answers)))
        _append(self._file, route, place, data)
        self._written += len(data)


class Side:
    """Listens to the answers of one target."""

    def __init__(self, keeper: PairKeeper, index: int) -> None:
        self._keeper, self._index = keeper, index
        self._together = keeper.together
        self.hold, self.free = keeper.hold, keeper.free

    def answered(self, seq: int, answer: ReceivedAnswer, /) -> None:
        self._keeper.answered(self._index, seq // self._together, answer)


class PairSender(SeveralSenders):
    """Sends the requests of each pair, and keeps the pairs whose answers differ.

    Args:
        makers: of the sender to each target; take a listener.
        choose: as for `SeveralSenders`.
        keeping: how pairs are kept.
        given: passed on to the makers.
    """

    def __init__(
        self,
        makers: Sequence[Callable[..., Any]],
        choose: Callable[[pl.DataFrame], NDArray[np.integer[Any]]],
        keeping: Keeping,
        **given: Any,
    ) -> None:
        self._keeper, self._together = PairKeeper(keeping), keeping.together
        listeners: list[Listener] = [self._keeper.side(index) for index in range(len(makers))]
        senders = [make(listener=listener, **given) for make, listener in zip(makers, listeners, strict=True)]
        super().__init__(senders, choose)

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        routes = self._keeper.routes.of(frame["url"]).tolist()
        about = zip(frame["row"].to_list(), frame["url"].to_list(), routes, strict=True)
        return list(zip(super().prepare(frame), about, strict=True))

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._keeper.open()
        await super().open(done, clock, trace)

    def send(self, seq: int, request: Any, start: int, latest: float = inf) -> None:
        prepared, about = request
        self._keeper.sent(seq // self._together, about, start)
        super().send(seq, prepared, start, latest)

    async def close(self) -> None:
        await super().close()
        self._keeper.close()


def _append(file: BufferedWriter | BinaryIO, route: int, place: int, data: bytes) -> None:
    file.write(_HEADER.pack(len(data), route, place) + data)


@dataclass(frozen=True, slots=True)
class RouteCounts:
    """How many pairs of a route were compared, differ, and are in the sample."""

    pairs: int
    differing: int
    sampled: int


def read_counts(path: Path) -> tuple[dict[str, RouteCounts], int]:
    """The counts of each route, and how many pairs were sent and not compared: answers were missing, or came too fast.

    Nothing where a keeper did not end in order.
    """
    with path.open("rb") as file:
        for route, _, length in _records(file):
            if route == _TOTALS:
                names, sent, compared, differing, sampled = pickle.loads(file.read(length))
                counts = {
                    names[at]: RouteCounts(number, differing.get(at, 0), sampled.get(at, 0))
                    for at, number in compared.items()
                }
                return counts, sent - sum(compared.values())
    return {}, 0


def read_pairs(path: Path) -> Iterator[KeptPair]:
    """Yield the pairs of the sample that a keeper wrote, if it ended in order."""
    with path.open("rb") as file:
        places: dict[tuple[int, int], tuple[int, int]] = {}
        names: Sequence[str] = ()
        for route, place, length in _records(file):
            if route == _TOTALS:
                names = pickle.loads(file.read(length))[0]
            else:
                places[route, place] = file.tell(), length
        decompress = zstandard.ZstdDecompressor().decompress
        for (route, _), (at, length) in sorted(places.items(), key=lambda each: each[1]) if names else ():
            file.seek(at)
            row, url, answers = pickle.loads(decompress(file.read(length)))
            yield KeptPair(row, url, names[route], [ReceivedAnswer(*answer) for answer in answers])


def _records(file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    """Yield route, place and length of each record; the file stands at its content."""
    at, end = 0, os.fstat(file.fileno()).st_size
    while at + _HEADER.size <= end:
        length, route, place = _HEADER.unpack(file.read(_HEADER.size))
        if at + _HEADER.size + length > end:
            return  # its writer was killed
        yield route, place, length
        at += _HEADER.size + length
        file.seek(at)
