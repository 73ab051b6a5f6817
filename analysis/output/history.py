"""Keeps the figures of each run: a row in a CSV for Apache Otava, or a JSON file for github-action-benchmark.

Otava reads no file in which a cell of a metric is empty. A row without some figures therefore goes to a file of its own
kind, which lacks these columns.
"""

import csv
import io
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from os import SEEK_END
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO, Final

from logreplay.analysis.json_text import json_text
from logreplay.analysis.summary import failed_of
from logreplay.core.errors import LogreplayError
from logreplay.core.files import is_stream, lock, write_atomically, writing
from logreplay.core.masking import masked

ATTRIBUTES: Final = frozenset({"log", "target", "baseline", "candidate", "verdict"})
"""Columns that are text; all others are metrics."""
_UNITS: Final = {
    **{"ratio": "candidate/baseline", "p50_ratio": "candidate/baseline", "p90_ratio": "candidate/baseline"},
    **{"p99_ratio": "candidate/baseline", "failed_more": "share", "share_different": "share"},
    **{"p50_s": "s", "p90_s": "s", "p99_s": "s", "mean_s": "s", "failed_share": "share"},
}
"""Metrics of which less is better, and their units."""
_LONGEST: Final = 1 << 20
"""Bytes of a file of `write_benchmark`, at most."""
LOCKED_S: Final = 10.0
"""Seconds that a row waits for other processes that append to the file."""


def append(path: Path, row: Mapping[str, Any], now: datetime | None = None) -> Path:
    """Append a row of attributes and metrics by column, the same in each run; credentials are masked.

    The file begins with a header. Returned is the file that got the row: another one beside it, if the row lacks a
    metric and the file is a regular one.
    """
    time = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M:%S %z")
    if lacking := [name for name, value in row.items() if name not in ATTRIBUTES and not _is_number(value)]:
        if not is_stream(path):
            path = path.with_name(f"{path.stem}.without-{'-'.join(lacking)}{path.suffix}")
        row = {name: value for name, value in row.items() if name not in lacking}
    with writing(path, "--history"), path.open("a+b") as file:
        _wait_for_lock(path, file)
        if _has_header(path, file, row):
            file.seek(-1, SEEK_END)
            before = b"" if file.read() == b"\n" else b"\n"
        else:
            before = _header(row)
        file.write(before + _line([time, *row.values()]))
    return path


def write_benchmark(path: Path, row: Mapping[str, Any]) -> None:
    """Write the metrics of a row of which less is better, as ``customSmallerIsBetter`` of github-action-benchmark.

    The action keeps the history, so the file holds one run. A metric that is not known is left out.
    Source: https://github.com/benchmark-action/github-action-benchmark/blob/master/src/extract.ts.
    """
    told = {name: value for name, value in row.items() if value is not None and name not in _UNITS}
    extra = masked("\n".join(f"{name}: {value}" for name, value in told.items()))
    found = [
        {"name": name, "unit": unit, "value": row[name], "extra": extra}
        for name, unit in _UNITS.items()
        if name in row and _is_number(row[name])
    ]
    if found and _is_number(row.get("low")) and _is_number(row.get("high")) and found[0]["name"] == "ratio":
        found[0]["range"] = f"{row['low']:.4g} to {row['high']:.4g}"
    with writing(path, "--history"):
        write_atomically(path, json_text(found) + "\n", option="--history")


def remove_benchmark(path: Path) -> bool:
    """Remove the figures of the run before, which are not those of an invalid run; return whether there were any."""
    with writing(path, "--history"), suppress(FileNotFoundError):
        path.unlink()
        return True
    return False


def is_benchmark(path: Path) -> bool:
    """Whether a file is to be JSON for github-action-benchmark, by its name."""
    return path.suffix.lower() == ".json"


def check(path: Path, row: Mapping[str, Any]) -> None:
    """Check, before a run, that its row can be appended."""
    with writing(path, "--history"), suppress(FileNotFoundError), path.open("r+b") as file:
        if not is_benchmark(path):
            _has_header(path, file, row)
        elif not _holds_benchmarks(file.read(_LONGEST + 1)):
            raise LogreplayError(
                f"--history {path}: exists and holds something other than the figures of a run; choose another name"
            )


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


def _holds_benchmarks(text: bytes) -> bool:
    """Whether a text may be replaced: it is empty, or `write_benchmark` wrote it."""
    try:
        found = json.loads(text or b"[]")
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(
        isinstance(each, dict) and {"name", "unit", "value"} <= {*each} for each in found
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


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
        "failed_share": failed_of(counts) / sent if (sent := counts.get("sent")) else None,
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


def _header(row: Mapping[str, Any]) -> bytes:
    return _line(["time", *row])


def _line(values: list[Any]) -> bytes:
    text = io.StringIO()
    cells = [masked(value) if isinstance(value, str) else value for value in values]
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
