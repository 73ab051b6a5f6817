"""A log that is being written, rotated, truncated."""

import asyncio
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.core.errors import LogreplayError
from logreplay.core.record import REASON
from logreplay.inputs.logs import followed
from logreplay.parsers.conversion.follow import LineParser
from logreplay.replay.engine.engine import Engine
from logreplay.replay.requests.follow import Followed, Tail
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import ResultLog
from logreplay.replay.results.verdict import Finding
from logreplay.replay.schedules.arrivals import FollowSchedule
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender
from support.raw_server import raw_server
from support.recording_server import recording


class Writer:
    """Writes a log as a server does, and takes down what a tail yields of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_bytes(b"old\n")
        self.tail = Tail(path)
        self.seen = b""
        self._lines = iter(self.tail)
        self.wait_for(b"", at_least=1)

    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def wait_for(self, data: bytes, at_least: int = 0) -> None:
        for _ in range(at_least or 100):
            self.seen += next(self._lines)
            if data and self.seen.endswith(data):
                return
        assert self.seen.endswith(data)


@pytest.fixture
def log(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "access.log")


def test_only_what_is_appended_is_seen_and_only_whole_lines(log: Writer) -> None:
    log.append(b"one\ntwo\nthr")
    log.wait_for(b"two\n")
    log.append(b"ee\n")
    log.wait_for(b"three\n")
    assert log.seen == b"one\ntwo\nthree\n"


def test_a_rotated_log_is_read_to_its_end_and_then_its_successor(tmp_path: Path, log: Writer) -> None:
    log.append(b"one\n")
    log.wait_for(b"one\n")
    old = log.path.open("ab", buffering=0)
    log.path.rename(tmp_path / "access.log.1")
    old.write(b"two\n")  # the server has it open still
    log.wait_for(b"two\n")
    old.write(b"three")
    log.path.write_bytes(b"four\n")
    log.wait_for(b"four\n")
    assert log.seen == b"one\ntwo\nthree\nfour\n"
    old.close()


def test_a_missing_log_is_waited_for(log: Writer) -> None:
    log.path.unlink()
    log.wait_for(b"", at_least=3)
    log.path.write_bytes(b"again\n")
    log.wait_for(b"again\n")
    assert log.seen == b"again\n"


@pytest.mark.parametrize(("written", "read"), [(b"one\ntwo\n", b"one\ntwo\n"), (b"one\nhal", b"one\n")])
def test_a_truncated_log_is_read_from_its_beginning(log: Writer, written: bytes, read: bytes) -> None:
    """Half a line before the truncation is not glued to the first line after it."""
    log.append(written)
    log.wait_for(read)
    os.truncate(log.path, 0)
    log.append(b"new\n")
    log.wait_for(b"new\n")
    assert log.seen == written.removesuffix(b"\n") + b"\nnew\n"


def test_the_lines_that_a_truncation_took_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """11 to 77 of 4,000 were lost in silence as logrotate copied and truncated the log."""
    monkeypatch.setattr("logreplay.replay.requests.follow._BLOCK", 50)
    path = tmp_path / "access.log"
    path.write_bytes(b"nine more\n" * 20)
    tail = Tail(path, from_start=True)
    lines = iter(tail)
    assert not str(tail.truncations)
    assert next(lines) == b"nine more\n" * 5
    shutil.copy(path, tmp_path / "access.log.1")
    os.truncate(path, 0)
    with path.open("ab") as file:
        file.write(b"new\n")
    assert next(lines) == b"new\n"
    assert (tail.truncations.count, tail.truncations.unread) == (1, 150)
    said = str(tail.truncations)
    assert re.search(r"truncated 1 time .* at the log's rate\) and 150 bytes before them, about 1[45678] lines", said)
    assert "\n" not in said


def test_a_log_that_is_renamed_is_read_until_its_successor_has_lines(tmp_path: Path, log: Writer) -> None:
    """logrotate creates the new file, and tells the server then: what it wrote in between was lost in silence."""
    old = log.path.open("ab", buffering=0)
    log.path.rename(tmp_path / "access.log.1")
    log.path.touch()
    log.wait_for(b"", at_least=3)
    old.write(b"one\n")
    log.wait_for(b"one\n")
    log.append(b"two\n")
    log.wait_for(b"two\n")
    assert log.seen == b"one\ntwo\n"
    assert not str(log.tail.truncations)
    old.close()


def test_a_truncated_log_that_grew_longer_at_once_is_read_from_its_beginning(log: Writer) -> None:
    log.append(b"one\n")
    log.wait_for(b"one\n")
    with log.path.open("r+b") as file:
        file.truncate(0)
        file.write(b"two, and more than there was before\n")
    log.wait_for(b"before\n")
    assert log.seen == b"one\ntwo, and more than there was before\n"


def test_it_ends_when_its_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_bytes(b"one\n")
    assert b"".join(Tail(tmp_path / "access.log", from_start=True, seconds=0.2)) == b"one\n"


def test_a_log_that_never_was_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"access\.log: no such file$"):
        next(iter(Tail(tmp_path / "access.log")))


@pytest.mark.slow
def test_a_live_log_is_replayed_against_another_server(tmp_path: Path, nginx: ServerFactory) -> None:
    """A real server is visited, its log followed, and what it was asked arrives at another one in the same order."""
    production = nginx()
    urlopen(f"{production.url}/before").read()
    command = [sys.executable, "-m", "logreplay.cli.main", "run", str(production.log)]
    options = ["--follow", "--delay", "3", "-o", str(tmp_path / "results.csv"), "--match", "^/live"]

    async def main() -> list[str]:
        async with recording() as shadow:
            running = await asyncio.create_subprocess_exec(*command, shadow.url, *options, stderr=subprocess.PIPE)
            visits = 0
            deadline = time.monotonic() + 30
            while len(shadow.received) < 10 and time.monotonic() < deadline:
                await asyncio.to_thread(lambda path: urlopen(production.url + path).read(), f"/live/{visits}")
                visits += 1
                await asyncio.sleep(0.05)  # visitors are not in a hurry
            running.send_signal(signal.SIGINT)
            _, errors = await running.communicate()
            assert running.returncode == 130, errors.decode()
            return [one.target for one in shadow.received if one.target.startswith("/live")]

    arrived = asyncio.run(main())
    numbers = [int(target.removeprefix("/live/")) for target in arrived]
    assert len(numbers) >= 9
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_line_that_is_being_written_at_the_beginning_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(b"old\nne")
    lines = iter(Tail(path))
    assert next(lines) == b""
    with path.open("ab") as file:
        file.write(b"w\n")
    assert next(line for line in lines if line) == b"new\n"


FIELDS = b"#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes time-taken\n"
IIS = b"#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-22 00:00:00\n" + FIELDS
IIS_LINE = b"2026-11-22 10:00:00 10.0.0.7 GET /%b - 200 17 5\n"
CLF_LINE = b'10.0.0.7 - - [22/Nov/2026:10:00:00 +0000] "GET /%b HTTP/1.1" 200 17 "-" "curl"\n'
CLF_AFTER = CLF_LINE.replace(b"10:00:00", b"10:00:09")
IIS_AFTER = IIS_LINE.replace(b"10:00:00", b"10:00:09")


@pytest.mark.parametrize(
    ("there", "come", "urls"),
    [
        (IIS + IIS_LINE % b"old", [IIS_LINE % b"a", IIS_AFTER % b"b"], ["/a", "/b"]),
        (IIS, [IIS_LINE % b"a", IIS_AFTER % b"b"], ["/a", "/b"]),
        (b"", [IIS[:70], IIS[70:], IIS_LINE % b"a", IIS_AFTER % b"b"], ["/a", "/b"]),
        (b"", [IIS + IIS_LINE % b"a", IIS + IIS_AFTER % b"b"], ["/a", "/b"]),
        (
            IIS + IIS_LINE % b"old",
            [b"#Fields: date time cs-method cs-uri-stem\n", b"2026-11-22 10:00:00 GET /a\n"],
            ["/a"],
        ),
        (b"# rotated by hand\n", [b"# again\n", CLF_LINE % b"a", CLF_AFTER % b"b"], ["/a", "/b"]),
        (b"", [b"\n", b"# by hand\n", CLF_LINE % b"a", CLF_AFTER % b"b"], ["/a", "/b"]),
        (b"", [b"starting\n", b"ready\n", CLF_LINE % b"a", CLF_AFTER % b"b"], ["/a", "/b"]),
    ],
    ids=["iis", "iis header", "iis new", "iis restarted", "other fields", "comment", "new comment", "messages"],
)
def test_a_log_that_begins_with_comments_or_messages_is_followed(
    tmp_path: Path, there: bytes, come: list[bytes], urls: list[str]
) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(there)
    parser = LineParser(log)
    rows = pl.concat([*(parser(data) for data in come), parser.close()])
    assert rows["url"].drop_nulls().to_list() == urls
    assert set(rows[REASON].drop_nulls()) <= {"rejected: layout"}


def test_lines_that_are_no_requests_are_counted_by_reason(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(CLF_LINE % b"old")
    impossible = CLF_LINE.replace(b"22/Nov", b"31/Feb") % b"c"
    empty = CLF_LINE.replace(b"GET /%b HTTP/1.1", b"-")
    come = (CLF_LINE % b"a", b"nonsense\n", b"\n", impossible, empty)
    tail = Tail(log, from_start=True, seconds=0.2)
    log.write_bytes(CLF_LINE % b"old" + b"".join(come))
    requests = Requests(Followed(tail, LineParser(log)), loop=False)
    assert sum(frame.height for frame in requests.frames()) == 2
    assert requests.left_out == {"rejected: layout": 1, "rejected: time stamp": 1, "unreplayable: no request": 1}


def test_lines_of_a_log_whose_format_never_showed_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    parser = LineParser(log)
    assert pl.concat([parser(b"starting\nready\n"), parser.close()])[REASON].to_list() == [
        "rejected: format unknown",
        "rejected: format unknown",
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(gzip.compress(CLF_LINE % b"a")), "is compressed"),
        (os.mkfifo, "is not a file"),
        (Path.mkdir, "is not a file"),
    ],
)
def test_what_does_not_grow_by_lines_is_not_followed(tmp_path: Path, make: Callable[[Path], None], said: str) -> None:
    make(tmp_path / "access.log")
    with pytest.raises(LogreplayError, match=f"--follow .*access.log: {said}"):
        followed(tmp_path / "access.log", None)


def sender_to(url: str) -> WireSender:
    return WireSender(Endpoint(parse_target(url), ("127.0.0.1",)), timeout=30.0)


def test_a_delay_shorter_than_reading_takes_is_called_too_short(tmp_path: Path) -> None:
    """The log tells of requests half a second after they began, so a delay of 0.1 s cannot be kept."""
    log = tmp_path / "access.log"
    log.write_bytes(b"")

    class Slow(Tail):
        """Yields lines of requests that are over by now."""

        def __iter__(self) -> Iterator[bytes]:
            for _ in range(3):
                begun = (datetime.now(UTC) - timedelta(seconds=0.5)).isoformat().encode()
                yield b'{"time":"%b","uri":"/","status":200}\n' % begun * 20
                time.sleep(0.15)  # as servers write, now and then

    async def main() -> Sequence[Finding]:
        source = Followed(Slow(log), LineParser(log))
        results = ResultLog(tmp_path / "results.csv")
        async with raw_server() as server, Engine(sender_to(server.url), results) as engine:
            outcome = await engine.run(Plan(Requests(source, loop=False), FollowSchedule(0.1)))
        return outcome.health.findings

    said = next(finding.text for finding in asyncio.run(main()) if finding.code == "lag")
    assert re.search(r"--delay 0.1s is too short for this log: .* repeat with --delay [1-9][0-9]*s or more", said)
    assert "machine" not in said


def test_a_line_that_does_not_end_is_handed_on_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was kept in memory for as long as it grew."""
    monkeypatch.setattr("logreplay.replay.requests.follow._BLOCK", 100)
    monkeypatch.setattr("logreplay.replay.requests.follow._LONGEST", 1000)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 5000 + b"\nlast\n")
    pieces = [piece for piece in Tail(path, from_start=True, seconds=0.3) if piece]
    assert max(map(len, pieces)) <= 1200
    assert b"".join(pieces).replace(b"\n", b"") == b"x" * 5000 + b"last"
    assert pieces[-1].endswith(b"last\n")


def test_a_run_whose_log_is_copied_and_truncated_says_what_it_may_lack(tmp_path: Path) -> None:
    """The page said that truncation is handled; the requests that were lost were in no count."""
    path = tmp_path / "access.log"
    path.write_bytes(b"")
    line = b'{"time":"%b","uri":"/%d","status":200}\n'

    def write(first: int) -> None:
        with path.open("ab") as file:
            file.writelines(line % (datetime.now(UTC).isoformat().encode(), first + each) for each in range(20))

    async def main() -> tuple[list[str], Sequence[Finding]]:
        results = ResultLog(tmp_path / "results.csv")
        plan = Plan(Requests(followed(path, 60), loop=False), FollowSchedule(0.05))
        async with recording() as server, Engine(sender_to(server.url), results) as engine:
            running = asyncio.create_task(engine.run(plan))
            for first in (0, 100):
                while len(server.received) < first // 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)  # it begins with the next line of the log
                if first:
                    shutil.copy(path, tmp_path / "access.log.1")
                    os.truncate(path, 0)
                write(first)
            while len(server.received) < 40:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            engine.stop()
            return [one.target for one in server.received], (await running).health.findings

    arrived, findings = asyncio.run(asyncio.wait_for(main(), 50))
    assert len(arrived) == 40
    said = [finding for finding in findings if finding.code == "log_truncated"]
    assert [finding.severity for finding in said] == ["warning"]
    assert re.search(r"truncated 1 time .* \(about \d+ lines? at the log's rate", said[0].text)
