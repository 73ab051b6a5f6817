"""Writes a call's checks as JUnit XML, and its figures to a history."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from logreplay.analysis.output import history, junit
from logreplay.results import Result

R = TypeVar("R", bound=Result)
_ROWS: Final = {"run": history.of_run, "duet": history.of_duet}


@contextmanager
def reported(function: str, checks: Path | None, rows: Path | None = None) -> Iterator[Callable[[R], R]]:
    """Write the checks of the result that the block hands over, or why there is none."""
    if rows:
        history.check(rows, _ROWS[function]({}))
    with junit.reported(checks, function) as report:

        def take(result: R) -> R:
            report(result.checks, result.stopped)
            return result

        yield take


def remember(function: str, summary: Mapping[str, Any], rows: Path | None) -> str:
    """Add the figures of a summary to a history, if one is asked for and there is a summary of a valid run.

    Those of an invalid run would look like a change of the target. JSON that holds the run before is removed then.

    Returns:
        Where the row is, in a sentence, if it is in another file than was asked for, or in none; empty otherwise.
    """
    if not rows or not summary:
        return ""
    if (verdict := summary["verdict"]) != "VALID":
        removed = history.is_benchmark(rows) and history.remove_benchmark(rows)
        done = "the figures of the run before are removed" if removed else "nothing is added"
        return f"note: --history {rows}: {done}, since the {function} is invalid ({verdict}); repeat it"
    row = _ROWS[function](summary)
    if history.is_benchmark(rows):
        history.write_benchmark(rows, row)
        return ""
    got = history.append(rows, row)
    if got == rows:
        return ""
    return f"--history {rows}: the row is in {got}, which lacks columns for which this run has no figure"
