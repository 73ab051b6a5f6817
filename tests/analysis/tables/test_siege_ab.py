"""The figures of siege and ab equal theirs on the rows of the same run, made with the real tools."""

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logreplay.analysis.input import arrays
from logreplay.analysis.tables import siege_ab


class Handler(BaseHTTPRequestHandler):
    """Answers after 1 to 20 ms, with the status named by the path."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self) -> None:
        Handler.count += 1
        time.sleep(0.001 + Handler.count % 20 / 1000)
        body = b"x" * 700
        self.send_response(int(self.path.strip("/") or 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def rows(status: list[int], seconds: list[float], size: list[int], elapsed: float) -> arrays.RequestArrays:
    """The rows of a tool that says no start times: all sent at 0, but the last one, which ends at ``elapsed``."""
    start = [0.0] * (len(status) - 1) + [elapsed - seconds[-1]]
    table = pl.DataFrame({"scheduled": start, "latency": seconds, "xfertime": 0.0, "rc": status, "bytes": size})
    return arrays.read(table.with_columns(error=pl.lit("")))


def siege(run: arrays.RequestArrays) -> dict[str, float | int | None]:
    return siege_ab.siege(run, siege_ab.served(run))


def ab(run: arrays.RequestArrays) -> dict[str, Any]:
    return siege_ab.ab(run, siege_ab.served(run))


@pytest.mark.skipif(not shutil.which("siege"), reason="siege is not installed")
def test_the_figures_of_siege(server: str, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("".join(f"{server}/{status}\n" for status in (200, 204, 404, 401, 500, 503, 200)))
    settings = tmp_path / "siegerc"
    settings.write_text(
        "verbose = true\ncolor = off\njson_output = false\nlogging = false\nparser = false\nlimit = 255\n"
    )
    command = ["siege", "-R", str(settings), "-b", "-c", "4", "-r", "30", "-f", str(tmp_path / "urls")]
    done = subprocess.run(command, capture_output=True, text=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    lines = re.findall(r"HTTP/1.1 (\d+) +([\d.]+) secs: +(\d+) bytes", done.stdout)
    said = {name: float(value) for name, value in re.findall(r"^([A-Z][\w ]+):\s+([\d.]+)", done.stderr, re.M)}
    status, seconds, size = ([kind(line[part]) for line in lines] for part, kind in enumerate((int, float, int)))
    figures = siege(rows(status, seconds, size, said["Elapsed time"]))
    assert len(lines) >= 120
    for name in ("Transactions", "Successful transactions", "Failed transactions"):
        assert figures[name.lower().replace(" ", "_")] == said[name], name
    for name, digits in {
        "Availability": 0.006,
        "Elapsed time": 0.006,
        "Data transferred": 0.006,
        "Response time": 0.011,  # its rows have two decimals, its sums more
        "Transaction rate": 0.6,
        "Throughput": 0.02,
        "Concurrency": 0.4,
        "Longest transaction": 0.011,
        "Shortest transaction": 0.011,
    }.items():
        assert figures[name.lower().replace(" ", "_")] == pytest.approx(said[name], abs=digits), name


@pytest.mark.skipif(not shutil.which("ab"), reason="ab is not installed")
@pytest.mark.parametrize("number", [200, 201])
def test_the_figures_of_ab(server: str, tmp_path: Path, number: int) -> None:
    table = tmp_path / "rows.tsv"
    command = ["ab", "-q", "-n", str(number), "-c", "5", "-g", str(table), f"{server}/200"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    timed = pl.read_csv(table, separator="\t").select(pl.col("ctime", "ttime", "wait") / 1000)
    requests = timed.select(
        scheduled=pl.lit(0.0),
        connect="ctime",
        latency="wait",
        xfertime=pl.col("ttime") - pl.col("ctime") - pl.col("wait"),
        rc=pl.lit(200),
    )
    figures = ab(arrays.read(requests))
    for name in ("Connect", "Processing", "Waiting", "Total"):
        least, mean, sd, median, most = (float(part) for part in re.search(rf"^{name}:(.*)", said, re.M)[1].split())  # type: ignore[index]
        found = {key: 1000 * value for key, value in figures[name.lower()].items()}
        assert found["mean"] == pytest.approx(mean, abs=1.01)  # its rows are whole milliseconds, its sums are not
        assert found["sd"] == pytest.approx(sd, abs=0.6)
        if name == "Total":  # the rows say total and connect; the others can be off by one for rounding
            assert (found["min"], found["max"]) == (pytest.approx(least), pytest.approx(most))
            assert found["median"] == pytest.approx(median, abs=1.01)
    ladder = {int(percent): float(value) for percent, value in re.findall(r"^ +(\d+)% +(\d+)", said, re.M)}
    assert {percent: round(1000 * value) for percent, value in figures["served_within"].items()} == ladder
    assert figures["complete_requests"] == number


def test_a_time_to_connect_above_the_whole_leaves_nothing_for_processing() -> None:
    """Rounded to microseconds it may be above by one: processing took 71 minutes."""
    times = {"lag": 6e-7, "connect": 6e-7, "latency": 0.0, "xfertime": 0.0}
    assert ab(arrays.read(pl.DataFrame([{"scheduled": 0.0, **times, "rc": 200}])))["processing"]["max"] == 0


def test_without_an_answer_there_are_counts_and_no_times() -> None:
    nothing = rows([0], [0.1], [0], 0.1)
    assert siege(nothing)["availability"] == 0
    assert siege(nothing)["response_time"] is None
    assert ab(nothing)["total"]["mean"] is None


def test_requests_that_the_run_cancelled_as_it_stopped_did_not_fail() -> None:
    """With 84 of them, and no other failure, siege's availability was 70 %."""
    errors = ["", "", "reset", "cancelled", "cancelled"]
    times = pl.DataFrame({"scheduled": [0.0] * 5, "latency": 0.1, "xfertime": 0.0})
    run = arrays.read(times.with_columns(rc=pl.Series([200, 200, 0, 0, 0]), error=pl.Series(errors)))
    assert siege(run)["failed_transactions"] == ab(run)["failed_requests"] == 1
    assert siege(run)["availability"] == pytest.approx(100 * 2 / 3)
