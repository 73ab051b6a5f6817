"""Pairs the answers of several targets to one request, and keeps a sample of the pairs that differ.

Theory of operation. The loop only notes each pair when its first request is sent, and each answer: work between two of
its waits takes three times as long as in a batch. Ten times a second a second thread takes all that, pairs the answers,
compares them by status, digest and headers, and writes pairs that differ to a file, in blocks: compressed one by one
they would take twice as long. Of each route at most `MOST_KEPT` pairs stay: a uniform sample of the pairs that differ
(reservoir sampling; Vitter, Random sampling with a reservoir, 1985): a pair takes a place in the reservoir, and the
last one written to a place counts. So the file grows with the logarithm of the number of pairs.

Memory is bounded: bodies are held until their pair is written, `MOST_HELD` bytes in all; of others only the digest is
known. A pair that never gets its last answer, because a request was dropped, is forgotten after the time-out.
"""

import os
import pickle
import random
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedWriter
from itertools import chain, compress, count, takewhile
from math import inf
from operator import itemgetter
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
from logreplay.replay.senders.digests import Answer, Head, Listener, ReceivedAnswer, Room, pairs_of
from logreplay.replay.senders.several import SeveralSenders

MOST_KEPT: Final = 10_000
"""Pairs of a route that stay in the file."""
MOST_HELD: Final = 128 << 20
"""Bytes of bodies that are held until their pair is written."""
MOST_WAITING: Final = 50_000
"""Pairs, and answers of each target, that wait for the second thread; others are not compared."""
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
_number_of: Final = itemgetter(0)
_compared_of: Final = itemgetter(0, 3, 4, 5)
"""Of an answer, besides its headers."""
_HEADER: Final = struct.Struct("<II")
"""Length of a block, number of its pairs; no pairs: it holds the counts and is the last."""
_PLACE: Final = struct.Struct("<HI")
"""Number of the route of a pair, place in the reservoir; between the header of a block and its content."""
_BLOCK: Final = 128
"""Pairs of a block."""
_BLOCK_BYTES: Final = 1 << 20
"""Bytes of bodies with which a block is written sooner."""


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
_Noted = tuple[int, About, int]
"""Number of a pair, its request, nanoseconds of the clock."""
_Answers = tuple[Answer, ...]
"""The answers of a pair, by the index of the target."""


class PairKeeper:
    """Keeps pairs that differ.

    Attributes:
        together: targets of a pair.
        routes: numbers of the routes.
        noted: pairs that the second thread has not taken: number, request, nanoseconds of the clock when it was sent.
        missed: pairs that were not noted, as too many wait.
        room: for the bodies of their answers.
        listeners: to the answers of each target.
    """

    def __init__(self, keeping: Keeping) -> None:
        self._keeping, self.routes, self.together = keeping, keeping.routes(), keeping.together
        # written by the loop
        self.noted: deque[_Noted] = deque()
        self.missed = 0
        self.room = Room(MOST_HELD)
        self.listeners = [Listener(self.room, MOST_WAITING) for _ in range(self.together)]
        # written by the second thread
        self._pending: dict[int, _Noted] = {}
        self._incomplete: Sequence[dict[int, Answer]] = [{} for _ in self.listeners]
        self._patience = int(2 * keeping.timeout * 1e9) + 10 * _SWEEP_NS
        self._swept = 0
        self._sent = self._timed_out = 0
        self._compared: Counter[int] = Counter()
        self._differing: Counter[int] = Counter()
        self._places: list[bytes] = []
        self._block: list[tuple[int, str, _Answers]] = []
        self._in_block = 0
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
                    sent = self._sent + self.missed
                    sampled = {route: min(number, MOST_KEPT) for route, number in self._differing.items()}
                    counts = (self.routes.names, sent, self._timed_out, self._compared, self._differing, sampled)
                    _append(file, (), pickle.dumps(counts))
        except OSError as error:
            self._failure = self._failure or error
        if self._failure:
            raise unwritable(self._path, self._failure)

    # the second thread

    def _work(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._catch_up()

    def _catch_up(self) -> None:
        """Take what the loop has noted and heard."""
        pending, incomplete = self._pending, self._incomplete
        heard = [self._taken(listener.heard) for listener in self.listeners]
        noted = [self.noted.popleft() for _ in range(len(self.noted))]  # those of the answers among them
        before = len(pending)
        pending.update(zip(map(_number_of, noted), noted, strict=True))
        self._sent += len(pending) - before
        for known, new in zip(incomplete, heard, strict=True):
            known.update(new)
        complete: Iterable[int] = sorted({*chain(*heard)})
        complete = [number for number in complete if number in pending]
        for known in incomplete:
            complete = [number for number in complete if number in known]
        pairs: Iterable[_Answers] = zip(*[map(known.pop, complete) for known in incomplete], strict=True)
        for (_, about, _), answers in zip(map(pending.pop, complete), pairs, strict=True):
            first = answers[0]
            if not first[5] and answers.count(first) == self.together:
                self._compared[about[2]] += 1
                self.room.freed += self.together * len(first[2] or b"")
            else:
                self._compare(about, answers)
        if self._block:
            self._write()
        if noted and noted[-1][2] - self._swept > _SWEEP_NS:
            self._sweep(noted[-1][2])

    def _taken(self, heard: deque[tuple[int, Answer]]) -> dict[int, Answer]:
        """The answers to one target, by the numbers of their pairs."""
        taken = [heard.popleft() for _ in range(len(heard))]
        return {seq // self.together: answer for seq, answer in taken}

    def _sweep(self, now: int) -> None:
        """Forget pairs that never get their last answer, and answers that came after their pair was forgotten."""
        self._swept = now
        pending = self._pending
        for number in [*takewhile(lambda one: now - pending[one][2] >= self._patience, pending)]:
            del pending[number]
        for incomplete in self._incomplete:
            for number in [number for number in incomplete if number not in pending]:
                self.room.freed += len(incomplete.pop(number)[2] or b"")

    def _compare(self, about: About, answers: _Answers) -> None:
        """Count a pair whose answers are not equal in every byte; keep it if they differ."""
        held, failed = 0, ""
        for answer in answers:
            held += len(answer[2] or b"")
            failed = failed or answer[5]
        if not failed or self._comparable({answer[5] for answer in answers}):
            self._compared[about[2]] += 1
            if self._failure is None and self._differ(answers) and self._sample(about, answers):
                self._in_block += held
                if len(self._block) >= _BLOCK or self._in_block >= _BLOCK_BYTES:
                    self._write()
                return
        self.room.freed += held

    def _comparable(self, errors: set[str]) -> bool:
        """Whether there is something to compare where requests failed; counts time-outs."""
        if errors & _INTERRUPTED:
            return False
        if errors & _TIMED_OUT:
            self._timed_out += 1
            return False
        return len(errors) > 1

    def _differ(self, answers: _Answers) -> bool:
        first, *others = answers
        of_first, head = _compared_of(first), first[1]
        for other in others:
            if of_first != _compared_of(other) or (head != other[1] and self._heads_differ(head, other[1])):
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

    def _sample(self, about: About, answers: _Answers) -> bool:
        """Take a pair into the block, if it takes a place in the sample."""
        row, url, route = about
        self._differing[route] += 1
        number = self._differing[route]
        place = number - 1
        if place >= MOST_KEPT:
            place = int(self._random.random() * number)
            if place >= MOST_KEPT:
                return False
        if self._written > MOST_WRITTEN:
            answers = tuple([(*answer[:2], None, *answer[3:]) for answer in answers])
        self._places.append(_PLACE.pack(route, place))
        self._block.append((row, url, answers))
        return True

    def _write(self) -> None:
        """Write the block."""
        data = self._compress(pickle.dumps(self._block))
        try:
            _append(self._file, self._places, data)
        except OSError as error:  # the disk is full: the run goes on, `close` says it
            self._failure = error
        self._written += len(data)
        self.room.freed += self._in_block
        self._in_block = 0
        self._places.clear()
        self._block.clear()


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
        listeners = self._keeper.listeners
        senders = [make(listener=listener, **given) for make, listener in zip(makers, listeners, strict=True)]
        super().__init__(senders, choose)

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        routes = self._keeper.routes.of(frame["url"]).tolist()
        about = zip(frame["row"].to_list(), frame["url"].to_list(), routes, strict=True)
        return [(*sent, one) for sent, one in zip(super().prepare(frame), about, strict=True)]

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._keeper.open()
        await super().open(done, clock, trace)

    def send(self, seq: int, request: Any, start: int, latest: float = inf) -> None:
        send, prepared, about = request
        number = seq // self._together
        if number != self._noted:
            self._noted = number
            if len(self._keeper.noted) < MOST_WAITING:
                self._keeper.noted.append((number, about, start))
            else:
                self._keeper.missed += 1
        send(seq, prepared, start, latest)

    async def close(self) -> None:
        await super().close()
        self._keeper.close()


def _append(file: BufferedWriter | BinaryIO, places: Sequence[bytes], data: bytes) -> None:
    file.write(b"".join((_HEADER.pack(len(data), len(places)), *places, data)))


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
        for places, length in _blocks(file):
            if not places:
                names, sent, timed_out, compared, differing, sampled = pickle.loads(file.read(length))
                routes = {
                    names[at]: RouteCounts(number, differing[at], sampled.get(at, 0)) for at, number in compared.items()
                }
                return PairCounts(routes, timed_out, sent - timed_out - compared.total())
    return PairCounts({}, 0, 0)


def read_pairs(path: Path) -> Iterator[KeptPair]:
    """Yield the pairs of the sample that a keeper wrote, if it ended in order."""
    with path.open("rb") as file:
        names: Sequence[str] = ()
        last: dict[tuple[int, int], int] = {}
        numbers = count()
        for places, length in _blocks(file):
            last.update(zip(places, numbers, strict=False))
            if not places:
                names = pickle.loads(file.read(length))[0]
        numbers = count()
        for places, length in _blocks(file) if names else ():
            kept = [last[place] == number for place, number in zip(places, numbers, strict=False)]
            pairs = pickle.loads(zstd.decompress(file.read(length))) if any(kept) else ()
            for (route, _), (row, url, answers) in compress(zip(places, pairs, strict=False), kept):
                yield KeptPair(row, url, names[route], [ReceivedAnswer(*answer) for answer in answers])


def _blocks(file: BinaryIO) -> Iterator[tuple[list[tuple[int, int]], int]]:
    """Yield routes and places of the pairs of each block, and the length of its content, at which the file stands."""
    at, end = 0, os.fstat(file.fileno()).st_size
    while at + _HEADER.size <= end:
        file.seek(at)
        length, number = _HEADER.unpack(file.read(_HEADER.size))
        at += _HEADER.size + number * _PLACE.size + length
        if at > end:
            return  # its writer was killed
        yield [*_PLACE.iter_unpack(file.read(number * _PLACE.size))], length
