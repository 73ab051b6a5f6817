"""Tells which statuses differ from those of the log; `logreplay.core.record.failed` tells which requests failed."""

from logreplay.core.record import CLIENT_LEFT


def unexpected(status: int, expected: int) -> bool:
    """Whether a status differs from the one in the log.

    Where the log had none, or 499 (nginx: the client went away, so the server did not respond), any status below 400
    will do. Where it had 304 or 206, a 200 will do: validators and ranges are not in a log and so are not sent.
    """
    if expected in (304, 206) and status == 200:
        return False
    if expected in (0, CLIENT_LEFT):
        return status >= 400
    return status != expected
