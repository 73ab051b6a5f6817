"""The user is told what a log says of its times, units and sizes, and nothing that the user said already."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logreplay.parsers.conversion.advice import notes
from logreplay.parsers.conversion.detect import Detection
from logreplay.parsers.conversion.ingest import LogReader
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.report import Account, ConvertReport
from logreplay.parsers.conversion.source import BlockSource
from logreplay.parsers.fields.units import UNKNOWN
from logreplay.parsers.formats.builtin import FORMATS

BY_NAME = {format.name: format for format in FORMATS}
COMBINED = BY_NAME["combined"]


def said(
    *formats: Any, time_unit: str = "", timezone: str = "", server: str = "unknown", converted: int = 100,
    zoned: bool = False, **seen: Any
) -> str:  # fmt: skip
    reading = Detection(() if formats == (None,) else formats or (COMBINED,), server=server)
    seen = {"fine": 1e-6, "spread": True, **seen}
    intake = LogReader([], [reading], "", Account(ConvertReport(100, converted)), **seen)
    return "\n".join(notes(intake, [], time_unit, timezone, zoned=zoned))


TIMED = BY_NAME["nginx-common-timed"]


def test_of_a_log_without_response_times_this_is_said() -> None:
    assert said() == "the log has no response times"
    assert "no response times" not in said(TIMED)


def test_a_log_whose_requests_all_lack_their_response_time_has_none() -> None:
    assert "the log has no response times" in said(TIMED, untimed=100)
    assert "1 request has no response time in the log: latency is 0" in said(TIMED, untimed=1)


def test_durations_without_a_known_unit_are_in_no_latency() -> None:
    unknown = replace(TIMED, total_unit=UNKNOWN)
    assert "latency holds the whole" in said(TIMED)
    assert "latency holds the whole" in said(unknown, time_unit="ms")
    assert "latency holds the whole" not in said(unknown)


def test_a_log_with_the_time_to_the_first_byte_alone_has_response_times() -> None:
    assert said(BY_NAME["cloudflare"]) == "latency holds the time to the first byte: the log has no whole response time"


def test_stamps_of_whole_seconds_are_said_with_what_its_server_could_log() -> None:
    assert "log $msec for better ones" in said(fine=1.0, server="nginx")
    assert "%{usec_frac}t" in said(fine=1.0, server="apache")
    assert "known to the second" in said(fine=1.0, server="iis")


def test_the_note_of_a_format_is_given_once_and_not_where_the_user_said_the_unit() -> None:
    guessed = replace(COMBINED, note="a guess")
    assert said(guessed, replace(guessed, name="other")).count("a guess") == 1
    assert "a guess" not in said(guessed, time_unit="ms")


def test_lines_of_http3_are_counted_with_what_is_sent_instead() -> None:
    assert "1,234 lines name HTTP/3, which logreplay does not speak: their requests are sent as" in said(http3=1234)
    assert "HTTP/3" not in said()


def test_several_offsets_of_the_stamps_are_named() -> None:
    assert "several offsets from UTC, +0100, +0200: the clock of the server was changed" in said(
        offsets={"+0100": None, "+0200": None}
    )
    assert "offsets" not in said(offsets={"+0100": None})


CLF = '192.0.2.1 - - [05/Jan/2026:12:00:00 {zone}] "GET {url} {protocol}" 200 1 "-" "{agent}"'
JSON = '{{"status":200,"request":"GET {url} {protocol}","ua":"{agent}","time":"2026-01-05T12:00:00{zone}"}}'
EPOCH = '{{"status":200,"request":"GET {url} {protocol}","ua":"{agent}","time":"1767610800"}}'
PATTERN = '192.0.2.1 - - [2026-01-05 12:00:00 {zone}] "GET {url} {protocol}" 200 1 "-" "{agent}"'
FORMAT = '%h %l %u [%{%Y-%m-%d %H:%M:%S %z}t] "%r" %>s %b "%{Referer}i" "%{User-Agent}i"'
PLAIN = {"zone": "+0000", "url": "/a", "protocol": "HTTP/1.1", "agent": "curl"}


@pytest.mark.parametrize("line", [CLF, JSON, EPOCH, PATTERN])
def test_only_protocols_and_stamps_tell_of_http3_and_of_offsets(tmp_path: Path, line: str) -> None:
    said = {"url": "/?12:00:00+0900&HTTP/3.0", "agent": "12:00:00 +0900 HTTP/3.0"}
    stranger = [line.format_map(PLAIN | said), line.format_map(PLAIN | {"agent": "x 12:00:00 -0700 HTTP/3"})]
    own = [line.format_map(PLAIN | {"zone": zone, "protocol": "HTTP/3.0"}) for zone in ("+0100", "+0200")]
    form = ConvertOptions(format=FORMAT if line == PATTERN else "auto", force=True)
    for more, told in (([], False), (own, True)):
        (tmp_path / "log").write_text("\n".join([line.format_map(PLAIN)] * 9 + stranger + more) + "\n")
        report = convert([tmp_path / "log"], tmp_path / "out.csv", form)
        assert report.converted == 11 + len(more)
        notes = "\n".join(report.notes)
        assert ("2 lines name HTTP/3" in notes, "HTTP/3" in notes) == (told, told)
        offsets = "several offsets from UTC, +0000, +0100, +0200: the clock"
        assert (offsets in notes, "offsets" in notes) == (told and line != EPOCH,) * 2


TIMED_JSON = JSON.removesuffix("}}") + ',"request_time":{took}}}'
LTSV = "time:2026-01-05T12:00:00{zone}\treq:GET {url} {protocol}\tstatus:200\treqtime:{took}"


@pytest.mark.parametrize(
    ("with_time", "without"),
    [
        (f"{CLF} {{took}}", CLF),
        (f"{CLF} {{took}}", f"{CLF} -"),
        (TIMED_JSON, JSON),
        (TIMED_JSON, TIMED_JSON.replace("{took}", '"-"')),
        (LTSV, LTSV.replace("{took}", "-")),
        (LTSV, LTSV.replace("{took}", "").replace("{url}", "{url}\\x22")),
    ],
)
@pytest.mark.parametrize(("many", "few"), [(9, 3), (3, 9)])
def test_requests_without_a_response_time_are_counted(
    tmp_path: Path, with_time: str, without: str, many: int, few: int
) -> None:
    """Their latency of 0 looked like a response at once."""
    lines = [with_time.format_map({**PLAIN, "took": "0.000"})] * many + [without.format_map(PLAIN)] * few
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    notes = convert([tmp_path / "log"], tmp_path / "out.csv").notes
    assert f"{few} requests have no response time in the log: latency is 0" in notes


@pytest.mark.parametrize(
    ("zones", "told"),
    [
        (["+0000", "+00:00", "Z", "-00:00"], ""),
        (["+0100", "+01:00"], ""),
        (["Z", "+01:00", "+0100", "+99:99"], "+0000, +0100: the clock"),
    ],
)
def test_one_offset_in_several_notations_is_no_change_of_the_clock(tmp_path: Path, zones: list[str], told: str) -> None:
    (tmp_path / "log").write_text("".join(JSON.format_map(PLAIN | {"zone": zone}) + "\n" for zone in zones))
    notes = "\n".join(convert([tmp_path / "log"], tmp_path / "out.csv").notes)
    assert (told in notes, "offsets" in notes) == (True, bool(told))


def test_stamps_without_a_zone_are_counted_unless_the_user_said_the_zone() -> None:
    assert "\n1,234 " in said(naive=1234)
    assert "1,234" not in said(naive=1234, timezone="UTC")


def test_options_for_what_the_log_does_not_leave_open_are_said_to_have_no_effect() -> None:
    assert "--time-unit ms had no effect: the log has no response times" in said(time_unit="ms")
    assert "--time-unit" not in said(TIMED, time_unit="ms")
    assert "--timezone UTC had no effect: the zone of each time stamp is known" in said(timezone="UTC")
    assert "--timezone UTC had no effect: the times of a W3C log are UTC" in said(None, timezone="UTC")
    assert "--timezone" not in said(timezone="UTC", naive=1) + said(timezone="UTC", zoned=True)


def test_scrambled_times_are_said_if_more_than_one_request_in_a_hundred_has_them() -> None:
    assert "are older" not in said(backwards=1)
    assert "of 100 requests 2 are older" in said(backwards=2)
    assert "of 100 requests 80 are older" in said(backwards=80, forwards=2)
    assert "the newest line is the first" in said(backwards=80, forwards=1)
    assert "are older" not in said(backwards=1, converted=0)


def test_a_log_that_grew_while_it_was_read_is_named(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("one\n")
    source = BlockSource(log)
    intake = LogReader([source], [Detection((COMBINED,))], "", Account(ConvertReport()))
    assert notes(intake, [source], "", "") == []
    with log.open("a") as more:
        more.write("two\n")
    assert [note.startswith(f"{log}: grew by 4 bytes") for note in notes(intake, [source], "", "")] == [True]
    source.close()
