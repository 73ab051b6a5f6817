"""The figures of a control group: a real one where the machine lets a test make one, and the files of others."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from logreplay.replay.monitor.presets import cgroup
from logreplay.replay.monitor.presets.cgroup import ControlGroup, quota, root
from logreplay.replay.monitor.presets.figures import Figure


def read(source: ControlGroup, at: float) -> Mapping[str, Figure]:
    session: Any = None
    return asyncio.run(source.read(session, at))


@pytest.fixture
def made() -> Iterator[Path]:
    """A group of its own, without processes."""
    try:
        path = root() / f"logreplay-test-{os.getpid()}.scope"
        path.mkdir()
    except (OSError, ValueError) as error:
        pytest.skip(f"this machine lets nobody make a control group: {error}")
    try:
        if not (path / "cpu.stat").exists():
            pytest.skip("cgroup v2 counts no processor time here")
        yield path
    finally:
        with suppress(OSError):
            path.rmdir()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of two containers and of a service, as a kernel shows them."""
    container = tmp_path / "system.slice" / "docker-4f2a91c05b7de1.scope"
    for path in (
        container,
        tmp_path / "system.slice" / "docker-77aa.scope",
        tmp_path / "system.slice" / "shop.service",
    ):
        path.mkdir(parents=True)
        (path / "cpu.stat").write_text("usage_usec 1000000\nnr_throttled 2\nthrottled_usec 0\n")
    (container / "cpu.max").write_text("150000 100000\n")
    (container / "memory.current").write_text(f"{300 << 20}\n")
    (container / "memory.stat").write_text(f"anon 1\ninactive_file {100 << 20}\n")
    (container / "memory.max").write_text(f"{400 << 20}\n")
    (tmp_path / "system.slice" / "cpu.max").write_text("max 100000\n")
    monkeypatch.setattr(cgroup, "root", lambda: tmp_path)
    return container


def test_a_group_of_real_processes_uses_the_time_that_they_use(made: Path) -> None:
    burn = "import time; input()\nwhile time.process_time() < 0.4: pass\nprint('burned', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as p:
        assert p.stdin
        assert p.stdout
        (made / "cgroup.procs").write_text(str(p.pid))
        source = ControlGroup(made.name.removesuffix(".scope"))
        read(source, 0.0)
        p.stdin.write(b"\n")
        p.stdout.readline()
        found = read(source, 1.0)
        p.stdin.write(b"\n")
    assert found["cpu"].value == pytest.approx(0.4, abs=0.1)
    assert found["cpu"].maximum
    made.rmdir()
    with pytest.raises(ValueError, match="is gone: its last process ended"):
        read(source, 2.0)


def test_a_container_has_its_limits_as_maxima(files: Path) -> None:
    (files / "cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\nfull avg10=0 total=1\n")
    source = ControlGroup("4f2a91c05b7d")
    read(source, 0.0)
    (files / "cpu.pressure").write_text("some avg10=9.00 avg60=0.00 avg300=0.00 total=900000\nfull avg10=0 total=1\n")
    (files / "cpu.stat").write_text("usage_usec 2400000\nthrottled_usec 600000\n")
    found = read(source, 1.0)
    assert found["cpu"].value == pytest.approx(1.4)
    assert found["cpu"].maximum == 1.5
    assert found["waiting"].value == pytest.approx(0.4)
    assert found["throttled"].value == pytest.approx(0.6)
    assert (found["memory_mib"].value, found["memory_mib"].maximum) == (200, 400), "files nobody uses do not count"


def test_the_limit_is_the_least_of_the_groups_around(files: Path) -> None:
    (files.parent / "cpu.max").write_text("50000 100000\n")
    assert quota(files.parent.parent, files) == 0.5
    assert quota(files.parent.parent, files.parent / "none") == 0.5


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shop", "shop.service"),
        ("shop.service", "shop.service"),
        ("/system.slice/shop.service", "shop.service"),
        ("system.slice/docker-77aa.scope", "docker-77aa.scope"),
    ],
)
def test_a_group_is_found_by_its_name_or_path(files: Path, text: str, name: str) -> None:
    (files.parent / name / "cpu.max").write_text("25000 100000\n")
    assert read(ControlGroup(text), 0.0)["cpu"].maximum == 0.25


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no group of this name"),
        ("nothere", "no group of this name"),
        ("../../etc", "no group with cpu.stat"),
        ("/system.slice/none", "no group with cpu.stat"),
    ],
)
def test_a_name_of_no_group_is_refused(files: Path, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ControlGroup(text)


def test_a_name_of_several_groups_is_refused_with_their_paths(files: Path) -> None:
    (files.parent.parent / "other" / "shop").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"cgroup:shop: 2 groups have this name; give the path of one: .*shop"):
        ControlGroup("shop")
