"""The table of options: the command line has its options, and they mean the same as the parameters of the functions."""

import inspect
from collections.abc import Callable

import click
import pytest

import logreplay
from logreplay.cli.main import cli
from logreplay.options.keywords import read
from logreplay.options.kinds import Option
from logreplay.options.other_commands import OTHERS
from logreplay.options.table import GROUPS, MOST_USED, TABLE, grouped, options_of


def parent() -> click.Context:
    """The context of the program: a command keeps the names of its help from the first context that it is given."""
    return click.Context(cli, **cli.context_settings)


@pytest.mark.parametrize("command", [*MOST_USED, *OTHERS])
def test_the_command_line_has_the_options_of_the_table_and_no_others(command: str) -> None:
    made = {each.name: each for each in cli.commands[command].params if isinstance(each, click.Option)}
    table = {option.name: option for option in options_of(command)}
    assert made.keys() == table.keys()
    for name, option in table.items():
        assert [*made[name].opts, *made[name].secondary_opts] == list(option.names)
        assert made[name].help == option.help


@pytest.mark.parametrize("command", MOST_USED)
def test_what_is_not_given_is_the_same_on_the_command_line_and_in_a_function(command: str) -> None:
    words = ["access.log", "http://old", "http://new"] if command == "duet" else []
    received = cli.commands[command].make_context(command, words, parent()).params
    values = read(command, {})
    assert {name: received[name] for name in values.keys() - {"progress"}} == {
        name: value for name, value in values.items() if name != "progress"
    }


@pytest.mark.parametrize(
    "function",
    [logreplay.convert, logreplay.compare, logreplay.capacity, logreplay.analyze, logreplay.serve],
    ids=lambda each: each.__name__,
)
def test_a_function_that_sends_nothing_has_the_parameters_of_its_command(function: Callable[..., object]) -> None:
    table = {option.name: option for option in options_of(function.__name__, python=True)}
    named = inspect.signature(function).parameters
    assert {each.name for each in named.values() if each.kind is inspect.Parameter.KEYWORD_ONLY} == table.keys()
    for name, option in table.items():
        left_out = inspect.Parameter.empty if option.required else option.value
        assert named[name].default in ((None, "") if left_out is None else (left_out,)), name


@pytest.mark.parametrize("command", MOST_USED)
def test_each_option_of_a_command_stands_in_the_table_once_and_in_one_group(command: str) -> None:
    for python in (True, False):
        names = [option.name for option in options_of(command, python=python)]
        assert len(set(names)) == len(names)
    shown = [option for option in options_of(command) if not option.hidden]
    assert sum(map(len, grouped(command, options_of(command)).values())) == len(shown)
    assert {title for title, _ in TABLE} < set(GROUPS)


QUANTITIES = [
    pytest.param(command, option, id=f"{command} {option.names[0]}")
    for command in [*MOST_USED, *OTHERS]
    for option in options_of(command)
    if any(unit in option.kind.annotation for unit in ("Seconds", "Share", "float")) or option.name in ("late", "stop")
]


@pytest.mark.parametrize(("command", "option"), QUANTITIES)
def test_a_value_in_a_wrong_unit_is_refused_with_the_units_that_there_are(command: str, option: Option) -> None:
    words = {"duet": ["access.log", "http://old", "http://new"], "sweep": ["1..2"]}.get(command, ["access.log"])
    with pytest.raises(click.BadParameter) as refused:
        cli.commands[command].make_context(command, [*words, f"{option.names[-1]}=5parsecs"], parent())
    expected = {
        "Share": "%",
        "Seconds": "units: us, ms, s, m, h",
        "float": "requests/s",
        "str": "units: us, ms, s, m, h",
    }
    units = [text for unit, text in expected.items() if unit in option.kind.annotation][:1]
    unitless = {"price": "such as 0.12", "speed": "3 three times as fast"}
    assert unitless.get(option.name, units[0]) in refused.value.message
