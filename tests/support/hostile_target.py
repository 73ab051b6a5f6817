"""A target that means harm: a table of the ways in which an HTTP/1.1 answer can go wrong, and what a row must say then.

The ways are those that the test suites of h11, llhttp and nginx name, and those that a client meets in the wild. What
aiohttp legitimately sees otherwise than the wire sender stands beside it, with the reason.
"""

import asyncio
import gzip
from dataclasses import dataclass
from typing import Final, NamedTuple

from support.raw_server import Answer, Exchange, ok, reset, response, sends, stall


class Seen(NamedTuple):
    """What the row of an exchange says."""

    error: str = ""
    rc: int = 200
    size: int = 0


@dataclass(frozen=True)
class Case:
    """One way of answering.

    Attributes:
        name: of the case; the path that is asked for.
        answer: what the server does.
        seen: what the row must say.
        op: method that is sent.
        greets: the server does it when the connection is made, before it is asked.
        late: seconds; the first byte comes no sooner.
        spread: seconds; the last byte comes no sooner after the first.
        late_part: the next request waits for the end of the connection. What comes late is told from the next answer
            only by coming while the connection rests: HTTP/1.1 has no other mark.
        aiohttp: what that sender sees instead, and `why`.
    """

    name: str
    answer: Answer
    seen: Seen
    op: str = "GET"
    greets: bool = False
    late: float = 0.0
    spread: float = 0.0
    late_part: bool = False
    aiohttp: Seen | None = None
    why: str = ""


NO_STATUS: Final = "its parser gives out a status only with a whole head"
LENIENT: Final = "its parser accepts it; nothing is lost by that"
ONE_PACKET: Final = "its parser takes a packet as a whole: what is wrong at the end of it voids the answer before"
MB: Final = 1 << 20
CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HINTS: Final = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
"""Sent by a server that gives up an idle connection, perhaps right behind an answer."""
UNTIL_CLOSE: Final = b"HTTP/1.1 200 OK\r\n\r\n"
BOMB: Final = gzip.compress(bytes(20 * MB))

PROTOCOL: Final = Seen("protocol", 200, 0)
UNREAD: Final = Seen("protocol", 0, 0)
HELLO: Final = Seen("", 200, 5)
"""The answer is as good as any."""


def head(*lines: str, status: str = "HTTP/1.1 200 OK") -> bytes:
    """A head with these lines."""
    return "\r\n".join((status, *lines)).encode("latin-1") + b"\r\n\r\n"


def sized(*lines: str, body: bytes = b"hello") -> bytes:
    """A whole answer with these lines in its head, after its length."""
    return head(f"Content-Length: {len(body)}", *lines) + body


def then(*steps: Answer) -> Answer:
    """One after the other."""

    async def answer(exchange: Exchange) -> bool:
        keep = True
        for step in steps:
            keep = await step(exchange)
        return keep

    return answer


def after(seconds: float) -> Answer:
    """Wait."""

    async def answer(exchange: Exchange) -> bool:
        await asyncio.sleep(seconds)
        return True

    return answer


def repeats(start: bytes, part: bytes, count: int = 0, pause: float = 0.0, end: bytes = b"") -> Answer:
    """Answer with a start, a part again and again (0: for ever), and an end."""

    async def answer(exchange: Exchange) -> bool:
        await exchange.send(start)
        sent = 0
        while not count or sent < count:
            sent += 1
            await exchange.send(part)
            await asyncio.sleep(pause)
        await exchange.send(end)
        return True

    return answer


def by_bytes(answer: bytes, pause: float) -> Answer:
    """A byte at a time."""

    async def send(exchange: Exchange) -> bool:
        for byte in answer:
            await exchange.send(bytes([byte]))
            await asyncio.sleep(pause)
        return True

    return send


async def half_closes(exchange: Exchange) -> bool:
    """Say that nothing more will come, and listen on."""
    exchange.half_close()
    return True


def line(name: str, text: bytes, rc: int, error: str = "protocol") -> Case:
    """A status line, before an answer that is otherwise good."""
    answer = sends(text + b"\r\nContent-Length: 5\r\n\r\nhello", keep=not error)
    seen = Seen(error, rc, 0 if error else 5)
    return Case(name, answer, seen, aiohttp=Seen(error, 0, 0) if error and rc else None, why=NO_STATUS)


def field(name: str, text: str, seen: Seen = PROTOCOL, *, aiohttp: Seen | None = None, why: str = "") -> Case:
    """A header line, in an answer that is otherwise good."""
    if seen == PROTOCOL and aiohttp is None:
        aiohttp, why = UNREAD, NO_STATUS
    return Case(name, sends(sized(text), keep=True), seen, aiohttp=aiohttp, why=why)


def length(name: str, lines: str, seen: Seen = PROTOCOL, *, aiohttp: Seen | None = None, why: str = "") -> Case:
    """A head that says how long the body is, and five bytes of it; then the connection is closed."""
    if seen == PROTOCOL and aiohttp is None:
        aiohttp, why = UNREAD, NO_STATUS
    return Case(name, sends(head(*lines.split("\r\n")) + b"hello"), seen, aiohttp=aiohttp, why=why)


def chunks(name: str, body: bytes, seen: Seen, *, keep: bool = True, voided: bool = False) -> Case:
    """A chunked body."""
    return Case(name, sends(CHUNKED + body, keep=keep), seen, aiohttp=UNREAD if voided else None, why=ONE_PACKET)


STATUS_LINES: Final = (
    Case("http09", sends(b"<html>hello</html>"), UNREAD),
    Case("garbage", sends(b"\x00\x01\x02 what is this\r\n\r\n"), UNREAD),
    Case("ssh-banner", sends(b"SSH-2.0-OpenSSH_9.6\r\n"), UNREAD),
    Case("smtp-banner", sends(b"220 mail.example ESMTP\r\n"), UNREAD),
    Case("tls-alert", sends(b"\x15\x03\x01\x00\x02\x02\x46"), UNREAD),
    Case("http2-settings", sends(b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"), UNREAD),
    Case("line-ends-only", repeats(b"", b"\r\n" * 1000), UNREAD),
    line("version-2", b"HTTP/2.0 200 OK", 200, error=""),
    line("version-12", b"HTTP/1.2 200 OK", 200),
    line("version-huge", b"HTTP/11111111111.1 200 OK", 0),
    line("lower-case", b"http/1.1 200 OK", 0),
    line("icy", b"ICY 200 OK", 0),
    line("no-version", b"200 OK", 0),
    line("status-word", b"HTTP/1.1 fine OK", 0),
    line("status-two-digits", b"HTTP/1.1 20 OK", 0),
    line("status-four-digits", b"HTTP/1.1 2000 OK", 0),
    line("status-signed", b"HTTP/1.1 -200 OK", 0),
    Case(
        "status-000",
        sends(sized().replace(b"200", b"000")),
        Seen("protocol", 0, 5),
        aiohttp=UNREAD,
        why="it is given up at its head",
    ),
    line("status-999", b"HTTP/1.1 999 ?", 999, error=""),
    line("no-reason", b"HTTP/1.1 200", 200, error=""),
    line("leading-line-end", b"\r\nHTTP/1.1 200 OK", 200, error=""),
    line("reason-of-bytes", b"HTTP/1.1 200 \xff\xfe\x80", 200, error=""),
    line("reason-nul", b"HTTP/1.1 200 O\x00K", 200, error=""),
    line("reason-cr-alone", b"HTTP/1.1 200 O\rK", 200),
)

HEADS: Final = (
    field("no-colon", "nonsense"),
    field("no-name", ": value"),
    field("name-blank", "X Y: value"),
    field("blank-before-colon", "X-Y : value"),
    field("name-of-bytes", "X-\xe4: value"),
    field("folded", "X-Y: a\r\n b", aiohttp=HELLO, why=LENIENT),
    field("value-of-bytes", "X-Y: \xff\x80", HELLO),
    field("value-empty", "X-Y:", HELLO),
    field("value-nul", "X-Y: a\x00b"),
    field("value-cr-alone", "X-Y: a\rb"),
    field("value-escape", "X-Y: \x1b[31m", aiohttp=HELLO, why=LENIENT),
    field("headers-10000", "\r\n".join(f"X-{n}: y" for n in range(10_000)), HELLO),
    field("header-900-kb", "X-Y: " + "y" * 900_000, HELLO),
    Case("line-feeds-alone", sends(b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", keep=True), PROTOCOL, aiohttp=HELLO,
         why=LENIENT),
    Case("no-headers", sends(UNTIL_CLOSE + b"hello"), HELLO),
    Case("header-endless", repeats(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536), PROTOCOL, aiohttp=UNREAD, why=NO_STATUS),
    Case(
        "headers-endless",
        repeats(b"HTTP/1.1 200 OK\r\n", b"X-More: x\r\n" * 6000),
        PROTOCOL,
        aiohttp=UNREAD,
        why=NO_STATUS,
    ),
    Case("head-by-bytes", by_bytes(response(), 0.001), HELLO, spread=0.02),
    Case("head-too-slow", then(sends(b"HTTP/1.1 200 OK\r\nX-Y: "), by_bytes(b"y" * 1000, 0.01)),
         Seen("timeout", 200, 0), spread=0.2, aiohttp=Seen("timeout", 0, 0), why=NO_STATUS),
    Case("head-stalls", then(sends(b"HTTP/1.1 200 OK\r\nX-"), stall), Seen("timeout", 200, 0), spread=0.2,
         aiohttp=Seen("timeout", 0, 0), why=NO_STATUS),
)  # fmt: skip

LENGTHS: Final = (
    length("length-negative", "Content-Length: -5"),
    length("length-signed", "Content-Length: +5"),
    length("length-hex", "Content-Length: 0x5"),
    length("length-word", "Content-Length: five"),
    length("length-empty", "Content-Length:"),
    length("length-fraction", "Content-Length: 5.0"),
    length("length-list", "Content-Length: 5, 5"),
    length("length-blank", "Content-Length: 5 5"),
    length("length-2-64", f"Content-Length: {1 << 64}"),
    length("length-endless", "Content-Length: " + "9" * 4000),
    length("length-2-62", f"Content-Length: {1 << 62}", Seen("short_body", 200, 5)),
    length("length-too-long", "Content-Length: 10", Seen("short_body", 200, 5)),
    length("lengths-differ", "Content-Length: 5\r\nContent-Length: 6"),
    length("lengths-agree", "Content-Length: 5\r\nContent-Length: 5"),
    length("length-and-chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked"),
    length("chunked-and-length", "Transfer-Encoding: chunked\r\nContent-Length: 5"),
    length("coding-unknown", "Transfer-Encoding: magic", HELLO),
    length("coding-almost", "Transfer-Encoding: xchunked", HELLO),
    length("coding-not-last", "Transfer-Encoding: chunked, gzip", HELLO),
    Case("length-too-short", sends(head("Content-Length: 3") + b"hello", keep=True), Seen("", 200, 3),
         aiohttp=UNREAD, why=ONE_PACKET),
    Case("length-short-later", sends(head("Content-Length: 3") + b"hel", b"lo", keep=True), Seen("", 200, 3),
         late_part=True),
    Case("204-with-length", sends(head("Content-Length: 5", status="HTTP/1.1 204 Empty"), keep=True), Seen("", 204, 0)),
    Case("204-with-body", sends(head("Content-Length: 5", status="HTTP/1.1 204 Empty") + b"hello", keep=True),
         Seen("", 204, 0),
         aiohttp=UNREAD, why=ONE_PACKET),
    Case("304-with-length", sends(head("Content-Length: 5", status="HTTP/1.1 304 Same"), keep=True), Seen("", 304, 0)),
    Case("304-with-body", sends(head("Content-Length: 5", status="HTTP/1.1 304 Same") + b"hello", keep=True),
         Seen("", 304, 0),
         aiohttp=UNREAD, why=ONE_PACKET),
    Case("head-with-length", sends(head("Content-Length: 5"), keep=True), Seen(), op="HEAD"),
    Case("head-with-body", sends(sized(), keep=True), Seen(), op="HEAD",
         aiohttp=UNREAD, why=ONE_PACKET),
    Case("head-chunked", sends(CHUNKED, keep=True), Seen(), op="HEAD"),
    Case("head-interim", sends(HINTS + head("Content-Length: 5"), keep=True), Seen(), op="HEAD"),
)  # fmt: skip

CHUNKS: Final = (
    chunks("chunks", b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", HELLO),
    chunks("chunk-extension", b'5;a=b;c="d;e"\r\nhello\r\n0;last\r\n\r\n', HELLO),
    chunks("chunk-extension-1-mb", b"5;a=" + b"b" * MB + b"\r\nhello\r\n0\r\n\r\n", HELLO),
    chunks("chunk-trailer", b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", HELLO),
    chunks("chunk-trailer-length", b"5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n", Seen("protocol", 200, 5),
           voided=True),
    chunks("chunk-leading-zeros", b"0000000005\r\nhello\r\n0\r\n\r\n", HELLO),
    chunks("chunks-of-a-byte", b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n", Seen("", 200, 50_000)),
    chunks("chunk-size-word", b"zz\r\nhello\r\n0\r\n\r\n", PROTOCOL, voided=True),
    chunks("chunk-size-empty", b"\r\nhello\r\n0\r\n\r\n", PROTOCOL, voided=True),
    chunks("chunk-size-negative", b"-5\r\nhello\r\n0\r\n\r\n", PROTOCOL, voided=True),
    chunks("chunk-size-0x", b"0x5\r\nhello\r\n0\r\n\r\n", PROTOCOL, voided=True),
    chunks("chunk-size-17-digits", b"1" + b"0" * 16 + b"\r\nhello", PROTOCOL, voided=True),
    chunks("chunk-size-huge", b"fffffffffffffff\r\nhello", Seen("short_body", 200, 5), keep=False),
    chunks("chunk-line-feed", b"5\nhello\n0\n\n", PROTOCOL, voided=True),
    chunks("chunk-too-long", b"3\r\nhello\r\n0\r\n\r\n", Seen("protocol", 200, 3), voided=True),
    chunks("chunk-unfinished", b"ff\r\nabc", Seen("short_body", 200, 3), keep=False),
    chunks("chunk-size-unfinished", b"5\r\nhello\r\n5", Seen("short_body", 200, 5), keep=False),
    chunks("chunks-without-end", b"5\r\nhello\r\n", Seen("short_body", 200, 5), keep=False),
    chunks("chunks-then-more", b"5\r\nhello\r\n0\r\n\r\nstray", HELLO, voided=True),
    Case("chunk-size-word-later", sends(CHUNKED + b"5\r\nhello\r\n", b"zz\r\n"), Seen("protocol", 200, 5)),
    Case("chunk-extension-endless", repeats(CHUNKED + b"5;", b"a" * 65536), PROTOCOL),
    Case("chunk-trailer-endless", repeats(CHUNKED + b"5\r\nhello\r\n0\r\n", b"X: " + b"x" * 65536 + b"\r\n"),
         Seen("protocol", 200, 5)),
    Case("chunk-trailers-endless", repeats(CHUNKED + b"5\r\nhello\r\n0\r\n", b"X: y\r\n" * 9000),
         Seen("protocol", 200, 5)),
    Case("chunk-size-endless", repeats(CHUNKED, b"0" * 65536), PROTOCOL),
    Case("chunks-endless", repeats(CHUNKED, b"1\r\nx\r\n" * 100, pause=0.01), Seen("timeout", 200, -1), spread=0.2),
)  # fmt: skip

INTERIM: Final = (
    Case("interim", sends(HINTS, b"HTTP/1.1 100 Continue\r\n\r\n" + response(), keep=True), HELLO),
    Case("interim-late", then(sends(HINTS), after(0.05), sends(response(), keep=True)), HELLO, late=0.045),
    Case(
        "interim-with-length",
        sends(head("Content-Length: 5", status="HTTP/1.1 102 x") + response(), keep=True),
        HELLO,
    ),
    Case("interim-only", sends(HINTS), Seen("closed", 0, 0)),
    Case("interim-and-half", sends(HINTS + b"HTTP/1.1 200 OK\r\nX-A"), Seen("closed", 200, 0),
         aiohttp=Seen("closed", 0, 0), why=NO_STATUS),
    Case("interim-until-close", sends(HINTS + UNTIL_CLOSE + b"hel", b"lo"), HELLO),
    Case("interim-flood", sends(HINTS * 10_000 + response(), keep=True), HELLO),
    Case("interim-endless", repeats(b"", HINTS * 500), UNREAD),
    Case("interim-slow", repeats(b"", HINTS, pause=0.01), Seen("timeout", 0, 0)),
    Case("interim-header-endless", repeats(b"HTTP/1.1 103 x\r\nX: ", b"x" * 65536), UNREAD),
    Case("upgrade", sends(head("Upgrade: x", "Connection: upgrade", status="HTTP/1.1 101 Switching")),
         Seen("protocol", 101, 0)),
    Case("upgrade-then-answer", sends(head("Upgrade: x", "Connection: upgrade", status="HTTP/1.1 101 Go") + response()),
         Seen("protocol", 101, 0)),
    Case("upgrade-without-protocol", sends(head(status="HTTP/1.1 101 Switching")), Seen("protocol", 101, 0)),
    Case("upgrade-in-200", sends(sized("Upgrade: h2c"), keep=True), HELLO),
)  # fmt: skip

ORDER: Final = (
    Case("answer-before-request", sends(response()), HELLO, greets=True),
    Case("408-before-request", sends(response(b"", "408 Timeout", "Connection: close")), Seen("", 408, 0), greets=True),
    Case("two-answers", sends(response(b"one") + response(b"stray answer"), keep=True), Seen("", 200, 3)),
    Case(
        "two-answers-apart",
        sends(response(b"one"), response(b"stray answer"), keep=True),
        Seen("", 200, 3),
        late_part=True,
    ),
    Case("answer-and-408", sends(response() + LATE, keep=True), HELLO),
    Case("answer-and-408-in-pieces", sends(response()[:30], response()[30:] + LATE, keep=True), HELLO),
    Case("answer-and-half-a-408", sends(response() + LATE[:17], keep=True), HELLO),
    Case("answer-and-a-byte", sends(response() + b"H", keep=True), HELLO),
    Case("answer-and-interim", sends(response() + HINTS, keep=True), HELLO),
    Case("answer-and-line-ends", sends(response() + b"\r\n\r\n", keep=True), HELLO),
    Case("interim-answer-and-408", sends(HINTS + response() + LATE, keep=True), HELLO),
    Case("chunks-and-408", sends(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n" + LATE, keep=True), HELLO),
    Case("204-and-408", sends(head(status="HTTP/1.1 204 Empty") + LATE, keep=True), Seen("", 204, 0)),
    Case("404-and-200", sends(response(b"no", "404 Not Found") + response(), keep=True), Seen("", 404, 2)),
    Case("head-and-408", sends(head("Content-Length: 0") + LATE, keep=True), Seen(), op="HEAD"),
    Case("head-without-length-and-408", sends(head() + LATE, keep=True), Seen(), op="HEAD"),
    Case("head-with-length-and-408", sends(head("Content-Length: 5") + LATE, keep=True), Seen(), op="HEAD"),
    Case("answer-and-rubbish", sends(response() + b"\x00" * 1000, keep=True), HELLO, aiohttp=UNREAD, why=ONE_PACKET),
    Case("answer-and-flood", repeats(response(), b"x" * 65536, count=100), HELLO),
)

ENDS: Final = (
    Case("closed", sends(), Seen("closed", 0, 0)),
    Case("closed-at-once", sends(), Seen("closed", 0, 0), greets=True),
    Case("reset", reset, Seen("reset", 0, 0)),
    Case("reset-at-once", reset, Seen("reset", 0, 0), greets=True),
    Case("stalls", stall, Seen("timeout", 0, 0)),
    Case("stalls-in-body", then(sends(head("Content-Length: 9") + b"hello"), stall), Seen("timeout", 200, 5),
         spread=0.2),
    Case("half-closed", then(half_closes, after(0.2)), Seen("closed", 0, 0)),
    Case("half-closed-in-body", then(sends(head("Content-Length: 9") + b"hello"), half_closes, after(0.2)),
         Seen("short_body", 200, 5)),
    Case("half-closed-after-answer", then(sends(response()), half_closes), HELLO),
    Case("half-closed-ends-body", then(sends(UNTIL_CLOSE + b"hello"), half_closes), HELLO),
    Case("closed-though-kept", sends(response(b"hello", "200 OK", "Connection: keep-alive")), HELLO),
    Case("says-close-and-stays", then(sends(response(b"hello", "200 OK", "Connection: close")), after(0.2)), HELLO),
    Case("http10", sends(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", keep=True), HELLO),
)  # fmt: skip

BODIES: Final = (
    Case("late", then(after(0.05), ok), HELLO, late=0.045),
    Case("body-in-parts", then(sends(head("Content-Length: 5") + b"he"), after(0.05), sends(b"llo", keep=True)), HELLO,
         spread=0.045),
    Case("body-too-slow", then(sends(head("Content-Length: 100")), by_bytes(b"x" * 100, 0.01)),
         Seen("timeout", 200, -1), spread=0.1),
    Case("body-endless", repeats(UNTIL_CLOSE, b"x" * 65536), Seen("timeout", 200, -1), spread=0.2),
    Case("body-of-32-mb", sends(sized(body=b"x" * 32 * MB), keep=True), Seen("", 200, 32 * MB)),
    Case("gzip-bomb", sends(sized("Content-Encoding: gzip", body=BOMB), keep=True), Seen("", 200, len(BOMB))),
    Case("gzip-unasked", sends(sized("Content-Encoding: gzip"), keep=True), HELLO),
    Case("gzip-in-transfer", sends(head("Transfer-Encoding: gzip, chunked") + b"5\r\nhello\r\n0\r\n\r\n", keep=True),
         HELLO),
    Case("redirect", sends(response(b"", "302 Found", "Location: http://127.0.0.1:1/elsewhere"), keep=True),
         Seen("", 302, 0)),
    Case("cookie", sends(sized("Set-Cookie: a=b"), keep=True), HELLO),
    Case("404", sends(response(b"no", "404 Not Found"), keep=True), Seen("", 404, 2)),
    Case("500", sends(response(b"", "500 Internal Server Error"), keep=True), Seen("", 500, 0)),
)  # fmt: skip

CASES: Final = (*STATUS_LINES, *HEADS, *LENGTHS, *CHUNKS, *INTERIM, *ORDER, *ENDS, *BODIES)
ENDLESS: Final = tuple(case for case in CASES if "endless" in case.name and case.name != "length-endless")
