"""The options that shape a replay, by what a real server receives."""

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from logreplay.cli.main import run
from logreplay.core.rows import scan
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.requests.headers import FixedHeader, LoggedHeaders
from logreplay.replay.sessions.insertion import Insertion
from support.background_server import beside
from support.captured_requests import BINARY, FORM, har
from support.recording_server import Received, RecordingServer, recording

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client,host,referer,agent,request_bytes,body"


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    """A server that keeps what it receives, in a thread of its own."""
    with beside(recording) as server:
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Twelve requests of three clients, one of them a POST; half a second apart, then a pause of a minute."""
    rows = []
    for n in range(12):
        second = n / 2 + (60 if n >= 6 else 0)
        op, body = ("POST", "a=1") if n == 3 else ("GET", "")
        fields = [
            "2026-01-01", f"12:{int(second // 60):02}:{second % 60:09.6f}", "0.01", "0", "0.2", "5",
            f"/old/{n}?page={n}", "404" if n == 5 else "200", op,
            f"10.0.0.{n % 3}", "shop.example", "" if n % 2 else "https://ref.example/", f"agent {n}", "3", body,
        ]  # fmt: skip
        rows.append(",".join(fields))
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def received(server: RecordingServer, log: Path, *options: object) -> list[Received]:
    """Run one request after the other with these options; what the server was sent, without the preflight."""
    results = log.with_name("results.csv")
    given = [str(option) for option in options]
    when = [] if {"--speed", "--vusers", "--ramp", "--steps", "--tps"} & set(given) else ["--tps", "1000"]
    in_turn = [] if "--vusers" in given else ["--max-in-flight", 1]
    code = logreplay("run", log, server.url, *when, *given, *in_turn, "-o", results, "--force")
    assert code in (0, 3)  # 3: a busy machine
    seen = [one for one in server.received if one.target != "/"]
    server.received.clear()
    return sorted(seen, key=lambda one: one.at)


def targets(seen: list[Received]) -> list[str]:
    return [one.target for one in seen]


def numbers(seen: list[Received]) -> list[int]:
    return [int(one.target.split("/")[2].split("?")[0]) for one in seen]


def test_all_requests_that_change_nothing_are_sent(server: RecordingServer, log: Path) -> None:
    assert numbers(received(server, log)) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (("--match", "/old/1"), [1, 10, 11]),
        (("--exclude", "page=1", "--exclude", "page=[2-9]"), [0]),
        (("--status", "404,5xx"), [5]),
        (("--methods", "POST"), [3]),
        (("--from", "9"), [9, 10, 11]),
        (("--sample", "50%", "--seed", "3"), [2, 5, 8, 11]),
    ],
)
def test_which(log: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], chosen: list[int]) -> None:
    """As a dry run shows; the plan of a run is the same."""
    assert logreplay("run", log, "--tps", 5, "--dry-run", "--json", "--no-loop", *options) == 0
    assert [int(each["url"].partition("=")[2]) for each in json.loads(capsys.readouterr().out)["head"]] == chosen


@pytest.mark.parametrize(
    ("options", "chosen", "told"),
    [
        (("--status", "404,2xx", "--from", "4"), [4, 5], {"status": "404,200-299", "since": "4"}),
        (("--from", "2026-01-01T12:01:05"), [10, 11], {"since": "2026-01-01T12:01:05"}),
    ],
)
def test_what_was_chosen_is_sent_and_in_the_summary(
    server: RecordingServer, log: Path, options: tuple[str, ...], chosen: list[int], told: dict[str, str]
) -> None:
    assert numbers(received(server, log, *options, "--requests", 2)) == chosen
    assert told.items() <= json.loads(log.with_name("results.summary.json").read_text())["options"].items()


def test_as_what(server: RecordingServer, log: Path) -> None:
    first = received(server, log, "--rewrite", "s|^/old|/new|", "--rewrite", "s|0|7|g", "--param", "page=x y")[0]
    assert first.target == "/new/7?page=x%20y"
    first = received(
        server, log, "--header", "X-One: 1", "--header", "Cookie: a=b", "--host", "www.example", "--agent", "robot"
    )[0]
    assert first.header("x-one") == "1"
    assert first.header("cookie") == "a=b"
    assert first.header("host") == "www.example"
    assert first.header("user-agent") == "robot"
    seen = received(server, log, "--host", "log", "--agent", "log", "--referer", "log", "--no-cache")
    assert [one.header("user-agent") for one in seen[:2]] == ["agent 0", "agent 1"]
    assert [one.header("referer") for one in seen[:2]] == ["https://ref.example/", None]
    assert {one.header("host") for one in seen} == {"shop.example"}
    assert {one.header("cache-control") for one in seen} == {"no-cache"}


def test_bodies(server: RecordingServer, log: Path) -> None:
    log.with_name("bodies.csv").write_text("client,body\n10.0.0.0,from the file\n")
    for option, body in [
        ("log", b"a=1"), ("size", b"xxx"), (f"{log.with_name('bodies.csv')}:client", b"from the file")
    ]:  # fmt: skip
        (post,) = received(server, log, "--methods", "POST", "--body", option)
        assert post.body == body
    (post,) = received(server, log, "--methods", "POST")
    assert post.body == b"a=1"


def test_the_bodies_of_a_capture_are_sent_where_its_methods_are_allowed(
    server: RecordingServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.har").write_bytes(har())
    assert logreplay("convert", tmp_path / "a.har", "-o", tmp_path / "a.csv") == 0
    seen = received(server, tmp_path / "a.csv", "--methods", "GET,POST,PUT")
    assert {one.line.split()[0]: one.body for one in seen} == {"GET": b"", "POST": FORM, "PUT": BINARY}
    assert {one.header("content-type") for one in seen} == {
        None,
        "application/x-www-form-urlencoded",
        "application/octet-stream",
    }
    assert "have no body there" not in capsys.readouterr().err


def test_requests_whose_body_the_log_lacks_are_counted(
    server: RecordingServer, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not where it says that there was none, nor if it has no bodies at all."""
    rows = pl.read_csv(log, infer_schema=False)
    size = pl.when(pl.int_range(pl.len()) < 8).then(pl.lit("7")).otherwise(pl.lit("0"))
    rows = rows.with_columns(op=pl.lit("POST"), request_bytes=size)
    rows.write_csv(log)
    seen = received(server, log, "--methods", "GET,POST,DELETE")
    assert [one.body for one in seen] == [b""] * 3 + [b"a=1"] + [b""] * 8
    text = "warning: bodies: 7 of 12 POST requests of the log have no body there, and are sent empty; "
    assert text in capsys.readouterr().err
    rows.with_columns(body=pl.lit(None)).write_csv(log)
    received(server, log, "--methods", "POST")
    assert "have no body there" not in capsys.readouterr().err


@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
def test_what_the_log_does_not_have_is_said(
    server: RecordingServer, log: Path, sender: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pl.read_csv(log, infer_schema=False)
    log.with_name("other.csv").write_bytes(log.read_bytes())
    rows.drop("agent", "request_bytes").with_columns(referer=pl.lit(None), host=pl.lit(None)).write_csv(log)
    options = ("--host", "log", "--agent", "log", "--referer", "log", "--body", "size", "--methods", "GET,POST")
    seen = received(server, log, "--sender", sender, *options)
    assert len(seen) == 12
    assert {str(one.header("user-agent")).partition("/")[0] for one in seen} == {"logreplay"}
    shown = capsys.readouterr().err
    for text in (
        "--host log: none of 12 requests has a value in column host; logreplay's own Host is sent",
        "--agent log: none of 12 requests has a value in column agent; logreplay's own User-Agent is sent",
        "--referer log: none of 12 requests has a value in column referer; no Referer is sent",
        "--body: none of 1 request that may have a body has a value in column request_bytes; no body is sent",
    ):
        assert f"warning: {text}" in shown
    received(server, log.with_name("other.csv"), "--sender", sender, *options, "--inject", f"{log}:10%")
    shown = capsys.readouterr().err
    assert f"warning: --agent log: {log}: none of 12 requests" in shown
    assert "--agent log: none" not in shown


@pytest.mark.slow
def test_what_a_followed_log_does_not_have_is_said_at_its_end(
    server: RecordingServer, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    followed, ended = log.with_name("access.log"), threading.Event()
    followed.touch()

    def grow() -> None:
        """Write a line of the common format, which has no user agent, every 20 ms."""
        while not ended.wait(0.02):
            stamp = datetime.now(UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
            with followed.open("a") as file:
                file.write(f'192.0.2.1 - - [{stamp}] "GET /old/1 HTTP/1.1" 200 5\n')

    writer = threading.Thread(target=grow)
    writer.start()
    words = ("--follow", "--delay", "2s", "--for", "3s", "--agent", "log", "--match", "old")
    try:
        code = logreplay("run", followed, server.url, *words, "-o", log.with_name("followed.csv"))
    finally:
        ended.set()
        writer.join()
    assert code in (0, 3)  # 3: a busy machine
    text = r"warning: --agent log: none of \d+ requests has a value in column agent; logreplay's own User-Agent is"
    assert re.search(text, capsys.readouterr().err)


@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
def test_a_fragment_that_the_user_writes_is_not_sent(server: RecordingServer, log: Path, sender: str) -> None:
    urls = log.with_name("urls.txt")
    urls.write_text("/a#b\nhttp://www.example/c?d#e\n")
    assert logreplay("urls", "/f/{n}#g", "--var", "n=1,2", "-o", log.with_name("urls.csv")) == 0
    seen = [*received(server, urls, "--host", "log", "--sender", sender), *received(server, log.with_name("urls.csv"))]
    assert targets(seen) == ["/a", "/c?d", "/f/1", "/f/2"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("http://127.0.0.1:0", "nothing listens on port 0; write a port between 1 and 65535"),
        ("127.0.0.1:0", "nothing listens on port 0"),
        ("http:/127.0.0.1:80", "a slash is missing after http:/; write http://HOST:PORT"),
        ("http://127.0.0.1:", "no port follows the colon; is a variable empty? Write http://127.0.0.1:PORT, or"),
        ("https://[::1]:/", "https://[::1] for port 443"),
    ],
)
def test_a_target_without_its_port_says_so(
    log: Path, target: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("run", log, target, "--tps", 1, "-o", log.with_name("r.csv")) == 1
    assert text in " ".join(capsys.readouterr().err.split())
    assert not log.with_name("r.csv").exists()


def test_order(server: RecordingServer, log: Path) -> None:
    shuffled = numbers(received(server, log, "--request-order", "shuffle", "--seed", "5"))
    assert sorted(shuffled) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11] != shuffled
    drawn = numbers(received(server, log, "--random", "--seed", "5", "--requests", "60"))
    assert len(drawn) == 60
    assert set(drawn) <= set(range(12)) - {3}
    results = log.with_name("by-client.csv")
    assert logreplay("run", log, server.url, "--tps", 500, "--by-client", "-o", results) in (0, 3)
    connections = {(n % 3, one.connection) for one in server.received[1:] for n in numbers([one])}
    assert len(connections) == 3


def test_mixing_in(server: RecordingServer, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("# a list of urls\n/other/1\nhttp://elsewhere.example/other/2\n")
    seen = targets(received(server, log, "--inject", f"{other}:25%", "--header", "X-A: 1", "--requests", "16"))
    assert [place for place, target in enumerate(seen) if "other" in target] == [3, 7, 11, 15]
    assert seen[3::4] == ["/other/1", "/other/2", "/other/1", "/other/2"]


def test_a_hook_and_its_cost(
    server: RecordingServer,
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "signing_for_test.py").write_text(
        "def sign(request):\n"
        "    if request.url.endswith('9'):\n        return None\n"
        "    request.headers['authorization'] = f'token {request.client}'\n"
        "    return request\n"
    )
    monkeypatch.chdir(tmp_path)
    seen = received(server, log, "--hook", "signing_for_test:sign")
    assert 9 not in numbers(seen)
    assert seen[1].header("authorization") == "token 10.0.0.1"
    shown = capsys.readouterr().err
    assert "1 x hook: left out" in shown
    assert "hook: 11 calls, " in shown


def test_a_raw_request_is_repeated(server: RecordingServer, log: Path) -> None:
    raw = log.with_name("request.txt")
    raw.write_text("PUT /raw?x=1 HTTP/1.1\nHost: www.example\nX-A: b\n\nbody")
    seen = received(server, raw, "--methods", "PUT", "--requests", 5)
    assert [one.line for one in seen] == ["PUT /raw?x=1 HTTP/1.1"] * 5
    assert {(one.header("host"), one.header("x-a"), one.body) for one in seen} == {("www.example", "b", b"body")}


def test_a_list_of_urls_is_replayed(server: RecordingServer, log: Path) -> None:
    urls = log.with_name("urls.txt")
    urls.write_text("# comment\nhttp://www.example/a?b=1\n/c d\nhttp://www.example/e POST x=1\n")
    seen = received(server, urls, "--host", "log", "--body", "log", "--methods", "GET,POST", "--match", ".")
    assert [(one.line.split()[0], one.target, one.header("host"), one.body) for one in seen if one.target != "/"] == [
        ("GET", "/a?b=1", "www.example", b""),
        ("GET", "/c%20d", f"127.0.0.1:{server.port}", b""),
        ("POST", "/e", "www.example", b"x=1"),
    ]


def test_the_log_s_own_times(server: RecordingServer, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = received(server, log, "--speed", "20", "--skip-idle", "1s")
    assert len(seen) == 11
    rows = scan(log.with_name("results.csv")).collect().sort("seq")
    gaps = rows["scheduled"].diff().drop_nulls().round(4).to_list()
    assert gaps == [0.025, 0.025, 0.05, 0.025, 0.05, *[0.025] * 5]
    summary = json.loads(log.with_name("results.summary.json").read_text())
    assert summary["replay"]["factor"] == pytest.approx(20)
    assert summary["replay"]["skipped_idle_s"] == pytest.approx(59.5)
    assert summary["options"]["speed"] == 20
    assert summary["punctuality"]["gap_distance"] >= 0
    assert "20 times its mean" in capsys.readouterr().err


@pytest.mark.slow
def test_arrivals_at_a_rate(server: RecordingServer, log: Path) -> None:
    for arrivals in ("poisson", "log"):
        seen = received(server, log, "--tps", 100, "--arrivals", arrivals, "--requests", 50)
        assert len(seen) == 50
        scheduled = scan(log.with_name("results.csv")).collect().sort("seq")["scheduled"]
        assert scheduled.diff().drop_nulls().std() > 0.005  # type: ignore[operator]
    assert len(received(server, log, "--ramp", "50..150", "--for", "1s")) == 100
    assert len(received(server, log, "--steps", "20:1s,50:0.5s")) == 45


def test_users_who_wait(server: RecordingServer, log: Path) -> None:
    assert len(received(server, log, "--vusers", 3, "--requests", 30)) == 30
    seen = received(server, log, "--vusers", 2, "--think", "50ms", "--for", "500ms")
    assert 10 <= len(seen) <= 20
    rows = scan(log.with_name("results.csv")).collect()
    assert rows["thinktime"].unique().to_list() == [0.05]


def test_rounds_through_the_log_are_told(
    server: RecordingServer, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(received(server, log, "--requests", 33)) == 33
    assert "the log was replayed 3.00 times" in capsys.readouterr().err
    assert len(received(server, log, "--requests", 33, "--no-loop")) == 11


def test_headers_of_traces_are_left_out_of_a_capture_s_and_that_is_said(
    server: RecordingServer, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = "X-Mine: 1\ttraceparent: 00-abc-def-01\tX-B3-TraceId: 1\tX-Request-Id: 7\tAccept: a/b"
    pl.read_csv(log, infer_schema=False).with_columns(headers=pl.lit(sent)).write_csv(log)
    first = received(server, log, "--header", "log")[0]
    assert {name for name, _ in first.headers} == {"host", "user-agent", "accept", "x-mine"}
    text = "--header log: not sent: traceparent, x-b3-traceid, x-request-id, which 12 of the first 12 requests have; "
    told = capsys.readouterr().err
    assert f"{text}they would join the traces of production; send one with --header 'traceparent: log'" in told
    assert told.count("join the traces") == 1
    named = ("--header", "log", "--header", "X-B3-Traceid: log", "--header", "X-Request-Id: 8")
    first = received(server, log, *named)[0]
    assert (first.header("traceparent"), first.header("x-b3-traceid"), first.header("x-request-id")) == (None, "1", "8")
    assert "--header log: not sent: traceparent, which 12 of " in capsys.readouterr().err


def test_an_address_with_most_of_the_requests_is_named_before_they_share_a_connection(
    server: RecordingServer, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.read_csv(log, infer_schema=False).filter(pl.col("op") == "GET")
    many = pl.concat([frame] * 4).with_columns(client=pl.when(pl.int_range(44) % 4 > 0).then(pl.lit("10.0.0.9"))
                                               .otherwise(pl.lit("10.0.0.1")))  # fmt: skip
    many.write_csv(log)
    received(server, log, "--by-client")
    said = " ".join(capsys.readouterr().err.split())
    assert "warning: --by-client: 10.0.0.9 has 75% of the 44 requests, which share one connection" in said
    assert said.index("10.0.0.9 has") < said.index("verdict")
    received(server, log, "--by-client", "--client-key", "address+agent")
    assert "share one connection" not in capsys.readouterr().err
    many.with_columns(client=pl.format("10.0.0.{}", pl.int_range(44))).write_csv(log)
    received(server, log, "--by-client")
    assert "share one connection" not in capsys.readouterr().err


def test_a_header_s_value_is_not_told(server: RecordingServer, log: Path) -> None:
    received(server, log, "--header", "Authorization: secret")
    assert "secret" not in log.with_name("results.summary.json").read_text()


def test_a_dry_run_sends_nothing(
    server: RecordingServer, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(tmp_path.iterdir())
    evenly = ("--tps", 4, "--arrivals", "even")
    assert logreplay("run", log, server.url, *evenly, "--dry-run", "--rewrite", "s|old|new|") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].split() == ["0.125000", "s", "GET", "/new/0?page=0"]
    assert "11 requests in 2.625 s" in shown.out
    assert (
        "not sent: 1 x method POST; send them with --methods GET,HEAD,POST; these may change data on the target\n"
        in shown.err
    )
    assert logreplay("run", log, "--speed", 1, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 11
    assert server.received == []
    assert set(tmp_path.iterdir()) == before


def test_a_dry_run_of_users_who_ask_for_some_time_goes_through_the_log_once(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("run", log, "--vusers", 3, "--for", "2s", "--dry-run") == 0
    assert "requests, the log once; the answers decide how many are sent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "one of these is needed: --tps R, --speed X, --ramp R..R, --steps, --vusers N or --follow"),
        (("--tps", 1, "--speed", 1), "these exclude each other; give one only: --tps R"),
        (("--ramp", "1..5"), "--ramp needs a duration"),
        (("--ramp", "5"), "expected the first and the last rate"),
        (("--steps", "5"), "expected rates in requests/s with their durations"),
        (("--speed", 0), "expected a speed above 0"),
        (("--speed", 1, "--arrivals", "log"), "--arrivals log needs one mean rate: give --tps R, and none of"),
        (("--ramp", "1..5", "--for", "1s", "--arrivals", "log"), "give --tps R, and none of --speed, --ramp"),
        (("--vusers", 1, "--arrivals", "poisson"), "--arrivals poisson needs a rate"),
        (("--speed", 1, "--arrivals", "even"), "--arrivals even needs a rate"),
        (("--tps", 1, "--think", "1s"), "--think needs users"),
        (("--tps", 1, "--skip-idle", "1s"), "--skip-idle needs the log's own times"),
        (("--tps", 1, "--match", "("), "is not a valid regular expression: unclosed group at character 1"),
        (("--tps", 1, "--match", "a(?=b)"), "look-around, such as (?=...) or (?!...), is not supported at character 2"),
        (("--tps", 1, "--rewrite", "a"), "expected s|FROM|TO|"),
        (("--tps", 1, "--rewrite", "s|old|a#b|"), "a # begins a fragment, which is never sent"),
        (("--tps", 1, "--header", "a"), "is not a header"),
        (("--tps", 1, "--header", "Content-Length: 5"), "is written by the sender"),
        (("--tps", 1, "--header", "X-Real-IP:log:"), "names no column; write 'X-Real-IP: log:COLUMN'"),
        (("--tps", 1, "--header", "user-agent: log"), "expected a fixed value; write --agent log"),
        (("--tps", 1, "--header", "Host: log:name"), "expected a fixed value; write --host log"),
        (
            ("--tps", 1, "--header", "X-Real-IP: 192.0.2.1", "--header", "X-Real-IP: log"),
            "--header 'X-Real-IP: ...' and --header 'X-Real-IP: ...' exclude each other",
        ),
        (
            ("--tps", 1, "--header", "log", "--header", "b3: log", "--header", "B3: 0"),
            "--header 'b3: ...' and --header 'B3: ...' exclude each other",
        ),
        (("--tps", 1, "--host", "a\nb"), "expected a host, such as"),
        (("--tps", 1, "--host", "a", "--header", "host: b"), "--host and --header 'host: ...' exclude each other"),
        (("--tps", 1, "--agent", "log", "--header", "User-Agent: b"), "--agent and --header 'User-Agent: ...' exclude"),
        (("--tps", 1, "--referer", "a", "--header", "Referer: b"), "--referer and --header 'Referer: ...' exclude"),
        (
            ("--tps", 1, "--header", "Host: a", "--header", "host: b"),
            "--header 'Host: ...' and --header 'host: ...' excl",
        ),
        (("--tps", 1, "--status", "20"), "expected statuses such as 200"),
        (("--tps", 1, "--sample", "0%"), "expected a share above 0%"),
        (("--tps", 1, "--inject", "x"), "expected a"),
        (("--tps", 1, "--body", "x"), "expected log, size or FILE:COLUMN"),
        (("--tps", 1, "--from", "yesterday"), "expected a row such as 10000"),
        (("--tps", 1, "--shuffle", "--random"), "--shuffle and --random exclude each other"),
        (("--tps", 1, "--shuffle", "--request-order", "log"), "--shuffle and --request-order exclude each other"),
        (("--speed", 1, "--shuffle"), "--shuffle and --speed exclude each other"),
        (("--speed", 1, "--request-order", "random"), "--request-order random and --speed exclude each other"),
        (("--tps", 1, "--loop", "--no-loop"), "Usage: logreplay run [OPTIONS] [LOG] [TARGET]"),
        (("--tps", 1, "--loop", "--no-loop"), "--loop and --no-loop contradict each other"),
        (("--tps", 1, "--no-digest", "--digest"), "--digest and --no-digest contradict each other"),
        (("--tps", 1, "--loop", "--dry-run"), "--dry-run and --loop need an end"),
        (("--tps", 1, "-v", "-q"), "--verbose and --quiet exclude each other"),
        (("--tps", 1, "-d", "-q"), "--debug and --quiet exclude each other"),
        (("--tps", 1, "--classic", "-q"), "--classic and --quiet exclude each other"),
        (("--tps", 1, "--classic", "--json"), "--classic and --json exclude each other"),
        (("--follow", "--tps", 1), "these exclude each other"),
        (("--tps", 1, "--by-client", "--sender", "aiohttp"), "--by-client needs --sender wire"),
    ],
)
def test_options_that_do_not_go_together_say_so(
    log: Path, server: RecordingServer, options: tuple[object, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("run", log, server.url, *options, "-o", log.with_name("r.csv")) == 2
    assert text in " ".join(capsys.readouterr().err.split())


def test_what_is_wrong_with_a_log_names_the_log_and_not_what_was_made_of_it(
    log: Path, server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = log.with_name("access.log")
    raw.write_text('127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5\n')
    assert logreplay("run", raw, server.url, "--tps", 1, "--match", "nowhere", "-o", log.with_name("r.csv")) == 1
    assert f"Error: {raw}: nothing to replay" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("run", "--tps", 1), ("sweep", "5"), ("find", "--p99", "1s")])
def test_a_target_without_a_log_is_not_taken_for_one(
    command: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert logreplay(*command, "http://127.0.0.1:8080") == 2
    assert "a target stands where LOG is expected; name LOG first" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.few
def test_a_sweep_of_users_says_where_the_plateau_begins(log: Path, tmp_path: Path) -> None:
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import spawned

    with spawned(log, ServerCapacity(4, 0.02)) as url:
        code = logreplay(
            "sweep", "--vusers", "1,2,4,8,16", log, url, "--for", "1s", "-o", tmp_path / "users", "--no-plots"
        )
    assert code in (0, 3)
    users = pl.read_csv(tmp_path / "users" / "users.csv")
    assert users["users"].to_list() == [1, 2, 4, 8, 16]
    summary = json.loads((tmp_path / "users" / "summary.json").read_text())
    assert summary["users"]["plateau"] in (4, 8)
    assert 3 <= summary["users"]["enough"] <= 6
    assert summary["answer"].startswith("throughput stops growing at")


@pytest.mark.slow
def test_a_sweep_and_its_steps_are_shaped(log: Path, server: RecordingServer, tmp_path: Path) -> None:
    arguments = ["sweep", "50,100", log, server.url, "--for", "1s", "--match", "/old/1", "--arrivals", "log"]
    assert logreplay(*arguments, "-o", tmp_path / "sweep", "--no-plots") in (0, 3)
    assert set(numbers([one for one in server.received if one.target != "/"])) == {1, 10, 11}


def test_urls_writes_the_cross_product(server: RecordingServer, log: Path, tmp_path: Path) -> None:
    (tmp_path / "projects.txt").write_text("alpha\nbeta\n\ngamma delta\n")
    out = tmp_path / "urls.csv"
    template = "http://{host}/projects/{project}/widgets/{widget}"
    variables = ["--var", "host=a.example,b.example", "--var", f"project=@{tmp_path / 'projects.txt'}"]
    assert logreplay("urls", template, *variables, "--var", "widget=1..9", "-o", out) == 0
    frame = scan(out).collect()
    assert frame.height == 2 * 3 * 9
    assert frame["url"][0] == "/projects/alpha/widgets/1"
    assert frame["url"][-1] == "/projects/gamma%20delta/widgets/9"
    assert frame["host"].unique().sort().to_list() == ["a.example", "b.example"]
    seen = received(server, out, "--host", "log")
    assert len(seen) == 54
    assert {one.header("host") for one in seen} == {"a.example", "b.example"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("/{a}",), "no values for {a}"),
        (("/", "--var", "a=1"), "{a} is not in the template"),
        (("{a}", "--var", "a=1"), "is not a url"),
        (("/{a}", "--var", "a"), "write NAME=VALUES"),
        (("/{a}", "--var", "a="), "holds no values"),
    ],
)
def test_a_template_that_cannot_be_filled_says_so(
    tmp_path: Path, arguments: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("urls", *arguments, "-o", tmp_path / "urls.csv") == 2
    assert text in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "urls.csv").exists()


@pytest.mark.parametrize("name", ["u.csv.gz", "u.parquet"])
def test_urls_writes_no_csv_under_the_name_of_another_form(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("urls", "/a", "-o", tmp_path / name) == 2
    assert f"{name}': urls writes plain CSV; end the name in .csv" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / name).exists()


def test_each_option_has_a_line_in_the_documentation() -> None:
    from logreplay.cli.commands.run import run as command
    from logreplay.options import load, request_rules

    text = (Path(__file__).parents[3] / "docs" / "shaping.md").read_text("utf-8")
    expected = {
        *load.Load.__dataclass_fields__,
        *request_rules.RequestRules.__dataclass_fields__,
        "by_client",
        "methods",
        "dry_run",
    }
    for param in command.params:
        if param.name in expected and not getattr(param, "hidden", False):
            name = next(name for name in param.opts if name.startswith("--"))
            assert f"`{name}" in text or f"{name} " in text, param.opts


def test_the_python_of_the_documentation_runs() -> None:
    text = (Path(__file__).parents[3] / "docs" / "shaping.md").read_text("utf-8")
    blocks = text.split("```python\n")[1:]
    names: dict[str, object] = {}
    exec(blocks[-1].split("```")[0], names)
    assert "plan" in names


def test_sessions_of_the_replay_leave_out_the_headers_of_those_in_the_log() -> None:
    request_rules = RequestRules(header=(LoggedHeaders(), FixedHeader("X-Mine", "1")))
    sender_rules = SenderRules(cookies=True, use=(Insertion.parse("csrf=header:X-CSRF-Token"),))
    first, *rest = request_rules.changes(unlogged=sender_rules.session_headers)
    assert first == LoggedHeaders(frozenset({"x-mine", "cookie", "x-csrf-token"}))
    assert rest == [FixedHeader("X-Mine", "1")]
