"""The public API of the analysis: pandas in, pandas out; the same functions as the commands.

Every ``results`` may be the path of a result log, the folder that holds one, what `logreplay.run` returned, or a table
as `load` returns it. The tables are computed from a scan of the file; only `load` brings all rows into memory.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from warnings import warn

from logreplay.analysis import analyze
from logreplay.analysis.analyze import analysed, timed
from logreplay.analysis.input import sources
from logreplay.analysis.input.sources import Source, pairs_given, source_given
from logreplay.analysis.pooled_sweeps import capacity_of, pooled
from logreplay.analysis.verdict import comparison
from logreplay.analysis.verdict.capacity import Capacity
from logreplay.analysis.verdict.compare_log import Fidelity
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.judged_runs import compare_judged
from logreplay.analysis.verdict.ratio_interval import AT_ONCE_TOLERANCE
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import path_given, reason
from logreplay.core.frames import to_pandas
from logreplay.core.quantities import number_given

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Results: TypeAlias = "Source | PathLike[str]"


def load(path: str | PathLike[str]) -> "pd.DataFrame":
    """Load a result log, or any normalized CSV, with all its rows.

    Args:
        path: file, or folder that holds ``results.csv``.

    Returns:
        One row per request in the order of the file, with the columns of `logreplay.analysis.analyze.rows`.

    Raises:
        LogreplayError: it cannot be read.
    """
    return to_pandas(analyze.rows(path_given(path, "path")))


def seconds(results: Results) -> "pd.DataFrame":
    """Return the table of `logreplay.analysis.tables.aggregate.seconds`: a row a second, times in seconds.

    Raises:
        LogreplayError: the result log cannot be read.
    """
    return to_pandas(analyze.seconds(source_given(results)))


def steps(results: Results) -> "pd.DataFrame":
    """Return the step table with its evidence: (steps, columns), times in seconds, rates in requests/s.

    The columns are those of `logreplay.analysis.tables.aggregate.steps` and
    `logreplay.analysis.verdict.stability.evidence`.

    Raises:
        LogreplayError: the result log cannot be read.
    """
    return to_pandas(analysed(source_given(results)).steps)


def saturation(results: Results) -> SaturationVerdict:
    """Say from which rate on a target no longer keeps up, or why none was found.

    Returns:
        ``sentence``: the answer in words; ``saturation`` and ``onset``: ``found``, ``rate``, ``low``, ``high`` in
        requests/s, ``why``.

    Raises:
        LogreplayError: the result log cannot be read.
    """
    return analysed(source_given(results)).verdict


def compare(
    baseline: Results,
    candidate: Results,
    *more: Results,
    tolerance: float | None = None,
    fail_above: float | None = None,
) -> Comparison | Fidelity:
    """Say whether one run is slower than another: see `logreplay.analysis.verdict.judged_runs.compare_judged`.

    Raises:
        UsageError: a run has no candidate, is named twice, or is a log in the place of a run.
        LogreplayError: a result log cannot be read.
    """
    runs = pairs_given((baseline, candidate, *more))
    for name, share in (("tolerance", tolerance), ("fail_above", fail_above)):
        if share is not None:
            number_given(share, name)
    return compare_judged(runs, tolerance=tolerance, fail_above=fail_above)


def duet(folder: str | PathLike[str], *, tolerance: float = AT_ONCE_TOLERANCE) -> Comparison:
    """Compare the times of both targets of a duet: see `logreplay.analysis.verdict.comparison.compare_duet`.

    Args:
        folder: folder of ``logreplay duet``, or two result logs of a duet with the same names.
        tolerance: changes up to this fraction do not count.

    Raises:
        LogreplayError: a result log cannot be read.
    """
    warn("analysis.duet is going away; use logreplay.analyze", DeprecationWarning, stacklevel=2)
    baseline, candidate = _sides(folder)
    tolerance = number_given(tolerance, "tolerance")
    return comparison.compare_duet(baseline, candidate, tolerance, comparison.second_baseline(baseline, candidate))


def pairs(folder: str | PathLike[str]) -> "pd.DataFrame":
    """Return the pairs of a duet: one row for each request, by its number ``seq``.

    Args:
        folder: as for `duet`.

    Returns:
        ``seq``, ``row``, ``op``, ``url``, ``scheduled`` (seconds), and of the baseline and, with ``_new``, of the
        candidate ``rc``, ``bytes``, ``error``, ``response`` (seconds).

    Raises:
        LogreplayError: a result log cannot be read.
    """
    of_both, of_each = ["row", "op", "url", "scheduled"], ["seq", "rc", "bytes", "error", "response"]
    baseline, candidate = (load(path) for path in _sides(folder))
    return baseline[[*of_both, *of_each]].merge(candidate[of_each], on="seq", suffixes=("", "_new"))


def differences(folder: str | PathLike[str]) -> "pd.DataFrame":
    """Return the differences between the answers of a duet: the rows of its ``differences.csv``.

    Args:
        folder: folder of ``logreplay duet``.

    Returns:
        One row for each route, place and kind: the columns of `differences.csv`, such as ``route``, ``place``,
        ``kind``, ``count`` and ``share`` of the pairs, and whether the difference ``counts``.

    Raises:
        LogreplayError: it cannot be read.
    """
    import pandas as pd

    path = path_given(folder, "folder") / "differences.csv"
    try:
        return pd.read_csv(path, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise LogreplayError(f"{path}: cannot be read ({reason(error)}); name the folder of a duet") from None


def _sides(folder: str | PathLike[str]) -> tuple[Path, Path]:
    """The result logs of the baseline and the candidate."""
    if pair := sources.duet_in(path_given(folder, "folder")):
        return pair
    raise LogreplayError(f"{folder}: no baseline.csv and candidate.csv in it; name the folder of a duet")


def capacity(
    results: "Results | Sequence[Results]",
    *,
    tps: float,
    within: float,
    percentile: str,
    headroom: float = 0.0,
    survive: int = 0,
) -> Capacity:
    """Say how many such machines carry ``tps`` requests/s with a percentile within a bound in seconds.

    Several runs of the same sweep are pooled. See `logreplay.analysis.verdict.capacity.capacity`.

    Raises:
        UsageError: the runs are not of the same sweep, or a value is wrong.
        LogreplayError: a result log cannot be read.
    """
    runs: Sequence[Results] = results if isinstance(results, list | tuple) else [results]  # type: ignore[list-item]
    for name, number in (("tps", tps), ("within", within), ("headroom", headroom), ("survive", survive)):
        number_given(number, name)
    found = pooled([source_given(run) for run in runs])
    return capacity_of(found, tps=tps, within=within, percentile=str(percentile), headroom=headroom, survive=survive)


def hockey_stick(ax: "Axes", results: Results, *, slo: float | None = None, linear: bool = False) -> "Axes":
    """Draw response time against offered rate, one dot a second, with the verdict above; return the Axes.

    Args:
        ax: where to draw.
        results: a sweep.
        slo: a bound of the response time to draw, seconds.
        linear: linear instead of logarithmic time axis.
    """
    from logreplay.analysis.output import pictures
    from logreplay.analysis.output.plots.hockey_stick import axes_given

    bound, found = None if slo is None else number_given(slo, "slo"), timed(source_given(results))
    return pictures.draw(axes_given(ax), found, "hockeystick", slo=bound, linear=linear, title=True)


def picture(ax: "Axes", results: Results, kind: str) -> "Axes":
    """Draw ``achieved``, ``throughput``, ``percentiles``, ``heatmap`` or ``timeline`` of a run; return the Axes.

    Raises:
        UsageError: no such picture of these data.
    """
    from logreplay.analysis.output import pictures
    from logreplay.analysis.output.plots.hockey_stick import axes_given

    return pictures.draw(axes_given(ax), timed(source_given(results)), str(kind))


def overlay(ax: "Axes", runs: Mapping[str, Results], *, slo: float | None = None, linear: bool = False) -> "Axes":
    """Lay the hockey sticks of several runs (name → results) over each other; return the Axes."""
    from logreplay.analysis.output.plots import overlay as plots_compare
    from logreplay.analysis.output.plots.hockey_stick import axes_given

    if not isinstance(runs, Mapping) or not runs:
        raise UsageError(f"runs={runs!r}: expected results by name, such as {{'before': 'sweep-1'}}", ("runs",))
    bound = None if slo is None else number_given(slo, "slo")
    tables = {str(name): timed(source_given(results, "runs")).steps for name, results in runs.items()}
    return plots_compare.overlay(axes_given(ax), tables, slo=bound, linear=linear)


def changes(ax: "Axes", found: Comparison) -> "Axes":
    """Draw by how much times changed, overall, by percentile and by route, with intervals; return the Axes."""
    from logreplay.analysis.output.plots import overlay as plots_compare
    from logreplay.analysis.output.plots.hockey_stick import axes_given

    if not isinstance(found, Comparison):
        raise UsageError(f"found={type(found).__name__}: expected what logreplay.compare returned", ("found",))
    return plots_compare.changes(axes_given(ax), found)
