"""Replaces personal data in rows by pseudonyms; the log still replays with the same shape.

Each column has a rule for what stays; values of a column without a rule, such as those that others added to a CSV, are
replaced. Equal values get equal substitutes wherever they stand, and however they are encoded there, so that a session
stays one. See `logreplay.parsers.redaction.words` for what stays, and `logreplay.parsers.redaction.pseudonyms` for the
substitutes.
"""

import re
from collections.abc import Callable
from typing import Final

import polars as pl

from logreplay.core.bodies import REF
from logreplay.core.headers import HEADERS, header_pairs
from logreplay.core.record import ERRORS
from logreplay.parsers.captures.capture import PAYLOAD, latin
from logreplay.parsers.redaction.content import Content, content_type
from logreplay.parsers.redaction.pseudonyms import Pseudonyms
from logreplay.parsers.redaction.words import Change, phrase

_KEPT: Final = {
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "time": r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?",
    "op": "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|PURGE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|UNLOCK|REPORT|"
    "SEARCH",
    "protocol": r"HTTP(?:/[0-9](?:\.[0-9])?)?",
    "scheme": "https?",
    "error": "|".join(ERRORS),
}
"""By column, the values that stay."""


class Redactor:
    """Replaces personal data in rows of a normalized record; the key is random, but in tests."""

    def __init__(self, key: bytes | None = None) -> None:
        self._pseudonyms = Pseudonyms(key)
        self.content = Content(self._pseudonyms)
        text = self._pseudonyms.text
        self._changes: dict[str, Change] = {
            **{column: _unless(re.compile(kept), text) for column, kept in _KEPT.items()},
            "url": self.content.target,
            "referer": self.content.url,
            "host": self.content.host,
            "agent": lambda agent: phrase(agent, text),
            "client": self._pseudonyms.address,
            "user": self._pseudonyms.user,
            "body": lambda body: self.content.body(body.encode("latin-1"), "").decode("latin-1"),
            HEADERS: self._headers,
        }

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Redact the rows: numbers stay, texts are replaced by the rule of their column."""
        texts = [name for name, kind in rows.schema.items() if kind == pl.String and name != REF]
        redacted = [_each(rows[name], self._changes.get(name, self._pseudonyms.text)) for name in texts]
        if PAYLOAD in rows.columns:
            known = rows[HEADERS].to_list() if HEADERS in rows.columns else [None] * rows.height
            bodies = zip(rows[PAYLOAD].to_list(), known, strict=True)
            changed = [body and self.content.body(body, content_type(text)) for body, text in bodies]
            redacted.append(pl.Series(PAYLOAD, changed, dtype=pl.Binary))
        return rows.with_columns(redacted)

    def _headers(self, text: str) -> str:
        return "\t".join(": ".join(self.content.header(*pair)) for pair in header_pairs(text))


def _unless(kept: re.Pattern[str], change: Change) -> Change:
    """Replace a text that is not one of those to keep."""
    return lambda text: text if kept.fullmatch(text) else change(text)


def _each(texts: pl.Series, change: Callable[[str], str]) -> pl.Series:
    distinct = texts.unique().drop_nulls()
    if not len(distinct):
        return texts
    new = [text if text == "-" else change(latin(text)).encode("latin-1").decode() for text in distinct]
    return texts.replace_strict(distinct, pl.Series(new, dtype=pl.String), default=None)
