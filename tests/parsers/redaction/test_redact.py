"""Pseudonyms are of the shape of what they replace, the same for the same, and say nothing of it."""

import re
from ipaddress import ip_address, ip_network

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.redaction.redact import Redactor


def test_redaction_is_consistent_and_keeps_the_shape() -> None:
    rows = pl.DataFrame(
        {
            "url": ["/a?token=secret&n=123", "/a?token=secret&n=456", "/b?raw", "/c"],
            "referer": ["https://x/?q=me", None, "-", "https://x/"],
            "client": ["192.0.2.1", "192.0.2.1", "2001:db8::1", "pc.example.com"],
            "user": ["bob", "bob", None, "eve"],
        }
    )
    done = Redactor().rows(rows)
    first, second, raw, plain = done["url"]
    assert re.fullmatch(r"/a\?token=[a-z0-9]{6}&n=[0-9]{3}", first)
    assert first.partition("&")[0] == second.partition("&")[0]
    assert "secret" not in "".join(done["url"])
    assert re.fullmatch(r"/b\?[a-z0-9]{3}", raw)
    assert plain == "/c"
    assert done["client"][0] == done["client"][1]
    assert ip_address(done["client"][0]) in ip_network("10.0.0.0/8")
    assert ip_address(done["client"][2]) in ip_network("fd00::/8")
    assert re.fullmatch(r"host-[a-z0-9]{8}", done["client"][3])
    assert done["user"].to_list()[:3] == [done["user"][0], done["user"][0], None]
    assert "bob" not in "".join(done["user"].drop_nulls())


@pytest.mark.parametrize(
    "values",
    [
        [f"{first}{second}" for first in "abcdefghijk" for second in "ABCDEFGHIJ"],
        list("abcdefghijklmnopqrstuvwxyz"),
        [f"{number}" for number in range(10)],
        [f"{number:02}" for number in range(100)],
        [f"{number:03}" for number in range(1000)],
    ],
)
def test_short_values_that_differ_stay_different(values: list[str]) -> None:
    redactor = Redactor(b"key")
    assert len({redactor.same_shape(value) for value in values}) == len(values)


def test_clients_that_differ_stay_different() -> None:
    redactor = Redactor(b"key")
    clients = [f"198.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}" for number in range(20_000)]
    assert len({redactor.address(client) for client in clients}) == len(clients)


def test_more_values_than_substitutes_still_end() -> None:
    redactor = Redactor(b"key")
    assert {len(redactor.same_shape(chr(code))) for code in range(33, 127)} == {1}


def test_two_redactions_have_nothing_in_common() -> None:
    assert Redactor().address("192.0.2.1") != Redactor().address("192.0.2.1")


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), max_size=40))
def test_a_redacted_target_has_the_length_and_the_path_of_the_original(text: str) -> None:
    done = Redactor(b"key").target("/" + text)
    assert len(done) == len(text) + 1
    assert done.partition("?")[0] == ("/" + text).partition("?")[0]


@given(st.text(max_size=100))
def test_a_substitute_has_the_length_of_the_value_and_is_of_digits_for_digits_only(text: str) -> None:
    done = Redactor(b"key").same_shape(text)
    assert len(done) == len(text)
    assert re.fullmatch("[0-9]*" if text.isdigit() else "[a-z0-9]*", done)
    assert done == Redactor(b"key").same_shape(text)


@given(st.text(max_size=60))
def test_an_address_becomes_a_private_one_of_its_kind_or_a_name(text: str) -> None:
    done = Redactor(b"key").address(text)
    if ":" in text:
        assert ip_address(done) in ip_network("fd00::/8")
    elif text.replace(".", "").isdigit():
        assert ip_address(done) in ip_network("10.0.0.0/8")
    else:
        assert re.fullmatch(r"host-[a-z0-9]{8}", done)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("/a", r"/a"),
        ("/a?", r"/a\?"),
        ("/a?x=", r"/a\?x="),
        ("/a?x=1&y=2;z=ab", r"/a\?x=[0-9]&y=[0-9];z=[a-z0-9]{2}"),
        ("/a?x=a=b?c", r"/a\?x=[a-z0-9]{5}"),
        ("/a?x=abc#frag", r"/a\?x=[a-z0-9]{3}#frag"),
        ("https://h/p?q=me", r"https://h/p\?q=[a-z0-9]{2}"),
    ],
)
def test_paths_and_names_of_fields_stay(url: str, kept: str) -> None:
    assert re.fullmatch(kept, Redactor(b"key").target(url))


def test_a_column_that_is_not_there_is_not_made_and_nothing_stays_nothing() -> None:
    rows = pl.DataFrame({"url": ["/a?b=cdefghij"], "user": pl.Series([None], dtype=pl.String), "rc": [200]})
    done = Redactor(b"key").rows(rows)
    assert done.columns == rows.columns
    assert done["user"].to_list() == [None]
    assert done["rc"].to_list() == [200]
    assert Redactor(b"key").rows(rows.clear()).height == 0


def test_bodies_are_replaced() -> None:
    done = Redactor(b"key").rows(pl.DataFrame({"body": ["password=secret", None, "12345"]}))["body"].to_list()
    assert re.fullmatch(r"[a-z0-9]{15}", done[0])
    assert done[1] is None
    assert re.fullmatch(r"[0-9]{5}", done[2])
