"""HAR, as browsers and proxies export it.

Source: http://www.softwareishard.com/blog/har-12-spec/
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

from logreplay.core.quantities import iso
from logreplay.parsers.captures.capture import (
    Capture,
    CaptureFormat,
    Record,
    base64_bytes,
    instant,
    text_at,
    url_parts,
    value_of,
)
from logreplay.parsers.captures.export import only_text, url_of
from logreplay.parsers.captures.json_stream import records
from logreplay.parsers.fields.values import Rejected, Unreplayable

_FITS: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{')
_FORM: Final = "application/x-www-form-urlencoded"
_NUMBER: Final = re.compile("[0-9]{1,18}")
_WITH_BODY: Final = ("POST", "PUT", "PATCH")


def _read(file: BinaryIO, name: str) -> Iterator[Record]:
    client = Path(name).name.partition(".")[0]
    return records(file, partial(_capture, client), "entries")


def _capture(client: str, data: bytes) -> Capture:
    entry: Mapping[str, Any] = json.loads(data.decode("utf-8", "surrogateescape"))
    request, response = entry["request"], entry.get("response") or {}
    url = text_at(request, "url")
    scheme, host = url_parts(url)
    if entry.get("_fromCache") or (scheme in ("http", "https") and _is_cached(entry)):
        raise Unreplayable("answered by the browser's cache, never sent")
    headers = [(str(header["name"]), str(header["value"])) for header in request.get("headers") or ()]
    waited, received = _times(entry)
    return Capture(
        text_at(request, "method"),
        url,
        instant(text_at(entry, "startedDateTime")),
        headers,
        _body(request, headers),
        scheme,
        host,
        _address(client, headers),
        str(request.get("httpVersion") or "").upper(),
        max(int(response.get("status") or 0), 0),
        max(int((response.get("content") or {}).get("size") or 0), 0),
        waited,
        received,
    )


def _is_cached(entry: Mapping[str, Any]) -> bool:
    """Whether Firefox took an answer from its cache: then it has no times of a transfer."""
    timings = entry.get("timings") or {}
    return (entry.get("response") or {}).get("_transferSize") == 0 and not any(timings.get(k) for k in ("send", "wait"))


def _times(entry: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds until the first byte, and those of the transfer; the whole time and 0 where nothing else is known."""
    timings = entry.get("timings") or {}
    known = {name: max(float(value or 0), 0.0) / 1000 for name, value in timings.items() if _is_number(value)}
    waited = sum(known.get(part, 0.0) for part in ("send", "wait"))
    if waited or known.get("receive"):
        return waited, known.get("receive", 0.0)
    return max(float(entry.get("time") or 0), 0.0) / 1000, 0.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _address(client: str, headers: Iterable[tuple[str, str]]) -> str:
    """A HAR holds one browser: its client is the name of the file, unless a header names another."""
    return "" if any(name.lower() in ("x-forwarded-for", "x-real-ip") for name, _ in headers) else client


def _body(request: Mapping[str, Any], headers: Iterable[tuple[str, str]]) -> bytes | None:
    post = request.get("postData")
    length = _length(headers)
    if not post:
        if length or (request.get("method") in _WITH_BODY and int(request.get("bodySize") or 0) > 0):
            raise Rejected("the body is not in the file")
        return None
    text = post.get("text")
    if text is not None and (text or not post.get("params")):
        if post.get("encoding", post.get("_encoding")) == "base64":
            return base64_bytes(text)
        if length is not None:
            return _bytes_of(str(text), length)
        return _bytes_of(str(text), int(request.get("bodySize") or -1), surely=False)
    kind = str(post.get("mimeType") or _FORM).partition(";")[0].strip().lower()
    if kind != _FORM:
        raise Rejected("the body is in parts instead of as it was sent")
    return urlencode([(str(each["name"]), str(each.get("value", ""))) for each in post["params"]]).encode()


def _length(headers: Iterable[tuple[str, str]]) -> int | None:
    """What Content-Length says; None if nothing does."""
    found = value_of(headers, "content-length")
    return int(found) if _NUMBER.fullmatch(found) else None


def _bytes_of(text: str, size: int, *, surely: bool = True) -> bytes:
    """The bytes of a text; their number tells UTF-8 from Latin-1, in which Chromium and mitmproxy write binary bodies.

    Args:
        text: text of the body.
        size: bytes that were sent; below 0: unknown.
        surely: ``size`` is Content-Length. Chromium's ``bodySize`` is the length of the text in UTF-8, whatever was
            sent.

    Raises:
        Rejected: bytes were lost, or are not those that were sent: Chromium replaces bytes of files in multipart forms,
            leaves out fields that are not UTF-8, and decompresses.
    """
    data = text.encode("utf-8", "surrogateescape")
    if size < 0 or len(data) == size:
        return data
    if len(text) == size and max(text) <= "\xff":
        return text.encode("latin-1")
    if surely or "\ufffd" in text:
        raise Rejected("the body was not kept byte for byte")
    return data


HAR: Final = CaptureFormat("har", lambda head: bool(_FITS.match(head)), _read, "entries")


def write_har(requests: Iterable[Capture], out: BinaryIO) -> None:
    """Write requests as a HAR."""
    creator = {"name": "logreplay", "version": "1"}
    out.write(b'{"log":{"version":"1.2","creator":' + json.dumps(creator).encode() + b',"entries":[')
    for number, request in enumerate(requests):
        out.write((b",\n" if number else b"\n") + json.dumps(_entry(request)).encode())
    out.write(b"\n]}}\n")


def _entry(one: Capture) -> dict[str, Any]:
    headers = [{"name": name, "value": value} for name, value in one.headers]
    post: dict[str, Any] = {}
    if one.body is not None:
        text = only_text(one.body)
        coded = {"text": b64encode(one.body).decode(), "encoding": "base64"} if text is None else {"text": text}
        post = {"postData": {"mimeType": value_of(one.headers, "content-type"), **coded}}
    return {
        "startedDateTime": iso(one.start),
        "time": round((one.latency + one.xfertime) * 1000, 3),
        "request": {
            "method": one.op,
            "url": url_of(one),
            "httpVersion": one.protocol or "HTTP/1.1",
            "cookies": [],
            "headers": headers,
            "queryString": [],
            "headersSize": -1,
            "bodySize": len(one.body or b""),
            **post,
        },
        "response": {
            "status": one.rc,
            "statusText": "",
            "httpVersion": one.protocol or "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "content": {"size": one.size, "mimeType": ""},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": one.size,
        },
        "cache": {},
        "timings": {"send": 0, "wait": round(one.latency * 1000, 3), "receive": round(one.xfertime * 1000, 3)},
    }
