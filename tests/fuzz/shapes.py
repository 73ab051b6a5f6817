"""What detection makes of a log that is in no built-in format: JSON, LTSV, a tail of its own, directives."""

from fuzz.formats import JSON, LTSV, check
from logreplay.parsers.conversion.detect import PREFIXES
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats import infer
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.named_values import json_from_sample, ltsv_from_sample
from logreplay.parsers.formats.w3c import FieldsDirective, stretches

_MAKERS = (json_from_sample, ltsv_from_sample, infer.from_sample)


def seeds() -> list[bytes]:
    """A log of each shape."""
    combined = '127.0.0.1 - - [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200 17 "-" "x" rt=0.001 "y"'
    w3c = (
        "#Software: Microsoft Internet Information Services 10.0\n"
        "#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status time-taken\n"
        "2026-11-20 18:58:56 GET /a q=1 200 15\n"
    )
    docker = "2026-11-20T18:58:56.123456789Z stdout F " + combined
    return [
        b"\x00" + (JSON + "\n" + JSON).encode(),
        b"\x01" + LTSV.encode(),
        b"\x02" + "\n".join([combined] * 3).encode(),
        b"\x03" + w3c.encode(),
        b"\x04" + docker.encode(),
    ]


def one_input(data: bytes) -> None:
    """The first byte chooses what to take the rest for."""
    if len(data) < 2:
        return
    choice, data = data[0] % (len(_MAKERS) + 2), data[1:]
    if choice < len(_MAKERS):
        lines = text_lines(data)
        if format := _MAKERS[choice](lines.to_list()):
            check(lines, parse(lines, [format], "Europe/Berlin"))
    elif choice == len(_MAKERS):
        _directives(data)
    else:
        lines = text_lines(data)
        for prefix in PREFIXES:
            if prefix.fits(lines):
                assert len(prefix.strip(lines)) == len(lines)


def _directives(data: bytes) -> None:
    covered = 0
    for begin, end, format in stretches(data, FieldsDirective()):
        assert begin == covered
        covered = end
        lines = text_lines(data[begin:end])
        found: list[Format] = [format] if format else []
        check(lines, parse(lines, found))
    assert covered == len(data)
