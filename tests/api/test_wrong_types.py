"""Every parameter of every function with values that are not of its kind: an error that names it, and no other."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import logreplay
from logreplay import analysis, parsers
from logreplay.options.keywords import read
from logreplay.options.table import options_of

TARGET = "http://127.0.0.1:1"
LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00,0,0,0,5,/a,200,GET\n"
AXES = Figure().add_subplot()
NO_VALUE: Any = object()
WRONG: tuple[Any, ...] = (
    NO_VALUE, [], {}, b"x", b"\xff", memoryview(b"x"), 1 + 2j, float("nan"), float("inf"), -1, 10**400, "9" * 5000,
    [[1]], [None], {1: 2}, {"a": NO_VALUE}, [("a",)], [("a", "b", "c")], {"": ""}, "", " ", "\0", Path("\0"), "\ud800",
    lambda: 0, type, ..., True, False, iter([1]), range(3), {1, 2}, np.array([1, 2]), np.float64("nan"), np.int64(5),
    Decimal("NaN"), Decimal("sNaN"), timedelta(days=99_999_999), timedelta(-1),
    "[", "(?P<", "%", "=", ":", "..", "1..", "@", "@/", "é", "a\nb",
)  # fmt: skip
CALLS: dict[str, Callable[[Any], object]] = {
    "target": lambda value: logreplay.run("log.csv", value, tps=5, duration=0.1),
    "baseline": lambda value: logreplay.duet("log.csv", value, TARGET, tps=5, duration=0.1),
    "candidate": lambda value: logreplay.duet("log.csv", TARGET, value, tps=5, duration=0.1),
    "log": lambda value: logreplay.run(value, TARGET, tps=5, duration=0.1),
    "rates": lambda value: logreplay.sweep("log.csv", TARGET, value, duration=0.1),
    "port": lambda value: logreplay.serve("none.csv", port=value),
    "workers": lambda value: logreplay.serve("none.csv", workers=value),
    "service_time": lambda value: logreplay.serve("none.csv", service_time=value),
    "exponential": lambda value: logreplay.serve("none.csv", exponential=value),
}

READINGS: dict[str, Callable[[Any], object]] = {
    "log=": lambda value: logreplay.convert(value),
    "log= ": lambda value: logreplay.inspect("none.log", value),
    "results=": lambda value: logreplay.analyze(value),
    "expected the path of a result log": lambda value: logreplay.compare("none.csv", value),
    "expected the path of a result log ": lambda value: logreplay.capacity([value], demand=5, p99=0.1),
    "output=": lambda value: logreplay.convert("none.log", output=value),
    "place=": lambda value: logreplay.control(value, "pause"),
    "output= ": lambda value: logreplay.analyze("none.csv", output=value),
}
ARGUMENTS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("function", lambda value: logreplay.settings(value)),
    ("path", lambda value: logreplay.settings("run", value)),
    ("rejects", lambda value: logreplay.convert("none.log", rejects=value)),
    ("baseline", lambda value: logreplay.compare(value, "none.csv")),
    ("candidate", lambda value: logreplay.compare("none.csv", value)),
    ("baseline", lambda value: logreplay.compare("none.csv", "none.csv", value, "none.csv")),
    ("path", analysis.load),
    ("results", analysis.seconds),
    ("results", analysis.steps),
    ("results", analysis.saturation),
    ("baseline", lambda value: analysis.compare(value, "none.csv")),
    ("candidate", lambda value: analysis.compare("none.csv", value)),
    ("tolerance", lambda value: analysis.compare("none.csv", "none.csv", tolerance=value)),
    ("fail_above", lambda value: analysis.compare("none.csv", "none.csv", fail_above=value)),
    ("folder", analysis.pairs),
    ("folder", analysis.differences),
    ("tps", lambda value: analysis.capacity("none.csv", tps=value, within=0.1, percentile="p90")),
    ("within", lambda value: analysis.capacity("none.csv", tps=5, within=value, percentile="p90")),
    ("headroom", lambda value: analysis.capacity("none.csv", tps=5, within=0.1, percentile="p90", headroom=value)),
    ("survive", lambda value: analysis.capacity("none.csv", tps=5, within=0.1, percentile="p90", survive=value)),
    ("results", lambda value: analysis.hockey_stick(AXES, value)),
    ("slo", lambda value: analysis.hockey_stick(AXES, "none.csv", slo=value)),
    ("results", lambda value: analysis.picture(AXES, value, "timeline")),
    ("runs", lambda value: analysis.overlay(AXES, value)),
    ("runs", lambda value: analysis.overlay(AXES, {"a": value})),
    ("slo", lambda value: analysis.overlay(AXES, {"a": "none.csv"}, slo=value)),
    ("found", lambda value: analysis.changes(AXES, value)),
    ("paths", parsers.read_log),
    ("paths", lambda value: next(parsers.iter_log(value))),
    ("paths", lambda value: parsers.convert(value, "none.csv")),
    ("output", lambda value: parsers.convert("none.log", value)),
    ("options", lambda value: parsers.read_log("none.log", value)),
)
"""Calls with a wrong value, each after the name of its argument; the other arguments name no file that is there."""


@pytest.mark.parametrize("function", ["run", "sweep", "find", "duet"])
def test_each_parameter_refuses_what_it_cannot_take_by_its_name(function: str) -> None:
    for option in options_of(function, python=True):
        for value in WRONG:
            refused = None
            try:
                read(function, {option.name: value})
            except logreplay.UsageError as error:
                refused = str(error)
            assert refused is not None or value is not NO_VALUE
            assert refused is None or option.name in refused.replace("-", "_")


@pytest.mark.parametrize("name", CALLS)
def test_each_argument_refuses_what_it_cannot_take(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that was no text ended in an AttributeError from inside."""
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    for value in WRONG:
        with pytest.raises(logreplay.LogreplayError) as refused:  # nothing listens there
            CALLS[name](value)
        if name != "log" and isinstance(value, list | bytes | complex):
            assert isinstance(refused.value, logreplay.UsageError)
            assert str(refused.value).startswith(f"{name}=")


@pytest.mark.parametrize(("name", "call"), ARGUMENTS)
def test_each_argument_of_what_reads_refuses_what_it_cannot_take_by_its_name(
    name: str, call: Callable[[Any], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most of them ended in an AttributeError or a TypeError from inside."""
    monkeypatch.chdir(tmp_path)
    for value in (*WRONG, 5, object()):
        with pytest.raises(logreplay.LogreplayError) as refused:
            call(value)
        if not isinstance(value, str | Path | int | np.integer | list | dict):
            assert isinstance(refused.value, logreplay.UsageError)
            assert str(refused.value).startswith(f"{name}=")
            assert refused.value.parameters == (name,)
    assert not list(tmp_path.iterdir())


def test_each_argument_of_what_a_result_can_do_refuses_what_it_cannot_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array of Axes, as `subplots` returns several, ended in an AttributeError."""
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG.replace(",0,0,0,5,", ",0.1,0,0,5,"))
    contents, result = logreplay.inspect("log.csv"), logreplay.analyze("log.csv")
    calls: list[tuple[str, Callable[[Any], object]]] = [
        ("ax", lambda value: result.plot(ax=value)),
        ("kind", lambda value: result.plot(value)),
        ("slo", lambda value: result.plot(slo=value)),
        ("linear", lambda value: result.plot(linear=value)),
        ("path", lambda value: result.save(value)),
        ("force", lambda value: result.save("new.csv", force=value)),
        ("ax", lambda value: contents.plot(value)),
        ("folder", lambda value: contents.save(value)),
        ("force", lambda value: contents.save("new", force=value)),
    ]
    for name, call in calls:
        for value in (each for each in WRONG if not isinstance(each, str | Path | int | np.integer)):
            with pytest.raises(logreplay.UsageError, match=f"^{name}=") as refused:
                call(value)
            assert refused.value.parameters == (name,)
    assert [each.name for each in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("host", "a b", "host='a b': expected a host, such as example.org"),
        ("host", "a/b", "host='a/b': expected a host"),
        ("header", {"A\n": "b"}, r"'A\\n' is not the name of a header"),
        ("key_password", "hunter2", r"^key_password=\*\*\*: expected file:FILE or env:NAME"),
        ("output", "9" * 5000, r"^output='9{199}…: "),
    ],
)
def test_what_no_request_can_have_and_a_password_itself_are_refused(name: str, value: object, said: str) -> None:
    """The refusal of a password showed it."""
    with pytest.raises(logreplay.UsageError, match=said):
        read("run", {name: value})


def test_the_value_of_a_header_with_an_option_of_its_own_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    with pytest.raises(logreplay.UsageError, match=r"agent=.* holds a control byte") as refused:
        logreplay.run("log.csv", TARGET, tps=5, duration=0.1, agent="a\nb")
    assert refused.value.parameters == ("agent",)


@pytest.mark.parametrize(
    ("given", "named"), [({"workers": 1000}, "workers=1000"), ({"cluster": "local:99"}, 'cluster="local:99"')]
)
def test_more_workers_than_the_cores_can_serve_are_refused(
    given: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1000 of them had not started after 200 s."""
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    with pytest.raises(logreplay.UsageError, match=rf"{named}: each worker is a process .* use at most \d+"):
        logreplay.run("log.csv", TARGET, tps=5, duration=0.1, **given)


def test_a_file_in_the_place_of_a_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    Path("taken").touch()
    for call in (
        lambda: logreplay.sweep("log.csv", TARGET, [5], output="taken"),
        lambda: logreplay.duet("log.csv", TARGET, TARGET, tps=5, output="taken"),
        lambda: logreplay.inspect("log.csv").save("taken", force=True),
    ):
        with pytest.raises(logreplay.TakenError, match=r"^taken: is a file; name a folder"):
            call()


def test_a_server_without_a_request_to_answer_is_refused() -> None:
    with pytest.raises(logreplay.LogError, match="log: a list of 0 requests has no URL to answer"):
        logreplay.serve([])


def test_the_parameters_of_the_asynchronous_server_are_those_of_the_other() -> None:
    assert signature(logreplay.aio.serve).parameters == signature(logreplay.serve).parameters


def test_what_a_log_lacks_is_told_with_parameters(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    lacking = logreplay.inspect(tmp_path / "log.csv").missing
    assert lacking == ("cookies and other headers: the log has none; header= and cookies=True send some",)


@pytest.mark.parametrize("name", READINGS)
def test_a_name_that_no_file_has_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 5000 characters ended in a bare OSError."""
    monkeypatch.chdir(tmp_path)
    for value in (each for each in WRONG if isinstance(each, str | Path)):
        with pytest.raises(logreplay.LogreplayError):
            READINGS[name](value)


@pytest.mark.parametrize("function", [logreplay.run, logreplay.sweep, logreplay.duet])
def test_an_output_that_no_file_can_be_is_refused(
    function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    places = {logreplay.run: (TARGET,), logreplay.sweep: (TARGET, [5]), logreplay.duet: (TARGET, TARGET)}[function]
    load = {} if function is logreplay.sweep else {"tps": 5}
    output = "9" * 4996 + ".csv"
    with pytest.raises(logreplay.UsageError, match="5000 characters are too many"):
        function("log.csv", *places, duration=0.1, output=output, **load)


@pytest.mark.parametrize("value", [NO_VALUE, ["a.log", 3], b"x", 3])
@pytest.mark.parametrize("name", READINGS)
def test_what_is_read_and_written_without_sending_is_refused_if_it_is_no_path(name: str, value: object) -> None:
    """convert([a, 3]) ended in a bare TypeError."""
    with pytest.raises(logreplay.UsageError, match=name.strip()):
        READINGS[name](value)


@pytest.mark.parametrize(
    "name",
    ["analyze", "capacity", "compare", "control", "convert", "find", "inspect", "plan", "run", "serve", "settings"],
)
def test_each_function_refuses_a_keyword_that_it_does_not_have(name: str) -> None:
    with pytest.raises(logreplay.UsageError, match=rf"{name}\(\) has no parameter 'foo'; see help") as refused:
        getattr(logreplay, name)("none.csv", **{"foo": 1})
    assert refused.value.parameters == ("foo",)


def test_a_keyword_that_is_nearly_one_of_a_function_is_named() -> None:
    with pytest.raises(logreplay.UsageError, match="no parameter 'forse'; did you mean force"):
        logreplay.convert("none.log", forse=True)  # type: ignore[call-arg]
