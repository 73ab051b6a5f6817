"""A row of the table of options."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from logreplay.options import kinds as k
from logreplay.options.kinds import Kind

FORMER: Final = {"demand": "tps"}
"""Earlier names of parameters and settings by their names; both are read."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of some commands, and the parameter of their functions.

    Attributes:
        commands: that have it.
        name: name of the parameter, and of the value that the command receives.
        kind: kind of its values.
        help: its effect, as ``--help`` shows it.
        metavar: the value in the help.
        flags: on the command line; empty: ``--`` and the name.
        default: as text; empty: none.
        repeated: ``many`` values; ``once``: a second one is refused, where the last of other options counts; ``lines``:
            many, and ``@FILE`` has one in each line.
        only: ``terminal``: the functions do not have it; ``python``: the command line does not.
        refused: commands that take it only to say why they refuse it.
        required: it must be given.
        hidden: an earlier name, which is read, and which the help does not show.
    """

    commands: str
    name: str
    kind: Kind
    help: str
    metavar: str = ""
    flags: str = ""
    default: str = ""
    repeated: str = ""
    only: str = ""
    refused: str = ""
    required: bool = False
    hidden: bool = False

    @property
    def several(self) -> bool:
        """Whether the option may be repeated."""
        return self.repeated in ("many", "lines")

    @property
    def value(self) -> Any:
        """Value that the function receives if the option is not given."""
        if self.several:
            return ()
        if self.kind in (k.SWITCH, k.OFF):
            return self.kind is k.OFF
        return self.kind.checked(self.default) if self.default else None

    @property
    def names(self) -> Sequence[str]:
        """The options of the command line."""
        return (self.flags or f"--{self.name.replace('_', '-')}").replace("/", " ").split()
