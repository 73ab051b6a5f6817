"""Options from variables: one command wins over all, and a variable that sets nothing is told."""

from itertools import zip_longest
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.main import run
from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.cli.settings.variables import PREFIX, read_variables
from logreplay.core.masking import terminal_safe
from logreplay.settings_files.keys import keys


def test_variables_of_others_and_empty_ones_are_not_read() -> None:
    assert read_variables({"PATH": "/bin", "LOGREPLAY": "x", "LOGREPLAY_RUN_TPS": "", "logreplay_x": "y"}) == {}


def test_a_variable_of_a_command_wins_over_that_of_all_and_both_say_where_they_are_from() -> None:
    found = read_variables({"LOGREPLAY_HEADER": "a\n\nb: c\n", "LOGREPLAY_RUN_HEADER": "d"})
    assert found["run"] == {"header": Setting(("d",), Rank.COMMAND_VARIABLE, "LOGREPLAY_RUN_HEADER")}
    assert found["sweep"] == found["find"] == {"header": Setting(("a", "b: c"), Rank.VARIABLE, "LOGREPLAY_HEADER")}


@pytest.mark.parametrize(("text", "on"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("No", False)])
def test_a_switch_is_turned_on_and_off_under_both_names(text: str, on: bool) -> None:
    for variable, value in (("LOGREPLAY_RUN_NO_CACHE", on), ("LOGREPLAY_CACHE", not on)):
        assert read_variables({variable: text})["run"]["no_cache"].value is value


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("LOGREPLAY_RUN_CACHE", "LOGREPLAY_RUN_CACHE=2: 'cache' is a switch; set 1 or 0"),
        (
            "LOGREPLAY_ARRIVALS",
            "'arrivals' does not mean the same in all commands; set LOGREPLAY_RUN_ARRIVALS or LOGREPLAY_SWEEP_ARR",
        ),
    ],
)
def test_a_variable_of_an_option_whose_value_cannot_count_is_an_error_that_names_it(variable: str, said: str) -> None:
    with pytest.raises(click.ClickException) as told:
        read_variables({variable: "2"})
    assert told.value.message.startswith(variable)
    assert said in told.value.message


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("LOGREPLAY_RUN_HEADERS", "run has no option 'headers'; did you mean LOGREPLAY_RUN_HEADER?"),
        ("LOGREPLAY_HAEDER", "there is no option 'haeder'; did you mean LOGREPLAY_HEADER?"),
        ("LOGREPLAY_VERSION", "there is no option 'version'"),
        ("LOGREPLAY_IMAGE", "there is no option 'image'"),
        ("LOGREPLAY_SERVICE_HOST", "there is no option 'service-host'"),
        ("LOGREPLAY_RUN_ID", "run has no option 'id'"),
        ("LOGREPLAY_\x1b[2J", "there is no option '\\x1b[2j'"),
        ("LOGREPLAY_", "there is no option ''"),
    ],
)
def test_a_variable_that_no_option_has_is_told_and_has_no_effect(variable: str, said: str) -> None:
    told: list[str] = []
    found = read_variables({variable: "2", "LOGREPLAY_HEADER": "a"}, told.append)
    assert told == [f"{variable.replace(chr(27), '?')} has no effect: {said}"]
    assert found["run"]["header"].value == ("a",)


@given(st.text(st.characters(codec="ascii", exclude_characters="\0="), max_size=12), st.text(min_size=1, max_size=5))
def test_no_variable_is_passed_over_in_silence(end: str, value: str) -> None:
    told: list[str] = []
    try:
        found = read_variables({PREFIX + end: value}, told.append)
    except click.ClickException as error:
        told = [error.message]
    else:
        told += [setting.origin for settings in found.values() for setting in settings.values()]
    assert PREFIX + end in str(told) or terminal_safe(PREFIX + end) in told[0]


@pytest.mark.parametrize("command", [["convert", "access.log"], ["urls", "/a"], ["analyze", "one.csv", "--no-plots"]])
def test_variables_of_a_pipeline_stop_no_command(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = Path(__file__).parents[3] / "sample_logs" / "nginx_request_time.log"
    Path("access.log").write_bytes(log.read_bytes())
    run(["convert", "access.log", "-o", "one.csv", "-q"])
    for name in ("VERSION", "IMAGE"):
        monkeypatch.setenv(PREFIX + name, "1.2")
    assert run([*command, "-q"]) == 0
    said = capsys.readouterr().err
    assert said.count("LOGREPLAY_VERSION has no effect") == said.count("LOGREPLAY_IMAGE has no effect") == 1


@pytest.mark.parametrize("command", ["run", "sweep", "find", "convert", "analyze"])
def test_each_option_of_a_command_has_its_variable(command: str) -> None:
    names: dict[str, list[str]] = {}
    for key, meant in keys(command).items():
        if not meant.switch:
            names.setdefault(meant.name, []).append(f"{PREFIX}{command}_{key}".replace("-", "_").upper())
    for variables in zip_longest(*names.values()):  # all first names, then all second ones
        given = {variable for variable in variables if variable}
        found = read_variables(dict.fromkeys(given, "x"))[command].values()
        assert {(each.origin, each.rank) for each in found} == {(each, Rank.COMMAND_VARIABLE) for each in given}
        assert {str(each.value) for each in found} <= {"x", "('x',)"}


@pytest.mark.parametrize("name", ["CHECK", "SHELL", "COMMAND", "PLACE", "CONTROL_PLACE", "INIT_LOG"])
def test_a_variable_of_a_command_without_settings_is_told_and_has_no_effect(name: str) -> None:
    told: list[str] = []
    read_variables({f"LOGREPLAY_{name}": "1"}, told.append)
    assert [text.partition(":")[0] for text in told] == [f"LOGREPLAY_{name} has no effect"]


@pytest.mark.parametrize(
    "names", [("FIND_DEMAND", "FIND_TPS"), ("RUN_TPS", "RUN_RATE"), ("LOOP", "NO_LOOP"), ("QUIET", "NO_QUIET")]
)
def test_two_variables_of_one_option_are_refused(names: tuple[str, str]) -> None:
    one, other = (f"LOGREPLAY_{name}" for name in names)
    with pytest.raises(click.ClickException) as told:
        read_variables({one: "1", other: "1"}, print)
    assert told.value.message == f"{one} and {other} set the same option: leave out one of them"


def test_a_log_for_all_commands_is_that_of_commands_that_take_several() -> None:
    found = read_variables({"LOGREPLAY_LOG": "a.log"})
    assert (found["run"]["log"].value, found["inspect"]["logs"].value) == ("a.log", ("a.log",))
    both = read_variables({"LOGREPLAY_LOG": "a.log", "LOGREPLAY_LOGS": "b.log"})
    assert (both["run"]["log"].value, both["inspect"]["logs"].value) == ("a.log", ("b.log",))
