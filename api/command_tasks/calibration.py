"""Measures the rate that this machine can send, and keeps it for later runs."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logreplay.replay.checks.calibrate import Calibration, CalibrationTrial


def calibrate_once(trial_s: float, show: "Callable[[CalibrationTrial], object]") -> "tuple[Calibration, str]":
    """Measure this machine; return the figures, and their JSON for `remember`.

    Args:
        trial_s: seconds for each rate.
        show: called with each rate.
    """
    import uvloop

    from logreplay.analysis.json_text import json_text
    from logreplay.replay.checks.calibrate import calibrate

    found = uvloop.run(calibrate(trial_s, show))
    figures = {"measured": datetime.now(UTC).isoformat(timespec="seconds"), **asdict(found)}
    return found, json_text(figures)


def remember(figures: str) -> Path:
    """Keep the figures of this machine; return the path of their file.

    Raises:
        LogreplayError: it cannot be written.
    """
    from logreplay.core.files import unwritable, write_atomically
    from logreplay.replay.checks.calibrate import remembered_at

    path = remembered_at()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, figures + "\n", option="")
    except OSError as error:
        raise unwritable(path, error, "") from None
    return path
