"""Reading a normalized CSV in blocks."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.record import LogreplayError, read_batches, scan
from logreplay.core.zstd import zstd

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,agent\n"
CORE = "2026-01-01,00:00:00.5,0.25,0,0,7"


def read_all(path: Path, *columns: str, rows: int = 4) -> pl.DataFrame:
    return pl.concat(read_batches(path, columns, rows=rows))


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


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.read_csv((HEADER + "".join(f"{CORE},/{n**5},200,GET,x\n" for n in range(20_000))).encode()).write_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 4] + bytes(1000) + data[len(data) // 4 + 1000 :])
    with pytest.raises(LogreplayError, match=r"log\.parquet: cannot be read to its end: "):
        read_all(path, "url")


def test_quotes_that_do_not_add_up_cost_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEADER + f'{CORE},"/a,200,GET,x\n' + f"{CORE},/b,200,GET,x\n" * 3)
    assert read_all(path, "url", rows=1000)["url"].to_list() == ['"/a', "/b", "/b", "/b"]


def test_a_file_without_rows_yields_none(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(HEADER)
    assert sum(frame.height for frame in read_batches(path, ("url",))) == 0
