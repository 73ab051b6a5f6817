"""Which settings count: what is typed, then variables, then the file; each without those that it excludes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.settings.precedence import Rank, Setting, applicable

RANKS = st.sampled_from([Rank.FILE, Rank.FILE_SECTION, Rank.VARIABLE, Rank.COMMAND_VARIABLE])
NAMES = "abcd"
SETTINGS = st.dictionaries(
    st.sampled_from(NAMES), st.builds(Setting, st.sampled_from(["x", "y", False]), RANKS, st.just("somewhere"))
)
LABELS = [*NAMES, *(f"{name}=x" for name in NAMES)]
EXCLUSIVE = {name: set(NAMES) - {name} for name in NAMES}
RELATIONS = st.dictionaries(st.sampled_from(LABELS), st.sets(st.sampled_from(LABELS), max_size=2), max_size=4)


def made(value: Any = "x", rank: Rank = Rank.FILE) -> Setting:
    return Setting(value, rank, "somewhere")


@given(SETTINGS, st.dictionaries(st.sampled_from(NAMES), st.just("x")), st.sets(st.sampled_from(NAMES)))
def test_what_is_typed_or_reset_is_not_taken_from_the_settings(
    settings: dict[str, Setting], typed: dict[str, str], reset: set[str]
) -> None:
    expected = {name: setting for name, setting in settings.items() if name not in typed and name not in reset}
    assert applicable(settings, typed, reset) == expected


@given(SETTINGS, st.dictionaries(st.sampled_from(NAMES), st.just("x")), RELATIONS, RELATIONS)
def test_settings_that_count_count_as_they_are_and_once_more(
    settings: dict[str, Setting], typed: dict[str, str], yields_to: Any, needs: Any
) -> None:
    kept = applicable(settings, typed, yields_to=yields_to, needs=needs)
    assert kept.items() <= settings.items()
    assert applicable(kept, typed, yields_to=yields_to, needs=needs) == kept


@given(SETTINGS.filter(bool))
def test_of_settings_that_exclude_each_other_only_those_of_the_highest_rank_are_left(
    settings: dict[str, Setting],
) -> None:
    kept = applicable(settings, {}, yields_to=EXCLUSIVE)
    highest = max((setting.rank for setting in settings.values() if setting.value is not False), default=Rank.NONE)
    assert {setting.rank for setting in kept.values() if setting.value is not False} <= {highest}
    most = max(setting.rank for setting in settings.values())
    assert kept.items() >= {(name, each) for name, each in settings.items() if each.rank == most}


def test_two_of_one_rank_are_both_left_for_the_command_to_refuse() -> None:
    both = {"a": made(), "b": made()}
    assert applicable(both, {}, yields_to={"a": {"b"}, "b": {"a"}}) == both


@pytest.mark.parametrize(
    ("typed", "kept"),
    [({}, {"a"}), ({"b": True}, set()), ({"b": False}, {"a"}), ({"c": "z"}, {"a"}), ({"c": "y"}, set())],
)
def test_a_setting_yields_to_what_is_given_with_this_value_and_not_to_a_switch_that_is_off(
    typed: dict[str, Any], kept: set[str]
) -> None:
    assert applicable({"a": made()}, typed, yields_to={"a": {"b", "c=y"}}).keys() == kept


@pytest.mark.parametrize(("number", "kept"), [(1, {"a"}), (2, set()), ("3", set()), ("x", {"a"})])
def test_a_setting_yields_to_what_is_given_with_a_greater_number(number: object, kept: set[str]) -> None:
    assert applicable({"a": made()}, {"b": number}, yields_to={"a": {"b>1"}}).keys() == kept


def test_a_value_of_its_own_decides_what_a_setting_yields_to() -> None:
    yields_to = {"a=x": {"b"}}
    assert applicable({"a": made("x")}, {"b": 1}, yields_to=yields_to) == {}
    assert applicable({"a": made("y")}, {"b": 1}, yields_to=yields_to) == {"a": made("y")}


def test_what_is_left_out_leaves_out_what_needs_it() -> None:
    chain = {"a": made(), "b": made(), "c": made()}
    needs = {"c": {"b"}, "b": {"a"}}
    assert applicable(chain, {}, needs=needs) == chain
    assert applicable(chain, {}, reset={"a"}, needs=needs) == {}
    assert applicable(chain, {"d": 1}, yields_to={"a": {"d"}}, needs=needs) == {}


def test_ranks_rise_from_the_file_to_the_command_line() -> None:
    assert Rank.NONE < Rank.FILE < Rank.FILE_SECTION < Rank.VARIABLE < Rank.COMMAND_VARIABLE < Rank.TYPED
