"""The functions as coroutines: in a child process, on the caller's loop, ended by cancellation."""

import asyncio
import ctypes
import gc
import inspect
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay import Request, aio
from logreplay.replay.monitor.snapshot import Snapshot
from support.command_line import wait_until

RUN: dict[str, Any] = {"tps": 40, "duration": "500ms"}
LONG: dict[str, Any] = RUN | {"duration": "60s"}
FUNCTIONS = {name for name in logreplay.__all__ if inspect.isfunction(getattr(logreplay, name)) and name != "settings"}
KILLED = """
import asyncio, logreplay, os, signal, sys, threading, time
from pathlib import Path

def kill():
    while not (Path("rows.csv").exists() and Path("rows.csv").stat().st_size > 500):
        time.sleep(0.02)
    os.kill(os.getpid(), int(sys.argv[1]))

threading.Thread(target=kill, daemon=True).start()
asyncio.run(logreplay.aio.run(None, sys.argv[2], tps=40, duration="60s", output="rows.csv", workers=2))
"""


def test_a_run_in_a_child_process_is_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    scratch = asyncio.run(aio.run(None, demo_target=True, **RUN))
    assert len(scratch.requests) == 20
    assert scratch.folder is None
    place = Path(scratch)
    scratch.close()
    assert not place.parent.exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("here", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_functions_of_the_caller_are_called_on_its_loop_and_end_the_run(target: str, here: bool) -> None:
    seen: list[int] = []

    def full(now: Snapshot) -> str | bool:
        seen.append(threading.get_ident())
        return now.totals.sent > 10 and "pool full"

    hook: dict[str, Any] = {"hook": lambda request: request} if here else {}
    result = asyncio.run(aio.run(None, target, **LONG, **hook, stop=["errors>50%", full]))
    assert result.stopped.startswith("stopped: pool full")
    assert set(seen) == {threading.get_ident()}


@pytest.mark.parametrize("here", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_cancellation_ends_the_run_writes_its_rows_and_is_raised_again(target: str, here: bool, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"

    def orders() -> Iterator[Request]:
        while True:
            yield Request("/")

    async def main() -> logreplay.RunResult:
        task = asyncio.create_task(aio.run(orders if here else None, target, tps=40, duration=60, output=rows))
        await asyncio.to_thread(wait_until, lambda: rows.exists() and rows.stat().st_size > 500)
        with pytest.raises(logreplay.BusyError):
            await aio.run(None, target, **RUN)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await aio.run(None, target, **RUN, output=tmp_path / "next.csv")

    kept = asyncio.run(main())
    assert (len(kept.requests), kept.folder) == (20, tmp_path)
    summary = logreplay.analysis.load(rows)
    assert len(summary) > 0
    assert rows.with_name("rows.summary.json").exists()


@pytest.mark.parametrize("here", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_exception_in_a_function_of_the_caller_ends_the_run_and_is_raised(target: str, here: bool) -> None:
    def fail(now: Snapshot) -> None:
        raise KeyError("mine")

    hook: dict[str, Any] = {"hook": lambda request: request} if here else {}
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(aio.run(None, target, **LONG, **hook, progress=fail))


def test_errors_of_the_call_are_raised_here(target: str) -> None:
    with pytest.raises(logreplay.UsageError, match="exclude each other"):
        asyncio.run(aio.run(None, tps=1, speed=2, demo_target=True))
    with pytest.raises(logreplay.LogreplayError, match="no such file"):
        asyncio.run(aio.run("gone.csv", target, **RUN))


def test_each_function_of_the_library_is_a_coroutine_function() -> None:
    assert len(FUNCTIONS) == 12
    for name in FUNCTIONS:
        made = getattr(aio, name)
        assert name == "serve" or inspect.iscoroutinefunction(made)
        assert name == "serve" or inspect.signature(made) == inspect.signature(getattr(logreplay, name))


@pytest.mark.slow
def test_a_sweep_in_a_child_process_is_a_sweep(tmp_path: Path) -> None:
    curve = asyncio.run(aio.sweep(None, None, [20, 40], duration=1, demo_target=True))
    assert [round(rate) for rate in curve.steps["rate"]] == [20, 40]
    assert (len(curve.requests), curve.folder) == (60, None)


class Orders:
    """A log of the program's own class."""

    def __iter__(self) -> Iterator[Request]:
        yield from (Request("/"), Request("/"))


class Unreadable:
    def __reduce__(self) -> str:
        raise ValueError("mine")


def test_a_log_of_a_class_of_the_program_is_sent_from_this_process() -> None:
    with logreplay.serve() as server:
        assert len(asyncio.run(aio.run(Orders(), server.url, tps=40)).requests) == 2


@pytest.mark.parametrize(
    "wrong", [{"progress": "x"}, {"stop": 5}, {"tpz": 1}, {"auth": Unreadable()}, {"cluster": Unreadable()}]
)
def test_parameters_of_a_wrong_type_are_refused(target: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(logreplay.UsageError):
        asyncio.run(aio.run(None, target, **RUN, **wrong))


def test_errors_before_the_call_name_the_parameters_of_the_function() -> None:
    with pytest.raises(logreplay.UsageError, match="think= needs users: add vusers=") as refused:
        asyncio.run(aio.run(None, "http://127.0.0.1:9", tps=1, think=1))
    assert refused.value.parameters == ("think", "vusers")


def test_two_logs_are_refused() -> None:
    named: dict[str, Any] = {"tps": 1, "log": "other.csv"}
    for run in (logreplay.run, lambda *given, **named: asyncio.run(aio.run(*given, **named))):
        with pytest.raises(TypeError, match=r"run\(\) got multiple values for argument 'log'"):
            run("a.csv", "http://127.0.0.1:9", **named)


def test_its_names_are_those_of_the_functions() -> None:
    assert {*dir(aio)} == FUNCTIONS
    with pytest.raises(AttributeError):
        getattr(aio, "compare_once")  # noqa: B009


def test_two_cancellations_end_the_call_at_once_and_print_nothing(
    target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def main() -> None:
        for pause in (0.0, 0.05, 0.3):  # while the child starts
            task = asyncio.create_task(aio.run(None, target, **LONG))
            await asyncio.sleep(pause)
            task.cancel()
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        task = asyncio.create_task(aio.run(None, target, **LONG))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_a_server_is_an_asynchronous_context_manager() -> None:
    async def main() -> str:
        async with aio.serve(workers=2) as server:
            return server.url

    assert asyncio.run(main()).startswith("http://127.0.0.1:")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_child_ends_with_its_rows_if_the_program_is_interrupted_or_killed(
    target: str, number: signal.Signals, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(int(number)), target]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.read() == b""
        assert process.wait(60) == -number
    wait_until(lambda: (tmp_path / "rows.summary.json").exists())
    assert len(logreplay.analysis.load(tmp_path / "rows.csv")) > 0


@pytest.mark.slow
def test_a_thread_that_holds_the_interpreter_delays_no_request_of_the_child(target: str) -> None:
    """The median: on a machine under load the tail is that of the machine."""
    over, options = threading.Event(), RUN | {"tps": 300, "duration": 2}
    sleep = ctypes.PyDLL(None).usleep  # holds the interpreter meanwhile

    def hold() -> None:
        while not over.wait(0.005):
            sleep(100_000)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    try:
        child = asyncio.run(aio.run(None, target, **options))
        here = logreplay.run(None, target, **options)
    finally:
        over.set()
        thread.join()
    apart, beside = (result.requests["lag"].median() for result in (child, here))
    assert apart < beside / 4
