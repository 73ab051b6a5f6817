"""The same requests, logged by one nginx and one Apache in ten formats each, with the truth of what was sent and when.

The logs of ``lab/`` were made on loopback with the two configurations beside them.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.parsers.conversion.detect import detect
from logreplay.parsers.conversion.parse import ParsedBlock
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.conversion.subsecond import start_times

LAB = Path(__file__).parent / "lab"

NGINX = {
    "nginx_combined": "combined",
    "nginx_main_xff": "main",
    "nginx_timed_kv": "timed",
    "nginx_timed_combined_2sp": "timed_combined",
    "nginx_ingress_upstreaminfo": "upstreaminfo",
    "nginx_msec_tsv": "msec",
    "nginx_ltsv": "ltsv",
    "nginx_json": "jsonlog",
    "nginx_json_badescape": "jsonbad",
    "nginx_escape_none": "nonelog",
}
APACHE = {
    "apache_common": "common",
    "apache_combined": "combined",
    "apache_vhost_combined": "vhost_combined",
    "apache_combinedio": "combinedio",
    "apache_timed_D": "timed",
    "apache_T_D_stars": "td",
    "apache_many": "many",
    "apache_custom_usec": "custom_usec",
    "apache_beginend_truth": "beginend",
    "apache_json": "json",
}
FINE = {"nginx_msec_tsv", "nginx_json", "nginx_json_badescape"}
FINE |= {"apache_custom_usec", "apache_beginend_truth", "apache_json"}
NEEDS_ITS_DEFINITION = {"nginx_msec_tsv", "apache_custom_usec", "apache_beginend_truth"}
LOGS = [*NGINX, *APACHE]


def server_of(log: str) -> str:
    return log.partition("_")[0]


@cache
def read(log: str, *, by_definition: bool = True) -> tuple[ParsedBlock, pl.DataFrame]:
    name = (NGINX | APACHE)[log]
    data = (LAB / f"{log}.log").read_bytes()
    lines = text_lines(data)
    reading = detect([data], log, f"{LAB}/{server_of(log)}.conf#{name}" if by_definition else "auto")
    parsed = reading.parse(lines, reading.formats, "Europe/Berlin")
    assert len(lines) == parsed.rows.height + len(parsed.refusals) + parsed.blank
    return parsed, start_times(parsed.rows)


@cache
def truth(server: str) -> dict[str, float]:
    """When each request was sent, by its id."""
    return {entry["id"]: entry["t_send"] for entry in json.loads((LAB / f"truth_{server}.json").read_text())}


@cache
def ids(server: str) -> list[str]:
    """The id of the request of each line."""
    if server == "nginx":
        text = (LAB / "nginx_msec_tsv.log").read_bytes().decode("latin-1")
        return [line.rsplit("\t", 1)[-1] for line in text.split("\n")[:-1]]
    text = (LAB / "apache_beginend_truth.log").read_bytes().decode("latin-1")
    return [line.split(" ")[8] for line in text.split("\n")[:-1]]


def errors_ms(log: str) -> np.ndarray:
    """How far the start times are from the truth, milliseconds."""
    server = server_of(log)
    rows = read(log)[1]
    sent = truth(server)
    pairs = [(start, sent.get(ids(server)[line])) for line, start in rows.select("line", "start").rows()]
    return np.array([start / 1000 - at * 1000 for start, at in pairs if at is not None])


def requests(log: str, *, by_definition: bool = True) -> Counter[tuple[str, str, int]]:
    return Counter(read(log, by_definition=by_definition)[1].select("op", "url", "rc").rows())


@pytest.mark.parametrize("log", LOGS)
def test_no_line_is_rejected(log: str) -> None:
    assert [refusal for refusal in read(log)[0].refusals if refusal.kind == "rejected"] == []


@pytest.mark.parametrize("log", LOGS)
def test_method_target_and_status_agree_with_the_other_formats_of_the_server(log: str) -> None:
    reference = "nginx_json" if server_of(log) == "nginx" else "apache_beginend_truth"
    missing = requests(reference) - requests(log)
    assert requests(log) - requests(reference) == Counter()
    if log == "nginx_msec_tsv":  # $request_method and $request_uri are - where nginx could not read the request
        assert {rc for _, _, rc in missing} == {400, 414, 505}
    else:
        assert missing == Counter()


@pytest.mark.parametrize("log", sorted(set(LOGS) - NEEDS_ITS_DEFINITION - {"nginx_escape_none"}))
def test_detection_reads_the_same_as_the_definition(log: str) -> None:
    assert requests(log, by_definition=False) == requests(log)


def test_without_escapes_detection_differs_in_nothing_but_what_looks_like_an_escape() -> None:
    found, defined = (requests("nginx_escape_none", by_definition=value) for value in (False, True))
    assert list(defined - found) == [("GET", r"/back\slash\x41", 200)]
    assert list(found - defined) == [("GET", r"/back\slashA", 200)]


@pytest.mark.parametrize("server", ["nginx", "apache"])
def test_targets_are_those_that_were_sent(server: str) -> None:
    """Each well-formed request of the truth stands in the log byte for byte, but for what must be percent-encoded."""
    sent = {}
    for entry in json.loads((LAB / f"truth_{server}.json").read_text()):
        line = bytes.fromhex(entry["raw"].removesuffix("...")).split(b"\r\n")[0].split(b" ")
        if len(line) == 3 and line[1].startswith(b"/") and all(0x20 < byte < 0x7F and byte != 0x22 for byte in line[1]):
            sent[entry["id"]] = (line[0].decode(), line[1].decode(), entry["resp_status"])
    del sent["expect-continue"]  # its first status line was 100
    log = "nginx_json" if server == "nginx" else "apache_beginend_truth"
    rows = {ids(server)[line]: rest for line, *rest in read(log)[1].select("line", "op", "url", "rc").rows()}
    both = sent.keys() & rows.keys()
    assert len(both) > 330
    for name in both:
        op, url, status = sent[name]
        assert rows[name][:2] == [op, url]
        assert rows[name][2] == status or status is None or rows[name][2] in (408, 444, 499), name


@pytest.mark.parametrize("log", sorted(FINE))
def test_fine_stamps_meet_the_truth_within_3_ms(log: str) -> None:
    off = np.abs(errors_ms(log))
    assert len(off) > 370
    assert np.mean(off) < 1
    assert np.quantile(off, 0.99) < 3


@pytest.mark.parametrize("log", sorted(set(LOGS) - FINE))
def test_whole_seconds_spread_by_file_order_meet_the_truth_within_120_ms_on_average(log: str) -> None:
    assert np.mean(np.abs(errors_ms(log))) < 120


def test_a_forged_line_inside_an_unescaped_value_moves_nothing() -> None:
    rows = read("nginx_escape_none")[1].filter(pl.col("url") == "/ua8")
    assert rows.height == 1
    assert rows["agent"].to_list() == ['x [10/Oct/2000:13:55:36 -0700] "GET /fake HTTP/1.0" 200 1 "-" "y']


def test_users_with_blanks_quotes_and_brackets_are_read_whole() -> None:
    users = set(read("nginx_combined")[1]["user"].drop_nulls())
    assert {"bob smith", 'ev"il] [x'} <= users


def test_upstream_lists_are_summed() -> None:
    rows = read("nginx_timed_kv")[1].filter(pl.col("url") == "/pair/delay/40")
    assert rows.select("latency", "xfertime").row(0) == (pytest.approx(0.04), pytest.approx(0.0))


@pytest.mark.parametrize("log", ["nginx_combined", "apache_combined", "apache_common"])
def test_the_server_is_told_by_what_only_it_writes(log: str) -> None:
    assert detect([(LAB / f"{log}.log").read_bytes()], log).server == server_of(log)


def by_apaches_clock() -> list[tuple[str, int, int]]:
    """Of each line the id of the request, its begin and duration by Apache's own clock, microseconds."""
    text = (LAB / "apache_beginend_truth.log").read_bytes().decode("latin-1")
    return [(words[8], int(words[0]), int(words[2])) for words in (line.split(" ") for line in text.split("\n")[:-1])]


@pytest.mark.parametrize(
    ("log", "digit"), [("apache_beginend_truth", 1), ("apache_custom_usec", 1), ("apache_json", 1000)]
)
def test_a_start_is_what_apache_stamped_to_the_last_digit(log: str, digit: int) -> None:
    stamped = by_apaches_clock()
    rows = read(log)[1].select("line", "start").rows()
    assert len(rows) > 370
    assert [start for _, start in rows] == [stamped[line][1] // digit * digit for line, _ in rows]


def test_apache_stamps_a_few_requests_late_because_it_read_them_late() -> None:
    """Three of some 380 are stamped 3.9 to 12.6 ms after they were sent.

    All that time lies before the stamp: from there to the end that the client saw it took as long as Apache says. No
    field of any of the ten logs holds it, so no converter can know better.
    """
    sent = {entry["id"]: entry for entry in json.loads((LAB / "truth_apache.json").read_text())}
    late = {
        name: (begin / 1e3 - sent[name]["t_send"] * 1e3, sent[name]["t_end"] * 1e3 - (begin + duration) / 1e3)
        for name, begin, duration in by_apaches_clock()
        if name in sent and begin / 1e6 - sent[name]["t_send"] > 0.003
    }
    assert sorted(round(before, 1) for before, _ in late.values()) == [3.9, 8.8, 12.6]
    assert all(0 < after < 1 for _, after in late.values())


def test_one_broken_line_among_odd_requests_does_not_hide_the_response_times() -> None:
    """A layout that fits any end of a line took it all: it fitted that line, too."""
    lines = (LAB / "nginx_timed_kv.log").read_bytes().splitlines(keepends=True)[:332]
    lines[100] = re.sub(rb'uct="[^"]*"', b'uct="0.0.5"', lines[100])
    assert detect([b"".join(lines)], "log").name == "nginx-timed-kv"
