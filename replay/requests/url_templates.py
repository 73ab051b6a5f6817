"""The cross product of lists: every combination of values filled into templates of urls, a block of rows at a time."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.url_rows import UrlRow, from_rows

BATCH: Final = 65_536
"""Requests made at a time."""
_NAME: Final = re.compile(r"\{(\w+)\}")
_BRACE: Final = re.compile(r"\{\w+\}|(\{[^{}]*\}|[{}])")
"""The braces of a name, or in group 1 a brace, or a pair of them, that belongs to no name."""
_RANGE: Final = re.compile(r"(-?\d+)\.\.(-?\d+)", re.ASCII)
_DIGITS: Final = 18
_CLEAN: Final = r"^(?:https?://(?P<host>[!$-.0-;=A-Z_a-z~]+)(?P<rest>(?:[/?][!$-~]*)?)|(?P<path>/[!$-~]*))$"
"""Urls that need no encoding. All others go to `UrlRow.of`."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Listed values."""

    texts: pl.Series

    def __len__(self) -> int:
        return len(self.texts)

    def at(self, places: "np.ndarray[Any, np.dtype[np.int64]]") -> pl.Series:
        return self.texts.gather(places)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Whole numbers from the first to the last, with zeros in front up to a width."""

    first: int
    last: int
    width: int = 0

    def __len__(self) -> int:
        return abs(self.last - self.first) + 1

    def at(self, places: "np.ndarray[Any, np.dtype[np.int64]]") -> pl.Series:
        step = 1 if self.first <= self.last else -1
        return pl.Series(self.first + step * places).cast(pl.String).str.zfill(self.width)


Values = Texts | Numbers
"""The values of one variable; ``at`` gives those at some places."""


def values(text: str) -> Values:
    """Read the values of a variable: ``@file`` (one a line), ``1..9``, or ``a,b,c``."""
    if match := _RANGE.fullmatch(text):
        if max(len(match[1]), len(match[2])) > _DIGITS:
            raise ValueError(f"{text!r}: numbers of a range have at most {_DIGITS} digits")
        return Numbers(int(match[1]), int(match[2]), len(match[1]) if match[1].startswith("0") else 0)
    if text.startswith("@"):
        found = _lines(text[1:])
    else:
        found = [part for part in text.split(",") if part]
        if among := next(filter(_RANGE.fullmatch, found), None):
            raise ValueError(
                f"{text!r}: the range {among} stands in a list; write 1..9 alone or each value; if it is a value, "
                "write the values in a file, one a line, and name it with @file"
            )
    if not found:
        raise ValueError(f"{text!r} holds no values; write a,b,c or 1..9 or @file")
    return Texts(pl.Series(found, dtype=pl.String))


def _lines(name: str) -> list[str]:
    try:
        data = Path(name).read_bytes().removeprefix(codecs.BOM_UTF8)
    except (OSError, ValueError) as error:  # a name with NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"@{name}: cannot be read: {why}; name a file with one value a line") from None
    try:
        return [line.strip() for line in data.decode().split("\n") if line.strip()]
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        line = data.split(b"\n")[number - 1][:60]
        raise ValueError(f"@{name}: line {number}: is not UTF-8: {line!r}; save the file as UTF-8") from None


@dataclass(frozen=True, slots=True)
class Templates:
    """Templates, one after the other, with every combination of the values of their variables.

    Attributes:
        templates: ``/path/{name}`` or ``http://{host}/path/{name}``.
        variables: the values of each name; the last one changes fastest.
    """

    templates: Sequence[str]
    variables: Mapping[str, Values]

    def __post_init__(self) -> None:
        for template in self.templates:
            if brace := next(filter(None, (found[1] for found in _BRACE.finditer(template))), ""):
                raise ValueError(
                    f"{template!r}: {brace} is not a variable: names have letters, digits and _; write %7B and %7D "
                    "for the characters { and }"
                )
        names = {name: template for template in self.templates for name in _NAME.findall(template)}
        if lacking := sorted(names.keys() - self.variables.keys()):
            raise ValueError(f"no values for {{{lacking[0]}}}; give them with --var {lacking[0]}=a,b,c")
        if unused := sorted(self.variables.keys() - names.keys()):
            said = " and ".join(repr(template) for template in self.templates)
            raise ValueError(f"{{{unused[0]}}} is not in the template {said}")

    @property
    def count(self) -> int:
        return sum(prod(map(len, self._of(template).values())) for template in self.templates)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the requests with the columns ``url``, ``host``, ``op`` and ``body``."""
        for template in self.templates:
            pieces, variables = _NAME.split(template), self._of(template)
            total = prod(map(len, variables.values()))
            for begin in range(0, total, BATCH):
                places = np.arange(begin, min(begin + BATCH, total))
                chosen: dict[str, pl.Series] = {}
                for name in reversed(variables):
                    places, place = np.divmod(places, len(variables[name]))
                    chosen[name] = variables[name].at(place)
                parts = [chosen[piece] if odd % 2 else pl.lit(piece) for odd, piece in enumerate(pieces)]
                count = min(BATCH, total - begin)
                texts = pl.select(pl.concat_str(*parts, pl.repeat("", count)).alias("text"))["text"]
                yield _requests(texts, template)

    def _of(self, template: str) -> dict[str, Values]:
        names = set(_NAME.findall(template))
        return {name: found for name, found in self.variables.items() if name in names}


def _requests(texts: pl.Series, template: str) -> pl.DataFrame:
    parts = texts.str.extract_groups(_CLEAN).struct.unnest()
    rest = pl.when(pl.col("rest").str.starts_with("/")).then("rest").otherwise("/" + pl.col("rest"))
    found = parts.select(url=pl.coalesce("path", rest), host="host")
    odd = found["url"].is_null()
    if odd.any():
        try:
            rows = from_rows([UrlRow.of(text) for text in texts.filter(odd)])
        except ValueError as error:
            raise LogreplayError(f"TEMPLATE {template!r}: {error}") from None
        found = found.select(column.scatter(odd.arg_true(), rows[column.name]) for column in found)
    return found.with_columns(op=pl.lit("GET"), body=pl.lit(None, pl.String))
