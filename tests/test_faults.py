"""What goes wrong on this machine while logreplay works: it says so, and what was measured is on disk, whole.

Real processes, file systems, limits and signals. What needs root is skipped without.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import polars as pl
import pytest

from logreplay.core.record import RESPONSE_PARTS
from logreplay.core.rows import scan
from support.command_line import COMMAND, MEASURED, PATIENCE, started, wait_for_rows, wait_until
from support.delayed_responses import delayed_responses
from support.no_buffers import NoBuffers

pytestmark = pytest.mark.slow

KILLS: Final = 25


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """An access log of which every tenth line is none."""
    path = tmp_path / "access.log"
    line = '192.0.2.1 - - [10/Oct/2025:13:55:36 +0000] "GET /{} HTTP/1.1" 200 23 "-" "-"\n'
    path.write_text("".join(line.format(n) if n % 10 else "nonsense\n" for n in range(400_000)))
    return path


@dataclass(frozen=True)
class Ended:
    """What became of a process."""

    code: int
    out: str
    err: str


def start(*words: object, under: str = "", **options: Any) -> "subprocess.Popen[str]":
    """Start the command line.

    Args:
        under: what a shell does with itself before it becomes the command.
    """
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    shell = ["bash", "-c", f'{under}; exec "$@"', "-"] if under else []
    return started(*shell, *COMMAND, *words, **options)


def end(process: "subprocess.Popen[str]") -> Ended:
    out, err = process.communicate(timeout=PATIENCE)
    return Ended(process.returncode, out or "", err or "")


def logreplay(*words: object, **options: Any) -> Ended:
    return end(start(*words, **options))


def rows_of(path: Path) -> pl.DataFrame:
    """The rows of a result log, of which every line must be whole."""
    text = path.read_bytes()
    assert text.endswith(b"\n")
    commas = text.partition(b"\n")[0].count(b",")
    assert all(line.count(b",") == commas for line in text.splitlines())
    return scan(path).collect()


def summary_of(results: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(results.with_name(f"{results.stem}.summary.json").read_text())
    return summary


def identities_hold(results: Path) -> None:
    """What the summary counts is what is in the rows."""
    counts, rows = summary_of(results)["requests"], rows_of(results)
    assert counts["scheduled"] == counts["sent"] + counts["dropped"] == rows.height
    assert counts["sent"] == counts["ok"] + counts["http_error"] + counts["net_error"]
    assert rows["seq"].n_unique() == rows.height


# kill -9


def whole_until_a_second_ago(path: Path, rate: float | None, killed: float) -> None:
    """Every row is whole, none is there twice; and of what was due until a second before the end, all are there."""
    if not path.exists() or not path.stat().st_size:
        return
    rows = rows_of(path)
    assert rows["seq"].n_unique() == rows.height
    if not rows.height:
        return
    ended = pl.sum_horizontal("scheduled", *RESPONSE_PARTS)
    first = rows.sort("seq").row(0, named=True)
    began = _epoch(first) - first["scheduled"] - first["lag"]
    known = set(rows["seq"])
    if rate is not None:
        slow = rows.select((ended - pl.col("scheduled")).max()).item()
        due = int((killed - began - 1.0 - slow) * rate)
        assert set(range(due)) <= known
    assert max(known) < len(known) + 50  # in order of completion: some were under way


def _epoch(row: dict[str, Any]) -> float:
    stamp = f"{row['date']} {row['time']}"
    return float(pl.Series([stamp]).str.to_datetime("%Y-%m-%d %H:%M:%S%.f").dt.epoch("us")[0]) / 1e6


def killed_somewhere(words: Sequence[object], watched: Path, moment: float) -> float:
    """Start a command, wait until it writes, kill it so many seconds later; when that was."""
    process = start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not watched.exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    time.sleep(moment)  # it is the moment that is random
    process.kill()
    killed = time.time()
    process.wait()
    return killed


@pytest.mark.slow
@pytest.mark.few
def test_killed_at_any_moment_every_file_is_readable(tmp_path: Path, log: Path, raw: Path, target: str) -> None:
    """Five times each: convert, sweep and find, and run ten times, each at moments of its own."""
    chance = random.Random(9)

    def once(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        kind = ("run", "sweep", "find", "convert", "run")[number % 5]
        if kind == "run":
            path, rate = folder / "r.csv", 150
            words: tuple[object, ...] = ("run", log, target, "--tps", rate, "--for", "2s", "-q", "-o", path)
            killed = killed_somewhere(words, path, chance.uniform(0, 2.8))
            whole_until_a_second_ago(path, rate, killed)
            if (folder / "r.summary.json").exists():
                identities_hold(path)
        elif kind == "sweep":
            words = ("sweep", "60,90,120", log, target, "--for", "1s", "-q", "-o", folder / "s", "--no-plots")
            killed = killed_somewhere(words, folder / "s" / "results.csv", chance.uniform(0, 4))
            whole_until_a_second_ago(folder / "s" / "results.csv", None, killed)
            whole_json(folder / "s")
        elif kind == "find":
            words = ("find", log, target, "--p99", "300ms", "--start", 50, "--max-tps", 100, "--trial", "1s", "-q",
                     "--no-plots", "-o", folder / "f")  # fmt: skip
            killed = killed_somewhere(words, folder / "f" / "results.csv", chance.uniform(0, 4))
            whole_until_a_second_ago(folder / "f" / "results.csv", None, killed)
            whole_json(folder / "f")
        else:
            process = start("convert", raw, "-o", folder / "a.csv", "-q")
            wait_until(lambda: any(folder.iterdir()) or process.poll() is not None)
            time.sleep(chance.uniform(0, 0.4))  # it is the moment that is random
            process.kill()
            end(process)
            if (folder / "a.csv").exists():
                assert scan(folder / "a.csv").select(pl.len()).collect().item() == 360_000
                assert (folder / "a.rejects").read_bytes().count(b"\n") == 40_000
            elif number == 3:  # what a killed one leaves is in nobody's way
                assert logreplay("convert", raw, "-o", folder / "a.csv").code == 0

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(once, range(KILLS)))


def whole_json(folder: Path) -> None:
    for path in folder.glob("*.json"):
        json.loads(path.read_text())


# disks and folders


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1.1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1100k", "none", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs root, to mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_ends_a_run_and_keeps_what_was_measured(small_disk: Path, log: Path, target: str) -> None:
    path = small_disk / "r.csv"
    done = logreplay("run", log, target, "--tps", 2500, "--for", "60s", "-o", path)
    assert done.code == 1
    assert f"Error: {path}: cannot be written any more: the disk is full; free some space" in done.err
    assert f"the rows written so far are kept in {path}\n" in done.err
    rows = rows_of(path)
    assert rows.height > 1000
    assert rows["seq"].n_unique() == rows.height


def test_a_full_disk_keeps_the_earlier_result_and_names_the_place_of_the_rows(
    small_disk: Path, log: Path, target: str
) -> None:
    path, summary = small_disk / "r.csv", small_disk / "r.summary.json"
    path.write_text("precious")
    summary.write_text("precious")
    done = logreplay("run", log, target, "--tps", 2500, "--for", "60s", "-o", path, "--force")
    assert done.code == 1
    assert "the disk is full" in done.err
    assert f"the rows written so far are kept in {path}.running.csv" in done.err
    assert path.read_text() == summary.read_text() == "precious"
    assert rows_of(small_disk / "r.csv.running.csv").height > 1000


def test_a_full_disk_ends_a_sweep_which_can_be_read(small_disk: Path, log: Path, target: str) -> None:
    folder = small_disk / "s"
    done = logreplay("sweep", "1000,4000", log, target, "--for", "4s", "--no-plots", "-o", folder)
    assert done.code == 1
    assert f"Error: {folder / 'results.csv'}: cannot be written any more: the disk is full" in done.err
    assert rows_of(folder / "results.csv").height > 1000
    assert len(json.loads((folder / "manifest.json").read_text())["done"]) == 1


def test_a_full_disk_leaves_nothing_of_a_conversion(small_disk: Path, raw: Path) -> None:
    done = logreplay("convert", raw, "-o", small_disk / "a.csv")
    assert done.code == 1
    full = "the disk is full; free some space, or write elsewhere with -o; nothing was kept"
    assert f"Error: {small_disk / 'a.csv'}: {full}" in done.err
    assert not list(small_disk.iterdir())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("convert {raw} -o {path}", "{limit}; nothing was kept"),
        ("run {log} --demo-target --tps 400 --for 9s -o {path}", "cannot be written any more: {limit}"),
    ],
)
def test_a_limit_of_the_size_of_files_is_told_with_its_remedy(
    words: str, text: str, raw: Path, log: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    command = words.format(raw=raw, log=log, path=path)
    limited = f"ulimit -f 20; exec {sys.executable} -m logreplay.cli.main {command}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    limit = "the file size limit is reached (ulimit -f); raise it, or write elsewhere with -o"
    assert f"Error: {path}: {text.format(limit=limit)}" in done.stderr


@pytest.mark.parametrize("command", ["run", "sweep", "find", "convert"])
def test_a_disk_that_is_read_only_is_said_before_anything_is_sent(
    small_disk: Path, log: Path, raw: Path, command: str
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    words = {
        "run": ("run", log, "http://127.0.0.1:1", "--tps", 1),
        "sweep": ("sweep", "10,20", log, "http://127.0.0.1:1"),
        "find": ("find", log, "http://127.0.0.1:1", "--p99", "1s"),
        "convert": ("convert", raw),
    }[command]
    path = small_disk / "out.csv"
    done = logreplay(*words, "-o", path)
    assert done.code == 1
    assert f"Error: {path}: cannot be written: " in done.err
    assert "choose another" in done.err


def test_a_folder_that_is_removed_ends_the_run_with_a_word(tmp_path: Path, log: Path, target: str) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    process = start("run", log, target, "--tps", 100, "--for", "50s", "-o", folder / "r.csv")
    wait_for_rows(folder / "r.csv")
    shutil.rmtree(folder)
    done = end(process)
    assert done.code == 1
    assert f"Error: {folder / 'r.csv'}: cannot be written any more: it was removed" in done.err
    assert "kept" not in done.err


# limits of this machine


def test_too_few_descriptors_void_the_run(tmp_path: Path, log: Path) -> None:
    path = tmp_path / "r.csv"
    words = ("--tps", 200, "--for", "1s", "--timeout", "1s", "-o", path, "--workers", 1)
    with delayed_responses(30) as stalled:
        done = logreplay("run", log, stalled, *words, under="ulimit -n 60")
    assert done.code == 3
    assert "only 60 are allowed" in done.err
    assert "connections could not be opened or used here (EMFILE): too few file descriptors: raise" in done.err
    assert "GENERATOR_BOUND" in done.err
    identities_hold(path)
    assert set(rows_of(path)["error"]) == {"refused", "timeout"}


@pytest.mark.few
def test_a_step_with_too_few_descriptors_is_no_step_of_the_target(tmp_path: Path, log: Path) -> None:
    """The target answers after half a second: 150/s need 75 connections, of which 60 descriptors allow fewer.

    42/s need 21, and leave enough for the log to be opened in the next step.
    """
    head, *rows = log.read_text().splitlines()
    log.write_text("\n".join([head, *rows * 30]) + "\n")  # else the log may have to be opened again in that step
    with delayed_responses(0.5) as slow:
        done = logreplay(
            "sweep", "26,30,34,38,42,150", log, slow, "--for", "4s", "--arrivals", "even", "--no-plots", "-o",
            tmp_path / "out", "--workers", 1, under="ulimit -n 60",
        )  # fmt: skip
    assert "warning: at 150/s: " in done.err
    assert "(EMFILE)" in done.err
    assert "the verdict does not count this step" in done.err
    assert "replay machine limited at 150/s (the findings name its limit): the target was measured" in done.out
    assert done.code == 3
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [step["verdict"] for step in summary["steps"]] == ["stable"] * 5 + ["generator-limited"]
    assert list(summary["limited_steps"]) == ["5"]
    again = logreplay("analyze", tmp_path / "out", "--no-plots", "-o", tmp_path / "again")
    assert "replay machine limited at 150/s" in again.out + again.err
    assert again.code == 3


def test_so_few_descriptors_that_nothing_can_begin_are_named(tmp_path: Path, log: Path, target: str) -> None:
    done = logreplay("run", log, target, "--tps", 1, "-o", tmp_path / "r.csv", under="ulimit -n 20")
    assert done.code == 1
    assert "Error: only 20 file descriptors are allowed (ulimit -Hn)" in done.err
    assert "Traceback" not in done.err


def test_used_up_ports_void_the_run(tmp_path: Path, log: Path) -> None:
    """In a network of its own with 21 local ports (EADDRNOTAVAIL)."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-n", "true"], check=False).returncode:
        pytest.skip("needs root, to make a network")
    path = tmp_path / "r.csv"
    script = f"""
        ip link set lo up && echo 50000 50020 > /proc/sys/net/ipv4/ip_local_port_range
        mkfifo alive url
        {sys.executable} -m logreplay.replay.servers.minimal < alive > url &
        exec 9> alive
        read URL < url
        {" ".join(COMMAND)} run {log} $URL --tps 100 --for 1s --no-keep-alive --workers 1 -o {path}
    """
    words = ["unshare", "-n", "bash", "-c", script]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3, done.stderr
    assert "connections could not be opened or used here (EADDRNOTAVAIL): no local port is left: keep" in done.stderr
    identities_hold(path)
    assert set(rows_of(path)["error"]) == {None, "refused"}


@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
@pytest.mark.parametrize(("call", "word"), [("connect", "refused"), ("write", "reset")])
def test_a_network_without_buffers_voids_the_run(
    tmp_path: Path, log: Path, target: str, call: str, word: str, sender: str
) -> None:
    """When a connection is opened, and when the first request is written to it."""
    path = tmp_path / "r.csv"
    words = ("run", log, target, "--tps", 50, "--for", "1s", "--no-keep-alive", "--workers", 1, "--sender", sender,
             "-o", path)  # fmt: skip
    lacking = NoBuffers(tmp_path, call, range(30, 40), target)
    done = logreplay(*words, env=lacking.env)
    assert lacking.failed == [*range(30, 40)]
    assert done.code == 3, done.err
    identities_hold(path)
    errors = dict(rows_of(path)["error"].value_counts().iter_rows())
    assert errors.keys() == {None, word}
    assert 4 <= errors[word] <= 10  # the wire sender writes twice before it gives a connection up
    assert f"{errors[word]} connections could not be opened or used here (ENOBUFS): this machine is at a" in done.err
    assert "GENERATOR_BOUND" in done.err


def test_a_request_for_which_there_is_no_buffer_just_now_is_written_again(
    tmp_path: Path, log: Path, target: str
) -> None:
    path = tmp_path / "r.csv"
    words = ("run", log, target, "--tps", 50, "--for", "1s", "--no-keep-alive", "--workers", 1, "-o", path)
    lacking = NoBuffers(tmp_path, "write", range(30, 51, 5), target)
    done = logreplay(*words, env=lacking.env)
    assert lacking.failed == [30, 35, 40, 45, 50]
    assert done.code in MEASURED, done.err
    identities_hold(path)
    assert rows_of(path)["rc"].to_list() == [200] * 50


# time and signals


def test_a_stopped_process_charges_its_pause_and_says_so(tmp_path: Path, log: Path, target: str) -> None:
    path = tmp_path / "r.csv"
    process = start("run", log, target, "--tps", 200, "--for", "4s", "-o", path, "--json")
    wait_for_rows(path)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.2)  # the length of the pause
    process.send_signal(signal.SIGCONT)
    done = end(process)
    assert done.code == 3, done.err
    assert "did not run for 1." in done.err
    identities_hold(path)
    rows = rows_of(path)
    assert rows.height == 800
    assert rows["lag"].max() > 1.0  # type: ignore[operator]
    assert 150 < (rows["lag"] > 0.1).sum() < 400


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_is_set_changes_nothing(tmp_path: Path, log: Path, target: str, step: int) -> None:
    """The wall clock is read once, at the start; all else is of a clock that only goes forward."""
    path = tmp_path / "r.csv"
    jumping = f"""
import os, sys, time
real, real_ns = time.time, time.time_ns
jumped = lambda: {step} if os.path.exists({str(path)!r}) and os.path.getsize({str(path)!r}) > 1000 else 0
time.time, time.time_ns = lambda: real() + jumped(), lambda: real_ns() + jumped() * 10**9
from logreplay.cli.main import main
main()
"""
    words = ("run", log, target, "--tps", 100, "--for", "4s", "--arrivals", "even", "-q", "--workers", 1, "-o", path)
    begin = time.time()
    done = subprocess.run([sys.executable, "-c", jumping, *map(str, words)], timeout=PATIENCE, check=False)
    assert done.returncode in MEASURED
    rows = rows_of(path).sort("seq")
    assert rows.height == 400
    assert rows["scheduled"].diff().drop_nulls().is_between(0.009999, 0.010001).all()
    assert begin < _epoch(rows.row(0, named=True)) < _epoch(rows.row(399, named=True)) < time.time()
    assert rows["lag"].min() >= 0  # type: ignore[operator]
    identities_hold(path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_in_good_order(tmp_path: Path, log: Path, target: str, number: signal.Signals) -> None:
    path = tmp_path / "r.csv"
    process = start("run", log, target, "--tps", 100, "--for", "50s", "-o", path)
    wait_for_rows(path)
    process.send_signal(number)
    done = end(process)
    assert done.code == 130
    assert done.err.splitlines()[-1].startswith(f"results: {path}")
    identities_hold(path)


def test_ctrl_c_twice_is_as_good(tmp_path: Path, log: Path, target: str) -> None:
    path = tmp_path / "r.csv"
    process = start("run", log, target, "--tps", 100, "--for", "50s", "-o", path)
    wait_for_rows(path)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)  # two that come as one would be one
    done = end(process)
    assert done.code == 130
    assert "Traceback" not in done.err
    assert rows_of(path).height
    if path.with_name("r.summary.json").exists():
        identities_hold(path)


def test_a_closed_terminal_does_not_end_a_run_under_nohup(tmp_path: Path, log: Path, target: str) -> None:
    path = tmp_path / "r.csv"
    process = start("run", log, target, "--tps", 100, "--for", "2s", "-o", path, under="trap '' HUP")
    wait_for_rows(path)
    process.send_signal(signal.SIGHUP)
    assert end(process).code in MEASURED
    assert rows_of(path).height == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_of_a_conversion(tmp_path: Path, raw: Path, number: signal.Signals) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    process = start("convert", raw, "-o", folder / "a.csv", "-q")
    wait_until(lambda: any(folder.iterdir()))
    process.send_signal(number)
    done = end(process)
    assert (done.code, done.err.strip()) == (130, "interrupted: no file was written; repeat the command")
    assert not list(folder.iterdir())


# standard streams


def reading_one_line(words: Sequence[object], folder: Path) -> tuple[str, Ended]:
    """As ``| head -1``."""
    process = start(*words, cwd=folder)
    pipe: IO[str] = process.stdout  # type: ignore[assignment]
    line = pipe.readline()
    pipe.close()
    process.stdout = None
    return line, end(process)


def reading_nothing(words: Sequence[object], folder: Path) -> tuple[str, Ended]:
    """As ``| true``."""
    process = start(*words, cwd=folder)
    process.stdout.close()  # type: ignore[union-attr]
    process.stdout = None
    return "", end(process)


def test_nobody_reads_on_and_the_measurement_goes_on(tmp_path: Path, log: Path, target: str) -> None:
    path = tmp_path / "r.csv"
    line, done = reading_one_line(("run", log, target, "--tps", 200, "--for", "1s", "-v", "-o", path), tmp_path)
    assert line == "> GET /0 HTTP/1.1\n"
    assert done.code in MEASURED
    assert done.err.splitlines()[-1].startswith(f"results: {path}")
    assert rows_of(path).height == 200
    identities_hold(path)


def test_nobody_reads_on_and_a_conversion_ends(tmp_path: Path, raw: Path) -> None:
    line, done = reading_one_line(("convert", raw, "-o", "-"), tmp_path)
    assert line.startswith("date,time,latency,")
    assert done.code == 1
    assert "Traceback" not in done.err


def test_nobody_reads_on_and_a_verdict_has_its_exit_code(tmp_path: Path, log: Path, target: str) -> None:
    """As ``compare --fail-above 5% | head -1``, which ended with 1 and without a word."""
    run, before, after, report = (tmp_path / name for name in ("run.csv", "before.csv", "after.csv", "junit.xml"))
    assert logreplay("run", log, target, "--tps", 100, "--for", "6s", "-o", run).code in MEASURED
    rows = pl.read_csv(run, infer_schema=False)
    rows.write_csv(before)  # without a summary, which says if this machine was too busy
    rows.with_columns((pl.col("latency").cast(float) + 0.1).cast(str)).write_csv(after)
    words = ("compare", before, after, "--fail-above", "5%", "--junit", report)
    whole = logreplay(*words)
    assert whole.code == 4
    report.unlink()
    for read in (reading_one_line, reading_nothing):
        _, done = read(words, tmp_path)
        assert (done.code, done.err) == (4, whole.err)
        assert report.exists()
        _, done = read(("analyze", before, "--no-plots", "--force", "-o", "out"), tmp_path)
        assert done.code == 0, done.err
        assert done.err.splitlines()[-1] == "out"


@pytest.mark.parametrize("closing", ["exec >&-", "exec 2>&-", "exec <&- >&- 2>&-"])
def test_closed_streams_are_nobodys_loss(tmp_path: Path, log: Path, target: str, closing: str) -> None:
    path = tmp_path / "r.csv"
    done = logreplay("run", log, target, "--tps", 100, "--for", "1s", "-o", path, under=closing)
    assert done.code in MEASURED, done.err
    assert "Traceback" not in done.err
    identities_hold(path)


@pytest.mark.parametrize(
    "words",
    ["convert {raw} -o -", "urls /{{n}} --var n=1..3 -o -", "inspect {raw}", "inspect {raw} --json", "seconds {run}"],
)
def test_a_result_that_a_closed_stdout_cannot_take_is_an_error(
    tmp_path: Path, log: Path, target: str, words: str
) -> None:
    raw, run = tmp_path / "access.log", tmp_path / "r.csv"
    raw.write_text('10.0.0.1 - - [02/Nov/2026:00:00:15 +0000] "GET /a HTTP/1.1" 200 512\n' * 20)
    if "{run}" in words:
        history = tmp_path / "history.json"
        told = ("--json", "-o", run, "--history", history)
        done = logreplay("run", log, target, "--tps", 100, "--for", "1s", *told, under="exec >&-")
        assert done.code in (1, 3)
        assert history.exists()
        assert "verdict: " in done.err
        assert "Error: standard output: is closed" in done.err
        identities_hold(run)
    done = logreplay(*words.format(raw=raw, run=run).split(), under="exec >&-", cwd=tmp_path)
    assert done.code == 1
    assert "Error: standard output: " in done.err


def test_a_full_stdout_is_named_and_the_results_are_there(tmp_path: Path, log: Path, target: str) -> None:
    path = tmp_path / "r.csv"
    with open("/dev/full", "w") as full:
        done = logreplay("run", log, target, "--tps", 100, "--for", "1s", "-o", path, stdout=full)
    assert done.code == 1
    assert "Error: standard output: the disk is full; free some space" in done.err
    identities_hold(path)
