"""Stamps become instants, and instants the columns date and time."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.fields.timestamps import Kind, Stamp, columns, read

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1000, 1, 2), datetime(9998, 12, 30), timezones=st.just(UTC))


def instants(*texts: str | None, stamp: Stamp, zone: str = "") -> list[str | None]:
    us = read(pl.Series(texts, dtype=pl.String), stamp, zone).us
    return [None if value is None else str(EPOCH.replace(tzinfo=None) + timedelta(microseconds=value)) for value in us]


@pytest.mark.parametrize(
    ("kind", "text", "utc"),
    [
        ("clf", "20/Nov/2026:23:30:37 +0530", "2026-11-20 18:00:37"),
        ("clf", "20/Nov/2026:23:30:37 -0000", "2026-11-20 23:30:37"),
        ("clf", "20/nov/2026:23:30:37 +0545", "2026-11-20 17:45:37"),
        ("clf", "[20/Nov/2026:23:30:37 +0000]", "2026-11-20 23:30:37"),
        ("iso", "2026-11-20T23:30:37+05:30", "2026-11-20 18:00:37"),
        ("iso", "2026-11-20 23:30:37,123", "2026-11-20 23:30:37.123000"),
        ("iso", "2026-11-20T23:30:37.123456789Z", "2026-11-20 23:30:37.123456"),
        ("epoch", "1795197536.268", "2026-11-20 17:58:56.268000"),
        ("any", "1795197536268", "2026-11-20 17:58:56.268000"),
        ("any", "1795197536268123", "2026-11-20 17:58:56.268123"),
        ("any", "1795197536", "2026-11-20 17:58:56"),
        ("any", "20/Nov/2026:23:30:37 +0530", "2026-11-20 18:00:37"),
        ("any", "2026-11-20T23:30:37.5Z", "2026-11-20 23:30:37.500000"),
        ("clf", "31/Feb/2026:23:30:37 +0000", None),
        ("clf", "29:23:53:25", None),
        ("iso", "yesterday", None),
        ("epoch", "nan", None),
        ("epoch", "1e300", None),
        ("any", "", None),
    ],
)
def test_stamps(kind: Kind, text: str, utc: str | None) -> None:
    assert instants(text, stamp=Stamp(kind)) == [utc]


def test_a_stamp_without_zone_is_read_in_the_zone_that_is_said() -> None:
    stamp = Stamp("iso")
    assert instants("2026-07-01T12:00:00", "2026-01-01T12:00:00Z", stamp=stamp, zone="Europe/Berlin") == [
        "2026-07-01 10:00:00",
        "2026-01-01 12:00:00",
    ]
    assert read(pl.Series(["2026-07-01T12:00:00", "2026-01-01T12:00:00Z"]), stamp, "").naive == 1


def test_an_hour_that_the_clock_skips_is_read_as_if_it_had_not() -> None:
    for zone, utc in (("Europe/Berlin", "01:30:00"), ("Antarctica/Troll", "02:30:00")):  # Troll skips two hours
        assert instants("2026-03-29T02:30:00", stamp=Stamp("iso"), zone=zone) == [f"2026-03-29 {utc}"]


def test_an_hour_that_comes_twice_is_marked() -> None:
    found = read(pl.Series(["2026-10-25T02:30:00", "2026-10-25T03:30:00"]), Stamp("iso"), "Europe/Berlin")
    assert found.fold is not None
    assert found.fold.to_list() == [3_600_000_000, 0]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%Y-%m-%d %H:%M:%S.%6f", "2026-11-20 17:58:56.268123"),
        ("%d/%b/%Y:%H:%M:%S%.3f", "20/Nov/2026:17:58:56.268"),
        ("%Y-%m-%dT%H:%M:%S.%3f%z", "2026-11-20T18:58:56.268+0100"),
    ],
)
def test_patterns_of_the_users_own(pattern: str, text: str) -> None:
    (found,) = instants(text, stamp=Stamp("pattern", pattern=pattern))
    assert found is not None
    assert found.startswith("2026-11-20 17:58:56.268")


@given(st.lists(MOMENTS))
def test_the_columns_say_the_instant_to_the_microsecond(moments: list[datetime]) -> None:
    date, time = columns(
        pl.Series([(moment - EPOCH) // timedelta(microseconds=1) for moment in moments], dtype=pl.Int64)
    )
    assert date.to_list() == [moment.strftime("%Y-%m-%d").zfill(10) for moment in moments]
    assert time.to_list() == [moment.strftime("%H:%M:%S.%f") for moment in moments]


@given(st.lists(MOMENTS), st.integers(-14 * 60, 14 * 60))
def test_clf_and_iso_are_read_whatever_the_offset(moments: list[datetime], minutes: int) -> None:
    offset = timedelta(minutes=minutes)
    sign = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"
    local = [(moment + offset).replace(microsecond=0) for moment in moments]
    expected = [(moment - offset - EPOCH) // timedelta(microseconds=1) for moment in local]
    clf = [f"{m:%d/%b/}{m.year:04}{m:%H:%M:%S}".replace(f"{m.year:04}", f"{m.year:04}:", 1) + f" {sign}" for m in local]
    iso = [f"{m.year:04}-{m:%m-%dT%H:%M:%S}{sign}" for m in local]
    assert read(pl.Series(clf, dtype=pl.String), Stamp("clf"), "").us.to_list() == expected
    assert read(pl.Series(iso, dtype=pl.String), Stamp("iso"), "").us.to_list() == expected
