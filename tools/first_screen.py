"""Writes the first screen of the README from one real run: ``PYTHONPATH=tests python tools/first_screen.py``.

The target is the built-in server of 250 requests/s. It takes five minutes and needs a quiet machine.
"""

import textwrap
from pathlib import Path
from typing import Final

import logreplay

ROOT: Final = Path(__file__).parent.parent
README: Final = ROOT / "README.md"
LOG: Final = ROOT / "sample_logs" / "nginx_request_time.log"
ADDRESS: Final = "http://127.0.0.1:8080"
START: Final = "```text\n$ logreplay sweep "
"""Begin of the block in the README; it ends with the next fence."""
WIDTH: Final = 110


def main() -> None:
    lines = screen()
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition("\n```\n")[2]
    README.write_text(f"{before}```text\n{lines}\n```\n{after}", encoding="utf-8")


def screen(duration: float = 20, budget: float = 120) -> str:
    """Two commands and the sentences that answer them.

    Args:
        duration: seconds of each step of the sweep.
        budget: seconds of the search.
    """
    with logreplay.serve(LOG) as server:
        sweep = logreplay.sweep(LOG, server.url, "50..400", duration=duration)
        find = logreplay.find(LOG, server.url, p99="300ms", budget=budget)
    return "\n".join(
        (
            *answered(f"logreplay sweep 50..400 access.csv {ADDRESS} --for {duration:g}s", sweep.sentence),
            *answered(f"logreplay find access.csv {ADDRESS} --p99 300ms", find.sentence),
        )
    )


def answered(command: str, sentence: str) -> list[str]:
    return [f"$ {command}", *textwrap.wrap(sentence, WIDTH)]


if __name__ == "__main__":
    main()
