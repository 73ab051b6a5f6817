"""Durations, rates and ranges of rates, as a user types them."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.options.types import ParsedType
from logreplay.core.quantities import parse_rates, positive_rate, price_of, seconds_of
from logreplay.options.load import parse_pauses, ramp_of, speed_of, steps_of, users_of

DURATION, RATE = ParsedType(seconds_of), ParsedType(positive_rate)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300ms", 0.3),
        ("10", 10.0),
        ("10s", 10.0),
        ("5m", 300.0),
        ("1.5h", 5400.0),
        (".5", 0.5),
        ("20us", 2e-5),
        ("3m30s", 210.0),
    ],
)
def test_a_duration_is_a_number_with_or_without_a_unit(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == pytest.approx(seconds)


def test_a_duration_is_the_number_that_was_written() -> None:
    assert DURATION.convert("407ms", None, None) == 0.407


@pytest.mark.parametrize("text", ["", "0", "-1s", "ten", "10 parsecs", "1e3", "nan", "5 0"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        click.BadParameter, match=r"expected a duration above 0, such as 300ms, 10s or 5m \(units: us, ms, s, m, h\)$"
    ):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize("text", ["0", "-5", "nan", "fast", ""])
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"expected a rate above 0 requests/s"):
        RATE.convert(text, None, None)


def test_a_limit_itself_is_taken() -> None:
    assert (speed_of("1e9"), speed_of("1e-9")) == (1e9, 1e-9)


@pytest.mark.parametrize(
    ("read", "text", "rule"),
    [
        (seconds_of, "0.5us", "'0.5us': too short; expected 1us to 87600h (ten years)"),
        (seconds_of, "87601h", "'87601h': too long; expected 1us to 87600h (ten years)"),
        (positive_rate, "1e9", "the highest rate is 10,000,000 requests/s"),
        (positive_rate, "inf", "the highest rate is 10,000,000 requests/s"),
        (positive_rate, "1e-9", "the lowest rate is 1e-06 requests/s"),
        (parse_rates, "10..20000000", "'20000000': the highest rate is 10,000,000 requests/s"),
        (parse_rates, "10,1e9", "'1e9': the highest rate is 10,000,000 requests/s"),
        (steps_of, "1e9:10s", "'1e9': the highest rate is 10,000,000 requests/s"),
        (ramp_of, "1..30000000", "expected rates whose mean is 5e-07 to 10,000,000 requests/s"),
        (ramp_of, "5..nan", "'5..nan': expected the first and the last rate in requests/s, such as 50..400"),
        (ramp_of, "0..0", "expected rates whose mean is 5e-07 to 10,000,000 requests/s"),
        (speed_of, "1e12", "expected a speed from 1e-09 to 1,000,000,000"),
        (speed_of, "1e-12", "expected a speed from 1e-09 to 1,000,000,000"),
        (price_of, "1e12", "the highest price is 1,000,000,000"),
        (users_of, "2000000", "expected increasing user counts up to 1,000,000, such as"),
        (parse_pauses, "1s..90000h", "expected the shortest and the longest pause, up to 87600h, such as"),
    ],
)
def test_what_is_beyond_a_limit_is_refused_with_the_limit(
    read: Callable[[Any], object], text: object, rule: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(rule)):
        read(text)


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("50..400", (50, 100, 150, 200, 250, 300, 350, 400)),
        ("10..130", (10, 30, 50, 70, 90, 110, 130)),
        ("50..400:100", (50, 150, 250, 350, 400)),
        ("10,20,50", (10, 20, 50)),
        ("0.5", (0.5,)),
    ],
)
def test_a_range_runs_from_its_first_rate_to_its_last(text: str, rates: tuple[float, ...]) -> None:
    assert parse_rates(text) == pytest.approx(rates)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("400..50", "50 is not above 400"),
        ("5..5", "5 is not above 5"),
        ("1..", "'1..': expected rates above 0 requests/s, such as 100, 50..400, 50..400:25 or 10,20,50"),
        ("1..2:0", "'0': expected a rate above 0"),
        ("../access.csv", "'../access.csv': expected rates"),
        ("1..100000:0.01", "9999901 steps are too many; choose a larger step"),
        ("10,,20", "'10,,20': expected rates"),
    ],
)
def test_a_senseless_range_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rates(text)


@given(st.floats(0.01, 1e4), st.floats(1.001, 1e3))
def test_a_range_without_a_step_has_about_eight_rates_rising_from_end_to_end(low: float, factor: float) -> None:
    high = low * factor
    rates = parse_rates(f"{low!r}..{high!r}")
    assert rates[0] == pytest.approx(low)
    assert rates[-1] == pytest.approx(high)
    assert 3 <= len(rates) <= 10
    assert all(a < b for a, b in pairwise(rates))
