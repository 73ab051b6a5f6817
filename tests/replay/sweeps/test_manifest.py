"""The manifest of a sweep: read as it was written, and no other sweep goes on with it."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.verdict.saturation import widened
from logreplay.core.errors import LogreplayError
from logreplay.replay.results.outcome import Addresses
from logreplay.replay.results.verdict import Waits
from logreplay.replay.sessions.client_sessions import SessionCounts
from logreplay.replay.sweeps.manifest import NAME, SCHEMA, Manifest, fingerprint, smaller_rates
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
    with pytest.raises(LogreplayError, match=r"there is no manifest.json; name the folder of a sweep with --resume$"):
        Manifest.read(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": "logreplay-sweep/2"}')
    with pytest.raises(LogreplayError, match=r"manifest.json: is not a manifest of a sweep, or is damaged"):
        Manifest.read(tmp_path)


NUMBERS = st.floats(0.001, 1e6)
COUNTS = st.integers(0, 10**9)
NAMED = st.dictionaries(st.text(), COUNTS.filter(bool), max_size=2).map(Counter)
SESSIONS = st.builds(SessionCounts, *[COUNTS] * 3, NAMED, *[COUNTS] * 4, *[NAMED] * 6)
ADDRESSES = st.dictionaries(st.text(), st.fixed_dictionaries({"connections": COUNTS, "requests": COUNTS}), max_size=2)
WAITS = st.builds(Waits, NUMBERS, *[COUNTS] * 5, st.text(), COUNTS, COUNTS)
STEPS = st.builds(
    FinishedStep, st.builds(Step, st.integers(0, 99), NUMBERS, NUMBERS), st.booleans(), COUNTS, COUNTS, waits=WAITS,
    by_second=st.lists(st.tuples(COUNTS, COUNTS), max_size=3).map(tuple),
)  # fmt: skip


@settings(max_examples=20)
@given(
    st.lists(STEPS, max_size=4), st.builds(Mark, *[st.integers(0, 10**12)] * 4), st.lists(NUMBERS, max_size=3), COUNTS,
    ADDRESSES, st.none() | SESSIONS,
)  # fmt: skip
def test_a_manifest_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    done: list[FinishedStep],
    mark: Mark,
    refined: list[float],
    answers: int,
    addresses: Addresses,
    sessions: SessionCounts | None,
) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    written = Manifest(folder, {"log": "ü", "seed": None}, done, mark, refined, answers, addresses, sessions)
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
        "since": "5",
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
    "schema": SCHEMA,
    "what": {"log": "a"},
    "done": [{"index": 0, "rate": 1.0, "seconds": 10, "carried": True, "failed": 1, "sent": 10}],
    "mark": {"judged": 1, "aside": 0, "next_seq": 2, "next_s": 3, "position": 2},
    "refined": [1.5],
}
NO_NUMBERS: tuple[object, ...] = (True, -1, math.nan, math.inf, 1e308)


def test_a_manifest_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps(WHOLE))
    read = Manifest.read(tmp_path)
    assert (read.mark, read.refined, read.sessions) == (Mark(1, 0, 2, 3, 2), [1.5], None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "5", "\0", "[" * 100_000),
        *(json.dumps({name: value for name, value in WHOLE.items() if name != gone}) for gone in WHOLE),
        *(json.dumps(WHOLE | {name: wrong}) for name in WHOLE for wrong in WRONG),
        *(json.dumps(WHOLE | {"done": [WHOLE["done"][0] | {name: []}]}) for name in WHOLE["done"][0]),
        *(json.dumps(WHOLE | {"mark": WHOLE["mark"] | {name: "1"}}) for name in WHOLE["mark"]),
        json.dumps(WHOLE | {"mark": {}}),
        *(json.dumps(WHOLE | {"refined": [wrong]}) for wrong in NO_NUMBERS),
        *(json.dumps(WHOLE | {"mark": WHOLE["mark"] | {name: no}}) for name in WHOLE["mark"] for no in NO_NUMBERS),
        *(
            json.dumps(WHOLE | {"done": [WHOLE["done"][0] | {name: no}]})
            for name in ("index", "rate", "seconds", "failed", "sent", "mix")
            for no in NO_NUMBERS
        ),
        *(json.dumps(WHOLE | {"answers": no}) for no in NO_NUMBERS),
        *(json.dumps(WHOLE | {"addresses": wrong}) for wrong in (5, {"a": 5}, {"a": {"connections": 1}})),
        *(
            json.dumps(WHOLE | {"sessions": SessionCounts().as_dict() | {name: wrong}})
            for name, wrong in (("cookies", -1), ("refused", []), ("refused", {"a": True}))
        ),
        json.dumps(WHOLE | {"sessions": {}}),
    ],
    ids=lambda text: text[:60],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(LogreplayError, match=r"manifest\.json: is not a manifest of a sweep, or is damaged; start"):
        Manifest.read(tmp_path)


def test_steps_that_the_sweep_does_not_have_are_not_made(tmp_path: Path) -> None:
    """A folder of somebody else decided the rate: a smaller step at 500/s in a sweep of 20 and 30/s."""
    planned = Step(0, 20.0, 5.0), Step(1, 30.0, 5.0)
    done = [FinishedStep(planned[1], True), FinishedStep(Step(2, 24.0, 5.0), True)]
    Manifest(tmp_path, {}, done, refined=[24.0, 30.0]).check_steps(planned)
    for others, refined in (
        ([], [500.0]),
        ([], [3.0]),
        ([], [30.5]),
        ([], [21.0, 22.0, 23.0, 24.0, 25.0]),
        (done, [23.0]),
        (done[:1] * 2, []),
        ([FinishedStep(Step(0, 500.0, 5.0), True)], []),
        ([FinishedStep(Step(0, 20.0, 5.0, mix=1), True)], []),
    ):
        with pytest.raises(LogreplayError, match=r"manifest\.json: is not a manifest of a sweep, or is damaged; start"):
            Manifest(tmp_path, {}, others, refined=refined).check_steps(planned)


@pytest.mark.parametrize(
    "rates", [(50, 60, 70), (40, 80), (200, 220), (100, 105, 110), (50, 400), (400, 50, 100, 200), (0.5, 5000)]
)
def test_smaller_steps_of_each_saturation_are_those_of_the_sweep_and_send_at_most_its_highest_rate(
    tmp_path: Path, rates: tuple[float, ...]
) -> None:
    """The range of saturation reaches beyond the rates: a refined sweep could not be resumed, or sent more."""
    planned = [Step(index, rate, 5.0) for index, rate in enumerate(rates)]
    for first_bad in range(1, len(rates)):
        low, high = widened(np.array(sorted(rates), dtype=np.float64), first_bad)
        refined = smaller_rates(low, high, rates)
        assert refined == sorted(set(refined))
        assert low < refined[0] < refined[-1] < min(high, max(rates))
        manifest = Manifest(tmp_path, {}, refined=refined)
        manifest.done = [FinishedStep(step, True) for step in (*planned, *manifest.smaller_steps(planned))]
        manifest.check_steps(planned)


@pytest.mark.parametrize("rates", [(50, 100, 150, 200, 250, 300), (50, 150, 250), (250, 100, 75, 50, 25)])
def test_smaller_steps_do_not_repeat_a_rate_of_the_sweep(rates: tuple[float, ...]) -> None:
    """In the range from 0 to 250/s all four were made before."""
    refined = smaller_rates(0, 250, rates)
    assert not {*refined} & {*rates}
    assert refined == sorted({*refined})
    assert 0 < refined[0] < refined[-1] < 250


@pytest.mark.parametrize("what", [{"files": 5}, {"rates": json.loads("[" * 900 + "]" * 900)}])
def test_settings_that_cannot_be_compared_are_a_damaged_manifest(tmp_path: Path, what: dict[str, Any]) -> None:
    with pytest.raises(LogreplayError, match="is damaged"):
        Manifest(tmp_path, what).check({"files": {"a": "b"}, "rates": [1.0]})


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
