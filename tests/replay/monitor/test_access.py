"""Where a run listens, and whom it answers."""

import pytest

from logreplay.replay.monitor.access import Address, is_this_machine, may_change, parse_address

NAMES = frozenset({"localhost", "loadbox", "loadbox.example.org"})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8080", Address("127.0.0.1", 8080)),
        ("0", Address("127.0.0.1", 0)),
        ("0.0.0.0:8080", Address("0.0.0.0", 8080)),
        ("[::1]:9", Address("::1", 9)),
        ("loadbox:80", Address("loadbox", 80)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "http://x:1", "99999", ":80", "::1:80", "a b:1", "80 "])
def test_what_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="expected a port up to 65535, such as 8089, or HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize("host", ["127.0.0.1:80", "192.0.2.7", "[::1]:80", "LOCALHOST:80", "loadbox.example.org"])
def test_addresses_and_own_names_are_answered(host: str) -> None:
    assert is_this_machine(host, NAMES)


@pytest.mark.parametrize("host", [None, "", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.x"])
def test_a_foreign_name_is_not_answered_wherever_it_points(host: str | None) -> None:
    assert not is_this_machine(host, NAMES)


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Authorization": "Bearer t"}, True),
        ({"Authorization": "Bearer t", "Origin": "http://h:1", "Host": "h:1"}, True),
        ({"Authorization": "Bearer t", "Origin": "http://h:2", "Host": "h:1"}, False),
        ({"Authorization": "Bearer t", "Origin": "null", "Host": "h:1"}, False),
        ({"Authorization": "Bearer u"}, False),
        ({"Authorization": "Bearer ü"}, False),
        ({"Authorization": "Bearer \udcff\udcfe"}, False),  # bytes that are no UTF-8
        ({}, False),
    ],
)
def test_stopping_needs_the_token_and_no_foreign_page(headers: dict[str, str], allowed: bool) -> None:
    assert may_change(headers, "t") is allowed
