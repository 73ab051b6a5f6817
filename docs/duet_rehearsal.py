"""Rehearse duets beside runs one after the other: ``python docs/duet_rehearsal.py FOLDER ROUNDS [burn]``.

The targets answer after 20 ms, after 20 ms and after 20.6 ms. A round is a duet of 10 s of the equal ones, a duet of
20 s with the slower one, and a run of 60 s against the first and the slower one. ``burn``: another process burns one
core half of the time, 5 s on, 5 s off. Rounds of several calls add up in one folder.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from logreplay.replay.servers.known_capacity import ServerCapacity, spawned

SERVICE_S: Final = {"first": 0.02, "equal": 0.02, "slower": 0.0206}
RATE: Final = "200"
_BURN: Final = """
import time
while True:
    end = time.monotonic() + 5
    while time.monotonic() < end: pass
    time.sleep(5)
"""


def rehearse(folder: Path, rounds: int, *, burn: bool) -> None:
    """Make so many rounds, each in a folder of its own."""
    with ExitStack() as stack:
        log = stack.enter_context(as_file(files("logreplay.sample_logs") / "nginx_request_time.log"))
        csv = folder / f"log-{os.getpid()}.csv"
        subprocess.run(["logreplay", "convert", str(log), "-o", str(csv)], check=True)
        urls = {
            name: stack.enter_context(spawned(csv, ServerCapacity(64, seconds))) for name, seconds in SERVICE_S.items()
        }
        for _ in range(rounds):
            place = Path(mkdtemp(dir=folder, prefix="burn-" if burn else "calm-"))
            seed = str(int.from_bytes(os.urandom(3)))
            for name, seconds in (("equal", "10s"), ("slower", "20s")):
                command = ["duet", str(csv), urls["first"], urls[name], "--for", seconds, "-o", str(place / name)]
                _call([*command, "--seed", seed], burn=burn)
            for name in ("first", "slower"):
                command = ["run", str(csv), urls[name], "--for", "60s", "-o", str(place / f"{name}.csv")]
                _call([*command, "--seed", seed], burn=burn)


def _call(command: list[str], *, burn: bool) -> None:
    with _burning() if burn else ExitStack():
        subprocess.run(["logreplay", *command, "--tps", RATE, "-q"], check=False)


@contextmanager
def _burning() -> Iterator[None]:
    burner = subprocess.Popen([sys.executable, "-c", _BURN])
    try:
        yield
    finally:
        burner.kill()
        burner.wait()


def main() -> None:
    """Rehearse."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rehearse(folder, int(sys.argv[2]), burn="burn" in sys.argv)


if __name__ == "__main__":
    main()
