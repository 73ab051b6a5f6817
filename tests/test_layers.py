"""The arrows between the parts are those the design draws."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {"polars", "pandas", "numpy", "matplotlib", "aiohttp", "uvloop", "httptools", "jinja2", "pyarrow", "rich"}


def imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            packages = {"logreplay.parsers", "logreplay.replay", "logreplay.analysis", "logreplay.cli"}
            yield from (
                (f"{node.module}.{alias.name}" for alias in node.names)
                if node.module in packages
                else [f"{node.module}"]
            )


def ours(folder: str) -> set[str]:
    modules = (ROOT / folder).rglob("*.py")
    return {name for module in modules for name in imports(module) if name.startswith("logreplay.")}


@pytest.mark.parametrize("folder", ["replay", "analysis"])
def test_replay_and_analysis_know_the_record_secrets_and_files_and_nothing_else_of_the_others(folder: str) -> None:
    others = {name for name in ours(folder) if not name.startswith(f"logreplay.{folder}")}
    assert others <= {f"logreplay.parsers.{name}" for name in ("record", "masking", "files")}


def test_parsers_know_nothing_above_them() -> None:
    assert all(name.startswith("logreplay.parsers") for name in ours("parsers"))


def test_only_the_command_line_prints_or_exits() -> None:
    for folder in ("parsers", "replay", "analysis"):
        for module in (ROOT / folder).rglob("*.py"):
            assert "click" not in imports(module), module


def loaded_by(code: str) -> set[str]:
    """The top-level packages that are loaded once some code has run."""
    code += "; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", f"import sys; from logreplay.cli.main import cli; {code}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_loads_no_heavy_library_before_a_command_runs() -> None:
    assert not HEAVY & loaded_by("[*cli.commands.values()]")


def test_convert_does_not_load_the_event_loop() -> None:
    assert "asyncio" not in loaded_by("cli.commands['convert']")


def test_each_package_is_typed() -> None:
    for folder in ("parsers", "replay", "analysis", "cli"):
        assert (ROOT / folder / "py.typed").exists()
