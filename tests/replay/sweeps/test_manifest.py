"""The manifest of a sweep: read as it was written, and no other sweep goes on with it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.replay.results.verdict import Waits
from logreplay.replay.sweeps.manifest import NAME, Manifest, fingerprint
from logreplay.replay.sweeps.step_log import Mark
from logreplay.replay.sweeps.steps import FinishedStep, Step


def test_a_manifest_remembers_what_was_made_and_refuses_another_sweep(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path, {"log": "abc", "rates": (1.0, 2.0)})
    manifest.finish(FinishedStep(Step(0, 1.0, 10.0), False), Mark(100, 0, 10, 11))
    read = Manifest.read(tmp_path)
    assert (read.done, read.mark) == (manifest.done, manifest.mark)
    read.check({"log": "abc", "rates": (1.0, 2.0)})
    with pytest.raises(LogreplayError, match=r"was another sweep: the log has other content; give the same"):
        read.check({"log": "xyz", "rates": (1.0, 2.0)})


def test_a_folder_without_a_sweep_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r": holds no sweep that could be resumed: there is no manifest.json$"):
        Manifest.read(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": "logreplay-sweep/2"}')
    with pytest.raises(LogreplayError, match=r"manifest.json: is not a manifest of a sweep, or is damaged"):
        Manifest.read(tmp_path)


NUMBERS = st.floats(0.001, 1e6)
COUNTS = st.integers(0, 10**9)
WAITS = st.builds(Waits, NUMBERS, *[COUNTS] * 5, st.text(), COUNTS, COUNTS)
STEPS = st.builds(
    FinishedStep, st.builds(Step, st.integers(0, 99), NUMBERS, NUMBERS), st.booleans(), COUNTS, COUNTS, waits=WAITS,
    by_second=st.lists(st.tuples(COUNTS, COUNTS), max_size=3).map(tuple),
)  # fmt: skip


@settings(max_examples=20)
@given(st.lists(STEPS, max_size=4), st.builds(Mark, *[st.integers(0, 2**60)] * 4), st.lists(NUMBERS, max_size=3))
def test_a_manifest_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, done: list[FinishedStep], mark: Mark, refined: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    written = Manifest(folder, {"log": "ü", "seed": None}, done, mark, refined)
    written.write()
    assert Manifest.read(folder) == written
    assert [path.name for path in folder.iterdir()] == [NAME]


def test_all_that_differs_is_told() -> None:
    manifest = Manifest(Path("sweep"), {"log": "a", "for": 10.0, "warm_up": None, "seed": 1})
    manifest.check({"log": "a", "for": 10, "seed": 1, "order": None})
    with pytest.raises(LogreplayError) as told:
        manifest.check({"log": "a", "for": 20.0, "seed": 1, "order": "up"})
    assert str(told.value) == (
        "sweep: was another sweep: --for was 10, is now 20, --order was not given, is now up; "
        "give the same log, target and options, or start again with -o"
    )


def test_differences_are_told_by_their_options_and_never_by_hashes() -> None:
    before = {
        "log": "a" * 64,
        "target": "http://127.0.0.1:1",
        "restart": False,
        "files": {"x.csv": "b" * 64, "y.csv": "c"},
    }
    now = {"log": "d" * 64, "target": "http://127.0.0.1:2", "restart": True, "files": {"x.csv": "e" * 64, "z.csv": "f"}}
    now |= {
        "keep_alive": False,
        "think": {"distribution": "uniform", "low": 0.1, "high": 2, "seed": 1},
        "beginning": "5",
    }
    with pytest.raises(LogreplayError) as told:
        Manifest(Path("sweep"), before).check(now)
    assert str(told.value).removeprefix("sweep: was another sweep: ").rpartition("; give")[0].split(", ") == [
        "the log has other content",
        "the target was http://127.0.0.1:1", "is now http://127.0.0.1:2",
        "--restart was off", "is now on",
        "x.csv has other content", "y.csv is no longer used", "z.csv was not used before",
        "--no-keep-alive was not given", "is now on",
        "--think was not given", "is now 0.1..2",
        "--from was not given", "is now 5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ("a.csv", "b.csv", "the log was a.csv, is now b.csv, which has other content;"),
        ("a.csv", "a.csv", "the log a.csv has other content;"),
        ("", "a.csv", "the log a.csv has other content;"),
    ],
)
def test_another_log_is_told_by_both_names(then: str, now: str, said: str) -> None:
    with pytest.raises(LogreplayError) as told:
        Manifest(Path("sweep"), {"log": "a"}, log=then).check({"log": "d"}, now)
    assert str(told.value).startswith(f"sweep: was another sweep: {said}")
    Manifest(Path("sweep"), {"log": "a"}, log="a.csv").check({"log": "a"}, "renamed.csv")


WRONG: tuple[object, ...] = (None, 5, "x", ["x"], [{}])
WHOLE: dict[str, Any] = {
    "schema": "logreplay-sweep/2",
    "what": {"log": "a"},
    "done": [{"index": 0, "rate": 1.0, "seconds": 10, "carried": True, "failed": 1, "sent": 10}],
    "mark": {"judged": 1, "aside": 0, "next_seq": 2, "next_s": 3},
    "refined": [1.5],
}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "5", "\0", "[" * 100_000),
        *(json.dumps({name: value for name, value in WHOLE.items() if name != gone}) for gone in WHOLE),
        *(json.dumps(WHOLE | {name: wrong}) for name in WHOLE for wrong in WRONG),
        *(json.dumps(WHOLE | {"done": [WHOLE["done"][0] | {name: []}]}) for name in WHOLE["done"][0]),
        *(json.dumps(WHOLE | {"mark": WHOLE["mark"] | {name: "1"}}) for name in WHOLE["mark"]),
        json.dumps(WHOLE | {"mark": {}}),
    ],
    ids=lambda text: text[:60],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(LogreplayError, match=r"manifest\.json: is not a manifest of a sweep, or is damaged; start"):
        Manifest.read(tmp_path)


def test_bytes_that_are_no_text_are_a_damaged_manifest(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"\xff\xfe")
    with pytest.raises(LogreplayError, match="is damaged"):
        Manifest.read(tmp_path)


def test_a_manifest_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"none/manifest\.json: cannot be written"):
        Manifest(tmp_path / "none", {}).write()


def test_a_log_is_told_from_another_by_its_content(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    for path, text in ((one, "a\n"), (same, "a\n"), (other, "b\n")):
        path.write_text(text)
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)
