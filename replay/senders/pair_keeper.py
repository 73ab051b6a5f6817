"""Pairs the answers of several targets to one request, and keeps a sample of the pairs that differ.

Theory of operation. The loop notes each request when it is sent and keeps its answer until the pair has all of them.
Equal answers are freed at once, and only counted. Ten times a second a second thread takes the other pairs, compares
their answers by status, digest and headers, and writes pairs that differ to a file. Of each route at most `MOST_KEPT`
pairs stay: a uniform sample of the pairs that differ (reservoir sampling; Vitter, Random sampling with a reservoir,
1985): a pair takes a place in the reservoir, and the last one written to a place counts. So the file grows with the
logarithm of the number of pairs.

Memory is bounded: bodies are held until their pair is written, `MOST_HELD` bytes in all; of others only the digest is
known. A pair that never gets its last answer, because a request was dropped, is forgotten after the time-out.
"""

import os
import pickle
import random
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedWriter
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.parsers.files import unwritable
from logreplay.parsers.zstd import frame_compressor, zstd
from logreplay.replay.clock import Clock
from logreplay.replay.senders.contract import Done, Trace
from logreplay.replay.senders.digests import LONGEST_KEPT, Head, Listener, ReceivedAnswer, pairs_of
from logreplay.replay.senders.several import SeveralSenders

MOST_KEPT: Final = 10_000
"""Pairs of a route that stay in the file."""
MOST_HELD: Final = 128 << 20
"""Bytes of bodies that are held until their pair is written."""
MOST_WAITING: Final = 50_000
"""Pairs that wait for the second thread; others are not compared."""
MOST_WRITTEN: Final = 1 << 30
"""Bytes of the file; beyond it pairs are written without bodies."""
FILES: Final = ".pairs-*"
"""Names of the files in their folder."""
_EVERY_S: Final = 0.1
_SWEEP_NS: Final = 1_000_000_000
_MOST_NAMES: Final = 10_000
_TIMED_OUT: Final = frozenset({"timeout", "connect_timeout"})
_INTERRUPTED: Final = frozenset({"dropped", "cancelled"})
"""Errors that depend on the load and the moment: pairs with one are not compared."""
_HEADER: Final = struct.Struct("<IHI")
"""Length of a record, number of its route, place in the reservoir."""
_TOTALS: Final = 0xFFFF
"""Stands for the route of the last record, which holds the counts."""


_received: Final = partial(tuple.__new__, ReceivedAnswer)
"""Makes a `ReceivedAnswer` of a tuple, in half the time."""


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


About = tuple[int, str, int]
"""Row, URL and number of the route of a request."""
_Answers = dict[int, ReceivedAnswer]
"""The answers to the requests of a pair, by the index of the target."""


class PairKeeper:
    """Keeps pairs that differ.

    Attributes:
        together: targets of a pair.
        routes: numbers of the routes.
        incomplete: answers of the pairs that have not got all.
        complete: pairs that have got all their answers, and these; None: they are equal in every byte.
        held, freed: bytes of bodies, by the loop and by the second thread.
    """

    def __init__(self, keeping: Keeping) -> None:
        self._keeping, self.routes, self.together = keeping, keeping.routes(), keeping.together
        # written by the loop
        self._noted: deque[tuple[int, About, int]] = deque()
        self._missed = 0
        self.incomplete: dict[int, _Answers] = {}
        self.complete: deque[tuple[int, _Answers | None]] = deque()
        self.held = 0
        # written by the second thread
        self._pending: dict[int, tuple[About, int]] = {}
        self._patience = int(2 * keeping.timeout * 1e9) + 10 * _SWEEP_NS
        self._swept = self.freed = 0
        self._newest = -1
        self._sent = self._timed_out = 0
        self._compared: Counter[int] = Counter()
        self._differing: Counter[int] = Counter()
        self._sampled: dict[int, int] = {}
        self._names: dict[bytes, bool] = {}
        self._last_heads: tuple[Head, Head, bool] = b"", b"", False
        self._random = random.Random(0)
        self._written = 0
        self._compress = frame_compressor(level=-5)
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

    def note(self, pair: int, about: About, now: int) -> None:
        """Note that a request of a pair is sent.

        Args:
            pair: its number. It may be noted again until its last request is sent.
            about: row, url, number of the route.
            now: nanoseconds of the clock.
        """
        if len(self._noted) < MOST_WAITING:
            self._noted.append((pair, about, now))
        else:
            self._missed += 1

    def ended(self, pair: int, answers: _Answers, last: ReceivedAnswer) -> None:
        """Take a pair with all its answers."""
        is_equal = not last.error and [*answers.values()].count(last) == self.together
        has_room = len(self.complete) < MOST_WAITING
        if has_room:
            self.complete.append((pair, None if is_equal else answers))
        if is_equal:
            self.held -= self.together * len(last.body or b"")
        elif not has_room:
            self.held -= _size(answers)

    def hold(self, size: int) -> bool:
        """Reserve room for bytes of a body, in the loop; False: there is none."""
        if self.held - self.freed + size > MOST_HELD:
            return False
        self.held += size
        return True

    def free(self, size: int) -> None:
        """Give up room, in the loop."""
        self.held -= size

    def close(self) -> None:
        """Write the rest.

        Raises:
            LogreplayError: the file cannot be written.
        """
        self._stop.set()
        self._thread.join()
        self._catch_up()
        try:
            with self._file as file:
                if self._failure is None:
                    sent, compared = self._sent + self._missed, self._compared
                    counts = (self.routes.names, sent, self._timed_out, compared, self._differing, self._sampled)
                    _append(file, _TOTALS, 0, pickle.dumps(counts))
        except OSError as error:
            self._failure = self._failure or error
        if self._failure:
            raise unwritable(self._path, self._failure)

    # the second thread

    def _work(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._catch_up()

    def _catch_up(self) -> None:
        """Take what the loop has noted."""
        complete, pending = self.complete, self._pending
        number = len(complete)  # these pairs were noted before
        now = 0
        while self._noted:
            pair, about, now = self._noted.popleft()
            self._newest = pair
            if pair not in pending:
                pending[pair] = about, now
                self._sent += 1
        for _ in range(number):
            pair, answers = complete.popleft()
            noted = pending.pop(pair, None)
            if noted and answers is None:
                self._compared[noted[0][2]] += 1
            elif noted and answers:
                self._compare(noted[0], [answers[at] for at in range(self.together)])
            if answers:
                self.freed += _size(answers)
        if now - self._swept > _SWEEP_NS:
            self._sweep(now)

    def _sweep(self, now: int) -> None:
        """Forget pairs that never get their last answer, and answers that came after their pair was forgotten."""
        self._swept = now
        for pair, (_, since) in [*self._pending.items()]:
            if now - since < self._patience:
                break
            del self._pending[pair]
        for pair in [*self.incomplete]:
            if pair <= self._newest and pair not in self._pending:
                self.freed += _size(self.incomplete.pop(pair, {}))

    def _compare(self, about: About, answers: Sequence[ReceivedAnswer]) -> None:
        """Count a pair whose answers are not equal in every byte; keep it if they differ."""
        errors = [answer.error for answer in answers]
        if any(errors) and not self._comparable({*errors}):
            return
        self._compared[about[2]] += 1
        if self._failure is None and self._differ(*answers):
            try:
                self._sample(about, answers)
            except OSError as error:  # the disk is full: the run goes on, `close` says it
                self._failure = error

    def _comparable(self, errors: set[str]) -> bool:
        """Whether there is something to compare where requests failed; counts time-outs."""
        if errors & _INTERRUPTED:
            return False
        if errors & _TIMED_OUT:
            self._timed_out += 1
            return False
        return len(errors) > 1

    def _differ(self, first: ReceivedAnswer, *others: ReceivedAnswer) -> bool:
        of_first = first.status, first.size, first.digest, first.error
        for other in others:
            if of_first != (other.status, other.size, other.digest, other.error):
                return True
            if first.head != other.head and self._heads_differ(first.head, other.head):
                return True
        return False

    def _heads_differ(self, first: Head, other: Head) -> bool:
        """Whether headers differ that are not ignored. Often they are as those of the pair before."""
        last, last_other, result = self._last_heads
        if first == last and other == last_other:
            return result
        result = self._some_header_differs(first, other)
        self._last_heads = first, other, result
        return result

    def _some_header_differs(self, first: Head, other: Head) -> bool:
        if isinstance(first, bytes) and isinstance(other, bytes):
            lines, others = first.split(b"\r\n")[1:], other.split(b"\r\n")[1:]
            if len(lines) == len(others):
                changed = [line for both in zip(lines, others, strict=True) if both[0] != both[1] for line in both]
                if all(self._is_ignored(line.partition(b":")[0]) for line in changed):
                    return False
        return self._compared_headers(first) != self._compared_headers(other)

    def _compared_headers(self, head: Head) -> list[tuple[bytes, bytes]]:
        return sorted((name.lower(), value) for name, value in pairs_of(head) if not self._is_ignored(name))

    def _is_ignored(self, name: bytes) -> bool:
        if (known := self._names.get(name)) is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            known = self._names[name] = self._keeping.is_ignored(name.decode("latin-1").lower())
        return known

    def _sample(self, about: About, answers: Sequence[ReceivedAnswer]) -> None:
        """Write a pair, if it takes a place in the sample."""
        row, url, route = about
        self._differing[route] += 1
        number = self._differing[route]
        place = number - 1
        if place >= MOST_KEPT:
            place = int(self._random.random() * number)
            if place >= MOST_KEPT:
                return
        self._sampled[route] = min(number, MOST_KEPT)
        bare = self._written > MOST_WRITTEN
        kept = [tuple(answer._replace(body=None) if bare else answer) for answer in answers]
        data = self._compress(pickle.dumps((row, url, kept)))
        _append(self._file, route, place, data)
        self._written += len(data)


def _size(answers: _Answers) -> int:
    """Bytes of the bodies that are held."""
    return sum([len(answer.body) for answer in answers.values() if answer.body])


class Side:
    """Listens to the answers of one target."""

    def __init__(self, keeper: PairKeeper, index: int) -> None:
        self._keeper, self._index = keeper, index
        self._incomplete, self._together = keeper.incomplete, keeper.together
        self.hold, self.free = keeper.hold, keeper.free

    def answered_whole(self, seq: int, status: int, head: Head, body: bytes, digest: int, /) -> None:
        keeper, size = self._keeper, len(body)
        if has_room := size <= LONGEST_KEPT and keeper.held - keeper.freed + size <= MOST_HELD:
            keeper.held += size
        answer = _received((status, head, body if has_room else None, size, digest, ""))
        pair = seq // self._together
        if (answers := self._incomplete.get(pair)) is None:
            self._incomplete[pair] = {self._index: answer}
        else:
            self._add(pair, answers, answer)

    def answered(self, seq: int, answer: ReceivedAnswer, /) -> None:
        pair = seq // self._together
        self._add(pair, self._incomplete.setdefault(pair, {}), answer)

    def _add(self, pair: int, answers: _Answers, answer: ReceivedAnswer) -> None:
        answers[self._index] = answer
        if len(answers) == self._together and self._incomplete.pop(pair, None) is not None:
            self._keeper.ended(pair, answers, answer)


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
        self._keeper = PairKeeper(keeping)
        self._together, self._noted = keeping.together, -1
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
        (send, prepared), about = request
        pair = seq // self._together
        if pair != self._noted:
            self._noted = pair
            self._keeper.note(pair, about, start)
        send(seq, prepared, start, latest)

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


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The counts of a keeper.

    Attributes:
        routes: of each route.
        timed_out: pairs that were not compared: a request timed out.
        uncompared: other pairs that were sent and not compared: both requests failed alike, an answer is missing or was
            interrupted, or answers came too fast.
    """

    routes: Mapping[str, RouteCounts]
    timed_out: int
    uncompared: int


def read_counts(path: Path) -> PairCounts:
    """The counts of a keeper; nothing where it did not end in order."""
    with path.open("rb") as file:
        for route, _, length in _records(file):
            if route == _TOTALS:
                names, sent, timed_out, compared, differing, sampled = pickle.loads(file.read(length))
                routes = {
                    names[at]: RouteCounts(number, differing[at], sampled.get(at, 0)) for at, number in compared.items()
                }
                return PairCounts(routes, timed_out, sent - timed_out - compared.total())
    return PairCounts({}, 0, 0)


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
        for (route, _), (at, length) in sorted(places.items(), key=lambda each: each[1]) if names else ():
            file.seek(at)
            row, url, answers = pickle.loads(zstd.decompress(file.read(length)))
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
