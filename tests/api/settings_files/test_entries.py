"""The entries of a settings file: each for its commands, and names near to unknown ones."""

from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError
from logreplay.settings_files.entries import entries, nearest, shared

KNOWN: dict[str, dict[str, object]] = {
    "run": {"tps": "rate", "out": "file"},
    "sweep": {"out": "file"},
    "find": {"out": "file"},
    "plot": {"out": 1},
}
ALIASES: dict[str, dict[str, str]] = {command: {} for command in KNOWN}


def test_an_entry_at_the_top_is_for_all_commands_in_which_it_means_the_same_and_one_below_for_its_own(
    tmp_path: Path,
) -> None:
    path = tmp_path / "logreplay.toml"
    path.write_text("out = 'a'\n[run]\ntps = 5\n")
    read = entries(path, KNOWN, shared(KNOWN, ALIASES), ALIASES)
    found = [(each.command, each.key, each.value, each.own) for each in read]
    top = [(command, "out", "a", False) for command in ("run", "sweep", "find")]
    assert found == [*top, ("run", "tps", 5, True)]


def test_names_that_are_near_are_suggested_and_otherwise_all_are_listed_or_where_they_stand() -> None:
    assert nearest("tsp", ["tps", "for", "tps"]) == "; did you mean tps?"
    assert nearest("tms", ["tps", "tmp"]) == "; did you mean tmp or tps?"
    assert nearest("xyzzy", ["for", "tps", "for"]) == "; there are for, tps"
    assert nearest("xyzzy", ["for", "tps"], "see there") == "; see there"


@pytest.mark.parametrize(
    "text", ["[find]\ndemand = 5\ntps = 6\n", "[find]\ntps = 6\nrate = 5\n", "loop = true\nno-loop = true\n"]
)
def test_two_names_of_one_option_are_refused(tmp_path: Path, text: str) -> None:
    keys: dict[str, object] = {"demand": "rate", "tps": "rate", "rate": "rate", "loop": 1, "no-loop": 1}
    known = dict.fromkeys(("run", "sweep", "find"), keys)
    aliases = {command: {"tps": "demand", "rate": "demand"} for command in known}
    path = tmp_path / "logreplay.toml"
    path.write_text(text)
    with pytest.raises(LogreplayError, match=r"line \d: '.*' and '.*' set the same option: leave out one of them$"):
        list(entries(path, known, shared(known, aliases), aliases))
