"""Reads a control group (cgroup v2), such as a container: processor time and its limit, throttling, memory.

Source: https://docs.kernel.org/admin-guide/cgroup-v2.html.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from logreplay.replay.monitor.presets.figures import Figure, Growth, Source

if TYPE_CHECKING:
    from aiohttp import ClientSession

_MIB: Final = 1 << 20
_MOST: Final = 20_000
"""Groups that are looked at to find a name."""


class ControlGroup(Source):
    """The figures of a group and all groups in it.

    Args:
        text: its path, in the file system or from the root of the groups; or a name, such as ``nginx`` for
            nginx.service, or the first 12 signs of a container's id.
    """

    figures: ClassVar[tuple[str, ...]] = ("cpu", "waiting", "throttled", "memory_mib")

    def __init__(self, text: str) -> None:
        self._root = root()
        self._path = _found(self._root, text)
        self._used, self._waited, self._throttled = Growth(), Growth(), Growth()

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        if not self._path.is_dir():
            raise ValueError(f"{self._path} is gone: its last process ended")
        used = _table(self._path / "cpu.stat")
        cpu = self._used.since(at, used["usage_usec"] / 1e6)
        throttled = self._throttled.since(at, used.get("throttled_usec", 0) / 1e6)
        found = {"cpu": Figure(cpu, quota(self._root, self._path) or processors(self._path))}
        found["throttled"] = Figure(throttled)
        if waited := re.match(r"some [^t]*total=(\d+)", " ".join(_words(self._path / "cpu.pressure"))):
            found["waiting"] = Figure(self._waited.since(at, int(waited[1]) / 1e6))
        if (memory := _number(self._path / "memory.current")) is not None:
            # files that nobody uses are given back when memory is needed
            memory -= _table(self._path / "memory.stat").get("inactive_file", 0)
            most = _number(self._path / "memory.max")
            found["memory_mib"] = Figure(memory / _MIB, None if most is None else most / _MIB)
        return found


def root() -> Path:
    """The folder where the groups are mounted."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        mounts = ""
    for line in mounts.splitlines():
        _, path, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return Path(path)
    raise ValueError("this machine has no control groups (cgroup v2)")


def quota(root: Path, path: Path) -> float | None:
    """Processors that the group may use; None without a limit. The least of its own and of those around it."""
    found = None
    for group in (path, *path.parents):
        if not group.is_relative_to(root):
            break
        with_period = _words(group / "cpu.max")
        if len(with_period) == 2 and with_period[0] != "max":
            cores = int(with_period[0]) / int(with_period[1])
            found = cores if found is None else min(found, cores)
    return found


def quota_of(pid: int) -> float | None:
    """Processors that the group of a process may use; None without a limit, or where this is not known."""
    try:
        at = root()
        named = re.search(r"^0::(/.*)$", Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8"), re.M)
    except (OSError, ValueError):
        return None
    return quota(at, at / named[1].lstrip("/")) if named and "/.." not in named[1] else None


def processors(path: Path) -> float:
    """Processors of the machine that the group may run on."""
    count = 0
    for part in "".join(_words(path / "cpuset.cpus.effective")).split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1 if first else 0
    return float(count or os.cpu_count() or 1)


def _found(root: Path, text: str) -> Path:
    if "/" in text:
        path = Path(os.path.normpath(text if Path(text).is_relative_to(root) else root / text.lstrip("/")))
        if not path.is_relative_to(root) or not (path / "cpu.stat").is_file():
            raise ValueError(f"cgroup:{text}: no group with cpu.stat at {path}")
        return path
    fits = re.compile(rf"(?:{re.escape(text)}|.*-{re.escape(text)}[0-9a-f]*)(?:\.service|\.scope|\.slice)?")
    paths = [path for path in _groups(root) if path.name == text or (text and fits.fullmatch(path.name))]
    paths = [path for path in paths if not any(path != other and path.is_relative_to(other) for other in paths)]
    if not paths:
        raise ValueError(
            f"cgroup:{text}: no group of this name below {root}; give its path, or of a container the id: "
            "docker inspect -f '{{.Id}}' NAME"
        )
    if len(paths) > 1:
        several = ", ".join(str(path.relative_to(root)) for path in paths[:3])
        raise ValueError(f"cgroup:{text}: {len(paths)} groups have this name; give the path of one: {several}")
    return paths[0]


def _groups(root: Path) -> Iterator[Path]:
    seen = 0
    for folder, folders, _ in os.walk(root):
        for name in folders:
            yield Path(folder, name)
        seen += len(folders)
        if seen > _MOST:
            return


def _words(path: Path) -> list[str]:
    """The words of a file; none if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError:
        return []


def _number(path: Path) -> float | None:
    words = _words(path)
    return float(words[0]) if words and words[0] != "max" else None


def _table(path: Path) -> dict[str, float]:
    words = _words(path)
    return {name: float(value) for name, value in zip(words[::2], words[1::2], strict=True)}
