"""Holds the promise of `sweep` and `find` against an application whose capacity nobody knows.

Usage, from the folder ``tests``: ``python -m benchmarks.real_case [--hold 10m] [--times 3]``. Visitors
leave a log; `sweep` and `find` promise a rate from it; the promised rate and 10 % more than the stated capacity are
held, several times, with pauses. Writes logs, summaries and pictures to ``real-case/results``. docs/real-case.md has
the results. It needs root, PostgreSQL, nginx and two cores: one for the shop, one for the replay.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.real_case.picture import draw
from benchmarks.real_case.servers import ADDRESS, shop
from benchmarks.real_case.visitors import visit

BOUND_S: Final = 0.5
_VISITORS: Final = 40
_VISIT_S: Final = 600
_PAUSE_S: Final = 30
_MORE: Final = 1.1
_SENT: Final = ("--methods", "GET,HEAD,POST", "--allow-target", ADDRESS)


def _logreplay(folder: Path, *words: object) -> None:
    """Run a command in the folder, print it and what it printed."""
    command = ["taskset", "-c", "1", sys.executable, "-m", "logreplay.cli.main", *map(str, words)]
    print(f"{datetime.now(UTC):%H:%M:%S} logreplay {' '.join(map(str, words))}", flush=True)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, f"exit code {done.returncode}\n", sep="", flush=True)


def _figures(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@click.command(help=__doc__)
@click.option("--hold", default="10m")
@click.option("--times", default=3)
@click.option("--log", type=click.Path(path_type=Path, exists=True), help="Of an earlier time, instead of visitors.")
@click.option("--keep", default="real-case", type=click.Path(path_type=Path))
def main(hold: str, times: int, log: Path | None, keep: Path) -> None:
    server, results = made_anew(keep.resolve(), log)
    with shop(server, core=0) as url:
        if log is None:
            asyncio.run(visit(url, _VISITORS, _VISIT_S, seed=1))
            shutil.copy(server / "access.log", results)
        _logreplay(results, "convert", "access.log")
        _logreplay(results, "sweep", "20..160:20", "access.csv", url, "--for", "30s", *_SENT, "-o", "sweep")
        _logreplay(results, "find", "access.csv", url, "--p99", f"{BOUND_S * 1000:.0f}ms", *_SENT, "-o", "find")
        swept, found = (_figures(results / name / "summary.json") for name in ("sweep", "find"))
        promised, capacity = promise(swept, found)
        held = dict[str, float]()
        for what, rate in (("promised", promised), ("above", capacity * _MORE)):
            for turn in range(times):
                time.sleep(_PAUSE_S)  # at another time
                name = f"{what}-{turn + 1}"
                _logreplay(results, "run", "access.csv", url, "--tps", f"{rate:.1f}", "--for", hold, "--seed", turn,
                           *_SENT, "-o", f"{name}.csv")  # fmt: skip
                held[name] = rate
    draw({name: (rate, results / f"{name}.csv") for name, rate in held.items()}, BOUND_S, results / "held.png")


def made_anew(keep: Path, log: Path | None) -> tuple[Path, Path]:
    """Delete the folders of an earlier time, make new ones for the servers and the results, and copy the log there.

    Raises:
        click.UsageError: the folder to keep has other files.
    """
    if keep.exists() and {path.name for path in keep.iterdir()} not in (set(), {"server", "results"}):
        raise click.UsageError(
            f"--keep {keep}: it holds other files; name an empty folder, or one that this command made"
        )
    stored = log.read_bytes() if log else None  # it may be in the folder that is deleted
    shutil.rmtree(keep, ignore_errors=True)
    server, results = keep / "server", keep / "results"
    server.mkdir(parents=True)
    results.mkdir()
    os.chmod(server, 0o755)
    if stored is not None:
        (results / "access.log").write_bytes(stored)
    return server, results


def promise(swept: dict[str, Any], found: dict[str, Any]) -> tuple[float, float]:
    """The rate that `find` promises; the capacity that it states, or `sweep` where it states none."""
    answer = found["slo"]
    return answer["low"], answer["capacity"] or swept["saturation"]["rate"]


if __name__ == "__main__":
    main()
