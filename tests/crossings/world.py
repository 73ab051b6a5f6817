"""The folder in which a crossing runs: its inputs, what is in the way, its settings."""

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from crossings.pairs import Case
from crossings.table import COMMANDS, READING
from logreplay.core.record import CORE_COLUMNS
from logreplay.core.zstd import zstd
from logreplay.parsers.conversion.job import ConvertOptions, convert

LINES: Final = 60
CLIENTS: Final = 8
AGENTS: Final = 3
"""Coprime to the clients: each client has all of them."""
_HOOKS: Final = """
def same(request):
    return request
def some(request):
    return None if request.number % 3 == 0 else request
def fails(request):
    if request.number % 5 == 0:
        raise ValueError("of the hook")
    request.headers["x-hook"] = "1"
    return request
"""
_SETTINGS: Final = 'timeout = "2s"\nmatch = ["/"]\n'
FOLDERS: Final = ("sweep", "find", "duet", "inspect", "plan")
"""Commands whose result is a folder."""
_FIRST: Final = {"inspect": "report.html", "plan": "plan.json"}
"""A file of the result of a command that has no result log."""
MADE: Final = "made"
"""The folder of a search that was made before."""
OLD: Final = b"an older result\n"


def log_line(number: int, at: datetime) -> str:
    """A line of an access log in the combined format."""
    op = {0: "POST", 5: "HEAD"}.get(number % 10, "GET")
    path = {8: f"/caf%C3%A9/{number}?a=b&c=%20", 9: f"/x|y;z=1/{number}"}.get(number % 10, f"/page/{number}?n={number}")
    status = 404 if number % 7 == 0 else 500 if number % 11 == 0 else 200
    stamp = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
    agent = f"agent/{number % AGENTS}"
    version = "HTTP/2.0" if number % 3 == 0 else "HTTP/1.1"
    client, request = f"192.0.2.{number % CLIENTS + 1}", f"{op} {path} {version}"
    return f'{client} - - [{stamp}] "{request}" {status} 5 "http://a.example/" "{agent}"\n'


@dataclass(frozen=True)
class World:
    """The folder.

    Attributes:
        inputs: bytes of each file that was there.
        env: further variables.
    """

    folder: Path
    inputs: Mapping[str, bytes]
    env: Mapping[str, str]


def make_world(case: Case, folder: Path, authority: bytes, client: Mapping[str, bytes]) -> World:
    """Write what a crossing needs into an empty folder."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    lines = [log_line(number, first + timedelta(seconds=number // 4)) for number in range(LINES)]
    text = "".join(lines).encode()
    later = "".join(log_line(number, first + timedelta(seconds=60 + number)) for number in range(10)).encode()
    files: dict[str, bytes] = {
        "access.log": text,
        "access.log.gz": gzip.compress(text),
        "access.log.zst": zstd.compress(text),
        "later.log.gz": gzip.compress(later),
        "bad.log": b"\xff\x00 nonsense\n" + text + b'192.0.2.1 - - [] "GET',
        "urls.txt": "".join(f"/page/{number}?n={number}\n" for number in range(LINES)).encode(),
        "request.http": b"POST /page/1?n=1 HTTP/1.1\r\nHost: a.example\r\nX-Own: 1\r\n\r\nhello, this is a body",
        "bodies.csv": b"url,body\n" + b"".join(b"/page/%d?n=%d,body %d\n" % (n, n, n) for n in range(LINES)),
        "logins.csv": b"url,body\n/login,user=ann\n/login,user=bob\n",
        "authority.pem": authority,
        **client,
        "token.txt": b"verysecrettoken\n",
        "headers.txt": b"X-Filed: 1\n\nX-Other: 2\n",
        "password.txt": b"user:verysecrettoken",
        "crossing_hooks.py": _HOOKS.encode(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    convert([folder / "access.log"], folder / "access.csv", ConvertOptions())
    converted = pl.read_csv(folder / "access.csv", infer_schema=False)
    converted.with_columns(thinktime=pl.lit("0.02")).write_csv(folder / "access.csv")  # access logs have no pauses
    plain = (folder / "access.csv").read_bytes()
    (folder / "access.csv.zst").write_bytes(zstd.compress(plain))
    pl.read_csv(folder / "access.csv").write_parquet(folder / "access.parquet")
    (folder / "other.csv").write_bytes(plain.replace(b"/page/", b"/other/"))
    if case.command == "convert":  # it makes such files
        for path in folder.glob("access.[cp]*"):
            path.unlink()
    os.mkfifo(folder / "pipe.log")
    env = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "verysecretkey"}
    if case.choice["settings"] == "file":
        settings = f'[{case.command}]\nmatch = "/"\n' if case.command in READING else _SETTINGS
        (folder / "logreplay.toml").write_text(settings)
    elif case.choice["settings"] == "variables":
        env |= {f"LOGREPLAY_{case.command.upper()}_EXCLUDE": "nothing like it"}
    _old_result(case, folder)
    if case.command == "plan":
        _made_before(folder)
    for name in ("tmp", "home"):
        (folder / name).mkdir()
    inputs = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return World(folder, inputs, env)


def output_of(case: Case) -> str:
    """The name of the result; empty where none is said, or it is standard output."""
    words = COMMANDS[case.command]["output"][case.choice["output"]].split()
    return words[-1] if words and words[-1] != "-" else ""


def old_file(case: Case) -> str:
    """A file that a folder as result has, by its path in the folder of the crossing."""
    return f"{output_of(case)}/{_FIRST.get(case.command, 'results.csv')}"


def _made_before(folder: Path) -> None:
    """Write the folder of a search, as far as a plan reads it, and a forecast."""
    made = folder / MADE
    made.mkdir()
    bounds = [{"statistic": "p99", "limit": 0.3}, {"statistic": "errors", "limit": 0.01}]
    slo = {"found": True, "rate": 3.0, "range": [2.5, 3.5], "high": 4.0, "unit": "requests/s", "held_s": 50.0}
    summary = {"verdict": "VALID", "slo": {**slo, "sentence": "", "bounds": bounds}}
    (made / "summary.json").write_text(json.dumps(summary | {"options": {"methods": ["GET", "HEAD", "POST"]}}))
    (made / "results.csv").write_text(",".join(CORE_COLUMNS) + "\n")
    (made / "routes.csv").write_text("step,route,requests\n0,/page/{}?n={},70\n0,/caf%C3%A9/{}?a={}&c={},10\n")
    (made / "steps.csv").write_text("rate,mean,verdict\n3,0.02,stable\n")
    rates = "".join(f"2026-12-01T00:00:{second:02},{second % 7}\n" for second in range(60))
    (folder / "december.csv").write_text(f"time,rate\n{rates}")


def summary_of(case: Case) -> str:
    """The name of the summary beside the result of a run; empty where there is none."""
    return f"{output_of(case).partition('.')[0]}.summary.json" if case.command == "run" and output_of(case) else ""


def _old_result(case: Case, folder: Path) -> None:
    name = output_of(case)
    if case.choice["force"] not in ("old", "exists") or not name:
        return
    if case.command in FOLDERS:
        (folder / name).mkdir()
        (folder / old_file(case)).write_bytes(OLD)
    else:
        (folder / name).write_bytes(OLD)
    if summary := summary_of(case):
        (folder / summary).write_bytes(OLD)
