"""A long run, watched from outside: do memory, descriptors and lag stay as they are at the beginning?

Usage, from the folder ``tests``: ``python -m benchmarks.soak [--rate 5000] [--for 1h] [--faults 0] [--sender wire]``.
The run is the command of every day against a target that fails on purpose (`faulty`); what it recorded is held against
what the target did. Exit code 1 if anything grew, or a count is not the target's.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import click
import polars as pl

from logreplay.cli.options.types import ParsedType
from logreplay.core.quantities import seconds_of
from logreplay.core.rows import scan

TIMEOUT_S: Final = 1
_SAMPLES: Final = 120
_WARM: Final = 0.1
"""Share of the run that is left out at its beginning: buffers are filled, connections opened."""


@dataclass(frozen=True)
class Watched:
    """What is asked of one figure.

    Attributes:
        name: with its unit.
        values: in the order of time.
        share, more: at its end it may be as much higher than at its beginning, by both together.
    """

    name: str
    values: Sequence[float]
    share: float
    more: float

    @property
    def ends(self) -> tuple[float, float]:
        """Medians of the first and the last third, without the warm-up."""
        values = self.values[int(_WARM * len(self.values)) :]
        third = max(1, len(values) // 3)
        return median(values[:third]), median(values[-third:])

    @property
    def flat(self) -> bool:
        """Whether it stayed as it was."""
        first, last = self.ends
        return last <= first * (1 + self.share) + self.more

    def __str__(self) -> str:
        first, last = self.ends
        word = "flat" if self.flat else "GROWS"
        return f"{self.name:18} {first:9.3f} at first, {last:9.3f} at last, {max(self.values):9.3f} at most: {word}"


@dataclass(frozen=True)
class Soak:
    """What came of it.

    Attributes:
        figures: memory, descriptors, lag.
        wrong: what should be equal and is not; empty if nothing.
        said: counts, for people.
    """

    figures: Sequence[Watched]
    wrong: Sequence[str]
    said: Sequence[str]

    @property
    def good(self) -> bool:
        """Whether all is as it should be."""
        return not self.wrong and all(figure.flat for figure in self.figures)


def soak(rate: float, seconds: float, faults: int, folder: Path, sender: str = "wire") -> Soak:
    """Run it.

    Args:
        rate: requests/s.
        seconds: how long.
        faults: three of so many requests are answered badly; 0: none.
        folder: for the log and the result log.
        sender: ``wire`` or ``aiohttp``.
    """
    log, output = folder / "log.csv", folder / "results.csv.zst"
    rows = (f"2026-01-01,00:00:00,0,0,0,24,/shop/item/{number}?q={number},200,GET\n" for number in range(100_000))
    log.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(rows))
    memory, descriptors = [], []
    with _target(faults) as (url, ended):
        command = [sys.executable, "-m", "logreplay.cli.main", "run", log, url, "--tps", rate, "--for", seconds]
        command += ["--timeout", TIMEOUT_S, "--workers", 1, "--sender", sender, "-o", output, "-q"]
        with subprocess.Popen([str(part) for part in command]) as process:
            while not output.exists() and process.poll() is None:
                time.sleep(0.02)
            while process.poll() is None:
                memory.append(resident(process.pid))
                descriptors.append(float(len(os.listdir(f"/proc/{process.pid}/fd"))))
                try:
                    process.wait(seconds / _SAMPLES)
                except subprocess.TimeoutExpired:
                    continue
        did = ended()
    lag = (
        scan(output)
        .group_by((pl.col("scheduled") / seconds * _SAMPLES).floor().alias("part"))
        .agg(pl.col("lag").quantile(share).alias(name) * 1000 for name, share in (("p50", 0.5), ("p99", 0.99)))
        .sort("part")
        .collect()
    )
    figures = [
        Watched("memory, MB", memory[:-1], 0.05, 8),
        Watched("descriptors", descriptors[:-1], 0.5, 64),
        Watched("lag p50, ms", lag["p50"].to_list(), 1, 0.1),
        Watched("lag p99, ms", lag["p99"].to_list(), 1, 5),
    ]
    summary = json.loads((folder / "results.summary.json").read_text())
    return Soak(figures, differences(summary, did, round(rate * seconds)), _said(summary, did))


def differences(summary: Mapping[str, Mapping[str, int]], did: Mapping[str, int], asked: int) -> list[str]:
    """Where what was recorded is not what the target did.

    Its own first answer is the preflight's. A request whose connection was reset is sent once more, so most resets
    are seen by the target alone.
    """
    requests, errors = summary["requests"], summary["errors"]
    pairs = [
        ("scheduled", requests["scheduled"], asked),
        ("sent and dropped", requests["sent"] + requests["dropped"], requests["scheduled"]),
        ("ended", requests["ok"] + requests["http_error"] + requests["net_error"], requests["sent"]),
        ("ok", requests["ok"] + 1, did["ok"]),
        ("timeout", errors.get("timeout", 0), did.get("stall", 0)),
        ("short_body", errors.get("short_body", 0), did.get("short", 0)),
    ]
    return [f"{name}: {own}, not {expected}" for name, own, expected in pairs if own != expected]


def _said(summary: Mapping[str, object], did: Mapping[str, int]) -> list[str]:
    return [
        f"verdict {summary['verdict']}; recorded {summary['requests']}",
        f"errors {summary['errors']}; the target did {dict(did)}",
    ]


@contextmanager
def _target(faults: int) -> Iterator[tuple[str, "Ended"]]:
    command: list[str | Path] = [sys.executable, Path(__file__).with_name("faulty.py"), str(faults)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), Ended(process)
        finally:
            process.kill()


@dataclass(frozen=True)
class Ended:
    """Ends the target; says what it did."""

    process: "subprocess.Popen[str]"

    def __call__(self) -> dict[str, int]:
        counts: dict[str, int] = json.loads(self.process.communicate()[0])
        return counts


def resident(pid: int) -> float:
    """Megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@click.command(help=__doc__)
@click.option("--rate", default=5000.0, show_default=True)
@click.option("--for", "seconds", default="1h", show_default=True, type=ParsedType(seconds_of))
@click.option("--faults", default=0, show_default=True, help="Three of so many requests are answered badly; 0: none.")
@click.option("--sender", type=click.Choice(["wire", "aiohttp"]), default="wire", show_default=True)
def main(rate: float, seconds: float, faults: int, sender: str) -> None:
    with TemporaryDirectory(prefix="soak-") as name:
        done = soak(rate, seconds, faults, Path(name), sender)
    load = os.getloadavg()[2]
    print(f"{sender}: {rate:g}/s for {seconds:g} s, faults {faults}; load of the machine at the end {load:.1f}")
    print("\n".join([*map(str, done.figures), *done.said, *done.wrong]))
    sys.exit(not done.good)


if __name__ == "__main__":
    main()
