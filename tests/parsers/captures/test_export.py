"""Rows of a CSV as requests for other tools."""

from pathlib import Path

from logreplay.core.quantities import iso
from logreplay.parsers.captures.export import exported, message, only_text, url_of

CORE = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


def test_a_log_without_headers_and_host_gives_what_its_columns_say(tmp_path: Path) -> None:
    row = "2026-11-20,10:00:00.250000,0.5,0.25,0,7,/a?b,200,POST,curl,a=1"
    (tmp_path / "log.csv").write_text(f"{CORE},agent,body\n{row}\n")
    (one,) = exported(tmp_path / "log.csv", "")
    assert (url_of(one), one.headers, one.body) == ("http://localhost/a?b", [("User-Agent", "curl")], b"a=1")
    assert iso(one.start) == "2026-11-20T10:00:00.250000Z"
    assert message(one) == (
        b"POST /a?b HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl\r\nContent-Length: 3\r\n\r\na=1"
    )


def test_user_agent_and_referer_of_the_columns_stand_beside_other_headers(tmp_path: Path) -> None:
    rows = ("Accept: */*", "user-agent: own\tReferer: /own")
    lines = (f"2026-11-20,10:00:00,0,0,0,7,/a,200,GET,curl,/from,{headers}\n" for headers in rows)
    (tmp_path / "log.csv").write_text(f"{CORE},agent,referer,headers\n{''.join(lines)}")
    one, other = exported(tmp_path / "log.csv", "")
    assert one.headers == [("Accept", "*/*"), ("User-Agent", "curl"), ("Referer", "/from")]
    assert other.headers == [("user-agent", "own"), ("Referer", "/own")]


def test_only_utf_8_is_text() -> None:
    assert only_text("é".encode()) == "é"
    assert only_text(b"\xff") is None
