"""Exit codes of the commands."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logreplay.analysis.verdict.checks import Check


class Exit(IntEnum):
    """Done · failed, said why · wrong usage · no valid measurement · a condition not met · interrupted."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVALID = 3
    CONDITION = 4
    INTERRUPTED = 130


def of_checks(checks: "Iterable[Check]") -> Exit:
    """The exit code of all conditions: one that does not hold counts most."""
    states = {check.state for check in checks}
    return Exit.CONDITION if "failed" in states else Exit.INVALID if "unjudged" in states else Exit.OK
