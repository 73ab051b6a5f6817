"""The clock that all instants of a run are read from."""

import time
from collections.abc import Callable
from typing import Final

Clock = Callable[[], int]
"""Nanoseconds that only go forward."""

monotonic: Final[Clock] = time.perf_counter_ns
"""On Linux CLOCK_MONOTONIC, which timerfd uses too."""
