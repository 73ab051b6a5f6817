"""A killed sweep can be resumed, and a sweep that fails ends by itself. Its process is killed, not the target."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from logreplay.replay.sweeps.step_log import Mark, StepLog
from support.command_line import COMMAND, MEASURED, started, typed, wait_for_rows, wait_until, workers_of

pytestmark = pytest.mark.slow

RATES = "20,60,40"
LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(
    f"2026-01-01,00:00:{second:02}.000000,0.01,0,0,10,/{second},200,GET\n" for second in range(30)
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "access.csv"
    path.write_text(LOG)
    return path


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("target") / "access.csv"
    log.write_text(LOG)
    with spawned(log, ServerCapacity()) as url:
        yield url


def command(log: Path, target: str, *more: str | Path, rates: str = RATES) -> tuple[str | Path, ...]:
    return ("sweep", rates, log, target, "--for", "1500ms", "--no-plots", *more)


def begun(log: Path, target: str, *more: str | Path, rates: str = RATES) -> "subprocess.Popen[str]":
    """A sweep that is to be killed."""
    words = command(log, target, *more, rates=rates)
    return started(*COMMAND, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def swept(log: Path, target: str, *more: str | Path, rates: str = RATES, code: int | None = None) -> str:
    """What a sweep says on stderr that nobody kills; its exit code is this one, or that of any measurement."""
    done = typed(log.parent, *command(log, target, *more, rates=rates))
    assert done.returncode in (MEASURED if code is None else (code,)), done.stderr
    return done.stderr


def said_by(process: "subprocess.Popen[str]", *codes: int) -> str:
    """What it said on stderr; it must end with one of these exit codes."""
    _, said = process.communicate(timeout=60)
    assert process.returncode in codes, said
    return said


def finished_steps(folder: Path) -> int:
    manifest = folder / "manifest.json"
    return len(json.loads(manifest.read_text())["done"]) if manifest.exists() else 0


def table(folder: Path) -> pl.DataFrame:
    """The step table but for times."""
    return pl.read_csv(folder / "steps.csv").select(
        "step", "rate", "scheduled", "ok", "http_errors", "net_errors", "bytes"
    )


def test_a_sweep_killed_in_the_middle_ends_with_the_same_table(log: Path, target: str, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    first = begun(log, target, "-o", killed, "--keep-going")
    while finished_steps(killed) < 2:
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    first.kill()
    first.communicate()
    assert scan(killed / "results.csv").select(pl.len()).collect().item() >= 120
    said = swept(log, target, "--resume", killed, "--keep-going")
    assert f"{killed}: 2 of 3 steps already done; resuming" in said
    sent = json.loads((killed / "summary.json").read_text())["requests"]["sent"]
    assert f"all steps: sent {sent} = ok " in said, "it counted the resumed steps only"
    swept(log, target, "-o", whole, "--keep-going")
    assert table(killed).equals(table(whole))
    rows = [scan(folder / "results.csv").sort("seq").select("seq", "row", "step", "offered", "url", "rc").collect()
            for folder in (whole, killed)]  # fmt: skip
    assert rows[0].equals(rows[1])


@pytest.mark.parametrize(("step", "rate"), [(0, 60), (1, 40)])
def test_a_sweep_that_loses_a_worker_is_invalid_says_what_was_lost_and_is_completed_by_resuming(
    log: Path, target: str, tmp_path: Path, step: int, rate: int
) -> None:
    folder, words = tmp_path / "sweep", ("--keep-going", "--workers", "2", "--for", "3s")  # it is to be lost within one
    first = begun(log, target, "-o", folder, *words, rates="60,40")
    wait_until(lambda: finished_steps(folder) == step and step in steps_of(folder))
    os.kill(workers_of(first.pid)[1], signal.SIGKILL)
    said = said_by(first, 3)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["verdict"] == "GENERATOR_BOUND"
    assert "verdict: GENERATOR_BOUND" in said
    assert f"warning: at {rate}/s: lost worker 2 of 2" in said
    assert "--late" not in said
    assert "failed to" not in said
    assert summary["requests"]["unexpected"] == summary["requests"]["dropped"] > 0
    assert f"a worker was lost: repeat its step with --resume {folder}" in said
    swept(log, target, "--resume", folder, *words, rates="60,40")
    again = json.loads((folder / "summary.json").read_text())
    assert again["requests"]["dropped"] == 0
    assert [each["rate"] for each in again["steps"]] == [60, 40]
    assert "shard_lost" not in {finding["code"] for finding in again["findings"]}


def steps_of(folder: Path) -> list[int]:
    """The steps of which there are rows."""
    rows = folder / "results.csv"
    written = rows.exists() and b"\n" in rows.read_bytes()  # else without its header line yet
    return scan(rows).select("step").unique().collect()["step"].to_list() if written else []


def test_a_sweep_that_loses_a_worker_while_it_warms_up_makes_no_step(log: Path, target: str, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    first = begun(log, target, "-o", folder, "--workers", "2", "--warmup", "9s", rates="60,40")
    wait_for_rows(folder / "warmup.csv")
    os.kill(workers_of(first.pid)[0], signal.SIGKILL)
    assert "no judged request was sent: lost worker 1 of 2" in said_by(first, 1)


def test_another_sweep_does_not_go_on_in_its_folder(log: Path, target: str, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    swept(log, target, "-o", folder, rates="20")
    said = swept(log, target, "--resume", folder, rates="30", code=1)
    assert said == (
        f"Error: {folder}: was another sweep: RATES was 20, is now 30; give the same log, target and options, "
        "or start again with -o\n"
    )


SENDING = [
    ("--no-keep-alive", "--no-keep-alive was not given, is now on"),
    ("--by-client", "--by-client was not given, is now on"),
    ("--max-in-flight 5", "--max-in-flight was not given, is now 5"),
    ("--late drop:1s", "--late was not given, is now 1"),
    ("--methods GET", "--methods was not given, is now GET"),
    ("--workers 2", "--workers was not given, is now 2"),
    ("--timeout 5s", "--timeout was 30, is now 5"),
    ("--sender aiohttp", "--sender was wire, is now aiohttp"),
    ("--header X-A:b", "--header was not given, is now X-A"),
    ("--by-client --timeout 5s", "--timeout was 30, is now 5, --by-client was not given, is now on"),
]


def test_a_sweep_goes_on_only_with_the_same_way_of_sending_and_lists_all_that_differs(
    log: Path, target: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    swept(log, target, "-o", folder, rates="20")
    for words, text in SENDING:
        said = swept(log, target, "--resume", folder, *words.split(), rates="20", code=1)
        assert f"{folder}: was another sweep: {text}; give the same log" in said


def test_a_sweep_does_not_go_on_with_another_file_to_inject(log: Path, target: str, tmp_path: Path) -> None:
    folder, other = tmp_path / "sweep", tmp_path / "other.csv"
    other.write_text(LOG)
    inject = ("--inject", f"{other}:3%")
    swept(log, target, "-o", folder, *inject, rates="20")
    swept(log, target, "--resume", folder, *inject, rates="20")
    other.write_text(LOG.replace("/1,", "/2,"))
    said = swept(log, target, "--resume", folder, *inject, rates="20", code=1)
    assert f"was another sweep: {other} has other content; give" in said


@pytest.mark.parametrize(
    ("now", "text"),
    [
        ("results.csv.gz", "was packed into results.csv.gz, to which rows cannot be added; unpack it, then resume"),
        ("results.csv.zst", "was packed into results.csv.zst, to which rows cannot be added; unpack it, then resume"),
        ("results.parquet", "is a Parquet file now, to which rows cannot be added; start again with -o"),
        ("elsewhere.csv", "is missing, and with it the finished steps; start again with -o"),
    ],
)
def test_a_sweep_whose_results_were_packed_does_not_go_on_and_says_why(now: str, text: str, tmp_path: Path) -> None:
    log = StepLog(tmp_path)
    log.close()
    (tmp_path / now).touch()
    with pytest.raises(LogreplayError, match=f"^{re.escape(f'{tmp_path}/results.csv: {text}')}$"):
        StepLog(tmp_path, Mark(judged=1000))


def test_a_sweep_is_refined_where_the_target_saturates_and_goes_on_there_if_killed(log: Path, tmp_path: Path) -> None:
    folder, rates = tmp_path / "refined", "60,100,140,180,260,320"
    with spawned(log, ServerCapacity(workers=4, service_s=0.02)) as target:
        first = begun(log, target, "-o", folder, "--refine", "--for", "2s", rates=rates)
        while finished_steps(folder) < 7:
            if first.poll() is not None:
                pytest.skip(f"this machine is too busy to see where the target saturates: {first.communicate()[1]}")
            time.sleep(0.02)
        first.kill()
        first.communicate()
        refined = json.loads((folder / "manifest.json").read_text())["refined"]
        assert len(refined) == 4
        assert refined == sorted(refined)
        assert refined[0] > 140
        assert refined[-1] < 320
        swept(log, target, "--resume", folder, "--refine", "--for", "2s", rates=rates)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["refined"] == refined
    made = [step["rate"] for step in manifest["done"]]
    assert set(refined) & set(made) == {rate for rate in made if rate not in (60, 100, 140, 180, 260, 320)}
    assert table(folder)["rate"].n_unique() == len(made) > 6
    assert scan(folder / "results.csv").select(pl.col("seq").is_duplicated().sum()).collect().item() == 0


def test_a_sweep_that_goes_on_tells_the_sessions_connections_and_readings_of_all_its_steps(
    log: Path, target: str, tmp_path: Path
) -> None:
    """The summary had those of the steps after the resumption, and none of the refined steps."""
    logins, folder = tmp_path / "logins.csv", tmp_path / "sweep"
    logins.write_text("url\n/1\n")
    words = ("--by-client", "--login", logins, "--requests-per-connection", "5", "--watch", "load=!echo 1", "--refine")
    swept(log, target, "-o", folder, *words, rates="20,30")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["refined"] = [14.0]  # the range of saturation may reach below the rates
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with (folder / "results.watch.csv").open("a") as readings:
        readings.write(f"{manifest['mark']['next_s']},load,1000.0,\n")  # of a step that was killed
    swept(log, target, "--resume", folder, *words, rates="20,30")
    summary = json.loads((folder / "summary.json").read_text())
    (sessions,) = (each["text"] for each in summary["findings"] if each["code"] == "sessions")
    counted = json.loads((folder / "manifest.json").read_text())["sessions"]
    assert sessions.startswith(f"{counted['clients']} sessions: {counted['logins']} login requests")
    assert counted["logins"] > manifest["sessions"]["logins"] > 0
    (address,) = summary["addresses"].values()
    assert address["requests"] == summary["requests"]["sent"] + counted["logins"]
    assert set(pl.read_csv(folder / "results.watch.csv")["value"]) == {1.0}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("refined", "manifest.json: is not a manifest of a sweep, or is damaged; start the sweep again"),
        ("mark", "results.csv: a file of the interrupted run was changed: no row ends at byte "),
    ],
)
def test_a_sweep_folder_of_somebody_else_neither_decides_the_rate_nor_cuts_a_row(
    log: Path, target: str, tmp_path: Path, changed: str, why: str
) -> None:
    folder = tmp_path / "sweep"
    swept(log, target, "-o", folder, rates="20,30")
    rows, manifest = (folder / "results.csv").read_bytes(), json.loads((folder / "manifest.json").read_text())
    if changed == "mark":
        manifest["mark"]["judged"] -= 5
        manifest["done"].pop()
    else:
        manifest["refined"] = [500.0]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert why in swept(log, target, "--resume", folder, "--refine", rates="20,30", code=1)
    assert (folder / "results.csv").read_bytes() == rows


def test_a_condition_ends_a_sweep_and_keeps_what_was_measured(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    with spawned(log, ServerCapacity()) as target:  # which has a queue afterwards
        said = swept(log, target, "-o", folder, "--stop", "in_flight>20", "--for", "3s", rates="20,800", code=4)
    assert "stopped: in_flight>20: " in said
    assert scan(folder / "results.csv").select(pl.col("step").n_unique()).collect().item() == 2
    assert finished_steps(folder) == 1
