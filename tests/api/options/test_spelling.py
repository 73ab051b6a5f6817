"""Errors and help name parameters in Python, where they name options on the command line."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay.core.errors import UsageError
from logreplay.options.spelling import respelled, spelled
from logreplay.replay.requests.hook import Planned


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("--ramp needs --for, such as --for 1m", 'ramp= needs duration=, such as duration="1m"'),
        ("--use a=header:X needs --extract a=...: nothing", 'use="a=header:X" needs extract="a=...": nothing'),
        ("--delay needs --follow: it is the time", "delay= needs follow=True: it is the time"),
        ("give --tps R, and none of --speed, --steps", "give tps=R, and none of speed=, steps="),
        ("--arrivals log needs a rate: --ramp R..R or --steps", 'arrivals="log" needs a rate: ramp=R..R or steps='),
        ("--by-client and --no-keep-alive exclude", "by_client=True and keep_alive=False exclude"),
        ("--max-in-flight 1 and --workers 2 exclude", "max_in_flight=1 and workers=2 exclude"),
        ("--connections needs --http 2 or log: HTTP/1.1", 'connections= needs http="2" or log: HTTP/1.1'),
        ("--header 'X-A: ...' and --auth bearer:FILE", 'header="X-A: ..." and auth="bearer:FILE"'),
        ("leave out --no-digest and --no-cache", "leave out digest=False and no_cache=True"),
        ("--steps 50:10s,100:20s, or --tps 5:", 'steps="50:10s,100:20s", or tps=5:'),
        ("try: logreplay run a.log --tps 5; or --tps 6", "try: logreplay run a.log --tps 5; or tps=6"),
        ("send them with --methods GET,HEAD,POST", 'send them with methods="GET,HEAD,POST"'),
        ("make a CSV: logreplay convert /a/b.log", "make a CSV: logreplay.convert('/a/b.log')"),
        ("it is a log: logreplay compare LOG RUN", "it is a log: logreplay.compare(LOG, RUN)"),
        ("logreplay compare '/a b/x.csv' y/z.csv", "logreplay.compare('/a b/x.csv', 'y/z.csv')"),
        ("it's no call: logreplay inspect /a b's", "it's no call: logreplay inspect /a b's"),
        ("the log; run --crash shows the first", "the log; run(crash=True) shows the first"),
        ("sweep --warmup 20s leaves them out", 'sweep(warmup="20s") leaves them out'),
        ("logreplay convert reads files", "logreplay convert reads files"),
        ("logreplay convert 'a b.log' -f FORMAT; x", "logreplay.convert('a b.log', format=FORMAT); x"),
        ("choose another with -o", "choose another with output="),
        ("route /a/--tps/5 is slower", "route /a/--tps/5 is slower"),
        ("--dry-run and --verbose stay, like x--tps and a-o", "--dry-run and --verbose stay, like x--tps and a-o"),
    ],
)  # fmt: skip
def test_options_become_parameters(text: str, python: str) -> None:
    assert spelled(text, "run") == python


def test_a_list_of_numbers_of_users_is_one_text() -> None:
    assert spelled("give --vusers 1,10,50", "sweep") == 'give vusers="1,10,50"'


def test_functions_that_read_and_convert_name_parameters(tmp_path: Path) -> None:
    picture, log = tmp_path / "x.png", tmp_path / "a.log"
    log.write_text("x\n")
    with pytest.raises(UsageError, match=r"output= and junit= name the same file"):
        logreplay.compare("a.csv", "b.csv", output=picture, junit=picture)
    with pytest.raises(UsageError, match=r"^max_rejects=.*: expected a number of lines") as refused:
        logreplay.convert(log, output=tmp_path / "o.csv", max_rejects="z")
    assert refused.value.parameters == ("max_rejects",)
    with pytest.raises(UsageError, match=r"^since=.*: not a time"):
        logreplay.convert(log, output=tmp_path / "o.csv", since="zzz")
    with pytest.raises(logreplay.LogreplayError, match=r"give the format: logreplay\.convert\(\S+, format=FORMAT\)"):
        logreplay.convert(log, output=tmp_path / "o.csv")


def test_an_error_names_the_parameters_of_the_function() -> None:
    with pytest.raises(UsageError, match=r"^delay= needs follow=True: why$") as refused, respelled("run"):
        raise UsageError("--delay needs --follow: why")
    assert refused.value.parameters == ("delay", "follow")


def test_sentences_of_a_result_name_parameters() -> None:
    with logreplay.serve() as server:
        sent = logreplay.run(
            None, server.url, tps=40, requests=5, stop="p99>90s/1s", timeout="5s", hook=odd_requests, loop=True
        )
        swept = logreplay.sweep(None, server.url, [40, 50], duration="200ms")
    assert 'POST with methods="GET,HEAD,POST"' in sent.left_out[0]
    assert 'warning: stop="p99>90s/1s": 90 s is longer than timeout=5 s' in "".join(sent.notes)
    assert 'make the steps longer, such as duration="' in swept.sentence
    assert "--" not in "".join((*sent.left_out, *sent.notes, *swept.notes, *swept.left_out, swept.sentence))


def odd_requests(request: Planned) -> Planned | None:
    return request if request.number % 2 else None


URL = "http://127.0.0.1:9"
REFUSED: list[tuple[Any, tuple[Any, ...], list[dict[str, Any]]]] = [
    (logreplay.convert, ("none.log",), [{}, {"output": "x.zzz"}, {"output": "y.csv", "to": "har"}]),
    (
        logreplay.inspect,
        ("none.log",),
        [{}, {"format": "json"}, {"timezone": "x"}, {"since": "q"}, {"match": "("}, {"status": "9x"}, {"client": "z"}],
    ),
    (
        logreplay.run,
        ("none.log", URL),
        [{}, {"tps": 1}, {"ramp": "1..2"}, {"tps": 1, "speed": 1}, {"tps": 1, "cookies": True}, {"tps": 1, "use": "z"},
         {"tps": 1, "body": "z"}, {"tps": 1, "late": "z"}, {"tps": 1, "http": "2", "streams": 0}, {"follow": True}],
    ),
    (logreplay.run, ("none.log", "http://example.com"), [{"tps": 1}]),
    (logreplay.sweep, ("none.log", URL), [{}, {"rates": "z"}, {"rates": 1, "vusers": 1}, {"rates": 1, "order": "z"}]),
    (logreplay.find, ("none.log", URL), [{}, {"p99": 1, "budget": 1}, {"p99": 1, "start": 9, "max_tps": 1}]),
    (logreplay.duet, ("none.log", URL, f"{URL}/b"), [{}, {"tps": 1, "alternate": True, "noise": URL}]),
    (logreplay.plan, ("none.log",), [{}, {"results": "none", "p99": 1}]),
    (
        logreplay.capacity,
        ("none.log",),
        [{"demand": 1, **each} for each in ({}, {"within": 1}, {"p99": 1, "p90": 1}, {"bound": "max<1"}, {"p99": 1})],
    ),
    (logreplay.compare, ("none.log", "none.log"), [{}, {"output": "zz"}]),
    (logreplay.analyze, ("none.log",), [{}, {"output": "none.log"}]),
    (logreplay.serve, ("none.log",), [{}, {"workers": 0}]),
    (logreplay.control, (".", "raise 5%"), [{}]),
    (logreplay.settings, ("run", "none.toml"), [{}]),
    (logreplay.analysis.saturation, ("none.log",), [{}]),
    (logreplay.analysis.compare, ("none.log", "none.log"), [{}]),
    (logreplay.analysis.capacity, ("none.log",), [{"tps": 1, "within": 1, "percentile": "p42"}]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given", "options"), REFUSED)
def test_no_refusal_of_a_function_names_an_option(
    function: Callable[..., object],
    given: tuple[Any, ...],
    options: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("none.log").write_text("x\n")
    for each in options:
        with pytest.raises(logreplay.LogreplayError) as refused:
            function(*given, **each)
        assert not re.search(r"(?<!\w)--?[a-z]", str(refused.value))
