"""A run that repeats URLs names every option that makes it do so, and no other."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from logreplay.inputs.streams import request_stream
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules
from logreplay.runs.repeated_urls import repeated_urls

HALF_UNIQUE = [*(f"/{number}" for number in range(1000)), *["/same"] * 1000]
READS_ON, LONGER = "so that each trial reads on where the last one ended", "give a longer log"
ONCE = "send each request once, with --request-order shuffle"


def write(path: Path, urls: Sequence[str]) -> None:
    rows = (f"2026-01-01,00:00:00.{at:06},0.001,0,0,10,{url},200,GET,{at},\n" for at, url in enumerate(urls))
    path.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op,row,error\n" + "".join(rows))


def remedy(
    folder: Path,
    urls: Sequence[str],
    count: int,
    *,
    request_rules: RequestRules,
    restarts: Sequence[str] = (),
    trials: int = 1,
) -> str:
    """The remedies for trials that send the first requests of a log, each from the start; empty without a finding."""
    log = folder / "log.csv"
    write(log, urls)
    with ExitStack() as stack:
        stream = request_stream(
            request_rules, SenderRules(methods=frozenset({"GET"})), log, stack, loop=True, tell=lambda _: None
        )
        sent: list[str] = []
        for frame in stream.frames():
            sent += frame["url"].to_list()
            if len(sent) >= count:
                break
        write(folder / "results.csv", sent[:count] * trials)
        _, found = repeated_urls(
            stream, request_rules, folder, restarts, each="trial", bundled=False, tell=lambda _: None
        )
    return found[0].text.partition("than was measured; ")[2] if found else ""


@pytest.mark.parametrize(
    "request_rules",
    [RequestRules(), RequestRules(shuffle=True), RequestRules(request_order="shuffle", seed=7)],
    ids=["as logged", "shuffled", "seed"],
)
def test_a_part_of_a_log_that_is_sent_once_repeats_no_more_than_the_log(
    tmp_path: Path, request_rules: RequestRules
) -> None:
    assert remedy(tmp_path, HALF_UNIQUE, 500, request_rules=request_rules) == ""


@pytest.mark.parametrize(
    ("request_rules", "restarts", "count", "expected"),
    [
        (RequestRules(), ("--restart",), 500, f"leave out --restart, {READS_ON}"),
        (RequestRules(), ("--restart", "--arrivals log"), 500, f"leave out --restart and --arrivals log, {READS_ON}"),
        (RequestRules(random=True), ("--restart",), 400, f"leave out --restart, {READS_ON}; {ONCE}"),
        (RequestRules(shuffle=True), ("--restart",), 400, f"leave out --restart, {READS_ON}"),
        (RequestRules(), ("--restart",), 600, f"leave out --restart, {READS_ON}; {LONGER}"),
        (RequestRules(request_order="random"), (), 600, f"{ONCE}; {LONGER}"),
        (RequestRules(), (), 600, LONGER),
    ],
)
def test_the_remedies_are_the_options_that_repeat_urls(
    tmp_path: Path, request_rules: RequestRules, restarts: Sequence[str], count: int, expected: str
) -> None:
    urls = [f"/{number}" for number in range(1000)]
    assert remedy(tmp_path, urls, count, request_rules=request_rules, restarts=restarts, trials=2) == expected
