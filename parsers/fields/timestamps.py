"""Parses time stamps to microseconds since 1970, UTC, and writes the two time columns of the normalized record.

Whole columns at a time: a stamp of whole seconds repeats from line to line, so only its distinct values are parsed.
"""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import polars as pl

Times = np.ndarray[Any, np.dtype[np.int64]]
Letters = np.ndarray[Any, np.dtype[np.uint8]]
Kind = Literal["clf", "iso", "epoch", "pattern", "any", "none"]

SECOND: Final = 1_000_000
"""Microseconds."""

_CLF: Final = (
    r"^\s*\[?([0-9]{1,2}/[A-Za-z]{3}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.([0-9]{1,9}))? ?(Z|[+-][0-9]{2}:?[0-9]{2})?\]?\s*$"
)
_ISO: Final = (
    r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt \t]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,]([0-9]{1,9}))? ?(Z|z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?\s*$"
)
_OFFSET: Final = r"([+-][0-9]{2}:?[0-9]{2}|Z)\s*$"
_CLF_DIGITS: Final = [0, 1, 7, 8, 9, 10, 12, 13, 15, 16, 18, 19, 22, 23, 24, 25]
_CLF_SIGNS: Final = [2, 6, 11, 14, 17, 20]
_BASE_256: Final = np.array([65536, 256, 1])
_BY_NAME: Final = sorted(
    (int.from_bytes(name.encode()), number)
    for number, name in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
)
_MONTHS: Final = np.array([name for name, _ in _BY_NAME])
_MONTH_NUMBER: Final = np.array([number for _, number in _BY_NAME])
_WIDTH: Final = len("2026-11-20,23:30:37.000000")
_THOUSAND: Final = np.frombuffer("".join(f"{n:03}\0\0\0\0\0" for n in range(1000)).encode(), "<u8")
"""Three digits each, in the low bytes; OR-ed over ``000``, whose bits they have."""
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
"""The years 1 to 9999."""
_EARLIEST: Final = -30_610_224_000 * SECOND
_LATEST: Final = 253_370_678_400 * SECOND
"""Stamps of the years 1000 to 9998 are read: a request that began some years before its stamp, or a stamp moved by its
time zone, still has a date that every reader of the CSV can hold."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The notation of a log's time stamps, and their meaning.

    Attributes:
        kind: ``clf`` (``20/Nov/2026:23:30:37 +0530``), ``iso`` (ISO 8601, also with a blank and a decimal comma),
            ``epoch`` (a number), ``pattern`` (as strftime, see ``pattern``), ``any`` (one of the first three, each
            value by itself; the unit of an epoch by its size), ``none`` (the log has no times).
        at: the server stamps a request when it begins (``start``) or when it is done (``end``).
        unit: length of an epoch's unit, microseconds.
        pattern: for ``pattern``, in the words of Rust's chrono.
        zone: time zone of stamps without an offset by the format's own rules; empty: none.
        day: the date of all stamps, where they hold only the time of day.
    """

    kind: Kind
    at: Literal["start", "end"] = "start"
    unit: int = SECOND
    pattern: str = ""
    zone: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True)
class Instants:
    """A column of stamps as read.

    Attributes:
        us: microseconds since 1970, UTC; null where the text is not a time.
        whole: the stamp has no digits below a second.
        naive: number of stamps without a zone.
        fold: for a stamp without zone in an hour that its clock ran through twice, how much later the second pass is,
            microseconds (``us`` is the first pass); otherwise 0. None: 0 for all.
        offsets: their different offsets from UTC, as they are written: ``+0100``, ``+02:00``, ``Z``.
    """

    us: pl.Series
    whole: pl.Series
    naive: int
    fold: pl.Series | None = None
    offsets: tuple[str, ...] = ()


def read_clf(letters: Letters) -> tuple[Times, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Read stamps like ``20/Nov/2026:23:30:37 +0530``, each a row of 26 letters, in a tenth of the time of `read`.

    Also return whether each row is a stamp that `read` takes.
    """
    digits = letters.astype(np.int64) - ord("0")
    good = ((digits >= 0) & (digits <= 9))[:, _CLF_DIGITS].all(axis=1)
    good &= (letters[:, _CLF_SIGNS] == np.frombuffer(b"//::: ", np.uint8)).all(axis=1)
    sign = letters[:, 21]
    good &= (sign == ord("+")) | (sign == ord("-"))
    name = letters[:, 3:6].astype(np.int64) @ _BASE_256
    order = np.searchsorted(_MONTHS, name).clip(max=11)
    good &= _MONTHS[order] == name
    two = digits[:, :-1] * 10 + digits[:, 1:]
    day, hour, minute, second = two[:, 0], two[:, 12], two[:, 15], two[:, 18]
    months = (two[:, 7] * 100 + two[:, 9] - 1970) * 12 + _MONTH_NUMBER[order]
    days, following = ((months + n).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for n in (0, 1))
    good &= (day >= 1) & (day <= following - days) & (hour < 24) & (minute < 60) & (second < 60)
    good &= (two[:, 22] < 24) & (two[:, 24] < 60)
    offset = np.where(sign == ord("-"), -1, 1) * (two[:, 22] * 60 + two[:, 24])
    us = ((days + day - 1) * 86_400 + hour * 3600 + (minute - offset) * 60 + second) * SECOND
    return us, good & (us >= _EARLIEST) & (us < _LATEST)


def read(text: pl.Series, stamp: Stamp, zone: str) -> Instants:
    """Read a column of stamps; ``zone`` is that of stamps without an offset, unless their format implies one."""
    found = _read(text, stamp, stamp.zone or zone or "UTC")
    outside = ~found.us.is_between(_EARLIEST, _LATEST, closed="left")
    if outside.any():
        found = replace(found, us=found.us.set(outside.fill_null(False), None))
    return replace(found, naive=0) if stamp.zone else found


def _read(text: pl.Series, stamp: Stamp, zone: str) -> Instants:
    if stamp.kind == "none":
        return Instants(pl.zeros(len(text), pl.Int64, eager=True), pl.repeat(False, len(text), eager=True), 0)
    if stamp.day:
        text = stamp.day + "T" + text
    if stamp.kind == "any":
        return _any(text, zone)
    if stamp.kind == "epoch":
        us = _epoch(text, stamp.unit)
        whole = text.str.contains(".", literal=True).not_() if stamp.unit == SECOND else None
        return Instants(us, pl.repeat(False, len(text), eager=True) if whole is None else whole, 0)
    if stamp.kind == "pattern":
        return _by_pattern(text, stamp.pattern, zone)
    assert stamp.kind in ("clf", "iso")
    run = text.rle_id().to_numpy()
    runs = text[np.flatnonzero(np.diff(run, prepend=-1))]
    if len(runs) > len(text) // 2:
        return _read_distinct(text, stamp.kind, zone)
    known = _read_distinct(runs, stamp.kind, zone)
    folds = {} if known.fold is None else {"fold": known.fold}
    each = pl.DataFrame({"us": known.us, "whole": known.whole, **folds})[run]
    return Instants(each["us"], each["whole"], known.naive, each["fold"] if folds else None, known.offsets)


def _read_distinct(text: pl.Series, kind: Kind, zone: str) -> Instants:
    parts = text.str.extract_groups(_CLF if kind == "clf" else _ISO).struct.unnest()
    if kind == "clf":
        moment, pattern = pl.col("1"), "%d/%b/%Y:%H:%M:%S"
        fraction, offset = pl.col("2"), pl.col("3")
    else:
        moment, pattern = pl.col("1") + "T" + pl.col("2"), "%Y-%m-%dT%H:%M:%S"
        fraction, offset = pl.col("3"), pl.col("4")
    local = moment.str.to_datetime(pattern, time_unit="us", strict=False)
    micros = fraction.str.slice(0, 6).str.pad_end(6, "0").cast(pl.Int64, strict=False).fill_null(0)
    read = parts.select(
        local=local,
        us=local.to_physical() - _offset(offset) + micros,
        micros=micros,
        whole=fraction.is_null(),
        naive=offset.is_null() & local.is_not_null(),
    )
    us, naive = read["us"], read["naive"]
    offsets = tuple(parts.filter(us.is_not_null()).select(offset.unique(maintain_order=True)).to_series().drop_nulls())
    if not naive.any():
        return Instants(us, read["whole"], 0, offsets=offsets)
    here, twice = _in_zone(read["local"], zone)
    fold = twice * naive.cast(pl.Int64) if (twice != 0).any() else None
    return Instants(us.zip_with(~naive, here + read["micros"]), read["whole"], int(naive.sum()), fold, offsets)


def plain_offset(text: str) -> str:
    """An offset from UTC in one of its notations: ``+05:30`` → ``+0530``; ``Z``, ``GMT`` and ``-0000`` → ``+0000``."""
    digits = text.replace(":", "")
    return digits if digits.startswith(("+", "-")) and digits != "-0000" else "+0000"


def _offset(text: pl.Expr) -> pl.Expr:
    """``+05:30`` → microseconds; 0 for ``Z`` and where there is none; null where no clock can have it (``+9999``)."""
    hours, minutes = (part.cast(pl.Int64, strict=False) for part in (text.str.slice(1, 2), text.str.slice(-2)))
    size = (hours * 60 + minutes) * (60 * SECOND)
    signed = pl.when(text.str.starts_with("-")).then(-size).otherwise(size).fill_null(0)
    return pl.when((hours > 23) | (minutes > 59)).then(None).otherwise(signed)


def _in_zone(local: pl.Series, zone: str) -> tuple[pl.Series, pl.Series]:
    """Wall-clock times of a zone → microseconds UTC, and how much later a second pass of that hour is (mostly 0).

    An instant that the zone's clock skips is read with the offset in force before the change, as clocks that were set
    late would show it.
    """

    def utc(moment: pl.Expr, ambiguous: Literal["earliest", "latest"]) -> pl.Expr:
        there = moment.dt.replace_time_zone(zone, ambiguous=ambiguous, non_existent="null")
        return there.dt.convert_time_zone("UTC").dt.replace_time_zone(None)

    day = pl.duration(days=1)  # the most that a clock skipped
    first, second = utc(pl.col("t"), "earliest"), utc(pl.col("t"), "latest")
    skipped = utc(pl.col("t") - day, "earliest") + day
    frame = local.to_frame("t").select(us=pl.coalesce(first, skipped), fold=(second - first))
    return frame["us"].to_physical(), frame["fold"].dt.total_microseconds().fill_null(0)


def _epoch(text: pl.Series, unit: int) -> pl.Series:
    """A double holds microseconds since 1970 exactly until the year 2255."""
    us = (text.cast(pl.Float64, strict=False) * unit).round()
    return us.set(~us.is_between(_FIRST_SECOND * SECOND, _LAST_SECOND * SECOND), None).cast(pl.Int64)


def _any(text: pl.Series, zone: str) -> Instants:
    """Parse each value by its own notation; mostly all share one."""
    kinds: tuple[Kind, ...] = ("epoch", "iso", "clf")
    found: list[Instants] = []
    for kind in kinds:
        found.append(_sized_epoch(text) if kind == "epoch" else _read(text, Stamp(kind), zone))
        if not found[-1].us.null_count():
            return found[-1]
    us = pl.select(pl.coalesce(part.us for part in found)).to_series()
    whole = pl.select(pl.any_horizontal(part.us.is_not_null() & part.whole for part in found)).to_series()
    folds = [part.fold for part in found if part.fold is not None]
    fold = pl.select(pl.max_horizontal(folds)).to_series() if folds else None
    return Instants(us, whole, sum(part.naive for part in found), fold, found[1].offsets + found[2].offsets)


def sized_epoch(number: pl.Expr) -> pl.Expr:
    """Numbers of seconds to nanoseconds since 1970 → microseconds; null before 1973. Their size tells the unit."""
    scale = pl.when(number < 1e11).then(SECOND).when(number < 1e14).then(1000).when(number < 1e17).then(1)
    us = (number.cast(pl.Float64) * scale.otherwise(1e-3)).round()
    return pl.when(number.is_between(1e8, 1e19, closed="left")).then(us).cast(pl.Int64, strict=False)


def _sized_epoch(text: pl.Series) -> Instants:
    digits = pl.col("text").str.extract(r"^([0-9]{9,19}(?:\.[0-9]+)?)$")
    number = pl.col("number")
    read = (
        text.to_frame("text")
        .select(number=digits.cast(pl.Float64, strict=False), point=pl.col("text").str.contains(".", literal=True))
        .select(
            us=sized_epoch(number),
            whole=((number < 1e11) & ~pl.col("point")).fill_null(False),
        )
    )
    return Instants(read["us"], read["whole"], 0)


def _by_pattern(text: pl.Series, pattern: str, zone: str) -> Instants:
    """By patterns as of chrono, the first of several (between ``|``) that fits."""
    digits = pl.repeat("f" in pattern, len(text), eager=True)
    whole = ~digits if "%.f" not in pattern else ~text.str.contains(".", literal=True).fill_null(False)
    zoned = "%z" in pattern
    found = [
        text.str.to_datetime(one, time_unit="us", strict=False, time_zone="UTC" if zoned else None)
        for one in pattern.split("|")
    ]
    moment = pl.select(pl.coalesce(found)).to_series()
    if zoned:
        offsets = text.str.extract(_OFFSET).unique(maintain_order=True).drop_nulls()
        return Instants(moment.to_physical(), whole, 0, offsets=tuple(offsets))
    us, fold = _in_zone(moment, zone)
    return Instants(us, whole, int(moment.is_not_null().sum()), fold if (fold != 0).any() else None)


def columns(us: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Microseconds since 1970 → the columns ``date`` (``YYYY-MM-DD``) and ``time`` (``HH:MM:SS.ffffff``)."""
    lines = np.full((len(us), _WIDTH + 1), ord("\n"), np.uint8)
    write(us.to_numpy(), lines.reshape(-1), np.arange(0, lines.size, _WIDTH + 1))
    text = pl.read_lines(lines.tobytes()).to_series()
    return text.str.head(10).alias("date"), text.str.tail(15).alias("time")


def write(us: Times, text: "memoryview | Letters", places: Times) -> None:
    """Write microseconds since 1970 as a CSV has date and time, ``YYYY-MM-DD,HH:MM:SS.ffffff``, at places in a text.

    Eight letters at a time, down to the second once a run of equal seconds, the rest by table look-up: a strftime of
    every row would take as long as all the rest of a conversion.
    """
    if not len(us):
        return
    us = us.clip(_FIRST_SECOND * SECOND, _LAST_SECOND * SECOND)
    seconds = us // SECOND
    micros = us - seconds * SECOND
    runs = np.flatnonzero(np.diff(seconds, prepend=_FIRST_SECOND - 1))
    counts = np.diff(runs, append=len(us))
    heads = np.char.replace(np.datetime_as_string(seconds[runs].astype("datetime64[s]"), unit="s"), "T", ",")
    letters = np.char.add(heads, ".000000").astype(f"S{_WIDTH}")
    eight = np.ndarray(len(text) - 7, "<u8", text, 0, (1,))
    for offset in (0, 2, 10):
        eight[places + offset] = np.repeat(_octets(letters, offset), counts)
    fraction = _THOUSAND[micros // 1000] << np.uint64(16) | _THOUSAND[micros % 1000] << np.uint64(40)
    eight[places + 18] = np.repeat(_octets(letters, 18), counts) | fraction


def _octets(letters: np.ndarray[Any, np.dtype[np.bytes_]], offset: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Eight letters of each text, as one number."""
    return np.ndarray(len(letters), "<u8", letters, offset, (_WIDTH,))
