"""``logreplay run`` as a user meets it."""

import gzip
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import scan
from logreplay.replay.requests import plan
from support.background_server import beside
from support.command_line import COMMAND, interrupted_when, leading_to, wait_for_text
from support.raw_server import RawServer, raw_server, response, sends

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
SOON = ("--tps", "100", "--for", "1s")


@pytest.fixture
def server() -> Iterator[RawServer]:
    """A raw server in a thread of its own."""
    with beside(raw_server) as server:
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Fifty good requests."""
    return write_log(tmp_path / "access.csv", ["/ok"] * 50)


def write_log(path: Path, urls: list[str], op: str = "GET") -> Path:
    rows = [f"2026-01-01,00:00:00.000000,0,0,0,5,{url},200,{op}" for url in urls]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def assert_ran(*arguments: object) -> None:
    """Done; that a busy machine was late is no concern of these tests."""
    assert logreplay("run", *arguments) in (0, 3)


def rows_of(path: Path) -> pl.DataFrame:
    return scan(path).collect()


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", 2), ("--sender", "aiohttp")])
def test_a_run_prints_the_figures_of_siege_and_ab_if_asked(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[object, ...]
) -> None:
    log = write_log(tmp_path / "access.csv", ["/ok"] * 40 + ["/404"] * 8 + ["/reset"] * 2)
    assert_ran(log, server.url, "--tps", 100, "--classic", "-o", tmp_path / "r.csv", *more)
    lines = capsys.readouterr().out.splitlines()
    found = {" ".join(words[:2]): words[2] for line in lines if len(words := line.split()) > 2}
    assert found["Complete requests"] == "48"
    assert found["Failed requests"] == "2"
    assert found["Non-2xx responses"] == "8"
    assert found["failed transactions"] == "2"
    assert 0 < int(found["Keep-Alive requests"]) < 48
    heads = 40 * len(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") + 8 * len(
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n"
    )
    assert found["HTML transferred"] == "216"
    assert found["Total transferred"].replace(",", "") == str(216 + heads)
    assert {"Requests per", "Time per"} <= found.keys()
    assert [line.split()[0] for line in lines if re.match(r" ?(connect|processing|waiting|total) ", line)] == [
        "connect", "processing", "waiting", "total",
    ]  # fmt: skip
    assert lines[-2].startswith("served within: 50 % ")
    assert lines[-1] == "failed: 10 of 50 (404: 8, reset: 2)"
    assert "status other than in the log: 8 x 200 → 404" in lines


def test_a_target_that_refuses_the_requests_is_asked_for_its_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "access.csv", ["/private"] * 40)
    answers = {"/private": sends(response(b"", "401 Unauthorized"), keep=True)}
    with beside(partial(raw_server, answers=answers)) as server:
        assert logreplay("run", log, server.url, "--tps", 100, "-o", tmp_path / "r.csv") == 3
    shown = capsys.readouterr()
    remedy = "give them with --auth, --header or --cookies"
    assert f"40 x 200 → 401\n  200 → 401: the replay has no cookies or passwords; {remedy}\n" in shown.out
    assert f"the target asks for cookies or passwords; {remedy}; run --crash shows the first" in shown.err


def test_a_run_ends_with_how_many_requests_failed_and_how(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "access.csv", [*["/ok"] * 195, *["/404"] * 3, "/reset", "/short"])
    log.write_text(f"{log.read_text()}2026-01-01,00:00:00.000000,0,0,0,5,/404,404,GET\n")
    words = (log, server.url, "--tps", 500, "--arrivals", "even", "--force", "-o", tmp_path / "r.csv")
    assert_ran(*words)
    assert capsys.readouterr().out.splitlines()[-1] == "failed: 5 of 201 (404: 3, reset: 1, short_body: 1)"
    assert_ran(*words, "--match", "/ok")
    assert "failed: " not in capsys.readouterr().out


def test_a_run_prints_every_finding_of_its_summary_and_one_share_of_failures(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Findings of the analysis, such as a warm-up, were in summary.json only; "8%" stood beside "8.5 %"."""
    log = write_log(tmp_path / "access.csv", (["/ok"] * 11 + ["/404"]) * 24)
    assert_ran(
        log, server.url, "--steps", "500:300ms,600:300ms,700:300ms", "--arrivals", "even", "-o", tmp_path / "r.csv"
    )
    shown = capsys.readouterr()
    told = {each["code"]: each["text"] for each in json.loads((tmp_path / "r.summary.json").read_text())["findings"]}
    assert {"target_failing", "constant_errors"} <= told.keys()
    assert all(text in shown.err for text in told.values())
    assert "8.33 % of the requests failed (" in told["target_failing"]


def test_the_deviation_from_the_schedule_is_said_of_rates_and_not_of_users(
    server: RawServer, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "gaps between requests are off by 0 on average (0.0%)": users send when they have their answers."""
    for load, said in ((("--tps", 500), True), (("--vusers", 2), False)):
        assert_ran(log, server.url, *load, "--force", "-o", tmp_path / "r.csv")
        assert ("gaps between requests are off" in capsys.readouterr().err) == said


@pytest.mark.parametrize("name", ["runs.csv", "runs.json"])
def test_an_invalid_run_adds_nothing_to_a_history_and_says_so(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A check of many runs took what a dead target or a busy machine did for a change of the application."""
    log, history = write_log(tmp_path / "access.csv", ["/404"] * 60), tmp_path / name
    words = ("run", log, server.url, "--tps", 300, "-o", tmp_path / "r.csv", "--history", history, "-q")
    done = "nothing is added"
    if name == "runs.json":
        history.write_text('[{"name": "p50_s", "unit": "s", "value": 0.2}]')  # the figures of the run before
        done = "the figures of the run before are removed"
    assert logreplay(*words) == 3
    said = capsys.readouterr().err
    assert re.search(rf"note: --history {history}: {done}, since the run is invalid \([A-Z_]+\); repeat", said)
    assert not [*tmp_path.glob("runs*")]


def test_a_run_imports_nothing_slow_that_it_does_not_use(log: Path, server: RawServer, tmp_path: Path) -> None:
    words = ["run", str(log), server.url, "--tps", "100", "-q", "-o", str(tmp_path / "r.csv")]
    slow = {"aiohttp", "pyarrow", "pandas", "matplotlib", "logreplay.parsers.conversion.job"}
    slow |= {f"logreplay.replay.monitor.{name}" for name in ("probes", "sidecar")}
    code = f"import sys; from logreplay.cli.main import run; run({words}); print(*sorted({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "\n"


def test_a_run_writes_a_row_for_each_request(log: Path, server: RawServer, tmp_path: Path) -> None:
    assert_ran(log, server.url, "--tps", 200, "-o", tmp_path / "r.csv")
    rows = rows_of(tmp_path / "r.csv")
    assert rows.columns == list(RESULT_COLUMNS)
    assert sorted(rows["row"]) == list(range(50))
    assert server.counts == {"/ok": 50, "/": 1}  # the preflight asked once
    assert (rows["lag"] >= 0).all()


def test_a_result_log_is_replayable(log: Path, server: RawServer, tmp_path: Path) -> None:
    assert_ran(log, server.url, "--tps", 500, "-o", tmp_path / "a.csv", "-q")
    assert_ran(tmp_path / "a.csv", server.url, "--tps", 500, "-o", tmp_path / "b.csv", "-q")
    assert rows_of(tmp_path / "b.csv").height == 50


def test_a_log_shorter_than_the_run_is_looped(log: Path, server: RawServer, tmp_path: Path) -> None:
    assert_ran(log, server.url, "--tps", 240, "--for", "500ms", "-o", tmp_path / "r.csv")
    rows = rows_of(tmp_path / "r.csv").sort("seq")
    assert rows["row"].to_list() == [seq % 50 for seq in range(120)]


def test_json_on_stdout_is_the_summary(
    log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_ran(log, server.url, "--tps", 500, "-o", tmp_path / "r.csv", "--json")
    summary = json.loads(capsys.readouterr().out)
    assert summary == json.loads((tmp_path / "r.summary.json").read_text())
    assert summary["requests"]["scheduled"] == summary["requests"]["ok"] == 50
    assert {"p50", "p99", "max"} <= summary["response_s"].keys() & summary["service_s"].keys() & summary["lag_s"].keys()


def test_quiet_is_silent(log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_ran(log, server.url, "--tps", 500, "-o", tmp_path / "r.csv", "-q")
    assert capsys.readouterr() == ("", "")


def test_an_existing_result_is_kept(
    log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("precious")
    assert logreplay("run", log, server.url, "--tps", 500, "-o", path) == 1
    assert capsys.readouterr().err == (
        f"Error: {path}: exists already; choose another with -o, or replace it with --force\n"
    )
    assert path.read_text() == "precious"
    assert_ran(log, server.url, "--tps", 500, "-o", path, "--force")


def test_crash_stops_at_the_first_failure_and_shows_it(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "log.csv", ["/ok"] * 5 + ["/404"] + ["/ok"] * 500)
    assert logreplay("run", log, server.url, "--tps", 50, "-o", tmp_path / "r.csv", "--crash") == 4
    shown = capsys.readouterr().err
    assert "> GET /404 HTTP/1.1" in shown
    assert "< 404 Not Found" in shown
    assert "! status 404; the log had 200" in shown
    assert "run --crash" not in shown
    assert "of the requests failed (1 x status 400 and above that the log did not have): check the target's" in shown
    assert "run --crash" not in (tmp_path / "r.summary.json").read_text()
    assert rows_of(tmp_path / "r.csv").height < 100


def test_junit_blames_the_condition_that_was_hit_and_no_other(server: RawServer, log: Path, tmp_path: Path) -> None:
    junit, conditions = tmp_path / "junit.xml", ("p99>1", "p99>1us")
    stops = [word for condition in conditions for word in ("--stop", condition)]
    loop = ("--tps", 50, "--loop", "--for", "20s", "-q", "-o", tmp_path / "r.csv")
    assert logreplay("run", log, server.url, *loop, *stops, "--junit", junit) == 4
    cases = ElementTree.parse(junit).getroot().iter("testcase")
    blamed = {case.attrib["name"] for case in cases if case.find("failure") is not None}
    assert blamed == {"--stop p99>1us"}


def test_crash_stops_at_a_transport_error(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "log.csv", ["/ok", "/reset", *["/ok"] * 500])
    assert logreplay("run", log, server.url, "--tps", 50, "-o", tmp_path / "r.csv", "--crash") == 4
    assert "! reset" in capsys.readouterr().err


def test_verbose_shows_each_exchange_with_control_bytes_escaped(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "log.csv", ["/escape"])
    assert_ran(log, server.url, "--tps", 50, "-o", tmp_path / "r.csv", "-v")
    shown = capsys.readouterr().out
    assert "> GET /escape HTTP/1.1\n> Host: 127.0.0.1:" in shown
    assert "< X-Evil: \\xc2\\x9b31mred" in shown
    assert "\x9b" not in shown


def test_exchanges_and_json_do_not_share_standard_output(
    server: RawServer, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("run", log, server.url, "--tps", 50, "-o", tmp_path / "r.csv", "-v", "--json") == 2
    said = capsys.readouterr()
    assert not said.out
    assert "--verbose and --json exclude each other: both write to standard output" in said.err


def test_the_summary_holds_how_requests_were_sent(server: RawServer, log: Path, tmp_path: Path) -> None:
    words = ("--no-keep-alive", "--max-in-flight", 9, "--late", "drop:2s", "--methods", "HEAD,GET,POST")
    assert_ran(log, server.url, "--tps", 500, "-o", tmp_path / "r.csv", *words)
    options = json.loads((tmp_path / "r.summary.json").read_text())["options"]
    how = {"keep_alive": False, "max_in_flight": 9, "late": 2.0, "methods": ["GET", "HEAD", "POST"]}
    assert how.items() <= options.items()


def test_what_is_not_sent_is_named(server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_log(tmp_path / "log.csv", ["/ok", "http://127.0.0.1:1/evil", "*"])
    log.write_text(log.read_text() + "2026-01-01,00:00:00,0,0,0,0,/post,200,POST\n")
    assert_ran(log, server.url, "--tps", 500, "-o", tmp_path / "r.csv")
    shown = capsys.readouterr().err
    assert "not sent: 2 x url does not begin with /, 1 x method POST" in shown
    assert server.counts["/post"] == 0


def long_log(path: Path) -> Path:
    """80,000 rows: 20 hours of a request a second, then 800 s of 10 a second, every fourth a POST."""
    quiet = [f"2026-01-01,{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02},0,0,0,5,/ok,200,GET" for at in range(72_000)]
    busy = [
        f"2026-01-01,20:{at // 600:02}:{at // 10 % 60:02},0,0,0,5,/ok,200,{'POST' if at % 4 == 0 else 'GET'}"
        for at in range(8000)
    ]
    path.write_text("\n".join([HEADER, *quiet, *busy]) + "\n")
    return path


def test_the_figures_of_a_log_are_of_all_its_rows_however_few_are_sent(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = long_log(tmp_path / "log.csv")
    assert_ran(log, server.url, "--tps", 500, "--requests", 5, "-o", tmp_path / "r.csv")
    shown = capsys.readouterr().err
    assert "the log holds 1.071 requests/s to send on average, 8 in its busiest second; this run offered 46" in shown
    assert "not sent: 2000 x method POST; send them" in shown
    summary = json.loads((tmp_path / "r.summary.json").read_text())
    assert summary["left_out"] == {"method POST": 2000}
    assert (summary["replay"]["log_requests"], summary["replay"]["log_whole"]) == (78_000, True)
    assert summary["replay"]["rounds"] == pytest.approx(5 / 78_000, rel=0.02)


def test_the_figures_of_a_log_that_is_too_long_to_be_counted_say_of_which_rows_they_are(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_COUNTED", 79_000)
    log = long_log(tmp_path / "log.csv")
    log.write_text(log.read_text().replace(",GET", ",POST", 1))
    assert_ran(log, server.url, "--tps", 500, "--requests", 5, "-o", tmp_path / "r.csv")
    shown = capsys.readouterr().err
    read = re.search(r"the part of the log that was read \(([\d,]+) requests\) holds 1 requests/s to send", shown)
    assert read, shown
    rows = int(read[1].replace(",", "")) + 1
    assert f"not sent: 1 x method POST, among the first {rows:,} rows of the log; send them" in shown
    report = json.loads((tmp_path / "r.summary.json").read_text())["replay"]
    assert (report["log_requests"], report["log_whole"], report["rounds"]) == (rows - 1, False, None)
    head, *lines = log.read_text().splitlines()
    lines[39] = lines[39].replace("2026", "2025")
    log.write_text("\n".join([head, *lines]) + "\n")
    assert_ran(log, server.url, "--speed", 500, "--requests", 5, "-o", tmp_path / "own.csv")
    told = "warning: 1 request of the part of the log that was read is out of order: each is sent together"
    assert told in capsys.readouterr().err


def test_a_log_read_to_its_end_is_the_whole_log_beside_a_part_of_an_injected_one(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_COUNTED", 1000)
    log, injected = write_log(tmp_path / "log.csv", ["/ok", "evil", "/ok"]), long_log(tmp_path / "long.csv")
    given = ("--tps", 500, "--requests", 20, "--inject", f"{injected}:50%", "-o", tmp_path / "r.csv")
    assert_ran(log, server.url, *given)
    shown = capsys.readouterr().err
    assert "not sent: 1 x url does not begin with /\n" in shown
    assert json.loads((tmp_path / "r.summary.json").read_text())["replay"]["rounds"] == 5


def test_a_target_that_refuses_is_told_before_the_run(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("run", log, "http://127.0.0.1:1", "--tps", 500, "-o", tmp_path / "r.csv") == 1
    assert capsys.readouterr().err.startswith("Error: target http://127.0.0.1:1: connection refused")
    assert logreplay("run", log, f"unix:{tmp_path}/none", "--tps", 500, "-o", tmp_path / "r.csv") == 1
    assert "nothing listens on this socket: is the server running, and is this its path?" in capsys.readouterr().err
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("more", [(), ("--http", 2), ("--sender", "aiohttp")])
def test_https_to_a_plain_port_is_told_with_its_remedy(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[object, ...]
) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as plain:
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        target = f"https://127.0.0.1:{plain.server_port}"
        assert logreplay("run", log, target, "--tps", 10, "-n", 1, "-o", tmp_path / "r.csv", *more) == 1
        plain.shutdown()
    assert "if the port speaks plain HTTP, write http:// for https://" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--cacert", "a.pem"), ("--insecure", "")])
def test_trust_for_a_plain_target_is_said_to_be_unused_if_it_was_typed(
    option: str,
    value: str,
    log: Path,
    server: RawServer,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = (log, server.url, "--tps", 33.3333, "-n", 2)
    assert_ran(*run, option, *value.split(), "-o", tmp_path / "typed.csv")
    said = capsys.readouterr()
    assert f"info: {option} is not used: {server.url} is not encrypted" in said.err
    (rates,) = re.findall(r"^(offered .*/s); protocol HTTP/1\.1$", said.out, re.MULTILINE)
    assert all(len(rate) <= len("12.34") for rate in re.findall(r"([\d.]+)/s", rates))
    monkeypatch.setenv(f"LOGREPLAY_{option[2:].upper()}", value or "true")
    assert_ran(*run, "-o", tmp_path / "set.csv")
    assert option not in capsys.readouterr().err


def test_a_condition_that_no_response_can_meet_is_told(
    log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bare 300 was meant as milliseconds, and is seconds."""
    assert_ran(log, server.url, "--tps", 100, "-n", 20, "--stop", "p99>300/10s", "-o", tmp_path / "r.csv")
    assert "--stop 'p99>300/10s': 300 s is longer than --timeout 30 s" in capsys.readouterr().err


@pytest.mark.parametrize("limit", [("--tps", 100, "--max-in-flight", 5), ("--vusers", 5)])
def test_a_condition_on_more_requests_than_can_be_in_flight_is_told(
    log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: tuple[object, ...]
) -> None:
    conditions = ("--stop", "in_flight>4", "--stop", "in_flight>5")
    assert_ran(log, server.url, *limit, "-n", 20, *conditions, "-o", tmp_path / "r.csv")
    told = [line for line in capsys.readouterr().err.splitlines() if "can never come true" in line]
    assert told == [f"warning: --stop 'in_flight>5' can never come true: with {limit[-2]} 5 no more are in flight"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://no-such-host.invalid", "the name 'no-such-host.invalid' cannot be resolved"),
        ("http://192.0.2.1", "192.0.2.1 is not this machine; if you may load it, add --allow-target"),
        ("http://[::ffff:192.0.2.1]", "is not this machine"),
        ("ftp://127.0.0.1", "the scheme must be http or https"),
        ("http://127.0.0.1/path", "only a host, the paths come from the log"),
        ("http://a:b@127.0.0.1", "remove user and password from the target"),
    ],
)
def test_a_target_that_cannot_be_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, why: str
) -> None:
    assert logreplay("run", log, target, "--tps", 10, "-o", tmp_path / "r.csv") == 1
    assert why in capsys.readouterr().err
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("rate", ["0", "-5", "nan", "inf", "fast", "1e99"])
def test_a_nonsense_rate_is_wrong_usage(log: Path, rate: str) -> None:
    assert logreplay("run", log, "http://127.0.0.1:1", f"--tps={rate}") == 2


def test_a_folder_that_is_not_there_is_named(
    log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none" / "r.csv"
    assert logreplay("run", log, server.url, "--tps", 10, "-o", path) == 1
    assert f"Error: {path}: cannot be written: there is no folder {path.parent}" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_measured(log: Path, server: RawServer, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.csv", ["/ok", "/stall"] * 20_000)
    path = tmp_path / "r.csv"
    command = [*COMMAND, "run", str(log), server.url, "--tps", "200", "--for", "15"]
    command += ["-o", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while server.counts["/stall"] < 20:
            assert process.poll() is None
            threading.Event().wait(0.01)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=20)
    assert process.returncode == 130, said
    rows = rows_of(path)
    assert rows.filter(pl.col("error") == "cancelled").height >= 20
    assert rows.height == rows["seq"].max() + 1  # type: ignore[operator]
    *_, interrupted, verdict, results = said.strip().splitlines()
    cancelled = rows.filter(pl.col("error") == "cancelled").height
    assert f" + net_error {cancelled}, {cancelled} of them cancelled\n" in printed
    assert interrupted == f"interrupted: {rows.height} of about 3,000 requests were sent; their rows are kept"
    assert verdict.startswith("verdict: ")
    assert results.startswith(f"results: {path}")
    assert json.loads((tmp_path / "r.summary.json").read_text())["replay"]["rounds"] is None  # no time to count the log


@pytest.mark.parametrize(
    "command", ["run LOG URL", "duet LOG URL URL", pytest.param("run LOG URL --workers 2", marks=pytest.mark.slow)]
)
def test_a_run_says_that_it_waits_for_a_gap_of_the_log(server: RawServer, tmp_path: Path, command: str) -> None:
    log, path = write_log(tmp_path / "log.csv", ["/ok"] * 4), tmp_path / "r.csv"
    with log.open("a") as file:
        file.write("2026-01-04,00:00:00.000000,0,0,0,5,/ok,200,GET\n")
    words = command.replace("LOG", str(log)).replace("URL", server.url).split()
    words += ["--speed", "1", "-o", str(path)]
    told = "waiting: by the log's times the next request is due in 3 days; --skip-idle shortens such gaps\n"
    said = tmp_path / "said.txt"
    with said.open("w") as file, leading_to("stderr", file, "w"), interrupted_when(lambda: wait_for_text(said, told)):
        assert run(words) == 130
    assert rows_of(path / "baseline.csv" if path.is_dir() else path).height == 4


@pytest.mark.parametrize(
    "form", [".csv", pytest.param(".csv.gz", marks=pytest.mark.slow), pytest.param(".csv.zst", marks=pytest.mark.slow)]
)
def test_a_killed_run_leaves_a_readable_file(server: RawServer, tmp_path: Path, form: str) -> None:
    log, path = write_log(tmp_path / "log.csv", ["/ok"]), tmp_path / f"r{form}"
    command = [*COMMAND, "run", str(log), server.url, "--tps", "300", "--for", "60"]
    with subprocess.Popen([*command, "-o", str(path)]) as process:
        while server.counts["/ok"] < 400:
            assert process.poll() is None
            threading.Event().wait(0.01)
        process.kill()
        answered = server.counts["/ok"]
    rows = rows_of(path)
    assert rows["rc"].to_list() == [200] * rows.height
    assert rows["seq"].n_unique() == rows.height >= answered - 300  # on disk within about a second


LAB = Path(__file__).parents[3] / "../shared/logs/lab"


@pytest.mark.skipif(not LAB.exists(), reason="needs the lab logs")
@pytest.mark.parametrize("name", ["nginx_combined.log", "apache_combined.log"])
def test_every_url_of_a_log_arrives_as_it_stands_in_the_csv(server: RawServer, tmp_path: Path, name: str) -> None:
    assert logreplay("convert", LAB / name, "-o", tmp_path / "log.csv", "-q") == 0
    methods = ",".join(set(rows_of(tmp_path / "log.csv")["op"]) - {"CONNECT"})
    options = ("--tps", 400, "-o", tmp_path / "r.csv", "-q", "--methods", methods, "--timeout", "5")
    assert_ran(tmp_path / "log.csv", server.url, *options)
    rows = rows_of(tmp_path / "r.csv").sort("seq")
    planned = rows_of(tmp_path / "log.csv").filter(
        (pl.col("url").str.starts_with("/") | (pl.col("url") == "*") & (pl.col("op") == "OPTIONS"))
        & (pl.col("op") != "CONNECT")
    )
    assert rows.select("op", "url").equals(planned.select("op", "url"))
    sent = [head.split(b" HTTP/1.1\r\n")[0].decode("ascii") for head in server.heads[1:]]
    assert set(sent) == {f"{op} {url}" for op, url in planned.select("op", "url").iter_rows()}
    assert len(sent) <= planned.height + 1  # /reset, which the server resets, is tried twice


def test_debug_says_what_the_replayer_does(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "log.csv", ["/ok"] * 9 + ["/garbage"])
    assert_ran(log, server.url, "--tps", 100, "-o", tmp_path / "r.csv", "-d")
    shown = capsys.readouterr().err
    assert "; wire sender, workers 1" in shown
    assert "10 requests taken up in" in shown
    assert re.search(r"connections: \d+ opened, reused \d+ times?, 0 retries", shown)
    assert "first protocol: Expected HTTP/" in shown


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a_run_in_which_nothing_was_due_leaves_nothing_behind(
    log: Path, server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: tuple[str, ...]
) -> None:
    words = ("run", log, server.url, "--tps", 0.01, "--for", "100ms", "-o", tmp_path / "r.csv")
    assert logreplay(*words, *quiet) == 1
    assert "nothing was sent: the schedule holds no request" in capsys.readouterr().err
    assert not (tmp_path / "r.csv").exists()


def test_random_think_times_are_named_in_the_summary_with_their_seed(
    log: Path, server: RawServer, tmp_path: Path
) -> None:
    users = ("--vusers", 5, "--think", "10ms..30ms", "--seed", 3)
    assert_ran(log, server.url, *users, "-o", tmp_path / "r.csv")
    said = json.loads((tmp_path / "r.summary.json").read_text())["options"]["think"]
    assert said == {"distribution": "uniform", "low": 0.01, "high": 0.03, "seed": 3}
    assert rows_of(tmp_path / "r.csv")["thinktime"].is_between(0.01, 0.03).all()


@pytest.mark.parametrize("command", ["run", "sweep", "find"])
def test_a_range_of_think_times_that_is_empty_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    users = {"run": ("--vusers", 5), "sweep": ("--vusers", "1,2"), "find": ("--vusers", "--p99", "1s")}[command]
    assert logreplay(command, log, "http://127.0.0.1:1", *users, "--think", "3s..1s", "-o", tmp_path / "r") == 2
    assert "'3s..1s': 3 s is above 1 s" in capsys.readouterr().err


def test_a_log_that_names_no_protocol_cannot_say_the_version_of_http(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(log), "http://127.0.0.1:1", *SOON, "--http", "log", "-o", str(tmp_path / "r.csv")]) == 1
    assert "none of 50 requests has a value in column protocol, which --http log needs" in capsys.readouterr().err


def test_a_log_without_pauses_cannot_say_how_long_users_think(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They sent without a pause, as many requests as the target took, and the run was called valid."""
    users = ("http://127.0.0.1:1", "--vusers", 5, "--think", "log", "-o", tmp_path / "r.csv")
    assert logreplay("run", log, *users) == 1
    expected = "none of 50 requests has a pause in column thinktime, which --think log needs"
    assert f"Error: {log}: {expected}; access logs have none: use --think 1s" in capsys.readouterr().err
    pauses = tmp_path / "pauses.csv"
    pl.read_csv(log).with_columns(thinktime=pl.lit(0.5)).write_csv(pauses)
    assert logreplay("run", pauses, *users, "--inject", f"{log}:5%") == 1
    assert f"Error: {log}: {expected}" in capsys.readouterr().err
    assert logreplay("run", pauses, *users) == 1
    assert "connection refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("date", "time", "have"),
    [
        (None, None, "no time"),
        ("1970-01-01", "00:00:00.000000", "no time"),
        ("yesterday", "noon", "no time"),
        ("2026-01-01", "12:00:00.5", "the same time"),
    ],
)
@pytest.mark.parametrize("load", ["--speed 1", "--speed 1 --skip-idle 1s", "--tps 5 --arrivals log"])
def test_a_log_without_times_cannot_be_replayed_at_its_own(
    date: str | None,
    time: str | None,
    have: str,
    load: str,
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With --speed all requests were sent at once, and the run was called valid."""
    timeless = tmp_path / "timeless.csv"
    pl.read_csv(log).with_columns(date=pl.lit(date), time=pl.lit(time)).write_csv(timeless)
    assert logreplay("run", timeless, "http://127.0.0.1:1", *load.split(), "-o", tmp_path / "r.csv") == 1
    text = f"its 50 requests have {have}: --speed and --arrivals log would send all of them at once; give a rate"
    assert f"Error: {timeless}: {text}" in capsys.readouterr().err


def test_a_log_whose_times_are_all_before_1970_cannot_be_replayed_at_them(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The schedule does not know such times: all requests were sent at once."""
    pl.read_csv(log).with_columns(date=pl.lit("1969-07-20")).write_csv(tmp_path / "early.csv")
    assert logreplay("run", tmp_path / "early.csv", "http://127.0.0.1:1", "--speed", 1) == 1
    assert "its 50 requests have no time: --speed and --arrivals log would" in capsys.readouterr().err


@pytest.mark.parametrize("load", ["--speed 1", "--speed 1 --skip-idle 1s", "--tps 5 --arrivals log"])
def test_a_log_out_of_order_is_not_replayed_at_its_own_times(
    load: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The requests of the second half were sent at once, and the run was called valid."""
    rows = pl.read_csv(log).with_columns(time=pl.format("00:00:{}", 10 + pl.int_range(pl.len()) % 25))
    rows.write_csv(tmp_path / "mixed.csv")
    assert logreplay("run", tmp_path / "mixed.csv", "http://127.0.0.1:1", *load.split()) == 1
    text = "24 of its requests 1 to 50 are out of order: --speed and --arrivals log would send each"
    assert f"Error: {tmp_path / 'mixed.csv'}: {text}" in capsys.readouterr().err


@pytest.mark.parametrize("kept", ["--since 25", "--match 1$", "--since 2026-02-01"])
def test_only_the_order_of_requests_that_are_sent_counts(
    kept: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first 25 of 50 requests are newest first and left out; the log was refused."""
    dates = [*(f"2026-01-{25 - number:02}" for number in range(25)), *(f"2026-02-{day:02}" for day in range(1, 26))]
    rows = [f"{date},00:00:00,0,0,0,5,/{number // 25},200,GET" for number, date in enumerate(dates)]
    (tmp_path / "two.csv").write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    words = [tmp_path / "two.csv", "http://127.0.0.1:1", "--speed", 1, "--dry-run", "--skip-idle", "1s"]
    assert logreplay("run", *words, *kept.split()) == 0, capsys.readouterr().err
    assert logreplay("run", *words) == 1
    assert "24 of its requests 1 to 50 are out of order" in capsys.readouterr().err


def test_few_requests_out_of_order_are_counted_and_told(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [*(f"00:00:00.{number:03}" for number in range(200)), "00:00:00.190", "00:00:00.200"]
    rows = [f"2026-01-01,{time},0,0,0,5,/ok,200,GET" for time in times]
    log = tmp_path / "few.csv"
    log.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    told = "warning: 1 request of the log is out of order: each is sent together with the one before it"
    for more in ([], ["--skip-idle", "1s"]):
        assert_ran(log, server.url, "--speed", 1, *more, "-o", tmp_path / f"r{len(more)}.csv")
        assert json.loads((tmp_path / f"r{len(more)}.summary.json").read_text())["replay"]["unordered"] == 1
        assert told in capsys.readouterr().err
    assert_ran(log, server.url, "--tps", 500, "-o", tmp_path / "rate.csv")
    assert "out of order" not in capsys.readouterr().err


@pytest.mark.slow
def test_requests_without_a_time_among_others_are_counted(
    server: RawServer, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pl.read_csv(log).with_row_index("second").with_columns(time=pl.format("00:00:0{}", pl.col("second") // 20))
    some = rows.with_columns(date=pl.when(pl.col("second") % 10 != 5).then("date")).drop("second")
    some.write_csv(tmp_path / "some.csv")
    assert_ran(tmp_path / "some.csv", server.url, "--speed", 10, "-o", tmp_path / "r.csv")
    assert json.loads((tmp_path / "r.summary.json").read_text())["replay"]["untimed"] == 5
    assert "; 5 requests have no time in the log: each is sent together with the one" in capsys.readouterr().err


def test_clients_of_a_log_that_names_none_are_said_to_share_a_connection(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("http://127.0.0.1:1", "--tps", 5, "--by-client", "-o", tmp_path / "r.csv")
    nameless = tmp_path / "nameless.csv"
    pl.read_csv(log).drop("client", strict=False).write_csv(nameless)
    assert logreplay("run", nameless, *options) == 1
    text = "none of 50 requests has a value in column client; all of them share one connection"
    assert f"warning: --by-client: {text}" in capsys.readouterr().err
    named = tmp_path / "named.csv"
    clients = pl.format("192.0.2.{}", pl.int_range(pl.len()) % 10)
    pl.read_csv(log).with_columns(client=clients).write_csv(named)
    assert logreplay("run", named, *options) == 1
    assert "--by-client" not in capsys.readouterr().err


def test_a_target_must_speak_both_versions_that_a_log_may_name(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.log"
    log.write_text('192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n')
    assert run(["run", str(log), server.url, *SOON, "--http", "log", "-o", str(tmp_path / "r.csv")]) == 1
    assert "no HTTP/2: PROTOCOL_ERROR: the target answers with HTTP/1" in capsys.readouterr().err


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_of_an_access_log_whose_compressed_data_end_too_soon_it_says_that_requests_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: tuple[str, ...]
) -> None:
    log = tmp_path / "log.gz"
    lines = (f'192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET /{at} HTTP/1.1" 200 5 "-" "-"\n' for at in range(2000))
    log.write_bytes(gzip.compress("".join(lines).encode())[:-500])
    assert run(["run", str(log), "http://127.0.0.1:1", "--tps", "5", "--dry-run", *quiet]) == 0
    assert "data end too soon or are damaged: the requests behind are missing" in capsys.readouterr().err
