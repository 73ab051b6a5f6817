"""Normalized CSVs that are merged, filtered and written in other forms."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError, TooManyRejects
from logreplay.core.rows import scan
from logreplay.parsers.conversion.filters import Filter
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.report import Limit

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
ROW = "2026-11-20,17:58:{:02}.250000,0.061,0.002,1.5,17,/a?b=c,200,GET"
COMBINED = '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "-" "curl/8.5.0"\n'


def table(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join((header, *rows)) + "\n", "utf-8")
    return path


def test_a_filter_on_clients_needs_that_column(tmp_path: Path) -> None:
    one = table(tmp_path / "one.csv", ROW.format(1))
    with pytest.raises(LogreplayError, match=r"--client: .* has no column client"):
        convert([one], tmp_path / "out.csv", ConvertOptions(filter=Filter(client="10.0.0.7")))


def test_the_same_csv_under_two_names_is_refused(tmp_path: Path) -> None:
    one, two = (table(tmp_path / name, ROW.format(1)) for name in ("one.csv", "two.csv"))
    with pytest.raises(LogreplayError, match=r"one\.csv and .*two\.csv hold the same lines"):
        convert([one, two], tmp_path / "merged.csv")
    empty = [table(tmp_path / f"empty{number}.csv") for number in (1, 2)]
    assert convert([one, *empty], tmp_path / "merged.csv").converted == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [(",url", "two columns are named 'url'"), ("".join(f",c{n}" for n in range(1000)), "has 1,009")],
)
def test_a_normalized_csv_with_columns_that_cannot_be_read_is_told_why(tmp_path: Path, more: str, why: str) -> None:
    log = table(tmp_path / "log.csv", ROW.format(1) + "," * more.count(","), header=HEADER + more)
    with pytest.raises(LogreplayError, match=rf"log\.csv: {why}"):
        convert([log], tmp_path / "out.csv")


def test_rejected_rows_have_the_numbers_of_their_lines_behind_blank_ones(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("\n\n" + "\n".join((HEADER, ROW.format(1), "", "nonsense", ROW.format(2), "more nonsense")) + "\n")
    report = convert([log], tmp_path / "out.csv")
    assert [line for _, line, _ in report.first_bad] == [6, 8]


def test_csvs_are_merged_in_order_of_start_with_all_of_their_columns(tmp_path: Path) -> None:
    one = table(tmp_path / "one.csv", ROW.format(1) + ",10.0.0.7", ROW.format(5) + ",", header=f"{HEADER},client")
    two = table(tmp_path / "two.csv", ROW.format(4) + ",0,x y", ROW.format(3) + ",1,", header=f"{HEADER},seq,mine")
    report = convert([one, two], tmp_path / "merged.csv")
    assert (report.lines, report.converted) == (4, 4)
    assert (tmp_path / "merged.csv").read_text().splitlines() == [
        f"{HEADER},client,seq,mine",
        ROW.format(1) + ",10.0.0.7,,",
        ROW.format(3) + ",,1,",
        ROW.format(4) + ",,0,x y",
        ROW.format(5) + ",,,",
    ]


@pytest.mark.parametrize("name", ["other.csv.gz", "other.csv.zst", "other.parquet"])
def test_a_csv_comes_back_byte_for_byte_from_each_other_form(tmp_path: Path, name: str) -> None:
    log = table(tmp_path / "log.csv", *map(ROW.format, range(50)))
    convert([log], tmp_path / name)
    convert([tmp_path / name], tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_bytes() == log.read_bytes()


def test_a_csv_becomes_the_input_of_play_it_again_sam(tmp_path: Path) -> None:
    log = table(tmp_path / "log.csv", ROW.format(7))
    convert([log], tmp_path / "log.pias")
    assert (tmp_path / "log.pias").read_text().splitlines()[1] == (
        "2026-11-20 17:58:07.250000 0.061 0.002 1.5 17 /a?b=c 200 GET"
    )


def test_rows_of_a_csv_are_filtered_and_redacted(tmp_path: Path) -> None:
    log = table(tmp_path / "log.csv", ROW.format(1), ROW.format(2).replace("/a?b=c", "/z?b=a-private-value"))
    options = ConvertOptions(filter=Filter(match="^/z"), redact=True)
    report = convert([log], tmp_path / "out.csv", options)
    assert (report.lines, report.converted, report.filtered) == (2, 1, 1)
    (url,) = scan(tmp_path / "out.csv").collect()["url"]
    assert url.startswith("/z?b=")
    assert url != "/z?b=a-private-value"


def test_a_log_and_a_csv_are_not_converted_together(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(COMBINED)
    log = table(tmp_path / "log.csv", ROW.format(7))
    with pytest.raises(LogreplayError, match=r"access\.log and .*log\.csv: .*convert the log first, then merge"):
        convert([log, tmp_path / "access.log"], tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (ConvertOptions(format="combined"), "--format"),
        (ConvertOptions(time_unit="ms"), "--time-unit"),
        (ConvertOptions(stamped="end"), "--stamped"),
    ],
)
def test_options_that_say_how_a_log_is_read_exclude_a_csv(tmp_path: Path, options: ConvertOptions, name: str) -> None:
    log = table(tmp_path / "log.csv", ROW.format(7))
    with pytest.raises(LogreplayError, match=rf"{name} and .*log\.csv exclude each other"):
        convert([log], tmp_path / "out.csv", options)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("2026-11", "2026-13", "time stamp"),
        ("2026-11", "0000-11", "time stamp"),
        ("17:58", "25:58", "time stamp"),
        (",0.061", ",1e300", "latency"),
        (",0.061", ",NaN", "latency"),
        (",0.061", ",-1", "latency"),
        (",0.061", ",soon", "latency"),
        (",0.002", f",{'9' * 30}", "xfertime"),
        (",1.5", ",inf", "thinktime"),
        (",17,", f",{'9' * 20},", "bytes"),
        (",17,", ",-1,", "bytes"),
        (",17,", ",1.5,", "bytes"),
        (",200,", ",1000,", "rc"),
        ("/a?b=c", "", "no request"),
        ("/a?b=c", "a b", "url"),
        (",GET", ",", "no request"),
        (",GET", ",G T", "method"),
    ],
)
def test_an_impossible_value_rejects_its_row_alone(tmp_path: Path, old: str, new: str, reason: str) -> None:
    bad = ROW.format(7).replace(old, new, 1)
    report = convert([table(tmp_path / "log.csv", ROW.format(1), "", bad, ROW.format(2))], tmp_path / "out.csv")
    assert report.reasons == Counter({f"rejected: {reason}": 1})
    assert (report.lines, report.converted, report.rejected, report.blank) == (4, 2, 1, 1)
    assert (tmp_path / "out.rejects").read_text() == f"4 rejected: {reason}\t{bad}\n"


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_line_break_in_a_value_rejects_its_row_alone(tmp_path: Path, name: str) -> None:
    """The conversion of all rows ended as a bug of logreplay."""
    rows = [
        ROW.format(1) + ",x",
        ROW.format(2) + ',"a\nb"',
        ROW.format(3) + ",y",
        ROW.format(4).replace("17:58", "25:58") + ",",
    ]
    log = table(tmp_path / "log.csv", *rows, header=f"{HEADER},agent")
    if name == "log.parquet":
        pl.read_csv(log, infer_schema=False).write_parquet(tmp_path / name)
    report = convert([tmp_path / name], tmp_path / "out.csv")
    assert report.sentence() == "4 lines = 2 converted + 0 unreplayable + 2 rejected + 0 blank"
    first, last = (3, 6) if name == "log.csv" else (2, 4)  # the numbers of lines, and of rows
    assert report.first_bad == [
        (str(tmp_path / name), first, "rejected: line break in a value"),
        (str(tmp_path / name), last, "rejected: time stamp"),
    ]
    spelled = rows[1].replace("\n", "\\n")
    kept = f"{first} rejected: line break in a value\t{spelled}\n{last} rejected: time stamp\t{rows[3]}\n"
    assert (tmp_path / "out.rejects").read_text() == kept
    assert scan(tmp_path / "out.csv").collect()["agent"].to_list() == ["x", "y"]


def test_a_comma_in_the_name_of_a_column_comes_back(tmp_path: Path) -> None:
    """It was written without quotes: two names for one column."""
    log = table(tmp_path / "log.csv", ROW.format(1) + ",x", header=f'{HEADER},"a,b"')
    convert([log], tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == log.read_bytes()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("start", "logreplay has another"),
        *((name, "its name has a quote or a line break") for name in ('"a\nb"', 'a"b')),
    ],
)
def test_a_column_that_no_normalized_csv_can_hold_is_an_error(tmp_path: Path, name: str, reason: str) -> None:
    """The first ended as a bug of logreplay, the second became a header of two lines."""
    log = table(tmp_path / "log.csv", ROW.format(1) + ",x", header=f"{HEADER},{name}")
    with pytest.raises(LogreplayError, match=rf"log\.csv: column .*: {reason}; rename the column"):
        convert([log], tmp_path / "out.csv")


def test_a_text_in_a_number_column_of_a_parquet_file_rejects_its_row_alone(tmp_path: Path) -> None:
    rows = {"date": "2026-11-21", "time": "08:11:52", "xfertime": "0", "thinktime": "0", "url": "/a", "op": "GET"}
    numbers = {"latency": ["0.1", "z", "0.1", "0.1"], "bytes": ["1", "1", "z", "1"], "rc": ["200", "200", "200", "z"]}
    frame = pl.DataFrame(numbers).with_columns(pl.lit(value).alias(name) for name, value in rows.items())
    frame.write_parquet(tmp_path / "in.parquet")
    report = convert([tmp_path / "in.parquet"], tmp_path / "out.csv")
    assert (report.converted, report.rejected) == (1, 3)
    assert [reason for _, _, reason in report.first_bad] == [f"rejected: {name}" for name in ("latency", "bytes", "rc")]


def test_whole_numbers_of_a_parquet_file_may_be_floats(tmp_path: Path) -> None:
    rows = {"date": "2026-11-21", "time": "08:11:52", "url": "/a", "op": "GET", "rc": 200.0, "bytes": 7.0}
    pl.DataFrame([rows | dict.fromkeys(("latency", "xfertime", "thinktime"), 0.5)]).write_parquet(
        tmp_path / "in.parquet"
    )
    convert([tmp_path / "in.parquet"], tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1].endswith("0.5,0.5,0.5,7,/a,200,GET")


def test_a_table_whose_rows_are_all_rejected_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-11-21,08:11:53,z,0,0,10,/b,200,GET\n"
    )
    with pytest.raises(LogreplayError, match=r"in\.csv: no line fits .* line 2: rejected: latency; mend the table"):
        convert([tmp_path / "in.csv"], tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_limit_is_a_number_of_lines_or_a_share() -> None:
    assert Limit.read("5%") == Limit.read("0.05") == Limit(share=0.05)
    assert Limit.read("1") == Limit(count=1)


def test_rejected_rows_of_a_csv_count_against_the_limit(tmp_path: Path) -> None:
    log = table(tmp_path / "log.csv", ROW.format(1), ROW.format(2).replace(",17,", ",x,"))
    with pytest.raises(TooManyRejects, match=r"log\.csv: line 3: rejected: bytes; 1 of 2 lines"):
        convert([log], tmp_path / "out.csv", ConvertOptions(limit=Limit(count=0)))


def test_a_parquet_file_with_values_that_no_csv_holds_is_an_error_of_one_line(tmp_path: Path) -> None:
    row = dict(zip(HEADER.split(","), ROW.format(1).split(","), strict=True))
    pl.DataFrame({**row, "list": [[1, 2]]}).write_parquet(tmp_path / "odd.parquet")
    with pytest.raises(LogreplayError, match=r"odd\.parquet: cannot be read to its end: [^\n]*$"):
        convert([tmp_path / "odd.parquet"], tmp_path / "out.csv")


@pytest.mark.parametrize("name", [".", "folder", "folder/.."])
def test_a_folder_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "access.log").write_text(COMBINED)
    with pytest.raises(LogreplayError, match=rf"-o {name}: is a folder; name a file in it"):
        convert(["access.log"], name, ConvertOptions(force=True))


ODD = ("9" * 30, "1e300", "-1", "NaN", "-inf", "", "0000-00-00", "9999-12-31", "24:00:00", "\\", "é", "\t", "a b", "\0")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from(ODD) | st.text("09-:.eE+, /", max_size=9)), min_size=1))
def test_an_odd_row_costs_no_other_row(changes: list[tuple[int, str]]) -> None:
    cells = ROW.format(7).split(",")
    for place, value in changes:
        cells[place] = value
    with TemporaryDirectory() as folder:
        log = table(Path(folder) / "log.csv", ROW.format(1), ",".join(cells), ROW.format(2))
        report = convert([log], Path(folder) / "out.csv")
        rows = scan(Path(folder) / "out.csv").collect()
    assert report.lines == 3
    assert rows.height == report.converted >= 2
    numbers = rows.select(pl.col("latency", "xfertime", "thinktime", "bytes", "rc"))
    assert not sum(numbers.null_count().row(0))
    assert all(0 <= value < 1e18 for row in numbers.rows() for value in row)
