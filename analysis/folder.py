"""A result log → the folder that shows it: tables, summary, histograms, pictures."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from logreplay.analysis import bends, buckets, intake, stability
from logreplay.analysis.intake import Source
from logreplay.analysis.summary import About, summarise
from logreplay.parsers.record import LogreplayError, to_csv


def write_folder(
    source: Source, folder: str | Path, about: About | None = None, *, plots: bool = True
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Analyse a result log and write ``seconds.csv``, ``steps.csv``, ``summary.json`` and the pictures.

    Args:
        source: the result log, or the folder that holds it as ``results.csv``.
        folder: where to write; made if it is not there. Files of the same names are replaced.
        about: what only the caller knows: log, target, options, findings.
        plots: draw the pictures as well.

    Returns:
        The contents of ``summary.json``, and the step table.

    Raises:
        LogreplayError: the result log cannot be read, or the folder cannot be written.
    """
    folder = Path(folder)
    requests = intake.read(source)
    verdict = bends.judge(stability.judged_steps(requests))
    seconds = buckets.seconds(requests)
    value = summarise(requests, verdict, about)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seconds.csv").write_bytes(to_csv(seconds, header=True))
        (folder / "steps.csv").write_bytes(to_csv(verdict.steps, header=True))
        (folder / "summary.json").write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
        if plots:
            _draw(folder, seconds, verdict)
    except OSError as error:
        raise LogreplayError(f"{folder}: cannot be written: {error.strerror}; choose another with -o") from None
    return value, verdict.steps


def _draw(folder: Path, seconds: pl.DataFrame, verdict: bends.Verdict) -> None:
    from logreplay.analysis import plots  # matplotlib takes a second to import

    plots.save(
        lambda ax: plots.hockey_stick(
            ax,
            seconds,
            verdict.steps,
            verdict=verdict.sentence,
            saturation=verdict.saturation.as_dict(),
            onset=verdict.onset.as_dict(),
        ),
        folder / "hockeystick.png",
    )
