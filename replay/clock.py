"""The one clock of a run."""

import time
from collections.abc import Callable
from typing import Final

Clock = Callable[[], int]
"""Nanoseconds that only go forward."""

monotonic: Final[Clock] = time.perf_counter_ns
"""On Linux CLOCK_MONOTONIC, which timerfd uses too."""
