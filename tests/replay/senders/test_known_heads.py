"""A response whose head is remembered ends its exchange as the parser would have ended it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.replay.senders.contract import ERROR_CODES
from logreplay.replay.senders.digests import Digests
from logreplay.replay.senders.endpoint import Endpoint, Target
from logreplay.replay.senders.http1.connection import MOST_HEADS, Connection, DigestConnection
from logreplay.replay.senders.http1.sender import WireSender
from support.null_transport import Nowhere

ENDPOINT = Endpoint(Target("http", "127.0.0.1", 80), ("127.0.0.1",))
TIMEOUT_NS = 1_000_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
ANSWERS = (
    OK + b"hello",
    OK + b"12345",
    OK + b"hell",
    OK + b"hello!",
    OK + b"hello" + OK + b"again",
    OK,
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"hello",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 9\n\nx\r\n\r\nabcd",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    b"\r\n\r\n" + OK + b"hello",
    b"no HTTP\r\n\r\n",
)


class Parsing(Connection):
    """Parses every response."""

    reads_all = True


class ParsingDigests(DigestConnection):
    """The same, for digests."""

    reads_all = True


class Sender(WireSender):
    """Collects the results of connections that lead nowhere."""

    def __init__(self, kind: type[Connection]) -> None:
        digests = Digests() if issubclass(kind, DigestConnection) else None
        super().__init__(ENDPOINT, timeout=TIMEOUT_NS / 1e9, digests=digests)
        self.now, self.kind, self.trace = 0, kind, None
        self.ends: list[tuple[int, ...]] = []
        self.clock = self._tick
        self.done = self.failed = self._done

    def _tick(self) -> int:
        self.now += 1
        return self.now

    def _done(self, *record: int) -> None:
        self.ends.append(record)

    def dial(self, seq: int, request: bytes, start: int, client: str | None = None) -> None:
        self.busy[seq] = self.kind(self, seq, request, start)
        self.busy[seq].connection_made(Nowhere())


def answer(sender: Sender, seq: int, method: str, data: bytes, cut: int, late: bool = False) -> None:
    """Send a request, and let bytes arrive in two pieces; the rest of it never comes."""
    sender.send(seq, f"{method} / HTTP/1.1\r\n\r\n".encode(), sender.clock())
    connection = sender.busy[seq]
    sender.now += TIMEOUT_NS * late
    for piece in (data[:cut], data[cut:]):
        if piece and not connection._transport.is_closing():  # type: ignore[union-attr]
            connection.data_received(piece)
    if seq in sender.busy or connection._transport.is_closing():  # type: ignore[union-attr]
        connection.connection_lost(None)
    sender.cancel()


EXCHANGES = st.tuples(
    st.sampled_from(("GET", "GET", "GET", "HEAD", "POST")),
    st.sampled_from(ANSWERS),
    st.just(0) | st.integers(1, 60),
    st.integers(0, 9).map(lambda chance: chance == 0),
)


@pytest.mark.parametrize("kinds", [(Connection, Parsing), (DigestConnection, ParsingDigests)])
@given(exchanges=st.lists(EXCHANGES, max_size=12))
@settings(max_examples=200, deadline=None)
def test_records_are_those_of_the_parser(
    kinds: Sequence[type[Connection]], exchanges: list[tuple[str, bytes, int, bool]]
) -> None:
    skimming, parsing = map(Sender, kinds)
    for seq, exchange in enumerate(exchanges):
        for sender in (skimming, parsing):
            answer(sender, seq, *exchange)
    assert skimming.ends == parsing.ends
    assert skimming.counts == parsing.counts
    assert not parsing.heads


@pytest.mark.parametrize("kind", [Connection, DigestConnection])
def test_a_known_head_is_not_parsed_again(kind: type[Connection]) -> None:
    sender = Sender(kind)
    answer(sender, 0, "GET", OK + b"hello", 0)
    (connection,) = sender.idle
    connection._feed = None
    answer(sender, 1, "GET", OK + b"other", 0)
    assert [end[6:9] for end in sender.ends] == [(5, 200, 0)] * 2


@pytest.mark.parametrize("line", [b"HTTP/1.1 100 Continue\r\nConnection: close", b"HTTP/1.0 100 Continue"])
def test_a_known_head_behind_the_end_of_a_connection_is_an_error(line: bytes) -> None:
    sender, interim = Sender(Connection), line + b"\r\n\r\n"
    answer(sender, 0, "GET", OK + b"hello", 0)
    answer(sender, 1, "GET", interim + OK + b"hello", len(interim))
    assert [end[8] for end in sender.ends] == [0, ERROR_CODES["protocol"]]


def test_as_many_heads_are_kept_as_there_may_be() -> None:
    sender = Sender(Connection)
    for number in range(2 * MOST_HEADS + 1):
        answer(sender, number, "GET", b"HTTP/1.1 200 OK\r\nX: %d\r\nContent-Length: 0\r\n\r\n" % number, 0)
    assert len(sender.heads) == 1
    answer(sender, number + 1, "GET", b"HTTP/1.1 200 OK\r\nX: %s\r\nContent-Length: 0\r\n\r\n" % (b"x" * 9000), 0)
    assert len(sender.heads) == 1


_EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"


@pytest.mark.parametrize(
    "data", [_EARLY * 2 + OK, b"\r\n\r\n" + OK, b"\r\n" + _EARLY + b"\r\n\r\n" + _EARLY + b"\r\n" + OK]
)
def test_a_response_behind_interim_answers_and_empty_lines_ends_alike_wherever_it_is_cut(data: bytes) -> None:
    data += b"hello"
    ends = set()
    for cut in range(len(data)):
        sender = Sender(DigestConnection)
        answer(sender, 1, "GET", data, cut)
        ((_, _, _, _, _, _, *end),) = sender.ends
        ends.add(tuple(end))
    assert {end[:3] for end in ends} == {(5, 200, 0)}
    assert len(ends) == 1


def test_the_first_byte_of_a_response_behind_an_interim_answer_counts_when_it_arrives() -> None:
    """The clock moves by one at each piece."""
    data, reading = _EARLY + OK + b"hello", list[int]()
    for cut in range(1, len(data)):
        sender = Sender(Connection)
        answer(sender, 1, "GET", data, cut)
        reading.append(sender.ends[0][5])
    assert reading == [0] * len(_EARLY) + [1] * (len(OK) + 4)
