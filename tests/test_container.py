"""The container: no root, a base that can be pinned, versions that fit the requirements."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_the_container_runs_as_a_user_without_rights() -> None:
    instructions = [line.split() for line in DOCKERFILE.splitlines() if re.match("[A-Z]+ ", line)]
    names = [words[0] for words in instructions]
    (user,) = [words[1] for words in instructions if words[0] == "USER"]
    assert user not in ("root", "0")
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert names[:2] == ["ARG", "FROM"], "the base is an argument, so that a build may name its digest"


def test_every_requirement_of_the_container_has_a_version_that_fits() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    versions = dict(line.split("==") for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"'/src\[(.*)\]'", DOCKERFILE)
    needed = project["dependencies"] + [
        text for extra in extras.split(",") for text in project["optional-dependencies"][extra]
    ]
    for requirement in map(Requirement, needed):
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        assert requirement.specifier.contains(versions[name], prereleases=True), requirement
