"""The keys of settings: the names on the command line, each found, each with its opposite."""

from collections.abc import Iterator

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.main import cli
from logreplay.cli.settings.empty_values import key_of
from logreplay.settings_files.keys import ARGUMENTS, aliases, keys
from logreplay.settings_files.rules import opposite


def settable(command: click.Command) -> Iterator[tuple[str, click.Parameter]]:
    """Each name of an option of a command without ``--``, that which undoes it, and the arguments."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield parameter.name or "", parameter
            if parameter.name == "logs":
                yield "log", parameter
            continue
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--"):
                yield name[2:], parameter
        if is_switch(parameter) and not parameter.secondary_opts:
            yield opposite(key_of(parameter)), parameter


def is_switch(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.is_flag


def test_every_command_but_those_about_the_program_takes_settings() -> None:
    assert list(ARGUMENTS) == [name for name in cli.commands if name not in ("control", "init", "completion", "man")]


@pytest.mark.parametrize("command", ARGUMENTS)
def test_the_keys_are_those_of_the_command_line(command: str) -> None:
    known = list(settable(cli.commands[command]))
    assert {key: (parameter.name, is_switch(parameter)) for key, parameter in known} == {
        key: (meant.name, meant.switch) for key, meant in keys(command).items()
    }
    for key, parameter in known:
        assert keys(command)[key].several is (parameter.nargs != 1 or bool(getattr(parameter, "multiple", False))), key
    options = [each for each in cli.commands[command].params if isinstance(each, click.Option)]
    further = {name[2:]: key_of(each) for each in options for name in each.opts if name.startswith("--")}
    further |= {"log": "logs"} if "logs" in keys(command) else {}
    assert aliases()[command] == {name: first for name, first in further.items() if name != first}


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_no_name_of_a_command_stands_for_two_parameters(command: click.Command) -> None:
    names = [name for name, _ in settable(command)]
    assert len(set(names)) == len(names)
    assert all(key_of(parameter) in names for parameter in command.params)


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
        ("no-keep-alive", True, False),
        ("keep-alive", True, True),
    ],
)
def test_a_switch_has_the_value_that_either_of_its_names_says(key: str, on: bool, value: bool) -> None:
    assert (on is keys("run")[key].on) is value


@given(st.from_regex(r"[a-z]+(-[a-z]+)*", fullmatch=True))
def test_the_opposite_of_the_opposite_is_the_name(key: str) -> None:
    assert opposite(opposite(key)) == key or key.startswith("no-no-")
    assert opposite(key) != key
