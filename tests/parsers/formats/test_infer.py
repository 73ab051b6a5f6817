"""What stands around the core of common and combined is learned from a sample, and guesses are said."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import convert
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.formats.infer import from_sample

CORE = '[20/Nov/2026:18:58:{second:02} +0100] "GET /{second} HTTP/1.1" 200 17'


def lines(count: int = 5, tail: str = "") -> list[str]:
    return [f'10.0.0.7 - - {CORE.format(second=n)} "-" "curl/8.5.0"{tail}' for n in range(count)]


def log(tmp_path: Path, *text: str) -> Path:
    path = tmp_path / "access.log"
    path.write_text("\n".join(text) + "\n")
    return path


@pytest.mark.parametrize(
    ("tail", "latency", "note"),
    [
        (' "-" upstream=a.example 0.250 "x"', 0.25, "three decimals is taken as the duration in seconds"),
        (" x rt=0.250 y", 0.25, ""),
        (" abc 250000", 0.25, "taken as microseconds, as most are above 5,000"),
        (" abc 250", 0.0, "have no known unit and are not used: give it with --time-unit"),
        (" abc 12 250000", 0.0, "none is used: give the format with -f"),
    ],
)
def test_a_layout_of_its_own_is_learned_and_guesses_are_said(
    tmp_path: Path, tail: str, latency: float, note: str
) -> None:
    report = convert([log(tmp_path, *lines(9, tail))], tmp_path / "out.csv")
    assert report.converted == 9
    assert set(scan(tmp_path / "out.csv").collect()["latency"]) == {latency}
    assert any(note in text for text in report.notes)


def test_the_time_in_milliseconds_behind_combined_is_no_duration(tmp_path: Path) -> None:
    tails = [f" {1795263625 + n}.714 0.0{n + 10} -" for n in range(5)]
    text = [line + tail for line, tail in zip(lines(), tails, strict=True)]
    convert([log(tmp_path, *text)], tmp_path / "out.csv")
    rows = scan(tmp_path / "out.csv").collect()
    assert rows["latency"].to_list() == [0.010, 0.011, 0.012, 0.013, 0.014]
    assert rows["time"].to_list()[0] == "12:20:25.704000"  # the end less the duration


@pytest.mark.parametrize(
    "sample",
    [
        [],
        ["", "\n", "\0"],
        ["/a", "/b"],
        lines(1, ""),  # one line may be anything
        [f"10.0.0.7 - - {CORE.format(second=n)}{' x' * n}" for n in range(9)],  # no two are alike
    ],
)
def test_lines_without_a_core_or_without_a_shape_in_common_have_no_layout(sample: list[str]) -> None:
    assert from_sample(sample) is None


def test_the_shape_of_most_lines_is_taken() -> None:
    format = from_sample([*lines(5, " x rt=0.250"), *lines(3, " y"), "garbage"])
    assert format is not None
    parsed = parse(pl.Series(lines(5, " z rt=0.125")), [format])
    assert parsed.rows["latency"].to_list() == [0.125] * 5


def test_durations_in_seconds_tell_nginx_which_stamps_the_end() -> None:
    timed, plain = (from_sample(lines(5, tail)) for tail in (" x rt=0.250", " x"))
    assert timed is not None
    assert plain is not None
    assert (timed.server, timed.stamp.at) == ("nginx", "end")
    assert (plain.server, plain.stamp.at) == ("unknown", "start")


WORDS = st.sampled_from(
    [
        "-", "x", "0.250", "17", "1795263625.714", '"-"', '"a b"', r'"a\"b"', "[x y]", "rt=0.1", 'uht="-"', "a=b", "é",
        "(x)", ".*+?", "|$^", "{3}", "\\", "0.1, 0.2", "- : 0.1", ",", "\x01", "a:b", '"', "[", "]", "  ", "\t",
    ]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(WORDS, max_size=6).map(" ".join), st.lists(WORDS, max_size=4).map(" ".join))
def test_a_layout_fits_the_lines_that_it_was_learned_from(tail: str, head: str) -> None:
    sample = [f"{head} {CORE.format(second=n)} {tail}" for n in range(4)]
    format = from_sample(sample)
    if format is not None:
        parsed = parse(pl.Series(sample), [format])
        assert [refusal.reason for refusal in parsed.refusals] == []
        assert parsed.rows["url"].to_list() == ["/0", "/1", "/2", "/3"]


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=60), max_size=5))
def test_no_line_makes_it_fail(sample: list[str]) -> None:
    from_sample([*sample, *(line + tail for line, tail in zip(lines(), sample, strict=False))])


def test_an_instant_after_the_duration_is_no_duration_of_an_upstream(tmp_path: Path) -> None:
    """`$request_time $msec` has the look of `$request_time $upstream_response_time`."""
    convert([log(tmp_path, *lines(5, " 0.250 1795263625.714"))], tmp_path / "a.csv")
    rows = scan(tmp_path / "a.csv").collect()
    assert rows["latency"].to_list() == [0.25] * 5
    assert {time[-10:] for time in rows["time"]} == {":25.464000"}


REFERER, AGENT = '"https://shop.example/basket"', '"Mozilla/5.0 (X11; Linux x86_64)"'


@pytest.mark.parametrize(
    ("tail", "duration"),
    [
        (f"{REFERER} {AGENT}", 0),
        (f"{AGENT} {REFERER}", 0),
        (f"0.250 {REFERER} {AGENT}", 0.25),
        (f"0.250 {AGENT} {REFERER}", 0.25),
        (f'"0.250" {REFERER} {AGENT}', 0.25),
        (f'"10.1.1.1, 10.2.2.2" {REFERER} {AGENT}', 0),
        (f'"10.1.1.1" "1f2e3d" {REFERER} {AGENT} "shop.example"', 0),
        (f'rt=0.250 host="https://shop.example" ua={AGENT} referrer={REFERER}', 0.25),
    ],
)
@pytest.mark.parametrize("head", ["", "shop.example:443 "])
def test_referer_and_agent_are_told_by_what_they_hold_in_any_order(
    tmp_path: Path, head: str, tail: str, duration: float
) -> None:
    text = [f"{head}10.0.0.7 - - {CORE.format(second=n)} {tail}" for n in range(9)]
    convert([log(tmp_path, *text)], tmp_path / "out.csv")
    rows = scan(tmp_path / "out.csv").collect()
    assert set(rows["referer"]) == {REFERER.strip('"')}
    assert set(rows["agent"]) == {AGENT.strip('"')}
    assert set(rows["latency"]) == {duration}
    assert set(rows["client"]) == {"10.0.0.7"}


@pytest.mark.parametrize("tail", [f'0.250 "-" {AGENT}', f'"10.1.1.1" "-" {AGENT}'])
def test_an_empty_value_before_the_agent_is_the_referer(tail: str) -> None:
    format = from_sample([f"10.0.0.7 - - {CORE.format(second=n)} {tail}" for n in range(9)])
    assert format is not None
    later = f"10.0.0.7 - - {CORE.format(second=1)} " + tail.replace('"-"', REFERER)
    assert parse(pl.Series([later]), [format]).rows["referer"].to_list() == [REFERER.strip('"')]


@pytest.mark.parametrize(
    ("tail", "missing", "note"),
    [
        ('0.250 "-" "-"', {"referer", "agent"}, "no quoted value is certainly the referer or the user agent"),
        (f'0.250 "1f2e3d" {REFERER} "4d5e6f"', {"agent"}, "no quoted value is certainly the user agent"),
        (f"0.250 {REFERER} {REFERER}", {"referer", "agent"}, "no quoted value is certainly the referer or the user"),
        (f'0.250 {AGENT} "x1"', {"referer"}, "no quoted value is certainly the referer,"),
    ],
)
def test_a_value_that_may_be_referer_or_agent_or_neither_is_left_out_and_said(
    tmp_path: Path, tail: str, missing: set[str], note: str
) -> None:
    report = convert(
        [log(tmp_path, *(f"10.0.0.7 - - {CORE.format(second=n)} {tail}" for n in range(9)))], tmp_path / "out.csv"
    )
    assert {"referer", "agent"} - set(scan(tmp_path / "out.csv").collect_schema()) == missing
    assert any(note in text for text in report.notes)


def test_a_known_layout_with_other_values_in_place_of_referer_and_agent_leaves_them_out_and_says_so(
    tmp_path: Path,
) -> None:
    text = [
        f'10.0.0.7 | https | o@1x2x3 | - | 2026-11-20 18:58:{n:02},123 | "GET /a HTTP/1.1" | {AGENT} {REFERER} | '
        "200 | 5 | 17 | - | 12 | s1 | "
        for n in range(9)
    ]
    report = convert([log(tmp_path, *text)], tmp_path / "out.csv")
    assert report.format == "bitbucket"
    assert not {"referer", "agent"} & set(scan(tmp_path / "out.csv").collect_schema())
    assert any("where bitbucket has the user agent and referer, other values stand" in note for note in report.notes)
