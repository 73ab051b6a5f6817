"""Reads tables from Markdown, writes them as CSV files, and takes numbers from their cells."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

Table = list[dict[str, str]]
"""Rows; each has its cells by column heading."""

DATA: Final = Path(__file__).parents[2] / "docs" / "data"
_RULE: Final = re.compile(r"[|:\- ]+")
_NUMBER: Final = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")


def tables_of(markdown: str) -> list[Table]:
    """Read the tables of a text; text between tables is not allowed.

    Raises:
        ValueError: a line is not a table row, or a row has too few or too many cells.
    """
    tables: list[Table] = []
    for block in re.split(r"\n\s*\n", markdown.strip()):
        heads, *rows = [_cells(line) for line in block.splitlines() if not _RULE.fullmatch(line)]
        tables.append([dict(zip(heads, row, strict=True)) for row in rows])
    return tables


def _cells(line: str) -> list[str]:
    if not (line.startswith("|") and line.endswith("|")):
        raise ValueError(f"not a row of a table: {line}")
    plain = re.sub(r"(?<=\d)%", " %", re.sub(r"\*\*|`", "", line))
    return [cell.strip() for cell in plain[1:-1].split("|")]


def files(part: str) -> list[Path]:
    """Return the CSV files of a part, in the order of its tables."""
    found = [path for path in DATA.glob(f"{part}*.csv") if re.fullmatch(rf"{part}(-\d+)?", path.stem)]
    return sorted(found, key=lambda path: int(path.stem.removeprefix(part)[1:] or 1))


def write(part: str, tables: Sequence[Table]) -> None:
    """Replace the CSV files of a part."""
    for path in files(part):
        path.unlink()
    DATA.mkdir(exist_ok=True)
    for number, table in enumerate(tables, 1):
        name = part if number == 1 else f"{part}-{number}"
        with (DATA / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, list(table[0]), lineterminator="\n")
            out.writeheader()
            out.writerows(table)


def read(part: str) -> list[Table]:
    """Read the CSV files of a part; none if it has not been measured."""
    tables = []
    for path in files(part):
        with path.open(encoding="utf-8", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    return tables


def numbers(table: Table, column: str) -> list[float]:
    """Return the first number of each cell of a column, without the cells that have none."""
    return [float(found[0].replace(",", "")) for row in table if (found := _NUMBER.search(row[column]))]


def totals(table: Table, column: str) -> tuple[int, int]:
    """Return the sums of both numbers of the cells ``A of B`` of a column."""
    pairs = [_NUMBER.findall(row[column]) for row in table]
    first, second = zip(*pairs, strict=True)
    return sum(map(int, first)), sum(map(int, second))


def where(table: Table, column: str, *texts: str) -> Table:
    """Return the rows whose cell in a column is one of these texts."""
    return [row for row in table if row[column] in texts]


def span(values: Sequence[float], unit: str = " %") -> str:
    """Return the least and the greatest value as text, such as ``96–99 %``."""
    low, high = (f"{end:g}" for end in (min(values), max(values)))
    return low + unit if low == high else f"{low}–{high}{unit}"


def pairs(table: Table, column: str) -> Iterator[tuple[float, float]]:
    """Yield both numbers of each cell ``A / B`` of a column, without the cells that have fewer."""
    for row in table:
        found = _NUMBER.findall(row[column])
        if len(found) == 2:
            yield float(found[0]), float(found[1])
