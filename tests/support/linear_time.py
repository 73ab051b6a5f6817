"""Whether the time of some work is linear in its size, told by the ratio of two sizes in one process."""

import time
from collections.abc import Callable


def is_linear(act: Callable[[int], object], size: int) -> bool:
    """Whether twenty times the size takes about twenty times the time, not four hundred or more."""

    def seconds(size: int) -> float:
        begin = time.process_time()
        act(size)
        return time.process_time() - begin

    most = 150 * max(min(seconds(size) for _ in range(3)), 1e-3)
    return any(seconds(20 * size) < most for _ in range(3))
