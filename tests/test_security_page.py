"""Each guarantee of SECURITY.md names a test that there is."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.partition("## What holds")[2].partition("\n## ")[0].splitlines() if line.startswith("| ")]


def test_each_row_names_a_test() -> None:
    assert len(ROWS) > 10
    assert all("tests/" in row or "`test_" in row for row in ROWS[1:])


def test_each_test_it_names_is_there() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", PAGE):
        assert f"def {name}(" in tests, name
    for path in re.findall(r"\]\((tests/[^)]+)\)", PAGE):
        assert (ROOT / path).exists(), path


def test_each_harness_is_on_the_page() -> None:
    from fuzz.run import HARNESSES

    table = (ROOT / "tests" / "fuzz" / "README.md").read_text(encoding="utf-8")
    assert [name for name in HARNESSES if f"| `{name}` |" not in table] == []
