"""Figures of docs/peers.md that other texts quote: read from its table, written into their sentences."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_QUOTES: Final = (
    ("README.md", "In a closed loop on one core logreplay sends [{share} % of what wrk sends]"),
    (
        "docs/comparison.md",
        "In a closed loop on one core, logreplay sends {share} % of what wrk sends "
        "({closed} and {wrk} requests/s, [measured](peers.md))",
    ),
)
"""File, and a sentence that stands in it once."""
_CLOSED: Final = 1
"""Column of the table."""


def figures(page: str) -> dict[str, str]:
    """The figures of the page, rates rounded; without those that were not measured."""
    rows = [[cell.strip() for cell in line.split("|")[1:]] for line in page.splitlines() if line.startswith("| ")]
    found = {re.sub(r"\*\*| v?\d[\w.]*(?=,|$)", "", row[0]): row for row in rows}

    def number(tool: str, column: int) -> float:
        return float(found[tool][column].replace(",", ""))

    def rate(tool: str) -> str:
        value = number(tool, _CLOSED)
        return f"{round(value, -3 if value >= 10_000 else -2):,.0f}"

    wanted: dict[str, Callable[[], str]] = {
        "share": lambda: f"{100 * number('logreplay', _CLOSED) / number('wrk', _CLOSED):.0f}",
        "closed": lambda: rate("logreplay"),
        "wrk": lambda: rate("wrk"),
    }
    values = {}
    for name, figure in wanted.items():
        with suppress(KeyError, ValueError):  # no such row, or "–" in it
            values[name] = figure()
    return values


def renewed(text: str, sentence: str, values: dict[str, str]) -> str:
    """A text with the present figures in a sentence of it, whose lines may end anywhere.

    Raises:
        ValueError: the sentence is not there, or twice.
    """
    literals, names = re.split(r"\{\w+\}", sentence), re.findall(r"\{(\w+)\}", sentence)
    pattern = r"([\d,]+)".join(r"\s+".join(map(re.escape, literal.split(" "))) for literal in literals)
    found = [*re.finditer(pattern, text)]
    if len(found) != 1:
        raise ValueError(f"expected once, found {len(found)} times: {sentence}")
    for group in range(len(names), 0, -1):
        start, end = found[0].span(group)
        text = text[:start] + values[names[group - 1]] + text[end:]
    return text


def quotes(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Each text that quotes measured figures: its file, the text, and the text as it should be."""
    values = figures((root / "docs" / "peers.md").read_text())
    for name, sentence in _QUOTES:
        text = (root / name).read_text()
        if values.keys() >= set(re.findall(r"\{(\w+)\}", sentence)):
            yield root / name, text, renewed(text, sentence, values)
