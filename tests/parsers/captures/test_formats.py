"""Formats of captures are told by their first bytes; no access log is taken for one."""

import pytest

from logreplay.parsers.captures.formats import CAPTURES, capture_format
from support.captured_requests import SAMPLES
from support.format_samples import SAMPLES as LOGS


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_has_its_format_and_no_other(name: str) -> None:
    head = SAMPLES[name]()[:4096]
    assert [format.name for format in CAPTURES if format.fits(head)] == [name]
    named = capture_format(b"", name)
    assert named
    assert named.name == name


def test_no_access_log_is_taken_for_a_capture() -> None:
    for name, lines in LOGS.items():
        assert capture_format("\n".join(map(str, lines)).encode()) is None, name
    assert capture_format(b"", "combined") is None
