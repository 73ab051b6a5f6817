"""The names of a log's values say what they are; of several for one thing the better one counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.formats.field_names import choose, has_status, meaning

NAMES = st.sampled_from(
    [
        "request", "req", "method", "uri", "path", "url", "args", "status", "code", "size", "bytes", "rt", "duration",
        "request_time", "host", "time", "msec", "ts", "ua", "Time", "URI", "unknown", "",
    ]
)  # fmt: skip


def slots(*names: str) -> dict[str, str]:
    return choose(dict.fromkeys(names, 1))


def test_each_value_goes_to_its_slot_by_any_case_of_its_name() -> None:
    assert slots("Method", "URI", "Status", "nonsense") == {"op": "Method", "url": "URI", "rc": "Status"}


def test_of_two_names_for_one_value_the_better_one_fills_it_whatever_their_order() -> None:
    assert slots("time_local", "msec", "uri")["time"] == "msec"
    assert slots("uri", "upstream_response_time", "request_time")["total"] == "request_time"


def test_a_better_name_that_few_records_have_does_not_take_the_values_of_the_rest() -> None:
    """One line with ``reqtime`` made the response times of all others, in ``apptime``, 0."""
    assert choose({"uri": 14, "apptime": 11, "reqtime": 1})["total"] == "apptime"
    assert choose({"uri": 14, "apptime": 14, "reqtime": 9})["total"] == "reqtime"
    assert "url" in choose({"uri": 14, "request": 2})
    assert choose({"uri": 14, "user": 0})["user"] == "user"


def test_the_whole_request_line_outweighs_its_parts() -> None:
    assert slots("method", "request", "uri", "args", "server_protocol", "status") == {
        "request": "request",
        "rc": "status",
    }


@pytest.mark.parametrize("names", [(), ("status", "time"), ("method", "args"), ("",)])
def test_names_without_a_request_among_them_fill_nothing(names: tuple[str, ...]) -> None:
    assert slots(*names) == {}


@given(st.lists(NAMES))
def test_a_name_fills_one_slot_at_most_and_there_is_a_request_or_nothing(names: list[str]) -> None:
    found = slots(*names)
    assert len(set(found.values())) == len(found)
    assert set(found.values()) <= set(names)
    assert not found or ("request" in found) != ("url" in found)


def test_a_status_is_known_by_its_names() -> None:
    assert has_status(["time", "Response_Code"])
    assert not has_status(["time", "state"])
    assert not has_status([])


@pytest.mark.parametrize(
    ("found", "server", "at"),
    [
        ({"time": "time", "total": "request_time"}, "nginx", "end"),
        ({"time": "msec"}, "nginx", "end"),
        ({"time": "time", "total": "duration_ms"}, "unknown", "start"),
        ({"time": "time"}, "unknown", "start"),
    ],
)
def test_the_names_of_nginx_tell_that_stamps_are_of_the_end(found: dict[str, str], server: str, at: str) -> None:
    said = meaning(found, {"total": ["1"], "first": []})
    assert (said["server"], said["stamp"].at, said["stamp"].kind) == (server, at, "any")


NONE: dict[str, list[str]] = {"total": [], "first": []}


def test_without_a_time_there_is_no_stamp() -> None:
    assert meaning({"url": "uri"}, NONE)["stamp"].kind == "none"


def test_the_time_to_the_first_byte_is_in_the_unit_of_the_whole_where_nothing_tells_its_own() -> None:
    said = meaning({"total": "elapsed_ms", "first": "ttfb"}, NONE)
    assert (said["total_unit"], said["first_unit"], said["note"]) == (1e-3, 1e-3, "")


@pytest.mark.parametrize(
    ("total", "first", "unit", "note"),
    [
        (("duration_ms", "25"), ("upstream_header_time", "0.012"), 1.0, False),
        (("request_time", "0.025"), ("first_ms", "12"), 1e-3, False),
        (("duration_ms", "25"), ("ttfb", "12"), 1e-3, False),
        (("duration_ms", "25.113"), ("ttfb", "12.345"), 1e-3, False),
        (("duration_ms", "25"), ("ttfb", "0.012"), 1e-3, False),
        (("duration_ms", "400"), ("ttfb", "0"), 1e-3, False),
        (("duration_ms", "7000"), ("ttfb", "5200"), 1e-3, False),
        (("duration", "70"), ("ttfb", "0.012"), 1.0, True),
        (("duration_us", "25000"), ("ttfb", "12000"), 1e-6, False),
        (("request_time", "0.025"), ("ttfb", "12"), 1.0, False),
        (None, ("ttfb", "0.012"), 1.0, True),
        (None, ("ttfb", "12"), 0.0, True),
    ],
)
def test_the_time_to_the_first_byte_has_the_unit_of_its_name_or_of_the_whole_or_of_its_values(
    total: tuple[str, str] | None, first: tuple[str, str], unit: float, note: bool
) -> None:
    slots = {"first": first[0], **({"total": total[0]} if total else {})}
    said = meaning(slots, {"total": [total[1]] if total else [], "first": [first[1]]})
    assert (said["first_unit"], "ttfb" in said["note"]) == (unit, note)
