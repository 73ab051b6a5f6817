"""The part ``find_live`` of the page: the command ``find`` with its default budget, on a real server of known capacity.

The server is ``logreplay serve``, a program of its own: four workers, exponential service times, one queue. The highest
rate at which it keeps the bound is known from queueing theory. The searches are made one after the other.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from accuracy._tables import Table
from accuracy.swap_live import written
from search_servers import MM4

RUNS: Final = 10
_PROGRAM: Final = (sys.executable, "-m", "logreplay.cli.main")


@contextmanager
def server(log: Path) -> Iterator[str]:
    """The URL of a real server like `MM4`."""
    queue = MM4.queue
    options = ["--port", "0", "--workers", f"{queue.workers}", "--service-time", f"{1e3 * queue.service_s:g}ms"]
    command = [*_PROGRAM, "serve", str(log), *options, "--exponential"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            lines = iter(process.stderr.readline, "")
            yield next(found[0] for line in lines if (found := re.search(r"http://[\d.]+:\d+", line)))
        finally:
            process.terminate()


def search(log: Path, url: str, seed: int, *options: str) -> dict[str, Any]:
    """What a search says: ``slo`` of its summary."""
    command = [*_PROGRAM, "find", str(log), url, "--p99", f"{MM4.bound.limit:g}s", "--start", "50", "--seed", f"{seed}"]
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "--output", f"{folder}/find", "--no-plots", "--json", *options],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)["slo"]
    return found


def table(runs: int, seed: int) -> str:
    """The table of searches of a real server, in Markdown."""
    with TemporaryDirectory() as folder, server(log := written(Path(folder))) as url:
        found = [search(log, url, seed + number) for number in range(runs)]
    return "\n".join(
        (
            "| searches | promise | within -8 … +5 % | over by > 5 % | promises | range holds | seconds, most |",
            "|--:|--:|--:|--:|---|--:|--:|",
            row(found),
        )
    )


def row(found: Sequence[dict[str, Any]]) -> str:
    """The row of these searches: promises, and how far they are from the truth."""
    promised = sorted(each["rate"] / MM4.truth - 1 for each in found if each["found"])
    near, over = sum(-0.08 < each < 0.05 for each in promised), sum(each > 0.05 for each in promised)
    ends = f"{promised[0]:+.1%} to {promised[-1]:+.1%}" if promised else "–"
    ranges = [each["range"] for each in found if each["range"]]
    holds = sum(low <= MM4.truth <= high for low, high in ranges)
    longest = max(each["seconds"] for each in found)
    return f"| {len(found)} | {len(promised)} | {near} | {over} | {ends} | {holds} of {len(ranges)} | {longest:.0f} |"


def result(tables: Sequence[Table]) -> str:
    """How many searches promise, and how many too much."""
    (found,) = tables[0]
    return f"{found['within -8 … +5 %']} of {found['searches']} within −8 to +5 %; ranges: {found['range holds']}"
