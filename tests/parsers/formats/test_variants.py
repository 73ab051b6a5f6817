"""The options of a conversion, several files, and other forms of output."""

import bz2
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError, TooManyRejects
from logreplay.core.record import start_time
from logreplay.core.rows import scan
from logreplay.parsers import iter_log, read_log
from logreplay.parsers.conversion.filters import Filter
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.report import TELLING, Limit

SAMPLES = Path(__file__).parents[3] / "sample_logs"
LINE = '10.0.0.7 - - [20/Nov/2026:18:58:{second:02} +0100] "GET /{n} HTTP/1.1" 200 17 "-" "curl/8.5.0"'


def lines(count: int = 5, tail: str = "") -> list[str]:
    return [LINE.format(second=n, n=n) + tail for n in range(count)]


def log(tmp_path: Path, *text: str, name: str = "access.log") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(text) + "\n")
    return path


def urls(tmp_path: Path) -> list[str]:
    return scan(tmp_path / "out.csv").select("url").collect()["url"].to_list()


def test_the_user_has_the_last_word_on_units_and_stamps(tmp_path: Path) -> None:
    options = ConvertOptions(time_unit="ms", stamped="end")
    convert([log(tmp_path, *lines(9, " abc 250"))], tmp_path / "out.csv", options)
    row = scan(tmp_path / "out.csv").collect().row(0, named=True)
    assert (row["latency"], row["time"]) == (0.25, "17:58:00.250000")


@pytest.mark.parametrize(
    ("line", "unit", "times"),
    [
        (
            '{"time":"2026-11-20T18:58:56Z","url":"/a","status":200,"duration":500000,"uht":0.2}',
            "us",
            (0.2, 0.3),
        ),
        (
            '{"time":"2026-11-20T18:58:56Z","url":"/a","status":200,"duration_ms":500,"ttfb":200000}',
            "us",
            (0.2, 0.3),
        ),
        (
            '{"time":"2026-11-20T18:58:56Z","url":"/a","status":200,"request_time":500,"uht":200}',
            "ms",
            (0.2, 0.3),
        ),
        ("time:2026-11-20T18:58:56Z\turl:/a\tstatus:200\tduration_us:500000", "ms", (0.5, 0)),
    ],
)
def test_a_duration_whose_name_tells_its_unit_keeps_it(
    tmp_path: Path, line: str, unit: str, times: tuple[float, float]
) -> None:
    report = convert([log(tmp_path, line)], tmp_path / "out.csv", ConvertOptions(time_unit=unit))
    assert scan(tmp_path / "out.csv").select("latency", "xfertime").collect().rows() == [times]
    told = f"--time-unit {unit} had no effect: the names of the durations tell their units"
    assert (told in report.notes) == ("duration_us" in line)


def test_a_first_byte_of_another_unit_than_the_whole_time_keeps_it(tmp_path: Path) -> None:
    path = log(tmp_path, '::1 [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200 3 200000')
    options = ConvertOptions(format='%h %t "%r" %>s %T %^FB', time_unit="s")
    convert([path], tmp_path / "out.csv", options)
    assert scan(tmp_path / "out.csv").select("latency", "xfertime").collect().rows() == [(0.2, 2.8)]


def test_latency_ends_at_the_first_byte_where_the_log_has_it(tmp_path: Path) -> None:
    form = '$remote_addr [$time_local] "$request" $status $request_time $upstream_header_time'
    path = log(tmp_path, '::1 [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200 0.500 0.200')
    convert([path], tmp_path / "out.csv", ConvertOptions(format=form))
    assert scan(tmp_path / "out.csv").select("latency", "xfertime").collect().rows() == [(0.2, 0.3)]


def test_files_that_overlap_are_merged_by_time(tmp_path: Path) -> None:
    all_lines = [LINE.format(second=n % 60, n=n).replace(":58:", f":{n // 60:02}:") for n in range(600)]
    one = log(tmp_path, *all_lines[::3], name="one.log")
    two = tmp_path / "two.log.bz2"
    two.write_bytes(bz2.compress("\n".join(line for n, line in enumerate(all_lines) if n % 3).encode()))
    report = convert([two, one], tmp_path / "out.csv")
    assert report.converted == 600
    assert urls(tmp_path) == [f"/{n}" for n in range(600)]


def test_reject_files_of_several_logs_name_the_log(tmp_path: Path) -> None:
    one, two = log(tmp_path, *lines(), name="one.log"), log(tmp_path, *lines(), "garbage", name="two.log")
    convert([one, two], tmp_path / "out.csv")
    assert (tmp_path / "out.rejects").read_text() == f"{two}:6 rejected: layout\tgarbage\n"


def test_logs_of_several_formats_become_one_csv_with_the_columns_of_all(tmp_path: Path) -> None:
    w3c = "#Fields: date time cs-method cs-uri-stem sc-status cs-host time-taken"
    one = log(tmp_path, *lines(5), name="one.log")
    two = log(tmp_path, w3c, "2026-11-20 17:58:00.5 GET /w3c 200 shop.example 0.25", name="two.log")
    report = convert([one, two], tmp_path / "out.csv")
    assert (report.format, report.converted, report.rejected, report.share) == ("combined+w3c", 6, 0, 1)
    rows = scan(tmp_path / "out.csv").select("url", "latency", "host", "agent").collect().rows()
    assert {("/0", 0, None, "curl/8.5.0"), ("/w3c", 0.25, "shop.example", None)} <= {*rows}


def test_a_log_that_the_given_format_does_not_fit_is_named(tmp_path: Path) -> None:
    one = log(tmp_path, *lines(), name="one.log")
    other = '{"request":"GET /b HTTP/1.1","status":200}'
    two = log(tmp_path, *[other] * TELLING, name="two.log")
    with pytest.raises(LogreplayError, match=rf"^{two}: no line fits the format combined; line 1: rejected: layout;"):
        convert([one, two], tmp_path / "out.csv", ConvertOptions(format="combined"))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["one.log", "two.log"]
    few = log(tmp_path, *[other] * (TELLING - 1), name="two.log")
    report = convert([one, few], tmp_path / "out.csv", ConvertOptions(format="combined"))
    assert (report.converted, report.rejected) == (5, TELLING - 1)


@pytest.mark.parametrize("bad", ['10.0.0.9 - - [01/Jan/2024:01:00:00 +0000] "GET /p HT', "nginx: started"])
@pytest.mark.parametrize("format", ["auto", "combined"])
def test_a_bad_line_alone_in_one_of_several_logs_is_rejected_with_the_name_of_its_log(
    tmp_path: Path, format: str, bad: str
) -> None:
    one, two = log(tmp_path, *lines(), name="one.log"), log(tmp_path, bad, name="two.log")
    report = convert([two, one], tmp_path / "out.csv", ConvertOptions(format=format))
    assert (report.format, report.converted, report.rejected) == ("combined", 5, 1)
    assert (tmp_path / "out.rejects").read_text() == f"{two}:1 rejected: layout\t{bad}\n"


def test_a_limit_that_allows_the_only_line_of_a_log_to_be_rejected_holds(tmp_path: Path) -> None:
    bad = log(tmp_path, "garbage")
    report = convert([bad], tmp_path / "out.csv", ConvertOptions(format="combined", limit=Limit(count=1)))
    assert (report.lines, report.rejected) == (1, 1)
    remedy = "leave out --format to detect the format, or give another; if its lines are damaged, leave out the file"
    with pytest.raises(LogreplayError, match=f"; {remedy}$"):
        convert([bad], tmp_path / "out.csv", ConvertOptions(format="combined"))


def test_a_log_rejected_whole_behind_its_beginning_is_to_be_given_its_format(tmp_path: Path) -> None:
    one, two = log(tmp_path, *lines(), name="one.log"), log(tmp_path, *["x" * 200_000] * TELLING, name="two.log")
    with pytest.raises(LogreplayError, match=rf"^{two}: no line fits the format combined; .*; give its format with"):
        convert([one, two], tmp_path / "out.csv")


def test_stamps_without_zone_are_said_to_be_read_as_utc(tmp_path: Path) -> None:
    path = log(tmp_path, '::1 2026-11-20T18:58:56 "GET /a HTTP/1.1" 200')
    form = '$remote_addr $time_iso8601 "$request" $status'
    report = convert([path], tmp_path / "out.csv", ConvertOptions(format=form))
    assert "1 time stamp has no zone and is read as UTC; give the zone with --timezone" in report.notes


def test_an_unknown_time_zone_is_named(tmp_path: Path) -> None:
    mars = ConvertOptions(timezone="Mars", filter=Filter(since="2026-11-20"))
    for read in (lambda path: convert([path], tmp_path / "out.csv", mars), lambda path: read_log(path, mars)):
        with pytest.raises(LogreplayError, match=r"^--timezone 'Mars': no such time zone"):
            read(log(tmp_path, *lines()))


def test_filters_are_accounted_for(tmp_path: Path) -> None:
    options = ConvertOptions(filter=Filter(match="[24]$"))
    report = convert([log(tmp_path, *lines())], tmp_path / "out.csv", options)
    assert report.sentence() == "5 lines = 2 converted + 0 unreplayable + 0 rejected + 0 blank + 3 filtered out"
    assert urls(tmp_path) == ["/2", "/4"]


def test_a_redacted_conversion_leaves_no_original_line_behind(tmp_path: Path) -> None:
    path = log(tmp_path, LINE.format(second=1, n="?key=secret"), "secret garbage", *lines())
    convert([path], tmp_path / "out.csv", ConvertOptions(redact=True))
    for name in ("out.csv", "out.rejects"):
        assert b"secret" not in (tmp_path / name).read_bytes()
    assert (tmp_path / "out.rejects").read_text() == "2 rejected: layout\t(redacted)\n"


@pytest.mark.parametrize(("limit", "fails"), [("0", True), ("1", True), ("2", False), ("10%", True), ("50%", False)])
def test_too_many_rejects_end_the_conversion(tmp_path: Path, limit: str, fails: bool) -> None:
    path = log(tmp_path, *lines(8), "garbage", "more garbage")
    options = ConvertOptions(limit=Limit.read(limit))
    if not fails:
        assert convert([path], tmp_path / "out.csv", options).rejected == 2
        return
    with pytest.raises(
        TooManyRejects,
        match=r": line 9: rejected: layout; 2 of 10 lines rejected( so far)?, [01] allowed; mend the log, "
        r"or allow more with --max-rejects; --rejects FILE keeps the rejected lines$",
    ):
        convert([path], tmp_path / "out.csv", options)
    assert not (tmp_path / "out.csv").exists()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["access.log"]
    with pytest.raises(TooManyRejects, match=r"with --max-rejects$"):
        convert([path], tmp_path / "out.csv", replace(options, rejects=tmp_path / "asked"))
    assert (tmp_path / "asked").read_text().count("\n") == 2


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst", "parquet"])
def test_other_forms_of_output_hold_the_same(tmp_path: Path, ending: str) -> None:
    path = SAMPLES / "nginx_request_time.log"
    convert([path], tmp_path / "out.csv")
    convert([path], tmp_path / f"other.{ending}")
    assert scan(tmp_path / f"other.{ending}").collect().equals(scan(tmp_path / "out.csv").collect())
    assert (tmp_path / "other.rejects").exists()


@pytest.mark.parametrize(("to", "told"), [("vegeta", True), ("har", True), ("k6", False), ("gor", False)])
def test_an_export_that_other_tools_send_to_the_hosts_of_the_log_says_so(tmp_path: Path, to: str, told: bool) -> None:
    named = [LINE.format(second=n, n=n).replace(" /", f" http://host-{n}.example/") for n in range(7)]
    report = convert([log(tmp_path, *named)], tmp_path / "out", ConvertOptions(to=to))
    hosts = ", ".join(f"host-{n}.example" for n in range(5))
    text = f"requests of a {to} file to the hosts that the log names: {hosts}, …; clients can choose these"
    assert any(text in note for note in report.notes) == told
    unnamed = convert([log(tmp_path, *lines())], tmp_path / "other", ConvertOptions(to=to))
    assert not any("hosts" in note for note in unnamed.notes)


def test_play_it_again_sam_there_and_back(tmp_path: Path) -> None:
    path = SAMPLES / "nginx_request_time.log"
    convert([path], tmp_path / "out.csv")
    convert([path], tmp_path / "out.pias", ConvertOptions(to="pias", rejects=tmp_path / "x.rejects"))
    first = (tmp_path / "out.pias").read_text().splitlines()[0]
    assert first == "#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op"
    convert([tmp_path / "out.pias"], tmp_path / "back.csv")
    core = ["date", "time", "latency", "bytes", "url", "rc", "op"]
    there, back = (scan(tmp_path / name).select(core).collect() for name in ("out.csv", "back.csv"))
    assert there.equals(back)


def test_a_list_of_urls_keeps_its_order(tmp_path: Path) -> None:
    report = convert([log(tmp_path, "/b", "http://www.example.com/a?x", "# comment", "/c")], tmp_path / "out.csv")
    assert urls(tmp_path) == ["/b", "/a?x", "/c"]
    note = "the log has no times: requests keep their order, all at the same instant; replay it with --tps"
    assert note in report.notes


def test_a_fraction_that_is_always_0_makes_times_no_finer(tmp_path: Path) -> None:
    text = [f'{{"time":"2026-11-20T18:58:5{n}.000Z","request":"GET /a HTTP/1.1","status":200}}' for n in range(5)]
    report = convert([log(tmp_path, *text)], tmp_path / "out.csv")
    assert report.resolution_s == 1
    assert "the fraction of each start time is 0: all requests of a second start together" in report.notes
    finer = convert([log(tmp_path, *text, text[0].replace(".000", ".010"))], tmp_path / "finer.csv")
    assert finer.resolution_s == 0.001


def test_a_log_without_times_has_no_resolution_of_times(tmp_path: Path) -> None:
    target = '{"method":"GET","url":"http://www.example.com/a"}'
    for number, text in enumerate(("/a", '{"request":"GET /a HTTP/1.1","status":200}', target)):
        report = convert([log(tmp_path, text)], tmp_path / f"{number}.csv")
        assert (report.converted, report.resolution_s) == (1, None)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("read", [read_log, lambda log: list(iter_log(log))])
def test_data_frames_warn_of_rejected_lines_and_of_notes(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = log(tmp_path, *lines(), "garbage")
    account = f"6 lines = 5 converted + 0 unreplayable + 1 rejected + 0 blank; {path}: line 6: rejected: layout"
    with pytest.warns(UserWarning, match=re.escape(account)) as warned:
        read(path)
    assert "the log has no response times" in [str(each.message) for each in warned]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_logs_as_data_frames() -> None:
    frame = read_log(SAMPLES / "nginx_request_time.log")
    assert str(frame.dtypes["start"]) == "datetime64[us, UTC]"
    assert frame["start"].is_monotonic_increasing
    assert list(frame.columns[:3]) == ["date", "time", "latency"]
    assert sum(len(part) for part in iter_log([SAMPLES / "nginx_request_time.log"])) == len(frame) > 3000


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_data_frame_says_what_the_csv_says(tmp_path: Path) -> None:
    convert([SAMPLES / "apache_combined.log"], tmp_path / "out.csv")
    csv = scan(tmp_path / "out.csv").select("url", "rc", start_time().dt.replace_time_zone("UTC")).collect()
    frame = pl.from_pandas(read_log(SAMPLES / "apache_combined.log")[["url", "rc", "start"]])
    assert frame.equals(csv)
