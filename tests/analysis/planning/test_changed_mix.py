"""``plan --mix``: a change of the mix of routes, by what each costs."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from logreplay.analysis.costs.route_costs import TOO_CHEAP
from logreplay.analysis.planning.route_mix import ChangedMix, changed_mix
from logreplay.analysis.planning.supply import NoAnswer, Supply
from logreplay.cli.main import run as logreplay
from logreplay.core.errors import LogreplayError, UsageError

LINE = '192.0.2.1 - - [05/Jan/2026:{clock} +0000] "GET {url} HTTP/1.1" 200 10 "-" "agent"\n'
PEAK = pl.DataFrame({"route": ["/search", "/checkout", "/a", "/b"], "requests": [700, 100, 150, 50]})


def measured(
    folder: Path, *, costs: bool = True, first: str = "/search", rest_of: str = "/a", why: str = TOO_CHEAP
) -> Path:
    """The folder of a sweep whose routes cost 1, 8 and 2 ms: shares of 41, 47 and 12 %."""
    cheap = {"route": "/search", "seconds": 0.001, "share": 0.41, "share_low": 0.36, "share_high": 0.46, "why_not": ""}
    dear = {"route": "/checkout", "seconds": 0.008, "share": 0.47, "share_low": 0.42, "share_high": 0.52, "why_not": ""}
    rest = {"route": "(other routes)", "seconds": 0.001, "share": 0.12, "share_low": 0.05, "share_high": 0.19}
    rows = [cheap, dear, {**rest, "why_not": why}]
    rows = [{**row, "low": 0.9 * float(row["seconds"]), "high": 1.1 * float(row["seconds"])} for row in rows]  # type: ignore[arg-type]
    rows[0]["route"] = first
    folder.mkdir()
    summary = {"costs": {"sentence": "", "routes": rows}} if costs else {}
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "results.csv").write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
    (folder / "routes.csv").write_text(f"step,route,requests\n0,/search,700\n0,{rest_of},150\n0,/b,50\n")
    return folder


def test_a_dear_route_that_grows_costs_more_than_its_requests(tmp_path: Path) -> None:
    found = changed_mix([("checkout", 0.5)], measured(tmp_path / "s"), PEAK, PEAK)
    assert found.changes == {"/checkout": 0.5}
    assert found.requests == pytest.approx(1.05)
    assert found.work == pytest.approx(1 + 0.5 * 0.8 / 1.7)
    assert found.low < found.work < found.high
    supply = Supply(
        source="search", rate=100, low=90, high=None, bounds="", limits={}, held_s=None, mean=0.02, methods=(),
        sent=PEAK,
    )  # fmt: skip
    assert found.supply(supply).rate == pytest.approx(100 * 1.05 / found.work)
    assert found.supply(supply).low == pytest.approx(90 * 1.05 / found.high)
    assert found.supply(supply).mean is None  # that of the new mix is not known


def test_a_route_that_goes_takes_its_work_with_it(tmp_path: Path) -> None:
    found: ChangedMix = changed_mix([("/search", -1.0)], measured(tmp_path / "s"), PEAK, PEAK)
    assert found.work == pytest.approx(1 - 0.7 / 1.7)
    assert "/search -100 %: 0.3 times the requests and 0.588 times (" in found.sentence


@pytest.mark.parametrize(
    ("route", "told"),
    [
        ("basket", "--mix basket: no route of this name in"),
        ("c", "--mix c: 2 routes of this name in"),
        ("other", r"the cost of \(other routes\) is not known: too cheap to tell from nothing"),
    ],
)
def test_a_change_that_the_costs_do_not_support_is_refused(tmp_path: Path, route: str, told: str) -> None:
    with pytest.raises(NoAnswer, match=told):
        changed_mix([(route, 0.5)], measured(tmp_path / "s"), PEAK, PEAK)


def test_a_sweep_without_costs_is_refused_with_how_to_measure_them(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="no step of it leaves out routes; measure it with: logreplay sweep RATE LOG"):
        changed_mix([("checkout", 0.5)], measured(tmp_path / "s", costs=False), PEAK, PEAK)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (1, "costs.routes[1] is 1; expected an object"),
        ({"route": "/a", "seconds": 1, "low": 0, "high": 2}, "costs.routes[1].why_not is missing or null"),
        ({"route": "/a", "seconds": None, "low": 0, "high": 2}, "costs.routes[1].seconds is missing or null"),
        ({"route": "/a", "seconds": 1, "low": -1, "high": 2}, "costs.routes[1].low is -1; expected a number from 0"),
        ({"route": ["/a"]}, 'costs.routes[1].route is ["/a"]; expected a text'),
    ],
)
def test_a_wrong_value_of_a_cost_is_named(tmp_path: Path, row: object, told: str) -> None:
    path = measured(tmp_path / "s") / "summary.json"
    summary = json.loads(path.read_text())
    summary["costs"]["routes"][1] = row
    path.write_text(json.dumps(summary))
    with pytest.raises(LogreplayError, match=re.escape(f"{path}: {told}")):
        changed_mix([("/search", 0.5)], tmp_path / "s", PEAK, PEAK)


@pytest.mark.parametrize(("others", "told"), [(25, "20 % of the requests"), (10**6, "100 % of the requests")])
def test_requests_of_routes_without_a_cost_are_refused_with_their_share(tmp_path: Path, others: int, told: str) -> None:
    path = measured(tmp_path / "s") / "summary.json"
    summary = json.loads(path.read_text())
    del summary["costs"]["routes"][2]
    path.write_text(json.dumps(summary))
    sent = pl.DataFrame({"route": ["/search", "/other"], "requests": [100, others]})
    with pytest.raises(NoAnswer, match=f"s: {told} have routes whose cost was not measured"):
        changed_mix([("/search", 0.5)], tmp_path / "s", PEAK, sent)


def test_the_supply_of_another_mix_is_set_against_that_of_the_new_one(tmp_path: Path) -> None:
    sent = pl.DataFrame({"route": ["/search", "/checkout", "/a"], "requests": [600, 200, 200]})
    found = changed_mix([("checkout", 1.0)], measured(tmp_path / "s"), PEAK, sent)
    assert found.work == pytest.approx((0.7 + 1.6 + 0.2) / (0.6 + 1.6 + 0.2))


def test_a_route_that_is_changed_twice_or_came_only_with_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/search is changed twice; give it once"):
        changed_mix([("/search", 1.0), ("search", 1.0)], measured(tmp_path / "s"), PEAK, PEAK)
    with pytest.raises(NoAnswer, match="always came together, so the cost of each is not known"):
        changed_mix([("checkout", 1.0)], measured(tmp_path / "t", first="/search + /a"), PEAK, PEAK)


def test_costs_that_are_not_those_of_the_routes_of_the_log_are_refused(tmp_path: Path) -> None:
    absent = PEAK.filter(pl.col("route") != "/checkout")
    with pytest.raises(NoAnswer, match="--mix /checkout: the busiest hour has no request of it that is sent"):
        changed_mix([("checkout", 1.0)], measured(tmp_path / "s"), absent, PEAK)
    other = measured(tmp_path / "t", rest_of="/c")
    with pytest.raises(
        NoAnswer, match=r"\(other routes\) of the busiest hour are not those whose cost was measured: /a 75"
    ):
        changed_mix([("checkout", 1.0)], other, PEAK, PEAK)
    mingled = measured(tmp_path / "u", why="no step that counts leaves it out")
    with pytest.raises(
        NoAnswer, match=r"the cost of \(other routes\) is not known: no step that counts leaves it out;"
    ):
        changed_mix([("checkout", 1.0)], mingled, PEAK, PEAK)


def test_a_plan_says_the_machines_for_the_changed_mix(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    costs, log, folder = measured(tmp_path / "costs", rest_of="/other"), tmp_path / "access.log", tmp_path / "search"
    urls = ["/search"] * 7 + ["/checkout"] + ["/other"] * 2
    times = [(f"12:{at // 60:02}:{at % 60:02}", urls[at % 10]) for at in range(3600)]
    log.write_text("".join(LINE.format(clock=clock, url=url) for clock, url in times))
    slo = {
        "found": True, "rate": 0.1, "range": [0.09, 0.11], "high": 0.12, "unit": "requests/s", "held_s": 50.0,
        "sentence": "", "bounds": [{"statistic": "p99", "limit": 0.3}, {"statistic": "errors", "limit": 0.01}],
    }  # fmt: skip
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"verdict": "VALID", "slo": slo, "options": {}}))
    (folder / "results.csv").write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
    (folder / "routes.csv").write_text("step,rate,route,requests\n0,2,/search,70\n0,2,/checkout,10\n0,2,/other,20\n")
    (folder / "steps.csv").write_text("rate,mean,verdict\n2,0.02,stable\n")
    words = ["plan", str(log), "--from", str(folder), "--json"]
    assert logreplay(words) == 0
    before = json.loads(capfd.readouterr().out)
    assert logreplay([*words, "--costs", str(costs), "--mix", "checkout=+50%"]) == 0
    after = json.loads(capfd.readouterr().out)
    assert (before["mix"], after["mix"]["changes"]) == (None, {"/checkout": 0.5})
    assert after["demand"]["minute"] == pytest.approx(1.05 * before["demand"]["minute"])
    assert after["machines"]["minute"] == 13  # 1 request/s over 0.1/s, times 1.24
    assert before["machines"]["minute"] == 10
    posts = [LINE.format(clock=f"12:{at:02}:00", url="/upload").replace("GET", "POST") for at in range(60)]
    log.write_text(log.read_text() + 3 * "".join(posts))  # 5 % of the requests: the search does not send them
    assert logreplay([*words, "--costs", str(costs), "--mix", "checkout=+50%"]) == 0
    assert json.loads(capfd.readouterr().out)["mix"] == after["mix"]
    log.write_text("".join(LINE.format(clock=clock, url=url) for clock, url in times))
    law = {f"contention{end}": share for end, share in (("", 0.02), ("_low", 0.01), ("_high", 0.03))}
    law |= {f"coherency{end}": 0.0 for end in ("", "_low", "_high")}
    printed = {"kind": "bent", "sentence": "", "points": [{"number": 20}], **law}
    (tmp_path / "scaling.json").write_text(json.dumps(printed))
    scaled = [*words, "--scaling", str(tmp_path / "scaling.json")]
    assert logreplay([*scaled, "--costs", str(costs), "--mix", "checkout=+50%"]) == 0
    assert "how the machines share the new mix" in "".join(json.loads(capfd.readouterr().out)["not_covered"])
    assert logreplay(scaled) == 0
    shared = json.loads(capfd.readouterr().out)
    assert shared["machines"]["minute"] == 13  # 10 times what one carries: 13 / (1 + 0.02 * 12) is 10.5
    assert shared["scaling"] == {"contention": [0.02, 0.01, 0.03], "coherency": [0.0] * 3, "largest": 20}
    assert logreplay([*words, "--costs", str(costs), "--mix", "basket=+50%"]) == 3
    assert "--mix basket: no route of this name" in json.loads(capfd.readouterr().out)["answer"]
    proved = ["http://127.0.0.1:1", "--prove", "--costs", str(costs), "--mix", "checkout=+50%"]
    for wrong, told in (
        (["--costs", str(costs)], "--costs needs --mix"),
        (["--mix", "a=5"], "such as checkout=+50%"),
        (proved, "--mix and --prove exclude each other"),
    ):
        assert logreplay([*words, *wrong]) == 2
        assert told in capfd.readouterr().err
