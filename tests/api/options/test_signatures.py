"""Signatures, docstrings and types of the functions are those of the table."""

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import logreplay
from logreplay.options import parameters
from logreplay.options.signatures import annotation, default_of
from logreplay.options.table import MOST_USED, options_of

FUNCTIONS = [logreplay.run, logreplay.sweep, logreplay.find, logreplay.duet]
SOURCE = ast.parse(Path(parameters.__file__).read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in SOURCE.body if isinstance(node, ast.ClassDef)}


def stated(name: str) -> dict[str, str]:
    """The parameters of a class of types and of those that it extends, each with its annotation."""
    names: dict[str, str] = {}
    for base in CLASSES[name].bases:
        names |= stated(base.id) if isinstance(base, ast.Name) and base.id in CLASSES else {}
    for node in CLASSES[name].body:
        if isinstance(node, ast.AnnAssign):
            quoted = isinstance(node.annotation, ast.Constant)
            names[ast.unparse(node.target)] = (
                ast.literal_eval(node.annotation) if quoted else ast.unparse(node.annotation)
            )
    return names


@pytest.mark.parametrize("command", MOST_USED)
def test_the_types_are_those_of_the_table(command: str) -> None:
    table = {option.name: annotation(option) for option in options_of(command, python=True)}
    assert stated(f"{command.title()}Options") == {name: ast.unparse(ast.parse(text)) for name, text in table.items()}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_signature_lists_each_parameter_with_its_default_and_the_docstring_explains_it(
    function: Callable[..., object],
) -> None:
    named = inspect.signature(function).parameters
    for option in options_of(function.__name__, python=True):
        assert named[option.name].default == default_of(option)
        assert option.hidden or f"    {option.name}: " in (function.__doc__ or "")


@pytest.mark.parametrize(
    ("parameter", "form"),
    [
        ("late", "send|drop:D. Drop"),
        ("think", "D|D..D|log. Pause"),
        ("host", "log|NAME. Host"),
        ("agent", "log|TEXT. User-Agent"),
        ("referer", "log|TEXT. Referer"),
        ("rewrite", "s|FROM|TO|. URLs"),
        ("auth", "bearer:FILE|…. Send a token, a password (basic:FILE), or an AWS signature (aws:SERVICE)"),
        ("key_password", "file:FILE|env:NAME. Where"),
        ("control", "DIR. With tps= or speed=: let"),
        ("crash", "Stop at the first failure; culprit of the result is its exchange."),
        ("timeout", "Fail a request after D."),
    ],
)
def test_help_shows_the_forms_of_a_value_that_its_type_does_not_tell(parameter: str, form: str) -> None:
    assert f"    {parameter}: {form}" in (logreplay.run.__doc__ or "")


@pytest.mark.parametrize("function", [logreplay.run, logreplay.sweep, logreplay.find, logreplay.duet, logreplay.plan])
def test_help_names_no_option_but_in_a_command_line_and_no_exit_code(function: Callable[..., object]) -> None:
    told = (inspect.getdoc(function) or "").splitlines()
    assert not [line for line in told if " --" in re.split("logreplay [a-z]+", line)[0] or "Exit with" in line]


def test_help_shows_types_without_quotes() -> None:
    assert "duration: Seconds | None = None" in str(inspect.signature(logreplay.run))


def test_every_type_of_parameters_is_a_public_name() -> None:
    assert {name for name in CLASSES if not name.startswith("_")} <= set(logreplay.__all__)


def test_help_says_what_functions_are_given() -> None:
    told = logreplay.run.__doc__ or ""
    assert not [name for name in re.findall(r"\b[A-Z]\w+Function\b|\bHook\b", str(inspect.signature(logreplay.run)))
                if f"    {name}: takes a " not in told]  # fmt: skip
    assert "in_flight: requests in flight" in (logreplay.Snapshot.__doc__ or "")


def test_the_reference_shows_each_public_name() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/python.md").read_text("utf-8")
    names = {name for name in logreplay.__all__ if not name.endswith("Options")}
    assert not names - {*re.findall(r"\w+", page)}
