"""From a log to the answer, with real servers on the way."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import ServerFactory, WebServer
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import convert
from logreplay.replay.servers.known_capacity import ServerCapacity
from support.command_line import typed
from support.http2_servers import HTTP2_SERVERS
from support.real_servers import SERVERS

ROOT = Path(__file__).parent.parent
ANSWERS = {
    "nginx": 'location / { return 200 "hello"; }',
    "apache": "LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so\nFallbackResource /all",
}
SAMPLE_LOGS = sorted((ROOT / "sample_logs").glob("*.log"))


VALID_OR_NOT = (0, 3)  # a busy machine may make a run no measurement: not the question here


def logreplay(*arguments: str | Path, cwd: Path, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "logreplay.cli.main", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", timeout=200)
    assert done.returncode in codes, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done


def undisturbed(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run until the run itself says that it measured the target, and not how busy this machine is."""
    for _ in range(4):
        done = logreplay(*arguments, cwd=cwd, codes=VALID_OR_NOT)
        if done.returncode == 0:
            return done
    pytest.skip(f"this machine is too busy to measure anything: {done.stderr}")


def replay_and_read_back(server: WebServer, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Replay a sample against a server; return what was sent, and what the server's own log says it got."""
    logreplay("convert", SAMPLE_LOGS[0], "-o", "access.csv", cwd=folder)
    run = ("run", "access.csv", server.url, "--tps", "400", "--for", "4s", "--max-in-flight", "1", "-o", "results.csv")
    logreplay(*run, cwd=folder, codes=VALID_OR_NOT)
    logreplay("convert", server.log, "-o", "back.csv", cwd=folder)
    sent = scan(folder / "results.csv").sort("seq").collect()
    got = scan(folder / "back.csv").collect()
    assert got.row(0, named=True)["op"] == "HEAD"  # before the run the target is asked once whether it is there
    return sent, got.slice(1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nginx", "apache"])
def test_a_servers_own_log_of_a_replay_says_what_was_sent(kind: str, request: pytest.FixtureRequest) -> None:
    start: ServerFactory = request.getfixturevalue(kind)
    folder: Path = request.getfixturevalue("tmp_path")
    server = start(server=ANSWERS[kind])
    (server.files / "all").write_text("hello")
    sent, got = replay_and_read_back(server, folder)
    assert sent.height == 1600
    same = ["op", "url", "rc"]
    if kind == "apache":  # its threads write their lines in whatever order they end
        sent, got = sent.sort(same), got.sort(same)
    assert got.select(same).equals(sent.select(same))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "sender"), [*((kind, "wire") for kind in SERVERS), ("nginx-tls", "aiohttp")])
def test_so_do_the_logs_of_other_servers(kind: str, sender: str, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    log = convert([SAMPLE_LOGS[0]], tmp_path / "access.csv")
    assert log.converted > 1000
    with SERVERS[kind](tmp_path / "server") as server:
        trust = ("--cacert", tmp_path / "server" / "cert.pem") if kind == "nginx-tls" else ()
        when = ("--tps", "800", "--requests", "1000", "--sender", sender)
        run = ("run", "access.csv", server.url, *when, *trust, "-o", "results.csv")
        logreplay(*run, cwd=tmp_path, codes=VALID_OR_NOT)
    convert([server.log], tmp_path / "back.csv")
    sent = scan(tmp_path / "results.csv").select("op", "url", "rc").collect()
    got = scan(tmp_path / "back.csv").select("op", "url", "rc").collect()
    assert sent.height == 1000
    assert (sent["rc"] > 0).all()
    assert got.row(0)[:2] == ("HEAD", "/")  # whether the target is there
    assert got.slice(1).sort(got.columns).equals(sent.sort(got.columns))


@pytest.mark.slow
@pytest.mark.parametrize("kind", HTTP2_SERVERS)
def test_so_do_the_logs_of_servers_that_speak_http2(kind: str, tmp_path: Path) -> None:
    """Each request is in the log once, with its protocol, also where the server ends connections after some."""
    (tmp_path / "server").mkdir()
    convert([SAMPLE_LOGS[0]], tmp_path / "access.csv")
    version = "log" if kind == "nginx-tls" else "2"  # there the handshake tells the versions apart
    if version == "log":
        logged = scan(tmp_path / "access.csv").collect()
        names = pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("HTTP/1.1")).otherwise(pl.lit("HTTP/2.0"))
        logged.with_columns(protocol=names).write_csv(tmp_path / "access.csv")
    with HTTP2_SERVERS[kind](tmp_path / "server") as server:
        trust = ("--cacert", tmp_path / "server" / "cert.pem") if kind == "nginx-tls" else ()
        when = ("--tps", "800", "--requests", "1000", "--http", version)
        run = ("run", "access.csv", server.url, *when, *trust, "-o", "results.csv")
        logreplay(*run, cwd=tmp_path, codes=VALID_OR_NOT)
    convert([server.log], tmp_path / "back.csv")
    sent = scan(tmp_path / "results.csv").select("op", "url", "rc", "protocol").collect()
    got = scan(tmp_path / "back.csv").select("op", "url", "rc", "protocol").collect()
    got = got.with_columns(pl.col("protocol").replace("HTTP/2", "HTTP/2.0"))
    assert sent.height == 1000
    assert (sent["rc"] > 0).all()
    sent = sent.filter(pl.col("rc") != 400)  # a path that nginx refuses is not in its log
    assert set(sent["protocol"]) == {"HTTP/2.0"} | ({"HTTP/1.1"} if version == "log" else set())
    probes = 2 if version == "log" else 1
    assert set(got["op"][:probes]) == {"HEAD"}  # whether the target is there
    asked = got.slice(probes).filter(pl.col("rc") != 400)
    assert asked.sort(asked.columns).equals(sent.sort(asked.columns))


def test_every_line_of_the_sample_logs_is_accounted_for(tmp_path: Path) -> None:
    for log in SAMPLE_LOGS:
        done = typed(tmp_path, "convert", log, "--json", "-q", "-o", tmp_path / f"{log.stem}.csv")
        assert done.returncode == 0, done.stderr
        account = json.loads(done.stdout)
        lines = len(log.read_bytes().splitlines())
        parts = ("converted", "unreplayable", "rejected", "blank")
        assert account["lines"] == lines == sum(account[part] for part in parts)
        assert account["rejected"] == 1  # the line that is cut short
        rejects = (tmp_path / f"{log.stem}.rejects").read_bytes().splitlines()
        assert len(rejects) == lines - account["converted"]
        assert scan(tmp_path / f"{log.stem}.csv").select(pl.len()).collect().item() == account["converted"]


@pytest.mark.slow
@pytest.mark.few
def test_the_demo_finds_the_saturation_of_its_target_within_5_percent(tmp_path: Path) -> None:
    done = undisturbed("demo", "-o", "demo", "--force", cwd=tmp_path)
    summary = json.loads((tmp_path / "demo" / "summary.json").read_text())
    found, carried = summary["saturation"], ServerCapacity().rate
    assert found["found"], done.stdout
    assert found["rate"] == pytest.approx(carried, rel=0.05)
    assert found["low"] <= carried <= found["high"]
    assert (tmp_path / "demo" / "hockeystick.png").read_bytes().startswith(b"\x89PNG")
    assert "look at demo/report.html" in done.stderr
    assert done.stderr.splitlines()[-1] == "next, with your own log: logreplay convert access.log"


@pytest.mark.slow
def test_run_and_sweep_work_as_typed(tmp_path: Path) -> None:
    done = logreplay("run", "--tps", "100", "--crash", "--for", "3s", "-o", "run.csv", cwd=tmp_path, codes=VALID_OR_NOT)
    assert "no LOG is given" in done.stderr
    assert "since no TARGET is given" in done.stdout
    assert scan(tmp_path / "run.csv").select(pl.len()).collect().item() == 300
    done = logreplay(
        "sweep", "50..150", "--for", "1s", "-o", "sweep", "--keep-going", cwd=tmp_path, codes=(*VALID_OR_NOT, 4)
    )
    assert "verdict: " in done.stderr
    assert pl.read_csv(tmp_path / "sweep" / "steps.csv")["rate"].to_list() == [50, 70, 90, 110, 130, 150]
