"""The steps of ``sweep --routes``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.inputs.route_mixes import route_mixes
from logreplay.replay.requests.plan import Requests, Shape
from logreplay.replay.requests.sources import LogFile
from logreplay.replay.sweeps.steps import Mix, SweepPlan

HEAD: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n"


def log_of(urls: Sequence[str], path: Path) -> Path:
    path.write_text(HEAD + "".join(f"2026-01-01,00:00:00.0,0.01,0,0,10,{url},200,GET\n" for url in urls))
    return path


@dataclass(frozen=True)
class Parts:
    """A log that is read in parts: each file is one."""

    files: Sequence[Path]

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for path in self.files:
            yield from LogFile(path).batches(columns)


def mixes(folder: Path, counts: dict[str, int]) -> tuple[Mix, ...]:
    """The mixes of a log with so many requests of each path, in which ids differ."""
    urls = [f"{path}/{number}" for path, count in counts.items() for number in range(count)]
    path = log_of(urls, folder / "log.csv")

    def without(*shapes: Shape) -> Requests:
        return Requests(path, loop=False, shapes=shapes)

    return route_mixes(without(), without)


def test_five_routes_are_each_left_out_alone(tmp_path: Path) -> None:
    found = mixes(tmp_path, {"/a": 50, "/b": 20, "/c": 15, "/d": 10, "/e": 5})
    assert [mix.left_out for mix in found] == ["/a/{}", "/b/{}", "/c/{}", "/d/{}", "/e/{}"]
    assert [mix.kept for mix in found] == pytest.approx([0.5, 0.8, 0.85, 0.9, 0.95])
    sent = {url.rpartition("/")[0] for frame in found[1].requests.frames() for url in frame["url"]}
    assert sent == {"/a", "/c", "/d", "/e"}


def test_of_more_routes_the_four_largest_are_left_out_alone_and_the_others_together(tmp_path: Path) -> None:
    found = mixes(tmp_path, {"/a": 50, "/b": 20, "/c": 15, "/d": 10, "/e": 3, "/f": 2})
    assert [mix.left_out for mix in found][3:] == ["/d/{}", "(other routes)"]
    assert found[-1].kept == pytest.approx(0.95)
    sent = {url.rpartition("/")[0] for frame in found[-1].requests.frames() for url in frame["url"]}
    assert sent == {"/a", "/b", "/c", "/d"}


def test_a_route_has_one_name_in_all_parts_of_a_log_with_more_routes_than_are_told_apart(tmp_path: Path) -> None:
    rare = ["/" + "".join(letters) for letters in product("ghijkm", repeat=4)]
    urls = ["/a", "/a", "/a", "/b", "/b", "/c", "/c", *rare[:100]], [*rare[100:], "/a", "/b", "/c"]
    source = Parts([log_of(each, tmp_path / f"{number}.csv") for number, each in enumerate(urls)])

    def without(*shapes: Shape) -> Requests:
        return Requests(source, loop=False, shapes=shapes)

    first, *_, last = route_mixes(without(), without)
    assert first.left_out == "/a"
    assert "/a" not in {url for frame in first.requests.frames() for url in frame["url"]}
    assert {"/a", "/b", "/c"} < {url for frame in last.requests.frames() for url in frame["url"]}


def test_one_route_has_nothing_to_be_told_from(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"needs two routes at least, and all requests have one: /a/\{\}"):
        mixes(tmp_path, {"/a": 3})


def test_each_rate_is_made_with_all_requests_before_and_after_the_mixes() -> None:
    steps = SweepPlan([10, 20], 5, kept=[0.5, 0.8]).steps()
    assert [(step.rate, step.mix) for step in steps] == [
        (10, 0), (5, 1), (8, 2), (10, 0), (20, 0), (10, 1), (16, 2), (20, 0)
    ]  # fmt: skip
