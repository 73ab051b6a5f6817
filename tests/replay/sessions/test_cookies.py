"""Cookies are read, kept and sent back as RFC 6265bis says, to the host that set them and to no other."""

import re
import time
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.sessions import cookies
from logreplay.replay.sessions.cookies import CookieJar, host_name, parse_set_cookie

NOW = 1_750_000_000.0


def stored(jar: CookieJar, header: bytes, *, host: str = "shop.test", target: bytes = b"/", secure: bool = True) -> str:
    return jar.store(header, host=host, target=target, secure=secure, now=NOW)


def sent(
    jar: CookieJar, *, host: str = "shop.test", target: bytes = b"/", secure: bool = True, now: float = NOW
) -> bytes:
    return jar.header(host=host, target=target, secure=secure, now=now)


def after(*headers: bytes, **asked: object) -> bytes:
    jar = CookieJar()
    for header in headers:
        stored(jar, header)
    return sent(jar, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "cookie"),
    [
        (b"a=b", b"a=b"),
        (b"  a  =  b c  ; Path=/", b"a=b c"),
        (b'a="b"', b'a="b"'),
        (b"a=", b"a="),
        (b"=b", b"b"),
        (b"b", b"b"),
        (b"a=b=c", b"a=b=c"),
        (b"a=\xc3\xa9\xff", b"a=\xc3\xa9\xff"),
        (b"a=b;;; ;HttpOnly;SameSite=Strict;Partitioned", b"a=b"),
        (b"a=b; max-age=x; expires=never; path=relative", b"a=b"),
    ],
)
def test_what_a_target_sets_is_sent_back(header: bytes, cookie: bytes) -> None:
    assert after(header) == cookie


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"=",
        b" ; Path=/",
        b"a=b\x00",
        b"a=b\r\nX: y",
        b"a=\nb",
        b"a\x7f=b",
        b"a=" + b"x" * 4096,
        b"a=b; Domain=\xff",
    ],
)
def test_what_is_no_cookie_is_refused(header: bytes) -> None:
    jar = CookieJar()
    assert stored(jar, header) == "invalid or too long"
    assert len(jar) == 0


@pytest.mark.parametrize(
    ("attributes", "lives_s"),
    [
        (b"", inf),
        (b"; Max-Age=60", 60),
        (b"; Max-Age=0", -1),
        (b"; Max-Age=-5", -1),
        (b"; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60),
        (b"; Max-Age=" + b"9" * 900, 400 * 86_400),
        (b"; Expires=Sun, 15 Jun 2025 15:07:40 GMT", 60),
        (b"; Expires=Sunday, 15-Jun-25 15:07:40 GMT", 60),
        (b"; Expires=Sun Jun 15 15:07:40 2025", 60),
        (b"; Expires=Sun, 15 Jun 1970 15:07:40 GMT", -1),
        (b"; Expires=Thu, 01 Jan 1970 00:00:00 GMT", -1),
        (b"; Expires=Sun, 32 Jun 2025 15:07:40 GMT", inf),
        (b"; Expires=Sun, 15 Jun 2025 25:07:40 GMT", inf),
        (b"; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 400 * 86_400),
        (b"; Expires=Fri, 31 Dec 1500 23:59:59 GMT", inf),
    ],
)
def test_a_cookie_lives_as_long_as_it_says(attributes: bytes, lives_s: float) -> None:
    jar = CookieJar()
    stored(jar, b"a=b" + attributes)
    if lives_s < 0:
        assert len(jar) == 0
        return
    end = NOW + (lives_s if lives_s < inf else 1e9)
    assert sent(jar, now=end - 1) == b"a=b"
    assert (sent(jar, now=end + 1) == b"") == (lives_s < inf)


def test_a_cookie_that_has_expired_deletes_the_one_before() -> None:
    assert after(b"a=b", b"a=; Max-Age=0") == b""
    assert after(b"a=b", b"a=; Max-Age=0; Path=/other") == b"a=b"


@pytest.mark.parametrize(
    ("host", "domain", "goes_to", "not_to"),
    [
        ("www.shop.test", "", ["www.shop.test"], ["shop.test", "a.www.shop.test"]),
        ("www.shop.test", "shop.test", ["www.shop.test", "shop.test", "a.shop.test"], ["evilshop.test", "test"]),
        ("www.shop.test", ".Shop.TEST", ["shop.test"], ["other.test"]),
        ("127.0.0.1", "127.0.0.1", ["127.0.0.1"], ["1.127.0.0.1"]),
        ("localhost", "localhost", ["localhost"], ["a.localhost"]),
        ("::1", "", ["::1"], ["::2"]),
    ],
)
def test_a_cookie_goes_to_its_domain_only(host: str, domain: str, goes_to: list[str], not_to: list[str]) -> None:
    jar = CookieJar()
    assert stored(jar, b"a=b" + (b"; Domain=" + domain.encode() if domain else b""), host=host) == ""
    assert [sent(jar, host=each) for each in goes_to] == [b"a=b"] * len(goes_to)
    assert [sent(jar, host=each) for each in not_to] == [b""] * len(not_to)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("shop.test", "other.test"),
        ("shop.test", "www.shop.test"),
        ("shop.test", "test"),
        ("evilshop.test", "shop.test"),
        ("10.0.0.1", "0.0.1"),
        ("shop.test", "10.0.0.1"),
        ("shop.test", ".."),
    ],
)
def test_a_cookie_of_another_domain_is_refused(host: str, domain: str) -> None:
    assert stored(CookieJar(), b"a=b; Domain=" + domain.encode(), host=host) == "of another domain"


@pytest.mark.parametrize(
    ("set_at", "path", "goes_to", "not_to"),
    [
        (b"/", b"", [b"/", b"/a", b"/a/b?c"], []),
        (b"/a/b", b"", [b"/a", b"/a/", b"/a/x", b"/a?x=/"], [b"/", b"/ab", b"/b"]),
        (b"/a/b", b"/", [b"/", b"/x"], []),
        (b"/x", b"/a/", [b"/a/", b"/a/b"], [b"/a", b"/ab"]),
        (b"*", b"", [b"/", b"*"], []),
    ],
)
def test_a_cookie_goes_to_its_path_only(set_at: bytes, path: bytes, goes_to: list[bytes], not_to: list[bytes]) -> None:
    jar = CookieJar()
    stored(jar, b"a=b; Path=" + path, target=set_at)
    assert [sent(jar, target=each) for each in goes_to] == [b"a=b"] * len(goes_to)
    assert [sent(jar, target=each) for each in not_to] == [b""] * len(not_to)


def test_a_secure_cookie_needs_a_secure_connection() -> None:
    jar = CookieJar()
    assert stored(jar, b"a=b; Secure", secure=False) == "Secure, and the connection is not"
    assert stored(jar, b"a=b; Secure") == ""
    assert (sent(jar), sent(jar, secure=False)) == (b"a=b", b"")


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (b"__Host-a=b; Secure; Path=/", True),
        (b"__Host-a=b; Secure; Path=/x", False),
        (b"__Host-a=b; Secure", False),
        (b"__HOST-a=b; Path=/", False),
        (b"__Host-a=b; Secure; Path=/; Domain=shop.test", False),
        (b"__Secure-a=b; Secure; Domain=shop.test", True),
        (b"__Secure-a=b", False),
        (b"=__Secure-a=b; Secure", False),
    ],
)
def test_a_prefix_keeps_its_promise(header: bytes, kept: bool) -> None:
    assert (stored(CookieJar(), header) == "") == kept


def test_longer_paths_and_older_cookies_come_first() -> None:
    assert after(b"a=1", b"b=2; Path=/x", b"c=3", b"a=4", target=b"/x") == b"b=2; a=4; c=3"


def test_a_jar_is_bounded_in_number_and_size() -> None:
    jar = CookieJar()
    for number in range(200):
        stored(jar, b"n%d=v" % number)
    assert len(jar) == cookies.MOST_COOKIES
    assert sent(jar).startswith(b"n150=v; ")
    for number in range(20):
        stored(jar, b"m%d=" % number + b"x" * 4000)
    assert jar.size <= cookies.MOST_BYTES
    assert sent(jar).endswith(b"m19=" + b"x" * 4000)


def test_what_has_expired_is_dropped_before_what_is_old() -> None:
    jar = CookieJar()
    stored(jar, b"old=1")
    jar.store(b"gone=1; Max-Age=1", host="shop.test", target=b"/", secure=True, now=NOW - 2)
    for number in range(cookies.MOST_COOKIES - 1):
        stored(jar, b"n%d=v" % number)
    assert b"old=1" in sent(jar)
    assert len(jar) == cookies.MOST_COOKIES


@pytest.mark.parametrize(
    ("authority", "host"),
    [("Shop.TEST:8080", "shop.test"), ("[::1]:80", "::1"), ("127.0.0.1", "127.0.0.1"), ("", "")],
)
def test_a_host_is_a_name_without_its_port(authority: str, host: str) -> None:
    assert host_name(authority) == host


attribute = st.sampled_from(
    [b"; Path=/", b"; Path=/a", b"; Domain=shop.test", b"; Domain=test", b"; Max-Age=5", b"; Max-Age=0", b"; Secure"]
)
header = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda name, value, rest: name + b"=" + value + b"".join(rest),
        st.sampled_from([b"a", b"b", b"__Host-c", b""]),
        st.binary(max_size=8),
        st.lists(attribute, max_size=4),
    ),
)


@given(st.lists(st.tuples(header, st.sampled_from(["shop.test", "www.shop.test", "other.test"])), max_size=40))
def test_whatever_is_set_no_cookie_leaves_its_host_or_breaks_a_line(answers: list[tuple[bytes, str]]) -> None:
    """Values name the host that set them: none comes to a host that its own domain does not reach."""
    jar = CookieJar()
    for place, (text, host) in enumerate(answers):
        marked = re.sub(rb"=", b"=%d-%s-" % (place, host.encode()), text, count=1)
        jar.store(marked, host=host, target=b"/a/b", secure=False, now=NOW)
        assert jar.size <= cookies.MOST_BYTES
        assert len(jar) <= cookies.MOST_COOKIES
    for host in ("shop.test", "www.shop.test", "other.test", "evilshop.test"):
        line = jar.header(host=host, target=b"/a/c", secure=False, now=NOW)
        assert not re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", line)
        if host == "other.test":
            assert b"shop.test" not in line
        if host == "evilshop.test":
            assert line == b""


def test_a_huge_header_is_read_in_no_time() -> None:
    began = time.process_time()
    assert parse_set_cookie(b"a=b" + b";" * 1_000_000, NOW) is not None
    assert parse_set_cookie(b"a=b; Expires=" + b"1:" * 500, NOW) is not None
    assert time.process_time() - began < 5
