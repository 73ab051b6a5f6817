"""Reads logs into rows with start times, in about the order of time, and accounts for every line.

Files that overlap in time are read side by side: the next block comes from the file that is furthest behind. A file is
opened when its time is reached, so any number of rotated files needs the memory of a few.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from logreplay.parsers.conversion.detect import Detection
from logreplay.parsers.conversion.parse import ROW_SCHEMA, ParsedBlock, SkippedLine
from logreplay.parsers.conversion.report import Account
from logreplay.parsers.conversion.source import BLOCK, LONGEST, Block, BlockSource, split_lines
from logreplay.parsers.conversion.subsecond import RepeatedHour, Spreader, begins_in_second_pass
from logreplay.parsers.fields.timestamps import SECOND, Times, plain_offset
from logreplay.parsers.formats.format import Format
from logreplay.parsers.lines import clean_lines
from logreplay.parsers.lines.csv_lines import CHUNK, Lines, rendered
from logreplay.parsers.lines.repeated_lines import RepeatedLines

_DAMAGED: Final = "if its lines are damaged, leave out the file"
OTHER_FORMAT: Final = f"leave out --format to detect the format, or give another; {_DAMAGED}"
GIVE_FORMAT: Final = f"give its format with --format; {_DAMAGED}"
"""Remedies for a file that does not fit the user's format, or the detected one."""


@dataclass(slots=True)
class LogReader:
    """Reads logs.

    Attributes:
        sources: the logs.
        readings: formats and units of each log.
        zone: time zone of stamps without one.
        account: account of the lines.
        executor: parses the blocks; None: threads of this process.
        format_given: the user named the format.
        fine: finest resolution of the stamps seen, seconds.
        spread: some stamps have no fraction, and are spread within their second.
        naive: stamps that carried no zone.
        http3: requests by HTTP/3.
        untimed: requests without a response time.
        hashed: rows whose line begins with ``#``.
        offsets: different offsets of the stamps from UTC: ``+0530``.
        backwards: rows that start before an earlier one of their file by more than the longest duration.
        forwards: rows that start after an earlier one by more than that: few, where the newest line is the first.
        fields: raw fields of the layouts of the lines read so far.
        columns: columns of the CSV after date and time; empty: `rows` are wanted, not `lines`.
        unsure: logs whose first stamp is in an hour that the clock ran through twice, and may be of either pass.
        repeated: finds logs that hold the same lines.
        whole_until: by name of a log, the time before which no unread request starts, if the log is in order.
    """

    sources: Sequence[BlockSource]
    readings: Sequence[Detection]
    zone: str
    account: Account
    executor: Executor | None = None
    format_given: bool = False
    fine: float = 1.0
    spread: bool = False
    naive: int = 0
    http3: int = 0
    untimed: int = 0
    hashed: int = 0
    offsets: dict[str, None] = field(default_factory=dict)
    backwards: int = 0
    forwards: int = 0
    fields: set[str] = field(default_factory=set)
    columns: Sequence[str] = ()
    unsure: list[str] = field(default_factory=list)
    repeated: RepeatedLines = field(init=False)
    whole_until: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.repeated = RepeatedLines(len(self.sources))

    @property
    def server(self) -> str:
        """The server that wrote the logs; ``unknown`` if several did."""
        servers = {reading.server for reading in self.readings}
        return servers.pop() if len(servers) == 1 else "unknown"

    def rows(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of all logs with the column ``start``."""
        for rows, _ in self._read():
            yield rows

    def lines(self, columns: Sequence[str]) -> Iterator[tuple[Times, Lines]]:
        """Yield the rows of all logs as lines of a CSV with these columns behind date and time; and their starts."""
        self.columns = columns
        for rows, lines in self._read():
            assert lines is not None
            yield rows["start"].to_numpy(), lines

    def _read(self) -> Iterator[tuple[pl.DataFrame, Lines | None]]:
        total = sum(source.size for source in self.sources)
        with ThreadPoolExecutor(_THREADS) as threads:
            pool = self.executor or threads
            try:
                waiting = deque(
                    sorted(
                        (_Stream(*each, self, pool) for each in zip(self.sources, self.readings, strict=True)),
                        key=lambda s: s.behind,
                    )
                )
                active: list[_Stream] = []
                while waiting or active:
                    while waiting and (not active or waiting[0].behind <= min(stream.behind for stream in active)):
                        active.append(waiting.popleft())
                    stream = min(active, key=lambda s: s.behind)
                    stream.source.block = max(BLOCK // max(len(active) // _SIDE_BY_SIDE, 1), _LEAST)
                    found = stream.advance(_AHEAD if self.executor else max(_THREADS // len(active), 1))
                    if found is None:
                        active.remove(stream)
                        continue
                    if found[0].height:
                        yield found
                    if progress := self.account.progress:
                        read = sum(source.read for source in self.sources)
                        progress(read, total, self.account.report.lines)
            finally:
                threads.shutdown(cancel_futures=True)
        report = self.account.report
        for source in self.sources:
            if source.truncated:
                until = self.whole_until.get(source.name, 0) if not self.backwards else 0
                report.note_damage(source.name, source.compression, until)
        sums = {source.name: source.sum for source in self.sources if source.name in report.per_file}
        pairs = zip(self.sources, self.readings, strict=True)
        remedy = OTHER_FORMAT if self.format_given else GIVE_FORMAT
        self.account.finish(sums, self.repeated, [(source.name, reading.name, remedy) for source, reading in pairs])

    def count(self, source: BlockSource, block: Block, parsed: ParsedBlock, lines: Lines | None) -> None:
        """Count the lines of a block, and hand on those that became no row."""
        report = self.account.report
        report.lines += parsed.rows.height + len(parsed.refusals) + parsed.blank
        report.blank += parsed.blank
        report.accept(source.name, parsed.rows.height)
        if self.repeated.needed and parsed.rows.height:
            hashes = block.lines().hash().gather(parsed.rows["line"])
            texts = partial(_without_time, parsed.rows, lines)
            self.repeated.add(source.name, parsed.rows["us"].to_numpy(), hashes.to_numpy(), texts)
        self.naive += parsed.naive
        self.http3 += parsed.http3
        self.untimed += parsed.untimed
        # a search for one byte takes far less time than one for two, and most blocks hold none
        if b"#" in block.data and (block.data.startswith(b"#") or b"\n#" in block.data):
            hashed = [number for number, line in enumerate(block.raw_lines()) if line.startswith(b"#")]
            self.hashed += int(parsed.rows["line"].is_in(hashed).sum())
        self.offsets |= dict.fromkeys(map(plain_offset, parsed.offsets))
        if block.part:
            self._count_part(source, block)
        elif parsed.refusals:
            self._count_refusals(source, block, parsed.refusals)

    def _count_part(self, source: BlockSource, block: Block) -> None:
        account, line = self.account, block.data.removesuffix(b"\n")
        if block.part == "first":
            account.report.lines += 1
            account.refuse(source.name, block.first, "rejected", _TOO_LONG, line, whole=False)
        elif account.keep:
            account.keep(source.name, block.first, "", line, block.part == "last")
        account.check_limit()

    def _count_refusals(self, source: BlockSource, block: Block, refusals: Sequence[SkippedLine]) -> None:
        raw = block.raw_lines()
        for refusal in sorted(refusals, key=lambda r: r.line):
            reason = refusal.reason
            if refusal.line == len(raw) - 1 and refusal.kind == "rejected" and not block.data.endswith(b"\n"):
                reason = "cut off at the end of the file"
            number = block.first + refusal.line
            self.account.refuse(source.name, number, refusal.kind, reason, raw[refusal.line])
        self.account.check_limit()

    def note_order(self, stamps: np.ndarray, longest: int, oldest: int, newest: int) -> tuple[int, int]:
        """Count rows that go back in time, and those that go on; return the oldest and the newest stamp so far."""
        dips = np.minimum.accumulate(np.concatenate(([oldest], stamps)))
        peaks = np.maximum.accumulate(np.concatenate(([newest], stamps)))
        self.backwards += int((stamps < peaks[:-1] - longest - 2 * SECOND).sum())
        self.forwards += int((stamps > dips[:-1] + longest + 2 * SECOND).sum())
        return int(dips[-1]), int(peaks[-1])

    def note_resolution(self, rows: pl.DataFrame) -> None:
        """Learn from some rows how fine the stamps are."""
        self.spread = self.spread or bool(rows["whole"].any())
        if self.fine > 1e-6 and not rows["whole"].all():
            stamps = rows.filter(~pl.col("whole"))["us"].head(1000)
            coarser = ((1e-6, 1000), (1e-3, SECOND))  # microseconds of the next coarser resolution
            self.fine = next((fine for fine, step in coarser if (stamps % step != 0).any()), self.fine)


_TOO_LONG: Final = f"longer than {LONGEST >> 20} MB"

_UNSURE: Final = 60 * SECOND
"""A line is written at most this long after the start of its request and the longest duration seen."""

_UNKNOWN: Final = -(1 << 62)
"""The stamp of a log whose first lines have none; it is before all others."""

_SIDE_BY_SIDE: Final = 8
"""Logs that are read in blocks of full size at one time; more of them are read in smaller ones."""

_LEAST: Final = 1 << 16
"""Bytes of the smallest block."""

_AHEAD: Final = 64
"""Blocks given to an executor before the first one is back."""


def usable_cores() -> int:
    """The cores that this process may use; where the system does not say (macOS), all of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_THREADS: Final = min(usable_cores(), 3)
"""Threads that parse blocks. More would outrun sorting and writing, and each takes some 20 MB."""


def _parse(
    reading: Detection, block: Block, formats: Sequence[Format], zone: str, columns: Sequence[str]
) -> tuple[ParsedBlock, Lines | None]:
    """Parse a block, to lines with these columns or, if none are given, to rows; may run on another machine."""
    main = reading.adjusted(formats[0]) if columns and formats and not block.part and not reading.prefix else None
    taken = clean_lines.take(block.data, main, columns) if main else None
    if main is None or taken is None:
        nothing = ParsedBlock(pl.DataFrame(schema=ROW_SCHEMA), [], 0, 0)
        parsed = nothing if block.part else reading.parse(block.lines(), formats, zone)
        if not columns:
            return parsed, None
        return replace(parsed, rows=parsed.rows.select(_TIMES)), rendered(parsed.rows, columns)
    back = taken.ms * 1000 if main.stamp.at == "end" else np.zeros(len(taken.ms), np.int64)
    times = {"line": taken.line.astype(np.uint32), "us": taken.us, "back": back, "latency": taken.ms / 1000}
    rows = pl.DataFrame(times).with_columns(whole=True, fold=pl.lit(0, pl.Int64)).select(_TIMES)
    untimed = 0 if "total" in main.layout.fields else rows.height
    if not len(taken.left):
        return ParsedBlock(rows, [], 0, 0, taken.offsets, taken.http3, untimed), taken.lines
    parsed = reading.parse(block.lines().gather(taken.left), formats, zone)
    refusals = [replace(refusal, line=int(taken.left[refusal.line])) for refusal in parsed.refusals]
    parsed = replace(
        parsed,
        offsets=taken.offsets + parsed.offsets,
        http3=taken.http3 + parsed.http3,
        untimed=untimed + parsed.untimed,
    )
    if not parsed.rows.height:
        return replace(parsed, rows=rows, refusals=refusals), taken.lines
    place = pl.Series("line", taken.left[parsed.rows["line"].to_numpy()], pl.UInt32)
    both = pl.concat([rows, parsed.rows.with_columns(place).select(_TIMES)])
    order = np.argsort(both["line"].to_numpy())
    lines = Lines.concat([taken.lines, rendered(parsed.rows, columns)]).take(order)
    return replace(parsed, rows=both[order], refusals=refusals), lines


def _without_time(rows: pl.DataFrame, lines: Lines | None, chosen: np.ndarray) -> np.ndarray:
    """The hashes of some rows, or of their lines of a CSV, which hold no date and time."""
    if lines is None:
        return rows[chosen].drop("line", "us", "whole", "fold", "back").hash_rows().to_numpy()
    return split_lines(lines.take(chosen).joined()[0][:-CHUNK].tobytes()).hash().to_numpy()


_TIMES: Final = ("line", "us", "whole", "fold", "back", "latency")
"""Columns of rows whose lines are made."""


class _Stream:
    """One log being read: blocks are parsed ahead, and come back in order."""

    def __init__(self, source: BlockSource, reading: Detection, intake: LogReader, pool: Executor) -> None:
        self.source, self._reading, self._intake, self._pool = source, reading, intake, pool
        self._pieces = reading.pieces(source.blocks())
        self._ahead: deque[tuple[Block, Future[tuple[ParsedBlock, Lines | None]]]] = deque()
        self._lines = _Unsettled()
        self._spreader = Spreader()
        self._hour: RepeatedHour | None = None
        self._oldest, self._newest, self._longest = -_UNKNOWN, _UNKNOWN, 0
        self._open = True
        self.behind = self._first_stamp() if len(intake.sources) > 1 else 0

    def _first_stamp(self) -> int:
        reading = self._reading
        pieces = reading.pieces([Block(self.source.head(), 1, 0)])
        found = [reading.parse(block.lines(), formats, self._intake.zone).rows["us"] for block, formats in pieces]
        return min((int(us.to_numpy().min()) for us in found if len(us)), default=_UNKNOWN)

    def advance(self, ahead: int) -> tuple[pl.DataFrame, Lines | None] | None:
        """Return the next block, with ``ahead`` blocks parsed after it; None at the end of the log."""
        while True:
            while len(self._ahead) <= ahead and (piece := next(self._pieces, None)):
                block, formats = piece
                intake = self._intake
                intake.fields.update(*(format.layout.fields for format in formats))
                task = self._pool.submit(_parse, self._reading, block, formats, intake.zone, intake.columns)
                self._ahead.append((block, task))
            if not self._ahead:
                break
            block, future = self._ahead.popleft()
            parsed, lines = future.result()
            self.source.read = block.read
            self._intake.count(self.source, block, parsed, lines)
            if block.part in ("first", "more"):  # lines of other logs must not come between its parts
                continue
            rows = self._placed(parsed.rows)
            if rows.height:
                self._observe(rows)
            if lines is None:
                return self._spreader.add(rows), None
            settled = self._spreader.add(self._lines.add(rows, lines))
            return settled, self._lines.settled(settled)
        if self._open:
            self._open = False
            settled = self._spreader.close()
            return settled, self._lines.settled(settled) if self._intake.columns else None
        return None

    def _placed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the stamps of an hour that the clock ran through twice in the right pass."""
        if self._hour is None and rows.height:
            second = rows["fold"][0] and self._begins_in_second_pass()
            if second is None:
                self._intake.unsure.append(self.source.name)
            self._hour = RepeatedHour(second=bool(second))
        return self._hour.settle(rows) if self._hour else rows

    def _begins_in_second_pass(self) -> bool | None:
        reading, zone = self._reading, self._intake.zone
        if (source := self.source.again()) is None:
            return None
        try:
            pieces = reading.pieces(block for block in source.blocks() if not block.part)
            return begins_in_second_pass(reading.parse(block.lines(), formats, zone).rows for block, formats in pieces)
        finally:
            source.close()

    def _observe(self, rows: pl.DataFrame) -> None:
        stamps = rows["us"].to_numpy()
        longest = int((rows["latency"].max() or 0) * SECOND)  # type: ignore[operator, arg-type]
        self._oldest, self._newest = self._intake.note_order(stamps, longest, self._oldest, self._newest)
        self._longest = max(self._longest, longest)
        self._intake.whole_until[self.source.name] = self._newest - self._longest - _UNSURE
        self.behind = int(stamps[-1])
        self._intake.note_resolution(rows)
        self._intake.account.report.count_minutes(self.source.name, stamps)


class _Unsettled:
    """The lines of rows whose start is still to be known."""

    def __init__(self) -> None:
        self._lines = Lines.concat([])
        self._numbers = np.zeros(0, np.int64)
        self._count = 0

    def add(self, rows: pl.DataFrame, lines: Lines) -> pl.DataFrame:
        """Take the lines of some rows; return these with ``line`` counted through all blocks."""
        numbers = np.arange(self._count, self._count + rows.height)
        self._count += rows.height
        self._numbers = np.concatenate((self._numbers, numbers))
        self._lines = Lines.concat([self._lines, lines])
        return rows.with_columns(line=numbers)

    def settled(self, rows: pl.DataFrame) -> Lines:
        """Return the lines of rows, in their order, and keep the others."""
        chosen = rows["line"].to_numpy()
        if len(self._numbers) and self._numbers[-1] - self._numbers[0] < len(self._numbers):  # none is missing
            chosen = chosen - self._numbers[0]
        else:
            chosen = np.searchsorted(self._numbers, chosen)
        others = np.ones(len(self._numbers), np.bool_)
        others[chosen] = False
        settled = self._lines.take(chosen)
        self._lines, self._numbers = self._lines.take(np.flatnonzero(others)).compact(), self._numbers[others]
        return settled
