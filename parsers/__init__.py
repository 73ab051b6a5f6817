"""Reads access logs into normalized records, as data frames or as files.

These names are the public API. Each is imported at its first use.
"""

from typing import TYPE_CHECKING, Final

from logreplay.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from logreplay.core.errors import LogreplayError, TooManyRejects
    from logreplay.parsers.conversion.dataframe import iter_log, read_log
    from logreplay.parsers.conversion.filters import Filter
    from logreplay.parsers.conversion.job import ConvertOptions, convert
    from logreplay.parsers.conversion.report import ConvertReport, Limit

_HOMES: Final = {
    "iter_log": "logreplay.parsers.conversion.dataframe",
    "read_log": "logreplay.parsers.conversion.dataframe",
    "Filter": "logreplay.parsers.conversion.filters",
    "Limit": "logreplay.parsers.conversion.report",
    "TooManyRejects": "logreplay.core.errors",
    "ConvertOptions": "logreplay.parsers.conversion.job",
    "convert": "logreplay.parsers.conversion.job",
    "ConvertReport": "logreplay.parsers.conversion.report",
    "LogreplayError": "logreplay.core.errors",
}

__all__ = [
    "ConvertOptions", "ConvertReport", "Filter", "Limit", "LogreplayError", "TooManyRejects", "convert", "iter_log",
    "read_log",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker takes the names from above, and refuses others
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
