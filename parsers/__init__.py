"""Reads access logs into normalized records, as data frames or as files.

These names are the public API. Each is imported at its first use: the other packages need `logreplay.parsers.record`
only, and do not load the log readers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from logreplay.parsers.conversion.dataframe import iter_log, read_log
    from logreplay.parsers.conversion.filters import Filter
    from logreplay.parsers.conversion.ingest import Limit, TooManyRejects
    from logreplay.parsers.conversion.job import ConvertOptions, convert
    from logreplay.parsers.conversion.report import ConvertReport
    from logreplay.parsers.record import LogreplayError

_HOMES: Final = {
    "iter_log": "conversion.dataframe",
    "read_log": "conversion.dataframe",
    "Filter": "conversion.filters",
    "Limit": "conversion.ingest",
    "TooManyRejects": "conversion.ingest",
    "ConvertOptions": "conversion.job",
    "convert": "conversion.job",
    "ConvertReport": "conversion.report",
    "LogreplayError": "record",
}

__all__ = [
    "ConvertOptions",
    "ConvertReport",
    "Filter",
    "Limit",
    "LogreplayError",
    "TooManyRejects",
    "convert",
    "iter_log",
    "read_log",
]


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name):
        return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
