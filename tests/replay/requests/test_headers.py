"""The headers that a server receives: from the user, from the log, and of the sender's own."""

from pathlib import Path

import polars as pl
import pytest

from logreplay.core.record import REASON
from logreplay.replay.requests.filters import (
    Custom,
)
from logreplay.replay.requests.headers import (
    NO_CACHE,
    FixedHeader,
    HeaderFromLog,
    LoggedHeader,
    LoggedHost,
    LoggedProtocol,
    is_of_trace,
    parse_header,
)
from support.shaped_replay import HOSTILE, both_senders, server_saw, shaped, written


@both_senders
def test_headers_are_added_and_replace_our_own(shop: Path, sender: str) -> None:
    shapes = [
        FixedHeader.parse("X-Test: a: b"),
        FixedHeader("User-Agent", "robot"),
        FixedHeader("Cookie", "a=1"),
        *NO_CACHE,
    ]
    for one in server_saw(shaped(shop, *shapes), sender):
        assert one.header("x-test") == "a: b"
        assert one.header("user-agent") == "robot"
        assert one.header("cookie") == "a=1"
        assert one.header("cache-control") == one.header("pragma") == "no-cache"
        assert one.header("accept") == "*/*"


@both_senders
def test_a_header_may_be_given_twice(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, FixedHeader("X-A", "1"), FixedHeader("X-A", "2")), sender)
    assert [value for name, value in seen[0].headers if name == "x-a"] == ["1", "2"]


@both_senders
def test_of_a_header_that_stands_once_the_last_one_is_sent(shop: Path, sender: str) -> None:
    shapes = FixedHeader("Host", "a.example"), FixedHeader("host", "b.example"), FixedHeader("user-agent", "robot")
    last = Custom(lambda frame: frame.with_columns(pl.lit("c.example").alias("header:HOST")))
    for one in server_saw(shaped(shop, *shapes, LoggedHeader("User-Agent", "agent"), last), sender):
        assert one.header("host") == "c.example"
        assert one.header("user-agent") in ("Firefox", "Chrome", "probe")


@both_senders
def test_the_sender_s_own_header_goes_only_where_no_other_of_its_name_does(shop: Path, sender: str) -> None:
    log = LoggedHeader("Accept", "referer"), FixedHeader("accept", "text/html")
    for one in server_saw(shaped(shop, *log), sender):
        accepted = [value for name, value in one.headers if name == "accept"]
        assert accepted in (["text/html"], ["https://shop.example/list", "text/html"])


@both_senders
def test_agent_referer_and_host_come_from_the_log(shop: Path, sender: str) -> None:
    shapes = LoggedHeader("User-Agent", "agent"), LoggedHeader("Referer", "referer"), LoggedHost()
    seen = server_saw(shaped(shop, *shapes), sender)
    assert [one.header("user-agent") for one in seen[:3]] == ["Firefox", "Chrome", "Firefox"]
    assert [one.header("referer") for one in seen[:3]] == [None, "https://shop.example/list", None]
    assert seen[0].header("host") == "shop.example"
    probe = next(one for one in seen if one.target == "/health")
    assert str(probe.header("host")).startswith("127.0.0.1:")


@both_senders
def test_a_host_name_does_not_move_the_request(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, FixedHeader("Host", "www.example.com")), sender)
    assert {one.header("host") for one in seen} == {"www.example.com"}


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Expect", "Upgrade", "a b", ""])
def test_headers_that_would_change_the_message_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is written by the sender|is not the name of a header"):
        FixedHeader(name, "1")
    with pytest.raises(ValueError, match="holds a control byte"):
        FixedHeader("X-A", "1\r\nX-B: 2")


@both_senders
def test_values_of_a_log_add_no_header_and_no_request(tmp_path: Path, sender: str) -> None:
    frame = pl.read_csv(written(tmp_path / "plain.csv", "GET / 200 10.0.0.1"), infer_schema=False)
    hostile = frame.with_columns(agent=pl.lit(HOSTILE), referer=pl.lit(HOSTILE), host=pl.lit(HOSTILE))
    hostile.write_csv(tmp_path / "hostile.csv")
    shapes = LoggedHeader("User-Agent", "agent"), LoggedHeader("Referer", "referer"), LoggedHost()
    (one,) = server_saw(shaped(tmp_path / "hostile.csv", *shapes), sender)
    assert one.target == "/"
    assert one.header("x-injected") is None
    assert str(one.header("host")).startswith("127.0.0.1:")
    assert str(one.header("user-agent")).startswith("x X-Injected: 1 GET /injected")


@both_senders
@pytest.mark.parametrize("header", ["X-Forwarded-For: log", "Forwarded: log", "X-Kind: log:agent", "X-Own: log"])
def test_a_hostile_value_of_the_log_is_masked_or_not_sent(tmp_path: Path, sender: str, header: str) -> None:
    frame = pl.read_csv(written(tmp_path / "plain.csv", "GET / 200 10.0.0.1"), infer_schema=False)
    own = f"X-Own: {HOSTILE}".replace("\n", "\v")
    hostile = frame.with_columns(agent=pl.lit(HOSTILE), client=pl.lit(HOSTILE), headers=pl.lit(own))
    hostile.write_csv(tmp_path / "hostile.csv")
    (one,) = server_saw(shaped(tmp_path / "hostile.csv", parse_header(header)), sender)
    assert one.target == "/"
    assert one.header("x-injected") is None
    assert one.header("host") != "a"
    sent = one.header(header.partition(":")[0].lower())
    assert sent is None if header.startswith("Forwarded") else str(sent).startswith("x X-Injected: 1 GET /injected")


@pytest.mark.parametrize(
    ("logged", "sent"),
    [
        ("192.0.2.1", "for=192.0.2.1"),
        ("192.0.2.1:4711", 'for="192.0.2.1:4711"'),
        ("2001:db8::1", 'for="[2001:db8::1]"'),
        ("[2001:db8::1]", 'for="[2001:db8::1]"'),
        ("192.0.2.1, ::1", 'for=192.0.2.1, for="[::1]"'),
        ("for=192.0.2.1;proto=https", "for=192.0.2.1;proto=https"),
        *((text, None) for text in ("shop.example", "192.0.2.1, shop.example", "-", "", "\r\n", None)),
    ],
)
def test_an_address_stands_in_forwarded_as_its_syntax_wants(logged: str | None, sent: str | None) -> None:
    frame = pl.DataFrame({"client": [logged]}, schema={"client": pl.String})
    assert HeaderFromLog("Forwarded", "client")(frame)["header:Forwarded"].to_list() == [sent]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("X-Forwarded-For: log", "client"),
        ("x-real-ip:log", "client"),
        ("X-Real-IP: log:forwarded_for", "forwarded_for"),
        ("X-Real-IP: log: forwarded_for", "forwarded_for"),
        ("User-Agent: log:device", "device"),
        ("X-Own: log", "headers"),
        ("traceparent: log", "headers"),
    ],
)
def test_a_header_of_the_log_names_its_column(text: str, column: str) -> None:
    assert parse_header(text) == HeaderFromLog(text.partition(":")[0], column)


def test_a_header_that_a_capture_has_several_times_is_sent_with_all_values() -> None:
    texts = ["A: 1\tX-Own: 1\tx-own: 2: b", "X-Owner: 3", None, "Cookie: a=1\tCookie: b=2"]
    frame = pl.DataFrame({"headers": texts}, schema={"headers": pl.String})
    assert HeaderFromLog("X-Own", "headers")(frame)["header:X-Own"].to_list() == ["1, 2: b", None, None, None]
    assert HeaderFromLog("Cookie", "headers")(frame)["header:Cookie"].to_list()[3] == "a=1; b=2"


@pytest.mark.parametrize(("text", "named"), [("X-A: log:", "names no column"), ("TE: log", "is written by the sender")])
def test_what_cannot_be_a_header_of_the_log_is_refused(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        parse_header(text)


@pytest.mark.parametrize(
    ("text", "name", "value"), [("X-A:b", "X-A", "b"), (" X-A : b: c ", "X-A", "b: c"), ("X-A:", "X-A", "")]
)
def test_a_header_is_read_at_its_first_colon(text: str, name: str, value: str) -> None:
    assert FixedHeader.parse(text) == FixedHeader(name, value)


def test_a_text_that_is_no_header_is_told_only_to_its_first_blank() -> None:
    with pytest.raises(ValueError, match=r"^'Bearer'… is not a header; write 'Name: value', or log$"):
        FixedHeader.parse("Bearer hunter2")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("traceparent", "tracestate", "b3", "x-b3-sampled", "x-amzn-trace-id")),
        *((name, True) for name in ("x-request-id", "x-datadog-parent-id", "x-cloud-trace-context", "uber-trace-id")),
        *((name, False) for name in ("accept", "x-b30", "cookie", "x-request", "idempotency-key", "my-traceparent")),
    ],
)
def test_headers_of_traces_are_known_by_their_names(name: str, expected: bool) -> None:
    assert is_of_trace(name) == expected


@pytest.mark.parametrize(
    ("host", "sent"),
    [
        ("shop.example", True),
        ("shop.example:8080", True),
        ("[::1]:80", True),
        ("10.0.0.1", True),
        ("user@shop.example", False),
        ("a b", False),
        ("a/b", False),
        ("a:123456", False),
        ("a\n", False),
        ("", False),
        (None, False),
    ],
)
def test_what_is_no_host_name_is_not_sent(host: str | None, sent: bool) -> None:
    shaped_frame = LoggedHost()(pl.DataFrame({"host": [host]}, schema={"host": pl.String}))
    assert shaped_frame["header:Host"].to_list() == [host if sent else None]


@pytest.mark.parametrize(
    ("logged", "sent", "reason"),
    [
        ("HTTP/1.1", "HTTP/1.1", None),
        ("HTTP/1.0", "HTTP/1.1", None),
        ("HTTP/2.0", "HTTP/2.0", None),
        ("HTTP/2", "HTTP/2.0", None),
        ("h2", "HTTP/2.0", None),
        ("http/1.1", "HTTP/1.1", None),
        ("HTTP/3.0", None, "protocol other than HTTP/1 and HTTP/2"),
        ("\x1b[31m", None, "protocol other than HTTP/1 and HTTP/2"),
        ("-", None, "no protocol"),
        (None, None, "no protocol"),
    ],
)
def test_the_protocol_of_the_log_is_one_that_is_spoken(
    logged: str | None, sent: str | None, reason: str | None
) -> None:
    frame = pl.DataFrame({"protocol": [logged]}, schema={"protocol": pl.String})
    assert LoggedProtocol()(frame).rows(named=True) == [{"protocol": sent, REASON: reason}]
