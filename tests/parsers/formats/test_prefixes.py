"""What shippers put in front of a line is found and taken off, and nothing else is."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.rows import scan
from logreplay.parsers.conversion.detect import PREFIXES
from logreplay.parsers.conversion.job import convert

BY_NAME = {prefix.name: prefix for prefix in PREFIXES}
LINE = '10.0.0.7 - - [20/Nov/2026:18:58:{second:02} +0100] "GET /{second} HTTP/1.1" 200 17 "-" "curl/8.5.0"'
SHIPPED = [
    ("Nov 20 18:58:56 web1 nginx[123]: ", "syslog"),
    ("<133>Nov  2 18:58:56 web1 nginx: ", "syslog"),
    ("2026-11-20T18:58:56.123+01:00 web1 nginx[123]: ", "syslog-iso"),
    ("<133>1 2026-11-20T18:58:56Z web1 nginx 123 - - ", "syslog-5424"),
    ('<133>1 2026-11-20T18:58:56Z web1 nginx 123 - [a@1 b="c"][d@2] ', "syslog-5424"),
    ("2026-11-20T18:58:56.123456789Z stdout F ", "cri"),
    ("web-1  | ", "docker-compose"),
    ("[pod/web-5f/nginx] ", "kubectl"),
]
OF_A_LINE = st.text(st.characters(min_codepoint=32, max_codepoint=255)).filter(lambda text: text[:1] != " ")


def lines() -> list[str]:
    return [LINE.format(second=n) for n in range(5)]


@pytest.mark.parametrize(("prefix", "name"), SHIPPED)
def test_prefixes_of_shippers_are_taken_off(tmp_path: Path, prefix: str, name: str) -> None:
    log = tmp_path / "access.log"
    log.write_text("".join(f"{prefix}{line}\n" for line in lines()))
    report = convert([log], tmp_path / "out.csv")
    assert (report.format, report.converted) == (f"combined after {name}", 5)
    assert set(scan(tmp_path / "out.csv").collect()["client"]) == {"10.0.0.7"}


def test_docker_keeps_lines_in_json(tmp_path: Path) -> None:
    packed = [json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-11-20T18:58:56Z"}) for line in lines()]
    log = tmp_path / "access.log"
    log.write_text("\n".join([*packed, '{"log":"cut', ""]))
    report = convert([log], tmp_path / "out.csv")
    assert (report.format, report.converted, report.rejected) == ("combined after docker-json", 5, 1)
    assert (tmp_path / "out.rejects").read_text() == '6 rejected: layout\t{"log":"cut\n'


@given(st.sampled_from(SHIPPED), OF_A_LINE)
def test_all_that_follows_a_prefix_stays(shipped: tuple[str, str], line: str) -> None:
    prefix = BY_NAME[shipped[1]]
    packed = pl.Series([shipped[0] + line])
    assert prefix.fits(packed) == 1
    assert prefix.strip(packed).to_list() == [line]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_all_that_docker_packs_comes_out_on_one_line(line: str) -> None:
    packed = pl.Series([json.dumps({"log": line + "\n", "stream": "stdout"})])
    assert BY_NAME["docker-json"].fits(packed) == 1
    assert BY_NAME["docker-json"].strip(packed).to_list() == [line.rstrip("\r\n").replace("\n", " ")]


@pytest.mark.parametrize("prefix", PREFIXES, ids=lambda prefix: prefix.name)
def test_a_line_without_the_prefix_stays_as_it_is(prefix: object) -> None:
    bare = pl.Series("text", [*lines(), "", "{}", "[]", '{"log":1}', '{"log":"cut', '{"log":' + "[" * 100_000])
    assert BY_NAME[prefix.name].strip(bare).equals(bare)  # type: ignore[attr-defined]


def test_the_share_of_lines_is_of_all_lines_and_0_of_none() -> None:
    compose = BY_NAME["docker-compose"]
    assert compose.fits(pl.Series(["web-1 | a", "b", "c", "web-2 | d"])) == 0.5
    assert compose.fits(pl.Series([], dtype=pl.String)) == 0


def test_half_of_a_surrogate_pair_in_what_docker_packed_costs_no_other_line(tmp_path: Path) -> None:
    packed = [json.dumps({"log": line + "\n", "stream": "stdout"}) for line in lines()]
    log = tmp_path / "access.log"
    log.write_text("\n".join([*packed, packed[0].replace("curl", r"\ud800"), r'{"log":"\udfff"}', ""]))
    report = convert([log], tmp_path / "out.csv")
    assert (report.converted, dict(report.reasons)) == (6, {"rejected: layout": 1})
