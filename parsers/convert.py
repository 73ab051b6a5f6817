"""Access logs → the normalized CSV, its reject file and the account of every line."""

import errno
import os
import shutil
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from logreplay.parsers import clock
from logreplay.parsers.detect import detect
from logreplay.parsers.layouts import Format
from logreplay.parsers.order import Sorter
from logreplay.parsers.reader import Block, Source
from logreplay.parsers.record import CORE_COLUMNS, LOGGED_COLUMNS, LogreplayError, to_csv
from logreplay.parsers.rows import Parsed, parse
from logreplay.parsers.spread import Spreader

FIRST_SHOWN: Final = 5
"""Bad lines that a report names."""

Progress = Callable[[int, int, int], None]
"""Told bytes read, bytes in all (0: not known) and lines read."""


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """How to convert.

    Attributes:
        format: ``auto``, or the name of a built-in format.
        timezone: IANA name, for stamps that carry no zone; empty: UTC.
        rejects: where to keep lines that became no row; None: beside the output, `.rejects` for its ending.
        force: overwrite existing results.
    """

    format: str = "auto"
    timezone: str = ""
    rejects: Path | None = None
    force: bool = False


@dataclass(slots=True)
class ConvertReport:
    """What became of every line: ``lines = converted + unreplayable + rejected + blank``.

    Attributes:
        reasons: why lines became no row, with counts.
        first_bad: the first few of them: ``(file, line number, reason)``.
        format: the name of the format; several joined by ``+``.
        share: of the sample's lines that fit.
        server: who wrote the log.
        resolution_s: of the start times, seconds.
        first: earliest start, ISO 8601 UTC; empty if there is none.
        last: latest start.
        output: path of the CSV; ``-``: standard output.
        rejects: path of the reject file; empty if there are none.
        notes: what the user should know about the times, units and sizes.
    """

    lines: int = 0
    converted: int = 0
    unreplayable: int = 0
    rejected: int = 0
    blank: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first_bad: list[tuple[str, int, str]] = field(default_factory=list)
    format: str = ""
    share: float = 0.0
    server: str = "unknown"
    resolution_s: float = 1.0
    first: str = ""
    last: str = ""
    output: str = ""
    rejects: str = ""
    notes: list[str] = field(default_factory=list)

    def sentence(self) -> str:
        """The accounting line, after checking it."""
        total = self.converted + self.unreplayable + self.rejected + self.blank
        if self.lines != total:
            raise AssertionError(f"{self.lines} lines, but {total} accounted for")
        return (
            f"{self.lines:,} lines = {self.converted:,} converted + {self.unreplayable:,} unreplayable"
            f" + {self.rejected:,} rejected + {self.blank:,} blank"
        )

    def summary(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {
            "lines": self.lines,
            "converted": self.converted,
            "unreplayable": self.unreplayable,
            "rejected": self.rejected,
            "blank": self.blank,
            "reasons": dict(self.reasons.most_common()),
            "format": self.format,
            "server": self.server,
            "resolution_s": self.resolution_s,
            "first": self.first,
            "last": self.last,
            "output": self.output,
            "rejects": self.rejects,
            "notes": self.notes,
        }


def output_for(log: str | Path) -> Path:
    """Where a log goes without ``-o``: ``logs/access.log.1.gz`` → ``access.csv`` in the current folder."""
    name = Path(log).name if str(log) != "-" else "stdin"
    return Path(name.split(".")[0] or "access").with_suffix(".csv")


def convert(
    paths: Sequence[str | Path],
    output: str | Path,
    options: ConvertOptions | None = None,
    progress: Progress | None = None,
) -> ConvertReport:
    """Convert access logs to one normalized CSV in order of start.

    Nothing half-written can be taken for a result: rows go to a file beside the output, which takes its name when all
    is done.

    Args:
        paths: plain or compressed (gzip, bzip2, xz, zstd: told by content); ``-`` is standard input.
        output: the CSV to make; ``-`` is standard output.
        options: how.
        progress: told about once a block.

    Returns:
        The account of every line.

    Raises:
        LogreplayError: no such file, empty or not an access log, output exists or cannot be written, disk full.
    """
    options = options or ConvertOptions()
    target = None if str(output) == "-" else Path(output)
    rejects = options.rejects or (target or Path("stdin")).with_suffix(".rejects")
    for path in (target, rejects):
        if path is not None and path.exists() and not options.force:
            raise LogreplayError(f"{path}: exists already; choose another name with -o, or overwrite it with --force")
    with ExitStack() as stack:
        sources = [Source(path) for path in paths]
        for source in sources:
            stack.callback(source.close)
        job = _Job(sources, target, rejects, options, progress)
        try:
            job.run()
            return job.report
        except OSError as error:
            where = target or "standard output"
            if error.errno == errno.ENOSPC:
                advice = "nothing was kept; free some space, or choose another disk with -o"
                raise LogreplayError(f"{where}: disk full: {advice}") from None
            raise LogreplayError(f"{where}: cannot be written: {error.strerror}") from None
        finally:
            job.tidy_up()


class _Job:
    """One conversion under way."""

    def __init__(
        self,
        sources: Sequence[Source],
        target: Path | None,
        rejects: Path,
        options: ConvertOptions,
        progress: Progress | None,
    ) -> None:
        self._sources, self._target, self._rejects_path = sources, target, rejects
        self._options, self._progress = options, progress
        self.report = ConvertReport(output=str(target or "-"))
        folder = target.parent if target else Path(os.environ.get("TMPDIR", "/tmp"))
        self._part = folder / f".{target.name if target else 'logreplay'}.{os.getpid()}.part"
        self._rejects_part = rejects.with_name(f".{rejects.name}.{os.getpid()}.part")
        self._rejects: BinaryIO | None = None
        self._sorter: Sorter | None = None
        self._fine = 1.0
        self._bounds: tuple[int, int] | None = None
        self._naive = 0

    def run(self) -> None:
        formats = self._formats()
        columns = _output_columns(formats)
        header = (",".join(columns) + "\n").encode()
        self._sorter = Sorter(self._part, header, lambda rows: _encode(rows, columns))
        done = total = 0
        total = sum(source.size for source in self._sources)
        for source in self._sources:
            spreader = Spreader()
            for block, parsed in _parsed(source, formats, self._options.timezone):
                self._account(source, block, parsed)
                self._emit(spreader.add(parsed.rows))
                if self._progress:
                    self._progress(done + block.read, total, self.report.lines)
            self._emit(spreader.close())
            done += source.size
            if source.truncated:
                self.report.notes.append(f"{source.name}: the {source.compression} data end too soon or are damaged")
        self._finish(formats)

    def tidy_up(self) -> None:
        """Leave no half-written file behind."""
        if self._sorter is not None:
            self._sorter.discard()
        if self._rejects is not None:
            self._rejects.close()
        self._rejects_part.unlink(missing_ok=True)

    def _formats(self) -> tuple[Format, ...]:
        samples = [(source, source.sample()) for source in self._sources]
        if not any(data.strip() for _, data in samples):
            raise LogreplayError(f"{self._sources[0].name}: empty log: nothing to convert")
        lines = pl.concat([Block(data, 1, 0).lines() for _, data in samples if data])
        found = detect(lines, self._sources[0].name)
        self.report.format = "+".join(format.name for format in found.formats)
        self.report.share = found.share
        self.report.server = found.formats[0].server
        return found.formats

    def _account(self, source: Source, block: Block, parsed: Parsed) -> None:
        report = self.report
        report.lines += parsed.rows.height + len(parsed.refusals) + parsed.blank
        report.blank += parsed.blank
        report.converted += parsed.rows.height
        self._naive += parsed.naive
        if not parsed.refusals:
            return
        raw = block.raw_lines()
        if self._rejects is None:
            self._rejects = open(self._rejects_part, "wb")  # noqa: SIM115  # closed by tidy_up()
        several = len(self._sources) > 1
        for refusal in sorted(parsed.refusals, key=lambda r: r.line):
            number = block.first + refusal.line
            reason = f"{refusal.kind}: {refusal.reason}"
            report.reasons[reason] += 1
            if refusal.kind == "rejected":
                report.rejected += 1
            else:
                report.unreplayable += 1
            if len(report.first_bad) < FIRST_SHOWN:
                report.first_bad.append((source.name, number, reason))
            place = f"{source.name}:{number}" if several else str(number)
            self._rejects.write(f"{place} {reason}\t".encode() + raw[refusal.line] + b"\n")

    def _emit(self, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        assert self._sorter is not None
        self._sorter.add(rows)
        low, high = int(rows["start"].min()), int(rows["start"].max())  # type: ignore[arg-type]
        self._bounds = (min(low, self._bounds[0]), max(high, self._bounds[1])) if self._bounds else (low, high)

    def _finish(self, formats: Sequence[Format]) -> None:
        report = self.report
        assert self._sorter is not None
        report.sentence()
        self._sorter.close()
        if self._bounds:
            report.first, report.last = (_iso(us) for us in self._bounds)
        if self._rejects is not None:
            self._rejects.close()
            self._rejects_part.replace(self._rejects_path)
            report.rejects = str(self._rejects_path)
        elif self._options.force:
            self._rejects_path.unlink(missing_ok=True)
        if self._target is not None:
            self._part.replace(self._target)
        else:
            with open(self._part, "rb") as done:
                shutil.copyfileobj(done, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()


def _parsed(source: Source, formats: Sequence[Format], zone: str) -> Iterator[tuple[Block, Parsed]]:
    """Parse blocks on all cores, in order."""
    workers = pl.thread_pool_size()
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[Block, Future[Parsed]]] = deque()
        for block in source.blocks():
            waiting.append((block, pool.submit(_parse_block, block, formats, zone)))
            if len(waiting) > workers:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()


def _parse_block(block: Block, formats: Sequence[Format], zone: str) -> Parsed:
    return parse(block.lines(), formats, zone)


def _output_columns(formats: Sequence[Format]) -> tuple[str, ...]:
    have = {name for format in formats for name in format.layout.fields} | {"host"}
    if "request" in have:
        have.add("protocol")
    return (*CORE_COLUMNS, *(name for name in (*LOGGED_COLUMNS, "user") if name in have))


def _encode(rows: pl.DataFrame, columns: Sequence[str]) -> bytes:
    date, time = clock.columns(rows["start"])
    return to_csv(rows.with_columns(date, time, pl.lit(0.0).alias("thinktime")).select(columns), header=False)


def _iso(us: int) -> str:
    return datetime.fromtimestamp(us // clock.SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{us % clock.SECOND:06}Z"
