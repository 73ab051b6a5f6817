"""One bad line costs one line: no number, date, byte or nesting in a log ends its conversion."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.formats import ALL
from fuzz.formats import JSON as ANY_JSON
from fuzz.formats import LTSV as ANY_LTSV
from logreplay.core.errors import LogreplayError
from logreplay.core.record import start_time
from logreplay.core.rows import read_batches, scan
from logreplay.parsers.conversion import parse as rows
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.conversion.report import ConvertReport
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.json_writers import JSON_FORMATS
from support.format_samples import SAMPLES

COMBINED = '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "-" "curl/8.5.0"'
TIMED = COMBINED + " 0.061"
JSON = (
    '{"time":"2026-11-20T18:58:56+01:00","remote_addr":"10.0.0.7","method":"GET","uri":"/a","args":"b=c","status":200,'
    '"bytes":17,"request_time":0.061}'
)
LTSV = "time:2026-11-20T18:58:56+01:00\tmethod:GET\turi:/a\targs:b=c\tstatus:200\tsize:17\treqtime:0.061"
HAPROXY = (
    "10.0.0.7:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "
    '"GET /a?b=c HTTP/1.1"'
)


def samples(format: Format) -> tuple[str, ...]:
    return (SAMPLES | {"json": (ANY_JSON,), "ltsv": (ANY_LTSV,)})[format.name]


def converted(folder: Path, *lines: str | bytes, format: str = "auto") -> tuple[ConvertReport, pl.DataFrame]:
    log, out = folder / "access.log", folder / "out.csv"
    log.write_bytes(b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines))
    report = convert([log], out, ConvertOptions(format=format, force=True))
    report.sentence()
    return report, pl.read_csv(out, infer_schema=False)


@pytest.mark.parametrize(
    ("good", "old", "new", "reason"),
    [
        (COMBINED, "/2026:", "/0000:", "time stamp"),
        (COMBINED, "20/Nov/2026:18:58:56 +0100", "31/Dec/9999:23:59:59 -0100", "time stamp"),
        (COMBINED, "+0100", "+9999", "time stamp"),
        (COMBINED, " 17 ", f" {'9' * 20} ", "bytes"),
        (COMBINED, " 17 ", f" {'9' * 18}9 ", "bytes"),
        (TIMED, " 0.061", " 99999999999.061", "duration"),
        (JSON, "2026-", "0000-", "time stamp"),
        (JSON, "+01:00", "+99:99", "time stamp"),
        (JSON, "0.061", "1e300", "duration"),
        (JSON, "0.061", "1e400", "duration"),
        (JSON, "0.061", "1234567890123", "duration"),
        (JSON, "17", "9" * 20, "bytes"),
        (JSON, "17", "1e300", "bytes"),
        (JSON, "200", "1e300", "status"),
        (JSON, "200", "9" * 5000, "status"),
        (LTSV, "reqtime:0.061", "reqtime:1234567890123", "duration"),
        (LTSV, "size:17", f"size:{'9' * 20}", "bytes"),
        (HAPROXY, " 200 ", " 99999 ", "status"),
        (HAPROXY, "/109 ", "/9999999999999 ", "duration"),
    ],
)
def test_a_value_that_no_record_can_hold_rejects_its_line_alone(
    tmp_path: Path, good: str, old: str, new: str, reason: str
) -> None:
    assert old in good
    report, table = converted(tmp_path, *[good] * 20, good.replace(old, new))
    assert report.reasons == Counter({f"rejected: {reason}": 1})
    assert table.height == report.converted == 20


@pytest.mark.parametrize("good", [JSON, LTSV])
def test_a_record_without_a_query_keeps_its_path(tmp_path: Path, good: str) -> None:
    bare = good.replace(',"args":"b=c"', "").replace("\targs:b=c", "")
    _, table = converted(tmp_path, *[good] * 5, bare)
    assert table["url"].to_list().count("/a") == 1


@pytest.mark.parametrize("good", [JSON, LTSV])
def test_blanks_and_quotes_of_a_query_are_percent_encoded(tmp_path: Path, good: str) -> None:
    quote = '\\"' if good is JSON else '"'
    _, table = converted(tmp_path, *[good] * 5, good.replace("b=c", f"b {quote}x{quote}"))
    assert set(table["url"]) == {"/a?b=c", "/a?b%20%22x%22"}


def test_blanks_of_a_query_in_a_format_of_the_users_own_are_percent_encoded(tmp_path: Path) -> None:
    line = "20/Nov/2026:18:58:56 +0100|GET|/a|b c|200"
    _, table = converted(tmp_path, line, format="$time_local|$request_method|$uri|$args|$status")
    assert table["url"].to_list() == ["/a?b%20c"]


def test_minus_one_for_no_status_is_status_0(tmp_path: Path) -> None:
    _, table = converted(tmp_path, *[HAPROXY] * 5, HAPROXY.replace(" 200 ", " -1 "))
    assert set(table["rc"]) == {"200", "0"}


@pytest.mark.parametrize(("edge", "at"), [("begin", "18:58:56.5"), ("end", "18:58:55.7")])
def test_apache_times_of_the_begin_and_end_may_be_written_with_colons(tmp_path: Path, edge: str, at: str) -> None:
    form = f'%h [%{{{edge}:%d/%b/%Y:%H:%M:%S %z}}t] "%r" %>s %b %{{ms}}T'
    report, table = converted(
        tmp_path, '10.0.0.7 [20/Nov/2026:19:58:56 +0100] "GET /a HTTP/1.1" 200 17 800', format=form
    )
    assert report.converted == 1
    assert table["time"][0].startswith(at)


@pytest.mark.parametrize("format", ["json", "ltsv"])
def test_a_log_that_is_not_in_the_named_format_is_an_error(tmp_path: Path, format: str) -> None:
    with pytest.raises(LogreplayError, match=rf"-f {format}: no line of the sample is {format.upper()} .*leave out -f"):
        converted(tmp_path, *[COMBINED] * 5, format=format)


@pytest.mark.parametrize("name", [format.name for format in JSON_FORMATS])
def test_among_lines_of_one_writer_those_of_another_and_odd_ones_cost_no_line(tmp_path: Path, name: str) -> None:
    good, other = SAMPLES[name][0], SAMPLES["caddy" if name != "caddy" else "kong"][0]
    odd = [good.replace("200", "99999"), good[:-1], '{"request":1,"http":"x","properties":[]}', "[]", "garbage"]
    report, table = converted(tmp_path, *[good] * 20, *odd, *[other] * 20)
    assert table["url"].str.starts_with("/a").all()
    assert report.reasons.total() == len(odd)
    assert report.converted == 40


CADDY = SAMPLES["caddy"][0]
MESSAGES = (
    '{"level":"info","ts":1693840780.1,"msg":"using config from file","file":"/etc/caddy/Caddyfile"}',
    '{"level":"info","ts":1693840780.2,"logger":"admin.api","msg":"received request","method":"POST","uri":"/load"}',
    '{"level":"error","ts":1693840780.3,"logger":"tls","msg":"could not get certificate"}',
)


def test_requests_among_more_messages_of_a_caddy_are_converted_and_the_messages_counted(tmp_path: Path) -> None:
    report, table = converted(tmp_path, *MESSAGES * 10, CADDY, CADDY)
    assert table["url"].to_list() == ["/a?b=c"] * 2
    assert report.reasons == Counter({"rejected: layout": 30})


def test_requests_among_more_messages_of_a_container_are_converted_and_the_messages_counted(tmp_path: Path) -> None:
    said = ["start worker process 29\n", "/docker-entrypoint.sh: ready for start up\n"] * 10 + [f"{COMBINED}\n"] * 2
    lines = [json.dumps({"log": line, "stream": "stdout", "time": "2026-11-20T17:58:56.1Z"}) for line in said]
    report, table = converted(tmp_path, *lines)
    assert table["url"].to_list() == ["/a?b=c"] * 2
    assert report.reasons == Counter({"rejected: layout": 20})


def test_a_line_that_makes_the_parser_fail_costs_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = rows._typed

    def typed(raw: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
        if raw["url"].str.contains("/bug").any():
            raise pl.exceptions.ComputeError("a bug")
        return honest(raw, numbers)

    monkeypatch.setattr(rows, "_typed", typed)
    lines = [COMBINED.replace("/a", f"/{number}") for number in range(40)]
    odd = lines[7].replace("/7?", "/bug?")
    layout = '$remote_addr - - [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
    report, table = converted(tmp_path, *lines, "", odd, *lines, "nonsense", format=layout + "$nothing")
    reason = f"rejected: {rows.BUG}: ComputeError"
    assert report.reasons == Counter({reason: 1, "rejected: layout": 1})
    assert (report.blank, table.height) == (1, 2 * len(lines))
    assert (tmp_path / "out.rejects").read_text().startswith(f"42 {reason}\t{odd}\n")


ODD = (
    *(b"9" * 20, b"9" * 400, b"1e300", b"1e400", b"-1", b"-0", b"0000", b"9999", b"1234567890123", b"inf", b"nan", b""),
    *(b"1.2.3", b"00017", b"0x10", b"1_000", b"\0", b"\xff\xfe", b"\xc3", b"\\x", b"\\ud800", b'"', b"[" * 3000, b"{"),
    *(b"+9999", b"-9999", b"\xe2\x80\xa8", b"\r", b"\t", b"  ", b'1,"status":2', b"null", b"[]", b"true", b"1 2", b","),
)
_WORD = re.compile(rb"[0-9]+|[A-Za-z]+|[^0-9A-Za-z]")


@st.composite
def with_odd_values(draw: st.DrawFn) -> tuple[Format, list[bytes]]:
    """Lines of a format of which some words, mostly numbers, are odd ones."""
    format = draw(st.sampled_from(ALL))
    lines = []
    for sample in samples(format):
        words = _WORD.findall(sample.encode("latin-1", "replace"))
        numbers = [place for place, word in enumerate(words) if word.isdigit()]
        for _ in range(draw(st.integers(1, 3))):
            places = st.sampled_from(numbers) if numbers else st.nothing()
            words[draw(places | st.integers(0, len(words) - 1))] = draw(st.sampled_from(ODD))
        lines.append(b"".join(words).replace(b"\n", b""))
    return format, lines


@cache
def converted_of_good(name: str, wanted: str) -> int:
    """The rows of the log that `check` makes, without its bad lines."""
    good = next(samples(format) for format in ALL if format.name == name)
    with TemporaryDirectory() as folder:
        return converted(Path(folder), *(line.encode("latin-1", "replace") for line in good * 11), format=wanted)[
            0
        ].converted


def check(format: Format, bad: list[bytes], folder: Path, wanted: str = "") -> None:
    good = [sample.encode("latin-1", "replace") for sample in samples(format)]
    log, out = folder / "access.log", folder / "out.csv"
    log.write_bytes(b"".join(line + b"\n" for line in (*good * 10, *bad, *good)))
    options = ConvertOptions(format=wanted or format.name, timezone="Europe/Berlin", force=True)
    report = convert([log], out, options)
    assert report.lines == len(good) * 11 + len(bad)
    assert not [reason for reason in report.reasons if rows.BUG in reason]
    assert report.converted >= converted_of_good(format.name, wanted or format.name)
    table = scan(out).with_columns(start_time()).collect()
    assert table.height == report.converted == sum(part.height for part in read_batches(out, ("url",)))
    assert not any(table[name].null_count() for name in ("start", "url", "op", "rc", "bytes", "latency", "xfertime"))
    assert table["url"].str.contains(r"^(/[!#-~]*|\*)$").all()
    assert table["op"].str.contains(r"^[!#-~]+$").all()
    assert table.select((pl.col("latency") >= 0) & (pl.col("xfertime") >= 0) & (pl.col("bytes") >= 0)).to_series().all()


@settings(max_examples=20, deadline=None)  # the many are slow, below
@given(with_odd_values())
def test_lines_with_odd_values_cost_no_other_line(case: tuple[Format, list[bytes]]) -> None:
    with TemporaryDirectory() as folder:
        check(*case, Path(folder))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(with_odd_values())
def test_lines_with_odd_values_cost_no_other_line_where_the_format_is_found_by_content(
    case: tuple[Format, list[bytes]],
) -> None:
    with TemporaryDirectory() as folder:
        check(*case, Path(folder), "auto")


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(with_odd_values())
def test_many_lines_with_odd_values_cost_no_other_line(case: tuple[Format, list[bytes]]) -> None:
    with TemporaryDirectory() as folder:
        check(*case, Path(folder))


@pytest.mark.parametrize("word", ["1.1", "/a", "curl", "10.0.0.7"])
def test_half_of_a_surrogate_pair_is_a_character_that_is_not_known(word: str, tmp_path: Path) -> None:
    format = next(format for format in ALL if format.name == "caddy")
    check(format, [sample.replace(word, word + "\\ud800").encode() for sample in samples(format)], tmp_path)


def test_a_line_of_deep_json_is_one_rejected_line() -> None:
    format = next(format for format in ALL if format.name == "json")
    deep = '{"a":' + "[" * 200_000 + "]" * 200_000 + "}"
    parsed = parse(text_lines((samples(format)[0] + "\n" + deep).encode()), [format])
    assert (parsed.rows.height, [refusal.line for refusal in parsed.refusals]) == (1, [1])
