"""The files of a release: one version, pinned actions, and an action whose step runs as a plain command."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import logreplay

ROOT = Path(__file__).parent.parent
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "docs" / "howto" / "load-test.yml"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
RELEASE = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", CHANGELOG, re.M)[0]
"""The newest version of the changelog, which the next tag is."""


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("CITATION.cff", r"^version: (.+)$"),
        ("Dockerfile", r"^ARG VERSION=(.+)$"),
        ("docs/container.md", r"--build-arg VERSION=(\S+)"),
        ("docs/container.md", r"args: \{VERSION: (\S+?)\}"),
        ("CONTRIBUTING.md", r"git tag v([\d.]+)`"),
    ],
)
def test_each_text_names_the_version_of_the_changelog(path: str, pattern: str) -> None:
    assert re.findall(pattern, (ROOT / path).read_text("utf-8"), re.M) == [RELEASE]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_action_is_pinned_by_its_hash(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.findall(r"uses: (?!\S+@[0-9a-f]{40} # v[\d.]+$).*", text, re.M) == []
    workflow = yaml.safe_load(text)
    assert workflow["jobs"]
    assert "permissions" in workflow


def test_both_scripts_start_the_same_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts["logreplay-toolkit"] == scripts["logreplay"]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["duet", "compare"])
def test_the_action_compares_two_versions_and_writes_its_summary(way: str, tmp_path: Path) -> None:
    bin_folder, log = tmp_path / "bin", ROOT / "sample_logs" / "nginx_request_time.log"
    bin_folder.mkdir()
    command = bin_folder / "logreplay"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m logreplay.cli.main "$@"\n')
    command.chmod(0o755)
    summary, output = tmp_path / "summary.md", tmp_path / "results"
    env = {
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
        **{"LOG": str(log), "WAY": way, "RATE": "100", "DURATION": "5s", "FAIL_ABOVE": "50%", "OUTPUT": str(output)},
    }
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert set(action["runs"]["steps"][1]["env"]) - {"ACTION", "BASELINE", "CANDIDATE"} <= set(env)
    with (
        logreplay.serve(log, workers=50, service_time="10ms") as baseline,
        logreplay.serve(log, workers=50, service_time="20ms") as candidate,
    ):
        env |= {"BASELINE": baseline.url, "CANDIDATE": candidate.url}
        done = subprocess.run(
            ["bash", str(ROOT / ".github" / "compare.sh")], env=env, capture_output=True, text=True, timeout=200
        )
    assert done.returncode in (3, 4), done.stderr  # 3: too short to judge on a busy machine
    table = summary.read_text("utf-8")
    assert table.startswith(f"### logreplay: {'failed' if done.returncode == 4 else 'not judged'}\n")
    assert len(table.splitlines()) > 4
    assert ElementTree.parse(output / "junit.xml").getroot().iter("testcase")
