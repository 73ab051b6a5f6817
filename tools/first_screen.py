"""Writes the first screen of the README from one real run: ``python tools/first_screen.py``.

The target is the built-in server of 250 requests/s. It takes five minutes and needs a quiet machine: an invalid run, or
a search without an answer, changes nothing.
"""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Final

import logreplay

ROOT: Final = Path(__file__).parent.parent
README: Final = ROOT / "README.md"
LOG: Final = ROOT / "sample_logs" / "nginx_request_time.log"
ADDRESS: Final = "http://127.0.0.1:8080"
COMMANDS: Final = (f"sweep 50..400 access.csv {ADDRESS} --for 20s", f"find access.csv {ADDRESS} --p99 300ms")
BLOCK: Final = "```text\n$ logreplay sweep "
"""Start of the block in the README; it ends with the next fence."""
WIDTH: Final = 110


def main() -> None:
    lines = screen(COMMANDS)
    README.write_text(replaced(README.read_text(encoding="utf-8"), lines), encoding="utf-8")


def replaced(readme: str, lines: str) -> str:
    """The README with other lines in its first screen.

    Raises:
        ValueError: it has no such block.
    """
    before, found, rest = readme.partition(BLOCK)
    _, ended, after = rest.partition("\n```\n")
    if not (found and ended):
        raise ValueError(f"{README.name}: no block that begins with {BLOCK!r}")
    return f"{before}```text\n{lines}\n```\n{after}"


def screen(commands: tuple[str, ...]) -> str:
    """Commands, each with the last line that it prints on standard output, which is its answer."""
    lines = []
    with tempfile.TemporaryDirectory() as folder, logreplay.serve(LOG) as server:
        logreplay.convert(LOG, output=Path(folder) / "access.csv")
        for command in commands:
            words = [sys.executable, "-m", "logreplay.cli.main", *command.replace(ADDRESS, server.url).split()]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stderr}")
            answer = done.stdout.strip().splitlines()[-1]
            lines += [f"$ logreplay {command}", *textwrap.wrap(answer, WIDTH)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
