"""docs/reference/files.md names every key and column of real results, and no other."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.summary import OF_ONE_RATE
from logreplay.cli.main import run as logreplay
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
LOG = ROOT / "sample_logs" / "nginx_request_time.log"
BY_DATA = {
    "errors",
    "status",
    "unexpected_status",
    "options",
    "left_out",
    "what",
    "served_within",
    "seen",
    "left_out_routes",
}
"""Objects whose keys come from the data."""
ELSEWHERE = {"body", "request_bytes", "scheme", "headers", "body_ref"}
"""Columns of other logs."""


def section(heading: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]


def words(text: str) -> set[str]:
    """The words in backticks."""
    return {word for quoted in re.findall(r"`([^`]+)`", text) for word in quoted.split(",")}


def first_cells(text: str) -> set[str]:
    """The words in backticks in the first cells of tables."""
    return words("\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `")))


def keys(value: Any) -> Iterator[str]:
    """All keys of an object, of those in it too."""
    if isinstance(value, list):
        for part in value:
            yield from keys(part)
    if isinstance(value, dict):
        for key, part in value.items():
            yield column(key)
            if not (key in BY_DATA and isinstance(part, dict)):
                yield from keys(part)


def column(name: str) -> str:
    """The name of a column as the page writes it."""
    return re.sub("^watch_.*", "watch_NAME", name)


def columns(path: Path) -> set[str]:
    with path.open(newline="") as lines:
        return {column(name) for name in next(csv.reader(lines))}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, a sweep, a sweep over users and a search."""
    folder = tmp_path_factory.mktemp("results")
    log, brief = str(folder / "log.csv"), ["--for", "400ms", "--no-plots"]
    assert logreplay(["convert", str(LOG), "-o", log, "-q"]) == 0
    with spawned(Path(log), ServerCapacity(workers=100, service_s=0.002)) as target:
        url = [log, target]
        for arguments in (
            ["run", *url, "--tps", "50", "--for", "600ms", "--watch", "one=!echo 1", "-o", str(folder / "run.csv")],
            ["sweep", "50,100", *url, *brief, "--warmup", "100ms", "-o", str(folder / "sweep")],
            ["sweep", "50", *url, *brief, "--routes", "--watch", "cpu=!echo 1", "-o", str(folder / "costs")],
            ["sweep", *url, "--vusers", "1,2", *brief, "-o", str(folder / "users")],
            ["find", *url, "--p90", "300ms", "--trial", "1s", "--trials", "1", "--start", "50", "--max-tps", "60",
             "--no-plots", "-o", str(folder / "find")],
        ):  # fmt: skip
            assert logreplay([*arguments, "-q"]) in (0, 3), arguments
    return folder


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("The normalized CSV", ["log.csv"]),
        ("The result log", ["run.csv", "sweep/results.csv", "sweep/warmup.csv"]),
        ("seconds.csv", ["sweep/seconds.csv", "find/seconds.csv"]),
        ("steps.csv", ["sweep/steps.csv", "users/steps.csv"]),
        ("routes.csv", ["sweep/routes.csv"]),
        ("users.csv", ["users/users.csv"]),
        ("costs.csv", ["costs/costs.csv"]),
    ],
)
def test_the_page_names_the_columns_of_a_table(results: Path, heading: str, names: list[str]) -> None:
    found = set().union(*(columns(results / name) for name in names))
    named = words(section(heading)) | (words(section("The normalized CSV")) if "result log" in heading else set())
    assert found - named == set()
    assert {name for name in first_cells(section(heading)) if re.fullmatch("[a-z_0-9]+", name)} - found <= ELSEWHERE | {
        "timeout", "connect_timeout", "refused", "reset", "closed", "tls", "protocol", "short_body", "dropped",
        "cancelled",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        (
            "summary.json",
            [f"{name}summary.json" for name in ("run.", "sweep/", "users/", "find/", "costs/")],
        ),
        ("manifest.json", ["sweep/manifest.json"]),
    ],
)
def test_the_page_names_the_keys_of_a_file(results: Path, heading: str, names: list[str]) -> None:
    found = {key for name in names for key in keys(json.loads((results / name).read_bytes()))}
    assert found - words(section(heading)) - words(section("steps.csv")) - words(section("costs.csv")) == set()
    others = {"sessions", "unfinished", "addresses", "control", "slowest_sampled", "left_out_routes", "costs", "limit"}
    assert first_cells(section(heading)) - found <= others, "only runs with such options, or under way, have that"


def test_the_page_says_which_keys_a_sweep_lacks(results: Path) -> None:
    run, sweep = (json.loads((results / name).read_bytes()) for name in ("run.summary.json", "sweep/summary.json"))
    assert set(run) - set(sweep) - {"received_bytes", "replay", "retried", "stopped", "unexpected_status"} == set(
        OF_ONE_RATE
    )
    assert set(OF_ONE_RATE) <= set(sweep["by_step"][0])
