"""Tasks of commands without a function in `import logreplay`: calibrate, urls."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import atomic_path, check_distinct, write_atomically, writing

if TYPE_CHECKING:
    from logreplay.replay.checks.calibrate import Calibration, CalibrationTrial
    from logreplay.replay.requests.url_templates import Values

_OTHERS: Final = (".gz", ".zst", ".parquet", ".pias", ".gor", ".har")
"""Endings of other formats than plain CSV, for the commands that read a log."""


def calibrate_once(trial_s: float, show: "Callable[[CalibrationTrial], object]") -> "tuple[Calibration, str]":
    """Measure the rate that this machine can send; return the figures, and their JSON for `remember`."""
    import uvloop

    from logreplay.analysis.json_text import json_text
    from logreplay.replay.checks.calibrate import calibrate

    found = uvloop.run(calibrate(trial_s, show))
    figures = {"measured": datetime.now(UTC).isoformat(timespec="seconds"), **asdict(found)}
    return found, json_text(figures)


def remember(figures: str) -> Path:
    """Keep the figures of this machine for later runs; return the path of their file."""
    from logreplay.replay.checks.calibrate import remembered_at

    path = remembered_at()
    with writing(path, ""):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, figures + "\n", option="")
    return path


def urls_once(templates: Sequence[str], variables: Sequence[str], output: str, *, force: bool) -> int:
    """Write a request for every combination of values as a normalized CSV; return how many there are."""
    from logreplay.replay.requests.url_rows import write_frames
    from logreplay.replay.requests.url_templates import Templates

    if output.lower().endswith(_OTHERS):
        raise UsageError(f"Invalid value for -o: {output!r}: urls writes plain CSV; end the name in .csv")
    named = _named(variables)
    try:
        product = Templates(templates, named)
        next(product.frames())  # says what is wrong before a file is made
    except (ValueError, LogreplayError) as error:
        raise UsageError(f"Invalid value for TEMPLATE: {str(error).removeprefix('TEMPLATE ')}") from None
    if output == "-":
        sys.stdout.buffer.writelines(write_frames(product.frames()))
        sys.stdout.buffer.flush()
        return product.count
    files = [text.partition("=")[2] for text in variables]
    check_distinct([("-o", Path(output))], [("--var", name[1:]) for name in files if name.startswith("@")])
    with atomic_path(Path(output), force=force) as fresh, fresh.open("wb") as file:
        file.writelines(write_frames(product.frames()))
    return product.count


def _named(variables: Sequence[str]) -> "dict[str, Values]":
    """The values of each variable."""
    from logreplay.replay.requests.url_templates import values

    named: dict[str, Values] = {}
    for variable in variables:
        name, equals, text = variable.partition("=")
        if not equals or not name.isidentifier() or name in named:
            raise UsageError(f"Invalid value for --var: {variable!r}: write NAME=VALUES, each NAME once")
        try:
            named[name] = values(text)
        except ValueError as error:
            raise UsageError(f"Invalid value for --var: {error}") from None
    return named
