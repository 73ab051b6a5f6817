"""UUIDs, time stamps and tokens."""

import time

import pytest

from logreplay.analysis.response_diff.difference import common_class, skeleton

UUIDS = ("6f1c2a44-9a0e-4b7e-8d53-0b1f8b1e2c3d", "00000000-9a0e-4b7e-8d53-0b1f8b1e2c3e")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (*UUIDS, "uuid"),
        (f"/orders/{UUIDS[0]}", f"/orders/{UUIDS[1]}", "uuid"),
        ("2026-11-23T04:05:06.123Z", "2026-11-23T04:05:07Z", "time stamp"),
        ("2026-11-23 04:05:06+01:00", "2026-11-23 04:05:07+01:00", "time stamp"),
        ("Mon, 23 Nov 2026 04:05:06 GMT", "Mon, 23 Nov 2026 04:05:09 GMT", "time stamp"),
        ("23/Nov/2026:04:05:06 +0000", "23/Nov/2026:04:05:07 +0000", "time stamp"),
        (1795406706, 1795406707, "time stamp"),
        (1795406706.25, 1795406707.5, "time stamp"),
        (1795406706123, 1795406707456, "time stamp"),
        ("1795406706", "1795406707", "time stamp"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIyIn0.abd", "token"),
        ("9f86d081884c7d659a2feaa0c55ad015", "60303ae22b998861bce3b28f33eec1be", "token"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW", "token"),
        ("V1StGXR8_Z5jdHi6B-myT", "x1StGXR8_Z5jdHi6B-myU", "token"),
        ("dGhpcyBpcyBhIHRva2Vu/2YgMTY+==", "aGhpcyBpcyBhIHRva2Vu/2YgMTY+==", "token"),
    ],
)
def test_values_of_one_class_are_alike(before: object, after: object, kind: str) -> None:
    assert common_class(before, after) == kind


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("alice", "bob"),
        (UUIDS[0], "9f86d081884c7d659a2feaa0c55ad015"),
        (f"/orders/{UUIDS[0]}", f"/carts/{UUIDS[1]}"),
        ("2026-11-23", "2026-11-24"),
        ("my-long-article-title-2024-edition", "my-long-article-title-2025-edition"),
        ("/api/v1/products/list/all/2", "/api/v2/products/list/all/2"),
        (1795406706, 1695406706),
        (4711, 4712),
        (True, 1795406706),
        ("internationalization", "internationalisation"),
        (1e300, 1795406706),
        (10**400, 1795406706),
    ],
)
def test_other_values_are_not(before: object, after: object) -> None:
    assert common_class(before, after) == ""


def test_a_skeleton_names_the_classes() -> None:
    text = f'<a href="/{UUIDS[0]}">2026-11-23T04:05:06Z</a> 7'
    assert skeleton(text) == '<a href="/<uuid>"><time stamp></a> 7'


@pytest.mark.parametrize("part", ["a", "A1", "a/", "0", "-", "a1b-", "aA0+", "2026-11-", "eyJaaaaaa."])
def test_a_long_hostile_text_is_read_in_linear_time(part: str) -> None:
    def seconds(size: int) -> float:
        text = part * (size // len(part))
        began = time.process_time()
        skeleton(text)
        return time.process_time() - began

    assert seconds(60_000) < 40 * max(seconds(6_000), 1e-3)
