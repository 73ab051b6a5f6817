"""A duet compares answers: real servers, in threads and as programs."""

import csv
import gzip
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.analysis.input.routes import Routes
from logreplay.analysis.output.duet_page import html
from logreplay.analysis.response_diff.rules import default_ignored
from logreplay.cli.display.duet import print_differences
from logreplay.cli.main import run
from logreplay.replay.senders.contract import ERROR_CODES
from logreplay.replay.senders.pair_keeper import PairKeeper, SamplingConfig
from logreplay.runs import pair_result
from support.background_server import beside
from support.raw_server import Answer, Exchange, raw_server, response

HEADER: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"
JSON: Final = "Content-Type: application/json"


class Shop:
    """Answers with a new id, a clock and a counter; the candidate differs in four ways."""

    def __init__(self, seed: int, *, candidate: bool = False, compressed: bool = False) -> None:
        self._random, self._is_candidate, self._compressed = random.Random(seed), candidate, compressed
        self._asked: Counter[str] = Counter()

    @property
    def answers(self) -> dict[str, Answer]:
        return dict.fromkeys(("/cart", "/list", "/page", "/buy", "/same"), self._answer)

    async def _answer(self, exchange: Exchange) -> bool:
        path = exchange.head.split(b" ", 2)[1].decode()
        self._asked[path] += 1
        changed, drawn, headers = (
            self._is_candidate,
            self._random,
            [JSON, f"X-Node: web-{self._random.randrange(10**6)}"],
        )
        content: dict[str, Any] = {
            "request": str(UUID(int=drawn.getrandbits(128))),
            "at": f"2026-11-23T04:05:{drawn.randrange(60):02}Z",
            "visit": drawn.randrange(10**6),
            "total": 7,
            "tags": ["a", "b", "c"],
        }
        status = "200 OK"
        if changed and path == "/cart" and self._asked[path] % 25 == 12:
            content["total"] = 8
        if changed and path == "/list":
            content["tags"] = ["c", "a", "b"]
        if changed and path == "/page":
            headers.append("X-New: yes")
        if changed and path == "/buy" and self._asked[path] % 25 == 12:
            status, content = "500 Internal Server Error", {"error": "x"}
        body = json.dumps(content).encode()
        if self._compressed:
            body = gzip.compress(body, 1)
            headers.append("Content-Encoding: gzip")
        await exchange.send(response(body, status, *headers))
        return True


def log(path: Path, urls: list[str]) -> Path:
    rows = [f"2026-01-01,00:00:00.{at:06},0,0,0,5,{url},200,GET" for at, url in enumerate(urls)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def duet(*arguments: object) -> int:
    return run(["duet", *(str(argument) for argument in arguments)])


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "differences.csv").open() as file:
        return [*csv.DictReader(file)]


def counting(folder: Path) -> set[tuple[str, str, str]]:
    return {(row["route"], row["place"], row["kind"]) for row in rows(folder) if row["counts"] == "true"}


@pytest.fixture
def shops() -> Iterator[list[str]]:
    """Baseline, candidate and a second baseline."""
    with ExitStack() as stack:
        made = [Shop(1), Shop(2, candidate=True), Shop(3)]
        yield [stack.enter_context(beside(partial(raw_server, answers=shop.answers))).url for shop in made]


CHANGES: Final = {
    ("/cart", "$.total", "changed"),
    ("/list", "$.tags", "order"),
    ("/page", "header:x-new", "added"),
    ("/buy", "status", "200 → 500"),
}


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", 2)])
def test_each_change_is_found_by_route_and_path_and_random_values_are_noise(
    shops: list[str], tmp_path: Path, more: tuple[object, ...]
) -> None:
    urls = ["/cart", "/buy"] * 500 + ["/list", "/page", "/same"] * 60
    random.Random(5).shuffle(urls)
    folder = tmp_path / "out"
    noise = ("--noise", shops[2], "--tps", 150, "--timeout", "10s", "-o", folder, *more)
    assert duet(log(tmp_path / "log.csv", urls), shops[0], shops[1], *noise) in (0, 3)
    assert counting(folder) == CHANGES
    found = json.loads((folder / "summary.json").read_text())["answers"]
    assert found["pairs"] == len(urls)
    assert found["share_different"] == pytest.approx((20 + 20 + 60 + 60) / len(urls), rel=0.1)
    assert not [*folder.glob(".pairs-*")]


def test_without_noise_ids_and_clocks_are_classes_and_other_values_are_ignored_by_name(
    shops: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    ignore = ("--ignore", "$.visit", "--ignore", "header:x-node", "--ignore", "$.viist")
    urls = log(tmp_path / "log.csv", ["/list", "/page", "/same"] * 20)
    assert duet(urls, shops[0], shops[1], "--tps", 200, *ignore, "-o", folder) in (0, 3)
    assert counting(folder) == {("/list", "$.tags", "order"), ("/page", "header:x-new", "added")}
    assert {row["alike"] for row in rows(folder) if row["counts"] == "false"} == {"uuid", "time stamp"}
    said = capsys.readouterr().out
    assert "--ignore $.viist matched no difference" in said
    assert "traceparent" in said
    pairs = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    assert Counter(pair["route"] for pair in pairs) == {"/list": 10, "/page": 10, "/same": 10}
    assert json.loads(pairs[0]["candidate"]["body"])["tags"] == ["c", "a", "b"]
    assert "X-New" in (folder / "report.html").read_text()
    assert json.loads((folder / "summary.json").read_text())["options"]["ignore"] == [
        "$.visit",
        "header:x-node",
        "$.viist",
    ]


def test_a_compressed_candidate_has_the_same_bodies(tmp_path: Path) -> None:
    urls, folder = log(tmp_path / "log.csv", ["/same"] * 30), tmp_path / "out"
    with ExitStack() as stack:
        shops = [Shop(1), Shop(1, compressed=True)]
        one, other = (stack.enter_context(beside(partial(raw_server, answers=shop.answers))).url for shop in shops)
        assert duet(urls, one, other, "--tps", 100, "--max-in-flight", 2, "-o", folder, "-q") in (0, 3)
    assert counting(folder) <= {("/same", "header:content-encoding", "added"), ("/same", "header:x-node", "changed"),
                                ("/same", "$.visit", "changed")}  # fmt: skip
    assert ("/same", "header:content-encoding", "added") in counting(folder)


def test_keep_0_writes_no_example_and_compares_as_ever(shops: list[str], tmp_path: Path) -> None:
    urls, folder = log(tmp_path / "log.csv", ["/list"] * 20), tmp_path / "out"
    ignore = ("--ignore", "$.visit", "--ignore", "header:x-node")
    assert duet(urls, shops[0], shops[1], "--tps", 100, "--keep", 0, *ignore, "-o", folder, "-q") in (0, 3)
    assert counting(folder) == {("/list", "$.tags", "order")}
    assert {row["alike"] for row in rows(folder) if row["counts"] == "false"} <= {"uuid", "time stamp"}
    assert not (folder / "pairs.jsonl").read_text()
    assert "Example pairs" not in (folder / "report.html").read_text()


def test_pairs_without_two_answers_are_left_out_of_text_page_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper = PairKeeper(SamplingConfig(tmp_path, 2, 1.0, Routes, default_ignored))
    keeper.plan(pl.DataFrame({"row": range(8), "url": "/a"}))
    keeper.open()
    for pair, errors in enumerate((("", "cancelled"), ("", "timeout"), ("refused", "refused"), ("", ""))):
        for listener, error in zip(keeper.listeners, errors, strict=True):
            listener.take((2 * pair, None, (0 if error else 200, 0, 1, ERROR_CODES[error], b"")))
    keeper.close()
    found = pair_result.differences(tmp_path, pairs=8)
    print_differences(found)
    said, page = capsys.readouterr().out, html("a and b", [], [], found)
    assert "answers: no difference in 1 pair\n" in said
    why = "both requests failed alike, neither was sent, or an answer is missing"
    for text in (said, page):
        assert f"6 pairs were not compared: {why}" in text
        assert "1 pair was not compared: a request timed out" in text
    summary = pair_result.as_dict(found)
    names = ("pairs", "pairs_differing", "pairs_timed_out", "pairs_not_compared")
    assert [summary[name] for name in names] == [1, 0, 1, 6]


@pytest.mark.parametrize("word", ["$.a[0]", "heder:x", "cookies"])
def test_an_unknown_place_is_a_usage_error(tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    urls = log(tmp_path / "log.csv", ["/a"])
    assert duet(urls, "http://127.0.0.1:9", "http://127.0.0.1:9", "--tps", 9, "--ignore", word) == 2
    assert word in capsys.readouterr().err


@pytest.mark.parametrize("other", ["--alternate", "--no-digest"])
def test_ignore_needs_answers_that_are_compared(tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    urls = log(tmp_path / "log.csv", ["/a"])
    given = ("--tps", 9, "--ignore", "status", other)
    assert duet(urls, "http://127.0.0.1:9", "http://127.0.0.1:9", *given) == 2
    assert all(name in capsys.readouterr().err for name in ("--ignore",))


def test_nginx_and_apache_serve_the_same_files_with_other_headers_and_error_pages(
    nginx: ServerFactory, apache: ServerFactory, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    urls = log(tmp_path / "log.csv", ["/page.html", "/data.json", "/picture.bin", "/missing"] * 10)
    types = "types { text/html html; application/json json; } default_type application/octet-stream;"
    one = nginx(server=f"root {tmp_path}/nginx/files; {types}")
    modules = "/usr/lib/apache2/modules"
    mime = f"LoadModule mime_module {modules}/mod_mime.so\nTypesConfig /dev/null\n"
    other = apache(server=mime + "AddType text/html .html\nAddType application/json .json\n"
                   "AddType application/octet-stream .bin")  # fmt: skip
    for name in ("nginx", "apache"):
        files = tmp_path / name / "files"
        files.mkdir(exist_ok=True)
        (files / "page.html").write_text("<html><body><p>1</p></body></html>")
        (files / "data.json").write_text('{"a": [1, 2, 3]}')
        (files / "picture.bin").write_bytes(bytes(range(256)))
        for file in files.iterdir():
            os.utime(file, (1_700_000_000, 1_700_000_000))
    assert duet(urls, one.url, other.url, "--tps", 100, "-o", folder) in (0, 3)
    found = counting(folder)
    of_files = {(route, place) for route, place, _ in found if route != "/missing"}
    assert of_files == {(name, place) for name in ("/page.html", "/data.json", "/picture.bin")
                        for place in ("header:server", "header:etag")}  # fmt: skip
    of_missing = {place for route, place, _ in found if route == "/missing"}
    assert {"header:server", "header:content-type"} <= of_missing
    assert any(place.startswith("line:") for place in of_missing)
    assert not any(place == "status" for place in of_missing)
