"""Options from ``logreplay.toml`` and ``LOGREPLAY_*``; what writes such a file; completions and manual pages."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from logreplay.cli.commands.init import settings_text
from logreplay.cli.main import cli, run
from logreplay.cli.settings.configurable import Configurable, find_settings
from logreplay.cli.settings.empty_values import key_of
from logreplay.cli.settings.file import read_settings
from logreplay.core.errors import LogreplayError
from logreplay.options.clashes import MODES
from logreplay.replay.requests.headers import FixedHeader
from logreplay.settings_files.rules import REFUSED

SAMPLE = Path(__file__).parents[3] / "sample_logs" / "nginx_combined.log"
LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00,0,0,0,5,/ok,200,GET\n"
TARGET = "http://192.0.2.1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log of one request, and we are in it."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(LOG)
    for name in [name for name in os.environ if name.startswith("LOGREPLAY_")]:
        monkeypatch.delenv(name)
    return tmp_path


def write(text: str) -> None:
    Path("logreplay.toml").write_text(text, encoding="utf-8")


def previewed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What ``run --dry-run`` says would be sent: how many requests in which time."""
    assert run(["run", "a.csv", "--dry-run", *words]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if re.match(r"\d+ requests?", line))


@cache
def default_of(*words: str) -> str:
    """The options of a command without settings, in words: parsed once for all options of it."""
    return repr(parameters(*words))


def context_of(*words: str) -> click.Context:
    """The context in which a command is called with these words."""
    with cli.make_context("logreplay", list(words)) as context:
        context.invoked_subcommand = words[0]
        find_settings(context)
        return cli.commands[words[0]].make_context(words[0], list(words[1:]), context)


def parameters(*words: str) -> dict[str, Any]:
    """The options of a command as it receives them."""
    return context_of(*words).params


def invoked(*words: str) -> dict[str, Any]:
    """The options of a command as its function receives them."""
    with context_of(*words) as context:
        params: dict[str, Any] = context.command.invoke(context)
        return params


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*words]) in (1, 2)
    return capsys.readouterr().err


def test_what_is_typed_wins_over_variables_they_over_the_file_it_over_defaults(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("requests = 5\n[run]\ntps = 10\nrequests = 10\n")
    assert previewed(capsys).startswith("10 requests")
    monkeypatch.setenv("LOGREPLAY_REQUESTS", "20")
    assert previewed(capsys).startswith("20 requests")
    monkeypatch.setenv("LOGREPLAY_RUN_REQUESTS", "30")
    assert previewed(capsys).startswith("30 requests")
    assert previewed(capsys, "--requests", "40").startswith("40 requests")


@pytest.mark.parametrize(
    ("settings", "words", "sent"),
    [
        ("tps = 10", ["--speed", "2"], "1 request"),
        ("speed = 3", ["--tps", "10", "--for", "1s"], "10 requests"),
        ("vusers = 5\nthink = '1s'", ["--tps", "10", "--for", "1s"], "10 requests"),
        ("tps = 10\narrivals = 'poisson'", ["--speed", "1"], "1 request"),
        ("for = '1m'", ["--steps", "5:1s"], "5 requests"),
        ("follow = true\ndelay = '1s'", ["--tps", "10", "--for", "1s"], "10 requests"),
        ("tps = 10\nshuffle = true\nskip-idle = '1s'", ["--speed", "1", "--no-shuffle"], "1 request"),
        ("speed = 1\nskip-idle = '1s'", ["--tps", "10", "--for", "1s"], "10 requests"),
        ("tps = 5\narrivals = 'log'\nskip-idle = '1s'", ["--ramp", "10..10", "--for", "1s"], "10 requests"),
        ("tps = 5\narrivals = 'log'\nskip-idle = '1s'", ["--steps", "5:1s"], "5 requests"),
        ("arrivals = 'log'\nskip-idle = '1s'", ["--tps", "10", "--arrivals", "even", "--for", "1s"], "10 requests"),
        ("tps = 10\narrivals = 'log'\nfor = '1s'", ["--shuffle"], "10 requests"),
        ("tps = 10\nshuffle = true\nfor = '1s'", ["--request-order", "log"], "10 requests"),
        ("tps = 10\nrequest-order = 'random'\nfor = '1s'", ["--shuffle"], "10 requests"),
        ("tps = 10\nrequest-order = 'random'", ["--speed", "1"], "1 request"),
        ("tps = 10\nmax-in-flight = 9\nlate = 'drop:1s'", ["--vusers", "2"], "1 request"),
        ("tps = 10\nrequests = 7", ["--no-requests"], "1 request"),
        ("vusers = 3\nthink = '5s'\nrequests = 4", ["--think", "0"], "4 requests"),
        ("tps = 10\nmatch = ['nothing']\nfor = '1s'", ["--no-match"], "10 requests"),
        ("tps = 10\nlog = 'none.log'\nfor = '1s'", ["--no-target"], "10 requests"),
        ("tps = 10\nfor = '1s'\nno-cache = true", ["--cache"], "10 requests"),
        ("tps = 10\nfor = '1s'\nby-client = true", ["--no-by-client"], "10 requests"),
        ("tps = 10\nfor = '1s'\nby-client = true", ["--sender", "aiohttp"], "10 requests"),
        ("tps = 10\nfor = '1s'\nsender = 'aiohttp'", ["--by-client"], "10 requests"),
        ("tps = 10\nfor = '1s'\nsender = 'aiohttp'", ["--http", "2"], "10 requests"),
        ("tps = 10\nfor = '1s'\nhttp = '2'\nconnections = 3", ["--sender", "aiohttp"], "10 requests"),
        ("tps = 10\nfor = '1s'\nhttp = '2'\nconnections = 3\nstreams = 2", ["--http", "1.1"], "10 requests"),
        ("tps = 10\nfor = '1s'\nhttp = '2'\nconnections = 3", ["--by-client"], "10 requests"),
        ("tps = 10\nfor = '1s'\nhttp = '2'\nby-client = true", ["--connections", "3"], "10 requests"),
        ("tps = 10\nfor = '1s'\nhttp = '2'\nstreams = 3", ["--no-keep-alive"], "10 requests"),
        ("tps = 10\nfor = '1s'\nno-keep-alive = true", ["--by-client"], "10 requests"),
        ("tps = 10\nfor = '1s'\nlive = '0'", ["--dry-run"], "10 requests"),
        ("tps = 10\nfor = '1s'\nhttp = '2'\nno-keep-alive = true", ["--streams", "3"], "10 requests"),
    ],
)
def test_what_is_typed_sets_aside_the_settings_that_contradict_it(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: str, words: list[str], sent: str
) -> None:
    write(f"[run]\n{settings}\n")
    assert previewed(capsys, *words).startswith(sent)


def test_workers_of_the_settings_give_way_to_orders_and_a_third_target_to_alternation(folder: Path) -> None:
    write("[run]\ntps = 10\nworkers = 2\n[duet]\nnoise = 'http://127.0.0.1:3'\n")
    assert parameters("run", "a.csv")["workers"] == 2
    steered, alone = (
        parameters("run", "a.csv", *more)["workers"] for more in (("--control", "load"), ("--no-workers",))
    )
    assert steered == alone
    pair = ("duet", "a.csv", "http://127.0.0.1:1", "http://127.0.0.1:2")
    assert parameters(*pair)["noise"] == "http://127.0.0.1:3"
    assert parameters(*pair, "--alternate")["noise"] is None


@pytest.mark.parametrize(
    ("settings", "words", "name", "value"),
    [
        ("[run]\ndemo-target = true", "run a.csv http://127.0.0.1:1 --tps 5", "demo_target", False),
        ("[convert]\njson = true", "convert a.csv -o -", "as_json", False),
        ("[convert]\noutput = '-'", "convert a.csv --json", "output", None),
        ("[duet]\nignore = ['body']", "duet a.csv http://127.0.0.1:1 http://127.0.0.1:2 --alternate", "ignore", ()),
        ("[find]\nvusers = true", "find a.csv http://127.0.0.1:1 --p99 1s --demand 5", "vusers", False),
        ("[plan]\nforecast = 'a.csv'", "plan a.csv --from x --growth 5%", "forecast", None),
    ],
)
def test_a_setting_that_an_option_of_a_higher_place_excludes_is_left_out(
    folder: Path, settings: str, words: str, name: str, value: object
) -> None:
    """They were refused as contradictions."""
    write(f"{settings}\n")
    assert parameters(*words.split())[name] == value


@pytest.mark.parametrize(
    ("option", "header", "typed"),
    [
        ("host", "Host", "--host high"),
        ("agent", "user-agent", "--agent high"),
        ("referer", "Referer", "--referer high"),
        ("auth", "Authorization", "--auth bearer:high"),
        ("trace", "Traceparent", "--trace 100%"),
    ],
)
def test_of_two_values_of_a_header_that_of_the_higher_place_is_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch, option: str, header: str, typed: str
) -> None:
    """They were refused: a request has one of them."""
    Path("high").write_text("secret")
    monkeypatch.setattr(click.Command, "invoke", lambda _, context: context.params)
    write(f"[run]\nheader = ['{header}: low', 'X-A: 1']\n")
    words = ["run", "a.csv", TARGET, "--tps", "5"]
    params = invoked(*words, *typed.split())
    assert (params["header"], params[option] is None) == ((FixedHeader("X-A", "1"),), False)
    write(f"[run]\n{option} = '{typed.split()[1]}'\n")
    params = invoked(*words, "--header", f"{header}: high")
    assert (params["header"], params[option]) == ((FixedHeader(header, "high"),), None)


def test_what_needs_a_replaced_option_is_left_out_and_what_is_replaced_is_not_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trace of the file was replaced, and its address was refused for lack of a trace."""
    write("[run]\ntps = 5\ntrace = '5%'\ntrace-url = 'http://x/{trace_id}'\nheader = ['User-Agent: a', 'X-A: 1']\n")
    trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert run(["run", "a.csv", "--dry-run", "--header", trace]) == 0
    assert "logreplay.toml: tps 5\n" in capsys.readouterr().err
    assert run(["run", "a.csv", "--dry-run", "--agent", "b", "--no-trace"]) == 0
    assert "logreplay.toml: tps 5, header X-A: 1\n" in capsys.readouterr().err


def test_what_needs_one_process_gives_way_to_several_workers_of_a_higher_place(folder: Path) -> None:
    write("[run]\ncontrol = 'load'\n[find]\nby-client = true\ncookies = true\n")
    for number, kept in (("1", True), ("2", False)):
        assert bool(parameters("run", "a.csv", "--tps", "5", "--workers", number)["control"]) is kept
        found = parameters("find", "a.csv", TARGET, "--p99", "1s", "--workers", number)
        assert (found["by_client"], found["cookies"]) == (kept, kept)


def test_a_cluster_of_the_variables_gives_way_to_what_needs_one_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGREPLAY_CLUSTER", "local:2")
    assert parameters("run", "a.csv", "--tps", "5")["cluster"] is not None
    assert parameters("run", "a.csv", "--tps", "5", "--control", "load")["cluster"] is None


def test_the_log_s_own_bursts_leave_settings_that_go_with_them(folder: Path) -> None:
    write("[run]\ntps = 10\nshuffle = true\nskip-idle = '1s'\n")
    even, bursts = parameters("run", "a.csv"), parameters("run", "a.csv", "--arrivals", "log")
    assert (even["shuffle"], even["skip_idle"]) == (True, None)
    assert (bursts["shuffle"], bursts["skip_idle"]) == (False, 1.0)


def test_a_sweep_keeps_settling_where_arrivals_are_even(folder: Path) -> None:
    write("[sweep]\nsettle = '1s'\n")
    assert parameters("sweep", "10,20", "a.csv", "--arrivals", "even")["settle"] == 1.0
    assert parameters("sweep", "10,20", "a.csv", "--arrivals", "log")["settle"] is None


def test_a_variable_sets_aside_the_settings_of_the_file_that_contradict_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("[run]\nspeed = 3\n")
    monkeypatch.setenv("LOGREPLAY_RUN_TPS", "10")
    assert previewed(capsys, "--for", "1s").startswith("10 requests")


def test_an_option_and_what_resets_it_contradict_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = failed(capsys, "run", "a.csv", "--tps", "1", "--no-tps")
    assert "--tps and --no-tps contradict each other: give one of them" in said


NEEDED = {
    "convert": ["a.csv"],
    "inspect": ["a.csv"],
    "urls": ["a.csv"],
    "analyze": ["a.csv"],
    "seconds": ["a.csv"],
    "capacity": ["a.csv", "--demand", "1"],
    "compare": ["a.csv"],
    "duet": ["a.csv", TARGET, TARGET],
    "plot": ["a.csv"],
    "completion": ["bash"],
}
"""The words without which a command cannot be parsed."""
BESIDE = {"cookies": ["--by-client"], "routes": ["--watch", "pid:1"]}
"""The words without which a switch of the settings is left out."""
SWITCHES = [
    (name, option, switch)
    for name, command in cli.commands.items()
    for option in command.params
    if isinstance(option, click.Option) and option.is_flag
    for switch in (*option.opts, *option.secondary_opts)
]
RESETS = [
    (name, option, reset.opts[0])
    for name, command in cli.commands.items()
    if isinstance(command, Configurable)
    for option, reset in command.resets.values()
]
SETTABLE = [*dict.fromkeys(row[0] for row in RESETS)]


@pytest.mark.parametrize("command", cli.commands)
def test_every_switch_alone_is_accepted_and_received(folder: Path, command: str) -> None:
    words = NEEDED.get(command, [])
    for option, switch in [row[1:] for row in SWITCHES if row[0] == command]:
        on = switch in option.opts and option.flag_value is not False
        assert bool(parameters(command, *words, switch)[option.name or ""]) is on, switch


@pytest.mark.parametrize("command", SETTABLE)
def test_every_option_that_resets_another_alone_is_accepted_and_changes_nothing(folder: Path, command: str) -> None:
    words = NEEDED.get(command, [])
    default = repr(parameters(command, *words))
    for reset in [row[2] for row in RESETS if row[0] == command]:
        assert repr(parameters(command, *words, reset)) == default, reset


@pytest.mark.parametrize("command", SETTABLE)
def test_every_switch_of_the_settings_is_undone_by_its_opposite_and_contradicts_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for option, reset in [row[1:] for row in RESETS if row[0] == command]:
        if isinstance(option, click.Option) and option.is_flag:
            words = [*NEEDED.get(command, []), *BESIDE.get(key_of(option), [])]
            default = default_of(command, *words)
            with monkeypatch.context() as variables:
                name = f"LOGREPLAY_{command}_{key_of(option)}".replace("-", "_").upper()
                variables.setenv(name, "1")
                assert repr(parameters(command, *words)) != default, name
                assert repr(parameters(command, *words, reset)) == default, name
                with pytest.raises(click.UsageError, match=f"--{key_of(option)} and {reset} contradict each other"):
                    parameters(command, *words, f"--{key_of(option)}", reset)


def test_rates_that_are_typed_win_over_users_of_the_settings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("[sweep]\nvusers = '1,2'\nthink = '1s'\n")
    assert "none.log" in failed(capsys, "sweep", "10,20", "none.log", "-o", "a")
    write("[sweep]\nrefine = true\nrates = '10,20'\n")
    assert "none.log" in failed(capsys, "sweep", "--vusers", "1,2", "none.log", "-o", "b")


@pytest.mark.parametrize(
    ("words", "section", "taken", "left_out"),
    [
        ("sweep 1,2 b.csv", "vusers = '1,2'\nthink = '1s'", "target", ["--vusers", "--think"]),
        ("sweep --vusers 1 b.csv", "rates = '1,2'", "target", ["RATES"]),
        ("sweep b.csv", "vusers = '1,2'", "target, vusers", []),
        ("sweep --vusers 1 b.csv http://127.0.0.1:1", "rates = '1,2'", "", ["RATES"]),
        ("plan b.csv --from none", "p99 = '1s'", "p99", ["TARGET"]),
        ("find b.csv --bound p99<1s", "p99 = '2s'", "target", ["--p99"]),
    ],
)
def test_the_settings_that_are_told_are_those_that_count(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, section: str, taken: str, left_out: list[str]
) -> None:
    """Users beside rates, a target beside a typed one and one beside ``--from`` were told as taken."""
    write(f"log = 'a.csv'\ntarget = 'http://127.0.0.1:1'\n[{words.split()[0]}]\n{section}\n")
    told = [line for line in failed(capsys, *words.split()).splitlines() if line.startswith("logreplay.toml: ")]
    heads = [line.split()[1] for line in told if " is left out" in line]
    assert sorted(heads) == sorted(left_out)
    shown = [line for line in told if " is left out" not in line]
    assert [re.findall(r"(?:: |, )([a-z]\w+)(?= )", line) for line in shown] == ([taken.split(", ")] if taken else [])


def test_rates_and_users_of_one_section_exclude_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rates were left out in silence."""
    write("log = 'a.csv'\n[sweep]\nrates = '1,2'\nvusers = '1,2'\n")
    assert "--vusers and RATES exclude each other" in failed(capsys, "sweep")


def test_a_variable_with_several_values_has_one_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGREPLAY_RUN_HEADER", "X-Test: 1 2\nX-Other: 3\n")
    assert parameters("run", "--tps", "1")["header"] == (FixedHeader("X-Test", "1 2"), FixedHeader("X-Other", "3"))
    assert parameters("run", "--tps", "1", "--no-header")["header"] == ()


@pytest.mark.parametrize(
    ("variable", "value", "keeps_alive"),
    [
        ("LOGREPLAY_RUN_NO_KEEP_ALIVE", "1", False),
        ("LOGREPLAY_RUN_NO_KEEP_ALIVE", "0", True),
        ("LOGREPLAY_NO_KEEP_ALIVE", "true", False),
        ("LOGREPLAY_KEEP_ALIVE", "0", False),
        ("LOGREPLAY_KEEP_ALIVE", "1", True),
        ("LOGREPLAY_KEEP_ALIVE", "", True),
    ],
)
def test_a_switch_that_turns_something_off_has_a_variable_under_both_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, keeps_alive: bool
) -> None:
    monkeypatch.setenv(variable, value)
    assert parameters("run")["keep_alive"] is keeps_alive


def test_a_variable_reaches_only_the_commands_for_which_it_means_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGREPLAY_WORKERS", "7")
    assert parameters("run")["workers"] == parameters("sweep")["workers"] == 7
    assert parameters("serve")["workers"] == 4
    monkeypatch.setenv("LOGREPLAY_SERVE_WORKERS", "5")
    assert parameters("serve")["workers"] == 5


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LOGREPLAY_TPS", "1", "does not mean the same in all commands; set LOGREPLAY_RUN_TPS or LOGREPLAY_FIND_TPS"),
        ("LOGREPLAY_RUN_BY_CLIENT", "maybe", "LOGREPLAY_RUN_BY_CLIENT=maybe: 'by-client' is a switch; set 1 or 0"),
    ],
)
def test_a_variable_of_an_option_whose_value_cannot_count_is_an_error(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    said: str,
) -> None:
    monkeypatch.setenv(variable, value)
    assert said in failed(capsys, "run", "a.csv", "--tps", "1", "--dry-run")
    assert run(["run", "--help"]) == 0


def test_what_the_file_sets_is_said_on_each_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write('no-keep-alive = true\n[run]\ntps = 10\nfor = "1s"\n')
    assert run(["run", "a.csv", "--dry-run"]) == 0
    assert "logreplay.toml: tps 10, for 1s, no-keep-alive\n" in capsys.readouterr().err
    assert run(["run", "a.csv", "--dry-run", "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("settings", "words", "told"),
    [
        ("[run]\nmax-in-flight = 3", "--vusers 2", "--max-in-flight is left out beside --vusers"),
        ("[run]\nby-client = true", "--tps 5 --sender aiohttp", "--by-client is left out beside --sender"),
        ("[run]\ncontrol = 'load'", "--tps 5 --workers 2", "--control is left out beside --workers"),
        ("[run]\nstreams = 2\nhttp = '2'", "--tps 5 --no-keep-alive", "--streams is left out beside --no-keep-alive"),
        ("[run]\ndemo-target = true", f"{TARGET} --tps 5", "--demo-target is left out beside TARGET"),
        ("[run]\nmax-in-flight = 3\nby-client = false", "--tps 5 --sender aiohttp", ""),
        ("[run]\nmax-in-flight = 3", "--vusers 2 --max-in-flight 3 --no-max-in-flight", ""),
    ],
)
def test_settings_left_out_beside_what_excludes_them_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: str, words: str, told: str
) -> None:
    """A limit of the file was dropped in silence."""
    write(f"{settings}\n")
    run(["run", "a.csv", *words.split(), "--for", "1s", "--dry-run"])
    err = capsys.readouterr().err
    assert (f"logreplay.toml: {told}, which excludes it\n" if told else "") in err
    assert err.count("is left out") == bool(told)


def test_settings_that_need_an_option_which_is_not_given_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were dropped in silence, and the user thought that cookies were kept."""
    write("cookies = true\nlogin = 'no such file'\n[run]\nthink = '1'\n[sweep]\nroutes = true\n")
    assert run(["run", "a.csv", "--tps", "5", "--for", "1s", "--dry-run"]) == 0
    assert [line for line in capsys.readouterr().err.splitlines() if "is left out" in line] == [
        "logreplay.toml: --cookies is left out: it needs --by-client",
        "logreplay.toml: --login is left out: it needs --by-client",
        "logreplay.toml: --think is left out: it needs --vusers",
    ]


def test_what_widens_permission_is_said_even_if_quiet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write('methods = ["GET", "POST"]\n[run]\ntps = 10\nfor = "1s"\n')
    assert run(["run", "a.csv", "--dry-run", "-q"]) == 0
    assert "methods GET,POST" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\nmax_in_flight = 3", "line 2: run has no option 'max_in_flight'; did you mean max-in-flight?"),
        ("# x\n[rnu]\ntps = 3", "line 2: there is no command 'rnu'; did you mean run"),
        ("\ntimout = 3", "line 2: there is no option 'timout' for all commands; did you mean timeout"),
        ("shell = 'bash'", "line 1: there is no option 'shell' for all commands; logreplay COMMAND --help lists"),
        ("check = true", "line 1: there is no option 'check' for all commands"),
        ("place = 'x'", "line 1: there is no option 'place' for all commands"),
        ("[control]\nplace = 'x'", "line 1: there is no command 'control'"),
        ("[run]\nduration = 3\nfor = 4", "line 2: 'duration' and 'for' set the same option: leave out one of them"),
        ("rate = 3", "line 1: there is no option 'rate' for all commands; it is not the same in all commands"),
        ("tps = 3", "line 1: there is no option 'tps' for all commands; it is not the same in all commands"),
        ("[run]\nby-client = 3", "line 2: 'by-client' is a switch: write true or false, not 3"),
        ("[run]\ntps = true", "line 2: 'tps' needs a value, not true"),
        ("[run]\ntps = {a = 1}", "line 2: 'tps' needs a value"),
        ("[run\n", "logreplay.toml: is not TOML: "),
        ("[sweep]\nhook = 'a:b'", "line 2: 'hook' cannot be set in a file: it runs code; give it on the command line"),
        ("no-force = false", "line 1: 'force' cannot be set in a file: it overwrites results"),
        ("force = true", "line 1: 'force' cannot be set in a file: it overwrites results"),
        ("watch = ['a=!rm -r .']", "line 1: 'watch' cannot be set in a file: it runs a command"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    write(text)
    assert said in failed(capsys, "run", "--tps", "5", "--dry-run")


def test_a_value_that_cannot_be_says_where_it_comes_from(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("[run]\ntps = 'fast'")
    assert "expected a rate above 0 requests/s, such as 100 or 0.5 (from logreplay.toml)" in failed(capsys, "run")
    monkeypatch.setenv("LOGREPLAY_RUN_TPS", "faster")
    assert "(from LOGREPLAY_RUN_TPS)" in failed(capsys, "run")
    assert "(from" not in failed(capsys, "run", "--tps", "x")


def test_a_file_cannot_both_name_a_target_and_permit_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a stranger's folder could make who types ``logreplay run`` in it load whomever."""
    write(f'target = "{TARGET}:81"\nallow-target = ["192.0.2.1"]\n[run]\ntps = 10\nfor = "1s"')
    assert "one of the two must come from you" in failed(capsys, "run")
    write(f'target = "{TARGET}"\n[run]\ntps = 10\nfor = "1s"')
    assert "if you may load it, add --allow-target 192.0.2.1" in failed(capsys, "run")


def test_a_file_cannot_permit_the_address_of_the_host_it_names_or_a_url_that_it_names_as_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write('log = "http://192.0.2.1/x"\nallow-target = ["192.0.2.1"]\n[run]\ntps = 10\nfor = "1s"')
    assert "add --allow-target 192.0.2.1" in failed(capsys, "run")
    write('target = "http://0xc0000201"\nallow-target = ["192.0.2.1"]\n[run]\ntps = 10\nfor = "1s"')
    assert "--allow-target" in failed(capsys, "run")


def test_only_a_file_of_ones_own_can_widen_permission(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write('allow-target = ["192.0.2.1"]')
    Path("logreplay.toml").chmod(0o666)
    assert "counts only in a file that is yours" in failed(capsys, "run", "--tps", "5", "--dry-run")


def test_help_is_there_also_where_the_file_is_broken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("[run\n")
    for words in (["run", "--help"], ["sweep", "1..2", "-h"]):
        assert run(words) == 0
        assert capsys.readouterr().out.startswith(f"Usage: logreplay {words[0]}")
    assert "is not TOML" in failed(capsys, "run", "--tps", "5", "--dry-run")


def test_users_step_by_step_take_log_and_target_from_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(f'log = "one.log"\ntarget = "{TARGET}"')
    assert "one.log" in failed(capsys, "sweep", "--vusers", "1,2", "-o", "a")
    assert "two.log" in failed(capsys, "sweep", "--vusers", "1,2", "two.log", "-o", "b")
    assert "--vusers and RATES exclude each other" in failed(capsys, "sweep", "1", "2", "3", "--vusers", "1,2")
    assert "RATES: 'access.log' is not a rate" in failed(capsys, "sweep", "access.log", "10,20", "http://127.0.0.1:1")


def examples(text: str) -> Iterator[tuple[str, str]]:
    """Each example of a settings file, as a file that sets only it, with a command for which it counts."""
    command, head = "run", ""
    for line in text.splitlines():
        if section := re.fullmatch(r"\[(\w+)\]", line):
            command, head = section[1], f"{line}\n"
        elif (set_line := line.removeprefix("# ")) != line and re.match(r"[\w-]+ = (?!\"\")", set_line):
            yield command, head + set_line


def test_every_line_of_a_new_file_may_be_set(folder: Path) -> None:
    text = settings_text(cli, "access.log", "http://127.0.0.1")
    lines = [re.sub(r"^# (?=[\w-]+ = )", "", line) for line in text.splitlines()]
    write("\n".join(lines))
    Path("logreplay.toml").chmod(0o600)
    assert len(lines) > 100
    values = read_settings(Path("logreplay.toml"))
    assert values["find"]["timeout"].value == values["run"]["timeout"].value == "30s"
    assert not REFUSED.keys() & tomllib.loads("\n".join(lines)).keys()


EXAMPLES = list(examples(settings_text(cli, "", "")))


@pytest.mark.parametrize("command", dict.fromkeys(command for command, _ in EXAMPLES))
def test_each_example_of_a_new_file_is_accepted(folder: Path, command: str) -> None:
    Path("token.txt").write_text("0123456789abcdef\n")
    for line in [line for of, line in EXAMPLES if of == command]:
        assert re.search(r'= (true|"[^"\']+"|\["[^"\']+"\])( |$)', line), line
        write(line)
        Path("logreplay.toml").chmod(0o600)
        context = context_of(command, *NEEDED.get(command, []))
        (key, value), *_ = tomllib.loads(line.rpartition("\n")[2]).items()
        named = (each for each in context.command.params if key in (key_of(each), *(name[2:] for name in each.opts)))
        option = next(named)
        for text in value if isinstance(value, list) else [value] if isinstance(value, str) else []:
            option.type.convert(text, option, context)  # also where it counts only beside another option


def words_beside(command: str, keys: set[str]) -> list[str]:
    """The words that a command needs beside keys of the settings."""
    if command == "convert":
        return ["a.csv"]
    load = ["--p99", "1s"] * (command == "find" and not keys & {"p50", "p90", "p99", "bound"})
    load += ["--tps", "10"] * (command == "run" and not keys & {*MODES})
    rates = ["10,20"] * (command == "sweep" and "vusers" not in keys)
    return [*load, *rates, "a.csv", *(["http://127.0.0.1:1"] if "demo-target" not in keys else [])]


@pytest.fixture
def checked(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that tries settings with a command, without a request, and returns its errors and options left out."""

    def check(call: Any, *_: Any) -> None:
        if not isinstance(call, tuple):  # of names of logs
            call.checked()
        raise LogreplayError("checked")

    for place in ("runs.single.run_once", "runs.curve.sweep_once", "runs.rate_search.find_once"):
        monkeypatch.setattr(f"logreplay.{place}", check)
    monkeypatch.setattr("logreplay.conversion.convert_logs", check)
    monkeypatch.setenv("KEY_PASSWORD", "1")
    Path("token.txt").write_text("0123456789abcdef\n")

    def said(command: str, lines: dict[str, str]) -> str:
        where = 'log = "a.csv"\ntarget = "http://127.0.0.1:1"\n' if "rates" in lines else ""
        write("\n".join([where, f"[{command}]", *lines.values()]))
        Path("logreplay.toml").chmod(0o600)
        told = failed(capsys, command, *([] if where else words_beside(command, {*lines})))
        return "".join(line for line in told.splitlines(True) if " is left out" in line or line.startswith("Error"))

    return said


@pytest.mark.parametrize("command", ["run", "sweep", "find", "convert"])
def test_each_line_of_a_new_file_alone_is_valid_or_says_what_it_needs(
    checked: Callable[..., str], command: str
) -> None:
    """Thirty lines were left out or refused, and none said why; the lines of a section exclude each other."""
    together, chosen = dict[str, str](), {"target"}
    for line in lines_of(command):
        key = line.partition(" = ")[0]
        sentence = (re.search(r"Needs (?!a TARGET)(.*?)\.( |$)", line) or ["", ""])[1]
        needed = [name for name in re.split(" or | and ", sentence) if name]
        told = checked(command, {key: line})
        if needed and not ("tps" in needed and "--tps" in words_beside(command, {key})):
            assert any(f"--{name}" in told for name in needed), (line, told)
        elif key != "demo-target":
            assert told == "Error: checked\n", (line, told)
        others = set((re.search(r"Not with (.*)\.$", line) or ["", ""])[1].split(", "))
        if not others & chosen and (not needed or {*needed} & chosen):
            together[key], chosen = line, chosen | {key}
    assert len(together) > 10
    if command == "sweep":
        del together["rates"]
    assert checked(command, together) == "Error: checked\n"


def lines_of(command: str) -> Iterator[str]:
    """The examples of a new file that are for a command."""
    section = ""
    for line in settings_text(cli, "", "").splitlines():
        section = (re.fullmatch(r"\[(\w+)\]", line) or ["", section])[1]
        known = {key_of(each) for each in cli.commands[command].params}
        if re.match(r"# [\w-]+ = (?!\"\")", line) and (section == command or (not section and command != "convert")):
            assert line[2:].partition(" = ")[0].removeprefix("no-") in {name.removeprefix("no-") for name in known}
            yield line[2:]


def test_init_reads_the_log_and_asks_the_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("access.log").write_bytes(SAMPLE.read_bytes()[:9000].rpartition(b"\n")[0])
    assert "connection refused" in failed(capsys, "init", "--log", "access.log", "--target", "http://127.0.0.1:1")
    assert "no such file" in failed(capsys, "init", "--log", "nope.log")
    assert not Path("logreplay.toml").exists()
    assert run(["init", "--log", "access.log"]) == 0
    assert tomllib.loads(written := Path("logreplay.toml").read_text("utf-8"))["log"] == "access.log"
    assert '# bound = ["p95<300ms"]' in written
    assert "exists already; replace it with --force" in failed(capsys, "init", "--log", "access.log")
    for name in ('it\'s "x".log', "a\U0001f600.log", "a\x7f.log"):
        assert run(["init", "--log", name, "--no-check", "--force"]) == 0
        assert tomllib.loads(Path("logreplay.toml").read_text("utf-8"))["log"] == name


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
@pytest.mark.parametrize("name", ["", *cli.commands])
def test_a_manual_page_is_sound(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", *([name] if name else [])]) == 0
    page = capsys.readouterr().out
    done = subprocess.run(["groff", "-man", "-ww", "-z"], input=page, capture_output=True, encoding="utf-8", timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_manual_page_shows_signs_as_they_are() -> None:
    if shutil.which("groff") is None:
        pytest.skip("needs groff")
    from logreplay.cli.commands.shell import page

    text = page(cli, "run")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-c"], input=text, capture_output=True, encoding="utf-8", timeout=20
    )
    shown = re.sub(r".\x08|\x1b\[[\d;]*m", "", done.stdout)
    assert "--match ^/api --header 'X-Test: 1'" in shown
    assert "SETTINGS" in shown


def test_a_manual_page_keeps_the_lines_of_a_list_and_begins_its_examples_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The list of orders stood under EXAMPLES, and the example under a sign that is not printable."""
    assert run(["man", "control"]) == 0
    about, _, examples = capsys.readouterr().out.partition(".SH EXAMPLES\n")
    assert ".nf\nORDER is one of\nraise 20%   send 20 % more\n" in about
    assert examples.startswith(".nf\nlogreplay run access.log")


def test_all_manual_pages_are_written(folder: Path) -> None:
    assert run(["man", "-o", "man1"]) == 0
    assert {path.name for path in Path("man1").iterdir()} == {
        "logreplay.1",
        *(f"logreplay-{name}.1" for name in cli.commands),
    }


def test_manual_pages_replace_earlier_ones_and_no_other_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", "-o", "man1"]) == 0
    assert run(["man", "-o", "man1"]) == 0
    Path("man1/logreplay-run.1").write_text("mine")
    Path("man1/logreplay.1").unlink()
    assert "man1/logreplay-run.1: exists already, and is not a page" in failed(capsys, "man", "-o", "man1")
    assert Path("man1/logreplay-run.1").read_text() == "mine"
    assert not Path("man1/logreplay.1").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_names_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_LOGREPLAY_COMPLETE" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_values(folder: Path) -> None:
    program = folder / "logreplay"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m logreplay.cli.main "$@"\n')
    program.chmod(0o755)
    script = """
        source <(logreplay completion bash)
        complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _logreplay_completion logreplay
            echo "${COMPREPLY[@]}"; }
        complete_it logreplay sw
        complete_it logreplay run --progress js
    """
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": path}
    )
    assert done.stdout.split() == ["sweep", "json"], done.stderr


def test_live_may_stand_before_the_log() -> None:
    context = cli.commands["run"].make_context("run", ["--live", "access.log", "127.0.0.1:8080"])
    assert (context.params["log"], context.params["live"].port) == (Path("access.log"), 0)
    context = cli.commands["run"].make_context("run", ["--live", "8089", "access.log"])
    assert (context.params["log"], context.params["live"].port) == (Path("access.log"), 8089)
    assert isinstance(cli, click.Group)


def test_a_nul_character_in_the_file_is_an_error_that_names_the_option(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write('[run]\ntps = 1\ncacert = "a\\u0000b"\n')
    assert "logreplay.toml, line 3: 'cacert' holds the character U+0000" in failed(capsys, "run", "a.csv", TARGET)


def test_two_values_of_an_option_come_from_the_file_and_from_a_variable(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write('[duet]\nswap = ["http://127.0.0.1:1", "http://127.0.0.1:2"]\n')
    words = ("duet", "a.csv", "http://127.0.0.1:3", "http://127.0.0.1:4")
    assert parameters(*words)["swap"] == ("http://127.0.0.1:1", "http://127.0.0.1:2")
    monkeypatch.setenv("LOGREPLAY_DUET_SWAP", "http://127.0.0.1:5 http://127.0.0.1:6")
    assert parameters(*words)["swap"] == ("http://127.0.0.1:5", "http://127.0.0.1:6")
    monkeypatch.delenv("LOGREPLAY_DUET_SWAP")
    write('[duet]\nswap = ["http://192.0.2.1", "http://127.0.0.1:2"]\nallow-target = ["192.0.2.1"]\n')
    assert "names the target http://192.0.2.1 and permits it itself" in failed(capsys, *words, "--tps", "1")
    write('[duet]\nswap = "http://127.0.0.1:1"\n')
    assert "swap" in failed(capsys, *words, "--tps", "1")
