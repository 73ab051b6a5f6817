"""Access logs in, normalized records out.

``read_log`` and ``iter_log`` give data frames; `logreplay.parsers.conversion.job.convert` makes files.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logreplay.parsers.conversion.dataframe import iter_log, read_log

__all__ = ["iter_log", "read_log"]


def __getattr__(name: str) -> Any:
    """Load what is asked for only then: the other parts need just `logreplay.parsers.record`."""
    if name in __all__:
        from logreplay.parsers.conversion import dataframe

        return getattr(dataframe, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
