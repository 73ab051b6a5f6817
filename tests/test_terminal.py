"""Terminals and pipes that close, block or cannot redraw, and Ctrl-C: the load goes on, the results are whole.

Real processes on pseudo-terminals.
"""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from logreplay.core.rows import scan
from support.command_line import COMMAND, MEASURED, PATIENCE, started, wait_for_rows, wait_until
from support.delayed_responses import delayed_responses

pytestmark = pytest.mark.slow

LIMIT: Final = 5.0
"""Within a second, says the documentation; this machine may be busy."""


class Terminal:
    """A pseudo-terminal, seen from the side of the user.

    Args:
        columns: its width.
    """

    def __init__(self, columns: int = 80) -> None:
        self.user, self.program = pty.openpty()
        fcntl.ioctl(self.program, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))

    def read_all(self) -> str:
        """What it was shown until nobody can show more."""
        said = b""
        while True:
            try:
                said += os.read(self.user, 65536)
            except OSError:  # the last one who had it open is gone
                return said.decode()

    def halt(self) -> None:
        """Let it take nothing more, as after Ctrl-S."""
        os.set_blocking(self.program, False)
        try:
            while True:
                os.write(self.program, b"x")
        except BlockingIOError:
            os.set_blocking(self.program, True)

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self.user)


def start(words: Sequence[object], **options: Any) -> "subprocess.Popen[bytes]":
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = options.pop("command", COMMAND)
    return started(*command, *words, **options)


def on(terminal: Terminal, *words: object, environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start the command line on a terminal, which is this side's no more."""
    environment = {**os.environ, "TERM": "xterm", **(environment or {})}
    process = start(words, stderr=terminal.program, stdout=subprocess.DEVNULL, env=environment)
    os.close(terminal.program)
    return process


def all_rows(path: Path, count: int | None = None) -> pl.DataFrame:
    """The rows of a result log, as many as its summary counts."""
    rows = scan(path).collect()
    counts = json.loads(path.with_name(f"{path.stem}.summary.json").read_text())["requests"]
    assert counts["scheduled"] == rows.height == rows["seq"].n_unique()
    assert count in (None, rows.height)
    return rows


def test_a_terminal_that_is_closed_does_not_end_a_run_that_does_not_hear_of_it(
    tmp_path: Path, log: Path, target: str
) -> None:
    path, terminal = tmp_path / "r.csv", Terminal()
    process = on(terminal, "run", log, target, "--tps", 100, "--for", "4s", "-o", path)
    wait_for_rows(path)
    terminal.hang_up()
    assert process.wait(PATIENCE) in MEASURED
    all_rows(path, 400)


def test_a_terminal_that_is_closed_ends_a_run_as_an_interruption(tmp_path: Path, log: Path, target: str) -> None:
    """Its table met an error of the terminal, and the exit code was 1."""
    path, terminal = tmp_path / "r.csv", Terminal()
    words = ("run", log, target, "--tps", 100, "--for", "60s", "-o", path)
    process = start(words, stdin=terminal.program, stdout=terminal.program, stderr=terminal.program)
    os.close(terminal.program)
    wait_for_rows(path)
    terminal.hang_up()
    process.send_signal(signal.SIGHUP)  # the kernel sends it to the session of the terminal
    assert process.wait(PATIENCE) == 130
    all_rows(path)


def test_a_stop_rule_watches_on_when_the_terminal_is_closed(tmp_path: Path, log: Path) -> None:
    path, terminal = tmp_path / "r.csv", Terminal()
    with delayed_responses(0.05) as slow:
        words = ("run", log, slow, "--tps", 100, "--for", "60s", "--stop", "p50>10ms/4s", "-o", path)
        process = on(terminal, *words)
        wait_for_rows(path)
        terminal.hang_up()
        assert process.wait(PATIENCE) == 4
    assert all_rows(path).height < 3000


@pytest.mark.parametrize("command", ["sweep", "find"])
def test_a_terminal_that_is_closed_does_not_end_a_sweep_or_a_search(
    tmp_path: Path, log: Path, target: str, command: str
) -> None:
    folder, terminal = tmp_path / "s", Terminal()
    words = {
        "sweep": ("sweep", "100,120,140", log, target, "--for", "1s"),
        "find": ("find", log, target, "--p99", "1s", "--start", 200, "--max-tps", 220, "--trial", "1s", "--trials", 1),
    }[command]
    process = on(terminal, *words, "--no-plots", "-o", folder)
    wait_for_rows(folder / "results.csv")
    terminal.hang_up()
    assert process.wait(PATIENCE) in MEASURED
    whole_rows = scan(folder / "results.csv").collect()
    assert json.loads((folder / "summary.json").read_text())["requests"]["scheduled"] == whole_rows.height


def test_a_reader_of_both_streams_that_leaves_does_not_end_a_sweep(tmp_path: Path, log: Path, target: str) -> None:
    """As ``2>&1 | head -1``."""
    folder = tmp_path / "s"
    words = ("sweep", "100,120,140", log, target, "--for", "1s", "--no-plots", "--progress", "json", "-o", folder)
    process = start(words, stderr=subprocess.STDOUT)
    assert process.stdout
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) in MEASURED
    assert len(json.loads((folder / "manifest.json").read_text())["done"]) == 3
    assert (folder / "summary.json").exists()


def test_nobody_reads_the_exchanges_and_the_requests_leave_on_time(tmp_path: Path, log: Path, target: str) -> None:
    """As ``-v | less`` while the user looks at the first page, and then leaves with Ctrl-C."""
    path = tmp_path / "r.csv"
    process = start(("run", log, target, "--tps", 500, "--for", "3s", "-v", "-o", path))
    assert process.stderr
    said = list[str]()
    while not (said and said[-1].startswith("waiting for the reader of standard output; Ctrl-C ends this")):
        said.append(process.stderr.readline().decode())
        assert said[-1], said
    rows = all_rows(path, 1500)
    assert rows["lag"].quantile(0.9) < 0.5  # type: ignore[operator]  # it was as long as the run
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode == 130


def test_exchanges_that_a_slow_reader_did_not_get_are_counted(tmp_path: Path, log: Path, target: str) -> None:
    path = tmp_path / "r.csv"
    small = "from logreplay.cli.display.async_output import Outlet; Outlet.__init__.__defaults__ = (100_000,)"
    code = f"{small}; import logreplay.cli.commands.run; from logreplay.cli.main import main; main()"
    words = ("run", log, target, "--tps", 500, "--for", "3s", "-v", "-o", path)
    process = start(words, command=(sys.executable, "-c", code))
    wait_for_rows(path)
    wait_until(lambda: path.with_name("r.summary.json").exists())
    out, err = process.communicate(timeout=PATIENCE)
    missing = re.search(rb"warning: (\d+) exchanges were not printed: the reader of standard output was too slow", err)
    assert missing
    assert int(missing[1]) + out.count(b"> GET ") == 1500


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_terminal_that_is_halted_does_not_hold_up_the_load(
    tmp_path: Path, log: Path, target: str, command: str
) -> None:
    terminal, out = Terminal(), tmp_path / ("r.csv" if command == "run" else "s")
    words: tuple[object, ...]
    if command == "run":
        words, path = ("run", log, target, "--tps", 200, "--for", "4s", "-o", out), out
    else:
        words, path = ("sweep", "190,195,200", log, target, "--for", "1s", "--no-plots", "-o", out), out / "results.csv"
    terminal.halt()
    process = on(terminal, *words)
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") > 500)
    if command == "run":
        wait_until(lambda: out.with_name("r.summary.json").exists())
    else:
        wait_until(lambda: len(json.loads((out / "manifest.json").read_text())["done"]) == 3)
    rows = scan(path).collect()
    assert rows["lag"].quantile(0.9) < 0.5  # type: ignore[operator]
    terminal.read_all()
    assert process.wait(PATIENCE) in MEASURED


@pytest.mark.parametrize("more", [[], ["--debug"]])
def test_a_run_that_waits_for_a_halted_terminal_has_its_summary(
    tmp_path: Path, log: Path, target: str, more: list[str]
) -> None:
    path, terminal = tmp_path / "r.csv", Terminal()
    terminal.halt()
    process = on(terminal, "run", log, target, "--tps", 100, "--for", "3s", "-o", path, *more)
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") == 301)
    time.sleep(0.5)  # nothing shows that it waits for the terminal
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: path.with_name("r.summary.json").exists() or process.poll() is not None)
    terminal.hang_up()
    assert process.wait(PATIENCE) in (130, *MEASURED)
    all_rows(path, 300)


def test_ctrl_c_twice_ends_a_program_that_waits_for_a_halted_terminal(tmp_path: Path, log: Path, target: str) -> None:
    path, terminal = tmp_path / "r.csv", Terminal()
    terminal.halt()
    process = on(terminal, "run", log, target, "--tps", 100, "--for", "60s", "-o", path)
    wait_for_rows(path)
    process.send_signal(signal.SIGINT)
    time.sleep(0.4)  # a user needs longer
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130
    terminal.hang_up()


@pytest.mark.parametrize("columns", [0, 1, 20, 60])
def test_the_live_line_fits_into_the_terminal(tmp_path: Path, log: Path, target: str, columns: int) -> None:
    """That of standard error, wherever standard output leads."""
    terminal = Terminal(columns)
    process = on(terminal, "run", log, target, "--tps", 100, "--for", "2500ms", "-o", tmp_path / "r.csv")
    shown = re.findall(r"\r\x1b\[K([^\r\n]*)(?=\r\x1b)", terminal.read_all())
    assert process.wait(PATIENCE) in MEASURED
    assert shown
    assert max(map(len, shown)) < (columns or 80)


def test_a_terminal_that_cannot_redraw_gets_lines_of_text_only(tmp_path: Path, log: Path, target: str) -> None:
    terminal = Terminal()
    words = ("sweep", "100,120", log, target, "--for", "500ms", "--no-plots", "-o", tmp_path / "s")
    process = on(terminal, *words, environment={"TERM": "dumb"})
    said = terminal.read_all()
    assert process.wait(PATIENCE) in MEASURED
    assert re.search(r"\b100/s: 5\d sent, 0 failed, backlog \d+\r?\n", said)
    assert "\x1b" not in said


def test_a_terminal_of_ascii_only_gets_text_that_can_be_read(tmp_path: Path, log: Path, target: str) -> None:
    terminal = Terminal()
    process = start(
        ("run", log, target, "--tps", 100, "--for", "1500ms", "-o", tmp_path / "r.csv"),
        stdout=subprocess.PIPE,
        stderr=terminal.program,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "TERM": "xterm"},
    )
    os.close(terminal.program)
    said = terminal.read_all()
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode in MEASURED, said
    assert out.isascii()
    assert re.search(rb"\d us\b", out)
    assert b"?" not in out
    assert said.isascii(), [line for line in said.splitlines() if not line.isascii()]


HOOKS = {
    "sleeps": """
import pathlib, time
def call(planned):
    pathlib.Path("called").touch()
    time.sleep(1000)
""",
    "reads a socket": """
import pathlib, socket
own, peer = socket.socketpair()
def call(planned):
    if planned.number == 200:
        pathlib.Path("called").touch()
        own.recv(1)
    return planned
""",
}


@pytest.mark.parametrize("source", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_a_run_whose_hook_blocks(tmp_path: Path, log: Path, target: str, source: str, times: int) -> None:
    (tmp_path / "hooks.py").write_text(source)
    path = tmp_path / "r.csv"
    words = ("run", log, target, "--tps", 100, "--loop", "--for", "60s", "--hook", "hooks:call", "-o", path)
    process = start(words, cwd=tmp_path)
    wait_until((tmp_path / "called").exists)
    for number in range(times):
        time.sleep(0.4 * number)  # a user needs longer
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert b"Traceback" not in err
    if path.exists():
        rows = scan(path).collect()
        assert rows["seq"].n_unique() == rows.height
        if times == 1 or path.with_name("r.summary.json").exists():  # the second one may come before the summary
            all_rows(path)


def test_a_bug_is_one_sentence_and_the_rows_are_kept(tmp_path: Path, log: Path, target: str) -> None:
    code = """
from logreplay.replay.engine.engine import Engine
progress = Engine.progress
def fail(self):
    now = progress(self)
    if now.counters.ok > 50:
        raise ZeroDivisionError("made up")
    return now
Engine.progress = fail
from logreplay.cli.main import main
main()
"""
    path = tmp_path / "r.csv"
    words = ("run", log, target, "--tps", 100, "--for", "60s", "--workers", 1, "-o", path)
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(
        r"^Error: this is a bug of logreplay \d\S*: ZeroDivisionError in .*, line 7, called by "
        r"replay/engine/engine.py, line .*: made up\nPython 3\S+, linux\. Rows written so far are kept\. "
        r"Please report it on the issue page",
        done.stderr,
        re.MULTILINE,
    )
    assert "Traceback" not in done.stderr
    assert scan(path).collect().height > 50
