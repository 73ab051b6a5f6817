"""The keywords of the functions: values of Python and texts of the command line become the same checked values."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import logreplay
from logreplay.core.errors import UsageError
from logreplay.options.keywords import read, taken
from logreplay.options.load import Load

SAME: Iterable[tuple[str, str, Any, str]] = (
    ("run", "tps", 100, "100"),
    ("run", "tps", 1e-6, "0.000001"),
    ("run", "duration", 0.3, "300ms"),
    ("run", "duration", timedelta(minutes=1), "1m"),
    ("find", "p99", np.timedelta64(50, "ms").astype("m8[ns]"), "50ms"),
    *(("run", "duration", np.timedelta64(60_000_000, "us").astype(f"m8[{unit}]"), "1m") for unit in ("m", "s", "ms")),
    ("run", "ramp", (50, 400.5), "50..400.5"),
    ("run", "steps", [(50, 10), (100, "20s")], "50:10s,100:20s"),
    ("run", "think", (1, "3s"), "1s..3s"),
    ("run", "requests", 20, "20"),
    ("run", "status", [404, "5xx"], "404,5xx"),
    ("run", "methods", ["GET", "POST"], "GET,POST"),
    ("run", "sample", 0.05, "5%"),
    ("run", "sample", Decimal("0.05"), "5%"),
    ("run", "since", 10, "10"),
    ("run", "since", datetime(2026, 1, 1, 12), "2026-01-01T12:00:00"),
    ("run", "since", datetime(2026, 1, 1, 12, tzinfo=UTC), "2026-01-01T12:00:00+00:00"),
    *((function, "since", datetime(2026, 1, 1), "2026-01-01T00:00:00") for function in ("convert", "inspect", "plan")),
    *((function, "until", datetime(2026, 1, 1), "2026-01-01T00:00:00") for function in ("convert", "inspect", "plan")),
    *((function, "status", [404, "5xx"], "404,5xx") for function in ("convert", "inspect", "plan")),
    ("convert", "methods", ["GET", "HEAD"], "GET,HEAD"),
    ("run", "tps", Decimal("0.1"), "0.1"),
    ("run", "duration", Decimal("1.5"), "1500ms"),
    ("run", "param", {"k": "v"}, "k=v"),
    ("run", "header", {"X-Run": "42"}, "X-Run: 42"),
    ("run", "inject", {"other.csv": 0.03}, "other.csv:3%"),
    ("run", "extract", {"csrf": "json:$.token"}, "csrf=json:$.token"),
    ("run", "use", {"csrf": "header:X-CSRF"}, "csrf=header:X-CSRF"),
    ("run", "watch", {"cpu": "http://127.0.0.1/cpu"}, "cpu=http://127.0.0.1/cpu"),
    ("run", "output", Path("rows.csv"), "rows.csv"),
    ("run", "metrics", 9100, "9100"),
    ("sweep", "vusers", [1, 10], "1,10"),
    ("find", "max_errors", 0.01, "1%"),
)

BESIDE: dict[str, dict[str, Any]] = {
    "think": {"vusers": 3}, "extract": {"by_client": True}, "use": {"by_client": True},
}  # fmt: skip
"""What a parameter needs."""


@pytest.mark.parametrize(("function", "name", "value", "text"), SAME)
def test_a_value_of_python_means_what_its_text_means(function: str, name: str, value: Any, text: str) -> None:
    beside = BESIDE.get(name, {})
    assert read(function, {name: value, **beside})[name] == read(function, {name: text, **beside})[name]
    assert read(function, {name: value, **beside})[name] != read(function, {})[name] or name == "max_errors"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tpz": 1}, r"run\(\) has no parameter 'tpz'; did you mean tps\?"),
        ({"foo": 1}, r"run\(\) has no parameter 'foo'; see help\(logreplay.run\)"),
        ({"rate": 1}, r"run\(\) has no parameter 'rate'; did you mean tps\?"),
        ({"verbose": True}, r"run\(\) has no parameter 'verbose'; see help\(logreplay\.run\)"),
        ({"show_secrets": True}, r"run\(\) has no parameter 'show_secrets'; see help\(logreplay\.run\)"),
        ({"tps": "fast"}, r"tps='fast': expected a rate above 0 requests/s, such as 100 or 0\.5"),
        ({"tps": True}, "tps=True: expected float"),
        ({"duration": 0}, "duration=0: expected a duration above 0, such as 300ms, 10s or 5m"),
        ({"duration": np.timedelta64("NaT", "ns")}, r"duration=.*NaT.*: expected Seconds"),
        ({"duration": np.timedelta64(5)}, r"duration=.*: expected Seconds"),
        ({"requests": np.timedelta64(5, "ns")}, r"requests=.*: expected int"),
        ({"duration": float("nan")}, "duration=nan: expected a duration above 0"),
        ({"max_in_flight": 2.5}, r"max_in_flight=2\.5: expected int"),
        ({"max_in_flight": 0}, "max_in_flight=0: expected a whole number, 1 or more"),
        ({"follow": "yes"}, "follow='yes': expected True or False"),
        ({"progress": "yes"}, "progress='yes': expected True, False or a function"),
        ({"sender": "curl"}, "sender='curl': expected one of wire, aiohttp, h2"),
        ({"host": 5}, "host=5: expected str"),
        ({"header": {"A": 5}}, r"header=\{'A': 5\}: 5 in \('A', 5\): expected str"),
        ({"match": ""}, "match='': is empty: give a value, or None"),
        ({"sample": 5}, r"sample=5: '5' is ambiguous: write 5%, or 0\.05"),
        ({"sample": 1.0}, r"sample=1\.0: '1\.0' is ambiguous: write 1%, or 100%$"),
        ({"methods": "*"}, r"methods='\*': '\*' cannot be sent: expected methods such as GET,HEAD,POST"),
        ({"sample": 100}, "sample=100: '100' is ambiguous: write 100%$"),
        ({"sample": 101}, "sample=101: expected a share from 0% to 100%"),
        ({"header": "@none.txt"}, "header='@none.txt': @none.txt: cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_name_or_value_is_refused_with_what_to_do(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}") as refused:
        read("run", given)
    assert refused.value.parameters == tuple(given)


def test_a_refusal_shows_no_secret() -> None:
    with pytest.raises(UsageError) as refused:
        read("run", {"header": {"Authorization": "Bearer verysecrettoken\0"}})
    assert "verysecret" not in str(refused.value)


def test_the_lines_of_a_file_are_headers(tmp_path: Path) -> None:
    (tmp_path / "headers.txt").write_text("A: 1\n\nB: 2\n")
    several = read("run", {"header": [f"@{tmp_path / 'headers.txt'}", "C: 3"]})["header"]
    assert [header.name for header in several] == ["A", "B", "C"]


def test_functions_are_taken_as_they_are() -> None:
    def some(_: object) -> None: ...

    assert read("run", {"hook": some, "stop": [some, "p99>2s/10s"], "progress": some})["stop"][0] is some


def test_none_is_the_default() -> None:
    assert read("run", {"tps": None, "timeout": None})["timeout"] == 30


def test_a_frozen_value_takes_its_fields_and_leaves_the_others() -> None:
    values = read("run", {"tps": 100, "timeout": 2})
    assert taken(Load, values) == Load(tps=100)
    assert "tps" not in values
    assert values["timeout"] == 2


def test_what_was_said_of_requests_has_the_form_of_the_command_line(tmp_path: Path) -> None:
    """Summaries, and the refusals of --resume, held ``StatusIn(ranges=((200, 299),))``."""
    from logreplay.options.request_rules import RequestRules

    (tmp_path / "bodies.csv").write_text("url,body\n/a,x\n")
    body = f"{tmp_path / 'bodies.csv'}:url"
    given = {"status": "200-299,404", "since": 5, "body": "log", "rewrite": "s|a|b|g"}
    others = {"since": "2026-01-01T00:00:00", "body": "size", "rewrite": "s|a|b|", "status": 404}
    first, second, third = (
        taken(RequestRules, read("sweep", options)).as_summary() for options in (given, others, {"body": body})
    )
    assert first == {"status": "200-299,404", "since": "5", "body": "log", "rewrite": ["s|a|b|g"]}
    assert second == {"status": "404", "since": "2026-01-01T00:00:00", "body": "size", "rewrite": ["s|a|b|"]}
    assert third == {"body": body}


def test_the_rates_of_the_command_line_in_the_place_of_the_log_are_named() -> None:
    with pytest.raises(UsageError, match=r"rates='http://127.0.0.1:9': is a URL; the log comes first"):
        logreplay.sweep("20..60:20", "log.csv", "http://127.0.0.1:9")
