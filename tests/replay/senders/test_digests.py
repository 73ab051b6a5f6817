"""Digests of answers, by every sender and in every coding."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from time import process_time
from typing import Any

import brotli
import numpy as np
import pytest

from logreplay.core.zstd import zstd
from logreplay.replay.clock import monotonic
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import WORDS
from logreplay.replay.senders.digests import (
    LONGEST_KEPT,
    ByteBudget,
    Digests,
    Read,
    ReceivedAnswer,
    ResponseObserver,
    decoded_beginning,
    digest_texts,
    head_of,
    pairs_of,
    read_head,
)
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.per_client import SessionSender
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.sessions.client_sessions import SessionPlan
from logreplay.replay.sessions.extraction import Extraction
from support import http2_server as second
from support import raw_server as first
from support.h2_sender import H2Sender
from support.http2_frames import data, head
from support.sender_driver import Client, Row

BODY = b'{"name": "value", "list": [1, 2, 3]}' * 100
SMALL = BODY[:36]


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": partial(brotli.compress, quality=5),
    "zstd": zstd.compress,
}


def heard_in(room: int = 1 << 24) -> ResponseObserver:
    return ResponseObserver(ByteBudget(room), lambda: None)


def answers_of(listener: ResponseObserver) -> Sequence[ReceivedAnswer]:
    return [
        ReceivedAnswer(status, head, body, size, digest, WORDS[error])
        for _, body, (status, size, digest, error, head) in listener.heard
    ]


def left(listener: ResponseObserver) -> int:
    return listener.room.most - listener.room.held


def read(
    pieces: Sequence[bytes], coding: str = "", room: int = 1 << 24
) -> tuple[tuple[int, bytes | None, int], ResponseObserver]:
    heard = heard_in(room)
    digests, head = Digests(heard), ((b"Content-Encoding", coding.encode()),)
    body: Read = b""
    for piece in pieces:
        body = digests.add(body, piece, lambda: head)
    digests.of(0, 200, head, body)
    (answer,) = answers_of(heard)
    return (answer.digest, answer.body, answer.size), heard


def cut(data: bytes, size: int) -> Sequence[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("coding", ["", "identity", *CODINGS])
def test_a_body_has_one_digest_in_every_coding_and_in_pieces_of_every_size(coding: str, size: int) -> None:
    coded = CODINGS.get(coding, bytes)(BODY)
    assert read(cut(coded, size), coding)[0] == read([BODY])[0]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_cannot_be_decoded_is_hashed_as_it_was_sent(coding: str) -> None:
    coded = b"\xff\xfe" + CODINGS[coding](BODY)
    (hashed, body, size), heard = read(cut(coded, 50), coding)
    assert (hashed, body, size) == (read([coded])[0][0], None, len(coded))
    assert left(heard) == 1 << 24


@pytest.mark.parametrize("coding", ["compress", "gzip, br", "\x00"])
def test_a_body_in_an_unknown_coding_is_hashed_as_it_was_sent(coding: str) -> None:
    assert read([BODY], coding)[0][0] == read([BODY])[0][0]
    assert read(cut(BODY, 9), coding)[0][0] == read([BODY])[0][0]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_bomb_is_not_inflated(coding: str) -> None:
    bomb = CODINGS[coding](bytes(1 << 26))
    hashed, body, size = read([bomb], coding)[0]
    assert (hashed, body, size) == (read([bomb])[0][0], None, len(bomb))


def test_a_frame_that_needs_too_much_memory_is_hashed_as_it_was_sent() -> None:
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 28})
    coded = stream.compress(BODY) + stream.flush()
    assert read([coded], "zstd")[0] == (read([coded])[0][0], None, len(coded))


def test_frames_follow_each_other_and_the_last_may_be_open() -> None:
    stream = zstd.ZstdCompressor()
    flushed = stream.compress(BODY[50:]) + stream.flush(stream.FLUSH_BLOCK)
    assert read([zstd.compress(BODY[:50]) + flushed], "zstd")[0] == read([BODY])[0]


@pytest.mark.parametrize("coding", CODINGS)
def test_the_beginning_of_a_body_is_decoded_as_far_as_it_is_there(coding: str) -> None:
    head, body = [(b"Content-Encoding", coding.encode())], CODINGS[coding](BODY)
    assert decoded_beginning(body, head, 100_000) == BODY
    assert decoded_beginning(body, head, 100) == BODY[:100]
    assert BODY.startswith(decoded_beginning(body[: len(body) // 2], head, 100_000))
    assert decoded_beginning(CODINGS[coding](bytes(1 << 24)), head, 100) == bytes(100)
    assert decoded_beginning(b"not so", head, 100) in (b"", b"not so"[:1])
    assert decoded_beginning(b"plain", [(b"content-encoding", b"identity")], 100) == b"plain"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_a_body_of_many_empty_members_is_hashed_as_it_was_sent(coding: str) -> None:
    """Each member copied all that stood behind it: 4 MB stopped the event loop for 30 s."""
    body = CODINGS[coding](b"") * 200_000
    begin = process_time()
    assert read([body], coding)[0] == (read([body])[0][0], None, len(body))
    assert process_time() - begin < 5


def test_long_headers_are_read_and_not_remembered() -> None:
    digests = Digests()
    for value in (b"short", b"x" * 3000):
        digests.of(0, 200, ((b"location", value),), b"body")
    assert [*digests._known] == [((b"location", b"short"),)]


def test_a_head_without_its_blank_line_hides_no_other() -> None:
    digests, head = Digests(), b"HTTP/1.1 200 OK\r\nLocation: /\r\n\r\n"
    digests.head_of(b"HTTP/1.1 200 OK\nLocation: /\n\nbody")
    assert digests.head_of(head + b"body") == head


def test_a_head_behind_an_empty_line_is_read() -> None:
    head = b"\r\nHTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"
    assert Digests().head_of(head + b"body") == head


def test_heads_that_differ_in_another_header_have_one_digest() -> None:
    digests = Digests()
    heads = [b"HTTP/1.1 200 OK\r\nX-Id: %d\r\nlocation: /%d\r\n\r\nbody" % (at, at == 3) for at in range(5)]
    found = [digests.of(0, 200, digests.head_of(head), b"body") for head in heads for _ in range(2)]
    assert len(set(found)) == 2
    assert found[6] == found[7] != found[5] == found[8]
    assert found == [Digests().of(0, 200, digests.head_of(head), b"body") for head in heads for _ in range(2)]


def test_a_long_body_is_hashed_and_not_kept() -> None:
    long = bytes(LONGEST_KEPT + 1)
    (hashed, body, size), heard = read(cut(long, 1 << 16))
    assert (body, size, left(heard)) == (None, len(long), 1 << 24)
    assert hashed == read([long])[0][0]


def test_a_body_of_100_mb_takes_little_memory() -> None:
    piece, heard = bytes(1 << 16), heard_in()
    digests = Digests(heard)
    body: Read = b""
    tracemalloc.start()
    try:
        for _ in range(1600):
            body = digests.add(body, piece, lambda: ())
        digests.of(0, 200, (), body)
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()
    assert [(answer.body, answer.size) for answer in answers_of(heard)] == [(None, 1600 << 16)]


def test_no_more_bodies_are_kept_than_there_is_room() -> None:
    assert read([BODY], room=len(BODY))[0][1] == BODY
    assert read([BODY], room=len(BODY) - 1)[0][1] is None
    (_, body, _), heard = read(cut(BODY, 10), room=100)
    assert (body, left(heard)) == (None, 100)


def test_digests_are_written_as_text() -> None:
    half = 1 << 63
    digests = np.array([0x0123456789000042 - half, 0, 1 - half, half - 1])
    assert digest_texts(digests).to_list() == ["0123456789-000042", None, "0000000000-000001", "ffffffffff-ffffff"]
    assert digest_texts(np.zeros(2, np.int64)).to_list() == [None, None]


@pytest.mark.parametrize("blank", [b"", b" ", b"  "])
def test_headers_have_one_hash_in_each_version_of_http(blank: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nLocation:%b/A\r\nDATE: now\r\nContent-TYPE:%btext/html\r\n" % (blank, blank)
    pairs = ((b"content-type", b"text/html"), (b"content-encoding", b"Identity"), (b"location", b"/A"))
    assert read_head(head) == read_head(pairs) == read_head(tuple(reversed(pairs)))
    assert read_head(head) != read_head(head.replace(b"/A", b"/a"))


def test_a_head_is_found_behind_interim_answers() -> None:
    data = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nC:d \r\n\r\nbody"
    assert pairs_of(head_of(data)) == [(b"A", b"b"), (b"C", b"d")]


@asynccontextmanager
async def client(sender: Any, url: str, heard: ResponseObserver | None = None, **options: Any) -> AsyncIterator[Client]:
    given = {"timeout": 5, "digests": Digests(heard), **options}
    made = Client(sender(await resolve(parse_target(url)), **given))
    await made.sender.open(made.done, monotonic)
    try:
        yield made
    finally:
        await made.sender.close()


JSON = "Content-Type: application/json"
ZIPPED = gzip.compress(SMALL)
WIRE = {
    **first.ANSWERS,
    "/plain": first.sends(first.response(SMALL, "200 OK", JSON), keep=True),
    "/gzip": first.sends(first.response(ZIPPED, "200 OK", JSON, "Content-Encoding: gzip"), keep=True),
    "/pieces": first.sends(b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200", b" OK\r\nTransfer-Encoding: chunked\r\nContent-",
                           b"Type:  application/json\r\n\r\n5\r\n" + SMALL[:5] + b"\r\n",
                           b"1f\r\n" + SMALL[5:] + b"\r\n", b"0\r\n\r\n", keep=True),
    "/chunks": first.sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
                           b"Content-Encoding: gzip\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % one for one in ZIPPED)
                           + b"0\r\n\r\n", keep=True),
    "/end": first.sends(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + SMALL[:9], SMALL[9:]),
    "/other": first.sends(first.response(SMALL + b" ", "200 OK", JSON), keep=True),
    "/html": first.sends(first.response(SMALL, "200 OK", "Content-Type: text/html"), keep=True),
    "/none": first.sends(b"HTTP/1.1 204 No Content\r\n" + JSON.encode() + b"\r\n\r\n", keep=True),
}  # fmt: skip
SAME = ("/plain", "/gzip", "/pieces", "/chunks", "/end", "/plain?again")
STREAMS = {
    **second.ANSWERS,
    "/plain": second.gives(
        lambda n: head(n, 200, [("content-type", "application/json")]) + data(n, SMALL),
    ),
    "/gzip": second.gives(
        lambda n: head(n, 200, [("content-type", "application/json"), ("content-encoding", "gzip")]),
        lambda n: data(n, ZIPPED[:9], end=False), lambda n: data(n, ZIPPED[9:]),
    ),
}  # fmt: skip


SESSIONS = partial(SessionSender, plan=SessionPlan(cookies=True))
SESSIONS_OF_BODIES = partial(SessionSender, plan=SessionPlan(extract=[Extraction.parse("name=json:$.name")]))


@pytest.mark.parametrize("sender", [WireSender, AiohttpSender, SESSIONS, SESSIONS_OF_BODIES])
def test_answers_with_the_same_content_have_the_same_digest(sender: Any) -> None:
    async def rows() -> dict[str, Row]:
        async with first.raw_server(answers=WIRE) as server, client(sender, server.url) as asked:
            paths = (*SAME, "/other", "/html", "/none", "/short")
            return {path: await asked.ask(path) for path in paths}

    found = {path: row.digest for path, row in asyncio.run(rows()).items()}
    texts = dict(zip(found, digest_texts(np.array([*found.values()])).to_list(), strict=True))
    assert len({texts[path] for path in SAME}) == 1
    body, _, headers = texts["/plain"].partition("-")
    assert texts["/other"].endswith(headers)
    assert texts["/html"].startswith(body)
    assert len({texts[path] for path in ("/plain", "/other", "/html", "/none")}) == 4
    assert texts["/short"] is None


def test_sessions_leave_digests_as_they_are() -> None:
    async def digests(sender: Any) -> list[int]:
        async with first.raw_server(answers=WIRE) as server, client(sender, server.url) as asked:
            return [(await asked.ask(path)).digest for path in ("/gzip", "/html", "/pieces", "/none")]

    assert asyncio.run(digests(SESSIONS)) == asyncio.run(digests(WireSender))


def test_http_2_has_the_same_digests_as_http_1() -> None:
    async def digests(serving: Any, sender: Any, path: str) -> int:
        async with serving as server, client(sender, server.url) as asked:
            return (await asked.ask(path)).digest

    async def compared() -> set[int]:
        plain = await digests(first.raw_server(answers=WIRE), WireSender, "/plain")
        over = {
            await digests(second.http2_server(answers=STREAMS), sender, path)
            for sender in (Http2Sender, H2Sender)
            for path in ("/plain", "/gzip")
        }
        return {plain, *over}

    assert len(asyncio.run(compared())) == 1


@pytest.mark.parametrize("sender", [WireSender, AiohttpSender])
def test_the_digest_of_a_head_is_that_of_no_body(sender: Any) -> None:
    async def row() -> Row:
        async with first.raw_server(answers=WIRE) as server, client(sender, server.url) as asked:
            return await asked.ask("/ok", "HEAD")

    assert asyncio.run(row()).digest


@pytest.mark.parametrize(
    ("sender", "serving"),
    [
        (WireSender, lambda: first.raw_server(answers=WIRE)),
        (AiohttpSender, lambda: first.raw_server(answers=WIRE)),
        (Http2Sender, lambda: second.http2_server(answers=STREAMS)),
    ],
)
def test_every_answer_and_every_failure_is_heard_once(sender: Any, serving: Callable[[], Any]) -> None:
    heard = heard_in()

    async def run() -> None:
        async with serving() as server, client(sender, server.url, heard, timeout=0.5) as asked:
            for path in ("/gzip", "/404", "/short", "/stall-in-body", "/reset"):
                await asked.ask(path)

    asyncio.run(run())
    assert [answer.status for answer in answers_of(heard)[:2]] == [200, 404]
    assert [answer.body for answer in answers_of(heard)[:2]] == [SMALL, b"no"]
    assert b"application/json" in [value for _, value in pairs_of(answers_of(heard)[0].head)]
    assert [answer.error for answer in answers_of(heard)] == ["", "", "short_body", "timeout", "reset"]
    assert left(heard) == (1 << 24) - len(SMALL) - len(b"no")


@pytest.mark.parametrize("sender", [WireSender, AiohttpSender, Http2Sender])
def test_without_digests_there_are_none(sender: Any) -> None:
    async def row() -> Row:
        serving: Any = second.http2_server() if issubclass(sender, Http2Sender) else first.raw_server()
        async with serving as server:
            made = Client(sender(await resolve(parse_target(server.url)), timeout=1))
            await made.sender.open(made.done, monotonic)
            try:
                return await made.ask("/ok")
            finally:
                await made.sender.close()

    assert asyncio.run(row()).digest == 0
