"""The page for newcomers names modules that exist, with their sizes."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/dev/ten-modules.md").read_text()


def lines_of(module: str) -> int:
    return len((ROOT / module).read_text().splitlines())


def test_the_ten_modules_have_the_sizes_of_the_page() -> None:
    told = {module: int(lines) for module, lines in re.findall(r"^\| `(\S+\.py)` \| (\d+) \|", PAGE, re.MULTILINE)}
    assert len(told) == 10
    for module, lines in told.items():
        assert abs(lines_of(module) - lines) <= 0.15 * lines, module


def test_every_module_of_the_page_exists() -> None:
    for module in re.findall(r"`(\S+\.py)`", PAGE):
        assert (ROOT / module).exists(), module
