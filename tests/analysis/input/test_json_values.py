"""Values of a foreign JSON file: read by type, or refused with file, key and value."""

import re
from pathlib import Path

import pytest

from logreplay.analysis.input.json_values import JsonValue
from logreplay.core.errors import LogreplayError

FILE = Path("f.json")


def test_values_are_read_by_their_types() -> None:
    told = JsonValue(FILE, {"a": {"b": [{"c": 2}, {"c": "x"}]}}, "")
    first, second = told["a"]["b"].each()
    assert first["c"].number() == 2.0
    assert second["c"].text() == "x"
    assert told["z"]["y"].value is None


@pytest.mark.parametrize("value", [True, "1", None, -1, float("nan"), float("inf"), 10**400, [1], {}])
def test_what_is_no_number_of_its_range_is_refused(value: object) -> None:
    with pytest.raises(LogreplayError, match=r"^f\.json: rate is .*; expected a number from 0 to 1e\+09; again$"):
        JsonValue(FILE, {"rate": value}, "again")["rate"].number()


def test_a_long_value_is_shown_shortened() -> None:
    with pytest.raises(LogreplayError, match=re.escape(f'f.json: a is "{"x" * 56}...; expected a list; make it')):
        list(JsonValue(FILE, {"a": "x" * 1000}, "make it")["a"].each())


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{", "\xff"])
def test_what_is_not_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(LogreplayError, match=r"f\.json: is not JSON \(.*\); make it"):
        JsonValue.read(path, "make it")


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match="none: cannot be read: No such file or directory"):
        JsonValue.read(tmp_path / "none", "")
