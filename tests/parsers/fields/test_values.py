"""One text of a log line becomes one value."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.fields import values


@pytest.mark.parametrize(
    ("logged", "meant"),
    [
        ("plain", "plain"),
        (r"caf\xC3\xA9", "caf\xc3\xa9"),
        (r"\x22\x5C\x09", '"\\\t'),
        (r"\"\\\n\r\t\b\v", '"\\\n\r\t\b\v'),
        (r"\xe9\x00", "\xe9\x00"),
        (r"\q\xZZ", r"\q\xZZ"),
        ("\\", "\\"),
    ],
)
def test_escapes_of_nginx_and_apache_are_undone(logged: str, meant: str) -> None:
    assert values.unescape(logged) == meant


def nginx_escaped(data: bytes) -> str:
    return "".join(chr(b) if 0x1F < b < 0x7F and b not in b'"\\' else f"\\x{b:02X}" for b in data)


def apache_escaped(data: bytes) -> str:
    named = {8: "\\b", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 34: '\\"', 92: "\\\\"}
    return "".join(named.get(b) or (chr(b) if 0x1F < b < 0x7F else f"\\x{b:02x}") for b in data)


@given(st.binary())
def test_any_bytes_survive_either_servers_escapes(data: bytes) -> None:
    assert values.unescape(nginx_escaped(data)).encode("latin-1") == data
    assert values.unescape(apache_escaped(data)).encode("latin-1") == data


@given(st.text())
def test_a_target_holds_no_blank_quote_control_or_line_end(text: str) -> None:
    quoted = values.quote(text)
    assert all(0x20 < ord(c) < 0x7F and c != '"' for c in quoted)
    assert values.quote(quoted) == quoted


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET /a HTTP/1.1", ("GET", "/a", "HTTP/1.1", "")),
        ("GET /a HTTP/2", ("GET", "/a", "HTTP/2", "")),
        ("  GET /a HTTP/1.1\r\n", ("GET", "/a", "HTTP/1.1", "")),
        ("GET /a?b=HTTP/1.1", ("GET", "/a?b=HTTP/1.1", "", "")),
        ("GET https://h:443/%%32?x HTTP/1.1", ("GET", "/%%32?x", "HTTP/1.1", "h:443")),
        ("GET http://[::1]:80/x HTTP/1.1", ("GET", "/x", "HTTP/1.1", "[::1]:80")),
        ("get /x HTTP/1.1", ("get", "/x", "HTTP/1.1", "")),
        ("GET //${jndi:ldap://x/y} HTTP/1.1", ("GET", "//${jndi:ldap://x/y}", "HTTP/1.1", "")),
        ('GET /a" "b\xe9 HTTP/1.1', ("GET", "/a%22%20%22b%E9", "HTTP/1.1", "")),
    ],
)
def test_request_lines(line: str, expected: tuple[str, str, str, str]) -> None:
    request = values.request(line)
    assert (request.op, request.url, request.protocol, request.host) == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "-",
        "- - - ",
        "\x16\x03\x01",
        "HELP",
        "CONNECT h:443 HTTP/1.1",
        "PRI * HTTP/2.0",
        "GET a HTTP/1.1",
        "<BADREQ>",
    ],
)
def test_what_is_no_replayable_request(line: str) -> None:
    with pytest.raises(values.Unreplayable):
        values.request(line)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("0.061", 1.0, 0.061),
        ("1020", 1e-3, 1.02),
        ("-", 1.0, None),
        ("", 1.0, None),
        ("-1", 1e-3, None),
        ("0.001, 0.041", 1.0, 0.042),
        ("0.100, - : 0.2", 1.0, 0.3),
        ("10/0/30/69", 1e-3, 0.109),
        ("0.086 0.048 -1", 1.0, 0.134),
        ("8.3E-05", 1.0, 8.3e-05),
        ("+109", 1e-3, 0.109),
        ("25ms", None, 0.025),
        ("1m2.5s", None, 62.5),
        ("357µs", None, 0.000357),
    ],
)
def test_durations(text: str, unit: float | None, value: float | None) -> None:
    assert values.seconds(text, unit) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(("text", "unit"), [("x", 1.0), ("1e99", 1.0), ("nan", 1.0), ("5", None), ("inf", 1.0)])
def test_what_is_no_duration_is_rejected(text: str, unit: float | None) -> None:
    with pytest.raises(values.Rejected, match=r"^duration$"):
        values.seconds(text, unit)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("10.0.0.7:443", "10.0.0.7"),
        ("::1", "::1"),
        ("[::1]:443", "::1"),
        ("10.0.0.2, 10.0.0.1, 127.0.0.1", "10.0.0.2"),
        ('"10.5.102.222, 199.96.1.1" 10.2.1.185', "10.5.102.222"),
        ("unix:", "unix"),
        ("unknown", ""),
        ("unknown:4711", ""),
        ("caf\xc3\xa9", "caf\xe9"),
        ("www.example.com", "www.example.com"),
        ("-", ""),
        ("", ""),
    ],
)
def test_addresses(text: str, address: str) -> None:
    assert values.address(text) == address


@pytest.mark.parametrize(("text", "value"), [("200", 200), ("-", 0), ("", 0), ("000", 0), ("502, 200", 200), ("-1", 0)])
def test_statuses(text: str, value: int) -> None:
    assert values.status(text) == value


@pytest.mark.parametrize("text", ["2000", "x", "²"])
def test_what_is_no_status_is_rejected(text: str) -> None:
    with pytest.raises(values.Rejected, match=r"^status$"):
        values.status(text)


@pytest.mark.parametrize(("text", "value"), [("17", 17), ("-", 0), ("-1", 0), ("+17", 17), ("", 0)])
def test_sizes(text: str, value: int) -> None:
    assert values.count(text) == value


@pytest.mark.parametrize("text", ["9" * 20, "9" * 5000, "x", "٣"])
def test_what_is_no_size_is_rejected(text: str) -> None:
    with pytest.raises(values.Rejected, match=r"^bytes$"):
        values.count(text)


@pytest.mark.parametrize(
    "text",
    [
        *(f"GET /{repeated * 200_000}x y" for repeated in (" ", " HTTP/1", " HTTP/1.1 ")),
        *(f"{repeated * 200_000}x" for repeated in (":", ".", "1.", "1", "1ms", "1.1", "\\", "\\x", "a:", "[", '"')),
    ],
    ids=lambda text: f"{text[:10]!r}…",
)
def test_what_is_repeated_in_a_value_is_read_in_one_go(text: str) -> None:
    """To try each of the places where a part may begin or end would take minutes."""
    for read in (values.count, values.status, values.request, values.address, values.free_text, values.unescape):
        with suppress(values.Rejected, values.Unreplayable):
            read(text)
    for unit in (1.0, None):
        with suppress(values.Rejected):
            values.seconds(text, unit)


@pytest.mark.parametrize(
    ("text", "found"),
    [("1.5s", 1.5), ("1m2.5s", 62.5), (".5ms", 0.0005), ("1.ms", 0.001), ("1h1ms", 3600.001), ("250ms", 0.25)],
)
def test_a_duration_may_say_its_units(text: str, found: float) -> None:
    assert values.seconds(text, None) == pytest.approx(found)


@pytest.mark.parametrize("text", ["1", "s", "1..5s", "1.2.3s", "1s.", "1 s", "-1s", "1S", "1sx"])
def test_a_duration_without_its_units_is_rejected(text: str) -> None:
    with pytest.raises(values.Rejected, match=r"^duration$"):
        values.seconds(text, None)


@given(st.text())
def test_no_text_makes_any_of_them_fail_otherwise(text: str) -> None:
    for read in (
        values.count,
        values.status,
        values.request,
        lambda t: values.seconds(t, 1.0),
        values.address,
        values.free_text,
    ):
        try:
            read(text)
        except (values.Rejected, values.Unreplayable):
            continue
