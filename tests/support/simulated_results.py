"""Result logs of sweeps against a server of four workers that carries 250 requests/s."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import simulate
from logreplay.core.record import to_csv


def write_results(folder: Path, rates: Sequence[float], seconds: int) -> Path:
    """Write ``results.csv``: as many seconds at each rate. The same arguments give the same rows."""
    rng = np.random.default_rng(1)
    rows = simulate.serve(simulate.sweep(rates, seconds, rng), simulate.SimulatedQueue(4, 0.016), rng)
    (folder / "results.csv").write_bytes(to_csv(rows, header=True))
    return folder / "results.csv"
