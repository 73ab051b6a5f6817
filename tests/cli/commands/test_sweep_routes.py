"""``sweep --routes``: what a request of each route costs, against a server that burns known processor time."""

import json
import random
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

import logreplay as api
from logreplay.cli.main import run as logreplay
from support import burning_server

COSTS = {"/search": 0.002, "/item/{}": 0.005, "/checkout": 0.02}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path, chance = tmp_path / "urls.txt", random.Random(1)
    drawn = chance.choices(("/search", "/item/17", "/checkout"), (6, 3, 1), k=5000)
    path.write_text("".join(f"{url}\n" for url in drawn))
    return path


@pytest.mark.slow
def test_the_costs_of_three_routes_are_known_and_can_be_read_again(
    log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Processor seconds are the same on a busy machine; responses are not, so the run may be no measurement."""
    words = [
        sys.executable,
        burning_server.__file__,
        "0",
        *(f"/{path.split('/')[1]}={cost}" for path, cost in COSTS.items()),
    ]
    folder = tmp_path / "out"
    with Popen(words, stdout=PIPE, text=True) as server:
        try:
            assert server.stdout
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            used = f"pid:{server.pid}"
            sweep = ["sweep", "40", str(log), url, "--routes", "--for", "8s", "--watch", used, "-o", str(folder)]
            assert logreplay(sweep) in (0, 3)
        finally:
            server.kill()
    out, err = capfd.readouterr()
    assert "each twice with all routes, and once without each of /search, /item/{}, /checkout" in err
    assert "/s without /checkout: " in err
    summary = json.loads((folder / "summary.json").read_bytes())
    costs = {row["route"]: row for row in summary["costs"]["routes"]}
    for route, cost in COSTS.items():
        assert route in out
        row = costs[route]
        near = row["seconds"] == pytest.approx(cost, rel=0.35)  # within 20 % on a quiet machine, in two minutes
        assert near or row["low"] <= cost <= row["high"], row  # on a busy one its range holds it
    assert summary["answer"] == summary["costs"]["sentence"]
    assert [step["verdict"] for step in summary["steps"]].count("other-mix") == 3
    assert "Cost of each route" in (folder / "report.html").read_text()
    again = api.analyze(folder)
    assert again.summary["costs"] == summary["costs"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--routes needs --watch pid:PID"),
        (
            ("--watch", "a=!echo 1", "--watch", "b=!echo 1"),
            "in cores and not in percent; --watch names a, b: name one of them cpu",
        ),
        (("--watch", "cpu=!echo 1", "--refine"), "--routes and --refine exclude each other"),
        (("--watch", "cpu=!echo 1", "--arrivals", "log"), "--routes and --arrivals log exclude each other"),
        (("--watch", "cpu=!echo 1", "--inject", "a.csv:5%"), "--routes and --inject exclude each other"),
        (("--watch", "cpu=!echo 1", "--hook", "a:b"), "--routes and --hook exclude each other"),
    ],
)
def test_options_that_do_not_go_with_it_are_refused_by_name(
    log: Path, words: tuple[str, ...], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert logreplay(["sweep", "40", str(log), "http://127.0.0.1:9", "--routes", *words]) == 2
    assert told in capfd.readouterr().err
