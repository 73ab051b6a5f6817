"""Make the table of docs/search.md: ``PYTHONPATH=notebooks python docs/search_table.py [SEEDS]`` (100: two minutes)."""

import sys
from collections.abc import Iterator

import numpy as np

import search_rehearsal as rehearsal
from logreplay.analysis.search.search import Goal
from search_rehearsal import SERVERS, Server, Worth


def rules(server: Server, seeds: range) -> Iterator[Worth]:
    """Errors and cost of each rule on a server."""
    yield from rehearsal.worth_of_climbing(server, seeds)
    for trial_s in (8.0, 20.0):
        yield rehearsal.worth(server, seeds, Goal((server.bound,), trial_s=trial_s))
    yield rehearsal.worth(server, seeds)


def line(worth: Worth) -> str:
    """One row of the table."""
    low, high = np.quantile(worth.errors, (0.05, 0.95))
    return (
        f"| {worth.server} | {worth.rule} | {worth.trials.mean():.1f} | {worth.trials.max():.0f} "
        f"| {worth.seconds.mean():.0f} | {worth.median * 100:+.1f} % | {low * 100:+.1f} … {high * 100:+.1f} % "
        f"| {worth.over * 100:.0f} % |\n"
    )


def main() -> None:
    """Write the table, in Markdown."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    sys.stdout.write("| server | rule | trials | most | seconds | error, median | 5 … 95 % | over by > 2 % |\n")
    sys.stdout.write("|---|---|--:|--:|--:|--:|--:|--:|\n")
    for server in SERVERS:
        for worth in rules(server, seeds):
            sys.stdout.write(line(worth))


if __name__ == "__main__":
    main()
