"""Parses one text of a log line: escapes, request lines, targets, addresses, durations, counts.

The careful path: exact rules on single values, for the lines that the block-wise fast path rejects. Texts hold one
character per byte of the log (Latin-1), so that no byte is lost before the encoding is known.
"""

import re
from dataclasses import dataclass
from typing import Final

CLEAN: Final = r"[!#-\[\]-~]"
"""Characters that pass unchanged into ``url``: printable ASCII but blank, quote, backslash (Rust, Python regex)."""

LONGEST_S: Final = 1e9
"""Upper bound of durations, seconds (some 30 years); longer ones are damage."""

MOST_BYTES: Final = 10**18
"""Upper bound of byte counts; larger ones are damage."""

_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_NAMED: Final = {"b": "\b", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "\\": "\\"}
_METHOD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PROTOCOL: Final = re.compile(r"(?<! ) +(HTTP/[0-9](?:\.[0-9])?|HTTP)$")
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")
_UNSAFE: Final = re.compile(r"[^!#-~]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ADDRESS: Final = re.compile(r"[0-9A-Fa-f]*+[:.][0-9A-Fa-f:.]*+")
_SPELLED: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_WITH_UNIT: Final = re.compile(r"(?<![0-9.])([0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(ns|us|µs|\xc2\xb5s|ms|s|m|h)")
_ABSENT: Final = ("", "-", "-1", "-1.000")
_LIST: Final = re.compile(r"[\s,:/]+")


class Unreplayable(Exception):
    """A valid log line whose request cannot be sent again; the text is the reason."""


class Rejected(Exception):
    """A line that cannot be parsed; the text is the reason."""


@dataclass(frozen=True, slots=True)
class RequestLine:
    """The parts of a request line.

    Attributes:
        op: the method.
        url: path and query, printable ASCII.
        protocol: ``HTTP/1.1``; empty for HTTP/0.9.
        host: host name of an absolute URI; empty otherwise.
    """

    op: str
    url: str
    protocol: str
    host: str


def unescape(text: str) -> str:
    """Undo the escapes of nginx (``\\xHH``) and Apache (also ``\\"``, ``\\\\``, ``\\n``, …) in logs.

    One rule serves both: in nginx a backslash is always written ``\\x5C``, so its logs hold none of Apache's
    other escapes. An escape that neither writes stays unchanged.

    Source: ngx_http_log_module.c (escape=default), httpd util.c (ap_escape_logitem).
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _NAMED.get(m[2], m[0]), text)


def request(line: str) -> RequestLine:
    """Take a decoded request line apart."""
    if not line.strip(" -\t\r\n"):
        raise Unreplayable("no request")
    body = line.strip(" \t\r\n")
    protocol = ""
    if match := _PROTOCOL.search(body):
        protocol, body = match[1], body[: match.start()]
    op, blank, target = body.partition(" ")
    if not _METHOD.fullmatch(op):
        raise Unreplayable("not HTTP: binary" if _UNSAFE.search(line.replace(" ", "")) else "not HTTP: no method")
    if not blank:
        raise Unreplayable("not HTTP: one word")
    return parts(op, target, protocol)


def parts(op: str, target: str, protocol: str = "", *, rooted: bool = False) -> RequestLine:
    """Bring the method and target of a request to the form of the normalized record."""
    target = target.strip(" ")
    if rooted and target and target[0] != "/" and not _ABSOLUTE.match(target):
        target = "/" + target
    if op in ("", "-") or target in ("", "-"):
        raise Unreplayable("no request")
    if not _METHOD.fullmatch(op):
        raise Unreplayable("not HTTP: no method")
    if op == "CONNECT":
        raise Unreplayable("CONNECT")
    if op == "PRI" and target == "*":
        raise Unreplayable("preface of HTTP/2")
    host = ""
    if match := _ABSOLUTE.match(target):
        host = quote(match[1].rpartition("@")[2])
        target = target[match.end() :].partition("#")[0]
        if not target.startswith("/"):
            target = "/" + target
    if target != "*" and not target.startswith("/"):
        raise Unreplayable("target is not a path")
    return RequestLine(op, quote(target), "" if protocol == "-" else protocol, host)


def quote(target: str) -> str:
    """Percent-encode the bytes that may not stand in a request line; every other byte stays unchanged."""
    return _UNSAFE.sub(lambda m: "".join(f"%{byte:02X}" for byte in to_bytes(m[0])), target)


def to_bytes(text: str) -> bytes:
    """The bytes of a text: one for each character, UTF-8 for characters above them (from JSON escapes)."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return b"".join(c.encode("latin-1") if c <= "\xff" else c.encode("utf-8", "replace") for c in text)


def free_text(text: str) -> str:
    """A decoded header value for a text file: UTF-8 where possible, without control characters."""
    text = text.strip(" ")
    if text == "-":
        return ""
    decoded = to_bytes(text).decode("utf-8", "backslashreplace") if not text.isascii() else text
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02X}", decoded)


def raw_bytes(text: str) -> str:
    """A decoded body with one character a byte; empty where there is none."""
    return "" if text == "-" else to_bytes(text).decode("latin-1")


def address(text: str) -> str:
    """The client's address: the first of an X-Forwarded-For list, without quotes, brackets and port."""
    words = [word for word in re.split(r'[\s,"]+', free_text(text)) if word not in ("", "-", "unknown")]
    if not words:
        return ""
    first = next((word for word in words if _ADDRESS.fullmatch(word.strip("[]"))), words[0])
    if first.startswith("["):
        first = first[1:].partition("]")[0]
    elif first.count(":") == 1:
        first = first.partition(":")[0]
    return "" if first in ("-", "unknown") else first


def seconds(text: str, unit: float | None) -> float | None:
    """Read a duration; of a list (``0.001, 0.041 : -``: retries and internal redirects) the sum.

    ``unit`` is in seconds, None where the text says it (``25ms``). None where there is none (``-``, empty, -1).
    """
    found = [value for part in _LIST.split(text.strip()) if (value := _one_duration(part, unit)) is not None]
    return _checked(sum(found)) if found else None


def first_byte(text: str, unit: float | None) -> float | None:
    """Read the time until the first byte: as `seconds`, but None also where the last part of a list is absent.

    The earlier parts then ended (HAProxy's queue and connection, an upstream tried before), and no response began.
    """
    return None if _LIST.split(text.strip())[-1] in _ABSENT else seconds(text, unit)


def _one_duration(text: str, unit: float | None) -> float | None:
    if text in _ABSENT:
        return None
    try:
        if unit is not None:
            value = float(text.removeprefix("+")) * unit
        else:
            pieces = _WITH_UNIT.findall(text)
            if "".join(number + name for number, name in pieces) != text:
                raise ValueError
            value = sum(float(number) * _SPELLED.get(name, 1e-6) for number, name in pieces)
    except ValueError:
        raise Rejected("duration") from None
    return _checked(value)


def _checked(duration: float) -> float:
    if not 0 <= duration < LONGEST_S:
        raise Rejected("duration")
    return duration


def count(text: str) -> int:
    """Read a number of bytes; ``-``, empty and negative: 0."""
    if text in ("", "-") or text.startswith("-"):
        return 0
    try:
        value = int(text.removeprefix("+")) if text.isascii() else -1
    except ValueError:
        raise Rejected("bytes") from None
    if not 0 <= value < MOST_BYTES:
        raise Rejected("bytes")
    return value


def status(text: str) -> int:
    """Read a status; of a list (nginx: one of each upstream) the last. ``-`` and -1: 0, no status line was sent."""
    last = _LIST.split(text.strip())[-1]
    if last in ("", "-", "-1"):
        return 0
    if not (last.isascii() and last.isdigit() and len(last) <= 3):
        raise Rejected("status")
    return int(last)
