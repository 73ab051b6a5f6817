"""Steps and trials read on through the log, whatever it is and whoever sends it; and say what they repeat."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logreplay.core.rows import scan
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from support.command_line import MEASURED, typed

pytestmark = pytest.mark.slow

ROWS = 400
LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client\n" + "".join(
    f"2026-01-01,00:{n // 60:02}:{n % 60:02}.000000,0.01,0,0,10,/{n},200,GET,192.0.2.{n % 9}\n" for n in range(ROWS)
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "access.csv"
    path.write_text(LOG)
    return path


@pytest.fixture(scope="module")
def target(log: Path) -> Iterator[str]:
    with spawned(log, ServerCapacity()) as url:
        yield url


def made(folder: Path, *words: str | Path, **more: Path) -> tuple[list[int], dict[str, Any]]:
    """The rows of the log that a sweep or a search sent, in their order; and its summary."""
    done = typed(folder.parent, *words, "--no-plots", "-o", folder, **more)
    assert done.returncode in MEASURED, done.stderr
    rows = scan(folder / "results.csv").sort("seq").select("row").collect()["row"]
    return rows.to_list(), json.loads((folder / "summary.json").read_text())


def sweep(log: Path | str, target: str, folder: Path, *words: str, **more: Path) -> tuple[list[int], dict[str, Any]]:
    """All three rates, though a busy machine may answer two of them late."""
    return made(folder, "sweep", "30,60,90", log, target, "--for", "1s", "--keep-going", *words, **more)


@pytest.mark.parametrize("words", [(), ("--workers", "2"), ("--repeat", "2", "--order", "shuffle")], ids=" ".join)
def test_a_sweep_reads_on_and_repeats_nothing(log: Path, target: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    rows, summary = sweep(log, target, tmp_path / "sweep", *words)
    assert rows == list(range(len(rows)))
    assert summary["urls"] == {
        "requests": len(rows), "distinct": len(rows), "touched": len(rows), "log_requests": ROWS, "log_distinct": ROWS,
        "again": 0, "again_in_log": 0,
    }  # fmt: skip
    assert "urls_repeated" not in {finding["code"] for finding in summary["findings"]}


def test_clients_are_shared_and_the_log_is_read_on(log: Path, target: str, tmp_path: Path) -> None:
    rows, _ = sweep(log, target, tmp_path / "sweep", "--by-client", "--workers", "2")
    assert sorted(rows) == list(range(180))


def test_a_pipe_is_read_on_behind_its_filters(log: Path, target: str, tmp_path: Path) -> None:
    words, pipe = ("--from", "10", "--exclude", "7$"), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(log.read_text(),), daemon=True)
    writer.start()
    rows, summary = sweep("-", target, tmp_path / "sweep", *words, stdin=pipe)
    writer.join()
    assert rows == [row for row in range(10, ROWS) if row % 10 != 7][:180]
    assert summary["urls"]["log_requests"] == 351


def test_injected_requests_are_read_on_too(log: Path, target: str, tmp_path: Path) -> None:
    rows, summary = sweep(log, target, tmp_path / "sweep", "--inject", f"{log}:50%")
    own, injected = [row for row in rows if row >= 0], [-1 - row for row in rows if row < 0]
    assert own == injected == list(range(90))
    assert summary["urls"]["requests"] == 90


@pytest.mark.parametrize(
    ("words", "remedy"),
    [(("--restart",), "leave out --restart"), (("--for", "3s"), "give a longer log")],
    ids=["restart", "rounds"],
)
def test_what_is_repeated_is_said(log: Path, target: str, tmp_path: Path, words: tuple[str, ...], remedy: str) -> None:
    rows, summary = sweep(log, target, tmp_path / "sweep", *words)
    finding = next(finding for finding in summary["findings"] if finding["code"] == "urls_repeated")
    assert remedy in finding["text"]
    assert summary["urls"]["again"] == pytest.approx(1 - len(set(rows)) / len(rows), abs=1e-6)


def test_random_steps_draw_anew(log: Path, target: str, tmp_path: Path) -> None:
    sweep(log, target, tmp_path / "sweep", "--random")
    rows = scan(tmp_path / "sweep" / "results.csv").sort("seq").collect()
    first, second = (rows.filter(pl.col("step") == step)["row"].to_list() for step in (0, 1))
    assert first != second[: len(first)]


def test_trials_read_on(log: Path, target: str, tmp_path: Path) -> None:
    words = ("--p50", "1s", "--start", "20", "--max-tps", "32", "--trial", "1s", "--trials", "3")
    rows, summary = made(tmp_path / "find", "find", log, target, *words)
    assert rows == [row % ROWS for row in range(len(rows))]
    assert summary["urls"]["requests"] == len(rows)
    again, _ = made(tmp_path / "again", "find", log, target, *words[:-1], "2", "--restart")
    assert again.count(0) > 1
