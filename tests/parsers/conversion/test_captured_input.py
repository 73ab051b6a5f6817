"""Captures become CSVs with headers and bodies, whatever program made them; what is broken is rejected and counted."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logreplay.core.bodies import StoredBodies, beside, named
from logreplay.core.errors import LogreplayError, TooManyRejects
from logreplay.core.headers import header_pairs
from logreplay.core.rows import scan
from logreplay.parsers.conversion.dataframe import read_log
from logreplay.parsers.conversion.filters import Filter
from logreplay.parsers.conversion.follow import LineParser
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.report import ConvertReport, Limit
from support.captured_requests import HOST, REQUESTS, SAMPLES, gor, har, mitmproxy

BODIES = [body for _, _, _, body, _ in REQUESTS]
each_format = pytest.mark.parametrize("name", SAMPLES)


def rows_of(csv: Path) -> pl.DataFrame:
    """The rows of a CSV with their bodies in the column payload."""
    rows = scan(csv).collect()
    files = rows.select(named(pl.col("body_ref"), str(csv)).alias("payload")).to_series()
    with StoredBodies() as reader:
        return rows.with_columns(reader.load(files))


def converted(path: Path, data: bytes, **options: object) -> tuple[pl.DataFrame, ConvertReport]:
    path.write_bytes(data)
    csv = path.with_name("out.csv")
    report = convert([path], csv, ConvertOptions(force=True, **options))  # type: ignore[arg-type]
    assert report.lines == report.converted + report.unreplayable + report.rejected + report.blank
    return rows_of(csv), report


@each_format
def test_a_capture_becomes_rows_with_method_headers_and_body(tmp_path: Path, name: str) -> None:
    rows, report = converted(tmp_path / "user7.log", SAMPLES[name]())
    assert (report.format, report.converted, report.rejected) == (name, 3, 0)
    assert rows["op"].to_list() == [op for op, *_ in REQUESTS]
    assert rows["url"].to_list() == [target for _, target, *_ in REQUESTS]
    assert rows["payload"].to_list() == BODIES
    assert set(rows["host"]) == {HOST}
    for found, (_, _, wanted, _, _) in zip(rows["headers"], REQUESTS, strict=True):
        headers = [pair for pair in header_pairs(found) if pair[0].lower() != "host"]
        assert [(key.lower(), value) for key, value in headers] == [(key.lower(), value) for key, value in wanted]
    if name != "vegeta":
        assert rows["rc"].to_list() == [200, 201, 204]
        assert rows["bytes"].to_list() == [7, 7, 7]
        assert rows["time"].to_list() == [f"10:00:0{number}.250000" for number in range(3)]
    if name in ("har", "envoy-tap", "mitmproxy", "gor"):
        assert ((rows["latency"] + rows["xfertime"] - 0.025).abs() < 0.002).all()


@each_format
def test_the_same_capture_under_two_names_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "one").write_bytes(SAMPLES[name]())
    (tmp_path / "two.gz").write_bytes(gzip.compress(SAMPLES[name]()))
    with pytest.raises(LogreplayError, match=r"one and .*two\.gz hold the same lines"):
        convert([tmp_path / "one", tmp_path / "two.gz"], tmp_path / "out.csv")


@each_format
def test_a_compressed_capture_is_read_alike(tmp_path: Path, name: str) -> None:
    rows, report = converted(tmp_path / "capture.gz", gzip.compress(SAMPLES[name]()))
    assert (report.converted, report.format) == (3, name)
    assert rows["payload"].to_list() == BODIES


@pytest.mark.parametrize("to", ["vegeta", "gor", "har"])
@each_format
def test_what_is_written_for_another_tool_reads_back_alike(tmp_path: Path, name: str, to: str) -> None:
    first, _ = converted(tmp_path / "capture", SAMPLES[name]())
    convert([tmp_path / "out.csv"], tmp_path / f"again.{to}", ConvertOptions(to=to))
    convert([tmp_path / f"again.{to}"], tmp_path / "again.csv")
    again = rows_of(tmp_path / "again.csv")
    same = ["op", "url", "host", "payload"]
    times = ["date", "time", "rc"] if to != "vegeta" else []
    kept = ["scheme"] if to != "gor" and name != "gor" else []
    assert again.select(*same, *times, *kept).equals(first.select(*same, *times, *kept))
    for one, other in zip(first["headers"], again["headers"], strict=True):
        assert [pair for pair in header_pairs(other) if pair[0].lower() != "host"] == [
            pair for pair in header_pairs(one) if pair[0].lower() != "host"
        ]


def test_captures_of_several_formats_become_one_csv_in_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "a.har").write_bytes(har())
    (tmp_path / "b.gor").write_bytes(gor())
    report = convert([tmp_path / "a.har", tmp_path / "b.gor"], tmp_path / "both.csv")
    rows = rows_of(tmp_path / "both.csv")
    assert (report.converted, rows.height) == (6, 6)
    assert rows["time"].is_sorted()
    assert rows["payload"].to_list() == [body for body in BODIES for _ in range(2)]
    assert rows["client"].to_list() == ["a", None] * 3  # a HAR is one browser


def test_csvs_with_bodies_are_merged_with_them(tmp_path: Path) -> None:
    for name, sample in (("a", har), ("b", mitmproxy)):
        (tmp_path / name).write_bytes(sample())
        convert([tmp_path / name], tmp_path / f"{name}.csv")
    convert([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "both.parquet")
    rows = rows_of(tmp_path / "both.parquet")
    assert rows["payload"].to_list() == [body for body in BODIES for _ in range(2)]


def test_equal_bodies_are_stored_once_and_only_those_of_rows_that_stay(tmp_path: Path) -> None:
    rows, _ = converted(tmp_path / "capture", gor() * 20)
    assert rows["body_ref"].n_unique() == 3
    assert (tmp_path / "out.bodies.zst").stat().st_size < 700
    convert([tmp_path / "capture"], tmp_path / "gets.csv", ConvertOptions(filter=Filter(method="GET")))
    assert not (tmp_path / "gets.bodies.zst").exists()


def test_standard_output_has_no_file_for_bodies_and_says_so(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "capture").write_bytes(har())
    report = convert([tmp_path / "capture"], "-")
    assert any("bodies are not kept" in note for note in report.notes)
    assert b"body_ref" not in capfdbinary.readouterr().out


def test_an_earlier_file_of_bodies_is_not_overwritten_unasked_and_does_not_stay_behind(tmp_path: Path) -> None:
    converted(tmp_path / "capture", har())
    (tmp_path / "out.csv").unlink()
    with pytest.raises(LogreplayError, match=r"out\.bodies\.zst: exists already"):
        convert([tmp_path / "capture"], tmp_path / "out.csv")
    (tmp_path / "access.log").write_text('1.2.3.4 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    convert([tmp_path / "access.log"], tmp_path / "out.csv", ConvertOptions(force=True))
    assert not Path(beside(str(tmp_path / "out.csv"))).exists()


def test_the_bodies_of_another_result_are_neither_overwritten_nor_removed_with_force(tmp_path: Path) -> None:
    (tmp_path / "capture").write_bytes(har())
    convert([tmp_path / "capture"], tmp_path / "s.parquet")
    force = ConvertOptions(force=True)
    for log, options in (("capture", force), ("s.parquet", ConvertOptions(filter=Filter(method="GET"), force=True))):
        with pytest.raises(
            LogreplayError, match=r"s\.bodies\.zst: holds the bodies of .*s\.parquet; choose another name"
        ):
            convert([tmp_path / log], tmp_path / "s.csv", options)
    (tmp_path / "access.log").write_text('1.2.3.4 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    convert([tmp_path / "access.log"], tmp_path / "s.csv", force)
    assert rows_of(tmp_path / "s.parquet")["payload"].to_list() == BODIES
    convert([tmp_path / "capture"], tmp_path / "s.parquet", force)  # s.csv has no bodies


def test_a_log_and_a_capture_are_not_converted_together(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text('1.2.3.4 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    (tmp_path / "a.har").write_bytes(har())
    with pytest.raises(LogreplayError, match=r"access\.log and .*a\.har: .* cannot be converted together"):
        convert([tmp_path / "access.log", tmp_path / "a.har"], tmp_path / "out.csv")


@pytest.mark.parametrize("option", ["time_unit", "stamped"])
def test_options_that_say_how_a_log_is_read_exclude_a_capture(tmp_path: Path, option: str) -> None:
    (tmp_path / "a.har").write_bytes(har())
    value = "ms" if option == "time_unit" else "end"
    options = ConvertOptions(**{option: value})  # type: ignore[arg-type]
    with pytest.raises(LogreplayError, match=r"--.* and .*a\.har exclude each other: captured requests \(har\)"):
        convert([tmp_path / "a.har"], tmp_path / "out.csv", options)


def test_a_broken_record_is_rejected_with_its_reason_and_the_others_are_read(tmp_path: Path) -> None:
    entries = json.loads(har())["log"]["entries"]
    broken = [{**entries[0], "startedDateTime": "today"}, {"request": {}}, {**entries[0], "time": None}]
    ws = {**entries[0], "request": {**entries[0]["request"], "url": "wss://shop.test/live"}}
    data = json.dumps({"log": {"entries": [entries[0], *broken, ws, entries[1]]}}).encode()
    rows, report = converted(tmp_path / "a.har", data)
    assert rows["op"].to_list() == ["GET", "GET", "POST"]
    assert report.reasons == {
        "rejected: time stamp": 1,
        "rejected: no url": 1,
        "unreplayable: websocket": 1,
    }
    rejects = (tmp_path / "out.rejects").read_bytes().splitlines()
    assert [line.partition(b"\t")[0] for line in rejects] == [
        b"2 rejected: time stamp",
        b"3 rejected: no url",
        b"5 unreplayable: websocket",
    ]
    with pytest.raises(TooManyRejects):
        converted(tmp_path / "a.har", data, limit=Limit(count=0))


@each_format
def test_the_readable_part_of_a_cut_capture_is_kept(tmp_path: Path, name: str) -> None:
    data = SAMPLES[name]()
    rows, report = converted(tmp_path / "cut", data[: len(data) - 40])
    assert rows["op"].to_list()[:2] == ["GET", "POST"]
    assert rows["payload"].to_list()[:2] == BODIES[:2]
    assert report.converted in (2, 3)


@each_format
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), junk=st.binary(max_size=40), cut=st.integers(0, 60))
def test_damage_anywhere_is_an_account_and_never_a_traceback(
    tmp_path: Path, name: str, place: float, junk: bytes, cut: int
) -> None:
    data = SAMPLES[name]()
    at = int(place * len(data))
    path, out = tmp_path / "damaged", tmp_path / "out.csv"
    path.write_bytes(data[:at] + junk + data[at + cut :])
    try:
        report = convert([path], out, ConvertOptions(format=name, force=True))
    except LogreplayError:
        return
    assert report.lines == report.converted + report.unreplayable + report.rejected + report.blank
    assert not report.converted or rows_of(out)["url"].str.contains("^[/*]").all()


def redacted(tmp_path: Path, sample: Callable[[], bytes]) -> pl.DataFrame:
    return converted(tmp_path / "capture", sample(), redact=True)[0]


@each_format
def test_redaction_covers_headers_and_bodies_and_keeps_sessions(tmp_path: Path, name: str) -> None:
    rows = redacted(tmp_path, SAMPLES[name])
    pairs = ([(name.lower(), value) for name, value in header_pairs(text)] for text in rows["headers"])
    first, second, third = map(dict, pairs)
    cookie, other = first["cookie"], second["cookie"]
    assert cookie.partition(";")[0] == other
    assert other != "s=abc"
    assert third["x-token"] != 'a,"b"'
    assert second["content-type"] == "application/x-www-form-urlencoded"
    assert [body and len(body) for body in rows["payload"]] == [body and len(body) for body in BODIES]
    form = rows["payload"][1]
    assert form.startswith(b"item=")
    assert b"4711" not in form
    assert rows["payload"][2] != BODIES[2]


NGINX = '$remote_addr [$time_local] "$request" $status $request_time "$content_type" "$http_x_token" "$request_body"'
LINES = rb"""
192.0.2.1 [20/Nov/2026:10:00:00 +0000] "POST /a HTTP/1.1" 200 0.1 "text/plain" "a\x22b" "\xC3\xA9\xFF\x00\x22 "
192.0.2.1 [20/Nov/2026:10:00:01 +0000] "POST /a HTTP/1.1" 200 0.1 "text/plain" "-" " plain "
192.0.2.1 [20/Nov/2026:10:00:02 +0000] "GET /a HTTP/1.1" 200 0.1 "-" "-" "-"
"""
LOGGED = ['Content-Type: text/plain\tX-Token: a"b', "Content-Type: text/plain", None]
LOGGED_BODIES = [b'\xc3\xa9\xff\x00" ', b" plain ", None]


def test_an_access_log_keeps_headers_and_bodies_byte_for_byte(tmp_path: Path) -> None:
    rows, report = converted(tmp_path / "access.log", LINES.lstrip(), format=NGINX)
    assert (report.converted, report.unit) == (3, "lines")
    assert rows["headers"].to_list() == LOGGED
    assert rows["payload"].to_list() == LOGGED_BODIES


def test_an_access_log_of_apache_keeps_the_body_that_a_module_noted(tmp_path: Path) -> None:
    line = b'192.0.2.1 [20/Nov/2026:10:00:00 +0000] "POST /a HTTP/1.1" 200 7 "text/plain" "a=1\\n\\xff"\n'
    format = '%h %t "%r" %>s %D "%{Content-Type}i" "%{request_body}n"'
    rows, _ = converted(tmp_path / "access.log", line, format=format)
    assert (rows["headers"][0], rows["payload"][0]) == ("Content-Type: text/plain", b"a=1\n\xff")


def test_a_log_of_json_keeps_headers_and_bodies(tmp_path: Path) -> None:
    keys = {
        "msec": "1795168800.123",
        "request_method": "POST",
        "request_uri": "/",
        "status": "200",
        "http_x_token": "t",
    }
    line = json.dumps(keys | {"http_user_agent": "curl", "request_body": 'a="1"\n'})
    rows, _ = converted(tmp_path / "access.log", f"{line}\n".encode())
    assert (rows["headers"][0], rows["agent"][0], rows["payload"][0]) == ("X-Token: t", "curl", b'a="1"\n')


def test_a_time_zone_without_effect_on_a_capture_is_said(tmp_path: Path) -> None:
    log = tmp_path / "targets.json"
    log.write_text('{"method":"GET","url":"http://www.example.com/a"}\n')
    note = "--timezone Europe/Berlin had no effect: times of captured requests are in UTC where they have no offset"
    for filter, said in ((Filter(), 1), (Filter(since="1970-01-01"), 0)):
        options = ConvertOptions(timezone="Europe/Berlin", filter=filter, force=True)
        assert convert([log], tmp_path / "out.csv", options).notes.count(note) == said


def test_a_capture_that_grows_while_it_is_read_is_noted(tmp_path: Path) -> None:
    log = tmp_path / "targets.json"
    target = '{"method":"GET","url":"http://www.example.com/a"}\n'
    log.write_text(target)

    def grow(*_: int) -> None:
        with log.open("a") as file:
            file.write(target)

    report = convert([log], tmp_path / "out.csv", progress=grow)
    assert report.converted == 1
    note = f"{log}: grew by {len(target)} bytes while it was read; records added meanwhile may be missing"
    assert note in report.notes


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_log_that_is_followed_and_one_read_as_a_table_have_bodies_too(tmp_path: Path) -> None:
    keys = {
        "msec": "1795168800.123",
        "request_method": "POST",
        "request_uri": "/",
        "status": "200",
        "request_body": "é",
    }
    log = tmp_path / "access.log"
    log.write_text(json.dumps(keys, ensure_ascii=False) + "\n")
    parser = LineParser(log)
    followed = pl.concat([parser(log.read_bytes()), parser.close()])
    assert followed["body"].to_list() == ["é".encode()]
    assert read_log(log)["body"].to_list() == ["é"]


def test_a_record_is_named_by_its_place_in_the_file_while_others_wait_for_their_answers(tmp_path: Path) -> None:
    good, cut = (b"POST / HTTP/1.1\r\nX-G: 2\r\n" + rest for rest in (b"\r\n", b"Content-Leng"))
    odd = b"POST / HTTP/1.1\r\n%b\r\n" % (b"X: %b\r\n" % (b"y" * 70_000))
    messages = enumerate([good, good, cut, good, odd, good, cut], 1)
    end = "\n🐵🙈🙉\n".encode()
    data = end.join(b"1 a%d 1795168800250000000 0\n%b" % each for each in messages)
    _, report = converted(tmp_path / "a.gor", data)
    assert (report.converted, report.rejected) == (4, 3)
    assert [place for _, place, _ in sorted(report.first_bad)] == [3, 5, 7]
    places = [line.split()[0] for line in (tmp_path / "out.rejects").read_bytes().splitlines()]
    assert sorted(places) == [b"3", b"5", b"7"]


@pytest.mark.parametrize("format", ["har", "vegeta", "envoy-tap"])
def test_a_file_without_a_record_of_the_named_format_is_said_to_have_another(tmp_path: Path, format: str) -> None:
    (tmp_path / "a.log").write_text('1.2.3.4 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    with pytest.raises(
        LogreplayError, match=rf"a\.log: is not in the format {format}: it holds no .*leave out --format"
    ):
        convert([tmp_path / "a.log"], tmp_path / "out.csv", ConvertOptions(format=format))
    assert [path.name for path in tmp_path.iterdir()] == ["a.log"]


def test_a_file_of_other_records_than_the_named_format_has_is_told_to_leave_it_out(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text('1.2.3.4 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n')
    with pytest.raises(LogreplayError, match=r"no record fits the format gor; .*; leave out --format"):
        convert([tmp_path / "a.log"], tmp_path / "out.csv", ConvertOptions(format="gor"))
