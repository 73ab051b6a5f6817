"""The log of logins grows during the run, and survives its end by force. Real processes, a real target."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.results.login_log import LoginLog
from logreplay.replay.sessions.client_sessions import LoginRow
from support.background_server import beside
from support.command_line import COMMAND, PATIENCE, started, wait_until
from support.recording_server import recording

ROW = LoginRow("10.0.0.1", "POST", "/login", 302, "", 0.25, 1_767_225_600.5)
LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client\n" + "".join(
    f"2026-01-01,00:00:{number % 60:02}.000000,0.01,0,0,10,/{number},200,GET,10.0.0.{number}\n" for number in range(240)
)


def test_logins_are_written_once_and_after_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "run.logins.csv"
    log = LoginLog(path)
    log.write([])
    assert not path.exists()
    rows = [ROW]
    log.write(rows)
    log.write(rows)
    rows.append(ROW)
    log.write(rows)
    assert rows == []
    LoginLog(path).write([ROW])
    header, *lines = path.read_text().splitlines()
    assert header == "date,time,client,op,url,rc,error,seconds"
    assert lines == ["2026-01-01,00:00:00.250000,10.0.0.1,POST,/login,302,,0.25"] * 3


def test_logins_that_cannot_be_written_are_written_later(tmp_path: Path) -> None:
    rows, log = [ROW], LoginLog(tmp_path / "later" / "run.logins.csv")
    with pytest.raises(LogreplayError):
        log.write(rows)
    (tmp_path / "later").mkdir()
    log.write(rows)
    assert (logins(str(tmp_path / "later" / "run.logins.csv")), rows) == (1, [])


def test_secrets_of_urls_are_masked(tmp_path: Path) -> None:
    row = LoginRow("10.0.0.1", "GET", "/login?user=ann&password=hunter2", 200, "", 0.25, 1_767_225_600.5)
    LoginLog(tmp_path / "run.logins.csv").write([row])
    assert "/login?user=ann&password=***,200" in (tmp_path / "run.logins.csv").read_text()


def test_logins_that_cannot_be_written_are_an_error_unless_another_ended_the_run(tmp_path: Path) -> None:
    async def main(error: Exception | None) -> None:
        async with LoginLog(tmp_path / "none" / "run.logins.csv").following(lambda: [ROW]):
            if error:
                raise error

    with pytest.raises(LogreplayError, match=r"there is no folder .*none"):
        asyncio.run(main(None))
    with pytest.raises(ValueError, match="first"):
        asyncio.run(main(ValueError("first")))


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(LOG)
    Path("users.csv").write_text("url,body\n/login,user=a\n")
    with beside(recording) as server:
        yield server.url


def start(*words: str) -> "subprocess.Popen[bytes]":
    users = ("--by-client", "--cookies", "--login", "users.csv")
    return started(*COMMAND, *words, *users, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def logins(path: str) -> int:
    """Whole rows in a file that grows."""
    return max(Path(path).read_bytes().count(b"\n") - 1, 0) if Path(path).exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "earlier"), [("1", False), ("1", True), ("2", False)])
def test_the_logins_of_a_run_that_is_killed_are_on_disk(workers: str, earlier: bool, target: str) -> None:
    """They were written when the run had ended."""
    if earlier:
        Path("r.csv").write_text("of an earlier run\n")
        Path("r.logins.csv").write_text("of an earlier run\n")
    path = "r.csv.running.logins.csv" if earlier else "r.logins.csv"
    run = start("run", "in.csv", target, "--tps", "20", "--workers", workers, "-o", "r.csv", "--force")
    try:
        wait_until(lambda: logins(path) >= 20)
    finally:
        run.kill()
        run.wait(PATIENCE)
    assert set(pl.read_csv(path)["url"]) == {"/login"}
    if earlier:
        assert Path("r.logins.csv").read_text() == "of an earlier run\n"


@pytest.mark.slow
def test_a_sweep_that_is_killed_and_resumed_has_the_logins_of_both_parts(target: str) -> None:
    sweep = ("sweep", "20,30", "in.csv", target, "--for", "2s", "--no-plots", "--keep-going")
    first = start(*sweep, "-o", "s")
    path = "s/running/results.logins.csv"
    try:
        wait_until(lambda: logins(path) >= 10 or logins("s/results.logins.csv") >= 10)
    finally:
        first.kill()
        first.wait(PATIENCE)
    (killed,) = (pl.read_csv(each) for each in (path, "s/results.logins.csv") if Path(each).exists())
    assert start(*sweep, "--resume", "s").wait(PATIENCE) in (0, 3)
    both = pl.read_csv("s/results.logins.csv")
    assert both.head(killed.height).equals(killed)
    assert both.height > killed.height
