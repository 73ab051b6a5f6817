"""Lines of known writers of JSON logs."""

import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from logreplay.parsers.conversion.parse import TEXTS, parse
from logreplay.parsers.formats import named_values
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.json_writers import JSON_FORMATS, is_of_known_writer
from support.format_samples import SAMPLES

BY_NAME = {format.name: format for format in JSON_FORMATS}


def rows(format: Format, *lines: str) -> pl.DataFrame:
    return parse(pl.Series(lines), [format]).rows


@pytest.mark.parametrize("format", JSON_FORMATS, ids=lambda format: format.name)
def test_blocks_and_single_lines_are_read_alike(format: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = pl.Series([*SAMPLES[format.name], *map(_with_lists, SAMPLES[format.name])])
    fast = parse(lines, [format], tiers=0).rows
    assert fast.height
    monkeypatch.setattr(named_values, "_LONGEST", 0)
    slow = parse(lines, [format]).rows.filter(pl.col("line").is_in(fast["line"].implode()))
    assert not parse(lines, [format], tiers=0).rows.height
    empty = pl.col(TEXTS).replace("", None)  # written alike
    assert_frame_equal(fast.with_columns(empty), slow.with_columns(empty))


def _with_lists(line: str) -> str:
    """A line whose texts are lists with one text."""
    return re.sub(r'":("(?:[^"\\]|\\.)*")', r'":[\1]', line)


@pytest.mark.parametrize("name", BY_NAME)
def test_lines_of_a_known_writer_are_told_from_its_messages(name: str) -> None:
    assert all(map(is_of_known_writer, SAMPLES[name]))
    assert not is_of_known_writer(
        '{"level":"info","ts":1,"time":"x","request":"x","http":{"request":{"method":"get"}}}'
    )


@pytest.mark.parametrize(
    ("name", "url", "host", "op", "start", "latency", "size"),
    [
        ("google-cloud", "/a?b=c", "a.example", "GET", 56.104221, 0.041502, 1212),
        ("kong", "/a?b=c", "a.example", "GET", 56.104, 0.041, 1212),
        ("cloudflare", "/a?b=c", "a.example", "GET", 56.104, 0.041, 900),
        ("azure-gateway", "/a?b=c", "a.example", "GET", 56 - 0.041, 0.041, 1212),
        ("azure-front-door", "/a?b=c", "a.example:443", "GET", 56.104221 - 0.041, 0.040, 1212),
        ("ecs", "/a?b=c", "a.example", "GET", 56.104 - 0.041502, 0.041502, 1212),
        ("ecs-dotted", "/a?b=c", "a.example", "GET", 56.104 - 0.041502, 0.041502, 1212),
    ],
)
def test_the_values_of_a_cloud_are_read_in_their_units(
    name: str, url: str, host: str, op: str, start: float, latency: float, size: int
) -> None:
    row = rows(BY_NAME[name], SAMPLES[name][0]).row(0, named=True)
    assert (row["url"], row["host"], row["op"], row["bytes"], row["rc"]) == (url, host, op, size, 200)
    assert (row["client"], row["agent"]) == ("10.0.0.7", "curl/8.5.0")
    assert row["latency"] == pytest.approx(latency)
    minute = 1_795_197_480  # 2026-11-20T17:58:00Z
    assert (row["us"] - row["back"]) / 1e6 - minute == pytest.approx(start, abs=2e-6)


def test_the_end_of_an_event_counts_before_its_stamp_and_the_first_of_several_clients() -> None:
    row = rows(BY_NAME["ecs"], SAMPLES["ecs"][1]).row(0, named=True)
    assert (row["us"] / 1e6) % 60 == pytest.approx(56.9)
    assert (row["url"], row["client"], row["bytes"]) == ("/x?y=z", "10.0.0.8", 12)


def test_azure_gateways_of_version_1_whose_unit_is_another_are_not_read() -> None:
    line = SAMPLES["azure-gateway"][0].replace("originalRequestUriWithArgs", "x")
    assert not rows(BY_NAME["azure-gateway"], line).height
