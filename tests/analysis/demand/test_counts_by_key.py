"""A counts counts every row once, whatever the parts are."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.demand.log_profile import CountsByKey

ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 9)), max_size=40)


@given(st.lists(ROWS, max_size=5))
def test_the_sum_of_the_parts_is_the_whole(parts: list[list[tuple[str, int]]]) -> None:
    counts = CountsByKey("key", sums={"sum": pl.col("value")})
    for part in parts:
        counts.add(pl.DataFrame(part, {"key": pl.String, "value": pl.Int64}, orient="row"))
    rows = [row for part in parts for row in part]
    expected = {key: (sum(k == key for k, _ in rows), sum(v for k, v in rows if k == key)) for key, _ in rows}
    assert {key: (count, total) for key, count, total in counts.table().iter_rows()} == expected


def test_keys_beyond_the_limit_are_counted_together() -> None:
    counts = CountsByKey("key", most=10)
    counts.add(pl.DataFrame({"key": [*range(100), *range(5), *range(5)]}))
    table = counts.table()
    assert table["key"].to_list()[:5] == [0, 1, 2, 3, 4]
    assert table.height == 5
    assert counts.others + table["requests"].sum() == 110
