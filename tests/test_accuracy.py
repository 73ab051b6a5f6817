"""The page of measured accuracy is made by its command."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import accuracy
from accuracy.__main__ import PAGE, replaced

PARTS = sorted(each.name for each in iter_modules(accuracy.__path__) if not each.name.startswith("_"))


def test_the_page_has_a_table_of_each_part() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- end of (\w+) -->", text)) == PARTS


@pytest.mark.parametrize("part", PARTS)
def test_each_part_says_how_many_simulations_it_makes(part: str) -> None:
    assert import_module(f"accuracy.{part}").RUNS > 0


def test_a_table_replaces_that_of_its_part_only() -> None:
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n<!-- y -->\nkept\n<!-- end of y -->\n"
    assert replaced(page, "x", "new\n") == page.replace("old", "new")
    with pytest.raises(ValueError, match=r"accuracy\.md: no <!-- z -->"):
        replaced(page, "z", "new")


def test_the_package_lies_beside_the_page() -> None:
    assert Path(accuracy.__file__).parents[2] / "docs" / "accuracy.md" == PAGE
