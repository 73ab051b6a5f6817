"""The page *Find out why it bends*: its servers, commands and causes, with steps of four seconds.

The page's sweeps are shortened: a low rate, and one far above what the server carries, so that the cause shows on
a busy machine too.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from conftest import NGINX, free_port
from support.postgres import postgres

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "howto" / "why-it-bends.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.DOTALL)
SHORTER = {
    "40..120:10": ("30,130", "4s"),
    "80..200:20": ("80,90", "500ms"),
    "40..160:20": ("40,180", "4s"),
}
"""Rates and time of a step in the test, by the rates on the page."""
TEMPORARY = " ".join(f"{kind}_temp_path {kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("gunicorn") or not find_spec("psycopg_pool"), reason="group real-case is missing"),
    pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="pid: needs /proc"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page, and programs of this environment."""
    shutil.copy(ROOT / "sample_logs" / "nginx_request_time.log", tmp_path / "access.log")
    python = [text for kind, text in BLOCKS if kind == "python"]
    for name, text in zip(("app.py", "shop.py"), python, strict=True):
        (tmp_path / name).write_text(text.replace("8081", METRICS))
    (tmp_path / "nginx.conf").write_text(
        next(text for kind, text in BLOCKS if kind == "nginx").replace(
            "access_log off;", f"access_log off; {TEMPORARY}"
        )
    )
    for name, module in (("gunicorn", "gunicorn"), ("logreplay", "logreplay.cli.main")):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        program.chmod(0o755)
    if NGINX:
        (tmp_path / "bin" / "nginx").symlink_to(NGINX)
    return tmp_path


METRICS = str(free_port())


def commands(start: str) -> str:
    """The block of commands that begins so, shortened."""
    text: str = next(text for kind, text in BLOCKS if kind == "sh" and text.startswith(start))
    for long, (rates, seconds) in SHORTER.items():
        text = text.replace(f"sweep {long}", f"sweep {rates} --no-plots -q").replace(
            "--for 10s", f"--for {seconds}" if rates in text else "--for 10s"
        )
    return text.replace("8081", METRICS)


def swept(folder: Path, text: str, **environment: str) -> Mapping[str, Any]:
    """Run commands; the summary of their sweep."""
    port = str(free_port())
    for path in folder.glob("*.conf"):
        path.write_text(path.read_text().replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    env = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", **environment}
    shell = ["bash", "-uo", "pipefail", "-c", f"trap 'kill $(jobs -p) 2>/dev/null' EXIT\n{text.replace('8080', port)}"]
    done = subprocess.run(shell, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    named = re.search(r"-o (\S+)", text)
    assert named
    summary = folder / named[1] / "summary.json"
    assert summary.exists(), f"{done.stdout}\n{done.stderr}"
    found: Mapping[str, Any] = json.loads(summary.read_bytes())
    return found


def kinds(summary: Mapping[str, Any]) -> dict[str, str]:
    if summary["verdict"] == "GENERATOR_BOUND":
        pytest.skip(f"this machine is too busy to measure anything: {summary['findings']}")
    return {each["name"]: each["kind"] for each in summary["limit"]["watched"]}


def test_two_workers_that_wait_reach_no_maximum_of_processors_or_files(folder: Path) -> None:
    found = kinds(swept(folder, commands("gunicorn app:app --workers 2")))
    assert set(found.values()) <= {"ruled_out"}
    after = swept(folder, commands("gunicorn app:app --workers 4"))
    assert after["requests"]["ok"] > 50


def test_a_pool_of_three_is_the_ceiling_of_a_flask_application_with_a_real_database(folder: Path) -> None:
    with ExitStack() as stack:
        database = stack.enter_context(postgres())
        found = kinds(swept(folder, commands("export POOL=3"), DATABASE=database))
    assert [name for name, kind in found.items() if kind == "ceiling"] == ["pool"]
    assert found["postgres_connections"] == "ruled_out"


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_limiter_of_nginx_refuses_and_reaches_no_maximum(folder: Path) -> None:
    found = swept(folder, commands("nginx"))
    assert set(kinds(found).values()) <= {"ruled_out"}
    assert [step["verdict"] for step in found["steps"]] == ["stable", "errors"]
