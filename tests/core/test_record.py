"""Instants of rows: those read by position are the same as those read by format, and no others are found."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.record import start_time

DATES = st.one_of(
    st.dates().map(str),
    st.sampled_from(["2024-02-29", "2023-02-29", "9999-12-31", "0000-01-01", "2026-13-01", "2026-1-1", " 2026-01-01"]),
    st.text("0123456789-+ ", max_size=11),
)
TIMES = st.one_of(
    st.times().map(lambda time: f"{time:%H:%M:%S.%f}"),
    st.times().map(str),
    st.sampled_from(["23:59:60.500000", "24:00:00.000000", "12:34:56.1234567", "12:34:56.123456Z", "12:34:56,123456"]),
    st.text("0123456789:. ", max_size=16),
)


def by_format() -> pl.Expr:
    """The rule: each text is parsed as it says."""
    date = pl.when(~pl.col("date").str.contains(r"^\s*(?:[-+]|0+-|9999)")).then("date")
    text = date + "T" + pl.col("time")
    return text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False).alias("start")


@given(rows=st.lists(st.tuples(st.none() | DATES, st.none() | TIMES), min_size=1, max_size=40))
@settings(max_examples=150, deadline=None)
def test_instants_read_by_position_are_those_read_by_format(rows: list[tuple[str | None, str | None]]) -> None:
    frame = pl.DataFrame(rows, {"date": pl.String, "time": pl.String}, orient="row")
    assert frame.select(start_time()).equals(frame.select(by_format()))
    assert frame.lazy().select(start_time()).collect(engine="streaming").equals(frame.select(by_format()))
