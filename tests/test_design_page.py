"""The page that shows the house names folders and files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "dev" / "design.md").read_text(encoding="utf-8")


def test_each_file_and_folder_named_on_the_page_is_there() -> None:
    named = re.findall(r"`((?:core|parsers|replay|analysis|api|cli|tests|docs)/[\w/.]*)`", PAGE)
    assert len(named) > 40
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_map_shows_every_room() -> None:
    (drawn,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    for package in ("parsers", "replay", "analysis", "api", "cli"):
        rooms = re.search(rf"^{package}/\n((?:  .*\n)*)", drawn, re.MULTILINE)
        assert rooms
        shown = {line.split()[0].strip("/") for line in rooms[1].splitlines() if line.split()[0].endswith("/")}
        assert shown == {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
