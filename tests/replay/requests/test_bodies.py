"""The bodies that a server receives: from the log, of its sizes, from a table, or none."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.job import convert
from logreplay.replay.requests.bodies import BodyFrom, LoggedBody, SizedBody, loaded, with_bodies
from logreplay.replay.requests.headers import FixedHeader, LoggedHeaders
from logreplay.replay.requests.plan import Chunk, Requests, Shape
from support.captured_requests import BINARY, FORM, gor, har
from support.shaped_replay import both_senders, server_saw, shaped


@both_senders
def test_bodies_come_from_the_log_for_methods_that_have_one(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, LoggedBody(), methods=("GET", "POST", "PUT")), sender)
    assert {one.line.split()[0]: one.body for one in seen} == {"GET": b"", "POST": b"a=1&b=2&c=3", "PUT": b"xyz"}
    assert all(one.header("content-length") is None for one in seen if one.line.startswith("GET"))


@both_senders
def test_bodies_of_the_logged_size(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, SizedBody(), methods=("POST", "PUT")), sender)
    assert [len(one.body) for one in seen] == [11, 3]


@both_senders
def test_bodies_from_a_file_by_a_column(shop: Path, tmp_path: Path, sender: str) -> None:
    (tmp_path / "bodies.csv").write_text('url,body\n/cart,"{""n"": 1}"\n/other,x\n')
    seen = server_saw(shaped(shop, BodyFrom(tmp_path / "bodies.csv", "url"), methods=("POST", "PUT")), sender)
    assert [one.body for one in seen] == [b'{"n": 1}', b""]


@both_senders
def test_without_being_asked_no_body_is_sent_and_its_absence_is_announced(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, methods=("POST", "PUT")), sender)
    assert [(one.body, one.header("content-length")) for one in seen] == [(b"", "0"), (b"", "0")]


def test_a_table_of_bodies_without_its_columns_says_so(tmp_path: Path) -> None:
    (tmp_path / "bodies.csv").write_text("a,b\n1,2\n")
    with pytest.raises(LogreplayError, match=r"bodies\.csv: no column body, url; it needs url,body"):
        BodyFrom(tmp_path / "bodies.csv", "url")


def test_bodies_cannot_be_found_by_the_bodies(tmp_path: Path) -> None:
    (tmp_path / "bodies.csv").write_text("url,body\n/a,hello\n")
    with pytest.raises(LogreplayError, match=r"bodies\.csv:body: .* such as .*bodies\.csv:url"):
        BodyFrom(tmp_path / "bodies.csv", "body")


OPS = ["GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE"]
WITH_BODY = [False, True, False, True, False, True]


def frame(**columns: Any) -> pl.DataFrame:
    logged = dict.fromkeys(("body", "body_ref", "headers"), pl.Series([None] * len(OPS), dtype=pl.String))
    return pl.DataFrame({"op": OPS, "url": [f"/{op}" for op in OPS], **logged, **columns})


def payloads(shape: Shape, rows: pl.DataFrame) -> list[bytes | None]:
    (made,) = loaded([shape(rows)])
    return made["payload"].to_list()


def test_only_methods_that_have_a_body_get_one(tmp_path: Path) -> None:
    table = tmp_path / "bodies.csv"
    table.write_text("op,body\n" + "".join(f"{op},x\n" for op in OPS))
    logged = frame(body=["x"] * 6, request_bytes=[1] * 6)
    for shape in (LoggedBody(), SizedBody(), BodyFrom(table, "op")):
        assert [body == b"x" for body in payloads(shape, logged)] == WITH_BODY


def test_a_body_of_a_hostile_size_takes_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logreplay.replay.requests.bodies.LARGEST", 100)
    sizes = payloads(SizedBody(), frame(request_bytes=[5, 2**62, 5, -7, 5, None]))
    assert sizes == [None, b"x" * 100, None, b"", None, None]


def test_filler_of_logged_sizes_is_made_in_parts_and_only_when_it_is_needed() -> None:
    rows = SizedBody()(pl.DataFrame({"op": ["PUT"] * 10_000, "request_bytes": [3 << 20] * 10_000}))
    assert rows.estimated_size() < 1 << 20  # these bodies together are 31 GB
    parts = with_bodies([Chunk(rows, np.arange(rows.height))])
    for first in (0, 2, 4):
        part = next(parts)
        assert part.due.tolist() == [first, first + 1]
        assert part.frame["payload"].bin.size().to_list() == [3 << 20] * 2


def test_filler_of_logged_sizes_replaces_the_bodies_that_the_requests_had() -> None:
    assert payloads(SizedBody(), frame(request_bytes=[2] * 6, payload=[b"own"] * 6))[:2] == [None, b"xx"]


def test_large_bodies_of_the_requests_themselves_are_prepared_in_parts() -> None:
    rows = frame(payload=[bytes(5 << 20)] * 6)
    parts = list(with_bodies([Chunk(rows, np.arange(6))]))
    assert [part.due.tolist() for part in parts] == [[number] for number in range(6)]


def test_a_logged_body_wins_over_the_one_of_a_list() -> None:
    both = frame(body=["log"] * 2 + [None] * 4, payload=[b"list"] * 6)
    assert payloads(LoggedBody(), both) == [None, b"log", None, b"list", None, b"list"]


def test_of_a_key_that_comes_twice_the_first_body_counts_and_rows_keep_their_order(tmp_path: Path) -> None:
    table = tmp_path / "bodies.csv"
    table.write_text('url,body,more\n/PUT,"a,\n""b""",1\n/PUT,second,2\n/DELETE,ü,3\n')
    assert payloads(BodyFrom(table, "url"), frame()) == [None, None, None, b'a,\n"b"', None, "ü".encode()]


def test_a_key_is_found_by_its_text_also_if_it_is_a_number(tmp_path: Path) -> None:
    table = tmp_path / "bodies.csv"
    table.write_text("rc,body\n201,made\n")
    assert payloads(BodyFrom(table, "rc"), frame(rc=[201] * 6))[1] == b"made"


@pytest.mark.parametrize(("text", "said"), [(None, "no such file"), (b"", "empty file"), (b"\xff\0", "no column")])
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path, text: bytes | None, said: str) -> None:
    table = tmp_path / "bodies.csv"
    if text is not None:
        table.write_bytes(text)
    with pytest.raises(LogreplayError, match=rf"bodies\.csv: {said}"):
        BodyFrom(table, "url")


def test_a_table_of_bodies_with_an_unclosed_quote_is_refused_with_its_line(tmp_path: Path) -> None:
    table = tmp_path / "bodies.csv"
    table.write_text('url,body\n/a,1\n/b,"2\n/c,3\n')
    with pytest.raises(LogreplayError, match=r"bodies\.csv: line 3: a quote is not closed; correct the line"):
        BodyFrom(table, "url")


def test_a_quote_in_a_table_of_bodies_costs_no_other_row(tmp_path: Path) -> None:
    table = tmp_path / "bodies.csv"
    table.write_text('url,body\n/PUT,5" wide\n/DELETE,x\n')
    assert payloads(BodyFrom(table, "url"), frame()) == [None, None, None, b'5" wide', None, b"x"]


@both_senders
def test_captured_requests_are_sent_with_their_headers_and_bodies_byte_for_byte(tmp_path: Path, sender: str) -> None:
    (tmp_path / "a.har").write_bytes(har())
    convert([tmp_path / "a.har"], tmp_path / "a.csv")
    log, methods = tmp_path / "a.csv", ("GET", "POST", "PUT")
    shapes = (LoggedHeaders(frozenset({"x-token"})), LoggedBody(), FixedHeader("X-Token", "mine"))
    seen = server_saw(shaped(log, *shapes, methods=methods), sender)
    by_method = {one.line.split()[0]: one for one in seen}
    assert {op: one.body for op, one in by_method.items()} == {"GET": b"", "POST": FORM, "PUT": BINARY}
    assert by_method["POST"].header("content-type") == "application/x-www-form-urlencoded"
    assert by_method["PUT"].header("content-type") == "application/octet-stream"
    assert by_method["GET"].header("cookie") == "s=abc; t=d"
    assert {one.header("x-token") for one in seen} == {"mine"}
    assert not any("shop.test" in (one.header("host") or "") for one in seen)


def test_bodies_are_loaded_in_parts_and_only_when_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "a.gor").write_bytes(gor())
    convert([tmp_path / "a.gor"], tmp_path / "a.csv")
    (frame,) = Requests(tmp_path / "a.csv", ("GET", "POST", "PUT"), loop=False, shapes=[LoggedBody()]).frames()
    assert frame["payload"].null_count() == 3  # they are still in their file
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("logreplay.core.bodies._TOGETHER", 1)
        parts = list(with_bodies([Chunk(frame, np.arange(3))]))
    assert [part.frame.height for part in parts] == [1, 1, 1]
    assert [body for part in parts for body in part.frame["payload"]] == [None, FORM, BINARY]
    assert [at for part in parts for at in part.due] == [0, 1, 2]


def test_a_wrong_address_of_a_body_leaves_its_row_out_and_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.gor").write_bytes(gor())
    convert([tmp_path / "a.gor"], tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    addresses = re.findall(r"[0-9]+-[0-9]+-[0-9]+-[0-9a-f]{8}$", text, re.MULTILINE)
    (tmp_path / "b.csv").write_text(text.replace(addresses[0], "../../etc/passwd"))
    requests = Requests(tmp_path / "b.csv", ("GET", "POST", "PUT"), loop=False, shapes=[LoggedBody()])
    frames = list(requests.frames())
    assert requests.left_out == {"wrong address of a body": 1}
    with pytest.raises(LogreplayError, match=r"b\.bodies\.zst: no such file"):
        list(loaded(frames))
