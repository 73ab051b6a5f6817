"""Notes for the user on the times, units and sizes of a log that was read."""

from collections.abc import Sequence

from logreplay.core.plural import number_of
from logreplay.parsers.conversion.ingest import LogReader
from logreplay.parsers.conversion.source import BlockSource
from logreplay.parsers.fields.units import UNKNOWN

_BETTER_STAMPS = {
    "nginx": "; log $msec for better ones",
    "apache": "; log %{usec_frac}t for better ones",
    "unknown": "; log $msec (nginx) or %{usec_frac}t (Apache) for better ones",
}

SCRAMBLED = 0.01
"""Share of rows going back in time above which the user is told."""
_OFFSETS = 6
"""Offsets that are named."""


def notes(
    intake: LogReader, sources: Sequence[BlockSource], time_unit: str, timezone: str, *, zoned: bool = False
) -> list[str]:
    """Notes on the times, units and sizes of a log that was read.

    Args:
        intake: it was read by.
        sources: the files of the log.
        time_unit, timezone: as the user gave them; empty: not at all.
        zoned: the time zone is that of a filter, too.
    """
    found: list[str] = []
    report = intake.account.report
    formats = [format for reading in intake.readings for format in reading.formats]
    fields = intake.fields.union(*(format.layout.fields for format in formats))
    if intake.untimed and intake.untimed >= report.converted + report.filtered:
        fields -= {"total", "first"}
    if not time_unit:
        told = (*(format.note for format in formats), *(reading.note for reading in intake.readings))
        found += filter(None, dict.fromkeys(told))
    if report.converted and formats and "time" not in fields:
        found.append("the log has no times: requests keep their order, all at the same instant; replay it with --tps")
    elif intake.fine == 1.0 and report.converted and not intake.spread:
        found.append("the fraction of each start time is 0: all requests of a second start together")
    elif intake.fine == 1.0 and report.converted:
        better = _BETTER_STAMPS.get(intake.server, "")
        found.append(f"start times are known to the second, and spread within it by file order{better}")
    unused = not time_unit and any(UNKNOWN in (format.total_unit, format.first_unit) for format in formats)
    if report.converted and fields and not {"total", "first"} & fields:
        w3c = not all(reading.formats for reading in intake.readings)  # whose times are ends
        ends = w3c or any(format.stamp.at == "end" for format in formats)
        found.append(
            "the log has no response times" + (": the end of a request is taken for its start" if ends else "")
        )
    elif "total" in fields and "first" not in fields and not unused:
        found.append("latency holds the whole response time: the log has no time to the first byte")
    elif "first" in fields and "total" not in fields and not unused:
        found.append("latency holds the time to the first byte: the log has no whole response time")
    if intake.untimed and {"total", "first"} & fields:
        found.append(
            f"{number_of(intake.untimed, 'request has', 'requests have')} no response time in the log: latency is 0"
        )
    if report.converted and fields and time_unit and not {"total", "first"} & fields:
        found.append(f"--time-unit {time_unit} had no effect: the log has no response times")
    durations = [(format, {"total", "first"} & format.layout.fields) for format in formats]
    if time_unit and any(have for _, have in durations) and all(have <= format.named for format, have in durations):
        found.append(f"--time-unit {time_unit} had no effect: the names of the durations tell their units")
    if report.converted and timezone and not (intake.naive or zoned):
        why = "the zone of each time stamp is known" if "time" in fields else "the log has no times"
        if not formats:  # the log's own directives name its fields
            why = "the times of a W3C log are UTC"
        found.append(report.zone_had_no_effect(timezone, why))
    if intake.naive and not timezone:
        found.append(
            f"{number_of(intake.naive, 'time stamp has no zone and is', 'time stamps have no zone and are')} read as "
            "UTC; give the zone with --timezone"
        )
    if report.converted and len(intake.offsets) > 1:
        found.append(
            f"the times have several offsets from UTC, {', '.join([*intake.offsets][:_OFFSETS])}: the clock of the "
            "server was changed, or the log is of several zones"
        )
    if report.converted and intake.http3:
        found.append(
            f"{number_of(intake.http3, 'line names', 'lines name')} HTTP/3, which logreplay does not speak: their "
            "requests are sent as HTTP/1.1, with --http 2 as HTTP/2; --http log leaves them out"
        )
    if intake.hashed:
        found.append(
            number_of(
                intake.hashed,
                "line that begins with # is read as a request",
                "lines that begin with # are read as requests",
            )
            + ", as a client may send what stands first in its line; delete the lines that are comments"
        )
    found += (
        f"{name}: begins in an hour that the clock of {timezone} ran through twice, and nothing tells in which pass: "
        "read as the first; if it is the second, convert this file with its offset, such as --timezone Etc/GMT-1 for "
        "UTC+1"
        for name in intake.unsure
    )
    read = report.converted + report.filtered
    if report.converted and intake.backwards > read / 2 and intake.forwards <= SCRAMBLED * read:
        found.append("the newest line is the first: the requests are put in the order of their times")
    elif report.converted and intake.backwards > SCRAMBLED * read:
        report.scrambled = True
        found.append(
            f"of {read:,} requests {intake.backwards:,} are older than some line before them by "
            "more than the longest request takes: scrambled times, or several logs in one file; the requests are "
            "usable, their timing is not"
        )
    return found + growth(sources, report.unit)


def growth(sources: Sequence[BlockSource], unit: str) -> list[str]:
    """Notes on files that others wrote to while they were read."""
    return [
        f"{source.name}: grew by {number_of(grown, 'byte')} while it was read; {unit} added meanwhile may be missing"
        for source in sources
        if (grown := source.grown())
    ]
