"""Decides which settings count: the command line wins over variables, variables win over the file."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

Names = Mapping[str, Set[str]]
"""Parameters by name, each with the names of others."""


class Rank(IntEnum):
    """Where a value comes from; a higher rank wins."""

    NONE = 0
    FILE = 1
    FILE_SECTION = 2
    VARIABLE = 3
    COMMAND_VARIABLE = 4
    TYPED = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """A value for a parameter that was not typed.

    Attributes:
        value: as it would come from the command line.
        rank: where it comes from.
        origin: the same in words: the name of the file, or of the variable.
    """

    value: Any
    rank: Rank
    origin: str


def exclusive(*names: str) -> dict[str, set[str]]:
    """Return parameters of which only one can be given, each with all the others."""
    return {name: set(names) - {name} for name in names}


def applicable(
    settings: Mapping[str, Setting],
    typed: Set[str],
    reset: Set[str] = frozenset(),
    yields_to: Names | None = None,
    needs: Names | None = None,
) -> dict[str, Setting]:
    """Return the settings that count.

    Args:
        settings: by the name of the parameter.
        typed: parameters that stand on the command line.
        reset: parameters that the command line sets back to their defaults.
        yields_to: a setting is left out if one of these is given with a higher rank.
        needs: a setting is left out unless one of these is given.
    """
    left = {name: setting for name, setting in settings.items() if name not in typed | reset}

    def rank(name: str) -> Rank:
        if name in typed:
            return Rank.TYPED
        return left[name].rank if name in left and left[name].value is not False else Rank.NONE

    beaten = {
        name
        for name, setting in left.items()
        if any(rank(other) > setting.rank for other in (yields_to or {}).get(name, ()))
    }
    kept = {name: setting for name, setting in left.items() if name not in beaten}
    given = typed | {name for name in kept if rank(name)}
    return {name: setting for name, setting in kept.items() if not needs or name not in needs or needs[name] & given}
