"""A real sweep of a real target of known capacity: saturation where it is, and none where there is none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from logreplay.cli.main import cli
from logreplay.inputs.logs import normalized
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned

pytestmark = pytest.mark.alone

TRIES = 3


@pytest.fixture(scope="module")
def log() -> Iterator[Path]:
    with normalized(None, lambda _: None) as path:
        yield path


def sweep(log: Path, capacity: ServerCapacity, folder: Path, rates: str, step: str) -> dict[str, Any]:
    """Sweep a target, again if this machine was too busy to be believed."""
    for number in range(TRIES):
        with spawned(log, capacity) as url:
            where = ("-o", str(folder / str(number)))
            command = ["sweep", rates, str(log), url, "--for", step, *where, "--no-plots", "-q"]
            assert CliRunner().invoke(cli, command, standalone_mode=False).exception is None
        summary: dict[str, Any] = json.loads((folder / str(number) / "summary.json").read_text())
        if summary["generator_limit"] is None:
            return summary
    pytest.skip(f"this machine could not send on time in {TRIES} tries")


def test_saturation_is_found_within_5_percent_of_the_capacity(log: Path, tmp_path: Path) -> None:
    capacity = ServerCapacity(workers=4, service_s=0.02)
    found = sweep(log, capacity, tmp_path, "80,120,160,240,300", "4s")["saturation"]
    assert found["found"], found["why"]
    assert found["rate"] == pytest.approx(capacity.rate, rel=0.05)
    assert found["low"] <= capacity.rate <= found["high"]


def test_a_target_with_room_to_spare_has_no_knee(log: Path, tmp_path: Path) -> None:
    summary = sweep(log, ServerCapacity(workers=200, service_s=0.02), tmp_path, "60,90,120,160,200", "2s")
    assert not summary["saturation"]["found"]
    assert summary["saturation"]["why"].startswith("no saturation up to 200/s")
