"""Reads captures (HAR, GoReplay, mitmproxy, ...) into rows with headers and bodies; every record is accounted for."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.parsers.captures.capture import COLUMNS, PAYLOAD, CaptureFormat, row
from logreplay.parsers.captures.formats import capture_format
from logreplay.parsers.conversion.advice import growth
from logreplay.parsers.conversion.ingest import OTHER_FORMAT
from logreplay.parsers.conversion.report import Account
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
    """The formats of the files, if they are captures; none if they are logs."""
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


def captured_rows(
    sources: Sequence[BlockSource], formats: Sequence[CaptureFormat], account: Account, idle_zone: str = ""
) -> Iterator[pl.DataFrame]:
    """Yield the requests of captures, one after the other: the columns `logreplay.parsers.captures.capture.COLUMNS`.

    ``idle_zone`` is the user's time zone if it is for the times of the captures only: these need none.
    """
    report, total = account.report, sum(source.size for source in sources)
    report.format = "+".join(dict.fromkeys(format.name for format in formats))
    report.share, report.resolution_s, report.unit = 1.0, 1e-6, "records"
    timed, repeated = True, RepeatedLines(len(sources))
    filled: list[BlockSource] = []
    files: list[tuple[str, str, str]] = []
    for source, format in zip(sources, formats, strict=True):
        fits = format.fits(source.sample())  # a format that the user named may be another
        files.append((source.name, format.name, _DAMAGED if fits else OTHER_FORMAT))
        before, had = report.lines, report.converted
        for rows in _batches(source, format, account):
            timed = timed and not (rows["start"] == 0).any()
            repeated.add_rows(source.name, rows)
            yield rows
            if account.progress:
                account.progress(sum(each.read for each in sources), total, report.lines)
        if report.lines == before and not fits:
            raise LogreplayError(
                f"{source.name}: is not in the format {format.name}: it holds no {format.record}; leave out "
                "--format to detect the format, or give another"
            )
        if report.converted > had:
            filled.append(source)
        if source.truncated:
            report.note_damage(source.name, source.compression)
    account.finish({source.name: source.sum for source in filled}, repeated, files)
    if idle_zone and report.converted:
        why = "times of captured requests are in UTC where they have no offset"
        report.notes.append(report.zone_had_no_effect(idle_zone, why))
    report.notes += growth(sources, report.unit)
    if not timed:
        report.resolution_s = None
        report.notes.append("some requests have no time: they keep their order, all at the same instant, 1970-01-01")


def _batches(source: BlockSource, format: CaptureFormat, account: Account) -> Iterator[pl.DataFrame]:
    rows: list[dict[str, Any]] = []
    size, report = 0, account.report
    for position, record in enumerate(format.read(source.stream(), source.name), 1):
        report.lines += 1
        kind, reason = record.kind, record.reason
        if record.capture:
            try:
                rows.append(row(record.capture))
                size += len(rows[-1][PAYLOAD] or b"") + len(rows[-1]["headers"] or "")
                report.accept(source.name)
            except Unreplayable as why:
                kind, reason = "unreplayable", str(why)
            except Rejected as why:
                kind, reason = "rejected", str(why)
        elif not kind:
            report.blank += 1
        if kind:
            line = _LINE_ENDS.sub(lambda found: _SPELLED[found[0]], record.raw[:_KEPT])
            account.refuse(source.name, record.number or position, kind, reason, line)
            account.check_limit()
        if len(rows) >= _ROWS or size > _TOGETHER:
            yield pl.DataFrame(rows, schema=COLUMNS, orient="row")
            rows, size = [], 0
    if rows:
        yield pl.DataFrame(rows, schema=COLUMNS, orient="row")
