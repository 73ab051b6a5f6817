"""The part ``watch_live`` of the page: limits that a watched figure shows, and response times seldom show."""

from collections.abc import Sequence
from typing import Final

from accuracy._tables import Table, totals
from accuracy.limit_live import limit_of
from limit_servers import IN_USE, SERVERS
from logreplay.analysis.limit.sentences import TargetLimit

RUNS: Final = 5
_WATCHED: Final = {"pool_60": ("pool:3", f"{{url}}{IN_USE}", "pool"), "burning": ("app", "pid:{pid}", "app_process")}
"""By kind of server: the name and the source of --watch, and the figure that is to be at its maximum."""


def watched_limit(kind: str, seed: int, seconds: float = 5) -> TargetLimit:
    """Sweep a server of a kind, and return what its limit looks like with the watched figures."""
    name, source, _ = _WATCHED[kind]
    return limit_of(kind, seed, seconds, {name: source})


def table(runs: int, seed: int) -> str:
    """A row for each server, in Markdown."""
    lines = ["| server | decided | one of the answers |", "|---|--:|---|"]
    for kind, (*_, figure) in _WATCHED.items():
        found = [watched_limit(kind, seed + number) for number in range(runs)]
        decided = [each for each in found if is_decided(each, figure)]
        lines.append(
            f"| {SERVERS[kind].name} | {len(decided)} of {runs} | {(decided or found)[0].watched_sentence or 'none'} |"
        )
    return "\n".join(lines)


def is_decided(found: TargetLimit, figure: str) -> bool:
    """Whether this figure, and no other, is said to be at its maximum."""
    return [each.name for each in found.watched if each.kind == "ceiling"] == [figure]


def result(tables: Sequence[Table]) -> str:
    """In how many sweeps the figure was named."""
    decided, runs = totals(tables[0], "decided")
    return f"Named in {decided} of {runs} sweeps"
