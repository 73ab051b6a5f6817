"""Replays 10,000 clients with cookies on several workers against nginx: order, connections, sessions, memory.

Usage, from the folder ``tests``: ``python -m benchmarks.many_sessions [--clients 10000] [--workers 4]
[--cluster local:4] [--rate 1000] [--for 4m]``. nginx gives each connection a cookie of its own and logs the connection,
the target and the cookie of each request. Exit code 1 if a client had a second connection, another order or another
cookie, or if the
memory of a process grew.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
import polars as pl

from benchmarks.soak import Watched, resident
from conftest import NGINX, free_port, running
from logreplay.cli.options.types import ParsedType
from logreplay.core.quantities import seconds_of

_EACH: Final = 6
"""Requests of a client in the log; the run goes through it again and again."""
_SAMPLES: Final = 120
_CONF: Final = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
worker_rlimit_nofile {files};
events {{ worker_connections {files}; }}
http {{
    client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
    log_format came '$connection,$request_uri,$cookie_sid';
    access_log {folder}/access.log came buffer=64k;
    keepalive_requests 100000000; keepalive_timeout 1h;
    map $cookie_sid $given {{ "" "sid=$request_id; Path=/"; default ""; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{ add_header Set-Cookie $given; return 200 "hello"; }}
    }}
}}
"""


def family(pid: int) -> list[int]:
    """A process and all that descend from it; empty if it has ended."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(each for child in children for each in family(child))]


def watched(process: "subprocess.Popen[bytes]", every_s: float) -> dict[int, list[float]]:
    """The resident memory of each process of a command until it ends, MB."""
    memory: dict[int, list[float]] = {}
    while process.poll() is None:
        for pid in family(process.pid):
            try:
                memory.setdefault(pid, []).append(resident(pid))
            except (OSError, IndexError):
                continue
        try:
            process.wait(every_s)
        except subprocess.TimeoutExpired:
            continue
    return memory


def wrong(came: pl.DataFrame, clients: int) -> list[str]:
    """List the errors in the requests that the server received, given in order of arrival."""
    by_client = came.group_by("client", maintain_order=True).agg(
        pl.col("connection").n_unique(),
        pl.col("sid").slice(1).n_unique().alias("sids"),
        pl.col("sid").first().alias("first_sid"),
        pl.col("sid").slice(1).first(),
        (pl.col("number") == pl.int_range(pl.len()) % _EACH).all().alias("ordered"),
    )
    pairs = (
        ("clients", by_client.height, clients),
        ("clients with one connection", int((by_client["connection"] == 1).sum()), clients),
        ("connections", came["connection"].n_unique(), clients),
        ("clients in the order of the log", int(by_client["ordered"].sum()), clients),
        ("clients without a cookie at first", int((by_client["first_sid"] == "-").sum()), clients),
        ("clients that kept their cookie", int(((by_client["sids"] == 1) & (by_client["sid"] != "-")).sum()), clients),
        ("cookies", by_client["sid"].n_unique(), clients),
    )
    return [f"{name}: {found:,}, not {expected:,}" for name, found, expected in pairs if found != expected]


def arrived(log: Path) -> pl.DataFrame:
    """The requests that came, without the question whether the target answers."""
    came = pl.read_csv(log, has_header=False, new_columns=["connection", "url", "sid"])
    parts = pl.col("url").str.extract_groups(r"^/(?<client>\d+)/(?<number>\d+)$")
    return came.with_columns(parts).unnest("url").drop_nulls().with_columns(pl.col("number").cast(pl.Int64))


@click.command(help=__doc__)
@click.option("--clients", default=10_000, show_default=True)
@click.option("--workers", default=4, show_default=True)
@click.option("--cluster", default="", help="Instead of workers, such as local:4.")
@click.option("--rate", default=1000.0, show_default=True)
@click.option("--for", "seconds", default="4m", show_default=True, type=ParsedType(seconds_of))
def main(clients: int, workers: int, cluster: str, rate: float, seconds: float) -> None:
    assert NGINX
    several = ["--cluster", cluster] if cluster else ["--workers", str(workers)]
    with TemporaryDirectory(prefix="sessions-") as name:
        folder, port = Path(name), free_port()
        folder.chmod(0o755)
        rows = (
            f"2026-01-01,00:00:00,0,0,0,5,/{client}/{number},200,GET,10.0.{client >> 8}.{client & 255}\n"
            for number in range(_EACH)
            for client in range(clients)
        )
        log = folder / "log.csv"
        log.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op,client\n" + "".join(rows))
        (folder / "conf").write_text(_CONF.format(folder=folder, port=port, files=clients + 1000))
        nginx: list[str | Path] = [NGINX, "-c", folder / "conf", "-p", folder, "-e", folder / "error.log"]
        with running(nginx, folder, port) as server:
            command: Sequence[object] = [
                sys.executable, "-m", "logreplay.cli.main", "run", log, server.url, *several, "--by-client",
                "--cookies", "--tps", rate, "--for", seconds, "--loop", "-o", folder / "results.csv.zst",
                "--progress", "none",
            ]  # fmt: skip
            with subprocess.Popen([str(word) for word in command]) as process:
                memory = watched(process, seconds / _SAMPLES)
            time.sleep(1)
        came = arrived(server.log)
    figures = [Watched(f"memory of {pid}, MB", values, 0.05, 8) for pid, values in memory.items() if len(values) > 30]
    faults = wrong(came, clients)
    print(
        "\n".join(
            [f"{came.height:,} requests of {clients:,} clients, {' '.join(several)}", *map(str, figures), *faults]
        )
    )
    for pid, values in memory.items():
        print(pid, *(f"{value:.0f}" for value in values[:: max(1, len(values) // 12)]))
    sys.exit(bool(faults) or not all(figure.flat for figure in figures))


if __name__ == "__main__":
    main()
