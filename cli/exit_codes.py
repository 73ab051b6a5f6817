"""Exit codes of the commands."""

from enum import IntEnum


class Exit(IntEnum):
    """Done · failed, said why · wrong usage · no valid measurement · a condition not met · interrupted."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVALID = 3
    CONDITION = 4
    INTERRUPTED = 130
