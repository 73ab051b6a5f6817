"""W3C extended logs: IIS, CloudFront and others. ``#Fields`` names the columns, and may change inside a file.

Source: https://www.w3.org/TR/WD-logfile.html,
https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.fields.values import CLEAN
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.log_format import MILLISECOND, Field, compile_tokens

_VALUE: Final = r"[^ \t]*"

_MOST_FIELDS: Final = 1000
_REQUEST: Final = {"cs-uri-stem", "cs-uri"}

_FIELDS: Final = {
    "c-ip": Field("client"),
    "cs-method": Field("op"),
    "cs-uri-stem": Field("url", "w3c", 1),
    "cs-uri": Field("url", "w3c", 2),
    "cs-uri-query": Field("args"),
    "cs-version": Field("protocol"),
    "cs-protocol-version": Field("protocol", rank=1),
    "sc-status": Field("rc", "status"),
    "sc-bytes": Field("bytes", "int"),
    "cs-bytes": Field("request_bytes", "int"),
    "cs-host": Field("host"),
    "cs(host)": Field("host", rank=1),
    "x-host-header": Field("host", rank=2),
    "cs-username": Field("user", "w3c"),
    "cs(referer)": Field("referer"),
    "cs(user-agent)": Field("agent"),
    "time-taken": Field("total", "number"),
    "time-to-first-byte": Field("first", "number"),
}

CLOUDFRONT_FIELDS: Final = (
    "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) "
    "cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken "
    "x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status "
    "fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len "
    "sc-range-start sc-range-end"
)
"""The standard log, for files whose header was lost."""


@dataclass(slots=True)
class FieldsDirective:
    """The directives of a file so far."""

    fields: tuple[str, ...] = ()
    separator: str = " "
    software: str = ""
    day: str = ""

    def read(self, line: str) -> None:
        """Take in a directive, a line that begins with ``#``."""
        name, _, value = line[1:].partition(":")
        match name.strip().lower():
            case "fields":
                self.fields = tuple(value.split())
                self.separator = "\t" if "\t" in value.strip() else " "
            case "software":
                self.software = value.strip()
            case "date" | "start-date":
                self.day = value.split()[0] if value.split() else ""

    @property
    def _names(self) -> set[str]:
        return {name.lower() for name in self.fields}

    def fault(self) -> str:
        """Why no request can be read by these directives; empty if one can."""
        names = self._names
        if len(self.fields) > _MOST_FIELDS:
            return f"#Fields names {len(self.fields):,} fields; at most {_MOST_FIELDS:,} are read"
        if not names & _REQUEST:
            return "#Fields does not name cs-uri-stem; add it to the fields that the server logs"
        if "time" not in names:
            return "#Fields does not name time; add date and time to the fields that the server logs"
        if "date" not in names and not self.day:
            return "#Fields does not name date, and there is no #Date; add date to the fields that the server logs"
        return ""

    def mismatch(self, line: str) -> str:
        """Say, in brackets, why a line does not fit: its number of values, otherwise its date or time."""
        values = line.split("\t") if self.separator == "\t" else line.split()
        if len(values) == len(self.fields):
            return " (dates must be as 2026-11-20, times as 18:58:56)"
        return f" ({len(values)} values, but #Fields names {len(self.fields)})"

    def format(self) -> Format | None:
        """The format that these directives describe; None without a field for the request, or with too many fields."""
        if len(self.fields) > _MOST_FIELDS or not self._names & _REQUEST:
            return None
        cloudfront = "x-edge-location" in self._names
        format = w3c_format(self.fields, "\t" if cloudfront else self.separator, "cloudfront" if cloudfront else "w3c")
        if "time" in self._names and "date" not in self._names:
            format = replace(format, stamp=replace(format.stamp, day=self.day))
        if "Internet Information" in self.software:
            return replace(format, total_unit=MILLISECOND, agent_coding="plus", server="iis")
        return format


def w3c_format(fields: Sequence[str], separator: str, name: str) -> Format:
    """The format of lines with these columns, in this order; date and time may stand apart."""
    tokens: list[str | Field] = []
    names = [field.lower() for field in fields]
    place = 0
    while place < len(names):
        width = 1
        if names[place : place + 2] == ["date", "time"]:
            width = 2
            field = Field("time", "shape", stamp=Stamp("iso"), shape=r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]+[0-9:.]+")
        elif names[place] == "time":
            field = Field("time", "shape", stamp=Stamp("iso"), shape=r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?")
        elif names[place] == "date":
            field = Field("day", "shape", shape=r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
        else:
            field = _FIELDS.get(names[place], Field("", "w3c"))
            if field.kind in ("text", "w3c"):
                field = replace(field, kind="shape", shape=_VALUE, strict=f"{CLEAN}*" if field.slot else "")
        tokens += [field, separator]
        place += width
    format = compile_tokens(tokens[:-1], name, "w3c", escaped=False, text=" ".join(fields))
    cloudfront = name == "cloudfront"
    return replace(
        format,
        stamp=Stamp("iso", "end", zone="UTC"),
        server=name,
        agent_coding="percent" if cloudfront else "plus",
        comments=True,
        source="https://www.w3.org/TR/WD-logfile.html",
        note="CloudFront's byte counts include headers" if cloudfront else "",
    )


_DIRECTIVE: Final = re.compile(rb"^#[^\n]*$", re.MULTILINE)


def stretches(data: bytes, header: FieldsDirective) -> Iterator[tuple[int, int, Format | None]]:
    """Cut a block where ``#Fields`` or the date change; ``header`` holds the directives before it, and is updated.

    Yields:
        Begin, end and format of each stretch of bytes; together they are the block. None before the first ``#Fields``.
    """
    begin, format = 0, header.format()
    for match in _DIRECTIVE.finditer(data):
        before = (header.fields, header.software, header.day)
        header.read(match[0].decode("latin-1"))
        if (header.fields, header.software, header.day) != before:
            if match.start() > begin:
                yield begin, match.start(), format
            begin, format = match.start(), header.format()
    if begin < len(data):
        yield begin, len(data), format
