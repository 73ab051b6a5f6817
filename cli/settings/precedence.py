"""Decides which settings count: the command line wins over variables, variables win over the file."""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

Names = Mapping[str, Set[str]]
"""Parameters by name, each with the names of others.

``name=value`` is a parameter with that value only, ``name>value`` one with a greater number.
"""


class Rank(IntEnum):
    """Origin of a value; a higher rank wins."""

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


def applicable(
    settings: Mapping[str, Setting],
    typed: Mapping[str, Any],
    reset: Set[str] = frozenset(),
    yields_to: Names | None = None,
    needs: Names | None = None,
) -> dict[str, Setting]:
    """The settings that count, by the name of the parameter.

    Args:
        settings: all of them.
        typed: values of parameters that stand on the command line.
        reset: parameters that the command line sets back to their defaults.
        yields_to: a setting is left out if one of these is given with a higher rank.
        needs: a setting is left out unless one of these is given.
    """
    left = {name: setting for name, setting in settings.items() if name not in typed.keys() | reset}
    while True:  # what is left out leaves out what needs it
        given = {name: Setting(value, Rank.TYPED, "") for name, value in typed.items()} | left
        kept = {
            name: setting
            for name, setting in left.items()
            if all(_rank(given, other) <= setting.rank for other in _named(yields_to, name, setting))
            and (not (wanted := _named(needs, name, setting)) or any(_rank(given, other) for other in wanted))
        }
        if len(kept) == len(left):
            return kept
        left = kept


def excluded_by(
    settings: Mapping[str, Setting], typed: Mapping[str, Any], others: Set[str], yields_to: Names | None
) -> dict[str, str]:
    """The settings that an option of a higher rank excludes, each with the name of that option.

    ``others`` are settings that count, or that the command line resets; the rest is as of `applicable`.
    """
    given = {**settings, **{name: Setting(value, Rank.TYPED, "") for name, value in typed.items()}}
    found = dict[str, str]()
    for name in settings.keys() - typed.keys() - others:
        by = max(_named(yields_to, name, settings[name]), key=lambda label: (_rank(given, label), label), default="")
        if settings[name].value is not False and _rank(given, by) > settings[name].rank:
            found[name] = re.split("[=>]", by)[0]
    return dict(sorted(found.items()))


def lacking(
    settings: Mapping[str, Setting], typed: Mapping[str, Any], others: Set[str], needs: Names | None
) -> dict[str, list[str]]:
    """The settings that are left out because they need an option that is not given, each with the labels of those.

    ``others`` are settings that count, that the command line resets, or that another option excludes.
    """
    wanted = {name: _named(needs, name, settings[name]) for name in settings.keys() - typed.keys() - others}
    return {name: sorted(wanted[name]) for name in sorted(wanted) if wanted[name] and settings[name].value is not False}


def _named(names: Names | None, name: str, setting: Setting) -> Set[str]:
    """Return what stands beside a parameter, or beside the parameter with this value."""
    return set().union(*((names or {}).get(label, ()) for label in (name, f"{name}={setting.value}")))


def _rank(given: Mapping[str, Setting], label: str) -> Rank:
    """Return where a parameter's value comes from; NONE if it has none, another than ``label`` says, or is off."""
    name, above, least = label.partition(">")
    name, _, value = name.partition("=")
    setting = given.get(name)
    if setting is None or (setting.value is False and not value) or value not in ("", str(setting.value)):
        return Rank.NONE
    if above and not (str(setting.value).isdecimal() and int(setting.value) > int(least)):
        return Rank.NONE
    return setting.rank
