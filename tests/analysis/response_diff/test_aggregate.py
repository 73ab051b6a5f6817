"""Differences of many pairs, set against the noise."""

import json
import zlib
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from logreplay.analysis.response_diff.aggregate import (
    MOST_GROUPS,
    OTHER_PLACES,
    AnswerDifferences,
    RouteTotal,
    Tally,
    frame,
)
from logreplay.analysis.response_diff.diff import AnswerOf
from logreplay.analysis.response_diff.rules import Rules


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> AnswerOf:
    body = json.dumps(content).encode()
    pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return AnswerOf(status, pairs, body, len(body), zlib.crc32(body), "")


class Service:
    """Answers with new ids and clocks; a candidate with four changes."""

    def __init__(self, seed: int, *, candidate: bool = False) -> None:
        self._rng, self._candidate = np.random.default_rng(seed), candidate

    def answer(self, route: str) -> AnswerOf:
        drawn, changed = self._rng.random(2), self._candidate
        content = {
            "request": str(UUID(bytes=self._rng.bytes(16))),
            "at": f"2026-11-23T04:05:{self._rng.integers(60):02d}Z",
            "visit": int(self._rng.integers(1, 1_000_000)),
            "total": 7,
            "tags": ["a", "b", "c"],
        }
        headers = {"X-Node": f"web-{self._rng.integers(9)}"}
        if changed and route == "/cart" and drawn[0] < 0.01:
            content["total"] = 8
        if changed and route == "/list":
            content["tags"] = ["c", "b", "a"]
        if changed and route == "/page":
            headers["X-Powered-By"] = "new"
        if changed and route == "/buy" and drawn[1] < 0.01:
            return answer({"error": "x"}, 500)
        return answer(content, 200, headers)


ROUTES = ("/cart", "/list", "/page", "/buy", "/same")


def compared(
    candidate: Service, pairs: int = 1000, *, noise: bool = True, ignore: tuple[str, ...] = ()
) -> AnswerDifferences:
    first, second, tally = Service(1), Service(2), Tally(Rules.of(ignore), keep=3)
    for seq in range(pairs):
        route = ROUTES[seq % len(ROUTES)]
        answers = [first.answer(route), candidate.answer(route)]
        tally.add(seq, route, route, [*answers, second.answer(route)] if noise else answers)
    each = pairs // len(ROUTES)
    return tally.differences(dict.fromkeys(ROUTES, RouteTotal(each, each, each)))


@pytest.fixture(scope="module")
def found() -> AnswerDifferences:
    return compared(Service(3, candidate=True), 5000)


def test_a_prompt_shows_the_differences_in_a_line(found: AnswerDifferences) -> None:
    assert len(repr(found)) < 200


def test_each_change_of_the_candidate_is_found_by_route_and_path_and_nothing_else(found: AnswerDifferences) -> None:
    assert {(row.route, row.place, row.kind) for row in found.counting} == {
        ("/cart", "$.total", "changed"),
        ("/list", "$.tags", "order"),
        ("/page", "header:x-powered-by", "added"),
        ("/buy", "status", "200 → 500"),
    }


def test_the_noise_stands_beside_the_candidate(found: AnswerDifferences) -> None:
    visit = next(row for row in found.rows if (row.route, row.place) == ("/same", "$.visit"))
    assert visit.share == visit.noise_share == 1
    assert not visit.counts


def test_the_share_of_different_answers_is_that_beyond_the_noise(found: AnswerDifferences) -> None:
    assert found.share == pytest.approx(0.4, abs=0.01)


def test_an_equal_candidate_has_no_difference() -> None:
    found = compared(Service(4))
    assert not found.counting
    assert found.share == 0


@pytest.mark.parametrize(("share", "count"), [(0.01, True), (0.0, False)])
def test_a_change_that_is_rare_on_each_of_many_routes_counts(share: float, count: bool) -> None:
    tally, routes, drawn = Tally(Rules.of([])), [f"/{number}" for number in range(50)], np.random.default_rng(1)
    for seq in range(5000):
        route = routes[seq % 50]
        prices, ids = [7, 7 + (drawn.random() < share), 7], [drawn.random() for _ in range(3)]
        pair = [answer({"price": price, "seen": seen < 0.1}) for price, seen in zip(prices, ids, strict=True)]
        tally.add(seq, route, route, pair)
    found = tally.differences(dict.fromkeys(routes, RouteTotal(100, 100, 100)))
    assert {row.place for row in found.counting} == ({"$.price"} if count else set())
    assert found.share == pytest.approx(share, abs=0.004)


def test_without_noise_classes_are_named_and_do_not_count() -> None:
    found = compared(Service(3, candidate=True), 4000, noise=False, ignore=("$.visit", "header:x-node", "$.typo"))
    assert {(row.place, row.alike) for row in found.rows if not row.counts} == {
        ("$.request", "uuid"),
        ("$.at", "time stamp"),
    }
    assert {row.place for row in found.counting} == {"$.total", "$.tags", "header:x-powered-by", "status"}
    assert found.unused == ["$.typo"]


def test_a_sample_stands_for_all_differing_pairs() -> None:
    tally = Tally(Rules.of([]))
    for seq in range(100):
        tally.add(seq, "/a", "/a", [answer(1), answer(2 if seq < 50 else 3.5)])
    found = tally.differences({"/a": RouteTotal(10_000, 1000, 100), "/b": RouteTotal(10_000, 0, 0)})
    assert [(row.count, row.share) for row in found.rows] == [(1000, 0.1)]
    assert found.share == pytest.approx(0.05)


def test_examples_show_each_difference_and_hide_secrets() -> None:
    tally = Tally(Rules.of([]), keep=2)
    for seq in range(50):
        tally.add(seq, "/a?token=abc", "/a", [answer({"api_key": "AAA", "n": 1}), answer({"api_key": "BBB", "n": 1})])
    tally.add(50, "/a", "/a", [answer({"n": 1}), answer({"n": 2})])
    found = tally.differences({"/a": RouteTotal(60, 51, 51)})
    assert [(row.place, row.baseline, row.candidate) for row in found.rows] == [
        ("$.api_key", "***", "***"),
        ("$.n", "1", "2"),
    ]
    assert found.rows[0].url == "/a?token=***"
    assert [pair.row for pair in found.examples] == [0, 50]


def text_answer(text: str) -> AnswerOf:
    body = text.encode()
    return AnswerOf(200, [], body, len(body), zlib.crc32(body), "")


@pytest.mark.parametrize(
    "answers",
    [
        [text_answer("password=hunter7Asecret\n"), text_answer("password=hunter7Bsecret\n")],
        [text_answer("password: hunter7Asecret\n"), text_answer("password: hunter7Bsecret\n")],
        [text_answer(f'password="{"hunter " * 400}"\n'), text_answer(f'password="{"hunter " * 401}"\n')],
        [text_answer(f'password="{"hunter " * 900}"\n'), text_answer(f'password="{"hunter " * 901}"\n')],
        [text_answer("a" * 99 + f" me:hunter{'h' * 200}@x {' ' * 400}\n"), text_answer("b\n")],
        [answer({}), answer({"found": {"a": "x" * 265, "password": "hunter" * 9}})],
        [answer({}), answer({"token=hunter": 1})],
        [answer({}), answer({f"m{at}": at for at in range(MOST_GROUPS)} | {"password": "hunter"})],
    ],
)
def test_secrets_stand_in_no_place_and_in_no_value_that_is_cut(answers: list[AnswerOf]) -> None:
    tally = Tally(Rules.of([]))
    tally.add(0, "/", "/", answers)
    rows = tally.differences({"/": RouteTotal(1, 1, 1)}).rows
    assert rows
    assert "hunter" not in str(rows)


def test_a_long_value_is_cut() -> None:
    tally = Tally(Rules.of([]))
    tally.add(0, "/", "/", [text_answer("b"), text_answer("x y " * 10_000)])
    (added,) = [row for row in tally.differences({"/": RouteTotal(1, 1, 1)}).rows if row.candidate]
    assert added.candidate == "x y " * 75 + "…"


def test_the_most_frequent_difference_comes_first_and_examples_follow_the_rows() -> None:
    """Examples came route by route, so that a page of twenty showed two routes."""
    tally = Tally(Rules.of([]), keep=2)
    for route, count in (("/rare", 2), ("/b", 5), ("/a", 5), ("/often", 30)):
        for number in range(count):
            tally.add(len(route) * 100 + number, route, route, [answer({"n": 1}), answer({"n": 2})])
    found = tally.differences(
        {"/rare": RouteTotal(2, 2, 2)}
        | dict.fromkeys(("/b", "/a"), RouteTotal(50, 5, 5))
        | {"/often": RouteTotal(900, 30, 30)}
    )
    assert [row.route for row in found.rows] == ["/often", "/a", "/b", "/rare"]
    assert [pair.route for pair in found.examples][:4] == ["/often", "/a", "/b", "/rare"]
    assert len(found.examples) == 8


def test_hostile_answers_make_few_groups() -> None:
    tally = Tally(Rules.of([]))
    for seq in range(500):
        tally.add(seq, "/a", "/a", [answer({}), answer({f"name {seq} {number}": 1 for number in range(20)})])
    found = tally.differences({"/a": RouteTotal(500, 500, 500)})
    assert len(found.rows) <= MOST_GROUPS + 1
    assert any(row.place == OTHER_PLACES for row in found.rows)


def test_a_new_place_of_both_sides_of_a_pair_is_one_place() -> None:
    """It was one of the other places for a candidate with many known differences, and kept its name for the control."""
    rng, tally = np.random.default_rng(1), Tally(Rules.of([]))
    base = {f"f{at}": "x" for at in range(160)}

    def noisy(content: dict[str, str]) -> AnswerOf:
        return answer(
            content | {f"new{at}": str(rng.choice([*"abcdefgh"])) for at in rng.choice(150, 3, replace=False)}
        )

    for row in range(300):
        tally.add(row, "/", "/", [noisy(base), noisy(dict.fromkeys(base, "y")), noisy(base)])
    found = tally.differences({"/": RouteTotal(300, 300, 300)})
    assert {row.place for row in found.counting} == {f"$.{name}" for name in base}


def test_new_ids_in_more_places_than_are_told_apart_do_not_count() -> None:
    rng, tally = np.random.default_rng(1), Tally(Rules.of([]))
    for row in range(3):
        ids = [{f"m{at}": str(UUID(bytes=rng.bytes(16))) for at in range(MOST_GROUPS + 100)} for _ in range(2)]
        tally.add(row, "/", "/", [answer(each) for each in ids])
    found = tally.differences({"/": RouteTotal(3, 3, 3)})
    assert OTHER_PLACES in {row.place for row in found.rows}
    assert (found.counting, found.share) == ([], 0.0)


@pytest.mark.slow
def test_the_table_holds_every_row(found: AnswerDifferences) -> None:
    table = frame(found.rows)
    assert table.height == len(found.rows)
    assert table["counts"].sum() == len(found.counting)
    assert not frame(compared(Service(1), ignore=("$..*", "header:*", "status")).rows).height


def test_a_request_that_was_not_sent_is_no_pair() -> None:
    tally = Tally(Rules.of([]))
    tally.add(0, "/a", "/a", [answer(1), None])
    assert not tally.differences({"/a": RouteTotal(1, 1, 1)}).rows


def test_an_ignored_status_hides_no_other_difference() -> None:
    tally = Tally(Rules.of(["status"]))
    tally.add(0, "/a", "/a", [answer({"n": 1}), answer({"n": 2}, 500)])
    found = tally.differences({"/a": RouteTotal(1, 1, 1)})
    assert [row.place for row in found.rows] == ["$.n"]
    assert not found.unused


def test_a_pair_takes_room_for_its_bodies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = answer({"a": 1, "b": 1, "c": 1}), answer({"a": 2, "b": 2, "c": 2})
    monkeypatch.setattr("logreplay.analysis.response_diff.aggregate.MOST_BYTES", before.size + after.size)
    tally = Tally(Rules.of([]))
    for row in range(2):
        tally.add(row, "/a", "/a", [before, after])
    found = tally.differences({"/a": RouteTotal(2, 2, 2)})
    assert len(found.rows) == 3
    assert [[kept and kept.body for kept in pair.answers] for pair in found.examples] == [
        [before.body, after.body],
        [None, None],
    ]


def test_where_one_status_differs_headers_and_bodies_are_not_compared() -> None:
    tally = Tally(Rules.of([]))
    for row in range(100):
        candidate = answer("down", 500) if row % 2 else answer({"n": row + 0.5})
        tally.add(row, "/a", "/a", [answer({"n": row}), candidate, answer({"n": row + 0.7})])
    found = tally.differences({"/a": RouteTotal(100, 100, 100)})
    assert [(row.place, row.count, row.noise_count) for row in found.rows] == [("status", 50, 0), ("$.n", 50, 50)]
    assert [row.place for row in found.counting] == ["status"]
