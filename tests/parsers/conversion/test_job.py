"""Access logs become normalized records, and every line is accounted for."""

import gzip
import os
import random
import re
import threading
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError, TooManyRejects
from logreplay.core.record import CORE_COLUMNS, start_time
from logreplay.core.rows import scan
from logreplay.core.zstd import zstd
from logreplay.parsers.conversion.dataframe import read_log
from logreplay.parsers.conversion.filters import Filter
from logreplay.parsers.conversion.job import ConvertOptions, convert, output_for
from logreplay.parsers.conversion.report import Account, ConvertReport, Limit

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "sample_logs"
SHARED = ROOT.parent / "shared" / "logs"

LINE = '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "http://r/" "curl/8.5.0" 0.250'

_TAR = b"access.log".ljust(257, b"\0") + b"ustar".ljust(255, b"\0") + LINE.encode() + b"\n"


def converted(tmp_path: Path, *lines: str | bytes, options: ConvertOptions | None = None) -> pl.DataFrame:
    log = tmp_path / "access.log"
    log.write_bytes(b"".join(line.encode() + b"\n" if isinstance(line, str) else line for line in lines))
    convert([log], tmp_path / "access.csv", options)
    return scan(tmp_path / "access.csv").collect()


def account(report: ConvertReport) -> tuple[int, int, int, int, int]:
    return report.lines, report.converted, report.unreplayable, report.rejected, report.blank


def test_a_line_becomes_a_record(tmp_path: Path) -> None:
    assert converted(tmp_path, LINE).row(0, named=True) == {
        "date": "2026-11-20",
        "time": "17:58:56.250000",  # the middle of the second, less the request time, in UTC
        "latency": 0.25,
        "xfertime": 0.0,
        "thinktime": 0.0,
        "bytes": 17,
        "url": "/a?b=c",
        "rc": 200,
        "op": "GET",
        "client": "10.0.0.7",
        "host": None,
        "referer": "http://r/",
        "agent": "curl/8.5.0",
        "protocol": "HTTP/1.1",
        "user": None,
    }


def test_the_core_columns_come_first(tmp_path: Path) -> None:
    assert tuple(converted(tmp_path, LINE).columns[:9]) == CORE_COLUMNS


def test_lines_of_one_second_are_spread_over_it_in_file_order(tmp_path: Path) -> None:
    lines = [LINE.replace("/a?b=c", f"/{n}").replace("0.250", "0.000") for n in range(4)]
    rows = converted(tmp_path, *lines)
    assert rows["url"].to_list() == ["/0", "/1", "/2", "/3"]
    assert [text[9:] for text in rows["time"]] == ["125000", "375000", "625000", "875000"]


def test_rows_come_in_order_of_start(tmp_path: Path) -> None:
    slow = LINE.replace("/a?b=c", "/slow").replace("0.250", "30.000")
    rows = converted(tmp_path, *(LINE.replace(":56 ", f":{s:02} ") for s in range(50)), slow)
    starts = rows.select(start_time()).to_series()
    assert starts.is_sorted()
    assert rows["url"].to_list().index("/slow") in range(24, 29)


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.log")))
def test_sample_logs_convert(name: str, tmp_path: Path) -> None:
    report = convert([SAMPLES / name], tmp_path / "out.csv")
    assert report.lines == len((SAMPLES / name).read_bytes().splitlines())
    assert report.converted > 0.9 * report.lines
    assert scan(tmp_path / "out.csv").collect().height == report.converted


@pytest.mark.skipif(not SHARED.exists(), reason="the shared logs are not here")
def test_ten_thousand_real_lines_are_accounted_for(tmp_path: Path) -> None:
    report = convert([SHARED / "apache_elastic_10k.log"], tmp_path / "out.csv")
    assert account(report) == (10_000, 9_999, 0, 1, 0)
    assert report.first_bad == [(str(SHARED / "apache_elastic_10k.log"), 8899, "rejected: layout")]


def test_bad_lines_are_kept_with_number_and_reason(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    bad = b"caf\xe9 \x00 \xff garbage\r"
    tls = LINE.replace("GET /a?b=c HTTP/1.1", r"\x16\x03\x01").encode()
    log.write_bytes(LINE.encode() + b"\n" + bad + b"\n\n# comment\n" + tls + b"\n" + LINE.encode())
    report = convert([log], tmp_path / "out.csv")
    assert account(report) == (6, 2, 1, 1, 2)
    rejects = (tmp_path / "out.rejects").read_bytes()
    assert rejects == b"2 rejected: layout\t" + bad + b"\n5 unreplayable: not HTTP: binary\t" + tls + b"\n"
    assert report.sentence() == "6 lines = 2 converted + 1 unreplayable + 1 rejected + 2 blank"


def test_what_is_rejected_on_the_way_to_standard_output_is_kept_by_the_name_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.log").write_bytes(b"nonsense\n" + LINE.encode() + b"\n")
    convert(["shop.log"], "-")
    assert capfdbinary.readouterr().out.count(b"\n") == 2
    assert Path("shop.rejects").read_bytes().endswith(b"\tnonsense\n")


def test_rejects_of_a_pipe_are_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside ``-o /dev/null`` they would be in ``/dev``."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    log, rows, bodies = tmp_path / "access.log", tmp_path / "rows", tmp_path / "rows.bodies.zst"
    log.write_text(f"{LINE}\nnonsense\n")
    bodies.write_text("of another program")
    os.mkfifo(rows)
    reader = threading.Thread(target=rows.read_bytes)
    reader.start()
    report = convert([log], rows, ConvertOptions(force=True))
    reader.join()
    assert report.rejects == "access.rejects"
    assert {path.name for path in tmp_path.iterdir()} == {"access.log", "here", "rows", bodies.name}


def test_no_reject_file_without_rejects(tmp_path: Path) -> None:
    converted(tmp_path, LINE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["access.csv", "access.log"]


def test_the_rejects_of_another_result_stay_with_force(tmp_path: Path) -> None:
    converted(tmp_path, LINE, "nonsense")
    convert([tmp_path / "access.csv"], tmp_path / "access.parquet", ConvertOptions(force=True))
    assert (tmp_path / "access.rejects").exists()


@pytest.mark.parametrize(
    ("logged", "op", "url", "host"),
    [
        (r"GET /caf\xC3\xA9 HTTP/1.1", "GET", "/caf%C3%A9", None),
        (r"GET /\x22q\x5C HTTP/1.1", "GET", "/%22q\\", None),
        (r"GET /\"q\\ HTTP/1.1", "GET", "/%22q\\", None),
        ("GET /with space/file HTTP/1.1", "GET", "/with%20space/file", None),
        ("GET /dspace  HTTP/1.1", "GET", "/dspace", None),
        ("GET /simple09", "GET", "/simple09", None),
        ("GET http://u:p@example.com:80/p?q HTTP/1.1", "GET", "/p?q", "example.com:80"),
        ("GET http://example.com?q HTTP/1.1", "GET", "/?q", "example.com"),
        ("PROPFIND /%zz//a/../b?c=%e9 HTTP/1.1", "PROPFIND", "/%zz//a/../b?c=%e9", None),
        ("OPTIONS * HTTP/1.1", "OPTIONS", "*", None),
    ],
)
def test_targets_are_kept_byte_for_byte(tmp_path: Path, logged: str, op: str, url: str, host: str | None) -> None:
    row = converted(tmp_path, LINE.replace("GET /a?b=c HTTP/1.1", logged)).row(0, named=True)
    assert (row["op"], row["url"], row["host"]) == (op, url, host)


@pytest.mark.parametrize(
    ("logged", "reason"),
    [
        ("", "no request"),
        ("-", "no request"),
        (r"\x16\x03\x01\x00\xC8", "not HTTP: binary"),
        ("HELP", "not HTTP: one word"),
        ("CONNECT example.com:443 HTTP/1.1", "CONNECT"),
        ("PRI * HTTP/2.0", "preface of HTTP/2"),
        ("GET example.com/ HTTP/1.1", "target is not a path"),
    ],
)
def test_what_cannot_be_sent_again_is_counted_and_named(tmp_path: Path, logged: str, reason: str) -> None:
    log = tmp_path / "access.log"
    log.write_text(LINE + "\n" + LINE.replace("GET /a?b=c HTTP/1.1", logged) + "\n")
    report = convert([log], tmp_path / "out.csv")
    assert account(report) == (2, 1, 1, 0, 0)
    assert report.reasons == {f"unreplayable: {reason}": 1}


def test_a_user_that_imitates_a_time_stamp_moves_nothing(tmp_path: Path) -> None:
    user = r"ev\x22il] [x [01/Jan/1999:00:00:00 +0000] y"
    row = converted(tmp_path, LINE.replace(" - - [", f" - {user} [")).row(0, named=True)
    assert (row["date"], row["client"]) == ("2026-11-20", "10.0.0.7")
    assert row["user"] == 'ev"il] [x [01/Jan/1999:00:00:00 +0000] y'


def test_no_control_character_reaches_the_csv(tmp_path: Path) -> None:
    rows = converted(tmp_path, LINE.replace("curl/8.5.0", r"a\x0Ab\x1B[31m"))
    assert rows["agent"].to_list() == [r"a\x0Ab\x1B[31m"]
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", (tmp_path / "access.csv").read_bytes())


def test_gz_crlf_and_a_last_line_without_newline(tmp_path: Path) -> None:
    log = tmp_path / "access.log.1.gz"
    log.write_bytes(gzip.compress(LINE.encode() + b"\r\n") + gzip.compress(LINE.encode()))
    assert account(convert([log], tmp_path / "out.csv")) == (2, 2, 0, 0, 0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_cut_gz_gives_what_could_be_read_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "access.gz"
    text = "".join(LINE.replace("/a?b=c", f"/{random.Random(n).random()}") + "\n" for n in range(3000))
    log.write_bytes(gzip.compress(text.encode())[:-3000])
    report = convert([log], tmp_path / "out.csv")
    assert 2700 < report.converted < 3000
    assert f"{log}: the gzip data end too soon or are damaged; the lines before are kept" in report.notes
    with pytest.warns(UserWarning, match=r"access.gz: the gzip data end too soon or are damaged; the lines bef"):
        assert len(read_log(log)) == report.converted


def test_a_cut_gz_is_refused_where_the_number_of_rejected_lines_is_limited(tmp_path: Path) -> None:
    """The data end at the end of a line, so no line is rejected."""
    log = tmp_path / "access.gz"
    log.write_bytes(gzip.compress(f"{LINE}\n".encode() * 1000)[:-4])
    for limit in (Limit(count=0), Limit(share=0.5)):
        with pytest.raises(TooManyRejects, match=f"{log}: .* end too soon .* or leave out --strict and --max-rejects"):
            convert([log], tmp_path / "out.csv", ConvertOptions(limit=limit))
    assert not (tmp_path / "out.csv").exists()


def test_requests_whose_line_begins_with_a_hash_are_counted_for_the_user(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("\n".join(["# my log", f"#{LINE}", LINE, f"# {LINE}", LINE, ""]))
    for output in ("out.csv", "out.parquet"):
        report = convert([log], tmp_path / output)
        assert account(report) == (5, 4, 0, 0, 1)
        (note,) = (note for note in report.notes if "#" in note)
        assert note.startswith("2 lines that begin with # are read as requests, as a client may send")
    log.write_text(f"# my log\n{LINE}\n")
    assert not any("#" in note for note in convert([log], tmp_path / "none.csv").notes)


def test_a_line_of_ten_megabytes_is_a_line(tmp_path: Path) -> None:
    rows = converted(tmp_path, LINE, LINE.replace("curl", "x" * 10_000_000), LINE)
    assert [len(agent) for agent in rows["agent"]] == [10, 10_000_006, 10]


def test_the_output_name_comes_from_the_log() -> None:
    assert [str(output_for(f"logs/{name}")) for name in ("access.log", "access.log.1.gz", "x")] == [
        "access.csv",
        "access.csv",
        "x.csv",
    ]


@pytest.mark.parametrize("name", ["a[1]", "b?", "*", "zugriff ä [1] (x)"])
def test_the_output_name_of_a_file_keeps_the_signs_of_patterns(name: str) -> None:
    assert str(output_for(f"logs/{name}.log")) == f"{name}.csv"
    assert str(output_for("s3://logs/2026-11-*[0-9].gz")) == "2026-11-0-9.csv"  # several logs


def test_the_output_name_holds_nothing_of_a_signature() -> None:
    assert str(output_for("https://logs.example/shop.log?sig=ab/SECRET.x")) == "shop.csv"


@pytest.mark.parametrize(
    ("late", "notes"), [(1, []), (10, ["of 210 requests 10 are older than some line before them"])]
)
def test_lines_that_go_back_in_time_are_a_share_of_all_requests_read(
    tmp_path: Path, late: int, notes: list[str]
) -> None:
    lines = [LINE] * 200 + [LINE.replace("18:58", "17:58").replace("/a", "/rare")] * late
    (tmp_path / "access.log").write_text("\n".join(lines) + "\n")
    report = convert([tmp_path / "access.log"], tmp_path / "out.csv", ConvertOptions(filter=Filter(match="/rare")))
    assert [note.partition(" by more")[0] for note in report.notes if "are older" in note] == notes


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "{log}: no such file"),
        (b"", "{log}: is empty; name a log that holds requests"),
        (b"\n\n", "{log}: is empty; name a log that holds requests"),
        (zstd.compress(b"/\n" * 50)[:-4], "{log}: the zstd data cannot be unpacked: the file was cut or is damaged"),
        (_TAR, "{log}: is an archive of files; unpack it first: tar -xOf {log} | logreplay convert -"),
        (zstd.compress(_TAR), "{log}: is an archive of files; unpack it first: tar -xOf {log} |"),
        (b"PK\3\4\0a\n", "{log}: is an archive of files; unpack it first: unzip -p {log} | logreplay convert -"),
        (b"root:x:0\n", "{log}: not an access log, or in an unknown format: 0% of the sample's lines fit"),
    ],
)
def test_errors_say_what_is_wrong(tmp_path: Path, content: bytes | None, text: str) -> None:
    log = tmp_path / "access.log"
    if content is not None:
        log.write_bytes(content)
    with pytest.raises(LogreplayError, match="^" + re.escape(text.format(log=log))):
        convert([log], tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_results_are_overwritten_only_by_force(tmp_path: Path) -> None:
    converted(tmp_path, LINE)
    with pytest.raises(LogreplayError, match="exists already"):
        converted(tmp_path, LINE)
    assert converted(tmp_path, LINE, LINE, options=ConvertOptions(force=True)).height == 2


@pytest.mark.parametrize(
    ("output", "rejects"),
    [("in.csv", None), ("./in.csv", None), ("link.csv", None), ("out.csv", "in.csv"), ("x.csv", "x.csv")],
)
@pytest.mark.parametrize("force", [False, True])
def test_an_output_that_is_the_log_or_the_other_output_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, rejects: str | None, force: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(f"{LINE}\nnonsense\n")
    Path("link.csv").symlink_to("in.csv")
    options = ConvertOptions(rejects=Path(rejects) if rejects else None, force=force)
    with pytest.raises(LogreplayError, match=r"would overwrite in\.csv, the log|name the same file"):
        convert(["in.csv"], output, options)
    assert Path("in.csv").read_text() == f"{LINE}\nnonsense\n"
    assert sorted(os.listdir()) == ["in.csv", "link.csv"]


def test_the_rejects_beside_the_output_are_never_the_log(tmp_path: Path) -> None:
    log = tmp_path / "access.rejects"
    log.write_text(LINE + "\n")
    with pytest.raises(LogreplayError, match=r"access.rejects: --rejects would overwrite .*access.rejects, the log"):
        convert([log], tmp_path / "access.csv", ConvertOptions(force=True))
    assert log.read_text() == LINE + "\n"


def test_a_conversion_that_fails_keeps_both_earlier_files(tmp_path: Path) -> None:
    converted(tmp_path, LINE, "nonsense")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".log"}
    assert len(before) >= 1
    with pytest.raises(LogreplayError):
        converted(tmp_path, "nonsense", options=ConvertOptions(force=True))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".log"} == before


def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """As root, a rename over /dev/null would end more than a conversion."""
    log, rows, rejects = tmp_path / "access.log", tmp_path / "rows", tmp_path / "rejects"
    log.write_text(f"{LINE}\nnonsense\n")
    got: dict[Path, bytes] = {}
    readers = []
    for pipe in (rows, rejects):
        os.mkfifo(pipe)
        readers.append(threading.Thread(target=lambda pipe=pipe: got.update({pipe: pipe.read_bytes()})))
        readers[-1].start()
    convert([log], rows, ConvertOptions(rejects=rejects, force=True))
    for reader in readers:
        reader.join()
    assert rows.is_fifo()
    assert rejects.is_fifo()
    assert got[rows].startswith(",".join(CORE_COLUMNS).encode())
    assert got[rows].count(b"\n") == 2
    assert b"nonsense" in got[rejects]


@pytest.mark.parametrize("request_line", ["OPTIONS * HTTP/1.0", "GET / HTTP/1.0"])
def test_apaches_requests_to_itself_are_not_replayed(request_line: str, tmp_path: Path) -> None:
    line = LINE.removesuffix(" 0.250")
    dummy = line.replace("GET /a?b=c HTTP/1.1", request_line).replace(
        "curl/8.5.0", "Apache (internal dummy connection)"
    )
    (tmp_path / "access.log").write_text(f"{line}\n{dummy}\n")
    report = convert([tmp_path / "access.log"], tmp_path / "access.csv")
    assert account(report) == (2, 1, 1, 0, 0)
    assert dict(report.reasons) == {"unreplayable: Apache's own dummy connection": 1}


def test_filtered_and_unfiltered_conversions_write_the_same_lines(tmp_path: Path) -> None:
    log = SAMPLES / sorted(path.name for path in SAMPLES.glob("*.log"))[0]
    convert([log], tmp_path / "all.csv")
    convert([log], tmp_path / "filtered.csv", ConvertOptions(filter=Filter(match="/")))
    assert (tmp_path / "all.csv").read_bytes() == (tmp_path / "filtered.csv").read_bytes()


@pytest.mark.parametrize("name", ["out.xlsx", "out.tsv", "out.csv.bz2", "out.json"])
def test_an_ending_that_says_nothing_is_refused_before_anything_is_read(name: str, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "curl/8.5.0"\n')
    with pytest.raises(LogreplayError, match=rf"{name}: unknown ending; choose one of "):
        convert([log], tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["access.log"]
    assert convert([log], tmp_path / name, ConvertOptions(to="csv")).converted == 1


@pytest.mark.parametrize("name", ["out", "OUT.CSV", "out.csv.gz", "out.csv.zst", "out.parquet"])
def test_these_endings_are_known(name: str, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "curl/8.5.0"\n')
    assert convert([log], tmp_path / name).converted == 1


@pytest.mark.parametrize(
    ("to", "name", "says"),
    [
        ("csv", "x.parquet", "parquet"),
        ("csv", "x.pias", "pias"),
        ("parquet", "x.csv", "csv"),
        ("parquet", "x.csv.gz", r"csv\.gz"),
        ("pias", "x.csv", "csv"),
        ("pias", "x.PARQUET", "parquet"),
    ],
)
def test_a_name_that_says_another_kind_than_to_is_refused(tmp_path: Path, to: str, name: str, says: str) -> None:
    with pytest.raises(LogreplayError, match=rf"--to {to} and -o .*{name} contradict each other: the name says {says}"):
        convert([SAMPLES / "nginx_request_time.log"], tmp_path / name, ConvertOptions(to=to))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("to", "name"), [("csv", "x.csv.gz"), ("csv", "x.txt"), ("pias", "x.log"), ("pias", "x.pias")])
def test_a_name_that_agrees_with_to_or_says_nothing_is_taken(tmp_path: Path, to: str, name: str) -> None:
    convert([SAMPLES / "nginx_request_time.log"], tmp_path / name, ConvertOptions(to=to))
    assert (tmp_path / name).stat().st_size


@pytest.mark.parametrize("percent", range(101))
def test_a_share_of_rejects_allows_as_many_lines_as_it_says(percent: int) -> None:
    limit, line = Limit.read(f"{percent}%"), [("log", 1, "rejected: layout")]
    Account(ConvertReport(100, rejected=percent, first_bad=line), limit).check_limit(final=True)
    with pytest.raises(
        TooManyRejects, match=rf"{percent + 1} of 100 lines rejected, {percent} allowed; mend the log, or"
    ):
        Account(ConvertReport(100, rejected=percent + 1, first_bad=line), limit).check_limit(final=True)
