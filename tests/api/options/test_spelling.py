"""Errors and help name parameters in Python, where they name options on the command line."""

import pytest

from logreplay.core.errors import UsageError
from logreplay.options.spelling import respelled, spelled


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
        ("choose another with -o", "choose another with output="),
        ("--dry-run and --verbose stay, like x--tps and a-o", "--dry-run and --verbose stay, like x--tps and a-o"),
    ],
)  # fmt: skip
def test_options_become_parameters(text: str, python: str) -> None:
    assert spelled(text, "run") == python


def test_an_error_names_the_parameters_of_the_function() -> None:
    with pytest.raises(UsageError, match=r"^delay= needs follow=True: why$") as refused, respelled("run"):
        raise UsageError("--delay needs --follow: why")
    assert refused.value.parameters == ("delay", "follow")
