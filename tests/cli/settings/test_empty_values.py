"""Blank values are refused by name, wherever they stand."""

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.settings.empty_values import Checked


@click.command(cls=Checked)
@click.argument("log")
@click.argument("more", nargs=-1)
@click.option("-t", "--tps")
@click.option("--header", multiple=True)
@click.option("--force", is_flag=True)
def made(**given: object) -> None:
    click.echo(repr(given))


def said(*words: str) -> str:
    return CliRunner().invoke(made, words).output


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["", "--tps", "1"], "LOG"),
        (["a", "b", " "], "MORE"),
        (["a", "--tps", ""], "--tps"),
        (["a", "--tps="], "--tps"),
        (["a", "-t", "\t"], "--tps"),
        (["a", "--header", "x", "--header", ""], "--header"),
    ],
)
def test_a_blank_value_is_refused_by_its_name(words: list[str], name: str) -> None:
    result = CliRunner().invoke(made, words)
    assert result.exit_code == 2
    assert f"Error: {name} is empty: give a value, or leave it out\n" in result.output


@given(st.text(min_size=1).filter(str.strip))
def test_any_other_value_is_received_as_it_is(value: str) -> None:
    with made.make_context("made", ["a", f"--tps={value}"]) as context:
        assert context.params == {"log": "a", "tps": value, "more": (), "header": (), "force": False}


def test_what_else_is_wrong_with_the_words_is_said_by_click() -> None:
    assert "No such option" in said("a", "--nothing", "")
    assert "Missing argument" in said()


def test_a_completion_of_a_blank_word_is_not_refused() -> None:
    made.make_context("made", ["a", "--tps", ""], resilient_parsing=True)
