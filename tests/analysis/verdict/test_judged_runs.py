"""Which runs are compared, and what makes them pass."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logreplay.analysis import load
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.judged_runs import compare_judged, gate
from logreplay.analysis.verdict.ratio_interval import Change
from logreplay.core.errors import LogreplayError, UsageError
from support.simulated_results import write_results

CERTAIN, WIDE = Change(1, 0.99, 1.01, 6000, 60, 59), Change(1, 0.8, 1.25, 100, 60, 59)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """The rows of a sweep."""
    return write_results(tmp_path, range(50, 201, 50), 2)


def test_runs_without_a_partner_or_named_twice_are_refused(sweep: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a candidate after each baseline"):
        compare_judged([sweep, tmp_path / "a", tmp_path / "b"])
    with pytest.raises(UsageError, match="name each run once"):
        compare_judged([sweep, sweep.parent])


def test_a_table_of_the_rows_of_a_run_is_a_copy_of_it(sweep: Path, tmp_path: Path) -> None:
    table, parquet = load(sweep), tmp_path / "copy.parquet"
    pl.read_csv(sweep).write_parquet(parquet)
    twins: list[tuple[Any, Any]] = [(table, table), (table, sweep), (sweep, pl.from_pandas(table)), (sweep, parquet)]
    for copies in twins:
        with pytest.raises(LogreplayError, match="hold the same rows: a run does not differ from its copy"):
            compare_judged(copies)
    compare_judged([sweep, table.assign(latency=table["latency"] + 0.001)])


def test_a_log_in_the_place_of_a_run_is_refused(sweep: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00.0,0,0,0,5,/ok,200,GET\n")
    with pytest.raises(UsageError, match="is a log, not a run"):
        compare_judged([sweep, log])


@pytest.mark.parametrize(("fail_above", "state"), [(None, "skipped"), (0.05, "unjudged")])
def test_a_limit_that_is_not_judged_for_an_invalid_run_has_not_passed(
    sweep: Path, tmp_path: Path, fail_above: float | None, state: str
) -> None:
    (sweep.parent / "summary.json").write_text('{"findings": [{"code": "late", "severity": "void", "text": "late"}]}')
    folder = tmp_path / "other"
    folder.mkdir()
    other = write_results(folder, range(50, 201, 50), 3)
    found = compare_judged([sweep, other], fail_above=fail_above)
    assert [check.state for check in found.checks] == ["unjudged", state]


def comparison(**changes: Any) -> Comparison:
    same: dict[str, Any] = {
        "sentence": "", "paired": True, "at_once": True, "change": CERTAIN, "slower_share": None, "quantiles": {},
        "pairs": {}, "steps": {}, "routes": {}, "statuses": [], "status_changed": None, "bytes_changed": None,
        "failed": (0, 0), "failed_more": (0, 0, 0),
    }  # fmt: skip
    return Comparison(**{**same, **changes})


@pytest.mark.parametrize(
    ("failed_more", "state", "end"),
    [((0.002, -0.002, 0.008), "passed", ""), ((0.05, 0.03, 0.07), "failed", "in the baseline"),
     ((0.0067, -0.077, 0.096), "passed", "whether 1% more fail (-7.7% to +9.6%); run longer"),
     ((0.02, -0.077, 0.096), "unjudged", "whether 1% more fail (-7.7% to +9.6%); run longer")],
)  # fmt: skip
def test_failures_that_pass_say_so_where_one_percent_more_is_not_excluded(
    failed_more: tuple[float, float, float], state: str, end: str
) -> None:
    check = gate(comparison(failed_more=failed_more), 0.05)[0]
    assert check.state == state
    assert check.text.endswith(end)
    assert bool(check.text) == bool(end)


def test_rows_of_a_duet_that_cannot_be_judged_are_named_and_do_not_fail_it() -> None:
    rows = dict.fromkeys(("p99", "/a\x1b", "/b", "/c", "/d"), WIDE)
    checks = gate(comparison(quantiles={"p50": CERTAIN, **rows}), 0.05)
    assert [check.state for check in checks] == ["passed", "passed"]
    said = checks[1].text
    assert "\x1b" not in said
    assert said.endswith(", /b and 2 more (run longer)")
    assert said.startswith("--fail-above 5.0%: all requests together pass; too uncertain to judge: p99, /a")


@pytest.mark.parametrize(("paired", "of"), [(True, "the typical ratio"), (False, "the p50")])
def test_a_limit_without_a_change_names_the_figure_that_is_not_known(paired: bool, of: str) -> None:
    slower = Change(1.5, 1.4, 1.6, 6000, 60, 59)
    check = gate(comparison(change=None, paired=paired, quantiles={"p90": slower}), 0.05)[1]
    assert check.state == "unjudged"
    assert check.text == f"--fail-above 5.0%: cannot be judged, since {of} is not known"
