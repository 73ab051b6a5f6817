"""An array of JSON objects is a log: each object is a line of it."""

import gzip
import json
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.parsers.captures.json_stream import object_lines
from logreplay.parsers.conversion.job import ConvertOptions, convert

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=4), max_size=5)


def google(count: int, *, texts: str = "") -> list[dict[str, Any]]:
    """Lines of Google Cloud's log, 50 ms apart."""
    return [
        {
            "httpRequest": {
                "requestMethod": "GET", "requestUrl": f"https://shop.example/{number}?{texts}", "status": 200,
                "latency": "0.012s", "responseSize": "10",
            },
            "timestamp": f"2026-01-01T00:{number // 1200:02}:{number // 20 % 60:02}.{number % 20 * 50:03}Z",
        }
        for number in range(count)
    ]  # fmt: skip


def converted(path: Path | str, folder: Path) -> bytes:
    report = convert(path, folder / "out.csv", ConvertOptions(force=True))
    assert report.lines == report.converted
    return (folder / "out.csv").read_bytes()


@settings(max_examples=50, deadline=None)
@given(RECORDS, st.sampled_from([None, 0, 1, 4, "\t"]), st.booleans())
def test_each_object_is_one_line_however_the_array_is_written(
    records: Sequence[dict[str, Any]], indent: int | str | None, escaped: bool
) -> None:
    array = (
        json.dumps(records, indent=indent, ensure_ascii=escaped).replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    )
    lines = [*object_lines(BytesIO(array), 1 << 20)]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert [json.loads(line.decode("utf-8", "surrogatepass")) for line in lines] == records


@pytest.mark.parametrize("indent", [None, 2, 8])
@pytest.mark.parametrize("count", [3, 3000])
def test_an_array_is_read_as_its_objects_line_by_line(count: int, indent: int | None, tmp_path: Path) -> None:
    records = google(count, texts="tätig[{")
    (tmp_path / "lines.json").write_text("".join(json.dumps(each) + "\n" for each in records))
    (tmp_path / "array.json").write_text(json.dumps(records, indent=indent))
    (tmp_path / "array.json.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + (tmp_path / "array.json").read_bytes()))
    expected = converted(tmp_path / "lines.json", tmp_path)
    assert converted(tmp_path / "array.json", tmp_path) == expected
    assert converted(tmp_path / "array.json.gz", tmp_path) == expected


@pytest.mark.parametrize("before", [b"\n" * 9, b"\xef\xbb\xbf \r\n\r\n\r\n", b"\n" * 9999])
def test_blank_lines_before_an_array_do_not_matter(before: bytes, tmp_path: Path) -> None:
    (tmp_path / "array.json").write_bytes(before + json.dumps(google(3000), indent=2).encode())
    assert len(converted(tmp_path / "array.json", tmp_path).splitlines()) == 3001


def test_an_array_without_an_object_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "array.json").write_text("[\n]\n")
    with pytest.raises(LogreplayError, match="is empty"):
        convert(tmp_path / "array.json", tmp_path / "out.csv")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("good", "bad"), [("}", ""), ('"GET"', '"GET'), ('"GET"', '"GET"}'), ('"GET"', "{[")])
def test_damage_to_one_object_costs_no_other(good: str, bad: str, indent: int | None, tmp_path: Path) -> None:
    texts = [json.dumps(each, indent=indent) for each in google(3000)]
    texts[7] = texts[7].replace(good, bad, 1)
    (tmp_path / "array.json").write_text("[\n" + ",\n".join(texts) + "\n]\n")
    report = convert(tmp_path / "array.json", tmp_path / "out.csv")
    assert report.converted == 2999
    assert 1 <= report.rejected <= 2


def test_an_object_cut_off_at_the_end_is_said_to_be(tmp_path: Path) -> None:
    array = json.dumps(google(9), indent=2)
    (tmp_path / "array.json").write_text(array[:-90])
    report = convert(tmp_path / "array.json", tmp_path / "out.csv")
    assert (report.converted, report.reasons) == (8, {"rejected: cut off at the end of the file": 1})


def test_an_array_comes_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = json.dumps(google(3000), indent=2).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(array)))
    report = convert("-", tmp_path / "out.csv")
    assert report.lines == report.converted == 3000


def test_what_is_no_object_and_what_is_damaged_is_rejected_and_kept(tmp_path: Path) -> None:
    good = [json.dumps(each, indent=2) for each in google(6)]
    odd = ['"text"', "7", '{"time": }']
    log = f"[{', '.join(good[:3])}, {', '.join(odd)}, {', '.join(good[3:])}]\nthe end\n[{good[0][:40]}"
    (tmp_path / "access.json").write_text(log)
    report = convert(tmp_path / "access.json", tmp_path / "out.csv")
    assert (report.converted, report.rejected) == (6, 4)
    rejects = (tmp_path / "out.rejects").read_text()
    assert [line.split("\t")[1] for line in rejects.splitlines()][:3] == ['"text", 7', '{"time": }', "the end"]


def test_of_a_log_whose_newest_line_is_the_first_the_timing_is_used(tmp_path: Path) -> None:
    """Tools of clouds list the newest line first."""
    (tmp_path / "newest-first.json").write_text(json.dumps(google(3000)[::-1]))
    report = convert(tmp_path / "newest-first.json", tmp_path / "out.csv")
    assert not report.scrambled
    assert "the newest line is the first: the requests are put in the order of their times" in report.notes
    (tmp_path / "array.json").write_text(json.dumps(google(3000)))
    assert (tmp_path / "out.csv").read_bytes() == converted(tmp_path / "array.json", tmp_path)
