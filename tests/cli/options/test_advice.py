"""A finding advises options that every command which prints it has, or names the command of the option."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from logreplay.options.table import options_of

ROOT = Path(__file__).parents[3]
ADVICE = re.compile(r"(?:\b(run|sweep|find) )?(--[a-z][a-z0-9-]*)")
ONLY_WITH = {"--control", "--delay"}
"""Options named in findings that only their use brings about."""


def texts(path: Path) -> Iterator[str]:
    """The texts of a module, and the parts of its f-strings."""
    return (str(node.value) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))


@pytest.mark.parametrize(
    "module",
    [
        "analysis/summary.py",
        "analysis/tables/warmup.py",
        "replay/results/session_findings.py",
        "replay/results/verdict.py",
        "api/runs/repeated_urls.py",
    ],
)
def test_the_advice_of_a_finding_can_be_taken_with_the_command_that_prints_it(module: str) -> None:
    has = {name: {flag for option in options_of(name) for flag in option.names} for name in ("run", "sweep", "find")}
    for text in texts(ROOT / module):
        for command, option in ADVICE.findall(text):
            lacking = [name for name in ([command] if command else has) if option not in {*has[name], *ONLY_WITH}]
            assert not lacking, text
