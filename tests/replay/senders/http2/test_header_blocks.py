"""Header blocks are encoded and decoded as RFC 7541 says, and as the hpack package does."""

from contextlib import suppress

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.senders.http2.header_blocks import (
    ANY,
    MAX_HEAD,
    MOST_KNOWN,
    BlockError,
    BlockReader,
    ResponseFields,
    block,
    checked,
    field,
    integer,
    text,
)

NAMES = st.from_regex(r"[!#$%&'*+.^_`|~0-9a-z-]{1,20}", fullmatch=True).map(str.encode)
COMMON = st.sampled_from([b":path", b":authority", b"user-agent", b"accept", b"cookie", b"authorization", b"etag"])
FIELDS = st.lists(st.tuples(st.one_of(COMMON, NAMES), st.binary(max_size=300)), max_size=8)


def reader(*, acknowledged: bool = False) -> BlockReader:
    made = BlockReader({})
    if acknowledged:
        made.offer_no_table()
    return made


def test_integers_are_those_of_appendix_c_1() -> None:
    assert integer(10, 5) == b"\x0a"
    assert integer(1337, 5) == b"\x1f\x9a\x0a"
    assert integer(42, 8) == b"\x2a"


@pytest.mark.parametrize(
    ("name", "value", "coded"),
    [
        (b":path", b"/sample/path", "040c2f73616d706c652f70617468"),  # C.2.2
        (b":method", b"GET", "82"),  # C.2.4
        (b":scheme", b"http", "86"),
        (b":scheme", b"https", "87"),
        (b":path", b"/", "84"),
    ],
)
def test_fields_are_those_of_appendix_c_2(name: bytes, value: bytes, coded: str) -> None:
    assert field(name, value) == bytes.fromhex(coded)


def test_secrets_are_never_indexed() -> None:
    assert field(b"authorization", b"x")[0] & 0xF0 == 0x10
    assert field(b"cookie", b"x")[0] & 0xF0 == 0x10
    assert field(b"accept", b"x")[0] & 0xF0 == 0x00


@given(FIELDS)
def test_hpack_reads_what_is_written_and_its_table_stays_empty(fields: list[tuple[bytes, bytes]]) -> None:
    decoder = Decoder(1 << 20)
    assert [(bytes(name), bytes(value)) for name, value in decoder.decode(block(fields), raw=True)] == fields
    assert not decoder.header_table.dynamic_entries


@given(st.integers(100, 999), st.lists(st.tuples(NAMES, st.binary(max_size=60)), max_size=6), st.booleans())
def test_a_response_is_read_as_hpack_wrote_it(status: int, fields: list[tuple[bytes, bytes]], huffman: bool) -> None:
    written, read = Encoder(), reader()
    pairs = [(b":status", str(status).encode()), *fields]
    for _ in range(2):  # the second time from the dynamic table
        assert read.read(written.encode(pairs, huffman=huffman)) == checked(pairs)


APPENDIX_C_5 = (
    "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f"
    "7777772e6578616d706c652e636f6d",
    "4803333037c1c0bf",
    "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a"
    "584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
)
APPENDIX_C_6 = (
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
    "4883640effc1c0bf",
    "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f"
    "3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
)


@pytest.mark.parametrize("example", [APPENDIX_C_5, APPENDIX_C_6], ids=["plain", "huffman"])
def test_responses_are_those_of_appendix_c(example: tuple[str, str, str]) -> None:
    """With a table of 256 bytes, from which entries are evicted."""
    read = reader()
    size_of_256 = bytes.fromhex("3fe101")
    first, second, third = (bytes.fromhex(text) for text in example)
    opening = dict(read.read(size_of_256 + first).headers)
    assert opening == {
        b"cache-control": b"private",
        b"date": b"Mon, 21 Oct 2013 20:13:21 GMT",
        b"location": b"https://www.example.com",
    }
    assert read.read(second) == ResponseFields(307, -1, tuple(opening.items()), body=ANY)
    last = read.read(third)
    assert last.status == 200
    assert dict(last.headers) == {
        b"cache-control": b"private",
        b"date": b"Mon, 21 Oct 2013 20:13:22 GMT",
        b"location": b"https://www.example.com",
        b"content-encoding": b"gzip",
        b"set-cookie": b"foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    }


def test_while_the_table_is_empty_equal_blocks_are_decoded_once() -> None:
    read = reader(acknowledged=True)
    coded = bytes.fromhex("88") + field(b"content-length", b"5")
    assert read.read(coded) is read.read(coded)
    assert read.read(coded) == ResponseFields(200, 5, ((b"content-length", b"5"),), body=5)


@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_peer_that_fills_the_table_is_understood(acknowledged: bool) -> None:
    read = reader(acknowledged=acknowledged)
    for status, coded in enumerate(("4803323035", "4803323036"), 205):
        assert read.read(bytes.fromhex(coded)).status == status  # enters the table
        assert read.read(bytes.fromhex("be")).status == status  # is the last one that entered it


def test_a_table_of_another_size_than_offered_is_an_error() -> None:
    read = reader(acknowledged=True)
    assert read.read(bytes.fromhex("2088")).status == 200
    with pytest.raises(BlockError, match="not offered"):
        read.read(bytes.fromhex("2188"))


def test_known_blocks_are_bounded() -> None:
    known: dict[bytes, ResponseFields] = {}
    read = BlockReader(known)
    for number in range(MOST_KNOWN + 10):
        read.read(b"\x88" + field(b"etag", str(number).encode()))
    assert len(known) == 10


@pytest.mark.parametrize(
    "coded",
    [
        "80",  # index 0
        "be",  # an empty dynamic table
        "ff8080808080808080",  # an integer without end
        "3fe21f",  # a table larger than allowed
        "8820",  # a change of size after a field
        "0085f2b24a84ff",  # a string that is cut
        "0084ffffffff00",  # end of string in Huffman coding
    ],
)
def test_what_is_no_hpack_is_an_error(coded: str) -> None:
    with pytest.raises(BlockError):
        reader(acknowledged=True).read(bytes.fromhex(coded))


def test_a_list_too_large_is_an_error() -> None:
    with pytest.raises(BlockError, match="longer"):
        reader().read(b"\x88" + field(b"etag", b"x" * MAX_HEAD))


def test_a_list_that_unpacks_to_too_much_is_an_error() -> None:
    with pytest.raises(BlockError, match="larger"):
        reader().read(b"\x88\x40" + text(b"a") + text(b"x" * 4000) + b"\xbe" * (MAX_HEAD // 4000))


def test_a_block_of_many_fields_is_not_kept() -> None:
    """A byte may stand for a field: thousands of such blocks would fill the memory."""
    known: dict[bytes, ResponseFields] = {}
    assert len(BlockReader(known).read(b"\x88" + b"\x90" * 1000).headers) == 1000
    assert not known


@pytest.mark.parametrize("coded", ["20202088", "3fe11f203f0188"])
def test_a_table_that_is_resized_more_than_twice_is_an_error(coded: str) -> None:
    with pytest.raises(BlockError, match="two updates"):
        reader().read(bytes.fromhex(coded))


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_a_block_or_an_error(coded: bytes, acknowledged: bool) -> None:
    with suppress(BlockError):
        reader(acknowledged=acknowledged).read(coded)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ([(b":status", b"200"), (b"Upper", b"x")], "invalid in HTTP/2"),
        ([(b":status", b"200"), (b"", b"x")], "invalid in HTTP/2"),
        ([(b":status", b"200"), (b":path", b"/")], "invalid in HTTP/2"),
        ([(b":status", b"200"), (b"connection", b"close")], "forbidden"),
        ([(b":status", b"200"), (b"a", b"x\r\nb: y")], "control byte"),
        ([(b"a", b"x"), (b":status", b"200")], "misplaced"),
        ([(b":status", b"200"), (b":status", b"200")], "misplaced"),
        ([(b":status", b"2000")], "invalid"),
        ([(b":status", b"abc")], "invalid"),
        ([(b":status", b"200"), (b"content-length", b"5"), (b"content-length", b"6")], "content-length"),
        ([(b":status", b"200"), (b"content-length", b"-5")], "content-length"),
    ],
)
def test_malformed_fields_are_named(fields: list[tuple[bytes, bytes]], fault: str) -> None:
    assert fault in checked(fields).fault


def test_fields_as_they_should_be_have_no_fault() -> None:
    read = checked([(b":status", b"404"), (b"content-length", b"5"), (b"content-length", b"5"), (b"x", b"")])
    assert (read.status, read.length, read.fault) == (404, 5, "")
    assert checked([(b"grpc-status", b"0")]).status == 0


def test_a_broken_block_is_told_without_an_address_of_memory() -> None:
    with pytest.raises(BlockError) as told:
        reader().read(b"\x88\xff\xff\xff\xff\xff")
    assert "memory" not in str(told.value)
