"""Each built-in format carries its specification, fits its sample lines, and is found by them."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from logreplay.parsers.conversion.detect import detect
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.format import Format, TextLayout
from support.format_samples import SAMPLES

NEVER = r"^(?P<url>[^\x00-\x{10FFFF}])$"

by_name = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


@by_name
def test_a_format_names_its_specification_and_has_samples(format: Format) -> None:
    assert format.source.startswith("https://")
    assert SAMPLES[format.name]
    assert format.server != "unknown"


@by_name
def test_samples_fit_their_format(format: Format) -> None:
    parsed = parse(pl.Series(SAMPLES[format.name]), [format])
    assert [refusal for refusal in parsed.refusals if refusal.kind == "rejected"] == []
    assert parsed.rows.height + len(parsed.refusals) == len(SAMPLES[format.name])
    assert parsed.rows.height > 0


@pytest.mark.parametrize(
    "format", [format for format in FORMATS if isinstance(format.layout, TextLayout)], ids=lambda format: format.name
)
def test_the_fast_and_the_careful_path_read_the_same(format: Format) -> None:
    lines = pl.Series(SAMPLES[format.name])
    clean = lines.filter(format.layout.split(lines).select(pl.any_horizontal(pl.all().is_not_null())).to_series())
    assert len(clean) or format.name in ("nginx-timed-kv", "nginx-ingress", "nginx-main", "bitbucket", "squid")
    fast = parse(clean, [format], tiers=0).rows
    assert isinstance(format.layout, TextLayout)
    slow = parse(clean, [replace(format, layout=replace(format.layout, fast=NEVER))]).rows
    shown = [name for name in fast.columns if name not in ("time", "line")]
    assert fast.height == len(clean)
    assert_frame_equal(slow.select(shown), fast.select(shown))


@by_name
def test_samples_are_recognized(format: Format) -> None:
    samples = "\n".join(SAMPLES[format.name]).encode()
    reading = detect([samples], "log")
    expected = parse(pl.Series(SAMPLES[format.name]), [format]).rows
    found = reading.parse(pl.Series(SAMPLES[format.name]), reading.formats, "").rows
    for name in ("us", "back", "url", "op", "rc", "latency", "bytes"):
        assert found[name].to_list() == expected[name].to_list(), name


def test_names_are_unique() -> None:
    names = [format.name for format in FORMATS]
    assert len(names) == len(set(names))


def test_the_documentation_names_each_format_and_its_specification() -> None:
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    for format in FORMATS:
        assert re.search(rf"^\|.*`{re.escape(format.name)}`.*\|$", text, re.MULTILINE), format.name
        assert format.source in text
