"""Errors say where, what is wrong, the value, and what to do; each of these once said something else."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from logreplay.cli.main import run
from support.background_server import beside
from support.command_line import COMMAND, PATIENCE, interrupted_when, wait_for_rows
from support.file_size_limit import files_limited_to
from support.raw_server import raw_server

TARGET = "http://127.0.0.1:1"
HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
LINE = '127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a log in both forms."""
    monkeypatch.chdir(tmp_path)
    Path("access.csv").write_text(f"{HEADER}\n2026-01-01,00:00:00,0,0,0,5,/a,200,GET\n")
    Path("access.log").write_text(LINE * 3)
    return tmp_path


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*words]) in (1, 2)
    return capsys.readouterr().err.rpartition("Error: ")[2].strip()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("run access.csv 8099 --tps 5", "target '8099': a port without a host; write http://127.0.0.1:8099"),
        ("run access.csv :8099 --tps 5", "target ':8099': a port without a host; write http://127.0.0.1:8099"),
        ("run access.log access.csv --tps 5", "it is a file: name LOG, then TARGET"),
        ("run access.csv http://a:b@127.0.0.1 --tps 5", "user and password from the target; --auth basic:FILE sends"),
        (f"duet {TARGET} {TARGET} access.csv --tps 5", f"name LOG first; {TARGET}/ would replay that one url"),
        (f"run empty.log {TARGET} --tps 5", "empty.log: is empty; name a log that holds requests"),
        (f"run access.csv {TARGET} --tps 5 --body .:url", ".: cannot be read: Is a directory"),
        (f"run access.csv {TARGET} --tps 5 --hook ::", "hook '::': write MODULE:FUNCTION, such as hooks:sign"),
        (f"run access.csv {TARGET} --tps 5 --hook no:f", "No module named 'no'; write MODULE:FUNCTION of a file here"),
        (
            f"run access.csv {TARGET} --tps 5 --junit access.log",
            "access.log: exists and is not JUnit XML; choose",
        ),
        (f"find access.csv {TARGET} --p99 1s --max-errors 100%", "--max-errors must be from 0 % to below 100 %"),
        (f"find access.csv {TARGET} --p99 1s --trial 500ms", "a trial (--trial) must last at least 1 s, got 0.5 s"),
        ("compare nowhere.csv access.csv", "nowhere.csv: no such file"),
        ("analyze access.log", "name a result log, or make a CSV of an access log: logreplay convert access.log"),
        (
            "urls /{n} --var n=@nowhere",
            "@nowhere: cannot be read: No such file or directory; name",
        ),
        ("convert access.log -o new.csv --rejects .", ".: is a folder; give the name of a file with --rejects"),
        ("calibrate --trial 1us", "--trial 0.001ms: too short; expected at least 50ms"),
        ("control nosuch pause", "nosuch: no run is controlled here; start a run with --control 'nosuch'"),
        ("man -o access.csv", "access.csv: is a file; name a folder with -o"),
        (f"sweep 9 access.csv {TARGET} -o access.csv", "access.csv: is a file; name a folder with -o"),
        (f"sweep 9 access.csv {TARGET} -o access.csv/x", "access.csv/x: access.csv is a file; name a folder with -o"),
        ("analyze access.csv -o access.log", "access.log: is a file; name a folder with -o"),
        (f"sweep 9 access.csv {TARGET} -o s3://b/x", "s3:/b/x: results are written to folders of this machine, not to"),
        (f"run access.csv {TARGET} --tps 5 -o s3://b/x.csv", "results are written to files of this machine, not to a"),
        (f"sweep 9 access.csv {TARGET} --resume nowhere", "nowhere: is not a folder; name the folder of a sweep with"),
        (f"find nowhere.csv {TARGET}", "a bound is missing: give one, such as --p99 300ms"),
        (f"run access.csv {TARGET} --vusers 2 --think x", "'x': expected a duration, such as 300ms, 10s or 5m, or 0 ("),
        (
            "capacity nowhere --demand 9 --p99 1s --machines 1",
            "nowhere: no such file or folder; name the folder of a search or a sweep",
        ),
        ("plot a.csv b.csv --kind heatmap", "--kind heatmap and several RESULTS exclude each other: several runs are"),
        ("man run -o new", "COMMAND and -o exclude each other: -o writes the pages of all commands; leave out one"),
        ("completion", "Missing argument 'SHELL'. Choose from:\n  bash,\n  zsh,\n  fish"),
    ],
)
def test_an_error_says_what_to_do(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.log").touch()
    assert text in failed(capsys, *words.split())


@pytest.mark.parametrize(
    ("log", "text"),
    [
        ("nowhere.log", "nowhere.log: no such file"),
        ("access.log", "access.log: no line was written while it was followed; follow it for longer"),
    ],
)
def test_a_log_that_cannot_be_followed_is_named(log: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with beside(raw_server) as server:
        assert failed(capsys, "run", log, server.url, "--follow", "--for", "50ms").endswith(text)


def test_a_port_that_is_taken_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = failed(capsys, "serve", "access.csv", "--port", str(port))
    assert said == f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another port"


@pytest.mark.parametrize(
    "address",
    ["-1", "inproc://", "tcp://", "tcp://:8786", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:99999",
     "tcp://127.0.0.1:abc", "http://127.0.0.1:8786", "tcp://[::1", "local:", "local:0", "local:-1", "local:1001",
     "localhost", "/tmp/scheduler.json", "tcp://a\nb:1"],
)  # fmt: skip
def test_what_is_no_address_of_a_cluster_is_refused_with_what_is_one(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dask's own words were shown, such as "not enough values to unpack"."""
    for words in (["convert", "access.log", "-o", "new.csv"], ["run", "access.csv", TARGET, "--tps", "5"]):
        said = failed(capsys, *words, "--cluster", address)
        assert said == (
            f"--cluster {address!r}: expected the address of a Dask scheduler, tcp://HOST:PORT such as "
            "tcp://scheduler:8786, or local:N with 1 to 1000 workers"
        )


@pytest.mark.parametrize(
    ("command", "output", "junit"),
    [
        (("run", "--tps", "5"), "r.csv", "r.csv"),
        (("run", "--tps", "5"), "r.csv", "r.summary.json"),
        (("find", "--p99", "1s"), "found", "found/results.csv"),
        (("duet", TARGET, "--tps", "5"), "both", "both/baseline.csv"),
    ],
)
def test_checks_are_not_written_over_the_results_of_the_same_run(
    command: Sequence[str], output: str, junit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The XML took the place of the rows, without a word."""
    Path(junit).parent.mkdir(exist_ok=True)
    said = failed(capsys, command[0], "access.csv", TARGET, *command[1:], "-o", output, "--junit", junit, "--force")
    assert said == f"{junit}: --junit and -o name the same file; choose another name for one"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (f"find access.csv {TARGET} --p99 1s", "connection refused"),
        (f"run access.csv {TARGET} --tps 5", "connection refused"),
        (f"duet access.csv {TARGET} http://127.0.0.1:2 --tps 5", "connection refused"),
        (f"find none.log {TARGET} --p99 1s", "none.log: no such file"),
        ("compare none.csv access.csv", "none.csv: no such file"),
        ("run access.csv {url} --tps 0.01 --for 50ms", "nothing was sent: the schedule holds no request"),
    ],
)
def test_a_command_without_checks_writes_why_to_junit(words: str, reason: str) -> None:
    """There was no file, or an earlier one in which all was well."""
    Path("j.xml").write_text("<testsuite/>")
    with beside(raw_server) as server:
        assert run([*words.format(url=server.url).split(), "--junit", "j.xml"]) == 1
    suite = ElementTree.parse("j.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("1", "1")
    assert reason in suite[0][0].attrib["message"]


@pytest.mark.parametrize("words", ["analyze {}", "compare {0} {0}", "seconds {}", "capacity {} --demand 9 --p90 1s"])
def test_a_name_that_is_not_utf_8_is_refused_by_name(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Polars ended in a TypeError where the file held lines of a log."""
    name = "bad\udcff.log"
    Path(name).write_text(LINE * 3)
    said = failed(capsys, *words.format(name).split())
    assert said == "bad?.log: the name is not UTF-8; choose another, or rename the file"


def test_an_interrupted_search_writes_so_to_junit() -> None:
    with beside(raw_server) as server:
        words = ["find", "access.csv", server.url, "--p99", "1s", "--trial", "20s", "-o", "f", "--junit", "j.xml"]
        with interrupted_when(lambda: wait_for_rows(Path("f/results.csv"))):
            assert run(words) == 130
    suite = ElementTree.parse("j.xml").getroot()
    assert int(suite.attrib["errors"]) > 0
    assert "interrupted" in suite[0][0].attrib["message"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("option", ["--junit", "--history"])
def test_a_folder_that_cannot_be_written_is_said_before_the_run(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locked = folder / "locked"
    locked.mkdir(mode=0o555)
    said = failed(capsys, "run", "access.csv", TARGET, "--tps", "5", option, "locked/x")
    assert said == f"locked/x: cannot be written: Permission denied; choose another with {option}"


def test_a_full_disk_of_temporary_files_is_named_with_the_way_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log was said to be full, and -o, which names the result, to help."""
    Path("access.log").write_text(LINE * 1000)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # modules that are loaded now would be cut
    with files_limited_to(1000):
        said = failed(capsys, "run", "access.log", TARGET, "--tps", "5")
    reason = "the file size limit is reached (ulimit -f); raise it, or write elsewhere with TMPDIR=FOLDER"
    assert said == f"access.log: in {folder} {reason}; nothing was kept"


def test_ctrl_c_ends_a_conversion_that_waits_for_its_log() -> None:
    """Polars lets an interrupted read go on: it had to be killed."""
    with subprocess.Popen([*COMMAND, "convert", "-", "-o", "out.csv"], stdin=subprocess.PIPE) as process:
        wchan, deadline = Path(f"/proc/{process.pid}/wchan"), time.monotonic() + PATIENCE
        while "pipe_read" not in wchan.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)  # nobody tells when it waits: ask again
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
