"""What ``-f`` may say."""

import re
import sys
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.format_spec import BY_CONTENT, NAMES, OTHER_NAMES, defined

LINE = '10.0.0.7 [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200 0.061'


def found(text: str) -> Format:
    format = defined(text)
    assert format is not None
    return format


def latency(format: Format, line: str = LINE) -> float:
    rows = parse(pl.Series([line]), [format]).rows
    return float(rows["latency"][0])


@pytest.mark.parametrize("name", [*NAMES, *OTHER_NAMES])
def test_names(name: str) -> None:
    assert found(name).name == OTHER_NAMES.get(name, name)


@pytest.mark.parametrize("name", ["auto", *BY_CONTENT])
def test_names_that_need_a_look_at_the_log(name: str) -> None:
    assert defined(name) is None


@pytest.mark.parametrize(
    "text",
    [
        '$remote_addr [$time_local] "$request" $status $request_time',
        "log_format timed '$remote_addr [$time_local] \"$request\" '\n  '$status $request_time';",
        'log_format timed escape=default "$remote_addr [$time_local] \\"$request\\" $status $request_time";',
    ],
)
def test_log_formats_as_text(text: str) -> None:
    assert latency(found(text)) == 0.061


@pytest.mark.parametrize(
    "text", ['%h %t "%r" %>s %D', r"%h %t \"%r\" %>s %D", 'LogFormat "%h %t \\"%r\\" %>s %D" timed']
)
def test_log_formats_of_apache_as_text(text: str) -> None:
    assert latency(found(text), LINE.replace("0.061", "61000")) == 0.061


@pytest.mark.parametrize("coding", ["utf-8", "latin-1"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            'größe=$body_bytes_sent [$time_local] "$request" é',
            'größe=7 [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" é',
        ),
        ('größe=%b %t "%r" é', 'größe=7 [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" é'),
        ('{"größe":$body_bytes_sent,"weg":"$request"}', '{"größe":7,"weg":"GET /a HTTP/1.1"}'),
        (r'{"gr\u00f6\u00dfe":$body_bytes_sent,"weg":"$request"}', r'{"gr\u00f6\u00dfe":7,"weg":"GET /a HTTP/1.1"}'),
    ],
)
def test_letters_beyond_ascii_in_a_format_match_the_bytes_that_the_user_typed(
    text: str, line: str, coding: str, tmp_path: Path
) -> None:
    """Those of UTF-8 never matched: lines are read as one character a byte."""
    format = found(text.encode(coding).decode("utf-8", "surrogateescape"))
    (row,) = parse(text_lines(line.encode(coding)), [format]).rows.to_dicts()
    assert (row["bytes"], row["url"]) == (7, "/a")


@pytest.mark.parametrize("coding", ["utf-8", "latin-1"])
def test_letters_beyond_ascii_in_a_configuration_match_its_bytes(coding: str, tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_bytes('LogFormat "größe=%b %t \\"%r\\"" mine\n'.encode(coding))
    line = 'größe=7 [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1"'.encode(coding)
    rows = parse(text_lines(line), [found(f"{tmp_path}/a.conf#mine")]).rows
    assert rows["bytes"].to_list() == [7]


def test_json_formats_are_read_as_json() -> None:
    format = found(
        'log_format j escape=json \'{"a":"$remote_addr","r":"$request","s":$status,"t":$request_time,"m":$msec}\';'
    )
    line = r'{"m":1795197536.5,"a":"::1","r":"GET /\u00e9\"x HTTP/1.1","s":200,"t":0.5}'
    rows = parse(pl.Series([line]), [format]).rows
    assert rows.select("client", "url", "latency", "us").rows() == [("::1", "/%E9%22x", 0.5, 1_795_197_536_500_000)]


def test_a_format_in_an_nginx_configuration_with_includes(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text("events {}\nhttp { include formats/*.conf; }\n")
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "a.conf").write_text(
        "log_format timed '$remote_addr [$time_local] \"$request\" '\n '$status\\t$request_time';"
    )
    format = found(f"{tmp_path}/nginx.conf#timed")
    assert latency(format, LINE.replace(" 0.061", "\t0.061")) == 0.061


def test_combined_is_in_every_nginx_configuration(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text("events {}\nhttp { access_log /var/log/access.log; }\n")
    assert found(f"{tmp_path}/nginx.conf#combined").name == "combined"


def test_a_format_in_an_apache_configuration(tmp_path: Path) -> None:
    (tmp_path / "apache2.conf").write_text('ServerRoot /etc\nLogFormat "%h %t \\"%r\\" %>s \\\n%D" timed\n')
    assert latency(found(f"{tmp_path}/apache2.conf#timed"), LINE.replace("0.061", "61000")) == 0.061


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nope", "format 'nope': no such name, and no log_format or LogFormat either; known names: "),
        ("/no/such.conf#x", "/no/such.conf: cannot be read: No such file or directory"),
        ("$remote_addr", "log format '$remote_addr': it does not log the request"),
        ('{"a":"$status"}', "log format log_format: it does not log the request"),
        ('{"a":$request,}', "log format log_format: looks like JSON, but cannot be parsed: "),
    ],
)
def test_what_is_no_format_is_said(text: str, problem: str) -> None:
    with pytest.raises(LogreplayError, match="^" + re.escape(problem)):
        defined(text)


def test_a_missing_format_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    conf = tmp_path / "nginx.conf"
    conf.write_text("events {}\nhttp { log_format a '$request'; log_format b '$request'; }\n")
    with pytest.raises(LogreplayError, match=rf"^{re.escape(str(conf))}: no log format 'c'; it has: a, b$"):
        defined(f"{conf}#c")
    with pytest.raises(LogreplayError, match=rf"^format {re.escape(str(conf))}: name one .*, such as {conf}#a$"):
        defined(str(conf))


def test_an_unknown_name_is_answered_with_the_nearest_and_the_number_of_the_others() -> None:
    with pytest.raises(LogreplayError, match=r"known names: cloudfront, .* and \d+ others \(docs/formats.md\)") as told:
        defined("cloudfrnt")
    assert len(str(told.value)) < 300


def test_without_crossplane_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nginx.conf").write_text("events {}\n")
    monkeypatch.setitem(sys.modules, "crossplane", None)
    with pytest.raises(
        LogreplayError, match=r"needs the extra `nginx`: pip install .*\[nginx\]'; or give the log_format"
    ):
        defined(f"{tmp_path}/nginx.conf#timed")


def test_a_broken_nginx_configuration_is_said(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text("http {\n")
    with pytest.raises(LogreplayError, match=r"nginx.conf: line \d: unexpected end of file"):
        defined(f"{tmp_path}/nginx.conf#timed")
