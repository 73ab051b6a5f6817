"""Words stay in paths and names; ids, tokens and addresses are replaced."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.redaction.words import VOCABULARY, name, phrase, segment


def struck(text: str) -> str:
    """A change that shows itself."""
    return "".join("*" if sign.isalnum() else sign for sign in text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("orders", "orders"),
        ("v1", "v1"),
        ("v17", "v17"),
        ("getUserByID", "getUserByID"),
        ("OAuth", "OAuth"),
        ("oauth2", "oauth2"),
        ("my-first-post", "my-first-post"),
        ("correct-horse-battery", "correct-horse-battery"),
        ("jquery-3.7.1.min.js", "jquery-3.7.1.min.js"),
        (".well-known", ".well-known"),
        ("M\xc3\xbcnchen", "M\xc3\xbcnchen"),
        ("17", "**"),
        ("4711", "****"),
        ("2026-01-02", "****-**-**"),
        ("order-4711", "order-****"),
        ("4711-blue-shoes", "****-blue-shoes"),
        ("app.3f9a1c22.js", "app.********.js"),
        ("4711.html", "****.html"),
        ("4711abc", "*******"),
        ("hunter2", "*******"),
        ("ab12-cd34-ef56", "****-****-****"),
        ("reset-4711abc", "*****-*******"),
        ("bob@example.org", "***@*******.***"),
        ("bob:pass", "***:****"),
        ("~bob", "~***"),
        ("secret=abcd", "******=****"),
        ("550e8400-e29b-41d4-a716-446655440000", "********-****-****-****-************"),
        ("deadbeef-1111-2222-3333-cafecafecafe", "********-****-****-****-************"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "****************.************.****"),
        ("QWxhZGRpbjpvcGVuIHNlc2FtZQ", "**************************"),
        ("\xc3", "*"),
    ],
)
def test_a_segment_of_a_path_keeps_words_and_nothing_beside_a_token(text: str, kept: str) -> None:
    assert segment(text, struck) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("q", "q"),
        ("user_id", "user_id"),
        ("address1", "address1"),
        ("filter[name][]", "filter[name][]"),
        ("ctl00$Main$txtName", "ctl00$Main$txtName"),
        ("@type", "@type"),
        ("xsi:type", "xsi:type"),
        ("JSESSIONID", "JSESSIONID"),
        ("wordpress_logged_in_5f4dcc3b5aa765d61d8327deb882cf99", "wordpress_logged_in_" + 32 * "*"),
        ("bob@example.org", "***@*******.***"),
        ("4711", "****"),
        ("hunter2abc4711", "**************"),
        ('"email":"a', '"*****":"*'),
    ],
)
def test_a_name_keeps_words_that_may_be_numbered(text: str, kept: str) -> None:
    assert name(text, struck) == kept


@pytest.mark.parametrize(
    "text",
    [
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7; rv:109.0) Gecko/20100101 Firefox/115.0",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "curl/8.5.0",
        "python-requests/2.31.0",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
        "gzip, deflate, br",
        "de-DE,de;q=0.9,en;q=0.8",
        "max-age=0, no-cache",
    ],
)
def test_a_text_about_formats_or_programs_stays(text: str) -> None:
    assert phrase(text, struck) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Chrome/120.0.6099.109", "Chrome/***.*.****.***"),
        ("Mobile/15E148", "Mobile/******"),
        ("bob's browser", "***'* browser"),
        ("(+mailto:bob@example.org)", "(+******:***@*******.org)"),
        ("192.0.2.1", "***.*.*.*"),
        ("curl 00:1a:2b:3c:4d:5e", "curl **:**:**:**:**:**"),
        ("555-123-4567", "***-***-****"),
    ],
)
def test_what_is_not_in_the_vocabulary_is_replaced(text: str, kept: str) -> None:
    assert phrase(text, struck) == kept


def test_the_vocabulary_is_in_lower_case_and_of_single_runs() -> None:
    assert all(word.isalnum() and word == word.lower() for word in VOCABULARY)


LATIN = st.text(st.characters(max_codepoint=255), max_size=60)


@given(LATIN)
def test_lengths_and_signs_stay(text: str) -> None:
    for changed in (segment(text, struck), name(text, struck), phrase(text, struck)):
        assert len(changed) == len(text)
        assert [a for a, b in zip(text, changed, strict=True) if a != b and b != "*"] == []


@pytest.mark.parametrize(
    "piece", ["a", "aB", "A", "Ab", "By", "1", "a1", "f1", "a-", "1-", "a.js", "a:", "a/1 ", "[", "é"]
)
def test_the_time_it_takes_is_linear_in_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        begin = time.process_time()
        for replaced in (segment, name, phrase):
            replaced(text, str)
        return time.process_time() - begin

    most = 150 * max(min(seconds(4_000) for _ in range(3)), 1e-4)
    assert any(seconds(80_000) < most for _ in range(3))
