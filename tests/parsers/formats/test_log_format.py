"""Any log_format or LogFormat: what a server writes by it is read back."""

import re

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.fields import values as fields
from logreplay.parsers.formats.log_format import apache_format, nginx_format

BYTES = st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"").decode("latin-1"))
NAMES = st.from_regex(r"[!-~]{1,10}", fullmatch=True)
SECONDS = st.integers(0, 99_999).map(lambda ms: f"{ms / 1000:.3f}")
LISTS = st.lists(SECONDS, min_size=1, max_size=3).flatmap(
    lambda values: st.sampled_from([", ", " : "]).map(lambda gap: gap.join(values))
)
PATHS = BYTES.map(lambda text: "/" + text.replace(" ", ""))
GAPS = st.sampled_from([" ", "  ", " - ", "\t", "|", " | ", " [", "] ", " rt=", ","])

UNQUOTED = {
    "remote_addr": st.ip_addresses().map(str),
    "status": st.integers(102, 599).map(str),  # 101 is no request to replay
    "body_bytes_sent": st.integers(0, 10**12).map(str),
    "request_length": st.integers(0, 10**9).map(str),
    "request_time": SECONDS,
    "upstream_header_time": st.one_of(SECONDS, LISTS),
    "connection": st.integers(1, 10**9).map(str),
    "pipe": st.sampled_from([".", "p"]),
}
QUOTED = {"http_referer": BYTES, "http_user_agent": BYTES, "http_x_unknown": BYTES, "host": NAMES}


def nginx_escaped(text: str) -> str:
    return "".join(c if 0x1F < ord(c) < 0x7F and c not in '"\\' else f"\\x{ord(c):02X}" for c in text)


@st.composite
def logged(draw: st.DrawFn) -> tuple[str, str, dict[str, str]]:
    """A log_format, a line written by it, and the values in the line."""
    variables = draw(st.permutations([*UNQUOTED, *QUOTED, "request", "time_local"]))
    variables = [name for name in variables if name in ("request", "time_local") or draw(st.booleans())]
    values = {name: draw(kind) for name, kind in {**UNQUOTED, **QUOTED}.items()}
    values["request"] = f"{draw(st.sampled_from(['GET', 'POST', 'M-SEARCH']))} {draw(PATHS)} HTTP/1.1"
    values["time_local"] = "20/Nov/2026:18:58:56 +0100"
    form, line = "", ""
    for name in variables:
        quote = '"' if name in QUOTED or name == "request" else ""
        gap = draw(GAPS) if form else ""
        # a list of times holds blanks and commas, an address colons: a gap of just these would be anybody's guess
        gap = " # " if form and (gap.strip(" ") in ("", ",", "-") or gap == "\t") else gap
        form += f"{gap}{quote}${name}{quote}"
        line += f"{gap}{quote}{nginx_escaped(values[name])}{quote}"
    return form, line, {name: values[name] for name in variables}


@given(logged())
@example(
    (
        '"$request" # "$http_referer" # $time_local',
        '"GET / HTTP/1.1" # " " # 20/Nov/2026:18:58:56 +0100',
        {"request": "GET / HTTP/1.1", "http_referer": " ", "time_local": "20/Nov/2026:18:58:56 +0100"},
    )
)
def test_what_nginx_writes_by_a_random_log_format_is_read_back(case: tuple[str, str, dict[str, str]]) -> None:
    form, line, values = case
    parsed = parse(pl.Series([line]), [nginx_format(form)])
    assert parsed.refusals == []
    row = parsed.rows.row(0, named=True)
    op, path, _ = (values["request"].partition(" ")[0], values["request"].split(" ", 1)[1].rsplit(" ", 1)[0], "")
    assert (row["op"], row["url"], row["us"]) == (op, fields.quote(path.strip(" ")), 1_795_197_536_000_000)
    if "status" in values:
        assert row["rc"] == int(values["status"])
    if "body_bytes_sent" in values:
        assert row["bytes"] == int(values["body_bytes_sent"])
    if "remote_addr" in values:
        assert row["client"] == values["remote_addr"]
    if "request_time" in values:
        assert row["latency"] + row["xfertime"] == pytest.approx(float(values["request_time"]))
    for name, column in {"http_user_agent": "agent", "http_referer": "referer"}.items():
        if name in values:
            assert (row[column] or "") == fields.free_text(values[name])


def apache_escaped(text: str) -> str:
    named = {8: "\\b", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 34: '\\"', 92: "\\\\"}
    return "".join(named.get(ord(c)) or (c if 0x1F < ord(c) < 0x7F else f"\\x{ord(c):02x}") for c in text)


@given(BYTES, BYTES, BYTES, PATHS, st.integers(0, 10**9))
def test_what_apache_writes_is_read_back(user: str, agent: str, referer: str, path: str, took: int) -> None:
    logged_user = apache_escaped(user) or '""'
    line = (
        f'10.0.0.7 - {logged_user} [20/Nov/2026:18:58:56 +0100] "GET {apache_escaped(path)} HTTP/1.1" 200 17 '
        f'"{apache_escaped(referer)}" "{apache_escaped(agent)}" **{took // 10**6}/{took}**'
    )
    form = apache_format('%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" **%T/%D**')
    parsed = parse(pl.Series([line]), [form])
    assert parsed.refusals == []
    row = parsed.rows.row(0, named=True)
    assert row["url"] == fields.quote(path.strip(" "))
    assert row["latency"] == pytest.approx(took / 1e6)
    assert (row["agent"] or "") == fields.free_text(agent)
    assert (row["referer"] or "") == fields.free_text(referer)
    assert row["client"] == "10.0.0.7"


@pytest.mark.parametrize(
    ("form", "line", "us"),
    [
        ("%t %m %U%q", "[20/Nov/2026:18:58:56 +0100] GET /a ?b=c", None),
        ("%t %m %U%q", "[20/Nov/2026:18:58:56 +0100] GET /a?b=c", 1_795_197_536_000_000),
        ("%{begin:usec}t %{end:usec}t %m %U%q", "1795197536000001 1795197537000000 GET /a?b=c", 1_795_197_536_000_001),
        ("%{end:msec}t %D %m %U%q", "1795197536500 500000 GET /a?b=c", 1_795_197_536_500_000),
        ("%{sec}t.%{usec_frac}t %m %U%q", "1795197536.000123 GET /a?b=c", 1_795_197_536_000_000),
        ("%{%F %T}t.%{msec_frac}t %m %U%q", "2026-11-20 17:58:56.123 GET /a?b=c", 1_795_197_536_123_000),
        ("%{%d/%b/%Y %H:%M:%S %z}t %m %U%q", "20/Nov/2026 18:58:56 +0100 GET /a?b=c", 1_795_197_536_000_000),
        (
            "%400,501{User-agent}i %!200s %t %m %U%q %%",
            "- - [20/Nov/2026:18:58:56 +0100] GET /a?b=c %",
            1_795_197_536_000_000,
        ),
    ],
)
def test_apache_directives(form: str, line: str, us: int | None) -> None:
    rows = parse(pl.Series([line]), [apache_format(form)]).rows
    if us is None:
        assert rows.height == 0 or rows["url"][0] != "/a?b=c"
    else:
        assert rows.select("us", "op", "url").rows() == [(us, "GET", "/a?b=c")]


def test_the_end_of_a_request_less_its_duration_is_its_start() -> None:
    rows = parse(pl.Series(["1795197536500 500000 GET /a"]), [apache_format("%{end:msec}t %D %m %U")]).rows
    assert rows["us"][0] - rows["back"][0] == 1_795_197_536_000_000


def test_braces_and_unknown_variables_are_understood() -> None:
    form = nginx_format('${remote_addr}x $new_variable "$request" ${status}')
    rows = parse(pl.Series(['10.0.0.7x what ever "GET /a HTTP/1.1" 204']), [form]).rows
    assert rows.select("client", "url", "rc").rows() == [("10.0.0.7", "/a", 204)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no variables", "no variable in it"),
        ("$remote_addr $status", "does not log the request"),
    ],
)
def test_formats_that_are_of_no_use_are_named(text: str, problem: str) -> None:
    with pytest.raises(LogreplayError, match=re.escape(f"log format {text!r}: ") + f".*{problem}"):
        nginx_format(text)
