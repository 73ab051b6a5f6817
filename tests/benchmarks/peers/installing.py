"""Getting the peers from the registries, into a folder of their own; what cannot be had is said."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peers.tools import CACHE, Tool

_GO_MODULE = """module peers
go 1.24
require {module} {version}
"""


def install(tools: Iterable[Tool]) -> dict[str, str]:
    """Install what is not there yet.

    Returns:
        Why not, for each that could not be installed, by its name.
    """
    missing = {}
    for tool in tools:
        if tool.path:
            continue
        kind, name = tool.source
        if not kind:
            missing[tool.name] = name
            continue
        print(f"installing {tool.name} ({kind}: {name})", file=sys.stderr)
        try:
            _HOW[kind](name, tool.binary)
        except (OSError, subprocess.CalledProcessError) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()
            missing[tool.name] = f"{kind} {name}: {said[-1] if said else error}"
    return missing


def _run(*command: str | Path, cwd: Path | None = None, **environment: str) -> None:
    env = os.environ | environment
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env)


def _found(name: str, *folders: str) -> str:
    path = shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))
    if not path:
        raise FileNotFoundError(f"{name} is not installed")
    return path


def _debian(package: str, _binary: str) -> None:
    _run("apt-get", "install", "-y", "--no-install-recommends", package, DEBIAN_FRONTEND="noninteractive")


def _go(name: str, binary: str) -> None:
    """Build one version, required by name: that needs no list of the others."""
    path, _, version = name.partition("@")
    with TemporaryDirectory(prefix="peers-") as folder:
        Path(folder, "go.mod").write_text(_GO_MODULE.format(module=path, version=version))
        output = CACHE / "bin" / binary
        go = _found("go", "/usr/local/go/bin")
        _run(go, "build", "-mod=mod", "-o", output, path, cwd=Path(folder), GOTOOLCHAIN="auto")


def _rust(name: str, _binary: str) -> None:
    cargo = _found("cargo", str(Path.home() / ".cargo/bin"))
    _run(cargo, "install", "--locked", "--root", CACHE, name)


def _python(name: str, binary: str) -> None:
    _run(sys.executable, "-m", "venv", CACHE / binary)
    _run(CACHE / binary / "bin" / "pip", "install", "--quiet", name)


def _git(name: str, binary: str) -> None:
    """Build one commit with make; wrk2 calls its program wrk."""
    address, _, commit = name.partition("@")
    (CACHE / "bin").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="peers-") as folder:
        _run("git", "clone", "--quiet", address, folder)
        _run("git", "-C", folder, "checkout", "--quiet", commit)
        _run("make", "-C", folder)
        shutil.copy2(Path(folder, "wrk"), CACHE / "bin" / binary)


_HOW: dict[str, Callable[[str, str], None]] = {
    "Debian": _debian,
    "Go": _go,
    "Rust": _rust,
    "Python": _python,
    "Git": _git,
}
