"""The names under which options are set: each found, each with its opposite."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.main import cli
from logreplay.cli.settings.option_names import is_switch, key_of, settable, switched, takes_several
from logreplay.settings_files.rules import opposite

COMMAND = click.Command(
    "made",
    params=[
        click.Argument(["log"]),
        click.Option(["-t", "--tps"]),
        click.Option(["--header", "headers"], multiple=True),
        click.Option(["--pair"], nargs=2),
        click.Option(["--force"], is_flag=True),
        click.Option(["--no-cache"], is_flag=True),
        click.Option(["--loop/--no-loop"], default=None),
        click.Option(["--off", "on"], flag_value=False, is_flag=True),
    ],
)
PARAMETERS = dict(settable(COMMAND))


def test_an_option_is_set_under_all_its_long_names_and_those_that_undo_a_switch() -> None:
    assert list(PARAMETERS) == [
        *("log", "tps", "header", "pair", "force", "no-force", "no-cache", "cache", "loop", "no-loop", "off", "no-off"),
    ]
    assert [key_of(parameter) for parameter in COMMAND.params] == [
        *("log", "tps", "header", "pair", "force", "no-cache", "loop", "off"),
    ]


def test_switches_and_lists_are_told_from_options_with_one_value() -> None:
    others = [key for key, parameter in PARAMETERS.items() if not is_switch(parameter)]
    assert others == ["log", "tps", "header", "pair"]
    assert [key for key, parameter in PARAMETERS.items() if takes_several(parameter)] == ["header", "pair"]


@pytest.mark.parametrize(
    ("key", "on", "value"),
    [
        ("force", True, True),
        ("no-force", True, False),
        ("no-force", False, True),
        ("no-cache", True, True),
        ("cache", True, False),
        ("loop", False, False),
        ("no-loop", False, True),
        ("off", True, False),
        ("no-off", True, True),
    ],
)
def test_a_switch_has_the_value_that_either_of_its_names_says(key: str, on: bool, value: bool) -> None:
    assert switched(PARAMETERS[key], key, on=on) is value


@given(st.from_regex(r"[a-z]+(-[a-z]+)*", fullmatch=True))
def test_the_opposite_of_the_opposite_is_the_name(key: str) -> None:
    assert opposite(opposite(key)) == key or key.startswith("no-no-")
    assert opposite(key) != key


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_no_name_of_a_command_stands_for_two_parameters(command: click.Command) -> None:
    names = [name for name, _ in settable(command)]
    assert len(set(names)) == len(names)
    assert all(key_of(parameter) in names for parameter in command.params)
