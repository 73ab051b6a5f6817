"""Replaces personal data in rows by pseudonyms; the log still replays with the same shape.

Each column has a rule for what stays; values of a column without a rule, such as those that others added to a CSV, are
replaced. Equal values get equal substitutes wherever they stand, and however they are encoded there, so that a session
stays one. See `logreplay.parsers.redaction.words` for what stays, and `logreplay.parsers.redaction.pseudonyms` for the
substitutes.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from logreplay.core.bodies import REF
from logreplay.core.headers import HEADERS, OF_CLIENT, header_pairs
from logreplay.core.record import ERRORS
from logreplay.parsers.captures.capture import PAYLOAD, latin, value_of
from logreplay.parsers.redaction.pseudonyms import Pseudonyms
from logreplay.parsers.redaction.words import Change, name, phrase, segment

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

_ESCAPED: Final = re.compile(r"%([0-9A-Fa-f]{2})|([^%]+)|%")
_URL: Final = re.compile(r"(https?://)(?:([^/?#]*)@)?([^/?#@]*)(.*)", re.IGNORECASE | re.DOTALL)
_ADDRESS: Final = re.compile(r"[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")
_PORT: Final = re.compile(r"(?:^[^:]*|\])(:[0-9]{1,5})$")
_FORM: Final = re.compile(r"[!-~]*=[!-~]*")
_BOUNDARY: Final = re.compile(r'boundary="?([^";\s]{1,70})"?', re.IGNORECASE)
_JSON_TOKEN: Final = re.compile(
    r'"((?:[^"\\]|\\.)*+)"(\s*:)?|(?<![\w.+-])-?([0-9]++(?:\.[0-9]++)?)([eE][+-]?[0-9]++)?(?![\w.])'
)
_DIGITS: Final = re.compile(r"[0-9]+")
_MOST_EXPONENT: Final = 3

_ABOUT_FORMATS: Final = re.compile(
    r"accept(?:-.*)?|access-control-request-.*|cache-control|content-(?:disposition|encoding|language|type)|dnt|pragma"
    r"|priority|save-data|sec-(?:ch|fetch)-.*|sec-gpc|sec-websocket-(?:extensions|version)|upgrade-insecure-requests"
    r"|user-agent|via|x-forwarded-(?:port|proto)|x-requested-with"
)
"""Headers whose words of the vocabulary stay."""
_EXACT: Final = re.compile(
    r"(?:(?:if-)?range: bytes ?= ?[0-9, -]+|x-forwarded-port: [0-9]{1,5}"
    r"|(?:date|if-modified-since|if-unmodified-since|if-range)"
    r": [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT)"
)
"""Headers that stay, as the name in lower case and the value."""
_HOSTS: Final = frozenset({"host", "x-forwarded-host"})
_URLS: Final = frozenset({"referer", "origin"})
_CREDENTIALS: Final = frozenset({"authorization", "proxy-authorization"})
_ONE_TOKEN: Final = frozenset({"basic", "bearer", "negotiate", "ntlm", "token", "apikey"})
_WITH_PARAMETERS: Final = frozenset({"digest", "oauth", "signature", "hawk", "aws4-hmac-sha256"})


class Redactor:
    """Replaces personal data in rows of a normalized record; the key is random except in tests."""

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


@dataclass(frozen=True, slots=True)
class Content:
    """Replaces values in URLs, headers and bodies."""

    pseudonyms: Pseudonyms

    def text(self, text: str) -> str:
        """Replace a value that may be percent-encoded."""
        return encoded(text, self.pseudonyms.text)

    def target(self, target: str) -> str:
        """Replace a request target: path, query and fragment."""
        rest, hash_sign, fragment = target.partition("#")
        path, mark, query = rest.partition("?")
        parts = map(self._segment, path.split("/"))
        return "/".join(parts) + mark + self._pairs(query, "&") + hash_sign + self.text(fragment)

    def url(self, url: str) -> str:
        """Replace a URL as a page or a program names it."""
        if url.startswith("/"):
            return self.target(url)
        if not (found := _URL.fullmatch(url)):
            return self.text(url)
        user = "" if found[2] is None else self.text(found[2]) + "@"
        return found[1] + user + self.host(found[3]) + self.target(found[4])

    def host(self, host: str) -> str:
        """Replace a host with or without a port."""
        port = found[1] if (found := _PORT.search(host)) else ""
        bare = host.removesuffix(port)
        literal = bare.strip("[]")
        if _ADDRESS.fullmatch(literal):
            return bare.replace(literal, self.pseudonyms.address(literal)) + port
        return self._plain_name(bare) + port

    def header(self, title: str, value: str) -> tuple[str, str]:
        """Replace the value of a header, and its name where that does not read as one."""
        return self._plain_name(title), self._value(title.lower(), value)

    def _value(self, title: str, value: str) -> str:
        if _EXACT.fullmatch(f"{title}: {value}"):
            return value
        if _ABOUT_FORMATS.fullmatch(title):
            return self._about_formats(value)
        if title in _HOSTS:
            return self.host(value)
        if title in _URLS:
            return self.url(value)
        if title in OF_CLIENT:
            return ", ".join(self.pseudonyms.address(part.strip()) for part in value.split(","))
        if title == "cookie":
            return self._pairs(value, ";")
        if title in _CREDENTIALS:
            scheme, blank, credentials = value.partition(" ")
            if scheme.lower() in _ONE_TOKEN:
                return scheme + blank + self.text(credentials)
            if scheme.lower() in _WITH_PARAMETERS:
                return scheme + blank + self._pairs(credentials, ",")
        return self.text(value)

    def _about_formats(self, value: str) -> str:
        parts = value.split(";")
        for at, part in enumerate(parts):
            key, equals, given = part.partition("=")
            kept = key.strip().lower()
            if equals and kept in ("boundary", "name", "filename", "filename*"):
                parts[at] = key + equals + (self._name(given) if kept == "name" else self.text(given))
            else:
                parts[at] = phrase(part, self.pseudonyms.text)
        return ";".join(parts)

    def body(self, body: bytes, kind: str) -> bytes:
        """Replace the values of a form or of JSON, the content of parts, or all bytes."""
        text = body.decode("latin-1")
        if kind.startswith("multipart/") and (boundary := _BOUNDARY.search(kind)):
            return self._parts(text, boundary[1]).encode("latin-1")
        if ("json" in kind or text.lstrip()[:1] in ("{", "[")) and _is_json(body):
            return self._json(body.decode())
        if "form-urlencoded" in kind or _FORM.fullmatch(text):
            return self._pairs(text, "&").encode("latin-1")
        return self.pseudonyms.opaque(text).encode("latin-1")

    def _segment(self, text: str) -> str:
        path, mark, parameters = text.partition(";")
        return encoded(path, lambda plain: segment(plain, self.pseudonyms.text)) + mark + self._pairs(parameters, ";")

    def _pairs(self, text: str, between: str) -> str:
        """Replace the values of ``name=value`` pairs; a part without a name is a value."""
        return between.join(map(self._pair, text.split(between)))

    def _pair(self, text: str) -> str:
        key, equals, value = text.partition("=")
        if not equals or (value and not value.strip("= ")):  # no name, or the end of base64
            return self.text(text)
        return self._name(key) + equals + self.text(value)

    def _name(self, text: str) -> str:
        blanks, quotes = text[: len(text) - len(text.lstrip(' "'))], text[len(text.rstrip(' "')) :]
        bare = text.strip(' "')
        return blanks + encoded(bare, self._plain_name) + quotes * bool(bare)

    def _plain_name(self, text: str) -> str:
        return name(text, self.pseudonyms.text)

    def _json(self, text: str) -> bytes:
        """Replace strings and numbers; each keeps its length in bytes, unless it has escapes."""

        def changed(found: re.Match[str]) -> str:
            if found[3] is not None:
                sign = "-" if found[0].startswith("-") else ""
                return sign + self.pseudonyms.text(found[3]) + self._exponent(found[4] or "")
            if not found[1]:
                return found[0]
            decoded: str = json.loads(f'"{found[1]}"', strict=False)
            plain = latin(decoded.encode("utf-8", "replace").decode())
            new = self._plain_name(plain) if found[2] is not None else self.pseudonyms.text(plain)
            return json.dumps(new.encode("latin-1").decode(), ensure_ascii=False) + (found[2] or "")

        return _JSON_TOKEN.sub(changed, text).encode()

    def _exponent(self, text: str) -> str:
        """Keep an exponent; one of many digits may be a value."""
        few = len(text.lstrip("eE+-")) <= _MOST_EXPONENT
        return text if few else _DIGITS.sub(lambda found: self.pseudonyms.text(found[0]), text)

    def _parts(self, text: str, boundary: str) -> str:
        """Replace the parts of a form with files, and the boundary as in the header."""
        first, *parts = text.split("--" + boundary)
        done = [self.pseudonyms.text(first), *map(self._part, parts)]
        return ("--" + self.pseudonyms.text(boundary)).join(done)

    def _part(self, text: str) -> str:
        head, blank, content = text.partition("\r\n\r\n")
        if not blank:
            return _around(text, self.pseudonyms.text)
        lines = head.split("\r\n")
        for at, line in enumerate(lines):
            title, colon, value = line.partition(":")
            if line.strip():
                lines[at] = self._part_header(title, value) if colon else self.pseudonyms.text(line)
        is_file = "filename" in head.lower()
        change = self.pseudonyms.opaque if is_file else self.pseudonyms.text
        return "\r\n".join(lines) + blank + _around(content, change)

    def _part_header(self, title: str, value: str) -> str:
        new, changed = self.header(title, value.lstrip())
        return f"{new}:{value[: len(value) - len(value.lstrip())]}{changed}"


def _around(text: str, change: Change) -> str:
    """Replace a text except for the line end behind it."""
    end = "\r\n" if text.endswith("\r\n") else ""
    return change(text.removesuffix(end)) + end


def encoded(text: str, change: Change) -> str:
    """Replace a percent-encoded text as if it were not encoded; encoded places stay encoded, and lengths stay."""
    if "%" not in text:
        return change(text)
    marks: list[tuple[str, str]] = []
    for found in _ESCAPED.finditer(text):
        marks += [(chr(int(found[1], 16)), found[0])] if found[1] else [(sign, sign) for sign in found[0]]
    plain = "".join(sign for sign, _ in marks)
    pairs = zip(change(plain), marks, strict=True)
    return "".join(
        spelled if new == sign else f"%{ord(new):02X}" if len(spelled) > 1 else new for new, (sign, spelled) in pairs
    )


def content_type(headers: str | None) -> str:
    """The Content-Type among headers, in lower case except for its parameters; empty where there is none."""
    value = value_of(header_pairs(headers), "content-type")
    kind, mark, rest = value.partition(";")
    return kind.strip().lower() + mark + rest


def _is_json(body: bytes) -> bool:
    try:
        found: Any = json.loads(body.decode())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict | list)
