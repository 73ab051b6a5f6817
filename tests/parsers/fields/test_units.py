"""The unit of a duration follows from its name; from its values only with a sentence for the user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.fields.units import NGINX_DURATIONS, UNITS, UNKNOWN, unit_of


@pytest.mark.parametrize("name", [*NGINX_DURATIONS, "Request_Time", "RT"])
def test_the_durations_of_nginx_are_seconds(name: str) -> None:
    assert unit_of(name, ["250000"]) == (1.0, "")


@pytest.mark.parametrize(("name", "unit"), [("took_ms", 1e-3), ("took_us", 1e-6), ("TOOK_NS", 1e-9)])
def test_the_ending_of_a_name_says_the_unit(name: str, unit: float) -> None:
    assert unit_of(name, ["0.250"]) == (unit, "")


@pytest.mark.parametrize("name", ["status", "rooms", "bus", "columns"])
def test_a_word_that_happens_to_end_like_a_unit_says_nothing(name: str) -> None:
    assert unit_of(name, ["17"])[0] == UNKNOWN


@pytest.mark.parametrize(
    ("values", "unit", "guess"),
    [
        (["0.250", "1.000", "-", ""], 1.0, "are taken as seconds, as they have three decimals"),
        (["0", "0", "1", "-"], 1.0, "are taken as whole seconds, as most are 0"),
        (["5000", "250000", "17"], 1e-6, "are taken as microseconds, as most are above 5,000"),
        (["250", "17"], UNKNOWN, "have no known unit and are not used"),
        (["0", "0", "300"], UNKNOWN, "have no known unit and are not used"),
        (["x", "y"], UNKNOWN, "have no known unit and are not used"),
        (["9" * 5000], UNKNOWN, "have no known unit and are not used"),
    ],
)
def test_a_guess_by_values_is_said(values: list[str], unit: float, guess: str) -> None:
    assert unit_of("took", values)[0] == unit
    assert unit_of("took", values)[1].startswith(f"the durations in 'took' {guess}")
    assert unit_of("", values)[1].startswith(f"the numbers after the status and size {guess}")


@pytest.mark.parametrize("values", [[], ["-"], ["", "-"]])
def test_without_any_value_there_is_nothing_to_guess(values: list[str]) -> None:
    assert unit_of("took", values) == (1.0, "")


@given(st.text(), st.lists(st.text() | st.from_regex(r"[0-9]{1,20}(\.[0-9]{3})?", fullmatch=True)))
def test_what_is_known_by_the_values_alone_is_always_said(name: str, values: list[str]) -> None:
    unit, note = unit_of(name, values)
    assert unit in (*UNITS.values(), UNKNOWN)
    assert not note or "--time-unit" in note
    assert unit in (1.0, UNKNOWN) or note or name.lower().endswith(("_ns", "_us", "_ms"))
