"""Replaces personal data in rows by pseudonyms; the log still replays with the same shape.

Query values, users, addresses, headers and bodies are replaced; equal values by equal substitutes throughout one
conversion, of the same length and kind, so that distinct requests stay distinct and sizes stay. A token is replaced
alike in a query, a cookie, another header and a body, however it is encoded there, so that a session stays one. Two
values share a substitute only if a log has more values of a length than there are substitutes, which are 36 of one
character. The key is made for each conversion and kept nowhere: substitutes cannot be computed back, nor compared with
those of another. Paths, names of query fields, cookies and headers, keys of JSON, hosts, user agents and headers that
say nothing of a person stay.
"""

import re
import string
from collections.abc import Callable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address
from secrets import token_bytes
from typing import Final

import polars as pl

from logreplay.core.headers import HEADERS, header_pairs, header_text
from logreplay.parsers.captures.capture import PAYLOAD
from logreplay.parsers.redaction.content import Content, content_type, encoded

_VALUE: Final = re.compile(r"(?<==)[^&;#]+")
_LETTERS: Final = string.ascii_lowercase + string.digits
_SHORT: Final = 8
"""Characters up to which two random substitutes may well be equal."""
_TRIES: Final = 1000
_ROUNDS: Final = 8


class Redactor:
    """Replaces personal data: equal values by equal substitutes.

    Args:
        key: for tests; random by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or token_bytes(32)
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[tuple[str, str]] = set()

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Redact the rows of a normalized record."""
        changes: dict[str, Callable[[str], str]] = {
            "url": self.target,
            "referer": self.target,
            "client": self.address,
            "user": lambda user: "user-" + self._letters(user, 8),
            "body": lambda body: self.same_shape(body),
            HEADERS: self.headers,
        }
        redacted = [_each(rows[name], change) for name, change in changes.items() if name in rows.columns]
        if PAYLOAD in rows.columns:
            known = rows[HEADERS].to_list() if HEADERS in rows.columns else [None] * rows.height
            bodies = zip(rows[PAYLOAD].to_list(), known, strict=True)
            changed = [body and self.content.body(body, content_type(text)) for body, text in bodies]
            redacted.append(pl.Series(PAYLOAD, changed, dtype=pl.Binary))
        return rows.with_columns(redacted)

    @property
    def content(self) -> Content:
        """Replaces values in bodies and headers."""
        return Content(self.same_shape, self.address, self.target)

    def headers(self, text: str) -> str:
        """Replace the values of headers that may say who someone is."""
        return header_text(self.content.header(name, value) for name, value in header_pairs(text)) or ""

    def target(self, url: str) -> str:
        """Replace the values of a query, or all of it where it has no names."""
        path, mark, query = url.partition("?")
        if not mark:
            return url
        if "=" not in query:
            return path + mark + self.same_shape(query)
        return path + mark + _VALUE.sub(lambda m: encoded(m[0], self.same_shape), query)

    def same_shape(self, text: str) -> str:
        """A substitute of the same length; digits only for digits only."""
        if text.isascii() and text.isdigit():
            return self._number(text)
        alphabet = string.digits if text.isdigit() else _LETTERS
        if len(text) > _SHORT:
            return self._letters(text, len(text), alphabet)
        return self._unlike(f"text of {len(text)}", text, lambda salted: self._letters(salted, len(text), alphabet))

    def address(self, text: str) -> str:
        """A substitute inside 10.0.0.0/8 or fd00::/8; names get a name."""
        digest = self._digest(text, 15)
        if ":" in text:
            return str(IPv6Address(b"\xfd" + digest))
        if text.replace(".", "").isdigit():
            return self._unlike("IPv4", text, lambda salted: str(IPv4Address(b"\x0a" + self._digest(salted, 15)[:3])))
        return "host-" + self._letters(text, 8)

    def _unlike(self, kind: str, text: str, substitute: Callable[[str], str]) -> str:
        """A substitute that no other text of this kind has, while there are any left."""
        if (kind, text) not in self._given:
            salted = (f"{text}\0{attempt}" if attempt else text for attempt in range(_TRIES))
            found = next(
                (each for each in map(substitute, salted) if (kind, each) not in self._taken), substitute(text)
            )
            self._given[kind, text] = found
            self._taken.add((kind, found))
        return self._given[kind, text]

    def _number(self, digits: str) -> str:
        """Permute the numbers of this length: a Feistel network over decimal digits, so that none meet.

        A zero in front stays, and no other comes there, as JSON wants it: numbers are permuted until it is so.

        Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
        """
        if len(digits) < 2:
            order = sorted(string.digits, key=lambda each: self._digest(f"digit {each}", 16))
            return "".join(order[int(digit)] for digit in digits)
        found = self._permuted(digits)
        while (found[0] == "0") != (digits[0] == "0"):
            found = self._permuted(found)
        return found

    def _permuted(self, digits: str) -> str:
        left, right = digits[: len(digits) // 2], digits[len(digits) // 2 :]
        for turn in range(_ROUNDS):
            mixed = int(left) + int.from_bytes(self._digest(f"{turn} {len(digits)} {right}", 64))
            left, right = right, str(mixed % 10 ** len(left)).zfill(len(left))
        return left + right

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
