"""Converts access logs, or normalized CSVs, to one normalized CSV, its reject file and the account of every line."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, get_args

import polars as pl

from logreplay.core import FORKED_THREADS
from logreplay.core.bodies import REF, beside
from logreplay.core.errors import LogreplayError, TooManyRejects, UsageError
from logreplay.core.files import (
    FULL,
    NewFile,
    check_distinct,
    check_named_once,
    is_part,
    is_stream,
    path_given,
    scratch_folder,
)
from logreplay.core.headers import HEADERS
from logreplay.core.quantities import iso
from logreplay.core.record import CORE_COLUMNS, LOGGED_COLUMNS, to_csv
from logreplay.core.rows import names_in
from logreplay.core.stores import is_address, matching
from logreplay.parsers.captures.bodies_file import SideFile, other_user, with_payload
from logreplay.parsers.captures.capture import CaptureFormat
from logreplay.parsers.conversion import writers
from logreplay.parsers.conversion.advice import notes
from logreplay.parsers.conversion.captured_input import captured_rows, captures_among
from logreplay.parsers.conversion.detect import Detection, detect_each
from logreplay.parsers.conversion.external_sort import Sorter
from logreplay.parsers.conversion.filters import Filter, time_zone, wanted
from logreplay.parsers.conversion.ingest import LogReader
from logreplay.parsers.conversion.normalized_input import normalized_among, table_columns, table_rows
from logreplay.parsers.conversion.report import Account, ConvertReport, Limit, Progress
from logreplay.parsers.conversion.source import BlockSource
from logreplay.parsers.fields import timestamps
from logreplay.parsers.fields.timestamps import Times
from logreplay.parsers.formats.field_names import HEADER_SLOT
from logreplay.parsers.lines.csv_lines import Lines, rendered
from logreplay.parsers.redaction.redact import Redactor


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """Options of a conversion.

    Attributes:
        format: ``auto``, a name, a ``log_format`` or ``LogFormat`` string, or ``nginx.conf#name``.
        timezone: IANA name, for stamps that carry no zone; empty: UTC.
        time_unit: unit of durations, ``s``, ``ms``, ``us`` or ``ns``; empty: by the format.
        stamped: meaning of the stamps, ``start`` or ``end`` of a request; empty: by the format.
        filter: which rows to keep.
        redact: replace what may say who someone is; see `logreplay.parsers.redaction.redact`.
        limit: largest number or share of rejected lines.
        to: ``csv``, ``parquet``, ``pias``, ``vegeta``, ``k6``, ``gor`` or ``har``; empty: by the ending of the
            output's name.
        rejects: where to keep lines that became no row; None: beside the output, ``.rejects`` for its ending.
        force: overwrite existing results.
    """

    format: str = "auto"
    timezone: str = ""
    time_unit: str = ""
    stamped: Literal["", "start", "end"] = ""
    filter: Filter = field(default_factory=Filter)
    redact: bool = False
    limit: Limit = field(default_factory=Limit)
    to: str = ""
    rejects: Path | None = None
    force: bool = False

    @property
    def idle_zone(self) -> str:
        """The time zone, if no filter is read in it: then it has no effect on times that need none."""
        return "" if self.filter.since or self.filter.until else self.timezone


def output_for(log: str | Path, to: str = "") -> Path:
    """The name of the result without ``-o``: ``logs/access.log.1.gz`` → ``access.csv`` in the current folder."""
    text = str(log)
    if is_address(text):  # the query may hold a secret with a slash; a pattern stands for several logs
        text = re.sub(r"\?.*|[*\[\]]", "", text)
    name = Path(text).name if text != "-" else "stdin"
    return Path(f"{name.split('.')[0] or 'access'}.{writers.ENDINGS.get(to, to) or 'csv'}")


def convert(
    paths: str | Path | Sequence[str | Path],
    output: str | Path,
    options: ConvertOptions | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> ConvertReport:
    """Convert access logs, or normalized CSVs, to one normalized CSV in order of start.

    Rows go to a file beside the output, which takes its name at the end, so a half-written file is never taken for a
    result. (A kill leaves such files, ``.part.NAME*``, behind; the next conversion to that name replaces them.)

    Args:
        paths: one log or several, plain or compressed (gzip, bzip2, xz, zstd: told by content); ``-`` is standard
            input. Or normalized CSVs (also Parquet files of them), which are merged with all their columns.
        output: the file to make; ``-`` is standard output.
        options: options of the conversion.
        progress: called about once a block.
        executor: parses the blocks, in other processes or machines; None: threads of this process.

    Returns:
        The account of every line.

    Raises:
        LogreplayError: no such file, empty or not an access log or not of the given format, an option that cannot be
            read, output exists or cannot be written, disk full. Only a reject file that the options name is kept.
        TooManyRejects: more lines were rejected than the options allow.
    """
    paths, options = check_given(paths, options), options or ConvertOptions()
    target = None if str(output) == "-" else path_given(output, "output")
    owner = _owner(target)
    with ExitStack() as stack:
        if target and (target.is_dir() or not target.name):
            raise LogreplayError(f"-o {output}: is a folder; name a file in it")
        inputs = open_input(paths, options, stack, executor)
        if (tables := inputs[0]) and options.idle_zone:
            raise LogreplayError(f"--timezone and {tables[0]} exclude each other: its times are UTC; leave it out")
        rejects = options.rejects or _rejects_beside(owner or output_for(paths[0]))
        logs = [("log", path) for path in paths]
        check_distinct([*([("-o", target)] if target else []), ("--rejects", rejects)], logs)
        folder = owner.parent if owner else stack.enter_context(scratch_folder())
        job = _Job(inputs, target, rejects, options, folder)
        stack.callback(job.tidy_up)
        try:
            return job.run(progress, executor)
        except OSError as error:
            where = error.filename or target or "standard output"
            if error.errno in FULL:
                advice = f"{FULL[error.errno]}, or write elsewhere with -o; nothing was kept"
                place = target or error.filename or f"temporary files in {folder.parent}"
                raise LogreplayError(f"{place}: {advice}") from None
            if isinstance(error, BrokenPipeError):
                raise
            name = str(target) if is_part(where) else where
            raise LogreplayError(f"{name}: cannot be written: {error.strerror}; choose another place with -o") from None
        except LogreplayError as error:
            job.keep_asked_rejects()
            if isinstance(error, TooManyRejects) and job.report.rejected and not options.rejects:
                raise TooManyRejects(f"{error}; --rejects FILE keeps the rejected lines") from None
            raise


Inputs = tuple[Sequence[Path], Sequence[BlockSource], Sequence[CaptureFormat]]
"""Normalized CSVs; or other files, and the format of each if they hold captured requests."""


def open_input(
    paths: Sequence[str | Path], options: ConvertOptions, stack: ExitStack, executor: Executor | None = None
) -> Inputs:
    """Tell normalized CSVs, captured requests and logs apart, and open all but normalized CSVs."""
    FORKED_THREADS.check()
    tables = normalized_among(paths)
    check_named_once(tables)
    if tables:
        _check_fits(options, executor, f"{tables[0]} exclude each other: a normalized CSV is not parsed")
        if options.filter.client and not any("client" in names_in(path) for path in tables):
            raise LogreplayError(f"--client: {tables[0]} has no column client; leave out --client")
        return tables, [], []
    sources = open_logs(paths, options, stack)
    formats = captures_among(sources, options.format)
    if formats:
        why = f"{sources[0].name} exclude each other: captured requests ({formats[0].name}) say their units"
        _check_fits(replace(options, format=""), executor, why)
    return [], sources, formats


def _check_fits(options: ConvertOptions, executor: Executor | None, why: str) -> None:
    """Check that no option for reading logs is given with other files; ``why`` names the file and the reason."""
    said = {
        "--format": options.format not in ("auto", ""),
        "--time-unit": options.time_unit,
        "--stamped": options.stamped,
        "--cluster": executor is not None,
    }
    if option := next((name for name, value in said.items() if value), None):
        raise LogreplayError(f"{option} and {why}; leave it out")


def check_given(paths: object, options: object) -> Sequence[str | Path]:
    """Return the logs that a program names, one or several; check that they are paths, and the options too.

    Raises:
        UsageError: they are something else.
    """
    if options is not None and not isinstance(options, ConvertOptions):
        raise UsageError(f"options={options!r}: expected ConvertOptions", ("options",))
    named: list[Any] = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Sequence) else [*paths]
    if not named:
        raise UsageError(f"paths={paths!r}: name a log", ("paths",))
    for each in named:
        path_given(each, "paths")
    return named


def open_logs(paths: Sequence[str | Path], options: ConvertOptions, stack: ExitStack) -> list[BlockSource]:
    """Open logs, to be closed with the stack, after a look at the options."""
    FORKED_THREADS.check()
    if options.timezone:
        time_zone(options.timezone)
    named = [one for path in paths for one in (matching(str(path)) if is_address(str(path)) else [path])]
    check_named_once(named)
    sources = []
    for each in named:
        sources.append(BlockSource(each, summed=len(named) > 1))
        stack.callback(sources[-1].close)
    return sources


def find_readings(sources: Sequence[BlockSource], options: ConvertOptions) -> list[Detection]:
    """Detect the formats of each log."""
    most = max(_SAMPLED // len(sources), _OF_EACH)
    samples = [_beginning(source.sample(), most) for source in sources]
    if not any(data.strip(b"\0 \t\r\n") for data in samples):
        for source in sources:
            if source.truncated:
                why = "the file was cut or is damaged; copy it again"
                raise LogreplayError(f"{source.name}: the {source.compression} data cannot be unpacked: {why}")
        raise LogreplayError(f"{sources[0].name}: is empty; name a log that holds requests")
    for source, data in zip(sources, samples, strict=True):
        if unpack := _archive(data):
            raise LogreplayError(f"{source.name}: is an archive of files; unpack it first: {source.command(unpack)}")
    found = detect_each(samples, [source.name for source in sources], options.format)
    return [replace(each, time_unit=options.time_unit, stamped=options.stamped) for each in found]


@contextmanager
def log_reader(sources: Sequence[BlockSource], options: ConvertOptions, account: Account) -> Iterator[LogReader]:
    """A reader of logs; the report says how they are read, and at the end of the block what the user should know."""
    readings = find_readings(sources, options)
    given = options.format != "auto"
    reader, report = LogReader(sources, readings, options.timezone, account, format_given=given), account.report
    distinct = list(dict.fromkeys(readings))
    report.format = "+".join(dict.fromkeys(each.name for each in distinct))
    lines = [max(each.sample, 1) for each in distinct]
    report.share = sum(each.share * count for each, count in zip(distinct, lines, strict=True)) / sum(lines)
    report.server = reader.server
    yield reader
    report.resolution_s = reader.fine if "time" in reader.fields else None
    report.notes += notes(reader, sources, options.time_unit, options.timezone, zoned=not options.idle_zone)


def _beginning(sample: bytes, most: int) -> bytes:
    """The whole lines at the start of a sample, up to a number of bytes; one line at least."""
    return sample if len(sample) <= most else sample[: sample.rfind(b"\n", 0, most) + 1 or most]


def _archive(data: bytes) -> str:
    """The command that prints the files of this archive; empty for a log."""
    if data.startswith(b"PK\3\4"):
        return "unzip -p"
    return "tar -xOf" if data[257:262] == b"ustar" else ""


class _Job:
    """One conversion in progress."""

    def __init__(
        self, inputs: Inputs, target: Path | None, rejects: Path, options: ConvertOptions, folder: Path
    ) -> None:
        self._tables, self._sources, self._captures = inputs
        self._target, self._options = target, options
        self._owner = _owner(target)
        self._kind = writers.kind_of(target or "-", options.to)
        self._rejects_path = rejects
        self._rejects: BinaryIO | None = None
        self._sorter: Sorter | None = None
        with ExitStack() as stack:
            self._new = stack.enter_context(_new(target, "-o", options)) if target else None
            shared = _has_other_result(rejects, self._owner)
            unowned = not options.rejects and not shared and not (self._owner and os.path.lexists(self._owner))
            free = replace(options, force=options.force or unowned)
            self._new_rejects = stack.enter_context(_new(rejects, "--rejects", free))
            self._replaces_rejects = free.force and not shared
            self._names = stack.pop_all()
        self._sorted = folder / f"{self._new.part.name if self._new else 'stdout'}.sorted"
        self._bounds: tuple[int, int] | None = None
        self._side: SideFile | None = None
        self.report = ConvertReport(output=str(target or "-"), files=len(self._sources) + len(self._tables))

    def run(self, progress: Progress | None, executor: Executor | None) -> ConvertReport:
        options = self._options
        account = Account(self.report, options.limit, self._keep_line, progress)
        if self._tables:
            columns = self._writable(table_columns(self._tables))
            self._sort(self._rendered(table_rows(self._tables, account), columns), columns)
        elif self._captures:
            rows = captured_rows(self._sources, self._captures, account, options.idle_zone)
            columns = self._writable((*CORE_COLUMNS, *(name for name in LOGGED_COLUMNS if name != "body")))
            self._sort(self._rendered(rows, columns), columns)
        else:
            with log_reader(self._sources, options, account) as intake:
                intake.executor = executor
                columns = self._writable(output_columns(intake.readings))
                if options.redact or self._side or options.filter.condition(options.timezone) is not None:
                    self._sort(self._rendered(intake.rows(), columns), columns)
                else:
                    self._sort(intake.lines(columns[2:]), columns)
        if self._bounds:
            self.report.first, self.report.last = (iso(us) for us in self._bounds)
        self._deliver()
        return self.report

    def _writable(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns of the CSV: without that of bodies where there is no file for them."""
        if REF not in columns:
            return tuple(columns)
        owner, kind = self._owner, self._kind
        if kind in writers.EXPORTS:
            self._side = SideFile(self._sorted.with_name(self._sorted.name + ".bodies"))
        elif kind == "pias" or owner is None:
            self.report.notes.append(
                "bodies are not kept: they need a CSV or Parquet file beside them; name it with -o"
            )
            return tuple(name for name in columns if name != REF)
        else:
            if other := other_user(owner):
                raise LogreplayError(f"{beside(str(owner))}: holds the bodies of {other}; choose another name with -o")
            path = Path(beside(str(owner)))
            self._side = SideFile(path, self._names.enter_context(_new(path, "-o", self._options)))
        return tuple(columns)

    def _rendered(self, batches: Iterator[pl.DataFrame], columns: Sequence[str]) -> Iterator[tuple[Times, Lines]]:
        """Filter and redact rows, and store their bodies; yield their starts, and their lines behind date and time."""
        options, report = self._options, self.report
        redactor = Redactor() if options.redact else None
        for rows in wanted(batches, options.filter, options.timezone, report):
            for part in with_payload(rows) if self._side else (rows,):
                part = redactor.rows(part) if redactor else part
                part = self._side.store(part) if self._side else part
                yield part["start"].to_numpy(), rendered(part, columns[2:])

    def _sort(self, parts: Iterator[tuple[Times, Lines]], columns: Sequence[str]) -> None:
        """Sort lines by start; check at their end that all are accounted for."""
        self._sorter = Sorter(self._sorted, to_csv(pl.DataFrame(schema=columns), header=True))
        for start, lines in parts:
            if len(start):
                self._sorter.add(start, lines)
                low, high = int(start.min()), int(start.max())
                self._bounds = (min(low, self._bounds[0]), max(high, self._bounds[1])) if self._bounds else (low, high)
        self.report.sentence()
        self._sorter.close()

    def tidy_up(self) -> None:
        """Remove half-written files."""
        if self._sorter is not None:
            self._sorter.discard()
        if self._side is not None:
            self._side.discard()
        if self._rejects is not None:
            with suppress(OSError):  # a full disk refuses what is still to be written, too
                self._rejects.close()
        self._names.close()

    def keep_asked_rejects(self) -> None:
        """Give the reject file its name where the user gave that: a conversion that fails leaves no other file."""
        if self._options.rejects and self._rejects is not None:
            self.keep_rejects()

    def keep_rejects(self) -> None:
        """Give the reject file its name."""
        if self._rejects is not None:
            self._rejects.close()
            self._new_rejects.keep()
            self.report.rejects = str(self._rejects_path)
        elif self._replaces_rejects and not is_stream(self._rejects_path):
            self._rejects_path.unlink(missing_ok=True)

    def _keep_line(self, name: str, number: int, reason: str, line: bytes, whole: bool) -> None:
        if self._rejects is None:
            self._rejects = open(self._new_rejects.part, "wb")  # noqa: SIM115  # closed by tidy_up()
        if reason:
            place = f"{name}:{number}" if self.report.files > 1 else str(number)
            redacted = b"(redacted)" if self._options.redact else b""
            self._rejects.write(f"{place} {reason}\t".encode("utf-8", "surrogateescape") + redacted)
        if not self._options.redact:
            self._rejects.write(line.replace(b"\n", rb"\n"))  # a value may hold line breaks; a record is one line
        if whole:
            self._rejects.write(b"\n")

    def _deliver(self) -> None:
        if not self.report.converted:  # an empty result would only bar the next try
            self.keep_asked_rejects()
            self.report.output = ""
            return
        kind = self._kind
        bodies = self._side.close() if self._side else Path(beside(str(self._target or "")))
        if self._new is None or self._target is None:
            self.keep_rejects()
            try:
                hosts = writers.write(self._sorted, sys.stdout.buffer, kind, str(bodies))
                sys.stdout.buffer.flush()
                self._note_hosts(hosts)
            except OSError as error:
                error.filename = error.filename or "standard output"
                raise
        elif kind == "csv" and self._owner:
            self._keep_beside(bodies)
            self._new.keep(self._sorted)
        else:  # all files take their names when all are whole
            with open(self._new.part, "wb") as out:
                self._note_hosts(writers.write(self._sorted, out, kind, str(bodies)))
            self._keep_beside(bodies)
            self._new.keep()

    def _note_hosts(self, hosts: Sequence[str]) -> None:
        if hosts:
            more = ", …" if len(hosts) > writers.SHOWN else ""
            names = ", ".join(host[:_LONGEST_NAME] for host in hosts[: writers.SHOWN])
            self.report.notes.append(
                f"other tools send the requests of a {self._kind} file to the hosts that the log names: {names}{more}; "
                "clients can choose these: check them first"
            )

    def _keep_beside(self, bodies: Path) -> None:
        """Give the files beside the result their names; a file with bodies of an earlier result goes."""
        self.keep_rejects()
        if self._side and self._side.keep():
            self.report.bodies = str(self._side.path)
        elif (
            self._options.force
            and self._kind not in writers.EXPORTS
            and self._owner
            and not is_stream(bodies)
            and not other_user(self._owner)
        ):
            bodies.unlink(missing_ok=True)


def _owner(target: Path | None) -> Path | None:
    """The output that may have files beside it: none for standard output, a device or a pipe."""
    return None if target is None or is_stream(target) else target


def _new(path: Path, option: str, options: ConvertOptions) -> NewFile:
    return NewFile(path, force=options.force, option=option)


_SAMPLED: Final = 1 << 20
_OF_EACH: Final = 1 << 12
"""Bytes that show the format: of all logs together, and at least of each."""

_LONGEST_NAME: Final = 80
"""Characters of a host that are shown."""

_CAPTURED: Final = ("scheme", "headers", "body", REF)
"""Columns that no log with directives has."""


def output_columns(readings: Sequence[Detection]) -> tuple[str, ...]:
    """The columns of the CSV: the core, then what logs that are read so have."""
    have = {name for each in readings for format in each.formats for name in format.layout.fields} | {"host"}
    if any(not each.formats for each in readings):  # known only when the directives are read
        have |= {"user", *LOGGED_COLUMNS} - {*_CAPTURED}
    if "request" in have:
        have.add("protocol")
    if "body" in have:
        have = have - {"body"} | {REF}
    if any(name.startswith(HEADER_SLOT) for name in have):
        have.add(HEADERS)
    return (*CORE_COLUMNS, *(name for name in (*LOGGED_COLUMNS, "user") if name in have))


def with_date_and_time(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with ``start`` → rows with all core columns."""
    date, time = timestamps.columns(rows["start"])
    return rows.with_columns(date, time, pl.lit(0.0).alias("thinktime"))


def _rejects_beside(target: Path) -> Path:
    stem = target.name
    for ending in (".gz", ".zst", ".csv", ".parquet", ".pias"):
        stem = stem.removesuffix(ending)
    return target.parent / (stem + ".rejects")


def _has_other_result(rejects: Path, target: Path | None) -> bool:
    """Whether a reject file with the default name is also that of a result other than this one."""
    results = (rejects.parent / f"{rejects.stem}.{kind}" for kind in get_args(writers.Kind))
    return any(os.path.lexists(result) for result in results if result != target)
