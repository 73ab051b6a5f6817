"""The rules by which an answer's status counts against the target, given the status that the log had (0: none)."""

import numpy as np
from numpy.typing import NDArray


def failed(status: NDArray[np.int64], expected: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each answer is lost goodput: 5xx, or 4xx where the log had no 4xx."""
    return (status >= 500) | ((status >= 400) & ((expected < 400) | (expected >= 500)))


def is_new_error(status: NDArray[np.int64], expected: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each answer is an error of a class (4xx, 5xx) that the log did not have there."""
    another: NDArray[np.bool_] = status // 100 != expected // 100
    return (status >= 400) & another


def unexpected(status: int, expected: int) -> bool:
    """Whether a status differs from the one in the log.

    Where the log had none, any status below 400 will do. Where it had 304 or 206, a 200 will do: validators and ranges
    are not in a log and so are not sent. 499 (nginx: the client went away) is not a server's response, so any status
    is accepted.
    """
    if expected in (304, 206) and status == 200:
        return False
    if expected in (0, 499):
        return status >= 400
    return status != expected
