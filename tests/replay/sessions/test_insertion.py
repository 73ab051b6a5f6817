"""Values are put where the rule says; a header that the request has already wins."""

import pytest

from logreplay.replay.sessions.insertion import Insertion
from logreplay.replay.sessions.request_text import header_of, target_of

GET = b"GET /a?t=old HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nContent-Length: 0\r\nHost: h\r\n\r\n"


def test_a_header_gets_the_value_or_a_text_around_it() -> None:
    assert header_of(Insertion.parse("t=header:X-Token").insert(GET, "v"), b"x-token") == b"v"
    bearer = Insertion.parse("t=header:Authorization: Bearer {}")
    assert header_of(bearer.insert(GET, "vé"), b"authorization") == "Bearer vé".encode()


def test_a_header_that_is_there_stays() -> None:
    given = GET.replace(b"Host", b"x-TOKEN: mine\r\nHost")
    rule = Insertion.parse("t=header:X-Token")
    assert rule.insert(given, "v") is given
    assert not rule.concerns(given)
    assert rule.concerns(GET)


def test_a_parameter_and_a_field() -> None:
    assert target_of(Insertion.parse("t=param:t").insert(GET, "v")) == b"/a?t=v"
    assert Insertion.parse("t=body:t").insert(POST, "v").endswith(b"\r\n\r\nt=v")


@pytest.mark.parametrize(
    ("rule", "get", "post"), [("t=param:t", True, False), ("t=param:z", False, False), ("t=body:t", False, True)]
)
def test_it_says_which_requests_take_the_value(rule: str, get: bool, post: bool) -> None:
    assert (Insertion.parse(rule).concerns(GET), Insertion.parse(rule).concerns(POST)) == (get, post)


@pytest.mark.parametrize(
    "text",
    ["", "t", "t=", "t=header:", "t=cookie:x", "t t=param:x", "t=header:a b", "t=header:Content-Length",
     "t=header:X: y", "t=header:X: {}\r\nY: z"],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        Insertion.parse(text)
