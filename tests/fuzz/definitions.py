"""``-f``: whatever is given for a ``log_format`` or ``LogFormat``, it is a format, or it is said why it is none."""

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.format_spec import apache_definition, defined, nginx_definition

_LINES = pl.Series(
    "text", ['10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=1 HTTP/1.1" 200 17 "-" "x" 0.010', "", "~"]
)


def seeds() -> list[bytes]:
    """Definitions as they stand in configurations."""
    texts = (
        '\x00$remote_addr - $remote_user [$time_local] "$request" $status "$http_referer" $request_time',
        '\x00{"time":"$time_iso8601","req":"$request","status":$status,"rt":$request_time}',
        "\x00time:$time_local\treq:${request}\tstatus:$status",
        '\x01%h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\" %D %{ms}T %{%d/%b/%Y}t',
        '\x01{"time":"%{%Y-%m-%dT%T%z}t","request":"%r","status":"%>s","us":%D}',
        "\x02log_format main escape=json '$remote_addr' ' \"$request\" $status';",
        '\x02LogFormat "%h \\"%r\\" %>s" short',
        '\x02CustomLog logs/access.log "%h \\"%r\\" %>s"',
    )
    return [text.encode() for text in texts]


def one_input(data: bytes) -> None:
    """The first byte says whose definition it is; the rest is its text."""
    if len(data) < 2:
        return
    text = data[1:].decode("utf-8", "replace")
    try:
        format = _compiled(data[0] % 3, text)
    except LogreplayError:
        return
    if format:
        parsed = parse(_LINES, [format])
        assert len(_LINES) == parsed.rows.height + len(parsed.refusals) + parsed.blank


def _compiled(kind: int, text: str) -> Format | None:
    if kind == 0:
        return nginx_definition("fuzzed", [text])
    if kind == 1:
        return apache_definition("fuzzed", text)
    return defined(text) if "#" not in text else None  # with it, it is a file's name
