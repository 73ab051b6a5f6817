"""The help of the commands with many options: grouped, short, with units and defaults."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from logreplay.cli.commands.shell import page
from logreplay.cli.main import cli
from logreplay.cli.options.help_groups import sections

COMMANDS = ("run", "sweep", "find", "duet")
LONG = ("run", "sweep", "find", "duet", "plan")
SCREEN = 85
TWO_SCREENS = 145


def helped(name: str, option: str) -> str:
    """The help of a command, 100 columns wide."""
    result = CliRunner().invoke(cli, [name, option], terminal_width=100)
    assert result.exit_code == 0
    return result.output


def context(name: str) -> click.Context:
    parent = click.Context(cli, info_name="logreplay", terminal_width=100, **cli.context_settings)
    return click.Context(cli.commands[name], parent=parent, info_name=name, terminal_width=100)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_all_options_fits_on_two_screens(name: str) -> None:
    text = helped(name, "--help-all")
    assert len(text.splitlines()) <= TWO_SCREENS
    assert max(map(len, text.splitlines())) <= 105  # an example is not wrapped


@pytest.mark.parametrize("name", LONG)
def test_the_help_shows_the_groups_that_most_users_need_and_says_where_the_others_are(name: str) -> None:
    text = helped(name, "--help")
    assert len(text.splitlines()) <= SCREEN
    titles = re.findall(r"^([A-Z][A-Za-z ]+):$", text, re.MULTILINE)
    assert {"Most used", "Load", "Stop conditions", "Output"} <= set(titles)
    everything = dict(sections(cli.commands[name], context(name)))
    left = [title for title in everything if title not in titles]
    assert left
    last = " ".join(text.rsplit("\n\n", 1)[-1].split())
    assert last == f"--help-all shows every option, also these groups: {', '.join(left)}."


def test_each_command_names_its_own_folder_and_the_file_that_it_prints() -> None:
    names = ("sweep", "find", "duet", "plan")
    for name in names:
        text = helped(name, "--help")
        assert [other for other in names if f"[default: {other}-TIME" in text] == [name]
        assert ("plan.json instead" in text, "summary.json instead" in text) == (name == "plan", name != "plan")


@pytest.mark.parametrize("name", LONG)
def test_help_all_shows_every_option(name: str) -> None:
    text = helped(name, "--help-all")
    names = [names for _, records in sections(cli.commands[name], context(name)) for names, _ in records]
    assert not [each for each in names if f"  {each}" not in text]
    assert "shows every option" not in text


def test_help_all_is_there_also_where_the_settings_file_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logreplay.toml").write_text("[run\n")
    assert "Several machines:" in helped("run", "--help-all")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_a_group_of_the_help(name: str) -> None:
    groups = dict(sections(cli.commands[name], context(name)))
    assert next(iter(groups)) == "Most used"
    assert len(groups["Most used"]) == 5
    assert "Other options" not in groups
    shown = sum(map(len, groups.values()))
    refused = 3 * (name == "duet")
    assert (
        shown
        == 2 + sum(isinstance(each, click.Option) and not each.hidden for each in cli.commands[name].params) - refused
    )


def test_the_help_of_duet_leaves_out_what_it_refuses() -> None:
    text = helped("duet", "--help-all")
    assert not [option for option in ("--vusers", "--think", "--cluster") if option in text]
    assert "--workers" in text


@pytest.mark.parametrize("name", list(cli.commands))
def test_no_help_names_an_internal_type(name: str) -> None:
    text = helped(name, "--help-all" if name in LONG else "--help")
    for word in ("INTEGER", "RANGE", "DURATION", "x>=", "TEXT]"):
        assert word not in text.replace("log|TEXT", "")


def test_the_help_of_run_says_what_it_needs() -> None:
    text = " ".join(cli.commands["run"].get_help(context("run")).split())
    assert "one of --tps, --speed, --ramp, --steps, --vusers or --follow" in text


@pytest.mark.parametrize(
    ("command", "alias", "name"),
    [
        ("run", "--rate", "tps"),
        ("run", "--duration", "duration"),
        ("sweep", "--duration", "duration"),
        ("run", "-n", "requests"),
        ("run", "-c", "vusers"),
        ("run", "-H", "header"),
        ("run", "-k", "insecure"),
        ("run", "--fail-fast", "crash"),
        ("run", "--method", "methods"),
        ("convert", "--methods", "methods"),
        ("convert", "--from", "since"),
        ("run", "--since", "since"),
        ("find", "--rate", "demand"),
        ("find", "--tps", "demand"),
        ("capacity", "--rate", "demand"),
    ],
)
def test_names_that_other_tools_use_are_known(command: str, alias: str, name: str) -> None:
    (option,) = (each for each in cli.commands[command].params if alias in each.opts)
    assert option.name == name


def test_a_manual_page_has_the_groups() -> None:
    assert ".SS Several machines" in page(cli, "run")
    assert ".SS" not in page(cli, "capacity")


def test_the_help_of_capacity_shows_the_bound_on_the_mean() -> None:
    assert "\n  --mean D " in helped("capacity", "--help")


def test_the_help_of_serve_says_that_earlier_requests_change_its_answers() -> None:
    """A duet of two such servers found other statuses, after one of them alone had been warmed up."""
    assert "start both again to compare them" in " ".join(helped("serve", "--help").split())
