"""A CSV is cut into blocks of whole rows; each of its lines is in a row, or is refused."""

import csv
from io import BytesIO, StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logreplay.core import csv_blocks
from logreplay.core.csv_blocks import RowBlock, blocks, clean_block

NAMES = ["a", "b", "c"]


class Counted(BytesIO):
    """A file that counts the bytes read from it."""

    longest = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.longest = max(self.longest, len(data))
        return data


def rows_of(text: str | bytes, size: int = 64) -> tuple[list[tuple[str | None, ...]], list[tuple[int, str]]]:
    """The rows that are read, and the line and reason of each other one."""
    data = text.encode() if isinstance(text, str) else text
    read: list[tuple[str | None, ...]] = []
    refused = []
    for block in blocks(BytesIO(data), 3, 2, size):
        bad = {line.row for line in block.refused}
        frame = block.parsed(NAMES, NAMES, {})
        read += [row for at, row in enumerate(frame.iter_rows()) if at not in bad]
        refused += [(block.line_of(line.row), line.why) for line in block.refused]
    return read, refused


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("1,2,3\n", ("1", "2", "3")),
        ("1,2,3", ("1", "2", "3")),
        ("1,2,3\r\n", ("1", "2", "3")),
        (',"",\n', (None, "", None)),
        ('"a ""b"", c\n\r\nd",2,"3"\n', ('a "b", c\n\r\nd', "2", "3")),
        ('1,Mozilla "5.0,3\n', ("1", 'Mozilla "5.0', "3")),
        ('1, "2",3\n', ("1", ' "2"', "3")),
        ("1,\xff\0,3\n", ("1", "\xff\0", "3")),
    ],
)
def test_a_row_is_read_whole(text: str, row: tuple[str | None, ...], size: int) -> None:
    assert rows_of(f"0,0,0\n{text}", size) == ([("0", "0", "0"), row], [])


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('1,"Mozilla 5.0,3', "a quote is not closed"),
        ('"Mozilla" 5.0,2,3', "a quote is not closed, or not doubled"),
        ("1,2", "fewer values than columns"),
        ("1,2,3,4", "more values than columns"),
        ("1,2\r3,4", "a carriage return within the line"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_with_its_line_and_costs_no_other(line: str, why: str, size: int) -> None:
    good = [f'{number},"a ""b""",x\n' for number in range(50)]
    read, refused = rows_of("".join(good[:20]) + line + "\n" + "".join(good[20:]), size)
    assert read == [(str(number), 'a "b"', "x") for number in range(50)]
    assert refused == [(22, why)]


@pytest.mark.parametrize("beside", ["", "1,2\n", 'x,Mozilla 5"0,y\n'])
def test_a_quoted_empty_value_is_an_empty_text_whatever_is_beside_it(beside: str) -> None:
    """In a block with a line that is not clean it was null."""
    read, _ = rows_of(f'"",2,\n"a, ""b""",,""\r\n{beside}', 1 << 20)
    assert read[:2] == [("", "2", None), ('a, "b"', None, "")]


def test_a_line_that_a_quote_would_swallow_is_read_by_itself() -> None:
    lines = "".join(f"{number},x,\n" for number in range(1000))
    read, refused = rows_of('0,"Mozilla 5.0,\n' + lines)
    assert read == [(str(number), "x", None) for number in range(1000)]
    assert refused == [(2, "a quote is not closed")]


def test_blank_lines_are_rows_of_nothing() -> None:
    assert rows_of("1,2,3\n\n \n4,5,6\n\n") == ([("1", "2", "3"), *[(None,) * 3] * 2, ("4", "5", "6"), (None,) * 3], [])


@given(st.lists(st.tuples(*[st.text('a",\n\r é ', max_size=6)] * 3), min_size=1, max_size=30), st.integers(1, 200))
def test_what_a_writer_of_csvs_wrote_comes_back(rows: list[tuple[str, str, str]], size: int) -> None:
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    assert rows_of(text.getvalue(), size) == (rows, [])


@given(st.text('1,"\n\r x', max_size=200), st.integers(1, 50))
def test_every_line_of_any_text_is_in_a_row_or_refused(text: str, size: int) -> None:
    lines = 2
    for block in blocks(BytesIO(text.encode()), 3, 2, size):
        frame = block.parsed(NAMES, NAMES, {})
        assert block.line == lines
        assert frame.height == block.rows
        lines += block.text.count(b"\n")
    assert lines - 2 == text.count("\n") + bool(text and not text.endswith("\n"))


@given(st.text('1,"\n x', max_size=200), st.integers(1, 50))
@example('"\n"\n\n"', 1)
def test_blocks_of_any_size_hold_the_same_rows(text: str, size: int) -> None:
    assert rows_of(text, size) == rows_of(text, 1 << 20)


def test_a_clean_block_ends_with_its_last_whole_row() -> None:
    assert clean_block(b'1,2,3\n4,"5\n', 3) == RowBlock(b"1,2,3\n", 1)
    assert clean_block(b"1,2", 3) is None
    assert clean_block(b'1,2"3"\n', 2) is None


@pytest.mark.parametrize("columns", [2, 255, 256, 257, 300])
@pytest.mark.parametrize("more", [-1, 1, 256])
def test_a_row_with_another_number_of_values_is_not_clean(columns: int, more: int) -> None:
    """However many the columns are: the commas of a row are counted in bytes, which wrap at 256."""
    row = b"," * (columns - 1) + b"\n"
    assert clean_block(row * 5, columns) == RowBlock(row * 5, 5)
    assert clean_block(row * 2 + b"," * (columns - 1 + more) + b"\n" + row * 2, columns) is None
    shifted = [b"," * (columns - 2) + b"\n", b"," * columns + b"\n"]  # as many commas in all
    assert clean_block(row + b"".join(shifted) + row, columns) is None


@pytest.mark.parametrize("odd", [b"1,2,3,4\n", b"1,2\n", b"1,2\r3,4\n", b'1,"2"x,3\n'])
@pytest.mark.parametrize("long", [b"x", b"x" * 1000])
def test_each_piece_of_a_large_block_is_looked_at(monkeypatch: pytest.MonkeyPatch, odd: bytes, long: bytes) -> None:
    monkeypatch.setattr(csv_blocks, "_PIECE", 64)
    text = b"1,2,%s\n" % long * 100
    assert clean_block(text + b"4,5", 3) == RowBlock(text, 100)
    for place in (0, 1, 50, 99):
        lines = text.splitlines(keepends=True)
        assert clean_block(b"".join([*lines[:place], odd, *lines[place:]]), 3) is None


def test_a_line_longer_than_any_row_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "LONGEST_ROW", 1000)
    read, refused = rows_of("1,2,3\n" + "x" * 5000 + "\n4,5,6\n")
    assert read == [("1", "2", "3"), ("4", "5", "6")]
    assert [line for line, _ in refused] == [3]


@pytest.mark.parametrize("line", ['x","y\n', '"\n', '"",\n', '1,"2,3\n', '1,2"3,4\n', '"a""\n'])
def test_no_text_is_looked_at_more_often_the_longer_it_is(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(csv_blocks, "LONGEST_ROW", 4096)
    looked = 0
    split = csv_blocks._row

    def counted(lines: list[bytes], at: int, stop: int, columns: int) -> tuple[list[str], int, str]:
        nonlocal looked
        row = split(lines, at, stop, columns)
        looked += row[1]
        return row

    monkeypatch.setattr(csv_blocks, "_row", counted)
    file = Counted(line.encode() * 5000)
    assert sum(block.text.count(b"\n") for block in blocks(file, 3, 2, 100)) == 5000
    assert looked < 5 * 5000
    assert file.longest <= 2 * 4096
