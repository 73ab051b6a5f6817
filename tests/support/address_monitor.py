"""Runs a command and watches, from outside, each address that it or a process of it turns to.

By strace, because uvloop connects without Python's ``socket`` module, past all that could be patched or audited.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from support.command_line import COMMAND

_CALLS = "connect,sendto,sendmsg,sendmmsg"
_INET = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')


@dataclass(frozen=True)
class Witnessed:
    """What a command did: its exit code, its output, and all ``(address, port)`` it turned to."""

    code: int
    stdout: bytes
    stderr: bytes
    addresses: frozenset[tuple[str, int]]


@cache
def _can_watch() -> bool:
    """Whether strace is there and may trace."""
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-qq", "-e", "trace=none", "true"], capture_output=True).returncode == 0


def witnessed(
    arguments: Sequence[object], folder: Path, env: Mapping[str, str] | None = None, codes: Sequence[int] = (0, 3)
) -> Witnessed:
    """Run the command line under watch."""
    if not _can_watch():
        pytest.skip("strace is not installed, or may not trace here")
    trace = folder / "strace.txt"
    watch = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "0", "-e", f"trace={_CALLS}", "-o", str(trace)]
    command = [*watch, *COMMAND, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, env={**os.environ, **(env or {})})
    assert done.returncode in codes, f"{arguments}\n{done.stdout!r}\n{done.stderr.decode(errors='replace')}"
    found = (_INET.search(line) for line in trace.read_text(errors="replace").splitlines())
    addresses = frozenset((match[2], int(match[1])) for match in found if match)
    return Witnessed(done.returncode, done.stdout, done.stderr, addresses)
