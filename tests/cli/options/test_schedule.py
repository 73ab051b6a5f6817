"""The pacing of a run: what goes together, what is refused with both names, and the schedule that comes of it."""

import re
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

import click
import pytest

from logreplay.cli.commands.run import run as command
from logreplay.cli.main import cli
from logreplay.core.errors import UsageError
from logreplay.options.clashes import check, gives_way, needed
from logreplay.options.load import Load, log_report, log_sentence
from logreplay.options.request_rules import RequestRules
from logreplay.replay.requests.combine import Mixed
from logreplay.replay.requests.hook import Hook, Hooked, Planned, signing
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.requests.siege_list import UrlList
from logreplay.replay.schedules.arrivals import FollowSchedule, LogTimes, Poisson, Scattered
from logreplay.replay.schedules.rates import Constant, Limited, Ramp, Steps
from logreplay.replay.schedules.users import UniformThink, Users

UNREAD = Requests(Path("unread.csv"))


def option(name: str) -> click.Option:
    (found,) = (each for each in command.params if isinstance(each, click.Option) and f"--{name}" in each.opts)
    return found


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("ramp", "50..400", (50, 400)),
        ("ramp", "400..0", (400, 0)),
        ("steps", "50:10s,0.5:1m", ((50, 10), (0.5, 60))),
        ("speed", "3X", 3),
        ("speed", "0.5", 0.5),
        ("think", "log", None),
        ("think", "1s..3s", (1, 3)),
    ],
)
def test_values_are_read(name: str, text: str, value: object) -> None:
    assert option(name).type.convert(text, None, None) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("ramp", text) for text in ("", "5", "5..", "..5", "-1..5", "0..0", "nan..5", "1..inf", "1..2..3", "a..b")),
        *(("steps", text) for text in ("", "5", "5:", ":5s", "5:10s,", "-5:1s", "nan:1s", "5:0s")),
        *(("speed", text) for text in ("", "0", "-1", "nan", "inf", "x", "xx", "1e-10")),
        *(("think", text) for text in ("", "-1s", "LOG", "3s..1s")),
    ],
)
def test_what_is_no_such_value_is_named(name: str, text: str) -> None:
    with pytest.raises(click.BadParameter) as told:
        option(name).type.convert(text, None, None)
    last = text.rpartition(",")[2] if name == "steps" else text
    assert any(repr(part) in str(told.value) for part in (last, *last.split(":")))


MODES: dict[str, Any] = {
    "tps": 5.0, "speed": 1.0, "ramp": (1.0, 2.0), "steps": ((5.0, 1.0),), "vusers": 3, "follow": True,
}  # fmt: skip


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("second", [None, *MODES])
def test_just_one_mode_is_given(first: str, second: str | None) -> None:
    given = {name: MODES[name] for name in (first, second) if name}
    load = Load(**given, duration=60.0 if "ramp" in given else None)
    if len(given) == 1:
        load.checked()
    else:
        with pytest.raises(UsageError, match=r"these exclude each other; give one only: --tps R, --speed X"):
            load.checked()


def test_a_command_without_users_does_not_ask_for_them() -> None:
    with pytest.raises(UsageError, match="--steps or --follow"):
        Load().checked(users=False)


@pytest.mark.parametrize(
    ("given", "both"),
    [
        ({}, ("one of these is needed", "--tps")),
        ({"tps": 5.0, "delay": 1.0}, ("--delay", "--follow")),
        ({"ramp": (1.0, 2.0)}, ("--ramp", "--for")),
        ({"steps": ((5.0, 1.0),), "duration": 1.0}, ("--steps", "--for")),
        ({"speed": 1.0, "arrivals": "log"}, ("--arrivals log", "--tps")),
        ({"speed": 1.0, "arrivals": "poisson"}, ("--arrivals poisson", "--tps")),
        ({"vusers": 1, "arrivals": "poisson"}, ("--arrivals poisson", "--tps")),
        ({"tps": 5.0, "think": 1.0}, ("--think", "--vusers")),
        ({"tps": 5.0, "think": None}, ("--think", "--vusers")),
        ({"tps": 5.0, "skip_idle": 1.0}, ("--skip-idle", "--speed")),
    ],
)
def test_options_that_need_or_exclude_another_name_it(given: dict[str, Any], both: tuple[str, str]) -> None:
    def refuse() -> None:
        check("run", {"follow": False, **given})
        Load(**given).checked()

    with pytest.raises(UsageError) as told:
        refuse()
    assert all(name in str(told.value) for name in both)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"vusers": 3, "duration": 5.0}, Users),
        ({"follow": True}, FollowSchedule),
        ({"follow": True, "requests": 5}, Limited),
        ({"speed": 2.0}, Limited),
        ({"tps": 5.0, "arrivals": "even"}, Constant),
        ({"tps": 5.0, "arrivals": "poisson"}, Poisson),
        ({"tps": 5.0, "arrivals": "even", "requests": 3}, Limited),
        ({"ramp": (1.0, 2.0), "duration": 9.0, "arrivals": "even"}, Ramp),
        ({"steps": ((5.0, 1.0),), "arrivals": "even"}, Steps),
        ({"steps": ((5.0, 1.0),), "arrivals": "poisson"}, Scattered),
    ],
)
def test_each_mode_has_its_schedule(given: dict[str, Any], kind: type) -> None:
    assert isinstance(Load(**given).schedule(RequestRules(), UNREAD), kind)


def test_what_the_user_said_is_in_the_schedule() -> None:
    users = Load(vusers=3, think=(1.0, 2.0), requests=7).schedule(RequestRules(seed=5), UNREAD)
    assert users == Users(3, UniformThink(1.0, 2.0, 5), None, 7)
    assert Load(vusers=3, think=None).schedule(RequestRules(), UNREAD) == Users(3, None)
    fast = Load(speed=4.0, duration=8.0).schedule(RequestRules(), UNREAD)
    assert fast == Limited(LogTimes(4.0), seconds=8.0)
    assert Load(follow=True).schedule(RequestRules(), UNREAD) == FollowSchedule(5.0)
    assert Load(follow=True, delay=1.0).schedule(RequestRules(), UNREAD) == FollowSchedule(1.0)


@pytest.mark.parametrize(
    ("given", "loops"),
    [
        ({"tps": 5.0}, False),
        ({"tps": 5.0, "duration": 1.0}, True),
        ({"vusers": 5, "requests": 9}, True),
        ({"steps": ((5.0, 1.0),)}, True),
        ({"speed": 1.0, "duration": 1.0}, False),
        ({"speed": 1.0, "loop": True}, True),
        ({"tps": 5.0, "duration": 1.0, "loop": False}, False),
        ({"follow": True, "duration": 1.0}, False),
    ],
)
def test_the_log_is_gone_round_where_more_is_asked_for_at_a_rate(given: dict[str, Any], loops: bool) -> None:
    assert Load(**given).loops is loops


def test_what_the_user_said_is_told_and_no_more() -> None:
    assert Load(tps=5.0, arrivals="even", duration=2.0, loop=False).as_summary(1) == {
        "arrivals": "even",
        "for": 2.0,
        "tps": 5.0,
    }
    think = Load(vusers=2, think=(1.0, 2.0)).as_summary(9)["think"]
    assert (think["low"], think["high"], think["seed"]) == (1.0, 2.0, 9)


def test_the_highest_rate_is_that_of_any_part() -> None:
    assert Load(steps=((5.0, 1.0), (9.0, 1.0), (2.0, 1.0))).peak == 9
    assert Load(ramp=(9.0, 1.0)).peak == 9
    assert Load(vusers=5).peak == 0


def test_the_report_of_a_log_is_told_in_a_sentence(log_of_two_seconds: Requests) -> None:
    list(log_of_two_seconds.one_pass())
    report = log_report(log_of_two_seconds, Limited(LogTimes(2.0), requests=10), sent=6)
    assert log_sentence(report) == (
        "the log holds 2 requests/s to send on average, 2 in its busiest second; this run offered 2 times its mean "
        "rate; the log was replayed 2.00 times"
    )
    unread = log_report(UNREAD, Constant(5, 1), sent=0)
    assert set(unread.values()) == {None}
    assert log_sentence(unread) == ""


def test_injected_requests_are_no_rounds_of_the_log_and_are_offered_at_a_rate_and_a_speed(
    log_of_two_seconds: Requests,
) -> None:
    mixed = Mixed(Mixed(log_of_two_seconds, UNREAD, 0.5), UNREAD, 0.4)  # 30 % of all are the log's own
    list(log_of_two_seconds.one_pass())
    at_rate = log_report(mixed, Constant(20, 1), sent=20)
    at_speed = log_report(mixed, LogTimes(3.0), sent=20)
    assert at_rate["log_mean"] == 2
    assert at_rate["rounds"] == at_speed["rounds"] == 2
    assert at_rate["factor"] == at_speed["factor"] == pytest.approx(10)


@pytest.mark.parametrize("marked", [lambda hook: hook, signing])
def test_requests_that_a_hook_left_out_count_in_the_rounds_of_the_log(
    log_of_two_seconds: Requests, marked: Callable[[Hook], Hook]
) -> None:
    def leave_out_thirds(request: Planned) -> Planned | None:
        return None if request.number % 3 == 2 else request

    log_of_two_seconds.loop = True
    hooked = Hooked(log_of_two_seconds, marked(leave_out_thirds))
    sent = 0
    for chunk in Plan(hooked, Limited(Constant(100), requests=18)):
        sent += len((hooked.sign(chunk) if hooked.signing else chunk).due)
    report = log_report(hooked, Constant(100), sent=sent)
    assert report["rounds"] == pytest.approx((12 + 5 if hooked.signing else 18 + 8) / 3)


def test_a_list_of_urls_has_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("http://a.example/1\nhttp://a.example/2\n")
    requests = Requests(UrlList.read(path, "urls.txt"))
    list(requests.one_pass())
    report = log_report(requests, Constant(5, 2), sent=10)
    assert [report[key] for key in ("log_mean", "log_peak", "log_s", "log_requests", "factor")] == [None] * 5
    assert log_sentence(report) == "the log was replayed 5.00 times"


def test_a_log_shorter_than_a_second_has_no_busiest_one(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"2026-01-01,00:00:00.{tenth},0,0,0,5,/ok,200,GET" for tenth in range(9)]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    requests = Requests(path, loop=False)
    list(requests.one_pass())
    report = log_report(requests, LogTimes(2.0), sent=9)
    assert report["log_mean"] == pytest.approx(10)
    assert report["log_peak"] is None
    assert log_sentence(report) == "the log holds 9 requests to send in 0.9 s; this run offered 2 times its mean rate"
    assert log_sentence(report | {"log_requests": 5000}).startswith("the log holds 5,000 requests to send in 0.9 s;")


@pytest.fixture
def log_of_two_seconds(tmp_path: Path) -> Requests:
    path = tmp_path / "log.csv"
    rows = [f"2026-01-01,00:00:0{second},0,0,0,5,/ok,200,GET" for second in (0, 0, 1)]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    return Requests(path, loop=False)


@pytest.mark.parametrize("relation", [gives_way, needed])
@pytest.mark.parametrize("name", ["run", "sweep", "find", "duet"])
def test_the_tables_of_settings_name_parameters_of_the_command(
    relation: Callable[[str], Mapping[str, Set[str]]], name: str
) -> None:
    known = {parameter.name for parameter in cli.commands[name].params} | {"target", "demo_target"}
    for one, others in relation(name).items():
        assert {re.split("[=>]", label)[0] for label in (one, *others)} <= known


def test_a_rate_without_arrivals_has_independent_ones() -> None:
    assert Load(tps=5.0).checked().arrivals == "poisson"
    assert Load(tps=5.0, arrivals="even").checked().arrivals == "even"
    assert Load(vusers=5).checked().arrivals is None
