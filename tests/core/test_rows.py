"""Rows of normalized files are read whole, or refused with a reason."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, REASON
from logreplay.core.rows import names_in, read_batches, read_table, read_texts, scan
from logreplay.core.zstd import zstd

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,agent\n"
CORE = "2026-01-01,00:00:00.5,0.25,0,0,7"


def read_all(path: Path, *columns: str, rows: int = 4) -> pl.DataFrame:
    return pl.concat(read_batches(path, columns, rows=rows), how="diagonal")


def test_rows_with_quotes_and_newlines_are_never_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    agents = [f'a "{n}"\n,{n}' for n in range(3000)]
    quoted = ('"' + agent.replace('"', '""') + '"' for agent in agents)
    path.write_text(HEADER + "".join(f"{CORE},/{n},200,GET,{agent}\n" for n, agent in enumerate(quoted)))
    frame = read_all(path, "url", "agent", "bytes", "host")
    assert frame["url"].to_list() == [f"/{n}" for n in range(3000)]
    assert frame["agent"].to_list() == agents
    assert frame["bytes"].unique().to_list() == [7]
    assert frame["host"].null_count() == 3000


@given(agents=st.lists(st.text(alphabet='a",\n\r é', min_size=1, max_size=8), min_size=1, max_size=40))
@settings(max_examples=60)
def test_blocks_hold_what_the_whole_file_holds(agents: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("blocks") / "log.csv"
    fields = {"date": "2026-01-01", "time": "00:00:00", "latency": 0, "xfertime": 0, "thinktime": 0, "bytes": 1}
    frame = pl.DataFrame({"agent": agents}).with_columns(
        *(pl.lit(value).alias(name) for name, value in fields.items()),
        pl.lit("/").alias("url"), pl.lit(200).alias("rc"), pl.lit("GET").alias("op"),
    )  # fmt: skip
    frame.select(*fields, "url", "rc", "op", "agent").write_csv(path)
    assert read_all(path, "agent", rows=1)["agent"].to_list() == scan(path).collect()["agent"].to_list()


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_compressed_files_are_told_by_content(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"log.csv.{kind}"
    data = (HEADER + f"{CORE},/,200,GET,x\n" * 5000).encode()
    path.write_bytes(gzip.compress(data) if kind == "gz" else zstd.compress(data))
    assert read_all(path, "url", "latency").height == 5000
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LogreplayError, match="cannot be read"):
        read_all(path, "url")


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_a_compressed_file_that_was_cut_is_not_taken_for_a_whole_one(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "log.csv"
    data = compress((HEADER + "".join(f"{CORE},/{number**5},200,GET,x\n" for number in range(20_000))).encode())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(LogreplayError, match=r"log\.csv: cannot be read to its end: "):
        read_all(path, "url")


@pytest.mark.parametrize("name", ["p[1]", "p*", "p?"])
def test_the_name_of_a_file_is_no_pattern(tmp_path: Path, name: str) -> None:
    pl.DataFrame({"url": ["/other"]}).write_parquet(tmp_path / "p1.parquet")
    text = tmp_path / "log.csv"
    text.write_text(f"{HEADER}{CORE},/mine,200,GET,curl\n")
    path = tmp_path / name / f"{name}.parquet"
    path.parent.mkdir()
    for each in (path, tmp_path / path.name):
        with each.open("wb") as file:
            scan(text).sink_parquet(file)
        assert names_in(each) == names_in(text)
        assert read_all(each, "url")["url"].to_list() == ["/mine"]
        assert [frame["url"].to_list() for frame, *_ in read_texts(each)] == [["/mine"]]


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.read_csv((HEADER + "".join(f"{CORE},/{n**5},200,GET,x\n" for n in range(20_000))).encode()).write_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 4] + bytes(1000) + data[len(data) // 4 + 1000 :])
    with pytest.raises(LogreplayError, match=r"log\.parquet: cannot be read to its end: "):
        read_all(path, "url")


def log_of(folder: Path, *rows: str, kind: str = "csv", header: str = HEADER) -> Path:
    path = folder / "log.csv"
    path.write_text(header + "".join(row + "\n" for row in rows))
    if kind == "parquet":
        pl.read_csv(path, infer_schema=False).write_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(f".{kind}")


def test_a_row_with_an_unclosed_quote_is_refused_with_its_line(tmp_path: Path) -> None:
    path = log_of(tmp_path, f'{CORE},"/a,200,GET,x', *[f"{CORE},/b,200,GET,x"] * 3)
    frame = read_all(path, "url", "rc", rows=1000)
    assert frame["url"].to_list() == [None, "/b", "/b", "/b"]
    assert frame["rc"].to_list() == [None, 200, 200, 200]
    assert frame[REASON].to_list() == ["a quote is not closed (first in line 2)", *[None] * 3]


@pytest.mark.filterwarnings("error")
def test_a_quote_in_an_unquoted_value_costs_no_row(tmp_path: Path) -> None:
    rows = [f"{CORE},/{number},200,GET,x" for number in range(2000)]
    rows[1000] = f'{CORE},/1000,200,GET,Mozilla "5.0'
    path = log_of(tmp_path, *rows)
    assert all(REASON not in frame.columns for frame in read_batches(path, ("url", "agent")))
    frame = scan(path).collect()
    assert frame["url"].to_list() == [f"/{number}" for number in range(2000)]
    assert frame["agent"][1000] == 'Mozilla "5.0'


@pytest.mark.parametrize(("kind", "place"), [("csv", "line 3"), ("parquet", "row 2")])
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (",200,", ",2xx,", "rc is not a whole number"),
        (",7,", ",1.5,", "bytes is not a whole number"),
        (",7,", f",{'9' * 20},", "bytes is not a whole number"),
        (",0.25,", ",soon,", "latency is not a number"),
        *((",0.25,", f",{value},", "latency is not a number") for value in ("inf", "-inf", "NaN", "1e999")),
    ],
)
def test_a_value_that_is_not_of_its_type_refuses_its_row(
    tmp_path: Path, kind: str, place: str, old: str, new: str, why: str
) -> None:
    row = f"{CORE},/a,200,GET,x"
    path = log_of(tmp_path, row, row.replace(old, new), row, row.replace(old, new), kind=kind)
    frame = read_all(path, "url", "rc", "bytes", "latency", rows=1000)
    good = ("/a", 200, 7, 0.25, None)
    bad = (None, None, None, None, f"{why} (first in {place})")
    assert frame.rows() == [good, bad, good, bad]
    with pytest.raises(LogreplayError, match=rf"^{path}: {why} \(first in {place}\); correct the line, or delete it$"):
        scan(path).collect()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_value_is_read_as_a_number_beside_a_row_that_is_refused(tmp_path: Path, kind: str) -> None:
    rows = [f"{CORE},/a,{rc},GET,x" for rc in ("200", "200.0", " 200", "+200", "", "x")]
    frame = read_all(log_of(tmp_path, *rows, kind=kind), "rc", rows=1000)
    assert frame["rc"].to_list() == [200, 200, 200, 200, None, None]
    assert frame[REASON].null_count() == 5


def test_a_value_that_nobody_asked_for_refuses_no_row(tmp_path: Path) -> None:
    path = log_of(tmp_path, f"{CORE},/a,2xx,GET,x")
    assert read_all(path, "url").to_dicts() == [{"url": "/a"}]


def test_the_reasons_of_a_file_are_few_and_name_the_first_line(tmp_path: Path) -> None:
    rows = [f'{CORE},/{number},200,GET,"a\nb"' + ",x" * (number % 2) for number in range(3000)]
    counts = read_all(log_of(tmp_path, *rows), "url")[REASON].drop_nulls().value_counts().rows()
    assert sorted(counts) == [
        ("fewer values than columns (first in line 5)", 1500),
        ("more values than columns (first in line 4)", 1500),
    ]


def test_equal_names_of_columns_are_told_apart_unless_the_record_knows_them(tmp_path: Path) -> None:
    path = log_of(tmp_path, f"{CORE},/a,200,GET,x,y,z", header=HEADER.replace("agent", f"mine,mine,{REASON}"))
    assert read_all(path, "mine", "mine_10", f"{REASON}_11").rows() == [("x", "y", "z")]
    path = log_of(tmp_path, f"{CORE},/a,200,GET,/b", header=HEADER.replace("agent", "url"))
    with pytest.raises(LogreplayError, match=r"log\.csv: two columns are named 'url'; rename or delete one"):
        read_all(path, "url")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_with_too_many_columns_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    more = [f"c{number}" for number in range(1000)]
    path = log_of(
        tmp_path, f"{CORE},/a,200,GET,x," + ",".join(more), kind=kind, header=f"{HEADER[:-1]},{','.join(more)}\n"
    )
    with pytest.raises(
        LogreplayError, match=r"log\.\w+: has 1,010 columns; 1,000 are the most: delete those without use"
    ):
        names_in(path)


def test_a_header_without_an_end_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEADER[:-1] + "," * (3 << 20))
    with pytest.raises(LogreplayError, match=r"log\.csv: its header line is longer than 1 MB"):
        names_in(path)


def test_a_file_without_rows_yields_none(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEADER)
    assert sum(frame.height for frame in read_batches(path, ("url",))) == 0


def test_the_first_rows_of_a_file_are_as_many_as_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(",".join(CORE_COLUMNS) + "\n" + "2026-01-01,00:00:00.0,0,0,0,0,/,200,GET\n" * 5)
    assert scan(path).head(2).collect().height == 2
    assert scan(path).filter(pl.col("rc") == 200).head(3).collect().height == 3
    assert scan(path).slice(4, 3).collect().height == 1
    assert scan(path).collect().height == 5


@pytest.mark.parametrize(
    ("text", "rows"), [("a,b\n1,2\n\n3,\n \n", [(1, 2), (3, None)]), ("a\n1\n\n3\n", [(1,), (3,)])]
)
def test_a_blank_line_is_no_row_of_a_table(tmp_path: Path, text: str, rows: list[tuple[int | None, ...]]) -> None:
    (tmp_path / "table.csv").write_text(text)
    assert (
        read_table(tmp_path / "table.csv", dict.fromkeys(text.partition("\n")[0].split(","), pl.Int64)).rows() == rows
    )
