"""Every format's path: whatever stands in a log, each line gets one fate, and no row can do harm."""

import re
from typing import Final

import polars as pl

from logreplay.parsers.conversion.parse import BUG, TEXTS, ParsedBlock, parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.named_values import json_from_sample, ltsv_from_sample
from support.format_samples import SAMPLES

JSON: Final = (
    r'{"time":"2026-11-20T18:58:56+01:00","request":"GET /a HTTP/1.1","status":200,"bytes":17,"request_time":0.001}'
)
LTSV: Final = "time:2026-11-20T18:58:56+01:00\treq:GET /a HTTP/1.1\tstatus:200\tsize:17\treqtime:0.001\tua:x"

_FOUND: Final = (json_from_sample([JSON]), ltsv_from_sample([LTSV]))
ALL: Final = (*FORMATS, *(format for format in _FOUND if format is not None))
_UNSAFE: Final = re.compile(r"[^\x21-\x7e]|\"")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def seeds() -> list[bytes]:
    """The formats' own samples, each behind the number of its format."""
    samples = SAMPLES | {"json": (JSON,), "ltsv": (LTSV,)}
    return [
        bytes([number]) + "\n".join(samples[format.name]).encode("latin-1", "replace")
        for number, format in enumerate(ALL)
    ]


def one_input(data: bytes) -> None:
    """The first byte chooses the format, the rest is the log."""
    if len(data) < 2:
        return
    lines = text_lines(data[1:])
    check(lines, parse(lines, [ALL[data[0] % len(ALL)]], "Europe/Berlin"))


def check(lines: pl.Series, parsed: ParsedBlock) -> None:
    """Hold what parsing promises."""
    rows = parsed.rows
    assert len(lines) == rows.height + len(parsed.refusals) + parsed.blank
    assert not [refusal for refusal in parsed.refusals if refusal.reason.startswith(BUG)]
    if not rows.height:
        return
    for name in ("us", "url", "op", "rc", "bytes", "latency", "xfertime"):
        assert rows[name].null_count() == 0, name
    harmful = {**dict.fromkeys(("url", "op"), _UNSAFE), **dict.fromkeys(TEXTS, _CONTROL)}
    for name, pattern in harmful.items():
        for text in rows[name]:
            assert text is None or not pattern.search(text), (name, text)
