"""Vegeta's targets as JSON, one a line: ``{"method":"POST","url":"http://…","body":"base64","header":{"K":["v"]}}``.

Source: https://github.com/tsenart/vegeta (README, JSON format; lib/target.schema.json)
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final

from logreplay.parsers.captures.capture import Capture, CaptureFormat, Record, base64_bytes, text_at, url_parts
from logreplay.parsers.captures.export import url_of
from logreplay.parsers.captures.json_stream import records

_KEYS: Final = frozenset({"method", "url", "body", "header"})
_URL: Final = re.compile(rb'"url"\s*:\s*"(?:https?:)?/')


def _read(file: BinaryIO, name: str) -> Iterator[Record]:
    return records(file, _capture)


def _capture(data: bytes) -> Capture:
    target: Mapping[str, Any] = json.loads(data)
    url = text_at(target, "url")
    scheme, host = url_parts(url)
    body = target.get("body")
    return Capture(
        text_at(target, "method"),
        url,
        headers=[(name, str(value)) for name, values in (target.get("header") or {}).items() for value in values],
        body=base64_bytes(body) if body else None,
        scheme=scheme,
        host=host,
    )


def _fits(head: bytes) -> bool:
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    if not (line.startswith(b"{") and _URL.search(line)):
        return False
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # of a long body the beginning
        keys = set(re.findall(rb'(?:\{|,)\s*"([a-z]+)"\s*:', line[:4096].partition(b'"header"')[0]))
        return bool(keys) and {key.decode() for key in keys} <= _KEYS
    return isinstance(found, dict) and {"method", "url"} <= found.keys() <= _KEYS


VEGETA: Final = CaptureFormat("vegeta", _fits, _read, "targets")


def write_vegeta(requests: Iterable[Capture], out: BinaryIO) -> None:
    """Write requests as targets."""
    for one in requests:
        header: dict[str, list[str]] = {}
        for name, value in one.headers:
            header.setdefault(name, []).append(value)
        target: dict[str, Any] = {"method": one.op, "url": url_of(one)}
        if one.body is not None:
            target["body"] = b64encode(one.body).decode()
        if header:
            target["header"] = header
        out.write(json.dumps(target).encode() + b"\n")
