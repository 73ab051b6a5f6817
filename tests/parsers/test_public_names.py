"""The public names of `logreplay.parsers` are lazy, documented, and all that docs/reference/python.md shows of them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from logreplay import parsers

REFERENCE = Path(__file__).parents[2] / "docs/reference/python.md"


@pytest.mark.parametrize("name", parsers.__all__)
def test_each_name_is_there_and_says_what_it_is(name: str) -> None:
    assert getattr(parsers, name).__doc__
    assert name in dir(parsers)


def test_the_reference_shows_these_names_and_no_others() -> None:
    shown = re.search(
        r"::: logreplay\.parsers\n.*?members: \[(.*?)\]", REFERENCE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert shown
    assert sorted(re.findall(r"\w+", shown[1])) == sorted(parsers.__all__)


def test_nothing_is_loaded_before_a_name_is_used() -> None:
    code = "import sys, logreplay.parsers; print('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
