"""How often a run asked for a URL again, and its log by itself."""

from collections.abc import Iterator, Sequence

import polars as pl
import pytest

from logreplay.analysis.tables import url_repeats as module
from logreplay.analysis.tables.url_repeats import UrlRepeats, url_repeats


def pieces(urls: Sequence[int], size: int = 7) -> Iterator[pl.Series]:
    yield pl.Series("url", [], dtype=pl.String)
    for at in range(0, len(urls), size):
        yield pl.Series("url", [f"/{url}" for url in urls[at : at + size]])


def counted(sent: Sequence[int], log: Sequence[int]) -> UrlRepeats:
    found = url_repeats(pieces(sent), pieces(log, 5))
    assert found
    return found


UNIQUE = range(100)
POPULAR = [each % 10 for each in UNIQUE]


def test_a_run_that_reads_on_asks_for_urls_as_often_as_its_log() -> None:
    assert counted(range(40), UNIQUE) == UrlRepeats(40, 40, 100, 100, 40, 0.0, 0.0)
    assert not counted(POPULAR[:40], POPULAR).repeats
    assert counted(POPULAR[:40], POPULAR).again == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("sent", "log", "again"),
    [
        ([*range(20), *range(20)], UNIQUE, 0.5),
        ([*UNIQUE, *UNIQUE, *UNIQUE], UNIQUE, 2 / 3),
        ([0] * 30, [0], 29 / 30),
    ],
    ids=["each step from the start", "three rounds", "one url"],
)
def test_what_the_log_does_not_repeat_is_a_gift_to_a_cache(sent: list[int], log: Sequence[int], again: float) -> None:
    found = counted(sent, log)
    assert found.repeats
    assert found.again == pytest.approx(again)
    assert found.again_in_log == 0
    assert f"{100 * again:.3g} % of the requests" in found.warning("do this")


def test_rounds_through_a_log_of_few_urls_repeat_no_more_than_the_log() -> None:
    assert not counted(POPULAR * 3, POPULAR).repeats


def test_urls_that_a_hook_changed_touch_none_of_the_log() -> None:
    found = counted(range(1000, 1040), UNIQUE)
    assert (found.touched, found.distinct, found.repeats) == (0, 40, False)


def test_the_figures_are_said_in_words() -> None:
    said = counted([*UNIQUE, *range(40)], UNIQUE).sentence()
    assert said == (
        "140 requests are 1.40 rounds of the log; 28.6 % ask for a URL again, and 100 of its 100 URLs (100 %) were "
        "asked for"
    )


def test_nothing_sent_has_no_figures() -> None:
    assert url_repeats(pieces([]), pieces(UNIQUE)) is None


def test_hashes_are_merged_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 8)
    assert counted(list(UNIQUE) * 2, UNIQUE) == UrlRepeats(200, 100, 100, 100, 100, 0.5, 0.0)
