"""Lists of urls as siege takes them, read into requests with their bodies."""

import re
from collections.abc import Callable
from pathlib import Path
from time import process_time

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.replay.requests import siege_list
from logreplay.replay.requests.siege_list import Bodies, UrlList, is_url_list
from logreplay.replay.requests.url_rows import UrlRow

FORM = "application/x-www-form-urlencoded"


def read(folder: Path, text: str | bytes) -> UrlList:
    listed = folder / "urls.txt"
    listed.write_bytes(text if isinstance(text, bytes) else text.encode())
    return UrlList.read(listed, "urls.txt")


def rows(made: UrlList, *columns: str) -> list[tuple[object, ...]]:
    return pl.concat(made.batches(["op", "url", "host", "body"])).select(*columns).rows()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("/a\n", True),
        ("http://www.example/\n", True),
        ("www.example/a POST x=1\n", True),
        ("localhost:80/a\n", True),
        ("A=1\n$(A)/b\n", True),
        ("level=info msg=x\n", False),
        ("A=1\n", False),
        ("access.log\n", False),
        ('10.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5\n', False),
        ("GET / HTTP/1.1\n\n", False),
        ("", False),
    ],
)
def test_a_list_of_urls_is_known_by_its_first_url(text: str, is_one: bool, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(text)
    assert is_url_list(tmp_path / "text") == is_one


def test_a_list_is_its_urls_in_order_with_the_origins_they_name(tmp_path: Path) -> None:
    made = read(tmp_path, "# x\n\nH = http://a:81\n$(H)/1\n  ${H}/2?x=$NONE DELETE\nhttps://b/3#part\n/4 HEAD\n$H/5")
    assert rows(made, "op", "url", "host", "body") == [
        ("GET", "/1", "a:81", None),
        ("DELETE", "/2?x=$NONE", "a:81", None),
        ("GET", "/3", "b", None),
        ("HEAD", "/4", None, None),
        ("GET", "/5", "a:81", None),
    ]
    assert made.origins() == ["http://a:81", "https://b"]
    assert (str(made), made.bodies, made.target) == ("urls.txt", Bodies(), "")


def test_a_variable_is_what_the_lines_above_made_it(tmp_path: Path) -> None:
    assert rows(read(tmp_path, "A=1\n/$A\nA=${A}2\n/$A\n"), "url") == [("/1",), ("/12",)]


def test_equal_bodies_are_kept_once_and_go_with_their_requests(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"{\0}")
    made = read(tmp_path, f"/a POST x=1\n/b GET\n/c PUT x=1\n/d POST <{tmp_path}/x.json\n/e POST < {tmp_path}/x.json\n")
    assert len(made.bodies.places) == 2
    assert rows(made, "url", "payload", "header:Content-Type") == [
        ("/a", b"x=1", FORM),
        ("/b", None, None),
        ("/c", b"x=1", FORM),
        ("/d", b"{\0}", "application/json"),
        ("/e", b"{\0}", "application/json"),
    ]


def test_bytes_that_are_no_utf_8_are_sent_as_they_are(tmp_path: Path) -> None:
    made = read(tmp_path, b"/\xe4 POST \xff\xfe\n")
    assert rows(made, "url", "payload") == [("/%E4", b"\xff\xfe")]


def test_lists_with_other_requests_or_other_bodies_have_other_fingerprints(tmp_path: Path) -> None:
    texts = ["/a POST x", "/a POST y", "/b POST x", "/a PUT x", "/a"]
    prints = [read(tmp_path, text).fingerprint() for text in (*texts, "# the same\nB=/a\n$B")]
    assert len(set(prints)) == len(texts)
    assert prints[-1] == prints[-2]


def test_the_file_of_a_body_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siege_list, "LARGEST", 1 << 20)
    (tmp_path / "body").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(LogreplayError, match=r"^urls.txt: line 2: POST <.*body: is larger than 1 MiB$"):
        read(tmp_path, f"/a\n/b POST <{tmp_path}/body\n")


def test_a_list_or_a_place_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"^urls.txt: No such file"):
        UrlList.read(tmp_path / "none", "urls.txt")
    with pytest.raises(LogreplayError, match=r"^urls.txt: No such file"):
        read(tmp_path, "/a\n").write_normalized(tmp_path / "none" / "urls.csv")
    assert not is_url_list(tmp_path / "none")
    assert not is_url_list(tmp_path)


def test_one_url_names_its_target() -> None:
    made = UrlList.one(UrlRow.of("http://127.0.0.1:81/a?b"))
    assert rows(made, "op", "url") == [("GET", "/a?b")]
    assert (str(made), made.target) == ("http://127.0.0.1:81/a?b", "http://127.0.0.1:81")


@given(text=st.binary(max_size=60))
def test_any_bytes_are_a_list_or_an_error_that_names_a_line(
    tmp_path_factory: pytest.TempPathFactory, text: bytes
) -> None:
    folder = tmp_path_factory.mktemp("lists")
    said = None
    try:
        made = read(folder, text)
    except LogreplayError as error:
        said = str(error)
    assert said is None or said.startswith("urls.txt: line ")
    for url in () if said else (url for frame in made.batches(["url"]) for url in frame["url"]):
        assert re.fullmatch(r"/[\x21-\x7e]*", url)


PIECES = st.sampled_from(
    [
        "/a",
        "/a b",
        "/ä",
        "http://h",
        "http://u@h:81/x?y#z",
        "https://h?q",
        "h.example/x",
        "localhost:8/",
        "[::1]/x",
        "x",
    ]
) | st.sampled_from(
    ["$A", "$(A)", "${B}", "$", "A=/p", "B = http://v", " ", "\t", "\x1c", "\xa0", "#", "GET", "POST", "x=1", "\udce4"]
)


@given(lines=st.lists(st.lists(PIECES, max_size=5).map("".join), max_size=6), block=st.integers(1, 40))
@example(lines=["A=/p\udce4", "$(A)"], block=1)
@example(lines=["A=/p", "/\udce4", "$(A)"], block=5)
def test_blocks_hold_what_the_lines_say_one_by_one(
    lines: list[str], block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Line by line, with `siege_list._row`, is the slow and obvious way."""
    variables: dict[str, str] = {}
    expected: list[tuple[str, str | None, str, str | None, str | None]] = []
    bodies, said = Bodies(), None
    for number, line in enumerate(map(str.strip, lines), 1):
        if line.startswith("#") or siege_list._assigned(line, variables):
            continue
        if text := siege_list._filled(line, variables).strip():
            try:
                row = siege_list._row(text, bodies)
            except ValueError as error:
                said = f"urls.txt: line {number}: {error}"
                break
            expected.append((row.url, row.host, row.op, row.body, row.origin))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(siege_list, "_BLOCK", block)
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        if said:
            with pytest.raises(LogreplayError, match=f"^{re.escape(said)}$"):
                read(tmp_path_factory.mktemp("lists"), data)
            return
        made = read(tmp_path_factory.mktemp("lists"), data)
        found = [row for frame in made.frames() for row in frame.select("url", "host", "op", "body", "origin").rows()]
        assert (found, list(made.bodies.places)) == (expected, list(bodies.places))


def test_a_line_of_a_list_costs_no_more_than_one_of_an_access_log(tmp_path: Path) -> None:
    """Reading it twice, before the run and in it, beside converting the log: a tenth of it on a quiet machine."""
    count = 40_000
    (tmp_path / "urls.txt").write_text("".join(f"http://a.example:81/item/{n}?page={n % 7}\n" for n in range(count)))
    line = '10.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /item/{n}?page=1 HTTP/1.1" 200 5 "-" "x"\n'
    (tmp_path / "access.log").write_text("".join(line.replace("{n}", str(n)) for n in range(count)))

    def listed() -> None:
        made = UrlList.read(tmp_path / "urls.txt", "urls.txt")
        assert sum(frame.height for frame in made.batches(["date", "time", "url", "op"])) == count

    def converted() -> None:
        assert (
            convert([tmp_path / "access.log"], tmp_path / "access.csv", ConvertOptions(force=True)).converted == count
        )

    def seconds(work: Callable[[], None]) -> float:
        began = process_time()
        work()
        return process_time() - began

    assert min(seconds(listed) for _ in range(3)) < min(seconds(converted) for _ in range(3))


def test_a_comment_with_any_character_is_one_line(tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("# caf\u00e9 \u0145 \x85 notes\nhttp://127.0.0.1/a\n", "utf-8")
    assert is_url_list(listed)
