"""Make the tables of docs/search.md: ``python tools/search_table.py [SEARCHES]``.

100 searches of each server take five minutes. ``truths`` instead of a number prints what each server keeps in the long
run.
"""

import sys
from collections.abc import Iterator

import numpy as np

from search_rehearsal import Score, climb, score
from search_servers import DEVELOPED, HELD_OUT, MM4, NOISY, WALL, Server, late

LONGER_S = 600.0


def line(name: str, found: Score) -> str:
    """One row of the table."""
    low, middle, high = np.nanquantile(found.promised, (0.05, 0.5, 0.95)) * 100
    about = np.nanquantile(found.capacity, (0.05, 0.5, 0.95)) * 100
    return (
        f"| {name} | {found.seconds.mean():.0f} | {found.seconds.max():.0f} "
        f"| {middle:+.0f} % | {low:+.0f} … {high:+.0f} % "
        f"| {found.over * 100:.0f} % | {found.without * 100:.0f} % "
        f"| {about[1]:+.0f} % ({about[0]:+.0f} … {about[2]:+.0f} %) |\n"
    )


def head(first: str) -> str:
    """The head of a table of such rows."""
    return (
        f"| {first} | seconds | most | promise, median | 5 … 95 % | over by > 2 % | no answer | capacity about |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|\n"
    )


def tables(searches: int) -> Iterator[str]:
    """All tables, in Markdown."""
    yield head("server")
    for server in (*DEVELOPED, *HELD_OUT):
        held_out = " (held out)" if server in HELD_OUT else ""
        yield line(f"{server.name}{held_out}", score(server, range(searches)))
    yield "\n" + head(f"with `--budget {LONGER_S / 60:.0f}m`")
    for server in (MM4, NOISY, WALL):
        yield line(server.name, score(server, range(searches), LONGER_S))
    for server in (MM4, NOISY, WALL):
        best = [climb(server, 1000.0, np.random.default_rng(seed)) for seed in range(max(searches // 10, 1))]
        rates, seconds = np.array(best).T
        over = np.mean(rates > 1.02 * server.truth)
        yield f"\nhlg, best of 45 trials, {server.name}: {seconds.mean():.0f} s, over by > 2 % in {over * 100:.0f} %\n"


def truth(server: Server) -> float:
    """The highest rate that a server keeps for 1.2 million requests, found by bisection."""
    low, high = 0.1 * server.queue.capacity, 1.05 * server.queue.capacity
    for seed in range(10):
        rate = (low + high) / 2
        kept = late(server, rate, 1.2e6 / rate, np.random.default_rng(seed)) <= server.bound.allowance
        low, high = (rate, high) if kept else (low, rate)
    return low


def main() -> None:
    """Write the tables or the truths."""
    if sys.argv[1:] == ["truths"]:
        for server in (*DEVELOPED, *HELD_OUT):
            sys.stdout.write(f"{server.name}: {truth(server):.4g}\n")
        return
    for text in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 100):
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
