"""The account of a conversion adds up, or says that it does not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.plural import number_of
from logreplay.parsers.conversion.report import FIRST_SHOWN, ConvertReport

COUNTS = st.integers(0, 10**9)


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_all_lines_are_accounted_for(
    converted: int, unreplayable: int, rejected: int, blank: int, filtered: int
) -> None:
    report = ConvertReport(converted + unreplayable + rejected + blank + filtered)
    report.converted, report.unreplayable, report.rejected = converted, unreplayable, rejected
    report.blank, report.filtered = blank, filtered
    said = report.sentence()
    assert said.startswith(f"{number_of(report.lines, 'line')} = {converted:,} converted + ")
    assert ("filtered" in said) == (filtered > 0)
    report.lines += 1
    with pytest.raises(AssertionError, match=rf"^{report.lines} lines, but {report.lines - 1} accounted for$"):
        report.sentence()


def test_a_refused_line_is_counted_by_its_kind_and_its_reason() -> None:
    report = ConvertReport()
    report.refuse("a.log", 1, "rejected", "layout")
    report.refuse("a.log", 2, "unreplayable", "CONNECT")
    report.refuse("b.log", 1, "rejected", "layout")
    assert (report.rejected, report.unreplayable) == (2, 1)
    assert report.reasons == {"rejected: layout": 2, "unreplayable: CONNECT": 1}


def test_of_each_reason_the_first_few_lines_are_named() -> None:
    report = ConvertReport()
    for number in range(100):
        report.refuse("a.log", number, "rejected", "layout")
    report.refuse("a.log", 100, "rejected", "time stamp")
    shown = [(name, number) for name, number, reason in report.first_bad if reason == "rejected: layout"]
    assert shown == [("a.log", number) for number in range(FIRST_SHOWN)]
    assert report.first_bad[-1] == ("a.log", 100, "rejected: time stamp")


def test_the_summary_is_json_with_the_most_frequent_reason_first() -> None:
    report = ConvertReport(share=2 / 3)
    for number, reason in enumerate(["bytes", "layout", "layout"]):
        report.refuse("a.log", number, "rejected", reason)
    summary = report.summary()
    assert json.loads(json.dumps(summary)) == summary
    assert list(summary["reasons"].items()) == [("rejected: layout", 2), ("rejected: bytes", 1)]
    assert summary["share"] == 0.6667


def test_losses_are_the_damage_and_the_rejected_lines_whatever_other_notes_say() -> None:
    report = ConvertReport(lines=1)
    report.notes.append("why the data end too soon or are damaged: another note")
    report.note_damage("a.gz", "gzip")
    report.refuse("a.gz", 1, "rejected", "layout")
    damage = "a.gz: the gzip data end too soon or are damaged; the lines before are kept"
    assert report.losses == [damage, "1 line = 0 converted + 0 unreplayable + 1 rejected + 0 blank"]
    assert json.loads(json.dumps(report.summary()))["notes"][1] == damage


def test_two_reports_share_nothing() -> None:
    one, other = ConvertReport(), ConvertReport()
    one.refuse("a.log", 1, "rejected", "layout")
    one.notes.append("x")
    assert (other.reasons, other.first_bad, other.notes) == ({}, [], [])
