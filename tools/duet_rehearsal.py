"""Rehearse duets beside runs one after the other.

Usage: ``python tools/duet_rehearsal.py FOLDER calm|burn duets|runs ROUNDS FIRST``.

The targets answer after 20 ms, after
20 ms and after 20.6 ms. ``duets``: one of 10 s of the equal targets, one of 20 s with the slower one. ``runs``: one of
60 s against the first target, then one against the slower one. The rounds of a call are made at the same time, in the
folders ``calm-FIRST`` and so on. ``burn``: another process burns one core half of the time, 5 s on, 5 s off.
`duet_table.py` makes a table of them.
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned

SERVICE_S: Final = {"first": 0.02, "equal": 0.02, "slower": 0.0206}
RATE: Final = "200"
_BURN: Final = """
import time
while True:
    end = time.monotonic() + 5
    while time.monotonic() < end: pass
    time.sleep(5)
"""


def rehearse(folder: Path, kind: str, what: str, numbers: range) -> None:
    """Make rounds at the same time, each in a folder of its own, against targets of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    csv = folder / "log.csv"
    with ExitStack() as stack:
        log = stack.enter_context(as_file(files("logreplay.sample_logs") / "nginx_request_time.log"))
        if not csv.exists():
            subprocess.run(["logreplay", "convert", str(log), "-o", str(csv)], check=True)
        capacities = {name: ServerCapacity(64, seconds) for name, seconds in SERVICE_S.items()}
        urls = [{name: stack.enter_context(spawned(csv, each)) for name, each in capacities.items()} for _ in numbers]
        if kind == "burn":
            burner = stack.enter_context(subprocess.Popen([sys.executable, "-c", _BURN]))
            stack.callback(burner.kill)
        places = [folder / f"{kind}-{number:02}" for number in numbers]
        for place in places:
            place.mkdir(exist_ok=True)
        made = [
            (str(place), of, ["--tps", RATE, "--seed", str(1000 + number), "-q"])
            for place, of, number in zip(places, urls, numbers, strict=True)
        ]
        if what == "duets":
            for name, seconds in (("equal", "10s"), ("slower", "20s")):
                _together(
                    ["duet", str(csv), of["first"], of[name], "--for", seconds, "-o", f"{place}/{name}", *options]
                    for place, of, options in made
                )
        else:
            for name in ("first", "slower"):
                _together(
                    ["run", str(csv), of[name], "--for", "60s", "-o", f"{place}/{name}.csv", *options]
                    for place, of, options in made
                )


def _together(commands: Iterable[Sequence[str]]) -> None:
    """Run commands of logreplay at the same time; their exit codes do not matter."""
    running = [subprocess.Popen(["logreplay", *command]) for command in commands]
    for process in running:
        process.wait()


def main() -> None:
    """Rehearse."""
    folder, kind, what, rounds, first = sys.argv[1:]
    rehearse(Path(folder), kind, what, range(int(first), int(first) + int(rounds)))


if __name__ == "__main__":
    main()
