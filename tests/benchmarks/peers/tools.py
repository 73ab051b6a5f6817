"""The peers: where each comes from, how it is asked for a load, and what it keeps of it."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "logreplay" / "peers"
CONNECTIONS: Final = 64


@dataclass(frozen=True)
class Job:
    """A load that is asked for.

    Attributes:
        url: one address, for those that take only one.
        log: converted log of many distinct requests, for those that replay one.
        rate: requests/s; 0: as many as 64 connections bring.
        seconds: how long.
        folder: for the files of the tool.
    """

    url: str
    log: Path
    rate: int
    seconds: int
    folder: Path

    def file(self, name: str, text: str) -> Path:
        """Write a file that the tool wants."""
        path = self.folder / name
        path.write_text(text)
        return path


@dataclass(frozen=True)
class Tool:
    """One of those that are compared.

    Attributes:
        name: as the table shows it.
        source: kind of registry and the name there; empty kind: none has it.
        binary: what is run.
        closed: the command for 64 connections that each wait for their answer; None: it has no such thing.
        open: the command for requests at a rate; None likewise.
        clock: from when it counts the time of an answer.
        keeps: what it keeps of each request, run as here.
        urls: how many distinct ones it asks for, run as here.
        way: how it reaches the target: ``http1``, ``http2`` (in cleartext) or ``tls`` (HTTP/2).
    """

    name: str
    source: tuple[str, str]
    binary: str
    closed: Callable[[str, Job], list[str]] | None
    open: Callable[[str, Job], list[str]] | None
    clock: str
    keeps: str
    urls: str = "one"
    way: str = "http1"

    @property
    def path(self) -> str | None:
        """Where it is installed; one of a named version is our own."""
        own = [CACHE / "bin" / self.binary, CACHE / self.binary / "bin" / self.binary]
        found = next((str(path) for path in own if path.exists()), None)
        return found or (None if "@" in self.source[1] or "==" in self.source[1] else shutil.which(self.binary))


def _wrk(binary: str, job: Job) -> list[str]:
    return [binary, "-t1", f"-c{CONNECTIONS}", f"-d{job.seconds}s", job.url]


def _wrk2(binary: str, job: Job) -> list[str]:
    return [*_wrk(binary, job), f"-R{job.rate or 1_000_000}"]


def _ab(binary: str, job: Job) -> list[str]:
    return [binary, "-k", "-q", f"-c{CONNECTIONS}", f"-t{job.seconds}", "-n5000000", job.url]


def _siege(binary: str, job: Job) -> list[str]:
    rc = job.file("siegerc", "connection = keep-alive\nverbose = false\nlogging = false\nparser = false\n")
    return [binary, "-R", str(rc), "-b", f"-c{CONNECTIONS}", f"-t{job.seconds}S", job.url]


def _hey(binary: str, job: Job) -> list[str]:
    pace = ["-q", f"{job.rate / CONNECTIONS:g}"] if job.rate else []
    return [binary, "-z", f"{job.seconds}s", "-c", str(CONNECTIONS), *pace, job.url]


def _oha(binary: str, job: Job) -> list[str]:
    pace = ["-q", str(job.rate), "--latency-correction"] if job.rate else []
    return [binary, "--no-tui", "-z", f"{job.seconds}s", "-c", str(CONNECTIONS), *pace, job.url]


def _oha2(binary: str, job: Job) -> list[str]:
    pace = ["-q", str(job.rate), "--latency-correction"] if job.rate else []
    each = ["-c", "2", "-p", str(CONNECTIONS // 2)]
    return [binary, "--no-tui", "--http2", "-z", f"{job.seconds}s", *each, *pace, job.url]


def _h2load(binary: str, job: Job) -> list[str]:
    pace = [f"--rps={job.rate // 2}"] if job.rate else []  # of each connection
    return [binary, "-c2", f"-m{CONNECTIONS // 2}", "-t1", f"-D{job.seconds}", *pace, job.url]


def _vegeta2(binary: str, job: Job) -> list[str]:
    attack, *options = _vegeta(binary, job)[1:]
    return [binary, attack, "-h2c", *options]


def _vegeta_tls(binary: str, job: Job) -> list[str]:
    attack, *options = _vegeta(binary, job)[1:]
    return [binary, attack, "-insecure", *options]


def _vegeta(binary: str, job: Job) -> list[str]:
    pace = [f"-rate={job.rate}/1s", f"-max-workers={CONNECTIONS}"]
    targets = job.file("targets", f"GET {job.url}\n")
    output = job.folder / "vegeta.gob"
    return [binary, "attack", f"-targets={targets}", *pace, f"-duration={job.seconds}s", f"-output={output}"]


_K6_SCRIPT: Final = """
import http from "k6/http";
export const options = { insecureSkipTLSVerify: true, discardResponseBodies: true, scenarios: { all: %s } };
export default () => { http.get("%s"); };
"""


def _k6(binary: str, job: Job) -> list[str]:
    scenario = f'{{ executor: "constant-vus", vus: {CONNECTIONS}, duration: "{job.seconds}s" }}'
    if job.rate:
        scenario = (
            f'{{ executor: "constant-arrival-rate", rate: {job.rate}, timeUnit: "1s", duration: "{job.seconds}s", '
            f"preAllocatedVUs: {CONNECTIONS}, maxVUs: 1000 }}"
        )
    script = job.file("script.js", _K6_SCRIPT % (scenario, job.url))
    return [binary, "run", "--quiet", "--no-usage-report", str(script)]


_LOCUST_FILE: Final = """
from locust import FastHttpUser, constant, constant_throughput, task

class Visitor(FastHttpUser):
    wait_time = {wait}

    @task
    def get(self):
        self.client.get("/")
"""


def _locust(binary: str, job: Job) -> list[str]:
    wait = f"constant_throughput({job.rate / CONNECTIONS})" if job.rate else "constant(0)"
    file = job.file("visitor.py", _LOCUST_FILE.format(wait=wait))
    users = ["-u", str(CONNECTIONS), "-r", str(CONNECTIONS)]
    return [
        binary,
        "-f",
        str(file),
        "--headless",
        "--only-summary",
        *users,
        "-t",
        f"{job.seconds}s",
        "-H",
        job.url.rstrip("/"),
    ]


def _logreplay(sender: str, *more: str) -> Callable[[str, Job], list[str]]:
    def command(python: str, job: Job) -> list[str]:
        pace = ["--tps", str(job.rate), "--arrivals", "even", "--max-in-flight", str(CONNECTIONS)]
        if not job.rate:
            pace = ["--vusers", str(CONNECTIONS)]
        run = [python, "-m", "logreplay.cli.main", "run", str(job.log), job.url, *pace, "--for", str(job.seconds)]
        output = ["-o", str(job.folder / "results.csv"), "--force", "-q"]
        return [*run, "--sender", sender, *more, "--workers", "1", *output]

    return command


_WIRE, _AIOHTTP = _logreplay("wire"), _logreplay("aiohttp")
_HTTP2 = _logreplay("wire", "--http", "2")
_HTTP2_TLS = _logreplay("wire", "--http", "2", "--insecure")
_ROW: Final = "a row of 25 columns in the result log, on disk within a second"

_H2LOAD: Final = Tool(
    "h2load, HTTP/2",
    ("Debian", "nghttp2-client"),
    "h2load",
    _h2load,
    _h2load,
    "the send; a wait for a stream is not included",
    "nothing (an average)",
    way="http2",
)
TOOLS: Final = (
    Tool("logreplay", ("", ""), sys.executable, _WIRE, _WIRE, "both the schedule and the send", _ROW, "200,000"),
    Tool(
        "logreplay, aiohttp",
        ("", ""),
        sys.executable,
        _AIOHTTP,
        _AIOHTTP,
        "both the schedule and the send",
        _ROW,
        "200,000",
    ),
    Tool("wrk", ("Debian", "wrk"), "wrk", _wrk, None, "the send", "nothing (a histogram)"),
    Tool("ab", ("Debian", "apache2-utils"), "ab", _ab, None, "the send", "times in memory (-g writes them)"),
    Tool("siege", ("Debian", "siege"), "siege", _siege, None, "the send", "nothing (an average)"),
    Tool("oha", ("Rust", "oha@1.16.0"), "oha", _oha, _oha, "the schedule, with --latency-correction", "in memory"),
    Tool(
        "vegeta",
        ("Go", "github.com/tsenart/vegeta/v12@v12.12.0"),
        "vegeta",
        _vegeta,
        _vegeta,
        "the send",
        "a record in a binary file",
    ),
    Tool(
        "hey", ("Go", "github.com/rakyll/hey@v0.1.5"), "hey", _hey, _hey, "the send", "times in memory, up to 1 million"
    ),
    Tool("k6", ("Go", "go.k6.io/k6@v1.8.1"), "k6", _k6, _k6, "the send", "in memory; --out writes rows"),
    Tool(
        "Locust, FastHttpUser",
        ("Python", "locust==2.47.0"),
        "locust",
        _locust,
        _locust,
        "the send",
        "nothing (times rounded to two digits)",
    ),
    Tool(
        "logreplay, HTTP/2",
        ("", ""),
        sys.executable,
        _HTTP2,
        _HTTP2,
        "both the schedule and the send",
        _ROW,
        "200,000",
        "http2",
    ),
    Tool(
        "logreplay, HTTP/2 over TLS",
        ("", ""),
        sys.executable,
        _HTTP2_TLS,
        _HTTP2_TLS,
        "both the schedule and the send",
        _ROW,
        "200,000",
        "tls",
    ),
    _H2LOAD,
    replace(_H2LOAD, name="h2load, HTTP/2 over TLS", way="tls"),
    Tool(
        "oha, HTTP/2",
        ("Rust", "oha@1.16.0"),
        "oha",
        _oha2,
        _oha2,
        "the schedule, with --latency-correction",
        "in memory",
        way="http2",
    ),
    Tool(
        "vegeta, HTTP/2",
        ("Go", "github.com/tsenart/vegeta/v12@v12.12.0"),
        "vegeta",
        _vegeta2,
        _vegeta2,
        "the send",
        "a record in a binary file",
        way="http2",
    ),
    Tool(
        "vegeta, HTTP/2 over TLS",
        ("Go", "github.com/tsenart/vegeta/v12@v12.12.0"),
        "vegeta",
        _vegeta_tls,
        _vegeta_tls,
        "the send",
        "a record in a binary file",
        way="tls",
    ),
    Tool(
        "k6, HTTP/2 over TLS",
        ("Go", "go.k6.io/k6@v1.8.1"),
        "k6",
        _k6,
        _k6,
        "the send",
        "in memory; --out writes rows",
        way="tls",
    ),
    Tool(
        "wrk2",
        ("Git", "https://github.com/giltene/wrk2@44a94c17d8e6a0bac8559b53da76848e430cb7a7"),
        "wrk2",
        None,
        _wrk2,
        "the schedule",
        "nothing (a histogram)",
    ),
    Tool("hlg", ("", "not in the registries"), "hlg", None, None, "the schedule", "a row, one rate at a time"),
)

BY_NAME: Final[Mapping[str, Tool]] = {tool.name: tool for tool in TOOLS}
