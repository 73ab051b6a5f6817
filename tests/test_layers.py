"""The folders, their imports and the names in them are as docs/dev/design.md says."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Final

import pytest

import logreplay
from logreplay.core.installation import DISTRIBUTION

ROOT = Path(__file__).parent.parent
HEAVY = {
    "polars", "pandas", "numpy", "matplotlib", "aiohttp", "uvloop", "httptools", "jinja2", "prometheus_client",
    "pyarrow", "rich",
}  # fmt: skip
ORDER = {
    "core": (
        "errors", "lazy_names", "installation", "zstd", "plural", "quantities", "record", "csv_blocks",
        "rows", "frames", "masking", "stores", "files", "headers", "bodies", "validity", "__init__",
    ),
    "parsers": ("fields", "formats", "captures", "redaction", "lines", "conversion", "__init__"),
    "replay": (
        "clock", "child_process", "schedules", "requests", "sessions", "senders", "results", "engine", "servers",
        "monitor", "checks", "sweeps", "workers", "__init__",
    ),
    "analysis": (
        "format_time", "json_text", "untested", "machine_count", "notebook_view", "statistics", "response_diff",
        "search", "input", "tables", "demand", "costs", "verdict", "limit", "scaling", "findings", "summary",
        "summary_rows", "analyze", "pooled_sweeps", "planning", "output", "api", "__init__",
    ),
    "api": (
        "options", "settings_files", "inputs", "calling", "calls", "scratch", "result_folder", "results",
        "folder_results", "runs", "readings", "analysis_functions", "controlling", "conversion", "log_inspection",
        "plan_result", "command_tasks", "functions", "planning", "aio", "__init__",
    ),
    "cli": (
        "exit_codes", "signals", "display", "settings", "options", "commands", "registry", "main", "start",
        "__init__",
    ),
}  # fmt: skip
"""The rooms and modules of each package: each imports from itself and from those to its left."""
ABOVE = {
    "core": (),
    "parsers": ("core",),
    "replay": ("core",),
    "analysis": ("core",),
    "api": ("core", "parsers", "replay", "analysis"),
}
"""The packages that each library may import besides itself."""
SHOWN: Final = {
    "what results hold": {
        "analysis.response_diff.aggregate", "analysis.tables.schedule_accuracy", "analysis.verdict.checks",
        "analysis.verdict.compare_log", "analysis.verdict.comparison", "parsers.conversion.report",
        "replay.checks.calibrate",
        "replay.monitor.snapshot",
    },
    "figures, rows and names as texts": {
        "analysis.costs.route_costs", "analysis.format_time", "analysis.input.external_metrics", "analysis.json_text",
        "analysis.output.duet_page",
        "analysis.response_diff.rules", "analysis.summary", "analysis.summary_rows", "analysis.verdict.judged_runs",
        "analysis.verdict.status_changes", "replay.senders.trace",
    },
}  # fmt: skip
"""Modules of the three libraries whose values the command line shows; for the rest it calls `api/`."""
MOST_MODULES = 16
ACTING = {
    "files: tested with files, by the commands and classes that use them": {
        "core": {"stores"},
        "parsers/captures": {"bodies_file"},
        "parsers/conversion": {"compression", "dataframe", "follow", "ingest", "writers"},
        "analysis/input": {"arrays", "external_metrics", "sources"},
        "replay/monitor": {"probe_log"},
        "replay/sweeps": {"step_log"},
        "cli/settings": {"file"},
    },
    "sockets: tested with real servers and clients": {
        "replay/monitor": {"live_page"},
        "replay/senders": {"aiohttp_sender"},
        "replay/senders/http1": {"connection", "sender"},
        "replay/senders/http2": {"connection", "per_client"},
        "replay/servers": {"minimal"},
    },
    "processes, threads and the event loop: tested by runs": {
        "replay/engine": {"feed", "prefetch", "recorder", "timer", "undisturbed"},
        "replay/monitor": {"sidecar", "sidecar_main"},
        "replay/results": {"self_monitor"},
        "replay/servers": {"server_process"},
        "replay/workers": {"dask_workers", "local_cluster", "processes", "worker"},
        "api/runs": {"trials", "sweep_steps"},
    },
    "the terminal: tested as a user sees it, and by commands": {
        "cli/commands": {"duet", "init", "local", "logs", "readings", "shell", "sweep"},
        "cli/display": {"bug_report", "progress_bar", "terminal"},
        "api": {"command_tasks"},
    },
    "pictures: tested in tests/analysis/output/test_plots.py": {
        "analysis/output": {"pictures"},
        "analysis/output/plots": {"hockey_stick", "overlay", "scaling", "search", "single_run"},
    },
    "whole analyses of files: tested by tests/analysis/test_api.py and by the commands": {
        "analysis": {"analyze", "findings", "summary", "summary_rows"},
    },
    "contents of logs: tested by tests/cli/commands/test_inspect.py": {
        "analysis/demand": {"replays", "wording"},
        "analysis/output": {"log_page", "template"},
        "analysis/output/plots": {"demand"},
        "api": {"log_inspection"},
    },
    "plans: tested by tests/cli/commands/test_plan.py": {
        "analysis/planning": {"plan", "supply", "wording"},
        "analysis/output": {"plan_page"},
        "analysis/output/plots": {"planning"},
        "api": {"plan_result", "planning"},
        "api/calls": {"plan_call"},
    },
}  # fmt: skip
"""Modules without a test module of their own, since they act: on what, and where they are tested."""
NOT_YET = {
    "analysis": {"notebook_view"},
    "analysis/verdict": {"checks"},
    "api": {"result_folder", "scratch"},
    "api/calls": {"duet_call", "find_call", "run_call", "sending_call", "sweep_call"},
    "api/calling": {"audience", "callbacks", "child", "loop_thread"},
    "api/inputs": {"lacking", "logs", "streams", "targets"},
    "api/options": {
        "conflicts", "kinds", "load", "other_commands", "parameters", "request_rules", "sender_rules",
    },
    "api/runs": {
        "curve", "demo", "engines", "evaluation", "rate_search", "reports",
        "result_files", "single",
    },
    "core": {"errors", "quantities"},
    "analysis/search": {"report"},
    "analysis/output": {"charts"},
    "replay": {"clock"},
    "replay/senders": {"contract"},
    "cli": {"exit_codes", "registry"},
    "cli/display": {"comparison", "dry_run", "duet", "progress", "rates", "run", "words"},
    "cli/options": {"from_table", "replay"},
    "cli/settings": {"configurable"},
}  # fmt: skip
"""Modules whose test module is still to be written."""


@cache
def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@cache
def is_module(name: str) -> bool:
    """Whether a name is that of a module; `api` is `logreplay` itself."""
    parts = name.split(".")[1:]
    paths = [ROOT.joinpath(*parts), ROOT.joinpath("api", *parts)]
    return any(path.is_dir() or path.with_suffix(".py").exists() for path in paths)


def name_of(module: Path) -> str:
    """The name under which a module is imported."""
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(("logreplay", *(parts[1:] if parts[0] == "api" else parts)))


def package_of(name: str) -> str:
    """The folder of the house in which a module lies."""
    first = name.split(".")[1] if "." in name else ""
    return first if first in ORDER and first != "api" else "api"


def room_of(name: str) -> str:
    """The room or module of its package."""
    parts = name.split(".")[1:] if package_of(name) == "api" else name.split(".")[2:]
    return parts[0] if parts else "__init__"


@cache
def imports(module: Path) -> tuple[str, ...]:
    """The modules that a module imports, anywhere in it."""
    return tuple(imported_by(module))


def imported_by(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name.startswith("logreplay.") and is_module(name) else f"{node.module}"


def place(package: str, name: str) -> int:
    """Where in the order a module of a package stands."""
    return ORDER[package].index(room_of(name))


@pytest.mark.parametrize("package", ORDER)
def test_each_room_imports_only_from_itself_and_from_the_rooms_before_it(package: str) -> None:
    for module in modules(package):
        name = name_of(module)
        for imported in imports(module):
            if imported.partition(".")[0] == "logreplay" and package_of(imported) == package:
                assert place(package, imported) <= place(package, name), f"{name} imports {imported}"


@pytest.mark.parametrize("package", ORDER)
def test_no_two_modules_import_each_other_when_they_are_loaded(package: str) -> None:
    arrows: dict[str, set[str]] = {}
    for module in modules(package):
        name = name_of(module).removesuffix(".__init__")
        arrows[name] = {
            imported
            for imported in imports(module)
            if imported.startswith("logreplay.") and package_of(imported) == package and imported != "logreplay"
        }
    done: set[str] = set()
    while leaves := {
        name for name, to in arrows.items() if name not in done and not (to & arrows.keys()) - done - {name}
    }:
        done |= leaves
    assert arrows.keys() == done, f"in a cycle, or importing one: {sorted(arrows.keys() - done)}"


@pytest.mark.parametrize("package", ABOVE)
def test_parsers_replay_and_analysis_stand_beside_each_other_on_the_core_and_below_the_api(package: str) -> None:
    for module in modules(package):
        used = {package_of(name) for name in imports(module) if name.partition(".")[0] == "logreplay"}
        assert used <= {package, *ABOVE[package]}, module


def test_the_command_line_calls_the_api_and_takes_only_what_it_shows_from_elsewhere() -> None:
    found = {name.removeprefix("logreplay.") for module in modules("cli") for name in imports(module)}
    taken = {name for name in found if name.partition(".")[0] in ("parsers", "replay", "analysis")}
    assert taken == {name for names in SHOWN.values() for name in names}


def test_the_command_line_calls_no_function_of_the_library_whose_errors_name_parameters() -> None:
    nodes = [node for module in modules("cli") for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))]
    named = {
        f"{each.module}.{alias.name}" for each in nodes if isinstance(each, ast.ImportFrom) for alias in each.names
    }
    public = (getattr(logreplay, name) for name in logreplay.__all__)
    functions = {f"{each.__module__}.{each.__name__}" for each in public if isinstance(each, FunctionType)}
    assert "logreplay.functions.serve" in functions
    assert not named & functions


def test_only_the_command_line_imports_click() -> None:
    for package in ABOVE:
        for module in modules(package):
            assert "click" not in imports(module), module


def test_polars_gets_open_files_since_it_takes_the_name_of_one_for_a_pattern() -> None:
    readers = re.compile(r"pl\.(read|scan)_\w+")
    files_and_texts = {"file", "data", "self.text", "lines", "lines.tobytes()"}
    for module in (module for package in ORDER for module in modules(package)):
        text = module.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if readers.search(text) else ():
            if isinstance(node, ast.Call) and readers.fullmatch(ast.unparse(node.func)):
                assert ast.unparse(node.args[0]) in files_and_texts, f"{module}:{node.lineno}"


def folders(package: str) -> list[Path]:
    return [path.parent for path in modules(package) if path.name == "__init__.py"]


@pytest.mark.parametrize("package", ORDER)
def test_each_folder_says_in_one_sentence_what_lives_there_and_holds_few_modules(package: str) -> None:
    for folder in {path.parent for path in modules(package)}:
        doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
        assert doc, folder
        assert doc.partition("\n\n")[0].endswith("."), folder
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_MODULES, folder


def paths(groups: dict[str, set[str]]) -> list[str]:
    return [f"{folder}/{name}.py" for folder, names in groups.items() for name in names]


def test_each_module_has_its_test_module_or_acts_on_the_world_outside() -> None:
    product = {path.relative_to(ROOT) for package in ORDER for path in modules(package) if path.name != "__init__.py"}
    untested = {str(path) for path in product if not (ROOT / "tests" / path.parent / f"test_{path.name}").exists()}
    excused = [path for groups in (*ACTING.values(), NOT_YET) for path in paths(groups)]
    assert untested <= set(excused)
    assert len(excused) == len(set(excused)), "named twice"
    assert set(excused) <= {str(path) for path in product}, "moved or deleted"


def test_a_class_name_stands_for_one_thing() -> None:
    names = Counter(
        name
        for package in ORDER
        for module in modules(package)
        for name in re.findall(r"^class (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert names
    assert not [name for name, times in names.items() if times > 1]


def test_the_installed_package_holds_what_the_tree_holds() -> None:
    installed = {
        str(path) for path in importlib.metadata.files(DISTRIBUTION) or () if str(path).startswith("logreplay/")
    }
    if not installed:
        pytest.skip("an editable installation: tox compares the wheel")
    kinds = ("*.py", "py.typed", "*.html", "*.j2", "*.js", "*.css", "LICENSE.txt")
    tree = {
        f"logreplay/{path.relative_to(ROOT / 'api' if package == 'api' else ROOT)}"
        for package in ORDER
        for kind in kinds
        for path in (ROOT / package).rglob(kind)
    }
    assert {
        name for name in installed if not name.startswith("logreplay/sample_logs/") and "__pycache__" not in name
    } == tree


def loaded_by(code: str) -> set[str]:
    """The top-level packages that are loaded once some code has run."""
    code += "; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", f"import sys; from logreplay.cli.main import cli; {code}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_loads_no_heavy_library_before_a_command_runs() -> None:
    assert not HEAVY & loaded_by("[*cli.commands.values()]")


def test_the_search_does_not_load_polars() -> None:
    assert not {"polars", "pandas"} & loaded_by("import logreplay.analysis.search.report")


def test_the_library_loads_nothing_before_a_function_is_called() -> None:
    code = "import sys, logreplay; logreplay.LogreplayError; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"asyncio", "click", *HEAVY} & set(loaded)


def test_convert_does_not_load_the_event_loop() -> None:
    assert "asyncio" not in loaded_by("cli.commands['convert']")


def test_each_package_is_typed() -> None:
    for package in ORDER:
        assert (ROOT / package / "py.typed").exists()
