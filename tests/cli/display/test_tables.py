"""Tables on standard output: no figure is cut, no row folded, and no text of others steers the terminal."""

import re
from contextlib import redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.display.tables import OpenTable, print_times
from logreplay.cli.display.terminal import print_text


def printed(capsys: pytest.CaptureFixture[str], table: OpenTable) -> list[str]:
    table.print()
    return capsys.readouterr().out.splitlines()


def test_the_first_column_is_text_and_figures_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    table = OpenTable("step", "mean", "verdict")
    table.add("a", "1", "VALID")
    table.add("long", "1234567", "x")
    assert printed(capsys, table) == [
        " step     mean  verdict",
        " a           1  VALID",
        " long  1234567  x",
        "",
    ]


def test_a_column_without_a_figure_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = OpenTable("step", "p50", "p99", "verdict")
    table.add("a", "1 ms", "–", "stable")
    table.add("b", "–", "–", "stable")
    assert printed(capsys, table) == [" step   p50  verdict", " a     1 ms  stable", " b        –  stable", ""]


def test_tables_and_sentences_are_in_the_encoding_of_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", TextIOWrapper(out := BytesIO(), "ascii", "replace"))
    table = OpenTable("step", "p50")
    table.add("60–84/s", "35 µs")
    table.print()
    print_text("answer: 60–84/s")
    assert out.getvalue() == b" step       p50\n 60?84/s  35 ?s\n\nanswer: 60?84/s\n"


def test_a_table_without_a_row_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, OpenTable("a", "b")) == []


@pytest.mark.parametrize("terminal", [False, True])
def test_columns_are_dispensed_with_in_their_order_only_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
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


@pytest.mark.parametrize(("longest", "column"), [(0.25, ["queued"]), (0.0, [])])
def test_the_times_have_a_column_of_the_queued_requests_if_any_was(
    longest: float, column: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    times = dict.fromkeys(("min", "mean", "p50", "p75", "p90", "p95", "p99", "p999"), 0.0)
    response = times | {"max": 0.5, "count": 4, "failed": 0}
    print_times(
        {"response_s": response, "service_s": response, "lag_s": response, "queued_s": times | {"max": longest}}
    )
    head, *rows = capsys.readouterr().out.splitlines()
    assert re.split(r"\s{2,}", head.strip()) == ["response time", "service time", "generator lag", *column]
    assert rows[-2].split()[-2:] == (["250", "ms"] if column else ["500", "ms"])
