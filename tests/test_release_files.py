"""The files of a release: one version, pinned actions, and an action whose step runs as a plain command."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any
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
        ("docs/kubernetes/plain.yaml", r"image: \S+/logreplay:(.+)$"),
        ("docs/kubernetes/daskjob.yaml", r"image: \S+/logreplay:(.+)$"),
        ("CONTRIBUTING.md", r"git tag v([\d.]+)`"),
    ],
)
def test_each_text_names_the_version_of_the_changelog(path: str, pattern: str) -> None:
    assert {*re.findall(pattern, (ROOT / path).read_text("utf-8"), re.M)} == {RELEASE}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_action_is_pinned_by_its_hash(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.findall(r"uses: (?!\./|\S+@[0-9a-f]{40} # v[\d.]+$).*", text, re.M) == []
    workflow = yaml.safe_load(text)
    assert workflow["jobs"]
    assert "permissions" in workflow


def test_a_release_reaches_the_index_after_its_tests_on_each_python_and_after_its_image() -> None:
    """A version on the index cannot be taken back."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))["jobs"]
    assert {*jobs["index"]["needs"]} == {"build", "tests", "image"}
    assert {*jobs["image"]["needs"]} == {"build", "tests"}
    called = yaml.safe_load((ROOT / jobs["tests"]["uses"]).read_text("utf-8"))["jobs"]["linux"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert called["strategy"]["matrix"]["python"] == known
    assert called["steps"][-1]["run"] in (ROOT / "README.md").read_text("utf-8").splitlines()


def shell_steps(node: Any) -> Iterator[str]:
    """Yield the scripts of a workflow or an action."""
    if isinstance(node, dict):
        yield from [node["run"]] if isinstance(node.get("run"), str) else []
        node = [*node.values()]
    if isinstance(node, list):
        for value in node:
            yield from shell_steps(value)


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_no_script_of_a_workflow_contains_a_value_from_outside(path: Path) -> None:
    """It would run what the value contains; a variable does not."""
    scripts = [*shell_steps(yaml.safe_load(path.read_text("utf-8")))]
    assert scripts
    assert [script for script in scripts if "${{" in script] == []


def test_the_page_on_the_index_has_links_to_the_tag_and_addresses_of_the_project(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {}
    fake = SimpleNamespace(setup=given.update, find_packages=lambda **_: [])
    monkeypatch.setitem(sys.modules, "setuptools", fake)
    for name, value in {"SERVER_URL": "https://forge.example", "REPOSITORY": "o/l", "REF_NAME": "v1.0.0"}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    links = re.findall(r"\]\(([^)]+)\)", given["long_description"])
    paths = [link.partition("/v1.0.0/")[2].partition("#")[0] for link in links if "forge.example" in link]
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [link for link in links if not link.startswith(("https:", "#"))] == []
    assert "(https://forge.example/o/l/raw/v1.0.0/docs/pictures/" in given["long_description"]
    assert given["project_urls"]["Issues"] == "https://forge.example/o/l/issues"


def test_the_wheel_holds_each_file_of_the_packages_and_nothing_else() -> None:
    found = {Path(file) for file in metadata.files("logreplay-toolkit") or ()}
    if Path("logreplay/__init__.py") not in found:
        pytest.skip("logreplay is not installed from a wheel")
    folders = {folder: Path("logreplay", folder) for folder in ("core", "parsers", "replay", "analysis", "cli")}
    folders |= {"sample_logs": Path("logreplay/sample_logs"), "api": Path("logreplay")}
    expected = {
        there / path.relative_to(ROOT / here)
        for here, there in folders.items()
        for path in (ROOT / here).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    code = {path for path in found if path.parts[0] == "logreplay" and "__pycache__" not in path.parts}
    assert code == expected
    others = {path.parts[0] for path in found if path.parts[0] not in ("logreplay", "..")}
    assert {re.sub("-.*[.]", ".", name) for name in others} == {"logreplay_toolkit.dist-info"}


def test_both_scripts_start_the_same_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts["logreplay-toolkit"] == scripts["logreplay"]


def run_the_action(folder: Path, **inputs: str) -> tuple["subprocess.CompletedProcess[str]", str]:
    """Run the script of the action in a folder; return how it ended and its summary."""
    bin_folder = folder.parent / f"{folder.name}-bin"
    bin_folder.mkdir()
    folder.mkdir(exist_ok=True)
    command = bin_folder / "logreplay"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m logreplay.cli.main "$@"\n')
    command.chmod(0o755)
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert {*action["runs"]["steps"][1]["env"]} - {"ACTION"} == {*inputs}
    summary = bin_folder / "summary.md"
    env = os.environ | inputs | {"GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(
        ["bash", str(ROOT / ".github" / "compare.sh")],
        env=env | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done, summary.read_text("utf-8")


LOG = str(ROOT / "sample_logs" / "nginx_request_time.log")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["duet", "compare"])
def test_the_action_compares_two_versions_and_writes_its_summary(way: str, tmp_path: Path) -> None:
    output = tmp_path / "results of 'a \"test\"'"
    with (
        logreplay.serve(LOG, workers=50, service_time="10ms") as baseline,
        logreplay.serve(LOG, workers=50, service_time="20ms") as candidate,
    ):
        urls = {"BASELINE": baseline.url, "CANDIDATE": candidate.url}
        inputs = {"LOG": LOG, "WAY": way, "RATE": "100", "DURATION": "5s", "FAIL_ABOVE": "50%", "OUTPUT": str(output)}
        done, table = run_the_action(tmp_path / "folder", **urls, **inputs)
    assert done.returncode in (3, 4), done.stderr  # 3: too short to judge on a busy machine
    assert table.startswith(f"### logreplay: {'failed' if done.returncode == 4 else 'not judged'}\n")
    assert len(table.splitlines()) > 4
    assert len([*ElementTree.parse(output / "junit.xml").iter("testcase")]) == len(table.splitlines()) - 4


@pytest.mark.parametrize("way", ["duet", "compare"])
def test_the_action_says_why_there_is_no_comparison(way: str, tmp_path: Path) -> None:
    inputs = {
        "LOG": "no|such <b>.log",
        "WAY": way,
        "RATE": "100",
        "DURATION": "5s",
        "FAIL_ABOVE": "50%",
        "OUTPUT": "out",
    }
    urls = {"BASELINE": "http://127.0.0.1:1", "CANDIDATE": "http://127.0.0.1:1"}
    done, table = run_the_action(tmp_path / "folder", **urls, **inputs)
    assert done.returncode == 1
    title, _, *rows = table.splitlines()
    assert title == "### logreplay: error, see the log of the step"
    assert [row.count("|") for row in rows] == [4, 4, 4]
    assert "no&#124;such &lt;b&gt;.log: no such file" in rows[-1]


@pytest.mark.parametrize("way", ["duet", "compare", "$(touch pwned)"])
def test_the_action_runs_nothing_that_its_inputs_contain(way: str, tmp_path: Path) -> None:
    hostile = {name: f"\"'`touch pwned`\n$(touch pwned); touch pwned #{name}" for name in
               ("LOG", "BASELINE", "CANDIDATE", "RATE", "DURATION", "FAIL_ABOVE", "OUTPUT")}  # fmt: skip
    done, table = run_the_action(tmp_path / "folder", **hostile, WAY=way)
    assert done.returncode == 2
    assert table.startswith("### logreplay: error")
    assert [*tmp_path.rglob("pwned")] == []
