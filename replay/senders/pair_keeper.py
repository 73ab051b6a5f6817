"""Pairs the answers of several targets to one request, and keeps a sample of the pairs that differ.

Theory of operation. The loop notes the answers, pairs them in batches, and compares them by status, digest and headers.
Alone, between two of the loop's waits, each would take three to five times as long; a second thread would have to fetch
their memory from the loop's processor, and wait for the interpreter. Pairs that differ are packed into blocks, which a
second thread compresses and writes to a file: one by one they would take twice as long. Of each route at most
`MOST_KEPT` pairs stay: a uniform sample of the pairs that differ (reservoir sampling; Vitter, Random sampling with a
reservoir, 1985): a pair takes a place in the reservoir, and the last one written to a place counts. So the file grows
with the logarithm of the number of pairs.

Memory is bounded: bodies are held until their pair is written, `MOST_HELD` bytes in all; of others only the digest is
known. A pair that never gets its last answer, because a request was dropped, is forgotten after the time-out.
"""

import marshal
import os
import random
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedWriter
from itertools import compress, count, cycle, takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Final, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.files import unwritable, writing
from logreplay.core.zstd import frame_compressor, zstd
from logreplay.replay.clock import Clock, monotonic
from logreplay.replay.senders.contract import WORDS, Done, Trace
from logreplay.replay.senders.digests import ByteBudget, Head, HeardResponse, ReceivedAnswer, ResponseObserver, pairs_of
from logreplay.replay.senders.multi_target import SeveralSenders

MOST_KEPT: Final = 10_000
"""Pairs of a route that stay in the file."""
MOST_HELD: Final = 128 << 20
"""Bytes of bodies that are held until their pair is written."""
MOST_WRITTEN: Final = 1 << 30
"""Bytes of the file; beyond it pairs are written without bodies."""
FILES: Final = ".pairs-*"
"""Names of the files in their folder."""
_GRACE_NS: Final = 10_000_000_000
_MOST_NAMES: Final = 10_000
_TIMED_OUT: Final = frozenset({"timeout", "connect_timeout"})
_INTERRUPTED: Final = frozenset({"dropped", "cancelled"})
"""Errors that depend on the load and the moment: pairs with one are not compared."""
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
        row: number of the log's row.
        url: request target.
        route: route of the url.
        answers: status, headers, body, size, digest and error of each target's answer.
    """

    row: int
    url: str
    route: str
    answers: Sequence[ReceivedAnswer]


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """How pairs are kept; makes a keeper in each process that sends.

    Attributes:
        folder: folder of the files.
        together: targets of a pair.
        timeout: seconds after which a request has ended.
        routes: makes the numbers of routes.
        is_ignored: True if a header, by its name in lower case, makes no difference.
    """

    folder: Path
    together: int
    timeout: float
    routes: Callable[[], RouteNumbers]
    is_ignored: Callable[[str], bool]


About = tuple[int, str, int]
"""Row, URL and number of the route of a request."""


class PairKeeper:
    """Keeps pairs that differ.

    Attributes:
        room: for the bodies of answers.
        listeners: to the answers of each target.
    """

    def __init__(self, keeping: SamplingConfig) -> None:
        self._keeping, self._routes, self._together = keeping, keeping.routes(), keeping.together
        # written by the thread that prepares requests
        self._planned = 0
        self._about: dict[int, About] = {}
        # written by the loop
        self.room = ByteBudget(MOST_HELD)
        self.listeners = [ResponseObserver(self.room, partial(self._pair, target)) for target in range(self._together)]
        self._incomplete: dict[int, list[Any]] = {}
        self._patience = int(2 * keeping.timeout * 1e9) + _GRACE_NS
        self._sweep_at = monotonic() + self._patience
        self._newest = self._passed = -1
        self._timed_out = 0
        self._compared: defaultdict[int, int] = defaultdict(int)
        self._differing: defaultdict[int, int] = defaultdict(int)
        self._places: list[bytes] = []
        self._block: list[tuple[int, str, Sequence[HeardResponse]]] = []
        self._in_block = 0
        self._names: dict[bytes, bool] = {}
        self._last_heads: tuple[Head, Head, bool] = b"", b"", False
        self._random = random.Random(0)
        self._blocks: SimpleQueue[tuple[list[bytes], bytes] | None] = SimpleQueue()
        # written by the second thread
        self._written = 0
        self._compress = frame_compressor(level=-5)
        self._failure: OSError | None = None

    def plan(self, frame: pl.DataFrame) -> None:
        """Take the next rows of the plan, which are sent in this order. Large bodies may cut a pair in two."""
        before = -self._planned % self._together
        pairs = frame.select("row", "url")[before :: self._together]
        routes = self._routes.of(pairs["url"]).tolist()
        about = zip(pairs["row"].to_list(), pairs["url"].to_list(), routes, strict=True)
        self._about.update(enumerate(about, (self._planned + before) // self._together))
        self._planned += frame.height

    def open(self) -> None:
        """Begin to write; LogreplayError if the file cannot be made."""
        self._path = self._keeping.folder / FILES.replace("*", uuid4().hex)
        with writing(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._thread = threading.Thread(target=self._work, name="pairs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the rest; LogreplayError if the file cannot be written."""
        for target in range(self._together):
            self._pair(target)
        self._forget([*self._incomplete])
        self._write()
        self._blocks.put(None)
        self._thread.join()
        try:
            with self._file as file:
                if self._failure is None:
                    sampled = {route: min(number, MOST_KEPT) for route, number in self._differing.items()}
                    counts = ({**self._compared}, {**self._differing}, sampled)
                    _append(file, (), marshal.dumps(([*self._routes.names], self._timed_out, *counts)))
        except OSError as error:
            self._failure = self._failure or error
        if self._failure:
            raise unwritable(self._path, self._failure)

    # the second thread

    def _work(self) -> None:
        while block := self._blocks.get():
            places, packed = block
            if self._failure is None:
                data = self._compress(packed)
                try:
                    _append(self._file, places, data)
                except OSError as error:  # the disk is full: the run goes on, `close` says it
                    self._failure = error
                self._written += len(data)
            self.room.freed += len(packed)

    # the loop

    def _pair(self, target: int) -> None:
        """Pair the answers of one target with those of the others, and compare pairs that are whole."""
        listener = self.listeners[target]
        taken, listener.heard = listener.heard, []
        together, about, incomplete = self._together, self._about, self._incomplete
        freed = 0
        for answer in taken:
            number = answer[0] // together
            answers = incomplete.get(number)
            if answers is None:
                answers = incomplete[number] = [None] * together
            answers[target] = answer
            if None in answers:
                continue
            del incomplete[number]
            held, equal, compared = 0, not answer[2][3], answer[2]
            for _, body, other in answers:
                held += 0 if body is None else other[1]
                equal = equal and other == compared
            known = about.pop(number, None)
            if known and not equal:
                self._compare(known, answers, held)
                continue
            freed += held
            if known:  # else it was forgotten
                self._compared[known[2]] += 1
        self.room.free(freed)
        if taken:
            self._newest = max(self._newest, taken[-1][0] // together)
        if (now := monotonic()) > self._sweep_at:
            self._sweep_at = now + self._patience
            self._sweep()

    def _sweep(self) -> None:
        """Forget pairs that no longer can get their last answer: later ones were sent before the last sweep."""
        passed, self._passed = self._passed, self._newest
        for number in [*takewhile(lambda number: number <= passed, [*self._about])]:
            del self._about[number]
        self._forget([number for number in self._incomplete if number <= passed])

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.room.free(sum([len(answer[1] or b"") for answer in self._incomplete.pop(number) if answer]))

    def _compare(self, about: About, answers: Sequence[HeardResponse], held: int) -> None:
        """Compare the answers of a pair; keep it if they differ. Their bodies have ``held`` bytes."""
        first = answers[0][2]
        failed = differ = False
        for _, _, other in answers:
            failed = failed or other[3] != 0
            differ = differ or other[:4] != first[:4]
        if not failed or self._comparable({WORDS[answer[2][3]] for answer in answers}):
            self._compared[about[2]] += 1
            differ = differ or any(self._heads_differ(first[4], other[2][4]) for other in answers)
            if differ and self._sample(about, answers, held):
                return
        self.room.free(held)

    def _comparable(self, errors: set[str]) -> bool:
        """Whether a pair with a failed request can be compared; counts pairs that timed out."""
        if errors & _INTERRUPTED:
            return False
        if errors & _TIMED_OUT:
            self._timed_out += 1
            return False
        return len(errors) > 1

    def _heads_differ(self, first: Head, other: Head) -> bool:
        """Whether headers that are not ignored differ. Often they equal those of the pair before."""
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

    def _sample(self, about: About, answers: Sequence[HeardResponse], held: int) -> bool:
        """Take a pair into the block, if it takes a place in the sample."""
        row, url, route = about
        number = self._differing[route] = self._differing[route] + 1
        place = number - 1
        if place >= MOST_KEPT:
            place = int(self._random.random() * number)
            if place >= MOST_KEPT:
                return False
        self._in_block += held
        if self._written > MOST_WRITTEN:
            answers = [(seq, None, compared) for seq, _, compared in answers]
        self._places.append(_PLACE.pack(route, place))
        self._block.append((row, url, answers))
        if len(self._block) >= _BLOCK or self._in_block >= _BLOCK_BYTES:
            self._write()
        return True

    def _write(self) -> None:
        """Hand the block over to the second thread."""
        if not self._block:
            return
        packed = marshal.dumps(self._block)
        self.room.held += len(packed) - self._in_block
        self._blocks.put((self._places, packed))
        self._in_block, self._places, self._block = 0, [], []


class PairSender(SeveralSenders):
    """Sends the requests of each pair, and keeps the pairs whose answers differ.

    ``makers`` make the senders, in the order of the targets' numbers, from a listener and the options ``given``.
    """

    def __init__(
        self,
        makers: Sequence[Callable[..., Any]],
        choose: Callable[[pl.DataFrame], NDArray[np.integer[Any]]],
        keeping: SamplingConfig,
        **given: Any,
    ) -> None:
        self._keeper = PairKeeper(keeping)
        listeners = cycle(self._keeper.listeners)  # targets that take turns come after as many others
        senders = [make(listener=listener, **given) for make, listener in zip(makers, listeners, strict=False)]
        super().__init__(senders, choose)

    def prepare(self, frame: pl.DataFrame) -> Sequence[Any]:
        self._keeper.plan(frame)
        return super().prepare(frame)

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._keeper.open()
        self._opened.callback(self._keeper.close)  # after the senders
        await super().open(done, clock, trace)


def _append(file: BufferedWriter | BinaryIO, places: Sequence[bytes], data: bytes) -> None:
    file.write(b"".join((_HEADER.pack(len(data), len(places)), *places, data)))


@dataclass(frozen=True, slots=True)
class RouteCounts:
    """Numbers of pairs of a route that were compared, that differ, and that are in the sample."""

    pairs: int
    differing: int
    sampled: int


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The counts of a keeper.

    Attributes:
        routes: counts of each route.
        timed_out: pairs that were not compared: a request timed out.
    """

    routes: Mapping[str, RouteCounts]
    timed_out: int


def read_counts(path: Path) -> PairCounts:
    """The counts of a keeper; nothing where it did not end in order."""
    with path.open("rb") as file:
        for places, length in _blocks(file):
            if not places:
                names, timed_out, compared, differing, sampled = marshal.loads(file.read(length))
                routes = {
                    names[at]: RouteCounts(number, differing.get(at, 0), sampled.get(at, 0))
                    for at, number in compared.items()
                }
                return PairCounts(routes, timed_out)
    return PairCounts({}, 0)


def read_pairs(path: Path) -> Iterator[KeptPair]:
    """Yield the pairs of the sample that a keeper wrote, if it ended in order."""
    with path.open("rb") as file:
        names: Sequence[str] = ()
        last: dict[tuple[int, int], int] = {}
        numbers = count()
        for places, length in _blocks(file):
            last.update(zip(places, numbers, strict=False))
            if not places:
                names = marshal.loads(file.read(length))[0]
        numbers = count()
        for places, length in _blocks(file) if names else ():
            kept = [last[place] == number for place, number in zip(places, numbers, strict=False)]
            pairs = marshal.loads(zstd.decompress(file.read(length))) if any(kept) else ()
            for (route, _), (row, url, answers) in compress(zip(places, pairs, strict=False), kept):
                received = [
                    ReceivedAnswer(status, head, body, size, digest, WORDS[error])
                    for _, body, (status, size, digest, error, head) in answers
                ]
                yield KeptPair(row, url, names[route], received)


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
