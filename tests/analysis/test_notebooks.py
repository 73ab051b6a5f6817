"""Every notebook runs from a clean kernel, is stored with its pictures, and holds no logic of its own."""

import ast
import shutil
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode, reads

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def notebook_of(path: Path) -> NotebookNode:
    return reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call,no-any-return]


def outputs(notebook: NotebookNode) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def pictures(notebook: NotebookNode) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def cells(path: Path, kind: str) -> list[Any]:
    return [cell for cell in notebook_of(path).cells if cell.cell_type == kind]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_a_clean_kernel_and_shows_pictures(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = notebook_of(path)
    folder = tmp_path / "notebooks"
    for stored in ("sweep", "duet"):
        shutil.copytree(path.with_name(stored), folder / stored)
    for beside in ("tools", "sample_logs"):
        (tmp_path / beside).symlink_to(path.parents[1] / beside)
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    assert pictures(notebook) >= 1
    assert not [output for output in outputs(notebook) if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_calls_the_library_and_holds_no_logic(path: Path) -> None:
    tree = ast.parse("\n".join(cell.source for cell in cells(path, "code")))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While | ast.If | ast.ClassDef)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_reads_like_a_lesson_and_is_stored_with_its_pictures(path: Path) -> None:
    assert len(cells(path, "markdown")) >= 4
    code = cells(path, "code")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    drawn = sum("fig, ax" in cell.source for cell in code)
    assert pictures(notebook_of(path)) == drawn >= 1


def test_two_of_them_open_the_folder_of_a_real_sweep() -> None:
    opening = [path.stem for path in NOTEBOOKS if any('"sweep"' in cell.source for cell in cells(path, "code"))]
    assert opening == ["capacity_planning", "knee_point_analysis"]


def test_there_is_one_for_each_lesson() -> None:
    assert len(NOTEBOOKS) >= 4
