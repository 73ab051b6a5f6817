"""The shortcut for clean lines: what it makes of any bytes is, to the byte, what the strict patterns make of them."""

from typing import Final

from logreplay.parsers.conversion.job import AsLines, output_columns
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.log_format import nginx_format
from logreplay.parsers.lines.fast_path import take_shortcut
from logreplay.parsers.lines.parse import parse
from logreplay.parsers.lines.word_layout import wording

_NAMED: Final = nginx_format('$request_time $status [$time_local] $host "$request" x=$http_referer "$http_user_agent"')
_LINE: Final = b'0.050 200 [20/Nov/2026:18:58:56 +0100] a.example "GET /a,b?c=d HTTP/1.1" x=- "curl, 8"'
_WAYS: Final = [(format, way) for format in (_NAMED, *FORMATS) if (way := wording(format))]
_COLUMNS: Final = [output_columns([format])[2:] for format, _ in _WAYS]


def seeds() -> list[bytes]:
    """The formats' own samples, each twice, behind the number of its format."""
    samples = [(_LINE,), *(tuple(sample.encode("latin-1") for sample in format.samples) for format, _ in _WAYS[1:])]
    return [bytes([number]) + b"\n".join((*lines, *lines)) for number, lines in enumerate(samples)]


def one_input(data: bytes) -> None:
    """The first byte chooses the format, the rest is the log."""
    if len(data) < 2:
        return
    number, log = data[0] % len(_WAYS), data[1:]
    format, way = _WAYS[number]
    taken = take_shortcut(log, way, _COLUMNS[number])
    if taken is None:
        return
    rows, left = taken
    lines = text_lines(log)
    strict = AsLines(_COLUMNS[number])(parse(lines, [format]).rows)
    assert sorted([*rows["line"], *left]) == list(range(len(lines)))
    assert rows.equals(strict.filter(strict["line"].is_in(rows["line"].implode())))
