"""URLs are grouped by what is the same in all of a kind, however many share a place in memory."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.input import routes
from logreplay.analysis.input.routes import MOST, OTHER, Routes

PATHS = st.lists(st.sampled_from(["cart", "users", "items", "17", "4711", "0a1b2c3d4e", "v2"]), min_size=1, max_size=4)
URLS = st.builds(lambda parts, value: "/" + "/".join(parts) + f"?q={value}", PATHS, st.integers(0, 99))
BATCHES = st.lists(st.lists(URLS, max_size=30), max_size=6)


def names(batches: list[list[str]]) -> list[str]:
    """The route of each URL of the batches, as they are encoded one after the other."""
    known = Routes()
    numbers = [
        known.encode(urls, urls.to_frame("url").select(routes.hashed(pl.col("url"))).to_series().to_numpy())
        for urls in (pl.Series("url", batch, pl.String) for batch in batches)
    ]
    return [known.names[number] for batch in numbers for number in batch.tolist()]


def expected(batches: list[list[str]]) -> list[str]:
    urls = pl.DataFrame({"url": [url for batch in batches for url in batch]}, schema={"url": pl.String})
    return urls.select(routes.route(pl.col("url"))).to_series().to_list()


@pytest.mark.parametrize(
    ("url", "route"),
    [
        ("/users/17/cart?item=4711", "/users/{}/cart?item={}"),
        ("/users/8/cart?item=1", "/users/{}/cart?item={}"),
        ("/a/550e8400-e29b-41d4-a716-446655440000/b", "/a/{}/b"),
        ("/static/deadbeef01.js", "/static/{}.js"),
        ("http://other.example/1/2/3", "/{}/{}/{}"),
        ("/v2/items", "/v2/items"),
        ("/%E6%97%A5/%20/17", "/%E6%97%A5/%20/{}"),
    ],
)
def test_numbers_ids_and_hashes_become_one_sign(url: str, route: str) -> None:
    assert names([[url]]) == [route]


@given(BATCHES)
def test_each_url_has_its_own_route_in_whatever_batch_it_comes(batches: list[list[str]]) -> None:
    assert names(batches) == expected(batches)


@given(BATCHES)
def test_urls_that_share_their_places_keep_their_routes(batches: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "_PLACES", 4)
        patch.setattr(routes, "_PLACE", np.uint64(3))
        assert names(batches + batches) == expected(batches + batches)


def test_more_routes_than_are_told_apart_are_counted_together() -> None:
    urls = [f"/{''.join(chr(97 + int(digit)) for digit in str(number))}" for number in range(MOST + 5)]
    found = names([urls[:500], urls[500:], urls])
    assert found[:MOST] == urls[:MOST]
    assert found[MOST : MOST + 5] == found[-5:] == [OTHER] * 5
