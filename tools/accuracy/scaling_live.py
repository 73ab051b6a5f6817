"""What one and two workers of gunicorn carry on one PostgreSQL: a shop whose pages each ask the database.

Needs PostgreSQL and two cores; takes a minute.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import logreplay
from accuracy._tables import Table
from benchmarks.real_case import servers
from conftest import free_port
from logreplay.analysis.scaling.scale_out import ScalingPoint, scale_out

RUNS: Final = 3
"""Steps of each number of users."""
_WORKERS: Final = (1, 2)
_USERS: Final = (8, 16)
"""Users without pauses: more than the workers, so that these are always busy."""
_STEP: Final = "10s"
_LEVEL: Final = 1.96


@contextmanager
def _shop(workers: int, database: str) -> Iterator[str]:
    """Serve the shop by this number of workers; the value is its URL."""
    address = f"127.0.0.1:{free_port()}"
    words = [sys.executable, "-m", "gunicorn", "--workers", str(workers), "--bind", address, "--log-level", "error"]
    more = {"cwd": Path(servers.__file__).parent, "env": {**os.environ, "SHOP_DATABASE": database}}
    with servers._process([*words, "shop:app"], **more):
        servers._answers(["curl", "-sf", "-o", "/dev/null", f"http://{address}/product/1"], "the shop")
        yield f"http://{address}"


def _points(folder: Path, runs: int, seed: int) -> Iterator[ScalingPoint]:
    """Sweep the shop with each number of workers."""
    folder.chmod(0o755)  # PostgreSQL runs as another user
    log = folder / "urls.txt"
    log.write_text("".join(f"/product/{1 + 7 * (seed + number) % 20_000}\n" for number in range(5000)))
    with servers._database(folder, ()) as database:
        for workers in _WORKERS:
            with _shop(workers, database) as url:
                place = folder / f"workers-{workers}"
                swept = logreplay.sweep(log, url, vusers=_USERS, duration=_STEP, repeat=runs, output=place, plots=False)
                rate, low, high = (swept.summary["users"][f"throughput{end}"] for end in ("", "_low", "_high"))
                yield ScalingPoint(workers, rate, low, high, _LEVEL)


def table(runs: int, seed: int) -> str:
    """A row for each number of workers, and one of both."""
    with TemporaryDirectory() as folder:
        points = list(_points(Path(folder), runs, seed))
    found = scale_out(points)
    lines = ["| workers | carry | range |", "|---|--:|--:|"]
    lines += [f"| {each.number} | {each.rate:.1f}/s | {each.low:.1f}–{each.high:.1f}/s |" for each in points]
    times = points[1].rate / points[0].rate
    lines.append(f"| 2 over 1 | {times:.2f} times | {found.sentence.partition('(')[2].partition(')')[0]} |")
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How much more two workers carry."""
    (rows,) = tables
    one, two, over = rows
    return (
        f"One worker carries {one['carry']} ({one['range']}), two {two['carry']} ({two['range']}): {over['carry']} "
        f"({over['range']})"
    )
