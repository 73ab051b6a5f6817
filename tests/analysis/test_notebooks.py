"""Every notebook runs from a clean kernel, shows pictures, and holds no logic of its own."""

import ast
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode, reads

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def notebook_of(path: Path) -> NotebookNode:
    return reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call,no-any-return]


def cells(path: Path, kind: str) -> list[Any]:
    return [cell for cell in notebook_of(path).cells if cell.cell_type == kind]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_a_clean_kernel_and_shows_pictures(path: Path, tmp_path: Path) -> None:
    notebook = notebook_of(path)
    shutil.copy(path.with_name("simulate.py"), tmp_path)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 1
    assert not [output for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_calls_the_library_and_holds_no_logic(path: Path) -> None:
    tree = ast.parse("\n".join(cell.source for cell in cells(path, "code")))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While | ast.If | ast.ClassDef)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_reads_like_a_lesson_and_is_stored_without_outputs(path: Path) -> None:
    assert len(cells(path, "markdown")) >= 4
    assert all(not cell.outputs and cell.execution_count is None for cell in cells(path, "code"))


def test_there_is_one_for_each_lesson() -> None:
    assert len(NOTEBOOKS) >= 4
