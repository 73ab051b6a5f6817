"""Logins are read from CSV and JSON lines, and given to clients: their own, or the next of the pool."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.record import CORE_COLUMNS
from logreplay.replay.senders.encode import render
from logreplay.replay.sessions.client_key import ClientKey
from logreplay.replay.sessions.logins import LoginFile, Logins

CSV = """client,op,url,body,X-Shop
*,GET,/login,,
10.0.0.1,POST,/login,"user=a&password=b,c",one
,POST,/login,user=p,
,,/token,"{""user"": ""q""}",
"""
LINES = """{"client": "*", "url": "/login"}
{"client": "10.0.0.1", "op": "POST", "url": "/login", "body": "user=a&password=b,c", "X-Shop": "one"}

{"op": "POST", "url": "/login", "body": "user=p"}
{"url": "/token", "body": {"user": "q"}}
"""


def read(folder: Path, text: str, name: str = "logins.csv") -> Logins:
    path = folder / name
    path.write_text(text)
    return LoginFile(path).read()


@pytest.mark.parametrize(("text", "name"), [(CSV, "logins.csv"), (LINES, "logins.jsonl")])
def test_both_forms_are_read(text: str, name: str, tmp_path: Path) -> None:
    logins = read(tmp_path, text, name)
    form, mine, first, second = render(logins.frame(), {"Host": "h"})
    assert form == b"GET /login HTTP/1.1\r\nHost: h\r\n\r\n"
    assert mine.endswith(b"\r\n\r\nuser=a&password=b,c")
    assert b"\r\nX-Shop: one\r\n" in mine
    assert b"\r\nContent-Type: application/x-www-form-urlencoded\r\n" in first
    assert second.startswith(b"POST /token ")
    assert b"\r\nContent-Type: application/json\r\n" in second


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
def test_a_table_of_a_program_is_read_like_a_file(made: Callable[..., Any], tmp_path: Path) -> None:
    table = made({"client": ["*", "10.0.0.1"], "url": ["/login", "/login"], "body": [None, "user=a"]})
    file = tmp_path / "logins.csv"
    file.write_text("client,url,body\n*,/login,\n10.0.0.1,/login,user=a\n")
    assert LoginFile.of_table(table).read() == LoginFile(file).read()
    with pytest.raises(LogreplayError, match=r"^--login a table of 1 row, row 0: '': expected a url"):
        LoginFile.of_table(made({"body": ["x"]})).read()


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
def test_the_client_0_has_its_own_login(made: Callable[..., Any], tmp_path: Path) -> None:
    """It was a row of the pool, which any client could take."""
    table = LoginFile.of_table(made({"client": [0, 1], "url": ["/login", "/login"]})).read()
    lines = read(tmp_path, '{"client": 0, "url": "/login"}\n{"client": 1, "url": "/login"}\n', "logins.jsonl")
    assert table.own == lines.own == {"0": [0], "1": [1]}
    assert not table.pool


def test_a_missing_client_leaves_the_numbers_of_the_others_whole() -> None:
    """Client 1 became "1.0", and no client used its login."""
    table = pd.DataFrame(
        {"client": [1, None], "url": "/login", "body": [7, None], "X-Id": [None, 8], "X-Part": [0.5, None]}
    )
    logins = LoginFile.of_table(table).read()
    assert (logins.own, logins.pool) == ({"1": [0]}, [1])
    first, second = logins.requests
    assert (first.body, first.headers["X-Part"], second.headers) == (b"7", "0.5", {"X-Id": "8"})


def test_a_table_with_two_columns_of_one_name_is_refused() -> None:
    """It ended in a DuplicateError of Polars."""
    table = pd.DataFrame([["/login", "/token"]], columns=["url", "url"])
    with pytest.raises(UsageError, match=r"^a table of 1 row: two columns have the name url; leave one out"):
        LoginFile.of_table(table)


def test_a_client_has_its_own_login_or_the_next_of_the_pool(tmp_path: Path) -> None:
    logins = read(tmp_path, CSV)
    assert logins.steps("10.0.0.1", 0) == [0, 1]
    assert [logins.steps("10.0.0.9", turn) for turn in range(3)] == [[0, 2], [0, 3], [0, 2]]


def test_without_a_pool_only_clients_that_are_named_log_in(tmp_path: Path) -> None:
    logins = read(tmp_path, "client,op,url,body\n*,GET,/form,\na,POST,/x,b\na,POST,/y,b\n")
    assert logins.steps("a", 0) == [0, 1, 2]
    assert logins.steps("b", 0) == []


def test_rows_for_all_are_enough(tmp_path: Path) -> None:
    assert read(tmp_path, "client,url\n*,/form\n").steps("anybody", 0) == [0]


def test_workers_share_the_pool(tmp_path: Path) -> None:
    logins = read(tmp_path, "url,body\n" + "".join(f"/login,user={n}\n" for n in range(5)))
    parts = [logins.part(index, 2).pool for index in range(2)]
    assert parts == [[0, 2, 4], [1, 3]]
    assert [logins.part(index, 9).pool for index in (0, 7)] == [[0], [0, 1, 2, 3, 4]]


def test_clients_are_named_by_the_client_key(tmp_path: Path) -> None:
    path = tmp_path / "logins.csv"
    path.write_text("client,url\nabc,/login\n*,/form\n")
    key = ClientKey.parse("cookie:sid")
    logins = LoginFile(path, key).read()
    assert list(logins.own) == [key.of("abc")]
    assert "abc" not in key.of("abc")


def test_the_headers_of_all_requests_are_those_of_logins_too(tmp_path: Path) -> None:
    path = tmp_path / "logins.csv"
    path.write_text("url,X-Shop\n/a,mine\n/b,\n")
    logins = LoginFile(path, headers=[("Host", "shop.test"), ("x-shop", "all")]).read()
    first, second = render(logins.frame(), {"Host": "h"})
    assert first == b"GET /a HTTP/1.1\r\nHost: shop.test\r\nX-Shop: mine\r\n\r\n"
    assert b"x-shop: all" in second


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("", "l.csv", "must name the columns"),
        ("client,op\na,GET\n", "l.csv", "must name the columns"),
        ("url\n", "l.csv", "holds no login"),
        ("url,op\n/a,GET,more\n", "l.csv", "line 2: more values"),
        ("url\nlogin\n", "l.csv", "line 2: 'login': expected a url"),
        ("url\n/a b\n", "l.csv", "expected a url"),
        ("url,op\n/a,CONNECT\n", "l.csv", "'CONNECT' is not a method"),
        ("url,op\n/a,G ET\n", "l.csv", "is not a method"),
        ("url,Content-Length\n/a,5\n", "l.csv", "written by the sender"),
        ("url,bad name\n/a,5\n", "l.csv", "not the name of a header"),
        ('url,X\n/a,"secret\r\nY: z"\n', "l.csv", "control byte"),
        ("client,Method,url\n,PUT,/a\n", "l.csv", "line 2: 'Method' would be sent as a header; name it 'op'"),
        ("url,path\n/a,/b\n", "l.csv", "line 2: 'path' would be sent as a header; name it 'url'"),
        ('{"url": "/a", "data": "user=q"}\n', "l.jsonl", "line 1: 'data' would be sent as a header; name it 'body'"),
        (f"{','.join(CORE_COLUMNS)},client\n2026-01-01,00:00:00,0,0,0,5,/,200,GET,a\n", "l.csv", "a normalized CSV"),
        ('url\n/a\n"/b\n/c\n', "l.csv", "line 3: unexpected end of data; close each quote"),
        ('"url\n/a\n', "l.csv", "line 1: unexpected end of data; close each quote"),
        ('url\n"/a"b\n', "l.csv", "line 2: .* expected after .*; close each quote"),
        ("[1]\n", "l.jsonl", "expected an object"),
        ("{\n", "l.jsonl", "line 1: expected an object"),
        ('{"url": "/a", "body": {"a": 1e999}}\n', "l.jsonl", "line 1: .*not JSON compliant"),
        ('{"url": "/a", "X": "\\ud800"}\n', "l.jsonl", "line 1: half of a surrogate pair"),
        ('{"url": "/a", "body": "", "client": "\\udfff"}\n', "l.jsonl", "line 1: half of a surrogate pair"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(text: str, name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=why) as refused:
        read(tmp_path, text, name)
    assert name in str(refused.value)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(b"url\n/\xff\n")
    with pytest.raises(LogreplayError, match="cannot be read"):
        LoginFile(path).read()
    with pytest.raises(LogreplayError, match="cannot be read"):
        LoginFile(tmp_path / "none.csv").read()
