"""Functions that read results: `compare`, `capacity`, `analyze`; and the tasks of the commands plot and seconds."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from logreplay.analysis.input import sources
from logreplay.analysis.input.run_metadata import check_kinds, checked_summary
from logreplay.analysis.output.file_names import DUET
from logreplay.analysis.verdict.checks import check_valid
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import atomic_path, check_absent, check_distinct, check_nameable, check_no_file
from logreplay.core.quantities import Seconds
from logreplay.core.record import to_csv
from logreplay.options.keywords import read
from logreplay.options.kinds import BOUNDS
from logreplay.options.other_commands import BOUNDED
from logreplay.options.signatures import with_known_names
from logreplay.options.spelling import respelled, texts_spelled
from logreplay.results import Result, absolute, tables_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from logreplay.analysis.input.sources import Source
    from logreplay.analysis.scaling.scale_out import ScaleOut
    from logreplay.analysis.verdict.capacity import Capacity
    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.folder_results import DuetResult

    Results = Source | PathLike[str]
    Percentile = Literal["mean", "p50", "p90", "p95", "p99", "p999"]


@with_known_names
@respelled("compare")
def compare(
    baseline: "Results",
    candidate: "Results",
    *more: "Results",
    tolerance: float | str | None = None,
    fail_above: float | str | None = None,
    output: str | PathLike[str] | None = None,
    junit: str | PathLike[str] | None = None,
    force: bool = False,
) -> "Comparison | Fidelity":
    """Say whether one run is slower than another, and the smallest change that could be detected.

    Runs of the same log are compared request by request, others by percentiles, the result logs of a duet as duet does.
    If ``baseline`` is the log that ``candidate`` replayed, statuses, sizes and times by route are compared.

    Args:
        baseline: result log, folder that holds one, result, or table.
        candidate: likewise.
        more: further runs, made in turn: baseline, candidate. Pairs are judged by the spread between them.
        tolerance: changes up to this share do not count, such as ``"2%"``; None: 2 %, in a duet 1 %.
        fail_above: limit of the change of the times, and of 1 % for failures: ``checks`` has the answers.
        output: draws the changes into this PNG or SVG file.
        junit: writes the checks as JUnit XML.
        force: replace an existing ``output``.

    Raises:
        UsageError: a run has no candidate, is named twice, or is a log in the place of a run; or a value is wrong.
        LogreplayError: a run cannot be read, or is a copy of another, or a file cannot be written.
    """
    given = {"tolerance": tolerance, "fail_above": fail_above, "output": output, "junit": junit, "force": force}
    found = compare_once(sources.pairs_given((baseline, candidate, *more)), **read("compare", given))
    return texts_spelled(found, "duet")  # the options of compare, and those that make its runs


def compare_once(
    runs: "Sequence[Source]",
    *,
    tolerance: float | None,
    fail_above: float | None,
    output: Path | None,
    junit: Path | None,
    force: bool,
) -> "Comparison | Fidelity":
    """`compare` with checked values: shares as fractions."""
    from logreplay.analysis.output.junit import reported
    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.judged_runs import check_runs, compare_judged

    written = [(name, path) for name, path in (("-o", output), ("--junit", junit)) if path is not None]
    sides = [(("BASELINE", "CANDIDATE")[at % 2], run) for at, run in enumerate(runs)]
    check_distinct(written, [(side, Path(run)) for side, run in sides if isinstance(run, str | Path)])
    if output:
        if not force:
            check_absent(output)
        if check_runs(runs):
            raise UsageError(f"-o and the log {runs[0]} as BASELINE exclude each other: it draws two runs")
    with reported(junit, "compare") as report:
        found = compare_judged(runs, tolerance=tolerance, fail_above=fail_above)
        report(found.checks, "")
    if output and not isinstance(found, Fidelity):
        _draw_changes(found, output, force=force)
    return found


@with_known_names
@respelled("capacity")
def capacity(
    results: "Results | Sequence[Results]",
    *,
    demand: float,
    p50: Seconds | None = None,
    p90: Seconds | None = None,
    p95: Seconds | None = None,
    p99: Seconds | None = None,
    p999: Seconds | None = None,
    mean: Seconds | None = None,
    bound: "str | Mapping[str, Seconds] | Sequence[str]" = (),
    within: Seconds | None = None,
    percentile: "Percentile | None" = None,
    headroom: float | str = 0.0,
    survive: int = 0,
    machines: str | Sequence[int] | None = None,
    output: str | PathLike[str] | None = None,
    force: bool = False,
) -> "Capacity | ScaleOut":
    """Say how many machines carry a load within a bound, from a sweep of one of them.

    Args:
        results: result log of a sweep, its folder, result, or table; or a list of several runs of the same sweep.
        demand: the load to carry, requests/s; earlier ``tps``.
        p50: bound of the median response time; give one of these seven.
        p90: bound of p90.
        p95: bound of p95.
        p99: bound of p99.
        p999: bound of p99.9.
        mean: bound of the mean.
        bound: the same as a text, ``"p99<300ms"``.
        within: bound of the response time that ``percentile`` names.
        percentile: which response time ``within`` bounds.
        headroom: share of each machine to keep free, such as ``"20%"``.
        survive: number of machines that may be lost.
        machines: number of machines behind each result, such as ``"1,2,4"``: fits the universal scalability law.
        output: PNG or SVG file into which the curve of ``machines`` is drawn.
        force: replace an existing ``output``.

    Raises:
        UsageError: a value is wrong, no bound or several are given, or the runs are not of the same sweep.
        LogreplayError: a result log cannot be read.
    """
    runs: Sequence[Results] = results if isinstance(results, list | tuple) else [results]  # type: ignore[list-item]
    bounds = {"p50": p50, "p90": p90, "p95": p95, "p99": p99, "p999": p999, "mean": mean}
    given = {"bound": bound, "within": within, "percentile": percentile, "headroom": headroom, "survive": survive}
    places = {"machines": machines, "output": output, "force": force}
    found = capacity_once(runs, {"demand": demand, **bounds, **given, **places})
    return texts_spelled(found, "sweep")


def capacity_once(runs: "Sequence[Results]", given: dict[str, Any]) -> "Capacity | ScaleOut":
    """`capacity` for callers whose errors name options."""
    from logreplay.analysis.api import capacity as of_one

    values = read("capacity", given)
    percentile, within = _bounded(values)
    numbers, output, force = (values.pop(name) for name in ("machines", "output", "force"))
    asked = {"tps": values["demand"], **{name: values[name] for name in ("headroom", "survive")}}
    if numbers is None:
        return of_one(runs, within=within, percentile=percentile, **asked)
    return _scale_out(runs, numbers, output, force=force, within=within, percentile=percentile, **asked)


def _bounded(values: Mapping[str, Any]) -> tuple[str, float]:
    """The response time that is bounded, and its bound in seconds."""
    from logreplay.calls.find_call import taken_bounds

    bounds = taken_bounds({**dict.fromkeys(BOUNDS), **values})
    if other := bounds.keys() - BOUNDED.keys():
        raise UsageError(f"--bound {BOUNDS[other.pop()]}: capacity bounds {', '.join(BOUNDED.values())}")
    within, percentile = values["within"], values["percentile"]
    if within is None and percentile is None and len(bounds) == 1:
        return next(iter(bounds.items()))
    if bounds:
        given = [f"--{name}" for name in BOUNDED if values[name] is not None]
        spoken = [f"--{name}" for name in ("within", "percentile") if values[name] is not None]
        given += ["--bound"] * bool(values["bound"]) + spoken[:1]
        faults = f"{' and '.join(given)} exclude each other" if len(given) > 1 else f"{given[0]} is given twice"
        raise UsageError(f"{faults}: give one bound, such as --p99 300ms")
    if within is None:
        raise UsageError("a bound is missing: give one, such as --p99 300ms")
    if percentile is None:
        raise UsageError(
            "--within does not say which response time it bounds: give --p99 D instead, or --percentile p99"
        )
    return percentile, within


def _scale_out(
    runs: "Sequence[Results]",
    numbers: Sequence[int],
    output: Path | None,
    *,
    force: bool,
    tps: float,
    within: float,
    percentile: str,
    headroom: float,
    survive: int,
) -> "ScaleOut":
    """Whether more machines carry more, from a result of each number of them."""
    from logreplay.analysis.planning.supply import scaling_points
    from logreplay.analysis.scaling.scale_out import scale_out

    if any(not isinstance(run, str | PathLike) for run in runs):
        raise UsageError("--machines needs the folder or the result log of a search or a sweep, and not a table")
    paths = [Path(run) for run in runs if isinstance(run, str | PathLike)]
    points, unknown = scaling_points(paths, numbers, {percentile: within})
    found = replace(scale_out(points, tps=tps, headroom=headroom, survive=survive), not_covered=unknown)
    if output is not None:
        from logreplay.analysis.output.plots import hockey_stick, scaling

        _save(hockey_stick.figure(lambda ax: scaling.scaling(ax, found)), output, force=force)
    return found


@with_known_names
@respelled("analyze")
def analyze(
    results: str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    plots: bool = True,
    force: bool = False,
    cluster: str | None = None,
    trace_url: str | None = None,
) -> Result:
    """Find the rate at which the target saturates, and say whether the run is valid.

    Args:
        results: result log, or the folder of a sweep, a search or a duet.
        output: writes tables, summary and report into this folder; None: writes nothing.
        plots: draw the pictures, and write the report.
        force: write into a folder that holds something.
        cluster: a Dask scheduler, ``tcp://HOST:PORT``, or ``local:N`` for N workers here, which read the result log.
        trace_url: links the slowest sampled requests to their traces, ``https://…/{trace_id}``; None: that of the run.

    Returns:
        The result; of a duet a `DuetResult`.

    Raises:
        TakenError: ``output`` holds something, and ``force`` was not given.
        LogreplayError: the result log cannot be read, the folder cannot be written, or ``output`` is given for a duet.
    """
    if not isinstance(results, str | PathLike):
        raise UsageError(f"results={type(results).__name__}: expected the path of a result log, or of its folder")
    given = {"output": output, "plots": plots, "force": force, "cluster": cluster, "trace_url": trace_url}
    result = analyze_once(results, **read("analyze", given))
    result.checks = texts_spelled(result.checks, "duet")  # only those of a duet name an option
    result.function = "duet" if holds_duet(Path(results)) else "sweep"  # advised for the next one
    result.findings = texts_spelled(result.findings, result.function)
    result.files = absolute(result.files)
    return result


def analyze_once(
    results: str | PathLike[str],
    output: str | PathLike[str] | None,
    *,
    plots: bool,
    force: bool,
    cluster: str | None,
    trace_url: str | None = None,
    missing: bool = False,
) -> Result:
    """`analyze` for callers whose errors name options; ``missing``: write only the files that a folder lacks."""
    from logreplay.analysis.output.folder import write_folder
    from logreplay.runs.engines import cluster_executor

    given = Path(results)
    for name in (given, output):
        if name is not None:
            check_nameable(name)
    if output is None and holds_duet(given):
        for option, value in (("--trace-url", trace_url), ("--cluster", cluster)):
            if value:
                raise UsageError(f"{given}: is the folder of a duet, which is compared without {option}: leave it out")
        return _duet(given)
    if output is None and trace_url:
        raise UsageError("--trace-url needs -o: the links are written into its report")
    path = sources.locate(given)
    if output is not None:
        check_no_file(Path(output))
    if output is not None and not force and not (Path(output).is_dir() and not any(Path(output).iterdir())):
        check_absent(Path(output))
    with cluster_executor(cluster) as executor:
        if output is None:
            tables = tables_of(path, executor)
            result = _result(path, tables.analysis.summary, tables.analysis.steps)
            result.__dict__["_tables"] = {"": tables}
            return result
        summary, steps = write_folder(
            path, Path(output), plots=plots, executor=executor, trace_url=trace_url, missing=missing
        )
    return _result(path, summary, steps)


def seconds_once(results: Path, output: Path | None, *, force: bool, as_json: bool) -> tuple[bytes, int]:
    """Make the per-second table as CSV or lines of JSON, also in ``output``; return it with the number of seconds."""
    from logreplay.analysis.analyze import seconds

    path = sources.locate(results)
    with ExitStack() as stack:
        if output is not None:
            check_distinct([("-o", output)], [("result log", path)])
            fresh = stack.enter_context(atomic_path(output, force=force))
        table = seconds(results)
        text = table.write_ndjson().encode() if as_json else to_csv(table, header=True)
        if output is not None:
            fresh.write_bytes(text)
    return text, table.height


def plot_once(
    results: Sequence[Path], kind: str | None, output: Path | None, *, within: float | None, linear: bool, force: bool
) -> tuple[str, Path]:
    """Draw one run, or several over each other, into a file; return the kind of picture, and the file.

    Without a kind it is the usual one; without ``output`` the file is named after the kind.
    """
    from logreplay.analysis.analyze import timed
    from logreplay.analysis.output.pictures import draw, kinds, usual_kind
    from logreplay.analysis.output.plots.hockey_stick import figure
    from logreplay.analysis.output.plots.overlay import overlay

    analysis = timed(results[0]) if len(results) == 1 else None
    drawn = kind or usual_kind(analysis) if analysis else "overlay"
    output = output or Path(f"{drawn}.png")
    check_distinct([("-o", output)], [("result log", path) for path in results])
    if not force:
        check_absent(output)
    if analysis is None:
        runs = {str(path): timed(path).steps for path in results}
        made = figure(lambda ax: overlay(ax, runs, slo=within, linear=linear))
    else:
        if drawn not in kinds(analysis):
            raise LogreplayError(f"{results[0]}: no {drawn} to draw; these data allow: {', '.join(kinds(analysis))}")
        made = figure(lambda ax: draw(ax, analysis, drawn, slo=within, linear=linear, title=True))
    _save(made, output, force=force)
    return drawn, output


def holds_duet(folder: Path) -> bool:
    """Whether a folder holds the result logs of a duet, and none besides."""
    return folder.is_dir() and not sources.results_in(folder) and sources.duet_in(folder) is not None


def result_log(results: str | PathLike[str]) -> Path:
    """The result log that a path means; raises if there is none."""
    path = sources.locate(Path(results))
    if not path.exists():
        raise LogreplayError(f"{results}: no such file")
    return path


def _draw_changes(found: "Comparison", output: Path, *, force: bool) -> None:
    from logreplay.analysis.output.plots import hockey_stick, overlay

    def draw(ax: "Axes") -> None:
        overlay.changes(ax, found).set_title(found.sentence, fontsize=10.5, loc="left", parse_math=False)

    size = (9, 1.6 + 0.32 * len(overlay.shown(found)))
    _save(hockey_stick.figure(draw, size=size), output, force=force)


def _save(figure: "Figure", output: Path, *, force: bool) -> None:
    from logreplay.analysis.output.plots.hockey_stick import save

    with atomic_path(output, force=force) as fresh:
        save(figure, fresh)


def _result(path: Path, summary: dict[str, Any], steps: "pl.DataFrame") -> Result:
    """The result of a result log that was analysed now."""
    from logreplay.replay.results.verdict import Finding  # loads the senders

    check = check_valid("valid run", summary)
    findings = Finding.all_of(summary)
    stopped = str(summary.get("stopped") or "")
    return Result(summary=summary, files=(path,), step_table=steps, findings=findings, checks=(check,), stopped=stopped)


def _duet(folder: Path) -> "DuetResult":
    """The result of a duet that was made before."""
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.analysis.verdict.judged_runs import check_answers, compare_judged
    from logreplay.calls.duet_call import LIMITS
    from logreplay.folder_results import DuetResult
    from logreplay.replay.results.verdict import Finding
    from logreplay.runs.pair_result import answers_of

    names = [name.removesuffix(".csv") for name in DUET]
    logs = {name: path for name in names if (path := sources.results_in(folder, name))}
    told = checked_summary(folder / "results.csv")
    check_kinds(told)
    summary, limits = told.value, (told["options"][name] for name in LIMITS)
    fail_above, fail_different = (None if limit.value is None else limit.number() for limit in limits)
    found = compare_judged([logs["baseline"], logs["candidate"]], fail_above=fail_above)
    assert isinstance(found, Comparison)
    if fail_different is not None and told["answers"].value:
        of_answers = check_answers(told["answers"]["share_different"].number(), fail_different)
        found = replace(found, checks=(*found.checks, of_answers))
    return DuetResult(
        summary={"targets": dict.fromkeys(logs), **summary},
        files=(folder, *logs.values()),
        findings=Finding.all_of(summary),
        checks=found.checks,
        stopped=summary.get("stopped") or "",
        comparison=found,
        answers=answers_of(folder, told["answers"]),
    )
