"""Captures made to take long: one endless field, very many fields, deep nesting. The time is linear in the size."""

from collections.abc import Callable
from contextlib import suppress
from io import BytesIO

import pytest

from logreplay.parsers.captures.capture import CaptureFormat, row
from logreplay.parsers.captures.gor import GOR
from logreplay.parsers.captures.har import HAR
from logreplay.parsers.captures.mitmproxy_flows import MITMPROXY
from logreplay.parsers.captures.warc import WARC
from logreplay.parsers.fields.values import Rejected, Unreplayable
from support.captured_requests import warc
from support.linear_time import is_linear

MONKEYS = "\n🐵🙈🙉\n".encode()
MESSAGE = b"1 f45590522cd1838b4a0d5c5aab80b77929dea3b3 1731000000000000000 0\nPOST /a HTTP/1.1\r\n"


def har(headers: bytes = b"", more: bytes = b"") -> bytes:
    request = b'{"method":"GET","url":"http://h/a","headers":[%s]%s}' % (headers, more)
    entry = b'{"startedDateTime":"2026-11-20T18:58:56Z","time":1,"request":%s,"response":{"status":200}}' % request
    return b'{"log":{"entries":[%s]}}' % entry


def net(kind: bytes, *values: bytes) -> bytes:
    """A netstring of mitmproxy."""
    data = b"".join(values)
    return b"%d:%s%s" % (len(data), data, kind)


def flow(name: bytes, value: bytes) -> bytes:
    return net(b"}", net(b";", b"type"), net(b";", b"http"), net(b";", name), value)


def nested(size: int) -> bytes:
    value = net(b",", b"a" * size)
    for _ in range(45):
        value = net(b"]", value)
    return value


LARGE: dict[str, tuple[CaptureFormat, Callable[[int], bytes]]] = {
    "HAR, an endless value": (HAR, lambda n: har(more=b',"x":"%s"' % (b"a" * n))),
    "HAR, escapes": (HAR, lambda n: har(more=b',"x":"%s"' % (b"\\\\" * n))),
    "HAR, an escape without end": (HAR, lambda n: b'{"log":{"entries":[{"x":"' + b"\\" * n),
    "HAR, headers": (HAR, lambda n: har(b",".join([b'{"name":"cookie","value":"1"}'] * (n // 30)))),
    "HAR, nested": (HAR, lambda n: har(more=b',"x":' + b"[" * (n // 20) + b"]" * (n // 20))),
    "HAR, brackets that close nothing": (HAR, lambda n: har() + b"]" * (n // 10)),
    "HAR, entries that do not end": (HAR, lambda n: b'{"log":{"entries":[' + b'{"a":' * (n // 20)),
    "GoReplay, an endless header": (GOR, lambda n: MESSAGE + b"X: " + b"a" * n + b"\r\n\r\n" + MONKEYS),
    "GoReplay, headers": (GOR, lambda n: MESSAGE + b"X: 1\r\n" * (n // 20) + b"\r\n" + MONKEYS),
    "GoReplay, an endless request line": (GOR, lambda n: MESSAGE[:-2] + b" HTTP/1.1" * (n // 9)),
    "GoReplay, a chunk without end": (
        GOR,
        lambda n: MESSAGE + b"Transfer-Encoding: chunked\r\n\r\n1" + b" " * n + MONKEYS,
    ),
    "GoReplay, chunks": (
        GOR,
        lambda n: MESSAGE + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * (n // 20) + b"0\r\n\r\n" + MONKEYS,
    ),
    "mitmproxy, an endless value": (MITMPROXY, lambda n: flow(b"x", net(b",", b"a" * n))),
    "mitmproxy, an endless number": (MITMPROXY, lambda n: flow(b"version", net(b"#", b"1" * n))),
    "mitmproxy, values": (MITMPROXY, lambda n: flow(b"x", net(b"]", net(b"#", b"1") * (n // 20)))),
    "mitmproxy, nested": (MITMPROXY, lambda n: flow(b"x", nested(n))),
    "WARC, an endless header": (WARC, lambda n: warc() + b"WARC/1.0\r\nX: " + b"a" * n),
    "WARC, empty lines": (WARC, lambda n: warc() + b"\r\n" * (n // 10)),
}


@pytest.mark.parametrize("case", LARGE)
def test_the_time_of_a_hostile_capture_is_linear_in_its_size(case: str) -> None:
    format, made = LARGE[case]

    def read(data: bytes) -> None:
        for record in format.read(BytesIO(data), "x"):
            if record.capture:
                with suppress(Rejected, Unreplayable):
                    row(record.capture)

    files = {size: made(size) for size in (100_000, 2_000_000)}
    assert is_linear(lambda size: read(files[size]), 100_000)
