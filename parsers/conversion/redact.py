"""Replaces personal data in rows by pseudonyms; the log still replays with the same shape.

Query values, users, addresses and bodies are replaced; equal values by equal substitutes throughout one
conversion, of the same length and kind, so that distinct requests stay distinct and sizes stay. The key is made for
each conversion and kept nowhere: substitutes cannot be computed back, nor compared with those of another conversion.
Paths, names of query fields, hosts and user agents stay.
"""

import re
import string
from collections.abc import Callable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address
from secrets import token_bytes
from typing import Final

import polars as pl

_VALUE: Final = re.compile(r"(?<==)[^&;#]+")
_LETTERS: Final = string.ascii_lowercase + string.digits


class Redactor:
    """Replaces personal data: equal values by equal substitutes.

    Args:
        key: for tests; random by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or token_bytes(32)

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Redact the rows of a normalized record."""
        changes: dict[str, Callable[[str], str]] = {
            "url": self.target,
            "referer": self.target,
            "client": self.address,
            "user": lambda user: "user-" + self._letters(user, 8),
            "body": lambda body: self.same_shape(body),
        }
        return rows.with_columns(_each(rows[name], change) for name, change in changes.items() if name in rows.columns)

    def target(self, url: str) -> str:
        """Replace the values of a query, or all of it where it has no names."""
        path, mark, query = url.partition("?")
        if not mark:
            return url
        if "=" not in query:
            return path + mark + self.same_shape(query)
        return path + mark + _VALUE.sub(lambda m: self.same_shape(m[0]), query)

    def same_shape(self, text: str) -> str:
        """A substitute of the same length; digits only for digits only."""
        return self._letters(text, len(text), string.digits if text.isdigit() else _LETTERS)

    def address(self, text: str) -> str:
        """A substitute inside 10.0.0.0/8 or fd00::/8; names get a name."""
        digest = self._digest(text, 15)
        if ":" in text:
            return str(IPv6Address(b"\xfd" + digest))
        if text.replace(".", "").isdigit():
            return str(IPv4Address(b"\x0a" + digest[:3]))
        return "host-" + self._letters(text, 8)

    def _letters(self, text: str, length: int, alphabet: str = _LETTERS) -> str:
        digest = self._digest(text, 64)
        return "".join(alphabet[digest[place % 64] % len(alphabet)] for place in range(length))

    def _digest(self, text: str, size: int) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=size).digest()


def _each(texts: pl.Series, change: Callable[[str], str]) -> pl.Series:
    distinct = texts.unique().drop_nulls()
    if not len(distinct):
        return texts
    return texts.replace_strict(distinct, pl.Series([change(text) for text in distinct], dtype=pl.String), default=None)
