"""Converting and analysing with helpers gives the same bytes as without."""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.input.arrays import read
from logreplay.analysis.input.file_ranges import stretches
from logreplay.analysis.input.routes import Routes, hashed
from logreplay.analysis.output.folder import write_folder
from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS, SCHEMA, to_csv
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import ConvertOptions, convert

SAMPLES = sorted((Path(__file__).parent.parent / "sample_logs").glob("*.log"))


@pytest.fixture
def helpers() -> Iterator[Executor]:
    """Two threads: what crosses to other processes is tested with a cluster."""
    with ThreadPoolExecutor(2) as executor:
        yield executor


def access_log(path: Path, lines: int) -> Path:
    """A log of nginx with some lines that are none, and times that go back a little."""
    generator = np.random.default_rng(1)
    with path.open("wb") as file:
        for first in range(0, lines, 250_000):
            number = np.arange(first, min(first + 250_000, lines))
            at = pl.Series("at", number // 500 - generator.integers(0, 3, len(number)) + 1_772_366_400)
            frame = pl.DataFrame(
                {
                    "stamp": pl.from_epoch(at).dt.strftime("%d/%b/%Y:%H:%M:%S +0000"),
                    "number": number,
                    "item": generator.integers(0, 100_000, len(number)),
                    "size": generator.integers(0, 90_000, len(number)),
                    "ms": generator.integers(1, 900, len(number)),
                }
            )
            request = (
                pl.when(pl.col("number") % 50_021 == 7)
                .then(pl.lit("\\x16\\x03\\x01"))
                .otherwise(pl.format("GET /item/{}?n={} HTTP/1.1", "item", pl.col("number") % 977))
            )
            status = pl.when(pl.col("number") % 40 == 0).then(404).otherwise(200)
            seconds = pl.format("0.{}", pl.col("ms").cast(pl.String).str.zfill(3))
            line = pl.format(
                '10.0.{}.{} - - [{}] "{}" {} {} "-" "agent/1.0" {}\n',
                *(pl.col("number") % 250, pl.col("number") % 199, "stamp", request, status, "size", seconds),
            )
            file.write("".join(frame.select(line.alias("line"))["line"].to_list()).encode())
    return path


def result_log(path: Path, rows: int) -> Path:
    """The result log of a sweep of five steps."""
    generator = np.random.default_rng(2)
    with path.open("wb") as file:
        for first in range(0, rows, 250_000):
            number = np.arange(first, min(first + 250_000, rows))
            scheduled = number / 2000
            start = pl.Series((scheduled * 1e6).astype(np.int64) + 1_772_366_400_000_000).cast(pl.Datetime("us"))
            failed = number % 5003 == 0
            frame = pl.DataFrame(
                {
                    "date": start.dt.strftime("%Y-%m-%d"),
                    "time": start.dt.strftime("%H:%M:%S%.6f"),
                    "latency": generator.lognormal(-5, 1, len(number)),
                    "url": "/item/" + pl.Series(number % 99_991).cast(pl.String) + "?n=1",
                    "rc": np.where(failed, 0, np.where(number % 77 == 0, 404, 200)),
                    "op": "GET",
                    "seq": number,
                    "row": number % 100_000,
                    "step": number * 5 // rows,
                    "offered": 2000.0,
                    "scheduled": scheduled,
                    "lag": generator.exponential(1e-4, len(number)),
                    "error": ["timeout" if bad else None for bad in failed],
                    "expected_rc": 200,
                    "client": "10.0.0.1",
                }
            )
            others = [pl.lit(0, SCHEMA[name]).alias(name) for name in RESULT_COLUMNS if name not in frame.columns]
            file.write(to_csv(frame.with_columns(others).select(RESULT_COLUMNS), header=first == 0))
    return path


def same_files(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.slow
def test_logs_are_converted_by_helpers_to_the_same_bytes(tmp_path: Path, helpers: Executor) -> None:
    logs = [*SAMPLES, access_log(tmp_path / "access.log", 60_000)]
    for folder, executor in (("alone", None), ("helped", helpers)):
        (tmp_path / folder).mkdir()
        for log in logs:
            convert([log], tmp_path / folder / f"{log.stem}.csv", ConvertOptions(), executor=executor)
        convert(logs[:2], tmp_path / folder / "both.csv", ConvertOptions(), executor=executor)
    assert same_files(tmp_path / "alone", tmp_path / "helped")


def test_a_result_log_is_analysed_by_helpers_to_the_same_bytes(
    tmp_path: Path, helpers: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = result_log(tmp_path / "results.csv", 60_000)
    monkeypatch.setattr("logreplay.analysis.input.arrays.stretches", lambda path: stretches(path, 1 << 20))
    write_folder(log, tmp_path / "alone", plots=False)
    write_folder(log, tmp_path / "helped", plots=False, executor=helpers)
    assert same_files(tmp_path / "alone", tmp_path / "helped")


def test_a_result_log_is_cut_at_line_ends(tmp_path: Path) -> None:
    log = result_log(tmp_path / "results.csv", 5000)
    cut = stretches(log, 10_000)
    assert len(cut) > 20
    rows = pl.concat([stretch.rows(["seq"]) for stretch in cut])
    assert rows["seq"].to_list() == list(range(5000))


def test_a_log_that_is_no_result_log_or_breaks_its_lines_is_read_as_a_whole(tmp_path: Path, helpers: Executor) -> None:
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
    assert stretches(foreign) == []
    log = result_log(tmp_path / "results.csv", 300)
    lines = log.read_text().splitlines(keepends=True)
    lines[100] = lines[100].replace("10.0.0.1", '"10.0\n\n\n.0.1"')
    log.write_text("".join(lines))
    write_folder(scan(log), tmp_path / "alone", plots=False)
    for size in (50, 5000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("logreplay.analysis.input.arrays.stretches", lambda path, size=size: stretches(path, size))
            write_folder(log, tmp_path / f"helped{size}", plots=False, executor=helpers)
        assert same_files(tmp_path / "alone", tmp_path / f"helped{size}")


@pytest.mark.slow
def test_damaged_rows_are_understood_alike_in_stretches_and_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = result_log(tmp_path / "results.csv", 400)
    lines = log.read_bytes().splitlines()
    lines[20] = lines[20].rsplit(b",", 9)[0]  # cut short
    lines[40] += b",1,2,3"
    lines[60] = lines[60].replace(b",GET,", b",GET,x").replace(b"200", b"9" * 30)
    lines[80] = lines[80].replace(b"/item/", b"/\xff\x00\xc3(/")
    lines[100] = b""
    lines[120] = lines[120].replace(b",GET,", b',"GET",')
    lines[140] = lines[140].replace(b"0.0", b"nan").replace(b"2000", b"inf")
    lines[160] += b"\r"
    log.write_bytes(b"\n".join(lines)[:-30])  # killed while it wrote
    monkeypatch.setattr("logreplay.analysis.input.arrays.stretches", lambda path: [])
    whole = read(log)
    assert whole.unreadable == {
        "fewer values than columns (first in line 21)": 2,
        "more values than columns (first in line 41)": 1,
        "rc is not a whole number (first in line 61)": 1,
        "no time can be read": 1,
        "scheduled is not a number (first in line 141)": 1,
    }
    for size in (100, 3000):
        monkeypatch.setattr("logreplay.analysis.input.arrays.stretches", lambda path, size=size: stretches(path, size))
        cut = read(log)
        assert cut.unreadable == whole.unreadable
        assert cut.routes == whole.routes
        assert cut.slowest.equals(whole.slowest)
        for name in (
            "scheduled",
            "lag",
            "queued",
            "response",
            "connect",
            "latency",
            "kind",
            "good",
            "step",
            "bytes",
            "route",
        ):
            assert np.array_equal(getattr(cut, name), getattr(whole, name)), name


def test_a_log_whose_quotes_do_not_add_up_is_read_all_the_same(tmp_path: Path) -> None:
    log = result_log(tmp_path / "results.csv", 50)
    lines = log.read_text().splitlines(keepends=True)
    lines[10] = lines[10].replace("/item/", '"/item/')
    log.write_text("".join(lines))
    assert len(read(log)) >= 49


def test_numbers_of_routes_do_not_depend_on_where_batches_are_cut() -> None:
    urls = pl.Series([f"/{chr(97 + k % 23)}{'x' * (k % 50)}" for k in range(3000)] + ["/(other)", None])
    whole, apart = Routes(), Routes()

    def encode(routes: Routes, part: pl.Series) -> list[int]:
        return list(routes.encode(part, part.to_frame().select(hashed(pl.first())).to_series().to_numpy()))

    numbers = encode(whole, urls)
    parts = [number for part in (urls[:1000], urls[1000:2500], urls[2500:]) for number in encode(apart, part)]
    assert parts == numbers
    assert apart.names == whole.names


@pytest.mark.slow
def test_a_local_cluster_of_two_gives_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    log = access_log(tmp_path / "access.log", 300_000)  # a dozen blocks
    for folder, more in (("alone", []), ("helped", ["--cluster", "local:2"])):
        (tmp_path / folder).mkdir()
        assert run(["convert", str(log), "-o", str(tmp_path / folder / "access.csv"), "-q", *more]) == 0
    assert same_files(tmp_path / "alone", tmp_path / "helped")
    for path in (tmp_path / "alone" / "access.csv", tmp_path / "helped" / "access.csv", log):
        path.unlink()
    results = result_log(tmp_path / "results.csv", 600_000)  # several stretches
    for folder, more in (("1", []), ("2", ["--cluster", "local:2"])):
        assert run(["analyze", str(results), "-o", str(tmp_path / folder), "--no-plots", "-q", *more]) == 0
    assert same_files(tmp_path / "1", tmp_path / "2")
