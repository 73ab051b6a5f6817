"""Make the table of docs/simulated-systems.md: ``PYTHONPATH=tests python tools/verdict_table.py [SEED]``.

Three seeds of each system, from this one on, take half a minute in all.
"""

import sys
from collections import Counter

from support.simulated_systems import SYSTEMS, Known, Scored, score


def truth(capacity: Known) -> str:
    """A capacity as text."""
    if capacity is None:
        return "none in the sweep"
    return f"{capacity[0]:g}–{capacity[1]:g}" if isinstance(capacity, tuple) else f"{capacity:.4g}"


def holds(scored: Scored) -> bool | None:
    """Whether the printed range holds the capacity; None where there is no range, or no single capacity."""
    if scored.low is None or scored.high is None or not isinstance(scored.capacity, float | int):
        return None
    return scored.low <= scored.capacity <= scored.high


def main() -> None:
    """Write the table and the sums below it, in Markdown."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    sums, ranges = Counter[str](), Counter[bool]()
    sys.stdout.write("| system | capacity | one of three answers | right |\n|---|---|---|--:|\n")
    for system in SYSTEMS:
        scored = [score(system, seed) for seed in range(first, first + 3)]
        sums.update(each.score for each in scored)
        ranges.update(held for each in scored if (held := holds(each)) is not None)
        right = sum(each.score in ("right", "refused") for each in scored)
        sys.stdout.write(f"| {system.name} | {truth(scored[0].capacity)} | {scored[0].answer} | {right} |\n")
    said = ", ".join(f"{count} {name}" for name, count in sums.most_common())
    sys.stdout.write(f"\n{sums.total()} verdicts: {said}. ")
    sys.stdout.write(f"The range of saturation holds the capacity in {ranges[True]} of {ranges.total()}.\n")


if __name__ == "__main__":
    main()
