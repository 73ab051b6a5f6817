"""``logreplay plan``: demand beside supply as text, as JSON, as a page and as manifests; and its refusals."""

import dataclasses
import gzip
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import logreplay as library
from logreplay import planning
from logreplay.analysis.planning.proof import Proof
from logreplay.analysis.planning.supply import NoAnswer
from logreplay.calls.find_call import FindCall
from logreplay.calls.plan_call import PlanCall
from logreplay.cli.main import run

Ended = tuple[int, str, str]
Logreplay = Callable[..., Ended]
LINE = '{client} - - [{day:02}/Jan/2026:{clock} +0000] "{method} {url} HTTP/1.1" 200 100 "-" "curl"\n'


@pytest.fixture
def logreplay(capsys: pytest.CaptureFixture[str]) -> Logreplay:
    """Run a command within this process: exit code, standard output, standard error."""

    def ended(*words: object) -> Ended:
        capsys.readouterr()
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ended


def access_log(path: Path, *, days: int = 2, peak: int = 600, route: str = "/search?q={}", method: str = "GET") -> Path:
    """A log with 2 requests a minute to one route, and a busy minute at noon of the first day."""
    lines = [
        LINE.format(client="192.0.2.1", day=5 + at // 2880, method="GET", url=f"/search?q={at}",
                    clock=f"{at // 120 % 24:02}:{at // 2 % 60:02}:{at % 2 * 30:02}")
        for at in range(days * 2880)
    ]  # fmt: skip
    busy = [
        LINE.format(client="192.0.2.2", day=5, method=method, url=route.format(at),
                    clock=f"12:30:{at * 60 // peak:02}")
        for at in range(peak)
    ]  # fmt: skip
    path.write_text("".join(lines + busy))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return access_log(tmp_path / "access.log")


@pytest.fixture
def busy_minute(tmp_path: Path) -> Path:
    """A log that is read quickly: of the busy minute only."""
    return access_log(tmp_path / "minute.log", days=0)


def searched(
    folder: Path, *, rate: float | None = 4.0, route: str = "/search?q={}", unit: str = "requests/s", **options: object
) -> Path:
    """The folder of a search that found a rate, as far as a plan reads it."""
    folder.mkdir()
    slo: dict[str, Any] = {
        "found": rate is not None, "rate": rate, "range": rate and [rate * 0.9, rate * 1.1], "high": 5.0, "unit": unit,
        "held_s": 50.0, "sentence": "p99 <= 300 ms does not hold even at 10/s",
        "bounds": [{"statistic": "p99", "limit": 0.3}, {"statistic": "errors", "limit": 0.01}],
    }  # fmt: skip
    (folder / "summary.json").write_text(json.dumps({"verdict": "VALID", "slo": slo, "options": options}))
    (folder / "results.csv").write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
    (folder / "routes.csv").write_text(f"step,rate,route,requests\n0,2,{route},1000\n1,4,{route},2000\n")
    (folder / "steps.csv").write_text("rate,mean,verdict\n2,0.02,stable\n4,0.05,stable\n8,0.9,overloaded\n")
    return folder


def test_it_joins_the_demand_of_the_log_with_the_supply_of_a_search(
    logreplay: Logreplay, log: Path, tmp_path: Path
) -> None:
    code, out, err = logreplay("plan", log, "--from", searched(tmp_path / "s"))
    assert (code, err) == (0, "")
    assert "access.log: 6,360 requests in 48 hours" in out
    assert "busiest minute 10/s" in out  # 600 in the busy minute, and those of each minute
    assert "one machine carries 4/s with p99 within 300 ms (3.6–4.4/s, held for 50 s in one piece; by a search)" in out
    assert out.splitlines()[-1].startswith("3 machines for the busiest minute, 10")
    assert "1 to 3 machines by the hour; the most on Mon at 12:00" in out
    assert "the log lacks 120 hours of the week" in out
    assert "how days and weeks differ: the log is shorter than a week, and the range" in out


def test_the_folder_of_a_search_may_have_a_name_that_looks_like_a_pattern(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path
) -> None:
    assert logreplay("plan", busy_minute, "--from", searched(tmp_path / "s[1]"), "-q")[0] == 0


def weakened(found: Path, *findings: object) -> Path:
    """The same search with these findings."""
    summary = json.loads((found / "summary.json").read_text())
    (found / "summary.json").write_text(json.dumps({**summary, "findings": findings}))
    return found


def test_it_tells_each_weakness_of_the_measurement(logreplay: Logreplay, busy_minute: Path, tmp_path: Path) -> None:
    codes = ("void_trials", "short_trials", "errors_in_doubt", "repeated_urls")
    weak = [{"code": code, "severity": "warning", "text": f"{code}: the rate may be too high"} for code in codes]
    found = weakened(searched(tmp_path / "s"), *weak, {"code": "short_steps", "severity": "note", "text": "none"})
    ended, out, _ = logreplay("plan", busy_minute, "--from", found)
    assert ended == 0
    told = " ".join(out.split())
    assert all(f"weakness of the measurement: {code}: the rate may be too high" in told for code in codes)
    assert "measurement: none" not in told


def test_a_warning_that_leaves_the_rate_of_a_machine_as_it_is_is_no_weakness(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path
) -> None:
    codes = ("disk", "slow_disk", "watch", "stop_refused", "in_flight_limit", "retries")
    harmless = [{"code": code, "severity": "warning", "text": "300 rows were written late"} for code in codes]
    ended, out, _ = logreplay("plan", busy_minute, "--from", weakened(searched(tmp_path / "s"), *harmless))
    assert ended == 0
    assert "written late" not in out


def test_the_weaknesses_of_each_measurement_stand_beside_a_number_of_machines(
    logreplay: Logreplay, tmp_path: Path
) -> None:
    weak = {"code": "lag", "severity": "warning", "text": "requests were sent late"}
    one, two = searched(tmp_path / "1"), weakened(searched(tmp_path / "2", rate=7.0), weak)
    words = ("capacity", one, two, "--machines", "1,2", "--demand", 20, "--p99", "300ms")
    code, out, err = logreplay(*words)
    assert code == 3
    said = f"not covered: {two}: weakness of the measurement: requests were sent late"
    assert said in out + err
    assert json.loads(logreplay(*words, "--json")[1])["not_covered"] == said


def test_its_json_has_demand_supply_machines_and_the_week(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s")
    words = ("--growth", "100%", "--headroom", "0.2", "--survive", 1, "--price", 0.5, "--json")
    code, out, _ = logreplay("plan", log, "--from", found, *words)
    told = json.loads(out)
    assert code == 0
    assert told["verdict"] == "VALID"
    assert told["demand"]["minute"] == pytest.approx(2 * 602 / 60, abs=0.2)
    assert told["demand"]["growth"] == 1
    assert told["supply"]["rate"] == 4
    assert (told["supply"]["low"], told["supply"]["high"]) == pytest.approx((3.6, 4.4))
    assert told["machines"]["minute"] == 7 + 1  # 20.07 / 3.2 = 6.3
    low, high = told["machines"]["range"]
    assert low <= 8 <= high
    assert len(told["week"]) == 48
    assert {"day", "hour", "rate", "low", "high", "machines", "machines_low", "machines_high"} == {*told["week"][0]}
    assert told["cost"] == {"price": 0.5, "week": 8 * 168 * 0.5, "week_by_hour": None}
    assert told["proofs"] == []


def test_a_window_that_the_law_of_the_machines_does_not_reach_is_told_with_the_reason(
    logreplay: Logreplay, log: Path, tmp_path: Path
) -> None:
    law: dict[str, object] = {f"contention{end}": 0.02 for end in ("", "_low", "_high")}
    law |= {f"coherency{end}": 0.0 for end in ("", "_low", "_high")}
    law_file = tmp_path / "law.json"
    law |= {"kind": "bent", "sentence": "", "points": [{"number": 2}], "not_covered": "not covered: two: sent late"}
    law_file.write_text(json.dumps(law))
    words = ("plan", log, "--from", searched(tmp_path / "s"), "--scaling", law_file)
    code, out, _ = logreplay(*words, "-o", tmp_path / "p", "--reaction", "60s")
    told = json.loads((tmp_path / "p" / "plan.json").read_text())
    assert code == 0
    assert re.search(r"machines, second +not known: .* no number up to 4, 2 times the most measured", out)
    assert told["machines"]["second"] is None
    assert told["machines"]["minute"] == 3
    assert [*told["machines"]["unreached"]] == ["second"]
    assert "how the machines scale: two: sent late" in told["not_covered"]
    assert '<td>busiest second</td><td class="number">–</td>' in (tmp_path / "p" / "plan.html").read_text()
    most = told["autoscaling"]["most"]  # each of them carries less than one alone
    assert told["autoscaling"]["rate"] * 1.1 <= 4 / (1 + 0.02 * (most - 1)) * 1.001
    far, out, _ = logreplay(*words, "--growth", "100%")
    assert (far, "no plan: " in out) == (3, True)


def test_the_log_of_one_of_several_front_ends_is_a_part_of_the_demand(
    logreplay: Logreplay, log: Path, tmp_path: Path
) -> None:
    found = searched(tmp_path / "s")
    _, one, _ = logreplay("plan", log, "--from", found, "--json")
    _, three, _ = logreplay("plan", log, "--from", found, "--json", "--per-machine-of", 3)
    assert json.loads(three)["demand"]["hour"] == pytest.approx(3 * json.loads(one)["demand"]["hour"])


def test_a_forecast_takes_the_place_of_growth(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found, forecast = searched(tmp_path / "s"), tmp_path / "december.csv"
    rows = [f"2026-12-{1 + at // 24:02}T{at % 24:02}:00:00Z,{1 if at == 30 else 0.1}" for at in range(240)]
    forecast.write_text("\n".join(("time,rate", *rows)))
    code, out, _ = logreplay("plan", log, "--from", found, "--forecast", forecast, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["demand"]["hour"] == pytest.approx(1, rel=0.01)
    said = logreplay("plan", log, "--from", found, "--forecast", forecast)[1]
    assert "its highest rate, 1/s for 60 minutes, is 5 times the highest of the log for 60 minutes" in said
    assert len(told["week"]) == 168
    for option, value in (("--growth", "20%"), ("--per-machine-of", 2)):
        code, _, err = logreplay("plan", log, "--from", found, "--forecast", forecast, option, value)
        assert code == 2
        assert option in err
        assert "--forecast" in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": None}, " has no answer to plan with: p99 <= 300 ms does not hold even at 10/s"),
        ({"unit": "users"}, " searched a number of users"),
        ({"route": "/home"}, "the busiest hour has another mix of routes than the search: "),
        ({"route": "/home"}, "name TARGET in place of --from, and plan searches with the requests of that hour"),
    ],
)
def test_it_refuses_measurements_that_do_not_support_a_plan(
    logreplay: Logreplay, log: Path, tmp_path: Path, options: dict[str, Any], says: str
) -> None:
    code, out, _ = logreplay("plan", log, "--from", searched(tmp_path / "s", **options))
    assert code == 3
    assert says in out.splitlines()[-1]
    assert out.splitlines()[-1].startswith("no plan: ")


def test_the_search_sends_the_busiest_hour_that_is_reported(
    logreplay: Logreplay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 10:30 to 11:30 there are 7,200 requests to /a; the busiest hour of the clock has 5,400 to /b."""
    at = {"/a": (37_800, 0.5, 7200), "/b": (43_200, 0.667, 5400)}
    seconds = [(url, int(begin + gap * n)) for url, (begin, gap, count) in at.items() for n in range(count)]
    log = tmp_path / "access.log"
    log.write_text("".join(
        LINE.format(client="192.0.2.1", day=5, method="GET", url=url,
                    clock=f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}")
        for url, at in seconds
    ))  # fmt: skip
    code, out, _ = logreplay("plan", log, "--from", searched(tmp_path / "s", route="/a"))
    assert (code, "busiest hour 2/s" in out) == (0, True)
    sent: list[str] = []

    def find(call: FindCall, _: object) -> None:
        sent.extend(line.split(",")[6] for line in Path(str(call.log)).read_text().splitlines()[1:])
        raise NoAnswer("searched")

    monkeypatch.setattr(planning, "find_once", find)
    library.plan(log, "http://127.0.0.1:1", p99="300ms")
    assert sent == ["/a"] * 7200


def test_it_refuses_a_peak_of_methods_that_were_not_sent(logreplay: Logreplay, tmp_path: Path) -> None:
    log = access_log(tmp_path / "post.log", method="POST")
    code, out, _ = logreplay("plan", log, "--from", searched(tmp_path / "s"))
    assert code == 3
    assert "83 % of the requests of the busiest hour are POST, which the search leaves out" in out
    assert "--methods GET,HEAD,POST; these may change data on the target" in out
    found = searched(tmp_path / "sent", methods=["GET", "POST"])
    assert logreplay("plan", log, "--from", found)[0] == 0


def test_routes_that_the_search_changed_are_not_compared(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s", route="/v2/home", rewrite=["s|/search|/v2/home|"])
    code, out, _ = logreplay("plan", log, "--from", found)
    assert code == 0
    assert "the mix of routes: --rewrite changed those that were sent" in out


def test_a_log_without_times_has_no_demand(logreplay: Logreplay, tmp_path: Path) -> None:
    path = tmp_path / "urls.csv"
    path.write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "2026-01-01,00:00:00,0,0,0,1,/,200,GET\n" * 9
    )
    code, out, _ = logreplay("plan", path, "--from", searched(tmp_path / "s"))
    assert code == 3
    assert "all 9 requests of the log are in one second: their rate is unknown" in out


def test_a_log_shorter_than_a_day_has_no_plan_by_the_hour(logreplay: Logreplay, tmp_path: Path) -> None:
    log = access_log(tmp_path / "short.log", days=0)
    code, out, _ = logreplay("plan", log, "--from", searched(tmp_path / "s"))
    assert code == 0
    assert "no plan by the hour: the log is 60 s long; a plan by the hour needs a day at least" in out


def test_a_log_shorter_than_a_day_has_a_cost(logreplay: Logreplay, tmp_path: Path) -> None:
    log = access_log(tmp_path / "short.log", days=0)
    _, out, _ = logreplay("plan", log, "--from", searched(tmp_path / "s"), "--price", 0.5)
    assert "cost              252.00 a week for 3 machines\n" in out


def test_a_log_too_short_for_an_autoscaler_has_no_target_and_says_why(logreplay: Logreplay, tmp_path: Path) -> None:
    log = access_log(tmp_path / "short.log", days=0)
    found = searched(tmp_path / "s")
    _, out, _ = logreplay("plan", log, "--from", found, "--reaction", "90s")
    assert "no target: the log is 60 s long; a target for a reaction within 90 s needs 166 s at least" in out
    told = json.loads(logreplay("plan", log, "--from", found, "--reaction", "90s", "--json")[1])
    assert told["autoscaling"] is None
    assert "60 s" in told["no_autoscaling"]


def test_the_page_on_files_names_each_key_of_its_json(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "files.md").read_text()
    named = {*re.findall(r"`(\w+)`", page.partition("\n## plan --json\n")[2].partition("\n## ")[0])}
    words = ("--price", 0.5, "--reaction", "90s", "--json")
    told = json.loads(logreplay("plan", log, "--from", searched(tmp_path / "s"), *words)[1])
    parts = [value for value in told.values() if isinstance(value, dict)]
    assert {*told, *(key for part in parts for key in part), *told["week"][0]} - named == set()
    assert {field.name for field in dataclasses.fields(Proof)} <= named


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["LOG"], "TARGET is missing: name the server to search, or a search made before with --from DIR"),
        (["LOG", "http://127.0.0.1:1", "--from", "SEARCH"], "exclude each other"),
        (["LOG", "127.0.0.1:80"], "if 127.0.0.1:80 is the server, write http://127.0.0.1:80"),
        (["LOG", "--from", "SEARCH", "--price", "inf"], "'inf': the highest price is 1,000,000,000"),
        (["LOG", "--from", "SEARCH", "--prove"], "--prove needs TARGET"),
        (
            ["LOG", "http://127.0.0.1:1", "--from", "SEARCH", "--prove", "--scaling", "law.json"],
            "--scaling and --prove exclude each other: one machine shares nothing",
        ),
        (["LOG", "--from", "SEARCH", "--p99", "100ms"], "is a search for p99 within 300 ms"),
        (["LOG", "--from", "NOWHERE"], "no such file or folder"),
        (["LOG", "--from", "SEARCH", "--since", "soon"], "soon"),
        (["LOG", "--from", "SEARCH", "--timezone", "Mars/Olympus"], "Mars/Olympus"),
        (["http://127.0.0.1:1"], "LOG is missing"),
        (["LOG", "http://127.0.0.1:1"], "a bound is missing: give one, such as --p99 300ms"),
    ],
)
def test_wrong_words_are_refused_before_any_request(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path, words: list[str], says: str
) -> None:
    places = {"LOG": str(busy_minute), "SEARCH": str(searched(tmp_path / "s")), "NOWHERE": str(tmp_path / "nowhere")}
    code, out, err = logreplay("plan", *(places.get(word, word) for word in words))
    assert code in (1, 2)
    assert says in err
    assert "Traceback" not in out + err


def test_it_writes_the_plan_its_page_and_manifests(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found, place = searched(tmp_path / "s"), tmp_path / "december"
    code, _, err = logreplay("plan", log, "--from", found, "--reaction", "90s", "-o", place)
    assert code == 0
    assert "plan.html" in err
    assert {path.name for path in place.iterdir()} == {"plan.json", "plan.html", "hpa.yaml", "keda.yaml"}
    told = json.loads((place / "plan.json").read_text())
    scaling = told["autoscaling"]
    hpa = yaml.safe_load((place / "hpa.yaml").read_text())
    assert hpa["spec"]["minReplicas"] == scaling["least"]
    assert hpa["spec"]["maxReplicas"] == scaling["most"]
    value = hpa["spec"]["metrics"][0]["pods"]["target"]["averageValue"]
    assert float(value.removesuffix("m")) / 1000 == pytest.approx(scaling["rate"], abs=0.001)
    keda = yaml.safe_load((place / "keda.yaml").read_text())
    assert float(keda["spec"]["triggers"][0]["metadata"]["threshold"]) == pytest.approx(scaling["rate"], abs=0.001)
    page = (place / "plan.html").read_text()
    assert told["answer"] in page
    assert "<script" not in page
    assert {*re.findall(r"var\((--[\w-]+)\)", page)} <= {*re.findall(r"(--[\w-]+):", page)}  # no colour is missing
    assert all((place / name).read_text().endswith("\n") for name in ("plan.json", "hpa.yaml", "keda.yaml"))
    code, _, err = logreplay("plan", log, "--from", found, "-o", place)
    assert code == 1
    assert "exists already" in err
    assert logreplay("plan", log, "--from", found, "-o", place, "--force")[0] == 0


def test_names_of_routes_are_escaped_and_masked_on_the_page(logreplay: Logreplay, tmp_path: Path) -> None:
    log = access_log(tmp_path / "<b>.log")
    place = tmp_path / "out"
    logreplay("plan", log, "--from", searched(tmp_path / "s"), "-o", place)
    assert "<b>" not in (place / "plan.html").read_text()


def test_the_library_gives_the_same_plan(log: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s")
    result = library.plan(log, results=found, growth="100%", survive=1)
    assert (result.machines, result.verdict, result.passed) == (6, "VALID", True)
    assert result.low is not None
    assert result.high is not None
    assert result.low <= 6
    assert result.high >= 7
    assert len(result.week) == 48
    assert result.sentence in result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).summary == result.summary
    refused = library.plan([log], results=searched(tmp_path / "none", rate=None))
    assert (refused.machines, refused.plan, refused.verdict) == (None, None, "NO_ANSWER")
    other = library.plan(log, results=searched(tmp_path / "other", route="/home"))
    assert "name TARGET in place of results=" in other.sentence
    assert other.checks[0].text == other.refusal
    with pytest.raises(library.LogreplayError, match="no plan: "):
        refused.html()


def test_a_proof_sends_the_minute_for_the_planned_machines_and_one_fewer_then_the_steepest_hour(tmp_path: Path) -> None:
    starts = [at for at in range(100) for _ in range(100 if at < 40 else min(100 + 10 * (at - 40), 400))]
    log = tmp_path / "rise.log"
    clock = [f"12:{at // 60:02}:{at % 60:02}" for at in starts]
    log.write_text("".join(LINE.format(client="a", day=5, clock=at, method="GET", url="/search?q=1") for at in clock))
    result = library.plan(log, results=searched(tmp_path / "s", rate=230), reaction=15)
    assert result.plan
    find = FindCall(log=None, bounds={"p99": 0.3})
    parts = list(planning._parts(PlanCall(logs=(str(log),), reading={}, find=find, prove=True), result.plan))
    assert [part.machines for part in parts] == [2, 1, 0]
    assert [part.shares[0] for part in parts[:2]] == [0.5, 1]
    assert (len(parts[0].shares), len(parts[2].shares)) == (70, 100)
    assert set(parts[2].shares) <= {0.5, 1}
    assert parts[2].shares[-1] == 0.5


@pytest.fixture
def small_log(tmp_path: Path) -> Path:
    """An hour of independent requests, 20 a minute: growth multiplies its busiest minute by less than its hour."""
    starts = np.sort(np.random.default_rng(1).integers(0, 3600, 1200))
    log, of = tmp_path / "small.log", {"client": "a", "day": 5, "method": "GET", "url": "/search?q=1"}
    log.write_text("".join(LINE.format(clock=f"12:{at // 60:02}:{at % 60:02}", **of) for at in starts))
    return log


def test_a_proof_has_the_rate_of_the_grown_minute_of_the_plan(small_log: Path, tmp_path: Path) -> None:
    plan = library.plan(small_log, results=searched(tmp_path / "s", rate=2), growth="900%").plan
    assert plan
    call = PlanCall(logs=(), reading={}, find=FindCall(log=None, bounds={"p99": 0.3}), prove=True)
    planned = next(planning._parts(call, plan))
    sent = planned.machines * planned.shares[0] * plan.profile.peaks["minute"].rate
    assert sent == pytest.approx(plan.demand["minute"].rate)


def test_an_autoscaler_is_set_for_the_grown_minute_of_the_plan(small_log: Path, tmp_path: Path) -> None:
    """It ran 5.96 pods on average, where the plan has 5 machines for the busiest minute."""
    plan = library.plan(small_log, results=searched(tmp_path / "s", rate=1), growth="900%", reaction=15).plan
    assert plan
    assert plan.scaling
    assert plan.scaling.mean <= plan.machines["minute"].number == 5


def test_a_log_shorter_than_a_minute_is_not_proved_and_the_answer_says_so(logreplay: Logreplay, tmp_path: Path) -> None:
    log, found = tmp_path / "short.log", searched(tmp_path / "s")
    of = {"client": "192.0.2.1", "day": 5, "method": "GET", "url": "/search?q=1"}
    log.write_text("".join(LINE.format(clock=f"12:30:{at:02}", **of) for at in range(40)))
    code, out, _ = logreplay("plan", log, "http://127.0.0.1:1", "--from", found, "--prove", "-q")
    assert code == 3
    assert out.endswith("; NOT proved by a replay: the log is shorter than 60 s\n")


def test_a_proof_has_the_rate_of_the_demand_if_some_methods_are_not_sent(tmp_path: Path) -> None:
    rows = (f"2026-01-05,00:00:{at // 200:02}.{at % 200:06},0,0,0,1,/,200,{'POST' if at % 12 == 0 else 'GET'}\n"
            for at in range(12_000))  # fmt: skip
    (tmp_path / "log.csv").write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(rows))
    call = PlanCall(logs=(), reading={}, find=FindCall(log=None, bounds={"p99": 0.3}), prove=True)
    part = planning._Part(2, 1_767_571_200, np.full(60, 0.5), 1)
    drawn = planning._drawn(call, part, tmp_path)
    assert drawn.height == pytest.approx(6000, abs=150)
    assert drawn["op"].unique().to_list() == ["GET"]


@pytest.mark.slow
@pytest.mark.few
@pytest.mark.timeout(900)  # of those that begin first
def test_a_target_is_planned_proved_and_one_machine_fewer_shown_to_fail(tmp_path: Path) -> None:
    """The built-in target carries 4 / 16 ms = 250 requests/s."""
    log = access_log(tmp_path / "access.log", days=1, peak=20_000)
    with library.serve(log) as server:
        result = library.plan(log, server.url, p90="300ms", budget="90s", start=50, prove=True, output=tmp_path / "p")
        assert result.plan, result.sentence
        assert result.machines == 2
        assert result.search, "its sentences name parameters of plan"
        assert result.search.function == "plan"
        kept = [(each.machines, each.kept) for each in result.proofs]
        assert kept == [(2, True), (1, False)], result.sentence
        again = library.plan(log, results=tmp_path / "p")
    assert again.machines == 2


def test_lines_that_became_no_request_are_told_and_many_of_them_refuse_the_plan(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path
) -> None:
    found, whole = searched(tmp_path / "s"), busy_minute.read_text()
    busy_minute.write_text(whole + "garbage\n" * 9)
    code, out, _ = logreplay("plan", busy_minute, "--from", found)
    assert code == 0
    assert "609 lines = 600 converted + 0 unreplayable + 9 rejected" in out
    told = json.loads(logreplay("plan", busy_minute, "--from", found, "--json")[1])
    assert (told["converted"], told["rejected"]) == (600, 9)
    busy_minute.write_text(whole + "garbage\n" * 190)
    code, out, _ = logreplay("plan", busy_minute, "--from", found)
    assert code == 3
    assert "24 % of the lines of the log became no request, and the demand would be too low by as much" in out


def test_lines_that_became_no_request_count_beside_those_that_the_filters_leave(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path
) -> None:
    """They may all be lines that the filters would leave."""
    found = searched(tmp_path / "s")
    busy_minute.write_text(busy_minute.read_text() + "garbage\n" * 9)
    said = logreplay("plan", busy_minute, "--from", found)[1]
    assert "not covered       the lines that became no request: up to 1.5 % of" in said
    code, out, _ = logreplay("plan", busy_minute, "--from", found, "--match", r"q=\d*0$")
    assert code == 3
    assert "9 lines became no request, and no filter can tell whether they are of these requests: 13 % of both" in out
    assert "filter the log before, such as with grep" in out


def test_lines_that_became_no_request_count_beside_all_others_where_only_a_time_is_chosen(
    logreplay: Logreplay, tmp_path: Path
) -> None:
    """They are at all times, as far as one knows; how many of them the chosen time may have is told."""
    log, found = access_log(tmp_path / "access.log", days=1), searched(tmp_path / "s")
    hour = ("plan", log, "--from", found, "--since", "2026-01-05T12:00", "--until", "2026-01-05T13:00")
    log.write_text(log.read_text() + "garbage\n" * 90)
    code, out, _ = logreplay(*hour)
    assert code == 0
    assert "not covered       the lines that became no request: up to 11 % of the requests" in out
    assert logreplay(*hour, "--match", "search")[0] == 3
    log.write_text(log.read_text() + "garbage\n" * 1090)
    code, out, _ = logreplay(*hour)
    assert code == 3
    assert "25 % of the lines of the log became no request" in out


@pytest.mark.parametrize("sends", [False, True])
def test_a_log_whose_compressed_data_end_too_soon_is_refused_before_any_request_and_its_notes_are_told(
    logreplay: Logreplay, log: Path, tmp_path: Path, sends: bool
) -> None:
    cut = tmp_path / "cut.log.gz"
    cut.write_bytes(gzip.compress(log.read_bytes())[:-2000])
    of = (
        ("http://127.0.0.1:1", "--p99", "300ms", "-o", tmp_path / "p")
        if sends
        else ("--from", searched(tmp_path / "s"))
    )
    code, out, err = logreplay("plan", cut, *of, "--timezone", "Europe/Berlin")
    assert code == 3
    assert "had no effect" not in out + err  # the hours of the week are of this zone
    assert f"no plan: {cut}: the compressed data end too soon or are damaged, and the demand in the rest" in out + err
    assert f"note              {cut}: the gzip data end too soon or are damaged; the lines before are kept" in out
    assert not (tmp_path / "p").exists()
    assert f"{tmp_path / 'p'}" not in out + err


@pytest.mark.parametrize("ordered", [True, False])
def test_the_part_before_the_end_of_cut_data_is_planned_for_if_the_log_is_in_order(
    logreplay: Logreplay, log: Path, tmp_path: Path, ordered: bool
) -> None:
    lines = log.read_text().splitlines(keepends=True)[:5760]  # two days; without the burst that stands behind them
    if not ordered:
        lines.insert(1000, lines[0])
    cut = tmp_path / "cut.log.gz"
    cut.write_bytes(gzip.compress("".join(lines).encode())[:-2000])
    words = ("plan", cut, "--from", searched(tmp_path / "s"))
    code, out, _ = logreplay(*words)
    part = re.search("or plan for the (?:time before, with --until (.*)|readable part, such as: gzip -dc .*)", out)
    assert (code, bool(part and part[1])) == (3, ordered)
    until = part[1] if part and part[1] else "2026-01-06T02:00:00Z"
    code, out, _ = logreplay(*words, "--until", until)
    assert code == (0 if ordered else 3), out
    assert logreplay(*words, "--until", until.replace("Z", "-01:00"))[0] == 3


def test_it_tells_each_note_on_the_log(logreplay: Logreplay, tmp_path: Path) -> None:
    log = access_log(tmp_path / "access.log", days=1)
    log.write_text("".join(reversed(log.read_text().splitlines(keepends=True))))
    out = logreplay("plan", log, "--from", searched(tmp_path / "s"))[1]
    assert "are older than some line before them" in out
    page = library.plan(log, results=tmp_path / "s").html()
    assert "are older than some line before them" in page


def test_a_stray_line_of_another_year_changes_no_hour(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s")
    alone = json.loads(logreplay("plan", log, "--from", found, "--json")[1])
    log.write_text(
        LINE.format(client="a", day=1, clock="00:00:00", method="GET", url="/").replace("2026", "1970")
        + log.read_text()
    )
    stray = json.loads(logreplay("plan", log, "--from", found, "--json")[1])
    assert stray["machines"] == alone["machines"]
    assert any("hours in gaps of a day or longer" in each for each in stray["not_covered"])
    assert not any("gaps" in each for each in alone["not_covered"])
    hours = {(each["day"], each["hour"]): each["machines"] for each in stray["week"]}
    assert all(hours[each["day"], each["hour"]] == each["machines"] for each in alone["week"])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_folder_that_holds_something_is_not_written(logreplay: Logreplay, tmp_path: Path, method: str) -> None:
    log, place = access_log(tmp_path / "a.log", method=method), tmp_path / "mine"
    place.mkdir()
    (place / "plan.json").write_text("mine")
    code, _, err = logreplay("plan", log, "http://127.0.0.1:9", "--p99", "300ms", "-o", place)
    assert code == 1
    assert "exists already, and is not empty" in err
    assert (place / "plan.json").read_text() == "mine"


def test_an_earlier_plan_leaves_nothing_beside_a_new_one(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found, place = searched(tmp_path / "s"), tmp_path / "out"
    logreplay("plan", log, "--from", found, "--reaction", "90s", "-o", place)
    logreplay("plan", log, "--from", searched(tmp_path / "none", rate=None), "-o", place, "--force")
    assert [path.name for path in place.iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('logs = ["access.log"]\ntarget = "unix:/tmp/x.sock"', "a file cannot name the socket of another program"),
        ('logs = ["s3://bucket/x.log"]', "a file cannot have a store read with your credentials"),
        ('from = "s3://bucket/x"', "a file cannot have a store read with your credentials"),
        ('forecast = "/etc/hostname"', "a file cannot name a path outside of its folder"),
        ('target = "http://192.0.2.1"\nmethods = "POST"', "methods"),
        ('words = ["access.log"]', "words"),
    ],
)
def test_a_settings_file_names_no_foreign_place(
    logreplay: Logreplay, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logreplay.toml").write_text(f'[plan]\np99 = "300ms"\noutput = "out"\n{settings}\n')
    code, _, err = logreplay("plan")
    assert code in (1, 2)
    assert says in err
    assert not Path("out").exists()


def test_options_of_a_search_that_is_not_made_are_refused(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s")
    for words in (("--budget", "5m"), ("--methods", "GET,POST"), ("--max-errors", "5%"), ("--workers", 2)):
        code, _, err = logreplay("plan", log, "--from", found, *words)
        assert code == 2
        assert f"--from {found} and {words[0]} exclude each other: nothing is sent" in err
    with pytest.raises(library.UsageError, match="budget"):
        library.plan(log, results=found, budget=60)


@pytest.mark.parametrize(
    ("keys", "value", "told"),
    [
        (("slo",), [1], "slo is [1]; expected an object"),
        (("slo", "unit"), None, "slo.unit is missing or null; expected a text"),
        (("slo", "rate"), "fast", 'slo.rate is "fast"; expected a number from 1e-06 to 1e+09'),
        (("slo", "rate"), 1e-320, "slo.rate is 1e-320; expected a number from 1e-06"),
        (("slo", "rate"), float("nan"), "slo.rate is NaN; expected a number from 1e-06"),
        (("slo", "range"), 5, "slo.range is 5; expected a list"),
        (("slo", "range"), [5], "slo.range is [5]; expected two rates"),
        (("slo", "held_s"), {}, "slo.held_s is {}; expected a number from 0"),
        (("slo", "bounds"), [{"statistic": "p99", "limit": 0}], "slo.bounds[0] is {"),
        (("slo", "bounds"), [{"statistic": "p98", "limit": 1}], "expected a bound of a search"),
        (("slo", "bounds"), ["p99"], 'slo.bounds[0] is "p99"; expected an object'),
        (("options", "methods"), [1, 2], "options.methods[0] is 1; expected a text"),
        (("options",), "GET", 'options is "GET"; expected an object'),
        (("findings",), 3, "findings is 3; expected a list"),
    ],
)
def test_a_summary_with_a_wrong_value_is_refused_by_file_key_and_value(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path, keys: tuple[str, ...], value: object, told: str
) -> None:
    found = searched(tmp_path / "s")
    path = found / "summary.json"
    summary = json.loads(path.read_text())
    (summary[keys[0]] if len(keys) > 1 else summary)[keys[-1]] = value
    path.write_text(json.dumps(summary))
    code, _, err = logreplay("plan", busy_minute, "--from", found)
    assert code == 1
    assert err.startswith(f"Error: {path}: {keys[0]}")
    assert told in err
    assert err.endswith("; search again\n")


def test_a_search_at_one_rate_has_no_steps_in_its_routes(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path
) -> None:
    found = searched(tmp_path / "s")
    (found / "routes.csv").write_text("route,requests\n/search?q={},3000\n")
    assert logreplay("plan", busy_minute, "--from", found, "-q")[0] == 0


def test_a_search_may_have_been_held_for_no_time(logreplay: Logreplay, busy_minute: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s")
    summary = json.loads((found / "summary.json").read_text())
    summary["slo"]["held_s"] = None
    (found / "summary.json").write_text(json.dumps(summary))
    assert logreplay("plan", busy_minute, "--from", found, "-q")[0] == 0


@pytest.mark.parametrize(
    ("table", "text", "told"),
    [
        ("routes", "step,requests\n0,5\n", "routes.csv: no column route; it needs route,requests"),
        ("routes", "step,route,requests\n0,/a,many\n", "routes.csv: line 2: requests is not a whole number"),
        ("steps", "rate,mean,verdict\n2,slow,stable\n", "steps.csv: line 2: mean is not a number"),
    ],
)
def test_a_table_beside_the_search_with_other_columns_is_refused_by_line(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path, table: str, text: str, told: str
) -> None:
    found = searched(tmp_path / "s")
    (found / f"{table}.csv").write_text(text)
    code, _, err = logreplay("plan", busy_minute, "--from", found)
    assert code == 1
    assert told in err
    assert f"make it with: logreplay analyze {found}" in err


def test_a_search_that_was_killed_is_refused_as_not_finished(
    logreplay: Logreplay, busy_minute: Path, tmp_path: Path
) -> None:
    found = searched(tmp_path / "s")
    (found / "summary.json").write_text(json.dumps({"slo": {"trials": []}, "options": {}, "unfinished": True}))
    code, out, _ = logreplay("plan", busy_minute, "--from", found)
    assert code == 3
    assert f"no plan: {found}: the search was not finished" in out


def test_a_run_at_one_load_is_refused_by_its_kind(logreplay: Logreplay, busy_minute: Path, tmp_path: Path) -> None:
    found = searched(tmp_path / "s")
    (found / "summary.json").write_text(json.dumps({"verdict": "VALID", "requests": {"sent": 100}, "rate": 5.0}))
    code, _, err = logreplay("plan", busy_minute, "--from", found)
    assert (code, err) == (1, f"Error: {found}: is a run at one load; name the folder of a search or a sweep\n")


def test_wrong_types_of_logs_are_refused_by_name(tmp_path: Path) -> None:
    for wrong in (5, None, [], [3]):
        with pytest.raises(library.UsageError, match="log="):
            library.plan(wrong, results=tmp_path)  # type: ignore[arg-type]


def test_large_rates_are_written_out(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    _, out, _ = logreplay(
        "plan", log, "--from", searched(tmp_path / "s"), "--growth", "9900%", "--per-machine-of", 1000
    )
    assert "e+" not in out
    assert re.search(r"machines for the busiest minute, 99\d{4}/s", out)


def test_a_plan_of_an_unreadable_log_leaves_no_folder(logreplay: Logreplay, tmp_path: Path) -> None:
    code, _, err = logreplay(
        "plan", tmp_path / "none.log", "--from", searched(tmp_path / "s"), "-o", tmp_path / "a" / "b"
    )
    assert code == 1
    assert "none.log" in err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("typed", [["access.log"], []])
def test_the_target_of_the_settings_is_searched_beside_a_log_that_is_typed(
    logreplay: Logreplay, log: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str]
) -> None:
    monkeypatch.chdir(log.parent)
    Path("logreplay.toml").write_text('[plan]\nlogs = ["access.log"]\ntarget = "http://127.0.0.1:1"\np99 = "300ms"\n')
    _, _, err = logreplay("plan", *typed, "-o", "out")
    assert "http://127.0.0.1:1: connection refused" in err
    assert ("logreplay.toml: logs" in err) == (not typed)


def test_the_target_of_the_settings_is_left_out_beside_a_log_and_an_earlier_search(
    logreplay: Logreplay, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    Path("logreplay.toml").write_text('[plan]\ntarget = "http://127.0.0.1:1"\n')
    _, out, _ = logreplay("plan", "access.log", "--from", searched(tmp_path / "s"))
    assert "machines" in out
