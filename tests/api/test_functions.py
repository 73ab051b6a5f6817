"""The functions of the library, as a program calls them."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay.inputs.logs import bundled_log
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.requests.hook import Planned
from support.simulated_results import write_results

FORKING = """
import multiprocessing, sys
import logreplay
from logreplay import analysis, parsers

log, results = sys.argv[1:]

def in_fork(*call):
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=told, args=(writer, *call))
    child.start()
    print(reader.recv() if reader.poll(5) else "hangs")
    child.kill()

def told(writer, function, *given):
    try:
        writer.send(type(function(*given)).__name__)
    except logreplay.LogreplayError as error:
        writer.send(str(error))
"""
BEFORE = "in_fork(logreplay.inspect, log)"
AFTER_POLARS = """
import polars
polars.DataFrame({"a": [1]}).write_csv()
in_fork(lambda log: logreplay.inspect(log), log)  # the first use of a name
"""
AFTER = """
found, converted = logreplay.inspect(log), logreplay.convert(log)
for function in (logreplay.convert, logreplay.inspect, logreplay.serve, parsers.read_log):
    in_fork(function, log)
in_fork(logreplay.run, log, "http://127.0.0.1:9")
for function in (logreplay.analyze, analysis.load, analysis.steps):
    in_fork(function, results)
for result, name in ((converted, "requests"), *((found, name) for name in ("facts", "summary", "replays", "week"))):
    in_fork(getattr, result, name)
in_fork(repr, found)
"""
RUN: dict[str, Any] = {"tps": 40, "duration": "500ms"}
INTERRUPTED = """
import logreplay, os, signal, sys, threading, time
from pathlib import Path

rows = Path("rows.csv").absolute()

def interrupt():
    while not (rows.exists() and rows.stat().st_size > 500):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    logreplay.run(None, sys.argv[1], tps=40, duration="60s", output=rows, history="history.csv")
except logreplay.Interrupted as ended:
    print(len(ended.result.requests), ended.result.outcome.stopped)
    print(ended)
"""

LATE = """
import logreplay, os, signal, sys
from logreplay.runs import single

write = single.write_beside

def late(path, about):
    os.kill(os.getpid(), signal.SIGINT)
    return write(path, about)

single.write_beside = late
try:
    logreplay.run(None, sys.argv[1], tps=40, duration="200ms")
except logreplay.Interrupted as ended:
    print(len(ended.result.requests), ended.result.summary["requests"]["sent"])
"""

OUTLIVED = """
import logreplay, os, signal, sys, tempfile, threading
from logreplay.runs import single

write, left, wrote = single.write_beside, threading.Event(), threading.Event()
tempfile.tempdir = sys.argv[1]

def slow(path, about):
    while not left.wait(0.05):
        os.kill(os.getpid(), signal.SIGINT)
    found.append(path.exists())
    write(path, about)
    wrote.set()

single.write_beside, found = slow, []
try:
    logreplay.run(None, sys.argv[2], tps=40, duration="100ms")
except KeyboardInterrupt:
    left.set()
wrote.wait()
[thread.join() for thread in threading.enumerate() if thread.name == "logreplay"]  # it may have ended
print(found, os.listdir(sys.argv[1]))
"""


def test_a_run_prints_nothing_and_leaves_nothing_behind(
    target: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    with bundled_log() as log:
        result = logreplay.run(log, target, **RUN)
    assert result.summary["requests"]["scheduled"] == len(result.requests) == 20
    assert result.folder is None
    result.close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.rglob("*")) == [tmp_path / "temporary"]


def test_a_run_keeps_its_rows_where_it_is_told_to(tmp_path: Path) -> None:
    result = logreplay.run(None, demo_target=True, output=tmp_path / "rows.csv", **RUN)
    assert result.folder == tmp_path
    assert Path(result).exists()
    with pytest.raises(logreplay.TakenError, match="exists already"):
        logreplay.run(None, demo_target=True, output=tmp_path / "rows.csv", **RUN)


def test_a_run_leaves_signals_and_the_switch_interval_as_they_were(target: str) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    interval = sys.getswitchinterval()
    logreplay.run(None, target, **RUN)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert sys.getswitchinterval() == interval


def test_a_run_works_in_another_thread_and_inside_a_running_loop(target: str) -> None:
    async def inside() -> logreplay.RunResult:
        return logreplay.run(None, target, **RUN)

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(logreplay.run, None, target, **RUN).result().outcome.scheduled == 20
    assert asyncio.run(inside()).outcome.scheduled == 20
    assert threading.active_count() < 10


@pytest.mark.parametrize(
    ("given", "named"),
    [({}, "tps=R, speed=X"), ({"tps": 1, "speed": 2.0}, "exclude each other"), ({"ramp": "1..2"}, "needs a duration")],
)
def test_contradicting_parameters_are_refused_before_anything_is_read(given: dict[str, Any], named: str) -> None:
    with pytest.raises(logreplay.UsageError, match=named) as refused:
        logreplay.run("no such log", "http://127.0.0.1:1", **given)
    assert isinstance(refused.value, ValueError)


def test_ctrl_c_ends_a_run_with_its_rows_and_its_result(target: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, target],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    counted, _, told = ended.stdout.strip().partition("\n")
    rows, _, stopped = counted.partition(" ")
    assert (stopped, ended.stderr) == ("interrupted", "")
    assert int(rows) > 0
    assert re.match(
        r"interrupted: \d+ of about 2,400 requests were sent; their rows are kept; `result` of this error", told
    )
    again = logreplay.analyze(tmp_path / "rows.csv")
    assert (again.stopped, repr(again).endswith("; interrupted>")) == ("interrupted", True)
    valid = again.verdict == "VALID"
    assert bool([*tmp_path.glob("history*.csv")]) == valid  # so short a run lacks some percentiles


def test_ctrl_c_while_the_summary_is_written_keeps_the_result(target: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LATE, target], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == ("8 8\n", "")


def test_the_temporary_folder_stays_until_the_thread_of_a_run_has_written(target: str, tmp_path: Path) -> None:
    """The second Ctrl-C removed it while the thread still wrote."""
    ended = subprocess.run(
        [sys.executable, "-c", OUTLIVED, str(tmp_path), target], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == ("[True] []\n", "")


def test_progress_is_told_in_the_calling_thread(target: str) -> None:
    seen: list[tuple[int, int]] = []
    logreplay.run(
        None,
        target,
        **RUN | {"duration": "1200ms"},
        progress=lambda now: seen.append((threading.get_ident(), now.totals.sent)),
    )
    assert {thread for thread, _ in seen} == {threading.get_ident()}
    assert seen[-1][1] == 48


def test_a_function_of_stop_ends_a_run_with_its_reason(target: str) -> None:
    def full(now: Snapshot) -> str | bool:
        return now.totals.sent > 10 and "pool full"

    result = logreplay.run(None, target, **RUN | {"duration": "60s"}, stop=["errors>50%", full])
    assert result.stopped.startswith("stopped: pool full")
    assert [(check.name, check.state) for check in result.checks] == [
        ('stop="errors>50%"', "passed"),
        ("stop function", "failed"),
        ("valid run", "passed"),
    ]


@pytest.mark.parametrize(
    "called", [logreplay.run, lambda *given, **named: asyncio.run(logreplay.aio.run(*given, **named))]
)
def test_a_function_of_stop_ends_a_run_at_once(target: str, called: Any) -> None:
    result = called(None, target, tps=40, duration="1900ms", stop=lambda now: "enough")
    assert (result.stopped, result.by_rule) == ("stopped: enough", True)
    assert result.summary["requests"]["sent"] < 65


def test_a_reason_to_stop_that_comes_with_the_end_is_not_lost(target: str) -> None:
    """The run had sent all by then, so it was not stopped."""
    result = logreplay.run(None, target, **RUN, stop=lambda now: now.totals.sent == 20 and "pool full")
    assert (result.stopped, result.passed) == ("", False)
    assert ("stop function", "failed", "pool full") in [(each.name, each.state, each.text) for each in result.checks]


@pytest.mark.parametrize("parameter", ["stop", "progress", "hook"])
def test_a_function_that_would_have_to_be_awaited_is_refused(target: str, parameter: str) -> None:
    async def late(_: object) -> bool:
        return True

    given: dict[str, Any] = {parameter: late}
    with pytest.raises(logreplay.UsageError, match=f"{parameter}=.*: late is async, .*; write def"):
        logreplay.run(None, target, **RUN, **given)


def test_errors_tell_a_target_and_a_cluster_from_each_other() -> None:
    once: dict[str, Any] = {"tps": 1, "requests": 1}
    with pytest.raises(logreplay.TargetError, match="connection refused"):
        logreplay.run(None, "http://127.0.0.1:1", **once)
    with pytest.raises(logreplay.NotPermitted, match=r'add allow_target="192\.0\.2\.1"'):
        logreplay.run(None, "http://192.0.2.1", **once)
    assert issubclass(logreplay.ClusterError, logreplay.LogreplayError)


def test_an_exception_in_a_function_of_the_program_ends_the_run_and_keeps_the_rows(target: str, tmp_path: Path) -> None:
    def fail(now: Snapshot) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        logreplay.run(None, target, **RUN | {"duration": "60s"}, progress=fail, output=tmp_path / "rows.csv")
    assert len(logreplay.analysis.load(tmp_path / "rows.csv"))


def test_a_run_within_a_run_is_refused(target: str) -> None:
    with pytest.raises(logreplay.BusyError, match="run is under way"):
        logreplay.run(None, target, **RUN | {"duration": "60s"}, progress=lambda _: logreplay.run(None, target, **RUN))
    assert logreplay.run(None, target, **RUN).summary


def test_a_stop_condition_that_is_none_is_refused() -> None:
    with pytest.raises(logreplay.UsageError, match="not a stop condition"):
        logreplay.run("no such log", "http://127.0.0.1:1", tps=1, stop="errors")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tps": 0}, "tps=0: expected a rate above 0"),
        ({"tps": float("nan")}, "tps=nan: expected a rate above 0"),
        ({"speed": -2.0}, r"speed=-2\.0: expected a speed above 0"),
        ({"vusers": 0}, "vusers=0: expected a whole number, 1 to 1000000"),
        ({"tps": 40, "requests": -3}, "requests=-3: expected a whole number, 1 or more"),
        ({"tps": 40, "requests": 2.5}, r"requests=2\.5: expected int"),
        ({"tps": 40, "arrivals": "constant"}, "arrivals='constant': expected one of poisson, even, log"),
    ],
)
def test_a_value_that_the_command_line_would_refuse_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(logreplay.UsageError, match=said):
        logreplay.run(None, demo_target=True, **wrong)


def test_a_run_takes_every_kind_of_option(target: str, tmp_path: Path) -> None:
    def tag(request: Planned) -> Planned:
        request.headers["X-Run"] = "42"
        return request

    result = logreplay.run(
        None, target, tps=60, duration="700ms", arrivals="even", header={"X-Crossing": "1"}, hook=tag,
        methods=["GET", "HEAD"], keep_alive=False, stop="errors>99%/60s", seed=7, digest=True,
        junit=tmp_path / "checks.xml", history=tmp_path / "runs.csv",
    )  # fmt: skip
    assert result.summary
    assert result.summary["options"]["header"] == ["X-Crossing"]
    assert 'name="stop=' in (tmp_path / "checks.xml").read_text()
    histories = [*tmp_path.glob("runs*.csv")]  # so short a run may lack some percentiles
    lines = [len(history.read_text().splitlines()) for history in histories]
    assert lines == ([2] if result.summary["verdict"] == "VALID" else [])


def test_a_parameter_that_does_not_exist_is_refused_before_anything_is_read() -> None:
    misspelt: dict[str, Any] = {"tpz": 1}
    with pytest.raises(logreplay.UsageError, match="has no parameter 'tpz'; did you mean tps") as refused:
        logreplay.run("no such log", "http://127.0.0.1:1", **misspelt)
    assert refused.value.parameters == ("tpz",)


def test_results_of_the_library_are_for_their_owner_alone(target: str, tmp_path: Path) -> None:
    """Only the command line set a umask: rows that may hold tokens could be read by everybody."""
    short: dict[str, Any] = {"duration": "300ms"}
    before = os.umask(0o022)
    try:
        logreplay.run(None, target, tps=40, **short, output=tmp_path / "r.csv")
        logreplay.run(None, target, tps=40, **short).save(tmp_path / "saved.csv")
        logreplay.sweep(None, target, [40, 50], **short, output=tmp_path / "s")
    finally:
        os.umask(before)
    made = {path.relative_to(tmp_path): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert {mode for path, mode in made.items() if not (tmp_path / path).is_dir()} == {0o600}
    assert made[Path("s")] == 0o700
    assert len(made) > 10


def forking(program: str, *arguments: str | Path) -> list[str]:
    command = [sys.executable, "-c", FORKING + program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()


def test_a_fork_of_a_process_that_used_polars_is_refused_instead_of_hanging(tmp_path: Path) -> None:
    write_results(tmp_path, [50], 1)
    with bundled_log() as log:
        *refused, text = forking(AFTER, log, tmp_path / "results.csv")
    assert len(refused) == 13
    for said in refused:
        assert "multiprocessing.get_context('spawn') or 'forkserver'" in said
    assert text == "str"


def test_a_fork_of_a_process_that_used_polars_itself_and_only_imported_the_library_is_refused() -> None:
    with bundled_log() as log:
        (said,) = forking(AFTER_POLARS, log, "")
    assert "forked after a call of logreplay or Polars" in said


def test_a_fork_of_a_process_that_only_imported_the_library_can_call_it() -> None:
    with bundled_log() as log:
        assert forking(BEFORE, log, "") == ["InspectResult"]
