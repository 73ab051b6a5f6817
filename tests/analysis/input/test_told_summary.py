"""A summary.json that another program wrote is refused with file, key and value, and steers no terminal."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.output.folder import write_beside, write_folder
from logreplay.analysis.summary import About
from logreplay.core.errors import LogreplayError

LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(
    f"2026-01-01,00:00:{second:02}.000000,0.01,0,0,10,/a,200,GET\n" for second in range(40)
)
Altered = Callable[..., Path]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("run") / "res.csv"
    results.write_text(LOG)
    options = {"stop": ["p99>2s/10s"], "tps": 1}
    write_beside(results, About("access.log", "http://127.0.0.1:8080", options, more={"stopped": None}))
    return results


@pytest.fixture
def altered(run: Path, tmp_path: Path) -> Altered:
    """A copy of the run in whose summary some keys are others."""

    def make(changes: dict[str, Any]) -> Path:
        results = tmp_path / "res.csv"
        results.write_bytes(run.read_bytes())
        told = json.loads(run.with_suffix(".summary.json").read_bytes())
        results.with_suffix(".summary.json").write_text(json.dumps(told | changes))
        return results

    return make


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"findings": [{}]}, "findings[0].code is missing or null; expected a text"),
        ({"findings": ["x"]}, 'findings[0] is "x"; expected an object'),
        ({"findings": 5}, "findings is 5; expected a list"),
        (
            {"findings": [{"code": "x", "text": "y", "severity": "zzz"}]},
            'findings[0].severity is "zzz"; expected one of info, note, warning, void',
        ),
        ({"findings": [{"code": [1]}]}, "findings[0].code is [1]; expected a text"),
        ({"findings": [{"code": "a", "text": "b", "severity": ["void"]}]}, 'findings[0].severity is ["void"]; '),
        ({"options": []}, "options is []; expected an object"),
        ({"options": {"stop": 5}}, "options.stop is 5; expected a list"),
        ({"options": {"trace_url": 5}}, "options.trace_url is 5; expected a text"),
        ({"slo": 5}, "slo is 5; expected an object"),
        ({"slo": {"bounds": [{}]}}, "slo.bounds[0].statistic is missing or null; expected a text"),
        (
            {"slo": {"bounds": [{"statistic": "p99", "limit": "x"}]}},
            'slo.bounds[0].limit is "x"; expected a number from 0 to 1e+09',
        ),
        ({"answer": 7, "slo": {}}, "answer is 7; expected a text"),
        ({"verdict": [1]}, "verdict is [1]; expected a text"),
        ({"target": 5}, "target is 5; expected a text"),
        ({"requests": [1]}, "requests is [1]; expected an object"),
        ({"costs": None}, "costs is missing or null; expected an object"),
        ({"users": {"steps": [{"users": "x"}]}}, 'users.steps[0].users is "x"; expected a number'),
        ({"users": {"steps": [{"step": 0, "users": math.inf}]}}, "users.steps[0].users is Infinity; "),
        ({"slo": {"trials": [{"number": "1", "verdict": "void"}]}}, 'slo.trials[0].number is "1"; expected a number'),
        ({"slo": {"trials": [{"number": 1}]}}, "slo.trials[0].verdict is missing or null; expected a text"),
        ({"users": {"steps": 5}}, "users.steps is 5; expected a list"),
        ({"received_bytes": "x"}, 'received_bytes is "x"; expected a number'),
    ],
)
def test_what_rows_cannot_show_is_refused_in_other_types(altered: Altered, changes: dict[str, Any], said: str) -> None:
    results = altered(changes)
    with pytest.raises(LogreplayError, match=re.escape(f"res.summary.json: {said}")) as error:
        write_folder(results, results.with_name("out"), plots=False)
    assert str(error.value).endswith("; correct it, or move the file away")


@pytest.mark.usefixtures("without_drawing")
def test_what_rows_decide_and_what_is_null_comes_from_the_rows(altered: Altered) -> None:
    null = dict.fromkeys(("log", "answer", "verdict", "slo"))
    others: dict[str, Any] = {
        "by_step": 5,
        "steps": 5,
        "costs": {"sentence": 5},
        "limit": 5,
        "queued_s": [],
        "siege": 1,
    }
    results = altered({"limited_steps": 5, "saturation": 5, **null, **others})
    summary, _ = write_folder(results, results.with_name("out"))
    assert summary["answer"] == "1 requests/s: p50 10 ms"
    assert summary["target"] == "http://127.0.0.1:8080"


def test_no_text_of_it_steers_the_terminal(altered: Altered) -> None:
    told = {"code": "x", "severity": "warning", "text": "a\x1b]0;owned\x07b"}
    results = altered({"log": "caf\udce9.log", "findings": [told], "answer": "c\x9b31md", "slo": {}})
    summary, _ = write_folder(results, results.with_name("out"), plots=False)
    assert summary["log"] == "caf?.log"
    assert summary["findings"][0]["text"] == "a?]0;owned?b"
    assert summary["answer"] == "c?31md"
