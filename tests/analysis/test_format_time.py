"""Times are written so that they can be read at a glance."""

import math

import pytest

from logreplay.analysis.format_time import between, show, show_range, show_rate, signed, spoken


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (123_456.0, "123,456 s"),
        (999.6, "1,000 s"),
        (999.4, "999 s"),
        (1.236, "1.24 s"),
        (0.9996, "1 s"),
        (0.9994, "999 ms"),
        (0.0351, "35.1 ms"),
        (0.00099996, "1 ms"),
        (0.00099, "990 µs"),
        (0.0, "0"),
        (None, "–"),
        (math.inf, "–"),
    ],
)
def test_a_time_has_three_figures_and_the_unit_that_suits_it(seconds: float | None, text: str) -> None:
    assert show(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.607941, "+12.6 s"), (-0.0351, "-35.1 ms"), (-0.000002, "-2 µs"), (0.0, "0"), (-0.0000001, "0 µs")],
)
def test_a_change_of_a_time_has_a_sign(seconds: float, text: str) -> None:
    assert signed(seconds) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(60.12, 84.0, "60.1–84"), (998.6, 999.4, "999–999"), (999.6, 1240.4, "1000–1240"), (0.0, 0.25, "0–0.25")],
)
def test_a_range_of_rates_has_three_figures_or_all_before_the_point(low: float, high: float, text: str) -> None:
    assert show_range(low, high) == text


@pytest.mark.parametrize(
    ("rate", "digits", "text"),
    [(0.4321, 4, "0.4321"), (9999.4, 4, "9999"), (12_345.6, 4, "12346"), (99.4, 2, "99"), (123.0, 2, "123")],
)
def test_a_rate_with_more_figures_has_no_exponent(rate: float, digits: int, text: str) -> None:
    assert show_rate(rate, digits) == text


def test_what_never_came_has_failed() -> None:
    assert show(math.inf, failed=True) == "failed"


def test_a_percentile_is_written_with_its_point() -> None:
    assert [spoken(name) for name in ("p50", "p99", "p999", "p99999", "max")] == [
        "p50",
        "p99",
        "p99.9",
        "p99.999",
        "max",
    ]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"p99_low": 0.0351, "p99_high": 0.038, "p99_needs_s": None}, "35.1–38 ms"),
        ({"p99_low": 0.0351, "p99_high": math.inf}, "above 35.1 ms"),
        ({"p99_low": 0.0, "p99_high": 0.002}, "0–2 ms"),
        ({"p99_low": 0.0, "p99_high": 0.0}, "0"),
        ({"p99_low": None, "p99_high": None, "p99_needs_s": 151.2}, "needs 160 s"),
        ({"p99_low": None, "p99_high": None, "p99_needs_s": 23.1}, "needs 24 s"),
        ({"p99_low": None, "p99_high": None, "p99_needs_s": 3456.0}, "needs 3,500 s"),
        ({"p99_low": None, "p99_high": None, "p99_needs_s": 12345.0}, "needs hours"),
        ({"p99_low": None, "p99_high": None, "p99_needs_s": None}, "–"),
    ],
)
def test_a_range_or_the_length_that_a_step_needs_for_one_is_written(step: dict[str, float], text: str) -> None:
    assert between(step) == text
