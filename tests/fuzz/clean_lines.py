"""Lines that the fast reader takes from any bytes equal, to the byte, those of the strict patterns."""

from typing import Final

from logreplay.parsers.conversion.detect import Detection
from logreplay.parsers.conversion.job import output_columns
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.log_format import nginx_format
from logreplay.parsers.lines.clean_lines import pieces_of, take
from logreplay.parsers.lines.csv_lines import rendered
from support.format_samples import SAMPLES

_NAMED: Final = nginx_format('$request_time $status [$time_local] $host "$request" x=$http_referer "$http_user_agent"')
_LINE: Final = '0.050 200 [20/Nov/2026:18:58:56 +0100] a.example "GET /a,b?c=d HTTP/1.1" x=- "curl, 8"'
_FORMATS: Final = [_NAMED, *(format for format in FORMATS if pieces_of(format))]


def seeds() -> list[bytes]:
    """The formats' own samples, each twice, behind the number of its format."""
    samples = [(_LINE,), *(SAMPLES[format.name] for format in _FORMATS[1:])]
    return [bytes([n]) + "\n".join((*lines, *lines)).encode("latin-1") for n, lines in enumerate(samples)]


def one_input(data: bytes) -> None:
    """The first byte chooses the format, the rest is the log."""
    if len(data) < 2:
        return
    format, log = _FORMATS[data[0] % len(_FORMATS)], data[1:]
    columns = output_columns([Detection((format,))])[2:]
    taken = take(log, format, columns)
    if taken is None:
        return
    lines = text_lines(log)
    assert sorted([*taken.line, *taken.left]) == list(range(len(lines)))
    strict = parse(lines.gather(taken.line), [format]).rows
    assert strict["us"].to_list() == taken.us.tolist()
    mine, theirs = taken.lines, rendered(strict, columns)
    assert bytes(mine.joined()[0][: mine.width.sum()]) == bytes(theirs.joined()[0][: theirs.width.sum()])
