"""Parses lines into typed rows: strict patterns over whole blocks, then a careful path for the lines that do not match.

Every line becomes exactly one of these: a row, blank, unreplayable or rejected; the last two with a reason.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

import polars as pl

from logreplay.core.headers import HEADERS, LONGEST, HeadersTooLong, header_text
from logreplay.core.record import SCHEMA
from logreplay.parsers.fields import timestamps, values
from logreplay.parsers.fields.other_protocols import other_protocol
from logreplay.parsers.formats.field_names import HEADER_SLOT
from logreplay.parsers.formats.format import Format

TEXTS: Final = ("client", "host", "user", "referer", "agent", "protocol", "body")

ROW_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    "line": pl.UInt32,
    "us": pl.Int64,
    "whole": pl.Boolean,
    "fold": pl.Int64,
    "back": pl.Int64,
    **{name: SCHEMA[name] for name in ("latency", "xfertime", "bytes", "url", "rc", "op")},
    **dict.fromkeys(TEXTS, pl.String),
    **{name: SCHEMA[name] for name in (HEADERS, "request_bytes")},
}
"""``line``: index of the line in its block. ``us``: the stamp as logged, microseconds since 1970 UTC; ``whole``: it
has no digits below a second; ``fold``: see `timestamps.Instants`; ``back``: what lies between it and the start of the
request, microseconds. ``body`` has one character a byte. The others are those
of the normalized record."""

_NO_ROWS: Final = pl.DataFrame(schema=ROW_SCHEMA)

_COUNTS: Final = {"bytes": values.MOST_BYTES, "rc": 1000, "request_bytes": values.MOST_BYTES}
"""Raw fields that are whole numbers, and their upper bounds."""

_DUMMY: Final = "(internal dummy connection)"
_DUMMY_REASON: Final = "Apache's own dummy connection"


_AT_ONCE: Final = 1 << 14
"""Lines parsed at a time, which take some 20 MB; half as many take a quarter more time each."""

_EMPTY: Final = r"^\s*$"
BLANK: Final = r"^\s*(?:#|$)"
"""Empty lines and comments."""

BUG: Final = "a bug of logreplay, please report it"
"""Reason of lines that made parsing fail."""


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that became no row: its index in the block, ``unreplayable`` or ``rejected``, and why."""

    line: int
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedBlock:
    """What became of the lines of a block: ``len(lines) = rows.height + len(refusals) + blank``.

    Attributes:
        naive: stamps without a zone.
        offsets: different offsets of the others from UTC, as they are written.
        http3: rows whose protocol is HTTP/3.
        untimed: rows without a response time, whose latency is 0.
    """

    rows: pl.DataFrame
    refusals: Sequence[SkippedLine]
    blank: int
    naive: int
    offsets: tuple[str, ...] = ()
    http3: int = 0
    untimed: int = 0


def parse(lines: pl.Series, formats: Sequence[Format], zone: str = "", tiers: int = 9) -> ParsedBlock:
    """Read a block of lines without line ends, one character a byte.

    One that makes this fail is rejected alone: the block is halved until it is found. The first format is the main one;
    the others are tried on lines that it does not fit. ``tiers`` is the number of the formats' ever wider rules to try.
    """
    if len(lines) <= _AT_ONCE:
        try:
            return _parse(lines, formats, zone, tiers)
        except (Exception, pl.exceptions.PanicException) as error:
            if len(lines) < 2:
                reason = f"{BUG}: {type(error).__name__}"
                return ParsedBlock(_NO_ROWS, [SkippedLine(0, "rejected", reason)], 0, 0)
    half = len(lines) // 2
    first, second = (parse(part, formats, zone, tiers) for part in (lines.head(half), lines.slice(half)))
    rows = pl.concat([first.rows, second.rows.with_columns(pl.col("line") + pl.lit(half, pl.UInt32))])
    refusals = [replace(refusal, line=refusal.line + half) for refusal in second.refusals]
    return ParsedBlock(
        rows,
        [*first.refusals, *refusals],
        first.blank + second.blank,
        first.naive + second.naive,
        first.offsets + second.offsets,
        first.http3 + second.http3,
        first.untimed + second.untimed,
    )


def may_fit(lines: pl.Series, format: Format) -> bool:
    """Whether a format can know any of the lines by its strict rules, told at a fraction of the cost of `parse`."""
    try:
        return bool(format.skipped) or bool(_fits(format.layout.split(lines)).any())
    except (Exception, pl.exceptions.PanicException):  # `parse` finds the line
        return True


def _parse(lines: pl.Series, formats: Sequence[Format], zone: str, tiers: int) -> ParsedBlock:
    frame = lines.to_frame("text").with_row_index("line")
    found: list[pl.DataFrame] = []
    refusals: list[SkippedLine] = []
    naive = 0
    offsets: tuple[str, ...] = ()
    for format in formats:
        raw = format.layout.split(frame["text"])
        fits = _fits(raw)
        if format.server != "nginx" and "agent" in raw.columns:
            dummy = raw["agent"].str.ends_with(_DUMMY)
            if dummy.any():
                dummy = dummy.fill_null(False)
                refusals += [SkippedLine(line, "unreplayable", _DUMMY_REASON) for line in frame["line"].filter(dummy)]
                raw, fits, frame = raw.filter(~dummy), fits.filter(~dummy), frame.filter(~dummy)
        if fits.any():
            numbers = _numbers(raw, format)
            fits &= _are_readable(raw, numbers)
            tidy = _where(_typed(raw, numbers).hstack([frame["line"]]), fits)
            rows, bad, instants = _with_time(tidy, format, zone)
            found.append(rows)
            refusals += bad
            naive, offsets = naive + instants.naive, offsets + instants.offsets
            frame = _where(frame, ~fits)
        if not frame.height:
            break
    blank = 0
    if frame.height:
        empty = frame["text"].str.contains(BLANK if any(format.comments for format in formats) else _EMPTY)
        blank = int(empty.sum())
        frame = _where(frame, ~empty)
    for tier, format in ((tier, format) for tier in range(tiers) for format in formats):
        if tier >= format.layout.tiers or not frame.height:
            continue
        raw = format.layout.split_carefully(frame["text"], tier)
        fits = _fits(raw)
        if fits.any():
            tidy, bad = _careful(_where(raw.with_columns(frame["line"]), fits), format)
            rows, late, instants = _with_time(tidy, format, zone)
            found.append(rows)
            refusals += bad + late
            naive, offsets = naive + instants.naive, offsets + instants.offsets
            frame = _where(frame, ~fits)
    for pattern, reason in (item for format in formats for item in format.skipped):
        hit = frame["text"].str.contains(pattern)
        refusals += [SkippedLine(line, "unreplayable", reason) for line in frame.filter(hit)["line"]]
        frame = frame.filter(~hit)
    comment = frame["text"].str.contains(BLANK)  # after all formats: what a line begins with may come from a client
    blank += int(comment.sum())
    refusals += [SkippedLine(line, "rejected", "layout") for line in frame["line"].filter(~comment)]
    rows, http3, untimed = _NO_ROWS, 0, 0
    if found:  # mostly nothing, where a format is looked for
        rows = pl.concat(found)
        others = rows.select("line", reason=other_protocol()).drop_nulls("reason")
        if others.height:
            refusals += [SkippedLine(line, "unreplayable", reason) for line, reason in others.iter_rows()]
            rows = rows.filter(~pl.col("line").is_in(others["line"].implode()))
        http3 = int(rows["protocol"].str.starts_with("HTTP/3").sum())
        if untimed := rows["latency"].null_count():
            rows = rows.with_columns(pl.col("latency").fill_null(0.0))
    if len(lines) != rows.height + len(refusals) + blank:
        raise AssertionError(f"{len(lines)} lines, but {rows.height} rows, {len(refusals)} refused, {blank} blank")
    rows = rows.sort("line") if len(found) > 1 else rows
    return ParsedBlock(rows, refusals, blank, naive, offsets, http3, untimed)


def _where(frame: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """The chosen rows; mostly all or none, which needs no copy."""
    return frame if chosen.all() else frame.filter(chosen) if chosen.any() else frame.clear()


def _fits(raw: pl.DataFrame) -> pl.Series:
    for name in ("rc", "url", "request", "op"):
        if name in raw.columns:
            return raw[name].is_not_null()
    raise AssertionError("a layout delivers the request")


def _numbers(raw: pl.DataFrame, format: Format) -> pl.DataFrame:
    """Raw fields that are numbers, null where they hold none; durations in seconds."""

    def seconds(name: str, unit: float | None) -> pl.Expr:
        if unit is None:  # texts with another unit than that of ``0.123s`` are a matter of the careful path
            return pl.col(name).str.extract("^([0-9.]+)s$").cast(pl.Float64, strict=False)
        if not _is_sum(raw[name]):
            return pl.col(name).cast(pl.Float64, strict=False) * unit
        pieces = pl.col(name).str.extract_all(r"-?[0-9.]+(?:[eE]-?[0-9]+)?").cast(pl.List(pl.Float64), strict=False)
        total = pieces.list.eval(pl.element().filter(pl.element() >= 0)).list.sum() * unit
        readable = pieces.list.eval(pl.element().is_null()).list.any().not_()
        if name == "first":  # without its last part: `values.first_byte`
            readable &= pl.col(name).str.contains(r"[\s,:/]-[0-9.]*\s*$").not_()
        return pl.when(readable).then(total).alias(name)

    counts = [pl.col(name).cast(pl.Int64, strict=False) for name in _COUNTS if name in raw.columns]
    units = (("total", format.total_unit), ("first", format.first_unit))
    return raw.select(*counts, *(seconds(name, unit) for name, unit in units if name in raw.columns))


def _are_readable(raw: pl.DataFrame, numbers: pl.DataFrame) -> pl.Series:
    """Which rows hold only numbers that the record allows; the others are a matter of the careful path."""
    readable = pl.repeat(True, raw.height, dtype=pl.Boolean, eager=True)
    if "op" in raw.columns:
        readable &= raw["op"].ne_missing("CONNECT")  # whose reason the careful path says
    if headers := [name for name in raw.columns if name.startswith(HEADER_SLOT)]:
        longest = LONGEST // 2  # with their names they may be too long, which the careful path says
        readable &= raw.select(pl.sum_horizontal(pl.col(headers).str.len_bytes()) <= longest).to_series()
    for number in numbers:
        good = number.is_between(0, _COUNTS.get(number.name, values.LONGEST_S), closed="left")
        if number.null_count():
            text = raw[number.name]
            absent = number.is_null() & (text.is_null() | text.is_in(["", "-"]))
            good = good.fill_null(False) | absent.fill_null(True)
        readable &= good
    return readable


def _typed(raw: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """Clean raw fields → rows without times; missing fields, and the latency without a response time, are null."""
    have = set(raw.columns)
    texts = pl.col(name for name in TEXTS if name in have and name != "body")
    blanks = (texts.str.starts_with(" ") | texts.str.ends_with(" ")).any()  # servers strip them off a header's value
    padded = raw.select(blanks).row(0, named=True) if have.intersection(TEXTS) - {"body"} else {}
    raw = pl.DataFrame({column.name: column for column in (*raw.get_columns(), *numbers.get_columns())})

    def number(name: str) -> pl.Expr:
        return pl.col(name).fill_null(0) if name in have else pl.lit(0, pl.Int64)

    def text(name: str) -> pl.Expr:
        if name not in have:
            return pl.lit(None, pl.String).alias(name)
        value = pl.col(name).str.strip_chars(" ") if padded.get(name) else pl.col(name)
        if name == "client":  # as `values.address`
            if raw[name].str.contains(":", literal=True).any():  # the regex is slow, and few logs have ports
                value = value.str.replace("^([^:]*):[^:]*$", "${1}")
            return pl.when(~value.is_in(["", "-", "unknown"])).then(value).alias(name)
        return pl.when(value != "-").then(value).alias(name)

    url = pl.col("url")
    if "query" in have:
        url = url + pl.col("query").fill_null("")
    if "args" in have:
        args = pl.col("args").fill_null("")
        unneeded = args.is_in(["", "-"]) | url.str.contains("?", literal=True)  # such as $request_uri beside $args
        url = url + pl.when(unneeded).then(pl.lit("")).otherwise("?" + args)
    total, first = (pl.col(name) if name in have else pl.lit(None, pl.Float64) for name in ("total", "first"))
    latency = pl.min_horizontal(first, total) if "first" in have else total
    xfertime = (total - latency).fill_null(0.0) if "first" in have else pl.lit(0.0)
    stamp = [name for name in ("day", "time") if name in have]
    columns = {
        "time": pl.concat_str(stamp, separator="T") if stamp else pl.lit(""),
        "latency": latency,
        "xfertime": xfertime,
        "bytes": number("bytes"),
        "url": url,
        "rc": number("rc"),
        "op": pl.col("op") if "op" in have else pl.lit("GET"),
        **{name: text(name) for name in TEXTS},
        HEADERS: _header_columns(raw.columns),
        "request_bytes": number("request_bytes") if "request_bytes" in have else pl.lit(None, pl.Int64),
    }
    return raw.select(expression.alias(name) for name, expression in columns.items())


def _is_sum(text: pl.Series) -> bool:
    """Durations logged in parts (``0.086 0.048 0.037``, ``10/0/30/69``); in a strict pattern all are, or none."""
    first = text.head(1) if text.head(1).null_count() == 0 else text.drop_nulls().head(1)
    return bool(len(first) and re.search(r"[ \t,/]", first[0]))


def _careful(raw: pl.DataFrame, format: Format) -> tuple[pl.DataFrame, list[SkippedLine]]:
    """Raw fields with escapes, lists, odd requests → rows without times."""
    rows: list[dict[str, Any]] = []
    refusals: list[SkippedLine] = []
    for row in raw.rows(named=True):
        try:
            rows.append(_tidy(row, format))
        except values.Unreplayable as reason:
            refusals.append(SkippedLine(row["line"], "unreplayable", str(reason)))
        except values.Rejected as reason:
            refusals.append(SkippedLine(row["line"], "rejected", str(reason)))
    schema = {name: dtype for name, dtype in ROW_SCHEMA.items() if name not in ("us", "whole", "fold", "back")}
    return pl.DataFrame(rows, schema={**schema, "time": pl.String}, orient="row"), refusals


def _tidy(row: dict[str, Any], format: Format) -> dict[str, Any]:
    decode = values.unescape if format.escaped else str

    def text(name: str) -> str:
        return decode(row.get(name) or "")

    total = values.seconds(row.get("total") or "", format.total_unit)
    first = values.first_byte(row.get("first") or "", format.first_unit)
    latency = min((value for value in (first, total) if value is not None), default=None)
    rc = values.status(row.get("rc") or "")
    sizes = values.count(row.get("bytes") or ""), values.count(row.get("request_bytes") or "")
    if row.get("request") is not None:
        request = values.request(text("request"))
    else:
        url, args = text("url"), text("args")
        query = text("query") or ("?" + args if args not in ("", "-") and "?" not in url else "")
        op = text("op") if "op" in row else "GET"
        request = values.parts(op, url + query, text("protocol"), rooted=format.rooted)
    agent = values.free_text(text("agent"))
    if agent.endswith(_DUMMY):
        raise values.Unreplayable(_DUMMY_REASON)
    return {
        "line": row["line"],
        "time": "T".join(filter(None, (row.get("day"), row.get("time")))),
        "latency": latency,
        "xfertime": max((total or 0.0) - (latency or 0.0), 0.0),
        "bytes": sizes[0],
        "url": request.url,
        "rc": rc,
        "op": request.op,
        "client": values.address(text("client")) or None,
        "host": request.host or values.free_text(text("host")) or None,
        "user": values.free_text(text("user")) or None,
        "referer": values.free_text(text("referer")) or None,
        "agent": agent or None,
        "protocol": values.free_text(request.protocol) or None,
        "body": values.raw_bytes(text("body")) or None,
        HEADERS: _headers(row, decode),
        "request_bytes": sizes[1] if "request_bytes" in row else None,
    }


def _header_columns(columns: Sequence[str]) -> pl.Expr:
    """The headers in clean raw fields as one text."""
    slots = [name for name in columns if name.startswith(HEADER_SLOT)]
    if not slots:
        return pl.lit(None, pl.String)
    texts = (pl.col(slot).str.strip_chars(" ") for slot in slots)
    lines = [
        pl.lit(f"{_header_name(slot)}: ") + pl.when(~text.is_in(["", "-"])).then(text)
        for slot, text in zip(slots, texts, strict=True)
    ]
    joined = pl.concat_str(lines, separator="\t", ignore_nulls=True)
    return pl.when(joined != "").then(joined)


def _headers(row: dict[str, Any], decode: Callable[[str], str]) -> str | None:
    """The headers in raw fields with escapes as one text."""
    slots = [name for name in row if name.startswith(HEADER_SLOT)]
    if not slots:
        return None
    found = ((_header_name(slot), values.free_text(decode(row[slot] or ""))) for slot in slots)
    try:
        return header_text((name, value) for name, value in found if value)
    except HeadersTooLong as error:
        raise values.Rejected(str(error)) from None


def _header_name(slot: str) -> str:
    """``header_x_csrf_token`` → ``X-Csrf-Token``."""
    return slot.removeprefix(HEADER_SLOT).replace("_", "-").title()


def _decoded(agents: pl.Series, coding: str) -> pl.Series:
    """User agents, decoded."""
    if coding == "plus":
        return agents.str.replace_all("+", " ", literal=True)
    distinct = agents.unique().drop_nulls()
    plain = [values.free_text(unquote(unquote(text, "latin-1"), "latin-1")) for text in distinct]
    return agents.replace_strict(distinct, pl.Series(plain, dtype=pl.String), default=None)


def _with_time(
    rows: pl.DataFrame, format: Format, zone: str
) -> tuple[pl.DataFrame, list[SkippedLine], timestamps.Instants]:
    instants = timestamps.read(rows["time"], format.stamp, zone)
    if format.agent_coding:
        rows = rows.with_columns(_decoded(rows["agent"], format.agent_coding))
    taken = ((pl.col("latency").fill_null(0.0) + pl.col("xfertime")) * timestamps.SECOND).round().cast(pl.Int64)
    read = {
        "us": instants.us,
        "whole": instants.whole,
        "fold": pl.lit(0, pl.Int64) if instants.fold is None else instants.fold.fill_null(0),
        "back": taken if format.stamp.at == "end" else pl.lit(0, pl.Int64),
    }
    timed = rows.select(**{name: read.get(name, pl.col(name)) for name in ROW_SCHEMA})
    if not timed["us"].null_count():
        return timed, [], instants
    bad = timed["us"].is_null()
    refusals = [SkippedLine(line, "rejected", "time stamp") for line in timed.filter(bad)["line"]]
    return timed.filter(~bad), refusals, instants
