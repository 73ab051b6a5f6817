"""The address of a Dask cluster, as a user writes it. Loads no Dask."""

import re
from typing import Final

from logreplay.core.errors import UsageError

_SCHEDULER: Final = re.compile(r"(?:(?:tcp|tls|wss?|ucxx?)://)?(?:\[[^\s\[\]/]+\]|(?!local:)[^\s:/\[\]]+):(\d{1,5})")
_LAST_PORT: Final = 65_535
_LOCAL: Final = re.compile(r"local:(\d{1,4})")
_MOST_LOCAL: Final = 1000
"""Most local workers, as for ``--workers``."""


def local_workers(address: str | None) -> int | None:
    """How many workers ``local:N`` starts; None for the address of a scheduler, or without one."""
    if address is None:
        return None
    if (local := _LOCAL.fullmatch(address)) and 1 <= int(local[1]) <= _MOST_LOCAL:
        return int(local[1])
    if (scheduler := _SCHEDULER.fullmatch(address)) and 1 <= int(scheduler[1]) <= _LAST_PORT:
        return None
    raise UsageError(
        f"--cluster {address!r}: expected the address of a Dask scheduler, tcp://HOST:PORT such as "
        f"tcp://scheduler:8786, or local:N with 1 to {_MOST_LOCAL} workers"
    )
