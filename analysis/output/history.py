"""Appends one row for each run to a CSV that Apache Otava reads: a time, attributes, metrics."""

import csv
import io
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from os import SEEK_END
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO, Final

from logreplay.core.errors import LogreplayError
from logreplay.core.files import lock, unwritable
from logreplay.core.masking import masked

LOCKED_S: Final = 10.0
"""Seconds that a row waits for other processes that append to the file."""


def append(path: Path, row: Mapping[str, Any], now: datetime | None = None) -> None:
    """Append a row; the file begins with a header. Unknown values are empty, credentials masked.

    Args:
        path: the file; made if it is not there.
        row: attributes and metrics by column; the same columns in each run.
        now: instant for the row's ``time``; the present by default.

    Raises:
        LogreplayError: the file has other columns, or cannot be written.
    """
    time = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M:%S %z")
    try:
        with path.open("a+b") as file:
            _wait_for_lock(path, file)
            if _has_header(path, file, row):
                file.seek(-1, SEEK_END)
                before = b"" if file.read() == b"\n" else b"\n"
            else:
                before = _header(row)
            file.write(before + _line([time, *row.values()]))
    except OSError as error:
        raise unwritable(path, error, "--history") from None


def check(path: Path, row: Mapping[str, Any]) -> None:
    """Check that a row can be appended, before the run that it tells of; arguments and errors as for `append`."""
    try:
        with suppress(FileNotFoundError), path.open("r+b") as file:
            _has_header(path, file, row)
    except OSError as error:
        raise unwritable(path, error, "--history") from None


def _has_header(path: Path, file: BinaryIO, row: Mapping[str, Any]) -> bool:
    """Whether the file has a header; False if it is empty."""
    file.seek(0)
    first = file.readline()
    if first and first.rstrip(b"\r\n") != _header(row).rstrip():
        raise LogreplayError(
            f"--history {path}: has other columns; give each command, and each version that adds columns, "
            "a file of its own"
        )
    return bool(first)


def _wait_for_lock(path: Path, file: BinaryIO) -> None:
    """Wait until no other process appends; its lock lasts as long as its file is open."""
    deadline = monotonic() + LOCKED_S
    while not lock(file.fileno()):
        if monotonic() > deadline:
            raise LogreplayError(f"--history {path}: another process has held its lock for {LOCKED_S:g} s")
        sleep(0.02)


def of_run(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run, from its summary; of an empty one its columns."""
    counts, times, rates = (summary.get(key) or {} for key in ("requests", "response_s", "rate"))
    return {
        **{name: summary.get(name) for name in ("log", "target", "verdict")},
        "requests": counts.get("sent"),
        "failed_share": _share(counts.get("unexpected"), counts.get("scheduled")),
        "completed_per_s": rates.get("completed"),
        **{f"{name}_s": times.get(name) for name in ("p50", "p90", "p99", "mean")},
    }


def of_duet(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a duet, from its summary; of an empty one its columns."""
    times, targets, answers = (summary.get(key) or {} for key in ("times", "targets", "answers"))
    change, quantiles = (times.get(key) or {} for key in ("change", "quantiles"))
    return {
        "log": summary.get("log"),
        **{name: targets.get(name, {}).get("target") for name in ("baseline", "candidate")},
        "verdict": summary.get("verdict"),
        "pairs": change.get("count"),
        **{name: change.get(name) for name in ("ratio", "low", "high")},
        **{f"{name}_ratio": quantiles.get(name, {}).get("ratio") for name in ("p50", "p90", "p99")},
        "failed_more": times.get("failed_more", [None])[0],
        "share_different": answers.get("share_different"),
    }


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _header(row: Mapping[str, Any]) -> bytes:
    return _line(["time", *row])


def _line(values: list[Any]) -> bytes:
    text = io.StringIO()
    cells = [masked(value) if isinstance(value, str) else value for value in values]
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
