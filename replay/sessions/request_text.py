"""Reads and changes one rendered HTTP/1.1 request: headers, query parameters, fields of its body.

Requests are rendered by `logreplay.replay.senders.encode`: one blank after the method, ``\\r\\n`` after each line.
Whatever is added is checked or encoded here, so that no value ends a line, a head or a field.
"""

import json
import re
from typing import Final
from urllib.parse import quote, quote_plus, unquote_to_bytes

_FORM: Final = b"application/x-www-form-urlencoded"
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[^\r]*", re.IGNORECASE)
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_TEXTS: Final = json.JSONDecoder(parse_float=str, parse_int=str)
"""Leaves numbers unchanged: some are larger than Python converts."""
_BARE: Final = (re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"), re.compile("true|false"))
"""Numbers and booleans in JSON."""
BODY_METHODS: Final = frozenset({b"POST", b"PUT", b"PATCH"})


def method_of(request: bytes) -> bytes:
    return request[: request.index(b" ")]


def target_of(request: bytes) -> bytes:
    start = request.index(b" ") + 1
    return request[start : request.index(b" ", start)]


def header_of(request: bytes, name: bytes) -> bytes | None:
    """The first value of a header, named in lower case; None if the request has none of this name."""
    head = request[: request.index(b"\r\n\r\n") + 2]
    key = b"\r\n" + name + b":"
    at = head.lower().find(key)
    if at < 0:
        return None
    start = at + len(key)
    return head[start : head.index(b"\r\n", start)].strip()


def with_header(request: bytes, name: bytes, value: bytes) -> bytes:
    """The request with one more header; the value has no control bytes."""
    end = request.index(b"\r\n\r\n") + 2
    return b"".join((request[:end], name, b": ", value, b"\r\n", request[end:]))


def with_parameter(request: bytes, name: str, value: str) -> bytes:
    """The request with another value for a query parameter that it has; unchanged if it has none of this name."""
    target = target_of(request)
    path, mark, query = target.partition(b"?")
    if not mark:
        return request
    changed = _with_field(query, name, quote(value, safe="").encode())
    if changed is None:
        return request
    start = request.index(b" ") + 1
    return b"".join((request[:start], path, b"?", changed, request[start + len(target) :]))


def _with_field(fields: bytes, name: str, value: bytes) -> bytes | None:
    """``a=1&b=2`` with another value of a field; None if there is none."""
    wanted, found = name.encode(), False
    parts = fields.split(b"&")
    for index, part in enumerate(parts):
        key = part.partition(b"=")[0]
        if unquote_to_bytes(key.replace(b"+", b" ")) == wanted:
            parts[index], found = key + b"=" + value, True
    return b"&".join(parts) if found else None


def with_body_field(request: bytes, name: str, value: str) -> bytes:
    """The request with a field of its form or of its JSON object set; unchanged if the body is neither, or compressed.

    A request without a body gets a form. Only methods of `BODY_METHODS` are changed. In JSON a number that replaces a
    number stays one, and so does a boolean; any other value is a text.
    """
    if method_of(request) not in BODY_METHODS:
        return request
    end = request.index(b"\r\n\r\n") + 4
    body, kind = request[end:], (header_of(request, b"content-type") or b"").lower()
    changed: bytes | None
    if (header_of(request, b"content-encoding") or b"identity").lower() != b"identity":
        changed = None
    elif b"json" in kind or (not kind and body[:1] == b"{"):
        changed = _with_key(body, name, value)
    elif not body or kind.startswith(_FORM) or not kind:
        changed = _with_form_field(body, name, value)
    else:
        changed = None
    if changed is None:
        return request
    length = b"\r\nContent-Length: " + str(len(changed)).encode()
    head, count = _LENGTH.subn(length, request[: end - 2], count=1)
    if not count:
        head += length[2:] + b"\r\n"
    if not body and not kind:
        head += b"Content-Type: " + _FORM + b"\r\n"
    return head + b"\r\n" + changed


def _with_form_field(body: bytes, name: str, value: str) -> bytes:
    coded = quote_plus(value).encode()
    changed = _with_field(body, name, coded) if body else None
    if changed is not None:
        return changed
    field = quote_plus(name).encode() + b"=" + coded
    return body + b"&" + field if body else field


def _with_key(body: bytes, name: str, value: str) -> bytes | None:
    """A JSON object with another value of a key, all other bytes unchanged; None if it is not a JSON object."""
    try:
        text = (body or b"{}").decode()
        spans, end = _spans(text, name)
    except (ValueError, IndexError, RecursionError):
        return None
    coded = json.dumps(value)
    if not spans:
        comma = "" if text[end - 1] == "{" else ","
        return f"{text[:end]}{comma}{json.dumps(name)}:{coded}{text[end:]}".encode()
    for start, stop in reversed(spans):
        bare = any(kind.fullmatch(value) and kind.fullmatch(text, start, stop) for kind in _BARE)
        text = f"{text[:start]}{value if bare else coded}{text[stop:]}"
    return text.encode()


def _spans(text: str, name: str) -> tuple[list[tuple[int, int]], int]:
    """Where the values of a key are in a JSON object, and where its last value ends, or its brace if it has none."""
    at = end = _past(text, _past(text, 0, "\ufeff"), "{", needed=True)
    spans, more = [], text[_past(text, at)] != "}"
    while more:
        key, at = _TEXTS.raw_decode(text, _past(text, at, '"', needed=True) - 1)
        start = _past(text, _past(text, at, ":", needed=True))
        _, end = _TEXTS.raw_decode(text, start)
        if key == name:
            spans.append((start, end))
        at = _past(text, end, ",")
        more = text[at - 1] == ","
    if _past(text, _past(text, at, "}", needed=True)) < len(text):
        raise ValueError("something follows the object")
    return spans, end


def _past(text: str, at: int, mark: str = "", *, needed: bool = False) -> int:
    """The place behind blanks and a mark; behind the blanks only, if the mark is not there."""
    found = _BLANKS.match(text, at)
    assert found, "it matches everywhere"
    at = found.end()
    if text.startswith(mark, at):
        return at + len(mark)
    if needed:
        raise ValueError(f"expected {mark} at {at}")
    return at
