"""The client of a request: its address, its address and agent, or a column, a header or a cookie of the log."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import polars as pl

from logreplay.replay.requests.header_columns import TOKEN

_OWN_COLUMNS: Final = {"user-agent": "agent", "referer": "referer", "host": "host"}
_KINDS: Final = ("column", "header", "cookie")
_PLAIN: Final = ("", "address", "column")


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A shape that decides which requests are of one client: those with an equal key.

    Headers and cookies may be secrets, so clients get pseudonyms by them: equal for equal values, and
    the same in each run. A request without a value belongs to the client of its address.

    Attributes:
        kind: ``address``, ``address+agent``, ``column``, ``header`` or ``cookie``.
        name: name of the column, header or cookie.
    """

    kind: str
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> "ClientKey":
        """Read ``address``, ``address+agent``, ``column:NAME``, ``header:NAME`` or ``cookie:NAME``."""
        kind, colon, name = text.partition(":")
        named = bool(colon and name and kind in _KINDS) and (kind == "column" or TOKEN.fullmatch(name))
        if not named and text not in ("address", "address+agent"):
            raise ValueError(f"{text!r}: expected address, address+agent, column:NAME, header:NAME or cookie:NAME")
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind

    @property
    def columns(self) -> Sequence[str]:
        if self.kind == "address":
            return ()
        if self.kind == "address+agent":
            return ("agent",)
        if self.kind == "column":
            return (self.name,)
        if self.kind == "cookie":
            return ("headers", "cookie")
        own = _OWN_COLUMNS.get(self.name.lower())
        return (own,) if own else ("headers",)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self.kind == "address":
            return frame
        value = frame.select(self.value.alias("value"))["value"]
        if self.kind not in _PLAIN:
            value = self._pseudonyms(value)
        if self.kind == "address+agent":
            return frame.with_columns(pl.concat_str("client", value, separator=" ", ignore_nulls=True).alias("client"))
        return frame.with_columns(pl.coalesce(value, "client").alias("client"))

    def of(self, value: str) -> str:
        """The client that a user names by a value of the key: that value, or its pseudonym."""
        if self.kind == "address+agent":
            address, _, agent = value.partition(" ")
            return f"{address} {_pseudonym('agent', agent)}"
        return value if self.kind in _PLAIN else _pseudonym(self.name, value)

    @property
    def value(self) -> pl.Expr:
        """The key of each request, other than ``address``, from `columns`; null if a request has none."""
        if self.kind == "cookie":
            pair = rf"(?:^|;[ \t]*){re.escape(self.name)}=([^;\t]*)"
            return pl.coalesce(_header("cookie").str.extract(pair, 1), pl.col("cookie").str.extract(pair, 1))
        (column,) = self.columns
        return _header(self.name) if column == "headers" and self.kind == "header" else pl.col(column)

    def _pseudonyms(self, values: pl.Series) -> pl.Series:
        kinds = values.unique().drop_nulls().to_list()
        name = self.name or "agent"
        return values.replace_strict({value: _pseudonym(name, value) for value in kinds}, return_dtype=pl.String)


def _header(name: str) -> pl.Expr:
    """The value of a header in the column ``headers``, where tabs stand between them."""
    return pl.col("headers").str.extract(rf"(?i)(?:^|\t){re.escape(name)}: ?([^\t]*)", 1)


def _pseudonym(name: str, value: str) -> str:
    return f"{name}-{sha256(value.encode()).hexdigest()[:12]}"
