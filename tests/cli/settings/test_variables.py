"""Options from variables: one command wins over all, and a variable that sets nothing is an error."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.main import cli
from logreplay.cli.settings.option_names import is_switch, settable
from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.cli.settings.variables import PREFIX, read_variables


@click.group()
def group() -> None: ...


for name, own in (("run", "--tps"), ("sweep", "--rates"), ("find", "--p99"), ("sweep-more", "--x")):
    group.add_command(
        click.Command(
            name,
            params=[
                click.Option([own], help=own),
                click.Option(["--no-cache"], is_flag=True),
                click.Option(["--header"], multiple=True),
                click.Option(["--what"], help=f"for {name}"),
            ],
        )
    )


def test_variables_of_others_and_empty_ones_are_not_read() -> None:
    assert read_variables(group, {"PATH": "/bin", "LOGREPLAY": "x", "LOGREPLAY_RUN_TPS": "", "logreplay_x": "y"}) == {}


def test_a_variable_of_a_command_wins_over_that_of_all_and_both_say_where_they_are_from() -> None:
    found = read_variables(group, {"LOGREPLAY_HEADER": "a\n\nb: c\n", "LOGREPLAY_RUN_HEADER": "d"})
    assert found["run"] == {"header": Setting(("d",), Rank.COMMAND_VARIABLE, "LOGREPLAY_RUN_HEADER")}
    assert found["sweep"] == found["find"] == {"header": Setting(("a", "b: c"), Rank.VARIABLE, "LOGREPLAY_HEADER")}


@pytest.mark.parametrize(("text", "on"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("No", False)])
def test_a_switch_is_turned_on_and_off_under_both_names(text: str, on: bool) -> None:
    for variable, value in (("LOGREPLAY_RUN_NO_CACHE", on), ("LOGREPLAY_CACHE", not on)):
        assert read_variables(group, {variable: text})["run"]["no_cache"].value is value


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("LOGREPLAY_RUN_CACHE", "LOGREPLAY_RUN_CACHE=2: 'cache' is a switch; set 1 or 0"),
        ("LOGREPLAY_RUN_TSP", "run has no option 'tsp'; did you mean LOGREPLAY_RUN_TPS"),
        (
            "LOGREPLAY_WHAT",
            "'what' does not mean the same in all commands; set LOGREPLAY_RUN_WHAT or LOGREPLAY_SWEEP_WH",
        ),
        ("LOGREPLAY_HAEDER", "there is no option 'haeder' for all commands; did you mean LOGREPLAY_HEADER"),
        ("LOGREPLAY_", "there is no option '' for all commands; there are LOGREPLAY_"),
    ],
)
def test_a_variable_that_sets_nothing_is_an_error_that_names_it(variable: str, said: str) -> None:
    with pytest.raises(click.ClickException) as told:
        read_variables(group, {variable: "2"})
    assert told.value.message.startswith(variable)
    assert said in told.value.message


@given(st.text(st.characters(codec="ascii", exclude_characters="\0="), max_size=12), st.text(min_size=1, max_size=5))
def test_no_variable_is_passed_over_in_silence(end: str, value: str) -> None:
    try:
        found = read_variables(group, {PREFIX + end: value})
    except click.ClickException as error:
        told = error.message
    else:
        told = str([setting.origin for settings in found.values() for setting in settings.values()])
    assert PREFIX + end in told or repr(PREFIX + end)[1:-1] in told


SETTABLE = [
    (command, key)
    for command in ("run", "sweep", "find", "convert", "analyze")
    for key, parameter in settable(cli.commands[command])
    if not is_switch(parameter)
]


@pytest.mark.parametrize(("command", "key"), SETTABLE, ids=" ".join)
def test_each_option_of_a_command_has_its_variable(command: str, key: str) -> None:
    variable = f"{PREFIX}{command}_{key}".replace("-", "_").upper()
    (setting,) = read_variables(cli, {variable: "x"})[command].values()
    assert (setting.origin, setting.rank) == (variable, Rank.COMMAND_VARIABLE)
    assert setting.value in ("x", ("x",))
