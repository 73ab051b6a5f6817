"""Reads a process and all that it started, such as the master of gunicorn with its workers, from ``/proc``.

Processor time is counted for the whole tree, for its busiest process and for its busiest thread: an interpreter lock
holds a process at one core while the host idles. Source: https://man7.org/linux/man-pages/man5/proc.5.html.
"""

import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from logreplay.replay.monitor.presets.cgroup import quota_of
from logreplay.replay.monitor.presets.figures import Figure, Source

if TYPE_CHECKING:
    from aiohttp import ClientSession

_PROC: Final = Path("/proc")
_NS: Final = 1e9
_TICKS: Final = 2
"""Ticks by which the times of an ended process may differ, in its own count and in that of its parent."""
_NEEDED: Final = {"schedstat": "CONFIG_SCHED_INFO", "children": "CONFIG_PROC_CHILDREN"}
"""Files of a thread, and the option of the kernel that makes them."""


@dataclass(frozen=True, slots=True)
class _Status:
    """One process: its parent; its start, in ticks; its processor time without and with its ended children, in s."""

    parent: int
    started: int
    own_s: float
    all_s: float
    threads: int

    @property
    def of_children_s(self) -> float:
        """Seconds of processor time of its ended children."""
        return self.all_s - self.own_s

    @classmethod
    def of(cls, pid: int) -> "_Status":
        """Read it."""
        try:
            text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            raise ProcessLookupError from None
        words = text.rpartition(")")[2].split()
        if words[0] in "ZX":
            raise ProcessLookupError
        user, system, children, of_children = (int(word) / os.sysconf("SC_CLK_TCK") for word in words[11:15])
        return cls(int(words[1]), int(words[19]), user + system, user + system + children + of_children, int(words[17]))


@dataclass(slots=True)
class _Tree:
    """A process with all that it started, at one instant.

    Attributes:
        at: seconds.
        of: the state of each process.
        threads: seconds that each thread ran.
        waited: seconds that all threads waited for a processor.
    """

    at: float
    of: dict[int, _Status] = field(default_factory=dict)
    threads: dict[int, float] = field(default_factory=dict)
    waited: float = 0.0

    @classmethod
    def under(cls, pid: int, at: float, last: "_Tree | None" = None) -> "_Tree":
        """Read it.

        Args:
            pid: the process.
            at: seconds.
            last: the tree before. While some processes end, the kernel's list of children may leave out others.
        """
        tree = cls(at, {pid: _Status.of(pid)})
        rest, known = tree._take(pid), list(last.of.items()) if last else []
        while rest or known:
            child, before = (rest.pop(), None) if rest else known.pop(0)
            if child in tree.of:
                continue
            try:
                status = _Status.of(child)
            except ProcessLookupError:
                continue
            if before and (status.started != before.started or status.parent not in tree.of):
                continue
            tree.of[child] = status
            rest += tree._take(child)
        return tree

    def _take(self, pid: int) -> list[int]:
        """Read the threads of a process; return the processes that they started."""
        started: list[int] = []
        try:
            threads = list((_PROC / str(pid) / "task").iterdir())
        except FileNotFoundError:
            return []
        for thread in threads:
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                started += map(int, (thread / "children").read_text(encoding="ascii").split())
                ran, waited, _ = (thread / "schedstat").read_text(encoding="ascii").split()
                self.threads[int(thread.name)] = int(ran) / _NS
                self.waited += int(waited) / _NS
        return started


class ProcessTree(Source):
    """The figures of a process and its descendants, together."""

    figures: ClassVar[tuple[str, ...]] = ("cpu", "process", "thread", "waiting", "descriptors", "threads")

    def __init__(self, text: str) -> None:
        if not _PROC.joinpath("self", "stat").exists():
            raise ValueError(f"pid:{text}: this system has no /proc; watch a command instead")
        if not re.fullmatch(r"[1-9]\d{0,9}", text):
            raise ValueError(f"pid:{text}: expected the number of a process, such as pid:1234")
        self._pid = int(text)
        try:
            self._started = _Status.of(self._pid).started
        except ProcessLookupError:
            raise ValueError(f"pid:{text}: no such process on this machine") from None
        for name, option in _NEEDED.items():
            if not _PROC.joinpath(text, "task", text, name).exists():
                raise ValueError(
                    f"pid:{text}: this kernel has no /proc/{text}/task/{text}/{name} ({option}), so not all processor "
                    "time would be seen; watch its control group with cgroup:, or a command"
                )
        self._last: _Tree | None = None

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        try:
            now = _Tree.under(self._pid, at, self._last)
        except ProcessLookupError:
            now = _Tree(at)
        if not now.of or now.of[self._pid].started != self._started:
            raise ValueError(f"process {self._pid} has ended")
        last, self._last = self._last, now
        found = {"descriptors": _descriptors(now), "threads": Figure(sum(each.threads for each in now.of.values()))}
        if last:
            found |= _growth(last, now)
        return found


def _growth(last: _Tree, now: _Tree) -> dict[str, Figure]:
    """What the tree did between two instants, per second."""
    seconds = now.at - last.at
    before = {(pid, status.started): status.own_s for pid, status in last.of.items()}
    single = max(status.own_s - before.get((pid, status.started), 0.0) for pid, status in now.of.items())
    thread = max(ran - last.threads.get(number, 0.0) for number, ran in now.threads.items())
    used = sum(status.all_s for status in now.of.values()) - sum(status.all_s for status in last.of.values())
    left = "processes ended whose time their parent does not count" if used < 0 or _lost(last, now) else ""
    return {
        "cpu": Figure(None if left else used / seconds, _cores(now, next(iter(now.of))), left),
        "process": Figure(max(single, 0.0) / seconds, 1.0),
        "thread": Figure(max(thread, 0.0) / seconds, 1.0),
        "waiting": Figure(max(now.waited - last.waited, 0.0) / seconds),
    }


def _lost(last: _Tree, now: _Tree) -> bool:
    """Whether processes ended since whose time no parent in the tree has taken over.

    The kernel adds it to the time of a parent that waits for its children; one that ignores them never gets it.
    """
    stayed = {pid for pid, status in now.of.items() if pid in last.of and last.of[pid].started == status.started}
    ended = [status for pid, status in last.of.items() if pid not in stayed]
    taken = sum(tree.of[pid].of_children_s * sign for tree, sign in ((now, 1), (last, -1)) for pid in stayed)
    doubt = len(ended) * _TICKS / os.sysconf("SC_CLK_TCK")
    return sum(status.all_s for status in ended) > taken + doubt or any(
        _ignores_children(status.parent) for status in ended if status.parent in stayed
    )


def _ignores_children(pid: int) -> bool:
    """Whether the kernel forgets the ended children of a process at once; then others began and ended unseen."""
    try:
        text = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    ignored = re.search(r"^SigIgn:\s*([0-9a-f]+)$", text, re.MULTILINE)
    return bool(ignored and int(ignored[1], 16) >> signal.SIGCHLD - 1 & 1)


def _cores(tree: _Tree, pid: int) -> float:
    """The processors that its processes may use: those they are bound to, and the limit of their control group."""
    cores: set[int] = set()
    for each in tree.of:
        with suppress(OSError):
            cores |= os.sched_getaffinity(each)
    own = float(len(cores) or os.cpu_count() or 1)
    return min(own, quota_of(pid) or own)


def _descriptors(tree: _Tree) -> Figure:
    """Open descriptors of the process that is nearest to its limit."""
    import resource

    found = []
    for pid in tree.of:
        try:
            limit, _ = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            found.append((len(os.listdir(_PROC / str(pid) / "fd")), limit))
        except PermissionError:
            return Figure(None, problem="the open descriptors of another user's process cannot be read")
        except (FileNotFoundError, ProcessLookupError):
            continue
    if not found:
        return Figure(None, problem="the process has ended")
    count, limit = max(found, key=lambda each: each[0] / each[1] if each[1] > 0 else 0)
    return Figure(float(count), float(limit) if limit > 0 else None)
