"""Regular expressions against hostile lines: time is linear in the line, and a pattern too large is refused."""

from collections.abc import Callable

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.filters import Filter
from logreplay.parsers.formats.infer import from_sample
from logreplay.parsers.redaction.redact import Redactor
from logreplay.replay.requests.filters import Excluding, Matching, Rewritten
from logreplay.replay.sessions.extraction import Extraction
from support.linear_time import is_linear

CATASTROPHIC = (r"(a+)+$", r"(a|a)*$", r"(a|aa)+$", r"(.*a){12}$", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(?:a?){30}a{30}$")
"""Patterns that take exponential time in engines that backtrack, such as Python's."""


def frame(text: str) -> pl.DataFrame:
    return pl.DataFrame({"url": [f"/{text}!"], "reason": pl.Series([None], dtype=pl.String)})


def filtered(filter: Filter, text: str) -> pl.DataFrame:
    condition = filter.condition()
    assert condition is not None
    return frame(text).filter(condition)


USES: dict[str, Callable[[str, str], object]] = {
    "convert --match": lambda pattern, text: filtered(Filter(match=pattern), text),
    "convert --exclude": lambda pattern, text: filtered(Filter(exclude=pattern), text),
    "--match": lambda pattern, text: Matching((pattern,))(frame(text)),
    "--exclude": lambda pattern, text: Excluding((pattern,))(frame(text)),
    "--rewrite": lambda pattern, text: Rewritten(pattern, "x")(frame(text)),
    "--extract": lambda pattern, text: Extraction.parse(f"v=regex:{pattern}").find((), text.encode()),
}


@pytest.mark.parametrize("pattern", CATASTROPHIC)
@pytest.mark.parametrize("use", USES)
def test_no_pattern_takes_more_than_linear_time(use: str, pattern: str) -> None:
    assert is_linear(lambda length: USES[use](pattern, "a" * length), 2_000)


@pytest.mark.parametrize("use", USES)
def test_a_pattern_that_needs_too_much_memory_is_refused(use: str) -> None:
    with pytest.raises((ValueError, LogreplayError), match=r"not a (valid )?regular expression"):
        USES[use](r"((a{1,1000}){1,1000}){1,1000}", "a")


PIECES = (*"a=&;%/@.-{,", "a=", "%41", "/a", "a1", '"', '"a":', "1.", "1e", "--B\r\n")


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place", ["url", "referer", "agent", "host", "headers", "body", "remark"])
def test_redaction_takes_linear_time(place: str, piece: str) -> None:
    before = {"url": "/", "referer": "http://", "headers": "Cookie: "}.get(place, "")

    def redact(text: str) -> object:
        return Redactor(b"key").rows(pl.DataFrame({place: [before + text]}))

    assert is_linear(lambda length: redact(piece * (length // len(piece))), 2_000)


STAMP = "[20/Nov/2026:18:58:56 +0100]"
REQUEST = ' "GET / HTTP/1.1" 200 17'


@pytest.mark.parametrize("piece", [STAMP, '"', r"\"", "[ ", rf"{STAMP}\"", 'a="', "1, "])
@pytest.mark.parametrize("around", [("", ""), ("", STAMP + REQUEST), (STAMP + REQUEST, "")])
def test_a_layout_is_learned_from_a_hostile_line_in_linear_time(around: tuple[str, str], piece: str) -> None:
    before, behind = around
    assert is_linear(lambda length: from_sample([before + piece * (length // len(piece)) + behind]), 2_000)
