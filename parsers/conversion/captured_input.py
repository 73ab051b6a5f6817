"""Reads captures (HAR, GoReplay, mitmproxy, ...) into rows with headers and bodies; every record is accounted for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.parsers.captures.capture import COLUMNS, PAYLOAD, CaptureFormat, row
from logreplay.parsers.captures.formats import capture_format
from logreplay.parsers.conversion.advice import growth
from logreplay.parsers.conversion.ingest import (
    OTHER_FORMAT,
    Keep,
    Limit,
    Progress,
    check_fit,
    check_limit,
    check_unlike,
)
from logreplay.parsers.conversion.report import ConvertReport
from logreplay.parsers.conversion.source import BlockSource
from logreplay.parsers.fields.values import Rejected, Unreplayable
from logreplay.parsers.lines.repeated_lines import RepeatedLines

_ROWS: Final = 1000
_TOGETHER: Final = 16 << 20
"""Bytes of bodies in a frame of rows, at most one body more."""
_KEPT: Final = 1 << 20
"""Bytes of a record that go to the reject file."""
_DAMAGED: Final = "the file may be damaged; capture the requests again"
_LINE_ENDS: Final = re.compile(rb"[\\\r\n]")
_SPELLED: Final = {b"\\": b"\\\\", b"\r": b"\\r", b"\n": b"\\n"}


def captures_among(sources: Sequence[BlockSource], wanted: str) -> list[CaptureFormat]:
    """The formats of the files, if they are captures; none if they are logs.

    Raises:
        LogreplayError: some are, and some are not.
    """
    found = [capture_format(source.sample(), wanted) for source in sources]
    known = [each for each in found if each is not None]
    if known and len(known) < len(found):
        log = next(source for source, each in zip(sources, found, strict=True) if each is None)
        capture = next(source for source, each in zip(sources, found, strict=True) if each is not None)
        raise LogreplayError(
            f"{log.name} and {capture.name}: a log and captured requests ({known[0].name}) cannot be converted "
            "together; convert each, then merge the two CSVs"
        )
    return known


@dataclass(slots=True)
class Captures:
    """Reads captures one after the other.

    Attributes:
        sources: the files.
        formats: format of each file.
        report: where records are counted.
        keep: called for each record that became no row.
        idle_zone: time zone that the user gave, if it is for the times of the captures only: these need none.
        limit: on rejected records.
        progress: called after each batch.
        fit: True if each file begins as its format does; a format that the user named may be another.
    """

    sources: Sequence[BlockSource]
    formats: Sequence[CaptureFormat]
    report: ConvertReport
    keep: Keep
    idle_zone: str = ""
    limit: Limit = field(default_factory=Limit)
    progress: Progress | None = None
    fit: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        report = self.report
        report.format = "+".join(dict.fromkeys(format.name for format in self.formats))
        report.share, report.resolution_s, report.unit = 1.0, 1e-6, "records"
        self.fit = [each.fits(one.sample()) for each, one in zip(self.formats, self.sources, strict=True)]

    def rows(self) -> Iterator[pl.DataFrame]:
        """Yield rows with the columns of `logreplay.parsers.captures.capture.COLUMNS`.

        Raises:
            LogreplayError: a file cannot be read, has another format than the user named, or is given under two names.
            TooManyRejects: more records were rejected than `limit` allows.
        """
        total = sum(source.size for source in self.sources)
        timed, repeated = True, RepeatedLines(len(self.sources))
        filled: list[BlockSource] = []
        for source, format, fits in zip(self.sources, self.formats, self.fit, strict=True):
            before, had = self.report.lines, self.report.converted
            for rows in self._batches(source, format):
                timed = timed and not (rows["start"] == 0).any()
                repeated.add_rows(source.name, rows)
                yield rows
                if self.progress:
                    self.progress(sum(each.read for each in self.sources), total, self.report.lines)
            if self.report.lines == before and not fits:
                raise LogreplayError(
                    f"{source.name}: is not in the format {format.name}: it holds no {format.record}; leave out "
                    "--format to detect the format, or give another"
                )
            if self.report.converted > had:
                filled.append(source)
            if source.truncated:
                self.report.note_damage(source.name, source.compression)
        check_unlike({source.name: source.sum for source in filled})
        repeated.check()
        check_limit(self.report, self.limit, final=True)
        files = [
            (one.name, each.name, _DAMAGED if fits else OTHER_FORMAT)
            for one, each, fits in zip(self.sources, self.formats, self.fit, strict=True)
        ]
        check_fit(self.report, self.limit, files)
        if self.idle_zone and self.report.converted:
            why = "times of captured requests are in UTC where they have no offset"
            self.report.notes.append(self.report.zone_had_no_effect(self.idle_zone, why))
        self.report.notes += growth(self.sources, self.report.unit)
        if not timed:
            self.report.resolution_s = None
            self.report.notes.append(
                "some requests have no time: they keep their order, all at the same instant, 1970-01-01"
            )

    def _batches(self, source: BlockSource, format: CaptureFormat) -> Iterator[pl.DataFrame]:
        rows: list[dict[str, Any]] = []
        size = 0
        for position, record in enumerate(format.read(source.stream(), source.name), 1):
            number = record.number or position
            self.report.lines += 1
            kind, reason = record.kind, record.reason
            if record.capture:
                try:
                    rows.append(row(record.capture))
                    size += len(rows[-1][PAYLOAD] or b"") + len(rows[-1]["headers"] or "")
                    self.report.accept(source.name)
                except Unreplayable as why:
                    kind, reason = "unreplayable", str(why)
                except Rejected as why:
                    kind, reason = "rejected", str(why)
            elif not kind:
                self.report.blank += 1
            if kind:
                self.report.refuse(source.name, number, kind, reason)
                line = _LINE_ENDS.sub(lambda found: _SPELLED[found[0]], record.raw[:_KEPT])
                self.keep(source.name, number, f"{kind}: {reason}", line, True)
                check_limit(self.report, self.limit, final=False)
            if len(rows) >= _ROWS or size > _TOGETHER:
                yield pl.DataFrame(rows, schema=COLUMNS, orient="row")
                rows, size = [], 0
        if rows:
            yield pl.DataFrame(rows, schema=COLUMNS, orient="row")
