"""Replaces values in headers and bodies; the names around them stay, so that the requests mean the same."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from logreplay.core.headers import header_pairs
from logreplay.parsers.captures.capture import latin

Change = Callable[[str], str]

_ESCAPED: Final = re.compile(r"%([0-9A-Fa-f]{2})|([^%])|%", re.DOTALL)
_FORM_VALUE: Final = re.compile(r"(?<==)[^&;]+")
_FORM: Final = re.compile(r"[!-~]*=[!-~]*")
_COOKIE_VALUE: Final = re.compile(r'(=\s*"?)([^;"]+)')
_PARAMETER: Final = re.compile(r'(=\s*"?)([^",;\s]+)')
_BOUNDARY: Final = re.compile(r'boundary="?([^";\s]{1,70})"?', re.IGNORECASE)
_FILE_NAME: Final = re.compile(rb'(filename\*?=")([^"\r\n]*)(")')
_JSON_TOKEN: Final = re.compile(
    r'"((?:[^"\\]|\\.)*+)"(\s*:)?|(?<![\w.+-])(-?(?:[0-9]++)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![\w.])'
)
_DIGITS: Final = re.compile(r"[0-9]+")

_STAYING: Final = frozenset(
    {
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "access-control-request-headers",
        "access-control-request-method",
        "cache-control",
        "content-encoding",
        "content-language",
        "content-type",
        "date",
        "dnt",
        "host",
        "if-modified-since",
        "if-unmodified-since",
        "origin",
        "pragma",
        "priority",
        "range",
        "upgrade-insecure-requests",
        "user-agent",
        "via",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-proto",
        "x-requested-with",
    }
)
"""Headers that stay unchanged, besides ``sec-…``."""

_ADDRESSES: Final = frozenset({"x-forwarded-for", "x-real-ip", "true-client-ip", "cf-connecting-ip", "x-client-ip"})


@dataclass(frozen=True, slots=True)
class Content:
    """Replaces values in headers and bodies.

    Attributes:
        text: the substitute of a text, of its length.
        address: that of an address.
        target: that of a URL.
    """

    text: Change
    address: Change
    target: Change

    def header(self, name: str, value: str) -> tuple[str, str]:
        """Replace what may say who someone is."""
        lower = name.lower()
        if lower in _STAYING or lower.startswith("sec-"):
            return name, value
        if lower == "cookie":
            return name, _COOKIE_VALUE.sub(lambda m: m[1] + encoded(m[2].rstrip(), self.text), value)
        if lower in _ADDRESSES:
            return name, ", ".join(self.address(part.strip()) for part in value.split(","))
        if lower == "referer":
            return name, self.target(value)
        if lower in ("authorization", "proxy-authorization"):
            scheme, blank, credentials = value.partition(" ")
            if not blank:
                return name, self.text(value)
            if "=" in credentials.rstrip("="):
                return name, scheme + blank + _PARAMETER.sub(lambda m: m[1] + self.text(m[2]), credentials)
            return name, scheme + blank + self.text(credentials)
        return name, encoded(value, self.text)

    def body(self, body: bytes, kind: str) -> bytes:
        """Replace the values of a form or of JSON, the content of parts, or all bytes."""
        text = body.decode("latin-1")
        if kind.startswith("multipart/") and (boundary := _BOUNDARY.search(kind)):
            return self._parts(body, boundary[1].encode("latin-1", "replace"))
        if ("json" in kind or text.lstrip()[:1] in ("{", "[")) and _is_json(body):
            return self._json(body.decode())
        if "form-urlencoded" in kind or _FORM.fullmatch(text):
            return _FORM_VALUE.sub(lambda m: encoded(m[0], self.text), text).encode("latin-1")
        return self._bytes(body)

    def _bytes(self, body: bytes) -> bytes:
        return self.text(body.decode("latin-1")).encode("latin-1")

    def _json(self, text: str) -> bytes:
        """Replace strings and numbers; each keeps its length in bytes, unless it has escapes."""

        def changed(found: re.Match[str]) -> str:
            if found[3] is not None:
                return self._number(found[3])
            if found[2] is not None or not found[1]:
                return found[0]
            plain: str = json.loads(f'"{found[1]}"', strict=False)
            return f'"{self.text(latin(plain.encode("utf-8", "replace").decode()))}"'

        return _JSON_TOKEN.sub(changed, text).encode()

    def _number(self, text: str) -> str:
        return _DIGITS.sub(lambda m: self.text(m[0]), text, count=1)

    def _parts(self, body: bytes, boundary: bytes) -> bytes:
        """Replace the content of the parts of a form with files."""
        parts = body.split(b"--" + boundary)
        done = [parts[0]]
        for part in parts[1:]:
            head, blank, content = part.partition(b"\r\n\r\n")
            if not blank:
                done.append(part)
                continue
            head = _FILE_NAME.sub(lambda m: m[1] + self._bytes(m[2]) + m[3], head)
            end = b"\r\n" if content.endswith(b"\r\n") else b""
            content = content.removesuffix(end) if end else content
            done.append(head + blank + (self._bytes(content) if content else b"") + end)
        return (b"--" + boundary).join(done)


def encoded(text: str, change: Change) -> str:
    """Replace a percent-encoded text as if it were not encoded; encoded places stay encoded, and lengths stay."""
    if "%" not in text:
        return change(text)
    marks = [(chr(int(found[1], 16)) if found[1] else found[0], bool(found[1])) for found in _ESCAPED.finditer(text)]
    plain = change("".join(sign for sign, _ in marks))
    pairs = zip(plain, marks, strict=True)
    return "".join(f"%{ord(sign):02X}" if coded else sign for sign, (_, coded) in pairs)


def content_type(headers: str | None) -> str:
    """The Content-Type among headers, in lower case but for its parameters; empty where there is none."""
    value = next((value for name, value in header_pairs(headers) if name.lower() == "content-type"), "")
    kind, mark, rest = value.partition(";")
    return kind.strip().lower() + mark + rest


def _is_json(body: bytes) -> bool:
    try:
        found: Any = json.loads(body.decode())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict | list)
