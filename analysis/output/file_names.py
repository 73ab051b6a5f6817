"""Names of the files that show a result log. Imports nothing that takes time: a run asks before its first request."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from logreplay.analysis.input.external_metrics import stem

SUMMARY: Final = "summary.json"
PICTURES: Final = ("hockeystick.png", "report.html")
FIGURES: Final = ("seconds.csv", "steps.csv", "routes.csv", SUMMARY, "results.hlog", "results.hgrm", *PICTURES)
"""Names of the files that `logreplay.analysis.output.folder.write_folder` writes."""
DUET: Final = ("baseline.csv", "candidate.csv", "noise.csv")
"""The result logs of a duet, in the order of the numbers of its targets."""
OF_COMMANDS: Final = (
    "costs.csv",
    "users.csv",
    "users.png",
    "scaling.png",
    "search.png",
    "plan.json",
    "plan.html",
    "hpa.yaml",
    "keda.yaml",
)
"""Figures that only a sweep without routes or over users, a search or a plan adds."""
ANSWERS: Final = ("differences.csv", "pairs.jsonl")
"""Files of a duet that compared answers."""


def companion_files(results: Path) -> Sequence[Path]:
    """The files that belong to a result log by its name, without its endings: summary, histograms, readings, logins."""
    name = stem(results)
    kinds = ("summary.json", "hlog", "hgrm", "watch.csv", "logins.csv")
    return [name.with_name(f"{name.name}.{kind}") for kind in kinds]


def logins_beside(results: Path) -> Path:
    """The logins of clients, beside a result log."""
    return companion_files(results)[-1]


def summary_beside(results: Path) -> Path:
    """The summary of a result log, beside it."""
    return companion_files(results)[0]
