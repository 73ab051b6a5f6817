"""Measures the processor time of other processes, which slows a target on this machine.

Measured while nothing is sent, so that neither the target nor its helpers count.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Final

_STAT: Final = Path("/proc/stat")
TOO_BUSY: Final = 0.25
"""Share of all processors above which other processes distort the measurement of a local target."""


def busy_and_total(stat: str, ticks: int) -> tuple[float, float]:
    """Seconds of all processors since the machine began: at work or taken by its host (steal), and in all.

    Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are counted as user.
    """
    user, nice, system, idle, iowait, irq, softirq, steal = (int(word) for word in stat.split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy / ticks, (busy + idle + iowait) / ticks


def share_of_others(before: tuple[float, float], after: tuple[float, float], own: float) -> float:
    """Share of all processor time that other processes used; ``own`` is this process's time, seconds."""
    busy, total = after[0] - before[0], after[1] - before[1]
    return max(0.0, busy - own) / max(total, 1e-9)


async def cpu_contention(seconds: float = 1.0) -> str:
    """Measure for so long, while nothing is sent; describe the contention. Empty if there is none, or it is unknown."""
    try:
        ticks = os.sysconf("SC_CLK_TCK")
        before, own = busy_and_total(_STAT.read_text(), ticks), time.process_time()
        await asyncio.sleep(seconds)
        share = share_of_others(before, busy_and_total(_STAT.read_text(), ticks), time.process_time() - own)
    except (OSError, ValueError):
        return ""
    if share <= TOO_BUSY:
        return ""
    seen = f"others used {100 * share:.0f} % of this machine's processors while nothing was sent"
    return f"{seen}: they slow a target that runs here"
