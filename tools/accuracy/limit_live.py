"""The part ``limit_live`` of the page: the limit that a sweep names, of real servers whose limit is known.

A server is a process of its own on the same machine. The sweeps are made one after the other through the library.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import logreplay
from accuracy._tables import Table, totals
from accuracy.swap_live import written
from limit_servers import SERVERS, available, serving
from logreplay.analysis.limit.sentences import TargetLimit

RUNS: Final = 5
_SECONDS: Final = 5
_SHARES: Final = (0.25, 0.4, 0.55, 0.7, 0.85, 0.95, 1.15, 1.35)
_URLS: Final = ("/db", "/about", "/", "/", "/db")


def limit_of(kind: str, seed: int, seconds: float = _SECONDS, watch: Mapping[str, str] | None = None) -> TargetLimit:
    """Sweep a server of a kind, and return what its limit looks like.

    Args:
        kind: key of `SERVERS`.
        seed: of the due times.
        seconds: length of a step.
        watch: sources of figures by name; ``{url}`` and ``{pid}`` stand for those of the server.
    """
    rates = [round(share * SERVERS[kind].capacity) for share in _SHARES]
    with TemporaryDirectory() as folder, serving(kind) as server:
        sources = {name: source.format(url=server.url, pid=server.pid) for name, source in (watch or {}).items()}
        log = written(Path(folder), _URLS)
        found = logreplay.sweep(log, server.url, rates, duration=seconds, seed=seed, watch=sources).limit
    assert found
    return found


def table(runs: int, seed: int) -> str:
    """The table of kinds of server, in Markdown.

    Raises:
        SystemExit: the program of a kind is not installed.
    """
    if missing := [SERVERS[kind].name for kind in SERVERS if not available(kind)]:
        raise SystemExit(f"limit_live: not installed: {'; '.join(missing)}")
    lines = ["| server | right | cannot tell | wrong | one of the answers |", "|---|--:|--:|--:|---|"]
    for kind, server in SERVERS.items():
        found = [limit_of(kind, seed + number) for number in range(runs)]
        named = [each for each in found if each.kind is not None]
        right = [each for each in named if is_right(kind, each)]
        counts = f"{len(right)} of {runs} | {runs - len(named)} of {runs} | {len(named) - len(right)} of {runs}"
        lines.append(f"| {server.name} | {counts} | {(named or found)[0].text} |")
    return "\n".join(lines)


def is_right(kind: str, found: TargetLimit) -> bool:
    """Whether an answer is right: its kind, and its number within a tenth, and a half."""
    server = SERVERS[kind]
    if found.kind not in server.kinds:
        return False
    if server.at_once is None or found.at_once is None:
        return True
    return abs(found.at_once - server.at_once) <= 0.1 * server.at_once + 0.5


def result(tables: Sequence[Table]) -> str:
    """How many sweeps are right."""
    right, runs = totals(tables[0], "right")
    wrong, _ = totals(tables[0], "wrong")
    return f"Of {runs} sweeps, {right} name the right limit, {wrong} a wrong one; the others cannot tell"
