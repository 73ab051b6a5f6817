"""Reads result logs of Play-it-Again-Sam as result rows, and per-second tables of it and of logreplay.

Its result log is separated by blanks, without a header of names: date time latency xfertime sleeptime bytes url rc op
[rate [expected]]; rows come in order of completion with the time of the start. The rate is that at *completion*, so
a step begins when its rate is first seen. Times are local and without a zone: taken as UTC. Copies saved by a
spreadsheet have tabs or commas instead.

Source: the programs and data of Play-it-Again-Sam (2017 to 2025).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.downcast import LONGEST_RUN_S
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.core.errors import LogreplayError
from logreplay.core.plural import number_of
from logreplay.core.record import REASON, SCHEMA
from logreplay.core.rows import check_name

_TRANSPORT_ERROR: Final = 444
_DATES: Final = ("%Y-%m-%d", "%d-%b-%Y", "%d/%b/%Y", "%Y-%b-%d", "%Y/%m/%d")
_NUMBER: Final = r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?"
_WHEN: Final = r"^\s*(?<date>[0-9]+[-/][0-9A-Za-z]+[-/][0-9]+){s}(?<time>[0-9:.]+)"
_ROW: Final = (
    _WHEN + r"{s}(?<latency>{n}){s}(?<xfertime>{n}){s}(?<thinktime>{n}){s}(?<bytes>[0-9,]+){s}"
    r"(?<url>[^\s]+?){s}(?<rc>-?[0-9]+){s}(?<op>[A-Z]+)(?:{s}(?<offered>[0-9.]+))?(?:{s}+expected(?:RC)?=(?<expected>[0-9]+))?"
)
_SECOND: Final = (
    _WHEN + r"{s}(?<latency>{n}){s}(?<xfertime>{n}){s}(?<thinktime>{n}){s}(?<bytes>[0-9,]+){s}(?<requests>[0-9]+)"
    r"(?:{s}(?<errors>[0-9]+))?\s*$"
)
_SECONDS_CSV: Final = r"^second,offered,sent,|^[0-9]+,[0-9]+,[0-9]*,[0-9]*,[0-9]+,-?[0-9]*,[0-9.e-]*,"
_COPY: Final = "the short form of a request that has its long form as well"
_SAME: Final = ("start", "latency", "xfertime", "url", "op")
"""Values that both forms of a request share."""
_SHORTEST_STEP_S: Final = 1.0
"""Seconds; times may be whole seconds."""
_RATE: Final = r"^#\s*(?:TPS|request/second)\s*=\s*([0-9.]+)"


def result_rows(path: Path) -> pl.DataFrame | None:
    """Read a result log of Play-it-Again-Sam as rows of a result log; None if the file is none.

    A line that is neither a row nor a comment becomes an empty row with a `REASON`, after the others. Gets of S3 were
    written twice, in a short form without the rate and in a long one; such a short form becomes an empty row, too.
    """
    lines = _lines(path, _ROW)
    if lines is None:
        return None
    rate = pl.col("line").str.extract(_RATE).cast(pl.Float64, strict=False).forward_fill()
    lines = lines.with_columns(rate.alias("said")).filter(_data())
    fields = pl.col("line").str.extract_groups(_filled(_ROW, lines)).alias("field")
    rows = lines.lazy().select("number", "said", fields).unnest("field")
    refused = lines.filter(rows.select(_start().is_null()).collect().to_series())
    frame = (
        rows.select(
            _start().alias("start"),
            *(pl.col(name).cast(pl.Float64, strict=False) for name in ("latency", "xfertime", "thinktime")),
            pl.col("bytes").str.replace_all(",", "").cast(pl.Int64, strict=False),
            "url",
            pl.col("rc").cast(pl.Int64, strict=False),
            "op",
            "number",
            offered=pl.coalesce(pl.col("offered").cast(pl.Float64, strict=False), "said").replace(0.0, None),
            long=pl.col("offered").is_not_null(),
            expected_rc=pl.col("expected").cast(pl.Int64, strict=False),
        )
        .filter(pl.col("start").is_not_null())
        .with_columns(copy=~pl.col("long") & ((~pl.col("long")).cum_sum() <= pl.col("long").sum()).over(_SAME))
        .with_columns(
            # it says so where they differ, but not in old versions: a 5xx is a failure then
            expected_rc=pl.coalesce("expected_rc", pl.when(pl.col("rc") < 500).then("rc")),
            rc=pl.when((pl.col("rc") > 0) & (pl.col("rc") != _TRANSPORT_ERROR)).then("rc").otherwise(0),
            scheduled=(pl.col("start") - pl.col("start").min()).dt.total_microseconds() / 1e6,
            date=pl.col("start").dt.strftime("%Y-%m-%d"),
            time=pl.col("start").dt.strftime("%H:%M:%S%.6f"),
        )
        .collect()
    )
    copies = frame.filter("copy")
    frame = _with_steps(frame.filter(~pl.col("copy"))).drop("start", "number", "long", "copy")
    left_out = _refused(refused, "not a row of Play-it-Again-Sam"), _refused(copies, _COPY)
    return pl.concat([frame, *left_out], how="diagonal")


def lost(unreadable: Mapping[str, int]) -> dict[str, int]:
    """The rows that are left out, by reason, without short forms of requests whose long form is read."""
    return {reason: count for reason, count in unreadable.items() if not reason.startswith(_COPY)}


def _refused(lines: pl.DataFrame, why: str) -> pl.DataFrame:
    """Rows in the place of lines that are left out."""
    first = lines.select(pl.col("number").min()).item()
    return lines.with_columns(pl.lit(f"{why} (first in line {first})").alias(REASON)).select(REASON)


def seconds_table(path: Path) -> pl.DataFrame | None:
    """Read a per-second table, of Play-it-Again-Sam or logreplay, as the table of `buckets.seconds`; None for others.

    It has a row for every second from the first to the last; only means of the response time are known.
    """
    lines = _lines(path, _SECOND)
    if lines is None:
        return _seconds_csv(path) if _lines(path, _SECONDS_CSV) is not None else None
    lines = lines.filter(_data())
    texts = lines.select("number", "line", pl.col("line").str.extract_groups(_filled(_SECOND, lines)).alias("field"))
    texts = texts.unnest("field").with_columns(pl.col("errors").fill_null("0"))
    known = texts.select(
        "number",
        "line",
        start=_start(),
        offered=pl.col("requests").cast(pl.Int64, strict=False),
        errors=pl.col("errors").cast(pl.Int64, strict=False),
        mean=pl.col("latency").cast(pl.Float64, strict=False) + pl.col("xfertime").cast(pl.Float64, strict=False),
        bytes=pl.col("bytes").str.replace_all(",", "").cast(pl.Int64, strict=False),
    )
    for number, line, *_ in known.filter(pl.any_horizontal(pl.all().is_null())).iter_rows():
        raise LogreplayError(
            f"{path}: line {number} is not a second of this table: {line[:120]!r}; correct or delete it"
        )
    if known.is_empty():
        return None
    known = known.with_columns(second=(pl.col("start") - pl.col("start").min()).dt.total_seconds())
    _check_seconds(path, known)
    every = pl.DataFrame({"second": np.arange(int(known["second"].max()) + 1)})  # type: ignore[arg-type]
    table = every.join(known.drop("number", "line", "start"), on="second", how="left", maintain_order="left")
    return table.with_columns(pl.col("offered", "errors", "bytes").fill_null(0))


def _check_seconds(path: Path, rows: pl.DataFrame) -> None:
    """Refuse a second that two lines hold (copies, parts, or a clock put back), and one too far from the first."""
    rows = rows.select("second", "number").sort("second", "number")
    (first, number), (last, last_number) = rows.row(0), rows.row(-1)
    if last - first > LONGEST_RUN_S:
        raise LogreplayError(
            f"{path}: line {last_number} is {(last - first) // 86_400:,} days after line {number}, expected at most "
            f"{LONGEST_RUN_S // 86_400} days: correct or delete one of them"
        )
    again = rows.with_columns(before=pl.col("number").shift()).filter(pl.col("second").diff() == 0)
    for _, number, before in again.head(1).iter_rows():
        further = f", and {number_of(again.height - 1, 'line')} more like it" * (again.height > 1)
        raise LogreplayError(
            f"{path}: line {number} is the same second as line {before}{further}: merge such lines or delete one of "
            "two; where a clock was put back, analyse the lines before and after it apart"
        )


def _seconds_csv(path: Path) -> pl.DataFrame | None:
    """A per-second table of logreplay; a column that is empty throughout holds numbers as well."""
    with path.open("rb") as file:
        table = pl.read_csv(file, infer_schema_length=None)
    needed = ("second", "offered", "errors", "mean")
    if not {*needed} <= set(table.columns):
        return None
    empty = [column.name for column in table if column.null_count() == table.height]
    table = table.with_columns(pl.col(empty).cast(pl.Float64), number=pl.int_range(2, pl.len() + 2))
    for name in (*needed, *({"dropped"} & {*table.columns})):
        kind = pl.Float64 if name == "mean" else pl.Int64
        may_lack = pl.lit(name != "second") & pl.col(name).is_null()
        for number, value in (
            table.filter(pl.col(name).cast(kind, strict=False).is_null() & ~may_lack).select("number", name).iter_rows()
        ):
            said = "empty" if value is None else repr(value)
            raise LogreplayError(f"{path}: line {number}: {name} is {said}, expected a number; correct or delete it")
    if table.height:
        _check_seconds(path, table)
    return table.drop("number")


def _lines(path: Path, form: str) -> pl.DataFrame | None:
    """The lines of a text file that are not empty, with their numbers, if most of the first rows have this form."""
    check_name(path)
    try:
        with path.open("rb") as file:
            lines = pl.scan_csv(
                file,
                has_header=False,
                separator="\x01",
                quote_char=None,
                infer_schema=False,
                new_columns=["line"],
                truncate_ragged_lines=True,
                encoding="utf8-lossy",
            )
            lines = lines.with_row_index("number", 1).select("line", "number").drop_nulls()
            head = lines.filter(_data()).head(50).collect()
            alike = int(head["line"].str.contains(_filled(form, head)).sum()) if head.height else 0
            return lines.collect() if alike > head.height / 2 else None
    except (OSError, pl.exceptions.PolarsError):
        return None


def _data() -> pl.Expr:
    return ~pl.col("line").str.starts_with("#") & (pl.col("line").str.strip_chars() != "")


def _separator(lines: pl.DataFrame) -> str:
    text = str(lines.filter(_data()).item(0, 0))
    if "\t" in text:
        return r"\t"
    return "," if "," in text and " " not in text else " "


def _filled(pattern: str, lines: pl.DataFrame) -> str:
    return pattern.replace("{s}", _separator(lines)).replace("{n}", _NUMBER)


def _start() -> pl.Expr:
    text = pl.col("date") + "T" + pl.col("time")
    return pl.coalesce(text.str.to_datetime(f"{date}T%H:%M:%S%.f", time_unit="us", strict=False) for date in _DATES)


def _with_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Give each request the step that was running when it *started*; the file says which was when it ended.

    A step begins where requests first end with a new rate that lasts: around a change, requests of both rates end in
    any order.
    """
    start, offered = frame["scheduled"].to_numpy(), frame["offered"].to_numpy()
    end = start + frame["latency"].to_numpy() + frame["xfertime"].to_numpy()
    known = np.argsort(end, kind="stable")[: np.count_nonzero(~np.isnan(end))]
    known = known[~np.isnan(offered[known])]
    begins, rates = _changes(end[known], offered[known])
    lasting = np.diff(begins, append=np.inf) >= _SHORTEST_STEP_S
    begins, rates = _changes(begins[lasting], rates[lasting])
    if len(rates) < 2:
        return frame.with_columns(step=pl.lit(0, SCHEMA["step"]))
    step = np.searchsorted(begins[1:], start, side="right")
    return frame.with_columns(step=pl.Series(step), offered=pl.Series(rates[step]))


def _changes(at: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """The times at which the rate changes, and the new rates."""
    new = np.diff(rates, prepend=np.nan) != 0
    return at[new], rates[new]
