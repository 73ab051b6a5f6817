"""The percentile text has the form of HdrHistogram, and holds the observed times."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.output import hdr
from logreplay.analysis.output.hdr import percentiles, write_hgrm
from simulate import SimulatedQueue


def columns(text: str) -> list[list[float]]:
    """The lines as the plotter reads them: four figures."""
    rows = [line.split() for line in text.splitlines()[1:] if line and not line.startswith("#")]
    return [[float(cell) for cell in row] for row in rows if len(row) == 4]


@pytest.fixture(scope="module")
def run() -> arrays.RequestArrays:
    rng = np.random.default_rng(8)
    return arrays.read(
        simulate.serve(simulate.sweep([50, 100, 300], 5, rng), SimulatedQueue(4, 0.016), rng, timeout_s=1.0)
    )


def test_each_line_holds_the_observed_time_at_its_percentile(run: arrays.RequestArrays, tmp_path: Path) -> None:
    write_hgrm(tmp_path / "run.hgrm", run)
    ordered = np.sort(run.response[run.good])
    rows = columns((tmp_path / "run.hgrm").read_text())
    assert len(rows) > 40
    for value, share, count, ratio in rows:
        micros = int(ordered[max(math.ceil(share * len(ordered) - 1e-6), 1) - 1])
        assert value == micros / 1000
        assert count == np.count_nonzero(ordered <= micros)
        assert ratio == pytest.approx(1 / (1 - share), abs=0.006)


def test_it_has_the_form_of_the_text_that_the_package_writes(run: arrays.RequestArrays, tmp_path: Path) -> None:
    histogram = HdrHistogram(hdr.LOWEST, hdr.HIGHEST, hdr.DIGITS)
    for micros in run.response[run.good].tolist():
        histogram.record_value(max(micros, 1))
    written = io.BytesIO()
    histogram.output_percentile_distribution(written, 1000.0)
    by_library = written.getvalue().decode().splitlines()
    write_hgrm(tmp_path / "run.hgrm", run)
    written_here = (tmp_path / "run.hgrm").read_text().splitlines()
    assert written_here[:2] == by_library[:2]
    assert [len(line) for line in written_here[2:5]] == [len(line) for line in by_library[2:5]]
    for name in ("#[Mean ", "#[Max "):
        mine, other = (next(line for line in lines if line.startswith(name)) for lines in (written_here, by_library))
        assert mine.split("=")[0] == other.split("=")[0]
        assert float(mine.split("=")[1].split(",")[0]) == pytest.approx(
            float(other.split("=")[1].split(",")[0]), rel=0.002
        )


def test_it_ends_with_the_longest_and_counts_all(run: arrays.RequestArrays, tmp_path: Path) -> None:
    write_hgrm(tmp_path / "run.hgrm", run)
    lines = (tmp_path / "run.hgrm").read_text().splitlines()
    good = run.response[run.good]
    last = next(line for line in reversed(lines) if not line.startswith("#")).split()
    assert last == [f"{good.max() / 1000:.3f}", "1.000000000000", str(len(good))]
    assert f"Total count    = {len(good):12d}]" in lines[-1]


def test_a_run_in_which_all_failed_has_no_lines(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = simulate.serve(simulate.sweep([20], 1, rng), SimulatedQueue(1, 0.5), rng, timeout_s=0.001)
    write_hgrm(tmp_path / "run.hgrm", arrays.read(rows))
    assert columns((tmp_path / "run.hgrm").read_text()) == []


@pytest.mark.parametrize("count", [1, 2, 10, 12_345])
def test_percentiles_grow_denser_and_end_at_the_last_value(count: int) -> None:
    shares = percentiles(count)
    assert shares[0] == 0.0 or count == 1
    assert shares[-1] == 1.0
    gaps = np.diff(shares[:-1])
    assert np.all(gaps > 0)
    assert np.all(np.diff(gaps) <= 1e-12)
