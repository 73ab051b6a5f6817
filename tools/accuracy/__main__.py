"""Make tables of docs/accuracy.md: ``PYTHONPATH=tests:tools python -m accuracy [PART …] [--runs N] [--seed N]``.

The package's docstring says what a part is. Without a PART all are made. Seeds from 1,000,000 on are of this page: no
rule was tuned with them.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from accuracy import _tables

FRESH: Final = 1_000_000
"""The first seed of the page."""

PAGE: Final = Path(__file__).parents[2] / "docs" / "accuracy.md"


def result(part: str) -> str:
    """Return the result of a part, from its CSV files."""
    tables = _tables.read(part)
    return str(import_module(f"accuracy.{part}").result(tables)) if tables else "not measured yet"


def replaced(page: str, part: str, text: str) -> str:
    """Return the page with another result of a part.

    Raises:
        ValueError: the page has no such part.
    """
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{PAGE.name}: no {begin} … {end} in it")
    return f"{before}{begin}{text}{end}{after}"


def main() -> None:
    """Make the tables that the command names."""
    parts = sorted(each.name for each in iter_modules([str(Path(__file__).parent)]) if not each.name.startswith("_"))
    parser = argparse.ArgumentParser(prog="python -m accuracy", description="Make tables of docs/accuracy.md.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(parts)}")
    parser.add_argument("--runs", type=int, help="simulations of a cell, only shown; default: as the page, and written")
    parser.add_argument(
        "--seed", type=int, default=FRESH, help="first seed, only shown; default: as the page, and written"
    )
    parser.add_argument("--result", action="store_true", help="only write the results of the CSV files onto the page")
    given = parser.parse_args()
    for part in given.parts or parts:
        if part not in parts:
            parser.error(f"{part}: choose from {', '.join(parts)}")
        if not given.result:
            module = import_module(f"accuracy.{part}")
            table = module.table(given.runs or module.RUNS, given.seed)
            sys.stdout.write(f"{part}\n\n{table}\n")
        if given.runs is None and given.seed == FRESH:
            if not given.result:
                _tables.write(part, _tables.tables_of(table))
            PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), part, result(part)), encoding="utf-8")


if __name__ == "__main__":
    main()
