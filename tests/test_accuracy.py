"""The page of measured accuracy has the results of its tables, which its command makes."""

import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import accuracy
from accuracy import __main__, _tables, find_live
from accuracy.__main__ import PAGE, replaced, result

PARTS = sorted(each.name for each in iter_modules(accuracy.__path__) if not each.name.startswith("_"))


def test_the_page_has_a_row_of_each_part() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- end of (\w+) -->", text)) == PARTS


@pytest.mark.parametrize("part", PARTS)
def test_each_part_says_how_many_simulations_it_makes(part: str) -> None:
    assert import_module(f"accuracy.{part}").RUNS > 0


@pytest.mark.parametrize("part", PARTS)
def test_the_result_on_the_page_is_that_of_its_tables(part: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert replaced(text, part, result(part)) == text
    assert [path for path in _tables.files(part) if f"(data/{path.name})" not in text] == []


def test_each_file_of_tables_is_linked_from_a_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGE.parent.rglob("*.md"))
    assert [path.name for path in _tables.DATA.iterdir() if f"data/{path.name})" not in text] == []


def test_tables_are_read_from_text_and_anything_else_is_refused() -> None:
    text = "| a | b |\n|---|--:|\n| **x** | 5% |\n\n| c |\n|---|\n| `y` |\n"
    assert _tables.tables_of(text) == [[{"a": "x", "b": "5 %"}], [{"c": "y"}]]
    with pytest.raises(ValueError, match="not a row of a table"):
        _tables.tables_of("a sentence")


def test_a_result_replaces_that_of_its_part_only() -> None:
    page = "| a | <!-- x -->old<!-- end of x --> |\n| b | <!-- y -->kept<!-- end of y --> |\n"
    assert replaced(page, "x", "new") == page.replace("old", "new")
    with pytest.raises(ValueError, match=r"accuracy\.md: no <!-- z -->"):
        replaced(page, "z", "new")


@pytest.mark.parametrize(("words", "written"), [((), True), (("--runs", "3"), False), (("--seed", "3"), False)])
def test_only_the_runs_and_seeds_of_the_page_are_written(
    words: tuple[str, ...],
    written: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Results of another seed were written, too."""
    (page := tmp_path / "accuracy.md").write_text("<!-- find_live -->old<!-- end of find_live -->")
    monkeypatch.setattr(__main__, "PAGE", page)
    monkeypatch.setattr(_tables, "DATA", tmp_path / "data")
    monkeypatch.setattr(find_live, "table", lambda runs, seed: "| made |\n|---|\n| yes |")
    monkeypatch.setattr(find_live, "result", lambda tables: "new")
    monkeypatch.setattr(sys, "argv", ["accuracy", "find_live", *words])
    __main__.main()
    assert "| yes |" in capsys.readouterr().out
    assert ("new" in page.read_text()) == (tmp_path / "data" / "find_live.csv").exists() == written


def test_the_package_lies_beside_the_page() -> None:
    assert Path(accuracy.__file__).parents[2] / "docs" / "accuracy.md" == PAGE
