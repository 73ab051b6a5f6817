"""Requests belong to the client that the key names; what may be a secret becomes a pseudonym."""

import polars as pl
import pytest

from logreplay.replay.sessions.client_key import ClientKey

FRAME = pl.DataFrame(
    {
        "client": ["10.0.0.1", "10.0.0.1", "10.0.0.2", None],
        "agent": ["curl", "Firefox", "curl", None],
        "user": ["ann", None, "ann", "bob"],
        "headers": ["X-User: u1\tCookie: a=1; sid=secret1; b=2", "cookie: sid=secret1", "Accept: */*", "X-USER:u1"],
        "cookie": [None, None, "sid=secret2", "asid=no"],
    }
)


def clients(key: str) -> list[str | None]:
    return ClientKey.parse(key)(FRAME)["client"].to_list()


def test_an_address_is_a_client_by_itself() -> None:
    assert clients("address") == FRAME["client"].to_list()


def test_address_and_agent_together_tell_those_behind_one_address_apart() -> None:
    found = clients("address+agent")
    assert len(set(found)) == 4
    assert found[0] == ClientKey.parse("address+agent").of("10.0.0.1 curl")


def test_a_column_tells_clients_and_the_address_those_without_a_value() -> None:
    assert clients("column:user") == ["ann", "10.0.0.1", "ann", "bob"]


@pytest.mark.parametrize(
    ("key", "equal", "named"),
    [("cookie:sid", {(0, 1)}, "secret1"), ("header:x-user", {(0, 3)}, "u1"), ("header:User-Agent", {(0, 2)}, "curl")],
)
def test_a_header_or_a_cookie_tells_clients_by_a_pseudonym(key: str, equal: set[tuple[int, int]], named: str) -> None:
    found = clients(key)
    pairs = {(one, two) for one in range(4) for two in range(one + 1, 4) if found[one] == found[two] is not None}
    assert pairs - {(0, 1)} | {pair for pair in pairs if pair in equal} == equal
    assert found[0] == ClientKey.parse(key).of(named)
    assert not any(value and named in value for value in found)


@pytest.mark.parametrize("text", ["", "agent", "column:", "cookie", "header:a b", "address:x", "cookie:a=b;c"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected address"):
        ClientKey.parse(text)


@pytest.mark.parametrize("text", ["address", "address+agent", "column:my column", "header:X-User", "cookie:sid"])
def test_a_key_is_written_as_it_was_read(text: str) -> None:
    assert str(ClientKey.parse(text)) == text
