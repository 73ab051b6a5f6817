"""Cookies and values of hostile answers: no header is injected, no cookie leaves its host, memory is bounded."""

import re
from typing import Final

from hpack import Decoder

from logreplay.replay.senders.http2.render import rendered_anew
from logreplay.replay.sessions.client_sessions import ClientSessions, SessionCounts, SessionPlan
from logreplay.replay.sessions.cookies import MOST_BYTES, MOST_COOKIES
from logreplay.replay.sessions.extraction import LONGEST_VALUE, Extraction
from logreplay.replay.sessions.insertion import Insertion

_PLAN: Final = SessionPlan(
    cookies=True,
    extract=[Extraction.parse(f"v=json:{path}") for path in ("$.a", "$.a[0].b")]
    + [Extraction("v", "header", "X-Token"), Extraction("v", "header", "Location")],
    use=[Insertion.parse(f"v={place}") for place in ("header:X-V", "header:X-W: Bearer {}", "param:p", "body:f")],
)
_REQUESTS: Final = tuple(
    f"{line} HTTP/1.1\r\nContent-Length: {len(body)}\r\nHost: {host}\r\n\r\n{body}".encode()
    for line, body in (("GET /a/b?p=1&q", ""), ("POST /a", ""), ("POST /?p", "f=1"), ("PUT /a", '{"f":1}'))
    for host in ("shop.test", "www.shop.test:80", "other.test", "[::1]:8080")
)
_ADDED: Final = re.compile(rb"(?:Content-Length|Host|Cookie|X-V|X-W|Content-Type): [^\r\n\x00]*")


def seeds() -> list[bytes]:
    """Answers: a byte that says for which request, header lines, an empty line, a body."""
    answers = (
        b"Set-Cookie: a=b; Path=/; Domain=shop.test; Max-Age=60; Secure; HttpOnly\n\n{}",
        b"set-cookie: __Host-a=b; Path=/; Secure\nSet-Cookie: a=b; Expires=Sun, 15 Jun 2025 15:07:40 GMT\n\n",
        b"Set-Cookie: a=b\r\nX: y\n\n",
        b"X-Token: abc\nLocation: /x?\r\nCookie: evil\n\n",
        b'X: y\n\n{"a": "x\\r\\nY: z", "b": 1}',
        b'X: y\n\n{"a": [{"b": "\\ud800"}]}',
        b"X: y\n\n" + b"[" * 2000,
        b"Set-Cookie: " + b"x" * 5000 + b"\n\n",
    )
    return [bytes((place,)) + answer for answer in answers for place in (0, 5, 10, 15)]


def one_input(data: bytes) -> None:
    """See `seeds`; the same answer is given to two clients, for requests to several hosts."""
    if len(data) < 2:
        return
    head, _, body = data[1:].partition(b"\n\n")
    pairs = [(name, value.strip(b" ")) for name, _, value in (line.partition(b":") for line in head.split(b"\n"))]
    sessions = ClientSessions(_PLAN, SessionCounts(), secure=True, clock=lambda: 0, now=lambda: 1.75e9)
    asked = _REQUESTS[data[0] % len(_REQUESTS)]
    for client in ("a", "b"):
        sessions.answered(client, asked, pairs, body)
    for client, session in list(sessions.kept.items()):
        assert len(session.jar) <= MOST_COOKIES
        assert session.jar.size <= MOST_BYTES
        assert all(len(value) <= LONGEST_VALUE for value in session.values.values())
        for request in _REQUESTS:
            _check(sessions.dress(client, request), request, asked)
    assert all(sessions.dress("c", request) is request for request in _REQUESTS)


def _check(dressed: bytes, request: bytes, asked: bytes) -> None:
    head, _, body = dressed.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    assert re.fullmatch(rb"(GET|POST|PUT) /[\x21-\x7e]* HTTP/1\.1", line)
    assert len(headers) <= 6
    names = [header.partition(b":")[0] for header in headers]
    assert len(set(names)) == len(names)
    assert all(_ADDED.fullmatch(header) for header in headers)
    assert f"Content-Length: {len(body)}".encode() in headers
    frame = rendered_anew(dressed, "http")
    fields = list(Decoder(1 << 20).decode(frame[9 : len(frame) - len(body)], raw=True))
    assert len(fields) <= len(headers) + 3
    assert not any(re.search(rb"[\x00\r\n]", name + value) for name, value in fields)
    if (b"shop.test" in request) != (b"shop.test" in asked) or (b"other" in request) != (b"other" in asked):
        assert b"Cookie" not in names
