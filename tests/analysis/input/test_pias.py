"""Result logs and per-second tables of Play-it-Again-Sam are analysed as they are."""

import re
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis import analyze
from logreplay.analysis.input import arrays, pias
from logreplay.analysis.tables import aggregate
from logreplay.analysis.verdict import per_second, saturation, stability
from logreplay.core.errors import LogreplayError
from simulate import SimulatedQueue

RATES = range(50, 401, 50)


@pytest.fixture(scope="module")
def requests() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return simulate.serve(simulate.sweep(RATES, 10, rng), SimulatedQueue(4, 0.016), rng)


def old_form(requests: pl.DataFrame, *, rate: bool, date: str = "%Y-%m-%d", separator: str = " ") -> str:
    """The result log as that program writes it: rate at completion, milliseconds, no zone."""
    ended = requests["scheduled"] + requests["latency"]
    rates = np.array([*RATES, 450])[np.minimum((ended // 10).cast(pl.Int64), len(RATES))]
    lines = requests.select(
        pl.concat_str(
            pl.format("{}T{}", "date", "time").str.to_datetime().dt.strftime(date + f"{separator}%H:%M:%S%.3f"),
            pl.col("latency").round(6),
            pl.lit("0.000020" + separator + "0"),
            pl.col("bytes"),
            pl.col("url").str.strip_prefix("/").replace("", "index.html"),
            pl.when(pl.col("rc") == 0).then(444).otherwise("rc"),
            pl.lit("GET") + (pl.lit(separator) + pl.Series(rates).cast(pl.String) if rate else pl.lit("")),
            separator=separator,
        )
    )
    header = "#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op expected\n#request/second = 50\n"
    return header + "\n".join(lines.to_series()) + "\n"


@pytest.mark.parametrize(("date", "separator"), [("%Y-%m-%d", " "), ("%d-%b-%Y", " "), ("%d/%b/%Y", "\t")])
def test_a_result_log_of_pias_says_the_same(requests: pl.DataFrame, tmp_path: Path, date: str, separator: str) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(old_form(requests, rate=True, date=date, separator=separator))
    read = arrays.read(path)
    assert len(read) == requests.height
    assert not read.has_schedule or read.lag.max() == 0
    verdict = saturation.judge(stability.judged_steps(read))
    assert verdict.saturation.rate == pytest.approx(250, rel=0.06)


def test_a_slow_request_belongs_to_the_step_it_started_in(requests: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(old_form(requests, rate=True))
    table = aggregate.steps(arrays.read(path))
    truth = requests["step"].value_counts().sort("step")["count"].to_numpy()
    np.testing.assert_allclose(table["scheduled"].to_numpy()[: len(truth)], truth, rtol=0.03)


@pytest.mark.parametrize("rates", [(40, 20, 10), (10, 20, 10)])
@pytest.mark.parametrize("digits", [0, 3])
def test_steps_may_come_in_any_order_of_rates(tmp_path: Path, rates: tuple[int, ...], digits: int) -> None:
    path = tmp_path / "raw.csv"
    due = [(10 * step + n / rate, rate) for step, rate in enumerate(rates) for n in range(10 * rate)]
    path.write_text(
        "".join(
            f"2017-01-01 12:00:{f'{at:06.3f}'[: 3 + digits].rstrip('.')} 0.01 0 0 512 a{n} 200 GET {rate}\n"
            for n, (at, rate) in enumerate(due)
        )
    )
    read = arrays.read(path)
    assert read.rates == rates
    np.testing.assert_allclose(np.bincount(read.step), [10 * rate for rate in rates], atol=1 if digits else max(rates))


def test_without_a_rate_the_steps_are_found_in_the_requests_of_each_second(
    requests: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(old_form(requests, rate=False).replace("#request/second = 50\n", ""))
    read = arrays.read(path)
    assert read.found_steps
    assert len(read.labels) == len(RATES)
    assert not read.several_rates
    np.testing.assert_allclose(read.rates, RATES, rtol=0.12)
    assert saturation.judge(stability.judged_steps(read)).saturation.rate == pytest.approx(250, rel=0.1)


def test_stragglers_are_no_step_in_a_result_log_as_in_a_table() -> None:
    rng = np.random.default_rng(3)
    swept = simulate.sweep([50, 100, 150, 200, 250, 300], 20, rng)
    rows = simulate.serve(swept, SimulatedQueue(4, 0.016), rng)
    late = simulate.Arrivals(120 + np.arange(120) / 6, np.zeros(120, np.int64), np.full(120, np.nan))
    late_rows = simulate.results(late, np.linspace(5, 0.02, 120)).with_columns(seq=pl.lit(rows.height, pl.Int64))
    unnamed = {"step": pl.lit(None, pl.Int64), "offered": pl.lit(None, pl.Float64)}
    swept_only, whole = (
        analyze.analyse(table.with_columns(**unnamed)) for table in (rows, pl.concat([rows, late_rows]))
    )
    assert whole.steps["scheduled"].sum() == rows.height
    assert whole.verdict.sentence == swept_only.verdict.sentence
    assert whole.verdict.onset == swept_only.verdict.onset
    assert whole.summary["requests"]["scheduled"] == rows.height + 120
    assert whole.seconds.filter(pl.col("second") >= 120)["step"].is_null().all()
    table = saturation.judge(per_second.judged_seconds(whole.seconds.drop("step")))
    assert table.steps.select("step", "rate").equals(whole.steps.select("step", "rate"))


@pytest.mark.parametrize(("days", "window"), [(0.1, 10), (1, 300), (20, 1800), (90, 21_600)])
def test_a_log_of_weeks_has_a_thousand_steps_at_most(days: float, window: int) -> None:
    rng = np.random.default_rng(5)
    scheduled = np.sort(rng.random(20_000) ** 0.5 * days * 86_400)
    rows = pl.DataFrame({"scheduled": scheduled, "latency": 0.01, "xfertime": 0.0, "rc": 200, "bytes": 1})
    read = arrays.read(rows.with_columns(error=pl.lit("")))
    assert read.window_s == window
    assert len(read.labels) <= 1000


def test_a_request_written_in_both_forms_is_read_once_and_its_copy_is_counted(tmp_path: Path) -> None:
    row = "2025-02-21 06:55:20.567 0.000788 0.001388 0 8478 download/1 200 GET"
    path = tmp_path / "raw.csv"
    path.write_text(f"{row}\n{row} 1\n2025-02-21 06:55:21.567 0.1 0 0 52 download/2 404 GET 1  expectedRC=200\n")
    read = arrays.read(path)
    assert len(read) == 2
    assert read.good.tolist() == [True, False]
    assert read.unreadable == {"the short form of a request that has its long form as well (first in line 1)": 1}


@pytest.mark.parametrize(
    ("broken", "severity", "begin"), [("", "note", "1 row is"), ("x", "warning", "the result log is")]
)
def test_a_copy_that_is_left_out_is_a_note_and_a_lost_row_a_warning(
    tmp_path: Path, broken: str, severity: str, begin: str
) -> None:
    row = "2025-02-21 06:55:20.567 0.000788 0.001388 0 8478 download/1 200 GET"
    path = tmp_path / "raw.csv"
    path.write_text(f"{row}\n{row} 1\n{broken}\n")
    (found,) = [each for each in analyze.analyse(path).summary["findings"] if each["code"] == "unreadable_rows"]
    assert found["severity"] == severity
    assert found["text"].startswith(begin)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        analyze.analysed(path)
    assert len(told) == len(broken)


@pytest.mark.parametrize("rate", ["", " 50"])
def test_requests_that_look_alike_are_all_counted(tmp_path: Path, rate: str) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("".join(f"2017-01-01 12:00:{n // 50:02} 0.01 0 0 512 a 200 GET{rate}\n" for n in range(500)))
    read = arrays.read(path)
    assert (len(read), read.unreadable) == (500, {})


def test_lines_of_a_result_log_that_are_no_rows_are_counted(tmp_path: Path) -> None:
    rows = [f"2025-02-21 06:55:2{n}.567 0.000788 0.001388 0 8478 download/{n} 200 GET" for n in range(6)]
    path = tmp_path / "raw.csv"
    path.write_text("\n".join(["# comment", "", *rows[:3], rows[3][:40], "2025-99" + rows[4][7:], rows[5]]) + "\n")
    read = arrays.read(path)
    assert len(read) == 4
    assert read.unreadable == {"not a row of Play-it-Again-Sam (first in line 6)": 2}


def test_a_line_of_a_per_second_table_that_is_no_second_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cooked.csv"
    path.write_text("#date\n2018-01-17 23:59:58 0.1 0 0 1 9\n2018-01-17 23:59:59 0.2 0 0 1 9\n2018-01-18 00:00\n")
    with pytest.raises(
        LogreplayError, match=r"cooked\.csv: line 4 is not a second of this table: '2018-01-18 00:00'; "
    ):
        analyze.analyse(path)


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (
            "9999-12-31 12:00:00 0.1 0 0 1 9",
            "line 3 is 2,914,634 days after line 1, expected at most 100 days",
        ),
        (
            "2020-01-01 12:00:01 0.1 0 0 1 9",
            "line 3 is the same second as line 2: merge such lines or delete one of two; ",
        ),
        ("2020-01-01 12:00:02 0.1 0 0 , 9", "line 3 is not a second of this table: '2020-01-01 12:00:02 0.1 0 0 , 9'"),
        (f"2020-01-01 12:00:02 0.1 0 0 1 {10**20}", "line 3 is not a second of this table: "),
        ("2020-01-01 12:00:02 0.1.1 0 0 1 9", "line 3 is not a second of this table: "),
    ],
)
def test_a_per_second_table_that_is_damaged_is_refused_with_its_line(tmp_path: Path, last: str, problem: str) -> None:
    path = tmp_path / "cooked.csv"
    path.write_text(f"2020-01-01 12:00:00 0.1 0 0 1 9\n2020-01-01 12:00:01 0.1 0 0 1 9\n{last}\n")
    with pytest.raises(LogreplayError, match=re.escape(f"cooked.csv: {problem}")):
        analyze.analyse(path)


def test_all_seconds_that_stand_twice_are_told_in_one_error(tmp_path: Path) -> None:
    path = tmp_path / "cooked.csv"
    hour = "".join(f"2020-10-25 02:{second // 60:02}:{second % 60:02} 0.1 0 0 1 9\n" for second in range(3600))
    path.write_text(hour + hour)
    problem = "line 3601 is the same second as line 1, and 3,599 lines more like it: merge"
    with pytest.raises(LogreplayError, match=re.escape(f"cooked.csv: {problem}")):
        analyze.analyse(path)


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ("30,100,0,0,100,,oops,", "line 32: mean is 'oops', expected a number; correct or delete it"),
        (",100,0,0,100,,,", "line 32: second is empty, expected a number; correct or delete it"),
        ("29,100,0,0,100,,,", "line 32 is the same second as line 31: merge such lines or delete one of two; "),
    ],
)
def test_a_table_of_logreplay_that_is_damaged_is_refused_with_its_line(tmp_path: Path, last: str, problem: str) -> None:
    path = tmp_path / "seconds.csv"
    path.write_text(of_seconds([100] * 30) + last + "," * (len(aggregate.SECONDS) - 8) + "\n")
    with pytest.raises(LogreplayError, match=re.escape(f"seconds.csv: {problem}")):
        analyze.analyse(path)


def test_the_old_codes_for_no_answer_are_no_status(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("".join(f"2017-09-27 20:44:4{n}.001 0.020285 0.0 0 0 a -{n} GET\n" for n in (1, 2, 3)))
    assert arrays.read(path).kinds == {"no_status": 3}


def old_seconds(requests: pl.DataFrame) -> str:
    table = aggregate.seconds(arrays.read(requests)).filter(pl.col("offered") > 0)
    rows = [
        f"2018-01-17 {10 + row['second'] // 3600}:{row['second'] // 60 % 60:02}:{row['second'] % 60:02} "
        f"{row['mean'] or 30:.6f} 0.000185 0.000000 {row['bytes']} {row['offered']} {row['errors']}"
        for row in table.iter_rows(named=True)
    ]
    return "#date time latency xfertime sleeptime bytes requests errors\n#TPS=100  0 0 0 0 0\n" + "\n".join(rows) + "\n"


def test_a_per_second_table_is_enough_to_find_saturation(requests: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "cooked.csv"
    path.write_text(old_seconds(requests))
    table = pias.seconds_table(path)
    assert table is not None
    assert table["offered"].sum() == requests.height
    verdict = saturation.judge(per_second.judged_seconds(table))
    assert verdict.saturation.rate == pytest.approx(250, rel=0.12)


@pytest.mark.parametrize("name", ["s[1].csv", "s*.csv"])
def test_the_name_of_a_per_second_table_is_no_pattern(tmp_path: Path, name: str) -> None:
    for second, each in enumerate(("s1.csv", name)):
        (tmp_path / each).write_text(f"2026-01-01 00:00:0{second} 0.1 0 0 5 10 0\n")
    table = pias.seconds_table(tmp_path / name)
    assert table is not None
    assert table["second"].to_list() == [0]


def test_a_flat_per_second_table_has_no_knee(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    flat = simulate.serve(simulate.sweep(RATES, 10, rng), SimulatedQueue(1000, 0.005), rng)
    path = tmp_path / "cooked.csv"
    path.write_text(old_seconds(flat))
    table = pias.seconds_table(path)
    assert table is not None
    assert saturation.judge(per_second.judged_seconds(table)).sentence.startswith("no saturation up to 4")


def test_a_table_that_was_read_is_printed_with_the_columns_of_any_other(requests: pl.DataFrame, tmp_path: Path) -> None:
    path, again = tmp_path / "cooked.csv", tmp_path / "seconds.csv"
    path.write_text(old_seconds(requests))
    table = analyze.seconds(path)
    assert table.columns == list(aggregate.SECONDS)
    assert table["p99"].is_null().all()
    table.write_csv(again)
    first, second = analyze.analyse(path), analyze.analyse(again)
    assert second.verdict.sentence == first.verdict.sentence
    assert second.steps["rate"].to_list() == first.steps["rate"].to_list()


def test_a_second_missing_from_the_table_is_there_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "cooked.csv"
    path.write_text("2018-01-17 23:59:59 0.1 0 0 1 9\n2018-01-18 00:00:01 0.2 0 0 1 9\n")
    table = pias.seconds_table(path)
    assert table is not None
    assert table["second"].to_list() == [0, 1, 2]
    assert table["offered"].to_list() == [9, 0, 9]
    assert table["mean"].to_list() == [0.1, None, 0.2]


@pytest.mark.parametrize("text", ["", "\n", "#\n", "hello\n", "\x00\xff\n", "a b c d e f g h i\n" * 3])
def test_what_is_neither_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(text.encode("latin-1"))
    assert pias.result_rows(path) is None
    assert pias.seconds_table(path) is None


HEADER = ",".join(aggregate.SECONDS) + "\n"


def of_seconds(offered: list[int]) -> str:
    """A per-second table of logreplay in which nothing was answered."""
    unknown = "," * (len(aggregate.SECONDS) - 5)
    return HEADER + "".join(f"{second},{rate},0,0,{rate}{unknown}\n" for second, rate in enumerate(offered))


def test_a_table_in_which_nothing_was_answered_is_judged_by_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    path.write_text(of_seconds([100] * 30))
    assert analyze.analyse(path).steps["verdict"].unique().to_list() == ["errors"]


@pytest.mark.parametrize("text", [HEADER, of_seconds([0] * 30)])
def test_a_table_without_requests_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "seconds.csv"
    path.write_text(text)
    with pytest.raises(LogreplayError, match=r"seconds\.csv: this per-second table holds no requests"):
        analyze.analyse(path)


def test_a_per_second_csv_may_have_further_columns_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    path.write_text("".join(f"{line},number\n" for line in of_seconds([9, 7]).splitlines()))
    table = pias.seconds_table(path)
    assert table is not None
    assert table["offered"].to_list() == [9, 7]
