"""The limit of file descriptors, of which each connection needs one."""

import resource
from contextlib import suppress


def allow_descriptors(wanted: int | None = None) -> float:
    """Raise the soft limit to ``wanted``, or as far as the system allows; return it, infinite if there is none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    aim = hard if wanted is None else wanted if hard == unlimited else min(wanted, hard)
    if soft != unlimited and (aim == unlimited or soft < aim):
        with suppress(OSError, ValueError):  # macOS has a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (aim, hard))
            soft = aim
    return float("inf") if soft == unlimited else soft
