"""An answer whose head is known is not parsed again; nobody can tell the difference."""

from itertools import pairwise
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.senders.endpoint import Endpoint, Target
from logreplay.replay.senders.head_cache import HeadCache
from logreplay.replay.senders.wire import Connection, WireSender
from support.null_transport import Nowhere

ENDPOINT: Final = Endpoint(Target("http", "127.0.0.1", 80), ("127.0.0.1",))
TIMEOUT: Final = 60
"""Readings of the clock."""

STATUS_LINES: Final = (
    b"HTTP/1.1 200 OK", b"HTTP/1.1 304 Not Modified", b"HTTP/1.0 200 OK", b"HTTP/1.1 100 Continue",
    b"HTTP/1.1 204 No Content", b"HTTP/1.1 500 ", b"HTTP/1.1 2000 OK", b"HTTP/1.1 101 Upgrade",
)  # fmt: skip
HEADERS: Final = (
    b"Content-Length: 5", b"Content-Length: 0", b"Content-Length:  +5", b"Transfer-Encoding: chunked",
    b"Connection: close", b"Connection: keep-alive", b"Upgrade: h2c", b"Date: now", b"A: \x00", b"Content-Length: 17",
    b" folded",
)  # fmt: skip
BODIES: Final = (
    b"hello", b"\r\n\r\n!", b"HTTP/", b"", b"5\r\nhello\r\n0\r\n\r\n", b"4\r\n\r\n\r\n\r\n0\r\n\r\n",
    b"3\r\nabc\r\nx\r\n\r\n", b"\r\n", b"hellox",
)  # fmt: skip


class Forgetful(dict[bytes, HeadCache]):
    """Remembers nothing."""

    def __setitem__(self, head: bytes, known: HeadCache) -> None:
        pass


class Talk(WireSender):
    """A sender whose target answers what it is told to, piece by piece."""

    def __init__(self, known: dict[bytes, HeadCache], *, timeout: int = TIMEOUT) -> None:
        super().__init__(ENDPOINT, timeout=timeout / 1e9)
        self.now, self.known, self.trace = 0, known, None
        self.ends: list[tuple[int, ...]] = []
        self.clock, self.done = self._tick, lambda *end: self.ends.append(end)

    def _tick(self) -> int:
        self.now += 1
        return self.now

    def exchange(self, method: bytes, pieces: list[bytes]) -> None:
        """Ask once, on the connection that is idle or on a new one; the connection is lost if no answer comes."""
        seq, request = len(self.ends), method + b" / HTTP/1.1\r\n\r\n"
        if self.idle:
            connection = self.idle.popitem()[0]
            self.busy[seq] = connection
            connection.begin(seq, request, self.clock())
        else:
            connection = self.busy[seq] = Connection(self, seq, request, self.clock())
            connection.connection_made(Nowhere())
        for piece in pieces:
            if connection.usable():
                connection.data_received(piece)
        if connection not in self.idle or not connection.usable():
            connection._retried = True
            connection.connection_lost(None)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in pairwise(ends)]


newline = st.sampled_from((b"\r\n",) * 20 + (b"\n", b"\r"))
heads = st.one_of(
    st.just(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    st.builds(
        lambda lines, ends: b"".join(line + end for line, end in zip(lines, ends, strict=True)),
        st.tuples(st.sampled_from(STATUS_LINES), *[st.sampled_from(HEADERS)] * 2, st.just(b"")),
        st.lists(newline, min_size=4, max_size=4),
    ),
)
exchanges = st.tuples(
    st.sampled_from((b"GET", b"GET", b"GET", b"POST", b"HEAD")),
    st.integers(0, 3),
    st.one_of(st.just(b"hello"), st.sampled_from(BODIES), st.binary(min_size=5, max_size=5)),
    st.one_of(st.just([]), st.lists(st.integers(0, 200), max_size=3)),
)


@given(few=st.lists(heads, min_size=1, max_size=4), asked=st.lists(exchanges, max_size=12))
def test_a_sender_that_remembers_reports_what_one_that_forgets_reports(
    few: list[bytes], asked: list[tuple[bytes, int, bytes, list[int]]]
) -> None:
    senders = Talk({}), Talk(Forgetful())
    for method, which, body, places in asked:
        for sender in senders:
            sender.exchange(method, cut(few[which % len(few)] + body, places))
    assert senders[0].ends == senders[1].ends
    assert len(senders[0].idle) == len(senders[1].idle)
    assert senders[0].counts == senders[1].counts


def test_an_answer_that_comes_again_is_not_parsed_again() -> None:
    sender = Talk({})
    head = b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n"
    sender.exchange(b"GET", [head + b"hello"])
    assert sender.known == {head: HeadCache(404, 5)}
    (connection,) = sender.idle
    connection._feed = None
    sender.exchange(b"GET", [head + b"12345"])
    assert [end[5:] for end in sender.ends] == [(5, 404, 0)] * 2


def test_no_more_heads_are_remembered_than_fit() -> None:
    sender = Talk({})
    for number in range(3000):
        sender.exchange(b"GET", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: %d\r\n\r\n" % number])
    assert 0 < len(sender.known) <= 1024
    sender.exchange(b"GET", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: %s\r\n\r\n" % (b"a" * 5000)])
    assert max(map(len, sender.known)) <= 4096


def test_a_known_answer_that_comes_too_late_is_a_timeout() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    senders = Talk({}, timeout=5), Talk(Forgetful(), timeout=5)
    for sender in senders:
        sender.exchange(b"GET", [answer])
        connection = sender.idle.popitem()[0]
        sender.busy[1] = connection
        connection.begin(1, b"GET / HTTP/1.1\r\n\r\n", sender.clock())
        sender.now += 100
        connection.data_received(answer)
    assert senders[0].ends == senders[1].ends
    assert senders[0].ends[1][7]
