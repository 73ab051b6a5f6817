"""The texts of the project name things, in the words of the field; none of them installs another project's program."""

import ast
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from logreplay.cli.main import cli
from logreplay.cli.options.help_groups import sections

ROOT = Path(__file__).parent.parent
PACKAGES = ("core", "parsers", "replay", "analysis", "api", "cli")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")])
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

FORBIDDEN = {
    r"(?<!there )\b(is|are|was|were) no\b(?! (longer|more))": "say 'is not a …', or what was expected",
    r"\b(of )?all that is\b|\bof all that\b": "name the things",
    r"(?<!thing )(?<!one )(?<!body )(?<!where )(?<!what )(?<!who )(?<!or )\belse(?=[.;,:)]|$)": "say 'otherwise'",
    r"\bwhichever\b": "name the cases",
    r"\bwhat (is|was|are|were|has|had|cannot)\b(?![^.]*\?)": "name the thing",
    r"\bas (it is|they are)(?=[.;,:)]|$)": "say 'unchanged'",
    r"\bflatter": "say 'optimistic estimate'",
    r"\b(owes?|owed)\b": "say 'in flight'",
    r"\bforsaken\b": "say 'lost contact with the coordinator'",
    r"\blateness\b|\b(our|its) lag\b": "say 'generator lag'",
    r"\b(we|our|ours|ourselves)\b": "say 'logreplay' or 'the generator'",
    r"\b(under|of|to|from|for|by) us\b": "say 'logreplay' or 'the generator'",
    r"\bvictims?\b": "say 'target'",
    r"\b(companions?|shards?)\b": "say 'worker'",
    r"\bdirector\b": "say 'coordinator'",
    r"\bdisbelie|\bvoid\b(?!:)|\bbelieve itself\b": "say 'invalid run'",
    r"\bst(ood|ands?) still\b": "say 'was suspended'",
    r"\b(be|is|are|was) waited for\b": "say who waits",
    r"\bgood/s\b": "say 'goodput'",
    r"\b(is|are|was|were) told by\b": "say 'inferred from'",
    r"\bfor ever\b": "say what has no bound",
    r"\bcome(s)? about\b": "say 'happens', or what does",
    r"\bexcludes? no\b|\bnone of the others holds?\b": "negate the verb: 'does not contain'",
    r"\b(say|says|said|saying) nothing (about|of)\b": "say 'does not show', or 'does not measure'",
    r"\bcould (not )?have been\b": "say 'is too short to', or what happens",
    r"\banew\b": "say 'again'",
    r"\bbut for\b(?! an?\b)": "say 'except for'",
    r"\bfor want of\b": "say 'for lack of'",
    r"\bgo(es)? round\b": "say 'wraps around'",
    r"\b(can|may) stand (in|on)\b": "say what is allowed there",
    r"\bholds? the truth\b": "say 'contains the true value'",
    r"\bof \w+ of \w+ of\b": "say at most one 'of': 'sweep step', 'log line'",
    r"\bINTEGER RANGE\b|\bFLOAT RANGE\b": "name the unit",
}  # fmt: skip
"""Patterns in texts, in small letters, and what to do instead."""
ON_PAGES = {
    r"\bso many\b": "say 'that many', or the number",
    r"\bstand in\b": "say 'be set in', or 'replace'",
    r"\bas can be\b": "give the figure",
}
"""Further patterns in pages and help, which are read without the code."""
HEADS = re.compile(r"(What|Where|How|Whether|Who|When|Which|That|Whatever)\b")
"""A module's docstring begins with the thing that the module holds or does."""
SECTION = re.compile(r"^(?:Args|Attributes):\n((?: {4}.*\n?|\n)*)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\w[\w, ]*): +(.*)$", re.MULTILINE)
INCOMPLETE = re.compile(r"(of|how|when|what|whether|so many|at most)\b", re.IGNORECASE)
"""An explanation begins with a noun phrase that can be read without the name it explains."""
ANOTHERS_PROGRAM = re.compile(r"(pip|pipx) install (-\S+ )*'?logreplay(?!-toolkit)\b|\blogreplay\[")
"""The index has another program of the name logreplay; this distribution is logreplay-toolkit."""


def commands(command: click.Command, path: str = "logreplay") -> Iterator[tuple[str, str]]:
    """Each command and its help, with every option."""
    parent = click.Context(cli, **cli.context_settings)  # or "-h" is unknown to the command from then on
    context = click.Context(command, parent, info_name=path)
    options = (text for _, records in sections(command, context) for _, text in records)
    yield path, "\n\n".join((command.get_help(context), *options))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found
            yield from commands(found, f"{path} {name}")


def page(path: Path) -> str:
    """The prose of a page, without code."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`…`", text)


def notebook(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def literals(tree: ast.Module) -> Iterator[str]:
    """The texts of a module: docstrings and messages, without single words."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield re.sub(r"``[^`]*``|`[^`\n]*`", "`…`", text)


def explained(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each argument, attribute and constant of a module that a docstring explains, with the explanation."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for section in SECTION.findall(ast.get_docstring(node) or ""):
                yield from ENTRY.findall(section)
        for before, after in itertools.pairwise(body):
            told = after.value if isinstance(after, ast.Expr) else None
            if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(told, ast.Constant):
                yield ast.unparse(before).partition("=")[0], str(told.value)


def found_in(text: str, patterns: Mapping[str, str] = FORBIDDEN) -> list[str]:
    """The forbidden phrases of a text, each with its remedy."""
    flat = " ".join(text.split()).lower()
    return [
        f"'…{flat[max(0, match.start() - 30) : match.end() + 20]}…': {remedy}"
        for pattern, remedy in patterns.items()
        for match in re.finditer(pattern, flat)
    ]


@pytest.mark.parametrize(("name", "text"), [pytest.param(*shown, id=shown[0]) for shown in commands(cli)])
def test_help_names_things(name: str, text: str) -> None:
    assert not found_in(text, FORBIDDEN | ON_PAGES)
    assert not ANOTHERS_PROGRAM.search(text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_things(path: Path) -> None:
    assert not found_in(page(path), FORBIDDEN | ON_PAGES)
    assert not ANOTHERS_PROGRAM.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_name_things(path: Path) -> None:
    assert not found_in(notebook(path))
    assert not ANOTHERS_PROGRAM.search(path.read_text(encoding="utf-8"))


def against(code: str) -> Iterator[str]:
    """What the rules have against the texts of a module."""
    tree = ast.parse(code)
    yield from (found for text in literals(tree) for found in found_in(text))
    for program in ANOTHERS_PROGRAM.finditer(code):
        yield f"'{program[0]}' installs another program"
    doc = ast.get_docstring(tree) or ""
    if HEADS.match(doc):
        yield f"'{doc.partition(chr(10))[0]}': begin with the thing that the module holds or does"
    for name, text in explained(tree):
        if INCOMPLETE.match(text):
            yield f"'{name}: {text}': begin with a noun: 'number of …', 'True if …', 'time at which …'"


def test_no_message_shows_the_number_of_an_error_of_the_system() -> None:
    """`plan --forecast` of a missing file said [Errno 2]; `core.files.reason` has the words alone."""
    handlers = [
        (path, node)
        for path in MODULES
        if "OSError" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ExceptHandler) and node.type and "OSError" in ast.unparse(node.type)
    ]
    shown = [(path, part) for path, node in handlers for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
    assert len(shown) > 50
    assert not [f"{path}:{part.lineno}" for path, part in shown if ast.unparse(part.value) == "error"]


@pytest.mark.parametrize("package", PACKAGES)
def test_texts_of_modules_name_things(package: str) -> None:
    modules = [path for path in MODULES if path.relative_to(ROOT).parts[0] == package]
    found = [f"{path.relative_to(ROOT)}: {text}" for path in modules for text in against(path.read_text("utf-8"))]
    assert modules
    assert found == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('"""Where it is."""\n', "'Where it is.': begin with the thing"),
        ('"""A."""\n\nA = "pip install logreplay"\n', "'pip install logreplay' installs another program"),
        ('"""A."""\n\nA = f"{1} was no file"\n', "'…… was no file…': say 'is not a …', or what was expected"),
        ('"""A."""\n\nA = "number of rows"\n"""Of all."""\n', "'A : Of all.': begin with a noun"),
    ],
)
def test_each_rule_for_modules_finds_what_it_forbids(code: str, said: str) -> None:
    (found,) = against(code)
    assert found.startswith(said)


def test_an_explanation_that_needs_its_name_is_found() -> None:
    module = 'A = 1\n"""Of all."""\n\n\ndef f(b: int) -> int:\n    """F.\n\n    Args:\n        b: how many.\n    """\n'
    assert [text for _, text in explained(ast.parse(module))] == ["Of all.", "how many."]
