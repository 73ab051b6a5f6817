"""Explains why responses of a replay have other statuses than the log."""

from collections.abc import Iterable
from typing import Final

_WHY: Final = {
    ("304", "200"): "the replay sends no validators (If-Modified-Since)",
    ("206", "200"): "the replay sends no ranges",
    ("499", "200"): "in the log the client went away",
}
_REFUSED: Final = ("401", "403")
_ANSWERED: Final = ("2", "3")
"""First digits of statuses of requests that were not refused."""
CREDENTIALS: Final = "give them with --auth, --header or --cookies"


def explained(changes: Iterable[tuple[str, str]]) -> list[str]:
    """Explain the changes, from a status in the log to one in the replay, that a replay causes itself."""
    notes = []
    for logged, replayed in changes:
        why = _WHY.get((logged, replayed))
        if replayed in _REFUSED and logged.startswith(_ANSWERED):
            why = f"the replay has no cookies or passwords; {CREDENTIALS}"
        if why:
            notes.append(f"{logged} → {replayed}: {why}")
    return notes
