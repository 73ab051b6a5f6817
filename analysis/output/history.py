"""Appends one row for each run to a CSV that Apache Otava reads: a time, attributes, metrics."""

import csv
import io
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from logreplay.parsers.files import unwritable
from logreplay.parsers.masking import masked
from logreplay.parsers.record import LogreplayError


def append(path: Path, row: Mapping[str, Any], now: datetime | None = None) -> None:
    """Append a row; the file begins with a header. Unknown values are empty, credentials masked.

    Args:
        path: the file; made if it is not there.
        row: attributes and metrics by column; the same columns in each run.
        now: of the row's ``time``; the present by default.

    Raises:
        LogreplayError: the file has other columns, or cannot be written.
    """
    values = {"time": (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M:%S %z"), **row}
    header = _line(list(values))
    try:
        with path.open("a+", encoding="utf-8", newline="") as file:
            file.seek(0)
            first = file.readline()
            if first and first.rstrip("\r\n") != header.rstrip("\n"):
                raise LogreplayError(
                    f"--history {path}: has other columns; give each command, and each version that adds columns, "
                    "a file of its own"
                )
            file.write(("" if first else header) + _line(list(values.values())))
    except (OSError, UnicodeDecodeError) as error:
        failure = error if isinstance(error, OSError) else OSError(str(error))
        raise unwritable(path, failure, "--history") from None


def of_run(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run, from its summary."""
    counts, times, rates = (summary.get(key) or {} for key in ("requests", "response_s", "rate"))
    return {
        "log": summary["log"],
        "target": summary["target"],
        "verdict": summary["verdict"],
        "requests": counts.get("sent"),
        "failed_share": _share(counts.get("unexpected"), counts.get("scheduled")),
        "completed_per_s": rates.get("completed"),
        **{f"{name}_s": times.get(name) for name in ("p50", "p90", "p99", "mean")},
    }


def of_duet(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a duet, from its summary."""
    times, targets = summary["times"], summary["targets"]
    change = times["change"] or {}
    return {
        "log": summary["log"],
        **{name: targets.get(name, {}).get("target") for name in ("baseline", "candidate")},
        "verdict": summary["verdict"],
        "pairs": change.get("count"),
        **{name: change.get(name) for name in ("ratio", "low", "high")},
        **{f"{name}_ratio": times["quantiles"].get(name, {}).get("ratio") for name in ("p50", "p90", "p99")},
        "failed_more": times["failed_more"][0],
        "share_different": (summary.get("answers") or {}).get("share_different"),
    }


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _line(values: list[Any]) -> str:
    text = io.StringIO()
    cells = [masked(value) if isinstance(value, str) else value for value in values]
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
