"""Pseudonyms are of the form of what they replace, the same for the same, and say nothing of it."""

import re
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.redaction.pseudonyms import Pseudonyms

LATIN = st.text(st.characters(max_codepoint=255), max_size=100)


def form(text: str) -> str:
    """Letters as ``a``, digits as ``0``; ASCII punctuation and blanks as they are."""
    return re.sub(r"[^ -~]|[A-Za-z]", "a", re.sub("[0-9]", "0", text))


@given(LATIN)
def test_a_letter_becomes_a_letter_and_a_digit_a_digit(text: str) -> None:
    done = Pseudonyms(b"key").text(text)
    assert form(done) == form(text)
    assert done.isascii()
    assert done == done.lower()
    assert done == Pseudonyms(b"key").text(text)


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("bob@example.org", r"[a-z]{3}@[a-z]{7}\.[a-z]{3}"),
        ("550E8400-e29b-41d4-a716-446655440000", r"[a-f]*[0-9][0-9a-f-]{35}"),
        ("3f9a1c22", "[0-9a-f]{8}"),
        ("2026-01-02", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        ("-10.50", r"-[1-9][0-9]\.[0-9]{2}"),
        ("0.5", r"[0-9]\.[0-9]"),
    ],
)
def test_a_value_of_a_known_form_stays_one(text: str, like: str) -> None:
    done = Pseudonyms(b"key").text(text)
    assert re.fullmatch(like, done)
    assert done != text


@given(st.text("abcdefghij0123456789.-", min_size=1, max_size=30), st.text(" \"'()<>,;=", max_size=4))
def test_what_encloses_a_value_changes_nothing_in_its_substitute(value: str, sign: str) -> None:
    pseudonyms = Pseudonyms(b"key")
    assert pseudonyms.text(f"{sign}{value}{sign}") == f"{sign}{pseudonyms.text(value)}{sign}"


@pytest.mark.parametrize(
    "values",
    [
        [f"{first}{second}" for first in "abcdefghijk" for second in "ABCDEFGHIJ"],
        list("abcdefghijklmnopqrstuvwxyz"),
        [f"{number}" for number in range(10)],
        [f"{number:02}" for number in range(100)],
        [f"{number:03}" for number in range(1000)],
        [f"{number / 100:.2f}" for number in range(1000)],
        [f"a-{number}" for number in range(10)],
    ],
)
def test_short_values_that_differ_stay_different(values: list[str]) -> None:
    pseudonyms = Pseudonyms(b"key")
    assert len({pseudonyms.text(value) for value in values}) == len(values)


def test_clients_that_differ_stay_different() -> None:
    pseudonyms = Pseudonyms(b"key")
    clients = [f"198.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}" for number in range(20_000)]
    assert len({pseudonyms.address(client) for client in clients}) == len(clients)


def test_more_values_than_substitutes_still_end() -> None:
    pseudonyms = Pseudonyms(b"key")
    assert {len(pseudonyms.text(chr(code))) for code in range(33, 256)} == {1}


@pytest.mark.parametrize("digits", ["1" * 5000, "9" * 100_000, f"{'7' * 5000}.{'7' * 5000}"])
def test_a_number_of_any_length_is_replaced(digits: str) -> None:
    done = Pseudonyms(b"key").text(digits)
    assert form(done) == form(digits)
    assert digits[:20] not in done


def test_two_redactions_have_nothing_in_common() -> None:
    assert Pseudonyms().address("192.0.2.1") != Pseudonyms().address("192.0.2.1")
    assert Pseudonyms().text("bob@example.org") != Pseudonyms().text("bob@example.org")


@given(LATIN)
def test_of_opaque_bytes_the_length_stays(text: str) -> None:
    assert re.fullmatch(f"[a-z0-9]{{{len(text)}}}", Pseudonyms(b"key").opaque(text))


@given(st.text(max_size=60))
def test_an_address_becomes_a_private_one_of_its_kind_or_a_name(text: str) -> None:
    done = Pseudonyms(b"key").address(text)
    if ":" in text:
        assert ip_address(done) in ip_network("fd00::/8")
    elif text.replace(".", "").isdigit():
        assert ip_address(done) in ip_network("10.0.0.0/8")
    else:
        assert re.fullmatch(r"host-[a-z]{8}", done)
