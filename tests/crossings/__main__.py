"""Crossings as long as wanted.

Usage, from the folder ``tests``: ``python -m crossings [--for 5m] [--seed N] [--jobs 1] [--command duet]``, or ``--case
ID``. Each finding is reduced to the fewest options that still show it, and written to the folder ``--findings`` as JSON
with the command that repeats it. Exit code 1 if there are any.
"""

import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp

import click

from crossings.drive import Crossings, work
from crossings.pairs import parse
from crossings.table import COMMANDS
from logreplay.cli.options.types import ParsedType
from logreplay.core.quantities import seconds_of


@click.command(help=__doc__)
@click.option("--for", "seconds", default="5m", show_default=True, type=ParsedType(seconds_of))
@click.option("--seed", type=int, help="Default: another each time.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1))
@click.option("--command", type=click.Choice([*COMMANDS]), help="Cross this one only.")
@click.option("--case", "case_id", help="Make this crossing again, once, and keep its folder.")
@click.option("--findings", default="crossings-findings", show_default=True, type=click.Path(path_type=Path))
def main(seconds: float, seed: int | None, jobs: int, command: str | None, case_id: str | None, findings: Path) -> None:
    if case_id:
        folder = Path(mkdtemp(prefix="crossing-"))
        crossed = Crossings(folder).cross(parse(case_id), keep=True)
        print(crossed, f"exit code {crossed.ran.code}", crossed.ran.out, crossed.ran.err, folder, sep="\n")
        sys.exit(bool(crossed.findings))
    seed = random.randrange(1_000_000) if seed is None else seed
    print(f"seed {seed}", flush=True)
    findings.mkdir(exist_ok=True)
    until = time.time() + seconds
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        commands = [command] if command else [*COMMANDS]
        done = [pool.submit(work, job, jobs, seed, until, findings, commands) for job in range(jobs)]
        counts = [future.result() for future in as_completed(done)]
    made, found = (sum(each) for each in zip(*counts, strict=True))
    print(f"seed {seed}: {made} crossings, {found} with findings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
