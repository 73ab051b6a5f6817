"""How fast ``convert`` is, beside the obvious Python script, GoAccess and apachelogs in the same run.

The script and apachelogs run inside this process and pay for no start-up; they and GoAccess neither sort, nor spread
the stamps, nor account for bad lines.
"""

import csv
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark

LINES = 2_000_000

SLICE = 50_000
"""Lines for a peer that would take minutes for all."""
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/118.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "curl/8.5.0",
)
REFERERS = ("-", "-", "https://www.example.com/", "https://www.example.com/catalogue?page=3")


def write_log(path: Path, lines: int, form: str) -> Path:
    """A busy hour of a shop: 250 requests a second, nearly in order."""
    rng = random.Random(1)
    begin = datetime(2026, 11, 20, tzinfo=UTC)
    with open(path, "w") as out:
        for number in range(lines):
            at = begin + timedelta(seconds=number // 250)
            fields = {
                "client": f"{rng.randrange(1, 255)}.{rng.randrange(255)}.{rng.randrange(255)}.{rng.randrange(255)}",
                "at": at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
                "iso": at.isoformat(),
                "url": f"/item/{rng.randrange(100_000)}?ref={rng.randrange(1000)}",
                "status": rng.choice((200, 200, 200, 304, 404)),
                "bytes": rng.randrange(200, 60_000),
                "referer": rng.choice(REFERERS),
                "agent": rng.choice(AGENTS),
                "time": f"{rng.expovariate(20):.3f}",
            }
            out.write(form.format(**fields) + "\n")
    return path


COMBINED = '{client} - - [{at}] "GET {url} HTTP/1.1" {status} {bytes} "{referer}" "{agent}" {time}'
JSON = (
    '{{"time":"{iso}","remote_addr":"{client}","request":"GET {url} HTTP/1.1","status":{status},"bytes":{bytes},'
    '"request_time":{time},"referer":"{referer}","ua":"{agent}"}}'
)


@pytest.fixture(scope="module")
def combined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("logs") / "access.log", LINES, COMBINED)


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The best of several: what the machine can do when others leave it alone."""
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def run_convert(log: Path, *words: str) -> Callable[[], object]:
    command = [sys.executable, "-m", "logreplay.cli.main", "convert", str(log), "-q", "--force", *words]
    return lambda: subprocess.run([*command, "-o", str(log.with_suffix(".csv"))], check=True)


def peak_mb(log: Path) -> float:
    """Peak memory of a conversion, of its own process alone."""
    command = [sys.executable, "-m", "logreplay.cli.main", "convert", str(log), "-q", "--force"]
    process = subprocess.Popen([*command, "-o", str(log.with_suffix(".csv"))])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


def run_script(log: Path) -> Callable[[], object]:
    """One compiled pattern and csv.writer in a loop; it neither sorts nor spreads nor counts bad lines."""
    pattern = re.compile(
        r"(\S+) \S+ (\S+) \[(\d\d)/(\w{3})/(\d{4}):(\d\d:\d\d:\d\d) [+-]\d{4}\] "
        r'"(\S+) (\S+) (\S+)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)" ([\d.]+)$'
    )
    names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    months = {name: f"{number:02}" for number, name in enumerate(names, 1)}

    def work() -> None:
        with open(log) as lines, open(log.with_suffix(".script.csv"), "w", newline="") as out:
            writer = csv.writer(out)
            for line in lines:
                if match := pattern.match(line):
                    client, user, day, month, year, clock, op, url, protocol, rc, size, referer, agent, took = (
                        match.groups()
                    )
                    date = f"{year}-{months[month]}-{day}"
                    writer.writerow(
                        (date, clock, took, 0, 0, size, url, rc, op, client, referer, agent, protocol, user)
                    )

    return work


def run_apachelogs(log: Path) -> Callable[[], object]:
    """The most exact parser of the kind on PyPI, with csv.writer in a loop."""
    from apachelogs import LogParser

    parse = LogParser('%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %{rt}n').parse

    def work() -> None:
        with open(log) as lines, open(log.with_suffix(".peer.csv"), "w", newline="") as out:
            writer = csv.writer(out)
            for entry in map(parse, lines):
                op, url, protocol = entry.request_line.split(" ")
                sent, took = entry.headers_in, entry.notes["rt"]
                begin = entry.request_time.astimezone(UTC)
                core = (begin.date(), begin.time(), took, 0, 0, entry.bytes_sent, url, entry.final_status, op)
                writer.writerow((*core, entry.remote_host, sent["Referer"], sent["User-Agent"], protocol))

    return work


def run_goaccess(log: Path) -> Callable[[], object]:
    form = '%h %^ %e [%d:%t %^] "%r" %s %b "%R" "%u" %T'
    command = [
        "goaccess",
        str(log),
        f"--log-format={form}",
        "--date-format=%d/%b/%Y",
        "--time-format=%T",
        "--no-progress",
    ]
    return lambda: subprocess.run([*command, "-o", str(log.with_suffix(".json"))], check=True, capture_output=True)


def say(name: str, lines: int, took: float) -> None:
    print(f"\n{name:34} {lines / took:12,.0f} lines/s  {took:6.2f} s", end="")


def test_combined_with_request_time_beside_a_script_and_others(combined: Path, tmp_path: Path) -> None:
    by_logreplay = seconds(run_convert(combined))
    script = seconds(run_script(combined), 2)
    say("logreplay convert", LINES, by_logreplay)
    say("re + csv.writer", LINES, script)
    print(f"   {script / by_logreplay:.1f} times", end="")
    if shutil.which("goaccess"):
        goaccess = seconds(run_goaccess(combined), 1)
        say("GoAccess", LINES, goaccess)
        print(f"   {goaccess / by_logreplay:.1f} times", end="")
    if importlib.util.find_spec("apachelogs"):
        with open(combined, "rb") as lines:
            (tmp_path / "slice.log").write_bytes(b"".join(islice(lines, SLICE)))
        peer = seconds(run_apachelogs(tmp_path / "slice.log"), 1)
        say(f"apachelogs, {SLICE:,} lines", SLICE, peer)
        print(f"   {peer / SLICE / (by_logreplay / LINES):.1f} times", end="")
    assert script > 1.5 * by_logreplay


def test_json_lines(tmp_path: Path) -> None:
    lines = LINES // 8
    log = write_log(tmp_path / "access.log", lines, JSON)
    say("JSON", lines, seconds(run_convert(log)))


def test_gzip(combined: Path) -> None:
    subprocess.run(["gzip", "-kf1", str(combined)], check=True)
    say("combined, gz", LINES, seconds(run_convert(combined.with_suffix(".log.gz"))))


def test_memory_stays_flat_over_five_million_lines(combined: Path, tmp_path: Path) -> None:
    log = tmp_path / "five.log"
    with open(log, "wb") as out, open(combined, "rb") as two:
        for _ in range(2):
            two.seek(0)
            shutil.copyfileobj(two, out)
        two.seek(0)
        out.writelines(islice(two, 1_000_000))
    peaks = [peak_mb(path) for path in (combined, log)]
    print(f"\npeak memory: {peaks[0]:.0f} MB for {LINES:,} lines, {peaks[1]:.0f} MB for 5,000,000", end="")
    assert os.path.getsize(log.with_suffix(".csv")) > 5e8
    assert max(peaks) < 200
