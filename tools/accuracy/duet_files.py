"""The part ``duet_files`` of the page: the verdicts of `logreplay compare` on result logs in files.

The simulated duets of the part ``duet``, written as result logs of 20 routes; once as the two logs of one duet, once as
those of two runs, one a day after the other.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import polars as pl
from click.testing import CliRunner

from accuracy._tables import Table, totals
from accuracy.duet import ROUTES, Cell, runs_of
from logreplay.analysis.statistics.quantiles import Floats, Ints
from logreplay.analysis.verdict.ratio_interval import DIFFERENT
from logreplay.cli.main import cli
from logreplay.core.record import to_csv
from simulate import Arrivals, results

RUNS: Final = 60
_CELLS: Final = (
    Cell("calm"),
    Cell("common wander, 6 % over 8 s", common=(0.06, 8)),
    Cell("wander of each, 6 % over 8 s", apart=(0.06, 8)),
    Cell("pauses of the candidate", pauses=True),
)
_URLS: Final = [f"/route-{chr(ord('a') + number)}" for number in range(ROUTES)]


def verdicts(cell: Cell, number: int, seed: int, slower: float = 1.0, *, at_once: bool = True) -> list[str]:
    """Return the verdicts on result logs in files."""
    (at, *sides), routes = runs_of(cell, number, np.random.default_rng(seed), slower)
    found = []
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.csv" for name in ("baseline", "candidate")]
        for run in range(number):
            for path, side, day, lag in zip(paths, sides, (1, 1 if at_once else 2), (0, 1e-5), strict=True):
                path.write_bytes(_log(at[run], side[run], routes[run], day, lag))
            done = CliRunner().invoke(cli, ["compare", *map(str, paths), "--json"])
            found.append(json.loads(done.stdout)["verdict"])
    return found


def _log(at: Floats, response: Floats, routes: Ints, day: int, lag: float) -> bytes:
    arrivals = Arrivals(at, np.zeros(len(at), np.int64), np.full(len(at), 100.0))
    rows = results(arrivals, response, lag=np.full(len(at), lag), urls=[_URLS[route] for route in routes])
    return to_csv(rows.with_columns(date=pl.lit(f"2026-01-{day:02}")), header=True)


def table(runs: int, seed: int) -> str:
    """The table, in Markdown."""
    lines = ["| machine | files | equal called different | undecided | 10 % found |", "|---|---|--:|--:|--:|"]
    for place, cell in enumerate(_CELLS):
        for at_once, files in ((True, "a duet"), (False, "two runs")):
            equal, slower = (
                verdicts(cell, runs, seed + 10 * place + at, factor, at_once=at_once)
                for at, factor in enumerate((1.0, 1.1))
            )
            figures = (
                sum(word in DIFFERENT for word in equal),
                equal.count("undecided"),
                slower.count("slower"),
            )
            lines.append(f"| {cell.name} | {files} | {' | '.join(f'{each} of {runs}' for each in figures)} |")
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How often the command calls equal versions different."""
    (machines,) = tables
    different, number = totals(machines, "equal called different")
    found, _ = totals(machines, "10 % found")
    return f"False alarms: {different} of {number}; 10 % found: {found} of {number}"
