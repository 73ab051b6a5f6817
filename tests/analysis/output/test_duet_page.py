"""The report of a duet."""

import json
from pathlib import Path

import numpy as np
import polars as pl

import simulate
from logreplay.analysis.output.duet_page import html, percent, write_differences
from logreplay.analysis.response_diff.aggregate import AnswerDifferences, RouteTotal, Tally
from logreplay.analysis.response_diff.diff import AnswerOf
from logreplay.analysis.response_diff.rules import Rules
from logreplay.analysis.verdict.comparison import compare_duet
from logreplay.core.record import to_csv

EVIL = "<script>alert(1)</script>"


def answer(text: str, digest: int, status: int = 200) -> AnswerOf:
    body = text.encode("utf-8", "surrogatepass")
    headers = [(b"Content-Type", b"text/html"), (b"X-Evil", EVIL.encode()), (b"Set-Cookie", b"sid=verysecret")]
    return AnswerOf(status, headers, body, len(body), digest, "")


def differences(ignore: str = "line:none") -> AnswerDifferences:
    tally = Tally(Rules.of([ignore]))
    tally.add(7, f"/{EVIL}?token=verysecret", f"/{EVIL}", [answer(f"<p>{EVIL}</p>", 1), answer("<p>\ud800</p>", 2)])
    tally.add(8, "/b", "/b", [answer('{"password": "verysecret"}', 3), answer('{"password": "othersecret"}', 4)])
    return tally.differences({f"/{EVIL}": RouteTotal(10, 1, 1), "/b": RouteTotal(10, 1, 1)})


def test_nothing_of_a_target_is_markup_and_no_secret_is_shown(tmp_path: Path) -> None:
    found = differences()
    page = html(f"a and {EVIL}", [EVIL], [{"route": EVIL, "ratio": 1.5}], found)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    write_differences(tmp_path, found)
    for text in (page, (tmp_path / "differences.csv").read_text(), (tmp_path / "pairs.jsonl").read_text()):
        assert "verysecret" not in text
        assert "othersecret" not in text


def test_the_answer_stands_above_the_facts_and_the_notes_below() -> None:
    page = html("a and b", ["slower by 5.0%", "p99 is not compared"], [], None, [("log", "access.csv")])
    places = [page.index(text) for text in ("<h1>", "slower by 5.0%", "access.csv", "p99 is not compared")]
    assert places == sorted(places)
    assert page.count("slower by 5.0%") == 1


def test_the_page_begins_with_what_changed_and_draws_each_change_with_its_interval(tmp_path: Path) -> None:
    arrivals = simulate.sweep([100], 60, np.random.default_rng(1))
    work = np.random.default_rng(2).exponential(0.016, len(arrivals.scheduled))
    one = simulate.results(arrivals, simulate.waits(arrivals.scheduled, work, 4) + work, urls=("/a", "/search", EVIL))
    slower = pl.when(pl.col("url") == "/search").then(1.3 * pl.col("latency")).otherwise("latency")
    for name, rows in (("baseline", one), ("candidate", one.with_columns(latency=slower))):
        (tmp_path / f"{name}.csv").write_bytes(to_csv(rows, header=True))
    compared = compare_duet(tmp_path / "baseline.csv", tmp_path / "candidate.csv", 0.01, None)
    page = html("a and b", [compared.sentence], [], differences(), [], compared)
    heading = page.partition("<h1>")[2].partition("</h1>")[0]
    assert heading.startswith("Candidate: all requests 9.1% slower, /search 30.0% slower, ")
    assert heading.endswith("% of the answers")
    assert page.index("<h1>") < page.index("a and b</p>") < page.index('<svg role="img"') < page.index("<h2>Times")
    assert "<script" not in page


def test_one_difference_counts_and_two_count() -> None:
    tally, totals = Tally(Rules.of([])), {"/a": RouteTotal(1, 1, 1), "/b": RouteTotal(1, 1, 1)}
    for url, told in (("/a", "<p>1 difference counts; "), ("/b", "<p>2 differences count; ")):
        tally.add(1, url, url, [answer("a", 1), answer("b", 2)])
        assert told in html("a and b", [], [], tally.differences(totals))


def test_example_pairs_stand_side_by_side(tmp_path: Path) -> None:
    page = html("a and b", [], [], differences())
    assert page.count("<details") == 2
    assert "<mark>" in page
    write_differences(tmp_path, differences())
    pairs = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [pair["row"] for pair in pairs] == [7, 8]


def test_pairs_that_the_page_leaves_out_are_counted() -> None:
    tally = Tally(Rules.of([]))
    for number in range(23):
        tally.add(number, f"/{number}", f"/{number}", [answer("a", 1), answer("b", 2)])
    totals = {f"/{number}": RouteTotal(1, 1, 1) for number in range(23)}
    page = html("a and b", [], [], tally.differences(totals))
    assert page.count("<details") == 20
    assert "<p>3 more example pairs are in pairs.jsonl.</p>" in page
    assert "more example pairs" not in html("a and b", [], [], differences())


def test_a_header_that_is_not_compared_is_not_marked() -> None:
    tally = Tally(Rules.of([]))
    pair = [
        AnswerOf(200, [(b"Content-Length", size), (b"X-Version", size)], body, len(body), at, "")
        for at, (size, body) in enumerate([(b"3", b"age: 1"), (b"4", b"age: 2")])
    ]
    tally.add(7, "/b", "/b", pair)
    page = html("a and b", [], [], tally.differences({"/b": RouteTotal(10, 1, 1)}))
    assert "Content-Length: 3" in page
    assert "<mark>Content-Length" not in page
    assert "<mark>X-Version: 3</mark>" in page
    assert "<mark>age: 2</mark>" in page


def test_the_report_says_what_was_compared() -> None:
    page = html("a and b", [], [], None, [("baseline", "http://one"), ("log", EVIL)])
    assert "<tr><th>baseline</th><td>http://one</td></tr>" in page
    assert "<tr><th>log</th><td>&lt;script&gt;" in page


def test_what_was_ignored_in_vain_is_named() -> None:
    assert "--ignore line:none matched no difference" in html("a and b", [], [], differences())


def test_a_duet_that_compared_no_answers_says_so() -> None:
    assert "were not compared" in html("a and b", ["slower"], [], None)


def test_shares_are_written_as_percentages() -> None:
    assert [percent(share) for share in (None, 0.0, 0.005, 1.0)] == ["–", "0%", "0.5%", "100%"]
