"""The container: no root, a base that can be pinned, versions that fit the requirements."""

import re
import tomllib
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
BASE = re.findall(r"python:([\d.]+)", DOCKERFILE)[0]
PYTHON = {"python_version": BASE, "python_full_version": f"{BASE}.0", "sys_platform": "linux"}


def test_the_container_runs_as_a_user_without_rights() -> None:
    instructions = [line.split() for line in DOCKERFILE.splitlines() if re.match("[A-Z]+ ", line)]
    names = [words[0] for words in instructions]
    (user,) = [words[1] for words in instructions if words[0] == "USER"]
    assert int(user) > 0, "a number: Kubernetes (runAsNonRoot) does not look names up"
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert names[:2] == ["ARG", "FROM"], "the base is an argument, so that a build may name its digest"


def test_what_installs_has_a_compiler_and_the_image_has_none() -> None:
    """hdrhistogram has no wheel for arm64."""
    build, image = re.split(r"^FROM .*$", DOCKERFILE, flags=re.MULTILINE)[1:]
    assert build.index(" gcc libc6-dev\n") < build.index("pip install")
    assert re.findall("pip|apt-get", image) == []


def test_only_what_the_installation_reads_is_sent_to_the_build() -> None:
    """Results of runs, which may hold secrets, would stay in a layer."""
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    sent = {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    assert patterns[0] == "*"
    assert sent >= {"api", "core", "parsers", "replay", "analysis", "cli", "sample_logs", "pyproject.toml", "setup.py"}
    assert [path for path in sent if not (ROOT / path).exists()] == []


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def versions() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def needed() -> list[Requirement]:
    """What pip is told to install in the container."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"'/src\[(.*)\]'", DOCKERFILE)
    named = [text for extra in extras.split(",") for text in project["optional-dependencies"][extra]]
    return [Requirement(text) for text in project["dependencies"] + named]


def test_what_the_requirements_of_the_container_need_has_a_version_too() -> None:
    """One without a version is another in each build."""
    open_, seen = needed(), set[str]()
    while open_:
        requirement = open_.pop()
        with suppress(metadata.PackageNotFoundError):  # an optional one that is not installed here
            for text in metadata.requires(requirement.name) or ():
                each = Requirement(text)
                applies = any(
                    each.marker is None or each.marker.evaluate({"extra": extra, **PYTHON})
                    for extra in (*requirement.extras, "")
                )
                if applies and (key := f"{canonical(each.name)}{sorted(each.extras)}") not in seen:
                    seen.add(key)
                    open_.append(each)
    names = {key.partition("[")[0] for key in seen}
    assert len(names) > 20
    assert names <= {canonical(name) for name in versions()}


def test_every_requirement_of_the_container_has_a_version_that_fits() -> None:
    known = versions()
    for requirement in needed():
        version = known[canonical(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement
