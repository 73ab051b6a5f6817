"""Objects are cut out of a stream of JSON wherever its pieces end."""

import json
import tracemalloc
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.captures import json_stream
from logreplay.parsers.captures.json_stream import objects

VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=4), max_size=5), st.integers(1, 40))
def test_the_objects_of_a_stream_and_of_a_list_are_found(values: list[dict[str, object]], piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_PIECE", piece)
        stream = BytesIO("\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode())
        assert [json.loads(data) for data, _ in objects(stream, 10_000)] == values
        log = {"version": {"a": [{}]}, "pages": [{"entries": [{"no": 1}]}], "entries": values, "more": [{}]}
        text = json.dumps({"log": log}, indent=1).encode()
        assert [json.loads(data) for data, _ in objects(BytesIO(text), 10_000, "entries")] == values


def test_objects_that_are_too_long_or_cut_off_are_told_and_the_next_one_is_found() -> None:
    long = json.dumps({"a": "x" * 3_000_000}).encode()
    found = list(objects(BytesIO(long + b'{"b":1}{"c"'), 2_000_000))
    assert [(whole, len(data)) for data, whole in found] == [(False, 65536), (True, 7), (False, 4)]


def test_open_brackets_without_number_are_no_object_and_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_PIECE", 1000)
    brackets, keys = BytesIO(b"[" * 30_000), BytesIO(b'{"a":' * 10_000)
    tracemalloc.start()
    try:
        assert list(objects(brackets, 1000)) == []
        ((_, whole),) = objects(keys, 1000)
        assert tracemalloc.get_traced_memory()[1] < 15_000
    finally:
        tracemalloc.stop()
    assert not whole


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_objects_behind_a_deeply_nested_one_are_found(brackets: tuple[str, str]) -> None:
    deep = f"{brackets[0] * 250}1{brackets[1] * 250}"
    entries = ['{"no":0}', f'{{"x":{deep}}}', '{"no":2}', '{"no":3}']
    log = f'{{"log":{{"entries":[{",".join(entries)}]}}}}'.encode()
    assert [data.decode() for data, _ in objects(BytesIO(log), 10_000, "entries")] == entries
    assert [data.decode() for data, _ in objects(BytesIO("\n".join(entries).encode()), 10_000)] == entries
