"""Connections go to another address than the name of the target says, and only where that is permitted."""

import asyncio

import pytest

from logreplay.core.errors import NotPermitted, UsageError
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.senders.endpoint import ConnectTo, connected, parse_target


def rules(*texts: str, **more: object) -> SenderRules:
    return SenderRules(connect_to=tuple(map(ConnectTo.parse, texts)), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "target", "place"),
    [
        ("shop.example:443:127.0.0.1:8443", "https://shop.example", "https://127.0.0.1:8443"),
        ("SHOP.example:443:127.0.0.1:8443", "https://shop.EXAMPLE", "https://127.0.0.1:8443"),
        ("shop.example:443:127.0.0.1:8443", "http://shop.example", "http://shop.example"),
        ("::127.0.0.1:8443", "https://shop.example:9000", "https://127.0.0.1:8443"),
        ("shop.example::[::1]:", "https://shop.example:9000", "https://[::1]:9000"),
        ("[::1]:80:127.0.0.1:80", "http://[::1]", "http://127.0.0.1"),
        ("a:80:b:", "http://a", "http://b"),
        ("a:80::81", "http://a", "http://a:81"),
        ("::b:1", "unix:/run/a", "unix:/run/a"),
    ],
)
def test_the_place_of_a_target_is_that_of_the_rule_that_fits(text: str, target: str, place: str) -> None:
    assert str(connected(parse_target(target), [ConnectTo.parse(text)])) == place


@pytest.mark.parametrize("text", ["", "a:80", "a:80:b", "a:80::", "a:x:b:1", "a:1:b:65536", "a:80:b:1:2", "a:1:b/c:1"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT:ADDR:PORT"):
        ConnectTo.parse(text)


@pytest.mark.parametrize("text", ["shop.example:443:127.0.0.1:8443", "::[::1]:80", "a:1::2"])
def test_a_rule_is_written_as_it_was_read(text: str) -> None:
    assert ConnectTo.parse(str(ConnectTo.parse(text))) == ConnectTo.parse(text)


def test_permission_is_that_of_the_address_which_is_connected() -> None:
    away = rules("shop.test:443:192.0.2.1:443", allow_target=("shop.test",))
    with pytest.raises(NotPermitted, match=r"192\.0\.2\.1 is not this machine; .* add --allow-target 192\.0\.2\.1"):
        asyncio.run(away.endpoint("https://shop.test"))
    with pytest.raises(NotPermitted, match=r"192\.0\.2\.1"):
        asyncio.run(rules("127.0.0.1:80:192.0.2.1:80").endpoint("http://127.0.0.1"))
    permitted = rules("shop.test:443:192.0.2.1:443", allow_target=("192.0.2.1",))
    assert asyncio.run(permitted.endpoint("https://shop.test")).addresses == ("192.0.2.1",)


def test_the_name_of_a_target_that_is_connected_elsewhere_is_not_looked_up() -> None:
    endpoint = asyncio.run(rules("nowhere.invalid:80:127.0.0.1:8080").endpoint("http://nowhere.invalid"))
    assert (str(endpoint.target), endpoint.addresses, endpoint.port) == ("http://nowhere.invalid", ("127.0.0.1",), 8080)
    assert str(endpoint) == "http://nowhere.invalid (connected to 127.0.0.1:8080)"


def test_a_rule_for_no_target_is_refused_and_one_for_another_target_of_a_duet_is_not() -> None:
    misspelled = rules("shop.test:443:127.0.0.1:8443")
    with pytest.raises(UsageError, match=r"begins with the host and port of no target; expected 127\.0\.0\.1:80"):
        asyncio.run(misspelled.endpoint("http://127.0.0.1"))
    asyncio.run(misspelled.endpoint("http://127.0.0.1", ["http://127.0.0.1", "https://shop.test"]))
