"""Reads access logs into normalized records, as data frames or as files.

These names are the public API. Each is imported at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from logreplay.core.record import LogreplayError
    from logreplay.parsers.conversion.dataframe import iter_log, read_log
    from logreplay.parsers.conversion.filters import Filter
    from logreplay.parsers.conversion.ingest import Limit, TooManyRejects
    from logreplay.parsers.conversion.job import ConvertOptions, convert
    from logreplay.parsers.conversion.report import ConvertReport

_HOMES: Final = {
    "iter_log": "parsers.conversion.dataframe",
    "read_log": "parsers.conversion.dataframe",
    "Filter": "parsers.conversion.filters",
    "Limit": "parsers.conversion.ingest",
    "TooManyRejects": "parsers.conversion.ingest",
    "ConvertOptions": "parsers.conversion.job",
    "convert": "parsers.conversion.job",
    "ConvertReport": "parsers.conversion.report",
    "LogreplayError": "core.record",
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
        return getattr(import_module(f"logreplay.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
