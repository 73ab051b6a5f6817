"""What a release publishes, in empty environments; `tox -e release` runs it, with a package index, in some minutes.

It publishes nothing. The commands are those of the files: pyproject.toml, Dockerfile, action.yml, the workflows.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import logreplay
from release.container import Image
from support.command_line import children

ROOT = Path(__file__).parents[2]
TAG = "v9.8.7"
VERSION = TAG[1:]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
JOBS = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
EXTRAS = {
    "aws": "botocore", "cluster": "distributed, cryptography, psutil", "gs": "gcsfs", "nginx": "crossplane",
    "notebook": "jupyterlab, nbclient", "pandas": "pandas", "plots": "matplotlib", "s3": "s3fs, pyarrow",
    "warc": "warcio",
}  # fmt: skip
"""What each extra brings."""
MISSION = """
logreplay --version | grep -Fx "logreplay, version $VERSION"
logreplay-toolkit --version | grep -Fx "logreplay, version $VERSION"
python -c 'import logreplay; logreplay.run'
logreplay convert access.log
logreplay inspect access.log
logreplay run access.csv "$TARGET" --tps 50 --for 5s -o a.csv || [ $? = 3 ]
logreplay run access.csv "$TARGET" --tps 50 --for 5s -o b.csv || [ $? = 3 ]
logreplay compare a.csv b.csv || [ $? = 3 ]
logreplay duet access.csv "$TARGET" "$TARGET" --tps 50 --for 5s -o duet || [ $? = 3 ]
logreplay analyze a.csv || [ $? = 3 ]
logreplay find access.csv "$TARGET" --p99 300ms --start 50 --budget 30s -o limit || [ $? = 3 ]
logreplay plan access.log --from limit --growth 30% || [ $? = 3 ]
logreplay demo
test -s demo-*/report.html
"""
"""Each command once; 3: a short run on a busy machine may not be judged."""


def run(*words: str | Path, cwd: Path, **env: str) -> str:
    done = subprocess.run(words, cwd=cwd, env=os.environ | env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commit of this tree, as a release finds it: with a tag, and a Python that has what the workflow installs."""
    folder = tmp_path_factory.mktemp("clone") / "logreplay"
    run("git", "clone", "-q", ROOT, folder, cwd=ROOT)
    run("git", "tag", TAG, cwd=folder)
    return folder


@pytest.fixture(scope="session")
def built(clone: Path) -> Path:
    """The wheel, made by the steps of the workflow."""
    run(sys.executable, "-m", "venv", "tools", cwd=clone.parent)
    env = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "o/logreplay", "GITHUB_REF_NAME": TAG}
    for step in JOBS["build"]["steps"]:
        if "run" in step:
            path = f"{clone.parent / 'tools/bin'}{os.pathsep}{os.environ['PATH']}"
            run("bash", "-e", "-c", step["run"], cwd=clone, PATH=path, **env, **step.get("env", {}))
    (wheel,) = (clone / "dist").glob("*.whl")
    assert wheel.name == f"logreplay_toolkit-{VERSION}-py3-none-any.whl"
    return wheel


def environment(folder: Path, *install: str | Path, resolution: str = "highest") -> Path:
    """Make an empty environment with some requirements; return its folder of programs."""
    run("uv", "venv", "-q", "-p", sys.executable, folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    run("uv", "pip", "install", "-q", "--python", python, "--resolution", resolution, *install, cwd=folder)
    run("uv", "pip", "check", "--python", python, cwd=folder)
    return python.parent


def try_mission(programs: Path, folder: Path) -> None:
    """Run each command in an empty folder, with a home that cannot be written."""
    log = ROOT / "sample_logs" / "nginx_request_time.log"
    shutil.copy(log, folder / "access.log")
    with logreplay.serve(log, workers=20) as target:
        env = {"HOME": "/proc", "PATH": f"{programs}:/usr/bin:/bin", "VERSION": VERSION, "TARGET": target.url}
        done = subprocess.run(
            ["bash", "-exc", MISSION], cwd=folder, env=env, capture_output=True, text=True, timeout=300
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    assert "atplotlib" not in done.stderr


def test_wheel_and_sdist_hold_what_belongs_in_them(built: Path) -> None:
    wheel = zipfile.ZipFile(built).namelist()
    assert {name.split("/")[0] for name in wheel} == {"logreplay", f"logreplay_toolkit-{VERSION}.dist-info"}
    assert [name for name in wheel if re.search(r"(^|/)(tests?|notebooks|tools)/|[.]ipynb$", name)] == []
    assert sum("/licenses/" in name for name in wheel) == len(PROJECT["license-files"])
    (sdist,) = built.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"tests/conftest.py", "docs/index.md", "CHANGELOG.md", "LICENSE", "Dockerfile", "action.yml"} <= names


def test_the_wheel_does_everything_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    try_mission(environment(tmp_path, built), tmp_path)


def test_so_it_does_with_the_lowest_versions(built: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path, "-r", ROOT / "pyproject.toml", resolution="lowest-direct")
    run("uv", "pip", "install", "-q", "--python", programs / "python", "--no-deps", built, cwd=tmp_path)
    try_mission(programs, tmp_path)


@pytest.mark.parametrize("resolution", ["highest", "lowest-direct"])
@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_each_extra_installs_alone(extra: str, resolution: str, built: Path, tmp_path: Path) -> None:
    wanted = ("-r", ROOT / "pyproject.toml", "--extra", extra)
    programs = environment(tmp_path, *wanted, resolution=resolution)
    run("uv", "pip", "install", "-q", "--python", programs / "python", "--no-deps", built, cwd=tmp_path)
    run(programs / "python", "-c", f"import logreplay.cli.main, {EXTRAS[extra]}", cwd=tmp_path)


def test_a_clone_without_git_has_the_version_of_its_tag(clone: Path, tmp_path: Path) -> None:
    """As the checkout of an action: the archive of a tag."""
    run("sh", "-c", f"git archive {TAG} | tar x -C {tmp_path}", cwd=clone)
    steps = yaml.safe_load((tmp_path / "action.yml").read_text("utf-8"))["runs"]["steps"]
    run("bash", "-e", "-c", steps[0]["run"], cwd=tmp_path, ACTION=str(tmp_path), RUNNER_TEMP=str(tmp_path / "temp"))
    said = run(tmp_path / "temp/logreplay/bin/logreplay", "--version", cwd=tmp_path / "temp")
    assert said == f"logreplay, version {VERSION}\n"
    log = ROOT / "sample_logs" / "nginx_request_time.log"
    with logreplay.serve(log, workers=50) as a, logreplay.serve(log, workers=50) as b:
        inputs = {"LOG": str(log), "BASELINE": a.url, "CANDIDATE": b.url, "WAY": "duet", "RATE": "50",
                  "DURATION": "5s", "FAIL_ABOVE": "900%", "OUTPUT": "out"}  # fmt: skip
        given = inputs | {"ACTION": str(tmp_path), "RUNNER_TEMP": str(tmp_path / "temp")}
        env = os.environ | given | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
        done = subprocess.run(["bash", "-e", "-c", steps[1]["run"]], cwd=tmp_path / "temp", env=env, timeout=100)
    assert done.returncode in (0, 3)
    assert (tmp_path / "temp/out/junit.xml").exists()
    assert (tmp_path / "summary.md").read_text().startswith("### logreplay: ")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("debootstrap"), reason="needs root and debootstrap")
def test_the_instructions_of_the_dockerfile_make_a_container_that_works(clone: Path, tmp_path: Path) -> None:
    image = Image(tmp_path / "root")
    image.build(clone, {"VERSION": VERSION})
    assert image.labels["org.opencontainers.image.version"] == VERSION
    assert image.start("--version").communicate()[0] == f"logreplay, version {VERSION}\n"
    assert not (tmp_path / "root" / "src").exists()
    assert not (tmp_path / "root" / "usr/bin/gcc").exists()
    for user in ("", "12345"):  # as `--user`, without a home and a name
        demo = image.start("demo", read_only=True, user=user)
        answer, said = demo.communicate(timeout=200)
        assert demo.returncode == 0, said
        assert "saturation at" in answer
    with image.start("demo") as demo:
        assert demo.stderr
        assert demo.stderr.readline()
        (first,) = children(demo.pid)  # process 1 of the container
        os.kill(first, signal.SIGTERM)
        assert demo.wait(20) == 130


def test_each_release_has_its_documentation_and_stable_is_the_newest(clone: Path, tmp_path: Path) -> None:
    """The script of the workflow; the origin is a copy on this disk."""
    origin, work = tmp_path / "origin.git", tmp_path / "work"
    run("git", "clone", "-q", "--bare", clone, origin, cwd=tmp_path)
    run("git", "clone", "-q", origin, work, cwd=tmp_path)
    pages = {"NO_MKDOCS_2_WARNING": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name in ("main", TAG, "v9.9.0", "v9.8.8", "v10.0.0rc1"):
        if name not in ("main", TAG):
            run("git", "tag", name, cwd=work)
        run("bash", ".github/pages.sh", cwd=work, GITHUB_REF_NAME=name, **pages)
        run("git", "push", "-q", "origin", "gh-pages", cwd=work)
    names = {*run("git", "ls-tree", "--name-only", "gh-pages", cwd=origin).split()}
    assert names == {".nojekyll", "9.8", "9.9", "index.html", "latest", "stable", "versions.json"}
    assert run("git", "show", "gh-pages:stable", cwd=origin) == "9.9"
    assert 'url=stable/"' in run("git", "show", "gh-pages:index.html", cwd=origin)
    assert '"9.8.8"' in run("git", "show", "gh-pages:versions.json", cwd=origin)
