"""Writes the table and the plot of docs/peers.md from the measured figures."""

import csv
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from benchmarks.peers.measuring import NGINX
from benchmarks.peers.tools import TOOLS, Tool

_OURS: Final = "tab:blue"
_THEIRS: Final = "tab:gray"
_HEAD: Final = """# Speed of other load generators

![Rate, processor time and exactness of arrivals of each tool](peers.png)

{table}

[All figures](data/peers.csv): also memory, the CPU of the open loop, the longest gap, and what each tool keeps of a
request.
{missing}

**Conditions.** {conditions} nginx answers 24 bytes and has one core, the client the other. {turns} All figures come
from nginx and the kernel, none from a tool's own report. A tool holds a rate in an open
loop if it sends 98 % of it with at most 64 requests in flight (k6: 1,000 users). The other tools request one URL;
logreplay replays 200,000 distinct URLs and writes its result log. HTTP/2 is in cleartext unless the row says TLS.

**How to read the table.** Only the open loop shows how a target responds to a given rate. "Off schedule" is the
distance of a request from its place in an even schedule of 1,000/s. Tools with random start times are off it by
design. hey and Locust have no open loop.

`tox -e peers` measures, and writes this page.
"""
_COLUMNS: Final = (
    ("closed loop, 64 connections: requests/s", "closed", "rate", "{:,.0f}"),
    ("closed loop: CPU per request, µs", "closed", "cpu_us", "{:.1f}"),
    ("open loop: highest rate held, requests/s", "held", "rate", "{:,.0f}"),
    ("open loop: CPU per request, µs", "held", "cpu_us", "{:.1f}"),
    ("peak memory, MB", "", "memory_mb", "{:.0f}"),
    ("sent of 1,000/s", "even", "achieved", "{:.1%}"),
    ("off schedule p50, ms", "even", "off_p50", "{:.1f}"),
    ("off schedule p99, ms", "even", "off_p99", "{:.1f}"),
    ("longest gap, ms", "even", "gap", "{:.0f}"),
)
_ON_PAGE: Final = (0, 1, 2, 7)
"""Columns of the page; the CSV has all."""
_MS: Final = frozenset({"off_p50", "off_p99", "gap"})

Measured = Sequence[Mapping[str, Any]]


def write(docs: Path, measured: Measured, missing: Mapping[str, str], *, first: bool) -> None:
    """Write ``peers.md`` and ``peers.png``; ``first``: the tools went before other programs."""
    turns = max(
        sum(row["kind"] == kind and row["tool"] == "logreplay" for row in measured)
        for kind in ("closed", "held", "even")
    )
    page = _HEAD.format(
        table=table(measured),
        missing=_missing(measured, missing),
        conditions=_conditions() + (" The tools and nginx had priority over other programs." if first else ""),
        turns="Figures are of one turn." if turns == 1 else f"Figures are medians of {turns} turns, one of each tool.",
    )
    (docs / "peers.md").write_text(page)
    with (docs / "data" / "peers.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows(measured))
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure, measured)
    figure.savefig(docs / "peers.png", dpi=110)


def figure_of(measured: Measured, tool: str, kind: str, name: str) -> float | None:
    """The median of a tool's figure, None if there is none; if no kind is named, the highest of all kinds."""
    if not kind:
        found = [figure_of(measured, tool, one, name) for one in ("closed", "held")]
        return max((one for one in found if one is not None), default=None)
    values = [row[name] for row in measured if row["tool"] == tool and row["kind"] == kind and name in row]
    return median(values) * (1000 if name in _MS else 1) if values else None


def rows(measured: Measured) -> list[list[str]]:
    """A head and a row for each tool, with all figures."""
    heads = ["tool", *(head for head, *_ in _COLUMNS), "response time counts from", "kept of each request"]
    return [heads] + [
        [_name(tool), *(_cell(measured, tool, *column[1:]) for column in _COLUMNS), tool.clock, tool.keeps]
        for tool in TOOLS
    ]


def table(measured: Measured) -> str:
    """Markdown, a row for each tool."""
    head, *others = [[row[0], *(row[1 + place] for place in _ON_PAGE), row[-2]] for row in rows(measured)]
    lines = [["", *head[1:]], ["---", *("---:" for _ in _ON_PAGE), "---"], *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _name(tool: Tool) -> str:
    """In bold if it is ours, else with its version; of a commit seven digits."""
    name, *way = tool.name.split(", ")
    kind, source = tool.source
    if "@" in source:
        version = source.rpartition("@")[2]
        name += f" {version[:7] if kind == 'Git' else version}"
    text = ", ".join([name, *way])
    return f"**{text}**" if name == "logreplay" else text


def _cell(measured: Measured, tool: Tool, kind: str, name: str, form: str) -> str:
    value = figure_of(measured, tool.name, kind, name)
    return form.format(value) if value is not None else "–"


def _missing(measured: Measured, missing: Mapping[str, str]) -> str:
    """What is not in the table, and why."""
    texts = [f"{name}: {why}" for name, why in missing.items()]
    done = {(row["tool"], row["kind"]) for row in measured if "error" not in row}
    tried = {(row["tool"], row["kind"]): row["error"] for row in measured if "error" in row}
    failed = {what: error for what, error in tried.items() if what not in done}
    texts += [f"{tool} ({kind}): {' '.join(error.split())[:60]}" for (tool, kind), error in failed.items()]
    return f"Not measured: {'; '.join(texts)}." if texts else ""


def processor() -> str:
    """The model of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2].strip() for line in lines if "model name" in line), platform.machine())


def _conditions() -> str:
    cores, linux = len(os.sched_getaffinity(0)), platform.release().partition("-")[0]
    nginx = subprocess.run([NGINX, "-v"], capture_output=True, text=True).stderr.strip().rpartition("/")[2]
    return (
        f"{cores} cores ({processor()}), Linux {linux}, "
        f"Python {platform.python_version()}, uvloop {version('uvloop')}, nginx {nginx}."
    )


def draw(figure: Figure, measured: Measured) -> None:
    """Three panels of bars: rates, processor time, exactness."""
    names = [tool.name for tool in TOOLS if any(row["tool"] == tool.name and "error" not in row for row in measured)]
    names.sort(key=lambda name: figure_of(measured, name, "held", "rate") or 0)
    rates, cpu, off = figure.subplots(1, 3, sharey=True)
    places = range(len(names))
    colours = [_OURS if name.startswith("logreplay") else _THEIRS for name in names]
    _bars(rates, names, measured, "closed", "rate", 0.2, ["none"] * len(names), colours, "closed loop, 64 connections")
    _bars(rates, names, measured, "held", "rate", -0.2, colours, colours, "open loop, highest rate held")
    rates.set_yticks(list(places), names)
    rates.set_xlabel("requests/s")
    rates.xaxis.set_major_locator(MaxNLocator(4))
    rates.legend(fontsize=7, loc="center right")
    for axes, kind, name, label in (
        (cpu, "", "cpu_us", "CPU per request, µs"),
        (off, "even", "off_p99", "p99 off an even schedule of 1,000/s, ms"),
    ):
        _bars(axes, names, measured, kind, name, 0, colours, colours, None)
        if any(figure_of(measured, tool, kind, name) for tool in names):
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_xlim(left=1)
        axes.set_xlabel(label)
    for axes in (rates, cpu, off):
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)


def _bars(
    axes: Axes,
    names: list[str],
    measured: Measured,
    kind: str,
    name: str,
    shift: float,
    faces: list[str],
    edges: list[str],
    label: str | None,
) -> None:
    values = [figure_of(measured, tool, kind, name) or 0 for tool in names]
    height = 0.4 if shift else 0.6
    axes.barh([at + shift for at in range(len(names))], values, height, color=faces, edgecolor=edges, label=label)
