"""Result logs of sweeps against a server of four workers that carries 250 requests/s."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

import simulate
from logreplay.core.record import to_csv


def write_results(folder: Path, rates: Sequence[float], seconds: int) -> Path:
    """Write ``results.csv``: as many seconds at each rate. The same arguments give the same rows."""
    (folder / "results.csv").write_bytes(_results(tuple(rates), seconds))
    return folder / "results.csv"


@cache
def _results(rates: tuple[float, ...], seconds: int) -> bytes:
    rng = np.random.default_rng(1)
    rows = simulate.serve(simulate.sweep(rates, seconds, rng), simulate.SimulatedQueue(4, 0.016), rng)
    return to_csv(rows, header=True)
