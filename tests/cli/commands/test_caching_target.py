"""A cache in front of a target of known capacity: a sweep finds the capacity without the cache, by default."""

import json
import subprocess
from pathlib import Path

import pytest

from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from support.command_line import COMMAND
from support.real_servers import nginx_cache

URLS = 20_000
CARRIED = ServerCapacity(workers=4, service_s=0.05)


@pytest.mark.slow
def test_a_sweep_finds_what_is_behind_a_cache(tmp_path: Path) -> None:
    log, folder = tmp_path / "access.csv", tmp_path / "sweep"
    rows = (f"2026-01-01,00:00:00.{n:06},0.001,0,0,10,/item/{n},200,GET\n" for n in range(URLS))
    log.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(rows))
    (tmp_path / "nginx").mkdir()
    with spawned(log, CARRIED) as behind, nginx_cache(tmp_path / "nginx", behind) as front:
        command = [*COMMAND, "sweep", "40,60,70,90,100", str(log), front.url, "--for", "4s", "--no-plots"]
        done = subprocess.run([*command, "-o", str(folder)], capture_output=True, text=True, timeout=120)
    summary = json.loads((folder / "summary.json").read_text())
    if "generator-limited" in {step["verdict"] for step in summary["steps"]}:
        pytest.skip("other work took the processor")
    assert done.returncode == 0, done.stderr
    found = summary["saturation"]
    assert found["found"], found["why"]
    assert found["low"] <= CARRIED.rate <= found["high"]
    assert summary["urls"]["again"] == 0
