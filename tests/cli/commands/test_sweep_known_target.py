"""A real sweep of a target that carries more than is asked; the demo, in `test_end_to_end`, saturates one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from logreplay.cli.main import cli
from logreplay.inputs.logs import normalized
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned

TRIES = 3


@pytest.mark.slow
@pytest.mark.few
def test_a_target_with_room_to_spare_has_no_knee(tmp_path: Path) -> None:
    with normalized(None, lambda _: None) as log, spawned(log, ServerCapacity(workers=200, service_s=0.02)) as url:
        for number in range(TRIES):
            folder = tmp_path / str(number)
            command = [
                "sweep",
                "60,90,120,160,200",
                str(log),
                url,
                "--for",
                "2s",
                "-o",
                str(folder),
                "--no-plots",
                "-q",
            ]
            assert CliRunner().invoke(cli, command, standalone_mode=False).exception is None
            summary = json.loads((folder / "summary.json").read_text())
            if summary["generator_limit"] is None:
                break
        else:
            pytest.skip(f"this machine could not send on time in {TRIES} tries")
    assert not summary["saturation"]["found"]
    assert summary["saturation"]["why"].startswith("no saturation up to 200/s")
