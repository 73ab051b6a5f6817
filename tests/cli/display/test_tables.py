"""Tables on standard output: no figure is cut, no row folded, and no text of others steers the terminal."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.display.tables import OpenTable


def printed(capsys: pytest.CaptureFixture[str], table: OpenTable) -> list[str]:
    table.print()
    return capsys.readouterr().out.splitlines()


def test_the_first_column_is_text_and_figures_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    table = OpenTable("step", "mean", "verdict")
    table.add("a", "1", "VALID")
    table.add("long", "1234567", "x")
    lines = printed(capsys, table)
    assert [line.rstrip() for line in lines] == [
        " step     mean  verdict",
        " a           1  VALID",
        " long  1234567  x",
        "",
    ]


def test_a_table_without_a_row_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, OpenTable("a", "b")) == []


@pytest.mark.parametrize("terminal", [False, True])
def test_columns_are_dispensed_with_in_their_order_only_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("rich.console.Console.is_terminal", terminal)
    table = OpenTable("step", "first", "second", "third", dispensable=("second", "first"))
    table.add("x", "1" * 9, "2" * 9, "3" * 9)
    head, row, *_ = (re.sub(r"\x1b\[[0-9;]*m", "", line) for line in printed(capsys, table))
    assert head.split() == (["step", "first", "third"] if terminal else ["step", "first", "second", "third"])
    assert ("2" * 9 in row) is not terminal


def test_what_does_not_fit_is_not_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    table = OpenTable("url", "count")
    table.add("/" + "x" * 200, "12345")
    _, row, *_ = printed(capsys, table)
    assert row.split() == ["/" + "x" * 200, "12345"]


@given(cells=st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_a_row_is_one_line_whatever_it_holds(cells: list[tuple[str, str]]) -> None:
    table = OpenTable("", "[bold]count[/]")
    for row in cells:
        table.add(*row)
    with redirect_stdout(StringIO()) as out:
        table.print()
    lines = out.getvalue().split("\n")
    assert len(lines) == len(cells) + 3  # its head, and a blank line after it
    assert "[bold]count[/]" in lines[0]
    assert all(line.isprintable() for line in lines)
