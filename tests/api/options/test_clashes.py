"""The table of contradictions: each row is refused with both names, in a command and in its function."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from logreplay.cli.settings.precedence import Rank, Setting, applicable
from logreplay.core.errors import UsageError
from logreplay.options.clashes import MODES, ROWS, Clash, check, given, gives_way, needed, rows
from logreplay.options.other_commands import OTHERS
from logreplay.options.table import MOST_USED, options_of


def label_as_value(command: str, label: str) -> dict[str, Any]:
    """Values under which a label is given."""
    name, equals, text = label.partition("=")
    return {name: text == "True" if text in ("True", "False") else text if equals else "some"}


def test_only_these_combinations_are_refused() -> None:
    """The crossings accept each refusal of the table, even a wrong one: a new row must stand in this file, too."""
    found: dict[str, list[str]] = {}
    for row in ROWS:
        word, other = ("excludes", row.other) if isinstance(row, Clash) else ("needs", "|".join(row.others))
        found.setdefault(f"{row.commands}: {row.one} {word}", []).append(other)
    expected = Path(__file__).with_name("contradictions.txt").read_text("utf-8").splitlines()
    assert sorted(f"{line} {' '.join(others)}" for line, others in found.items()) == sorted(expected)


def test_each_label_names_an_option_of_the_commands_of_its_row() -> None:
    for row in ROWS:
        labels = (row.one, row.other) if isinstance(row, Clash) else (row.one, *row.others)
        for command in row.commands.split():
            known = {option.name for option in options_of(command)}
            assert {label.partition("=")[0] for label in labels} <= known, (command, row)


@pytest.mark.parametrize("command", MOST_USED)
def test_each_row_is_refused_in_a_sentence_that_names_its_options(command: str) -> None:
    for row in rows(command):
        values = {"follow": False, "http": "1.1", **label_as_value(command, row.one)}
        values |= label_as_value(command, row.other) if isinstance(row, Clash) else {}
        assert row.broken(values)
        said = row.sentence(values)
        for label in (row.one, *((row.other,) if isinstance(row, Clash) else ())):
            name = label.partition("=")[0]
            flags = [flag for option in options_of(command) if option.name == name for flag in option.names]
            assert any(f"{flag} " in f"{said} " or f"{flag}:" in said for flag in flags), (label, said)
        with pytest.raises(UsageError):
            check(command, values)


def test_what_is_off_or_at_its_default_is_not_given() -> None:
    for value in (None, False, ()):
        assert not given({"hook": value}, "hook")
    assert given({"keep": 0}, "keep")
    assert not given({"think": 0.0, "follow": False}, "think")
    assert not given({"settle": 0.0}, "settle")
    assert given({"think": None, "follow": False}, "think"), "the pauses of the log"
    assert not given({"think": None}, "think"), "find has none"


KEPT = {
    *("fail_different", "scaling", "hook", "dry_run"),  # without it, a command would judge, count or send otherwise
    *(f"{command} {mode}" for command in ("run", "duet") for mode in MODES),  # without it, nothing says how to send
    "sweep vusers",
}


@pytest.mark.parametrize("command", [*MOST_USED, *OTHERS])
def test_of_two_options_that_exclude_each_other_that_of_the_higher_place_wins(command: str) -> None:
    """Every pair of the table, each option once from each place; many were refused."""
    places = [(low, high) for low in Rank for high in Rank if Rank.NONE < low < high]
    for row in rows(command):
        for low, high in permutations(row.labels) if isinstance(row, Clash) else ():
            one, other = label_as_value(command, low), label_as_value(command, high)
            for lower, higher in places:
                found = {name: Setting(value, lower, "") for name, value in one.items()}
                found |= {name: Setting(value, higher, "") for name, value in other.items()}
                kept = applicable(found, {}, yields_to=gives_way(command))
                stays = {low, f"{command} {low}"} & KEPT and not {low, high} <= {*MODES}
                assert kept.keys() == ({*one, *other} if stays else {*other}), (low, high)


def test_a_gate_is_never_left_out_of_the_settings() -> None:
    assert not {"fail_above", "fail_different"} & gives_way("duet").keys()


def test_a_setting_gives_way_to_an_option_without_which_it_means_nothing() -> None:
    assert needed("run")["delay"] == {"follow"}
