"""Figures of docs/peers.md that other texts quote: read from its table, written into their sentences."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

_QUOTES: Final = (
    ("README.md", "In a closed loop on one core it sends [{share} % of what wrk sends]"),
    (
        "docs/faq.md",
        "On one core, about {open} requests/s in an open loop and {closed} in a closed one, {share} % of wrk's rate, "
        "at {cpu} µs of processor time for each request.",
    ),
    (
        "docs/comparison.md",
        "In a closed loop on one core, logreplay sends {share} % of what wrk sends "
        "({closed} and {wrk} requests/s, [measured](peers.md))",
    ),
    (
        "docs/howto/http2.md",
        "In an open loop on one core, logreplay held {open2} requests/s in cleartext and {opentls} over TLS, "
        "vegeta {vegeta} in cleartext, k6 {k6} over TLS, and h2load {h2load} and {h2loadtls}. "
        "A request took {open2_cpu} and {opentls_cpu} µs of processor time with logreplay, {vegeta_cpu} with vegeta, "
        "{k6_cpu} with k6, {h2load_cpu} and {h2loadtls_cpu} with h2load.",
    ),
)
"""File, and a sentence that stands in it once."""
_CLOSED, _CPU, _OPEN, _OPEN_CPU = 1, 2, 3, 4
"""Columns of the table."""
_HTTP2: Final = {
    "open2": "logreplay, HTTP/2",
    "opentls": "logreplay, HTTP/2 over TLS",
    "vegeta": "vegeta, HTTP/2",
    "k6": "k6, HTTP/2 over TLS",
    "h2load": "h2load, HTTP/2",
    "h2loadtls": "h2load, HTTP/2 over TLS",
}
"""Names of figures in an open loop, and the rows they are in."""


def figures(page: str) -> dict[str, str]:
    """The figures of the page, rates rounded; without those that were not measured."""
    rows = [[cell.strip() for cell in line.split("|")[1:]] for line in page.splitlines() if line.startswith("| ")]
    found = {re.sub(r"\*\*| v?\d[\w.]*(?=,|$)", "", row[0]): row for row in rows}

    def number(tool: str, column: int) -> float:
        return float(found[tool][column].replace(",", ""))

    def rate(tool: str, column: int = _OPEN) -> str:
        value = number(tool, column)
        return f"{round(value, -3 if value >= 10_000 else -2):,.0f}"

    def cpu(tool: str, column: int = _OPEN_CPU) -> str:
        return f"{number(tool, column):.0f}"

    wanted: dict[str, Callable[[], str]] = {
        "share": lambda: f"{100 * number('logreplay', _CLOSED) / number('wrk', _CLOSED):.0f}",
        "closed": lambda: rate("logreplay", _CLOSED),
        "wrk": lambda: rate("wrk", _CLOSED),
        "open": lambda: rate("logreplay"),
        "cpu": lambda: cpu("logreplay", _CPU),
        **{name: partial(rate, tool) for name, tool in _HTTP2.items()},
        **{f"{name}_cpu": partial(cpu, tool) for name, tool in _HTTP2.items()},
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
