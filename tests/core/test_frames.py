"""Tables of pandas from tables of Polars."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal

from logreplay.core.frames import from_pandas, to_pandas

WHEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
FRAME = pl.DataFrame(
    {
        "whole": [1, 2, 3],
        "holes": [1, None, 3],
        "small": pl.Series([1, 2, 3], dtype=pl.UInt8),
        "real": [0.5, None, 2.5],
        "text": ["b", None, "a"],
        "no text": pl.Series([None, None, None], dtype=pl.String),
        "true": [True, False, True],
        "perhaps": [True, None, False],
        "nothing": [None, None, None],
        "at": [WHEN, None, WHEN + timedelta(seconds=1)],
        "local": pl.Series([datetime(2026, 3, 1), None, None]),
    }
)
WITHOUT_PYARROW = """
import sys
sys.modules.update(dict.fromkeys(("pyarrow", "pyarrow.lib")))
import polars as pl
from logreplay.core.frames import from_pandas, to_pandas
made = to_pandas(pl.DataFrame({"url": ["/a", None, "/a"], "n": [1, 2, 3]}), categories=True)
print(made.groupby("url", observed=True).n.sum().to_dict(), made.url.isna().sum())
print(from_pandas(made).rows())
"""


def test_a_table_has_the_values_and_types_that_polars_makes_with_pyarrow() -> None:
    assert_frame_equal(to_pandas(FRAME), FRAME.to_pandas())


def test_an_empty_table_keeps_its_columns_and_their_types() -> None:
    assert_frame_equal(to_pandas(FRAME.clear()), FRAME.clear().to_pandas(), check_index_type=False)
    assert to_pandas(pl.DataFrame()).empty


def test_a_table_can_be_changed() -> None:
    made = to_pandas(FRAME)
    made.loc[0, "whole"] = 7
    made["real"] += 1
    assert (made.whole[0], FRAME["whole"][0]) == (7, 1)


def test_texts_become_categories_where_that_is_asked_for() -> None:
    made = to_pandas(FRAME, categories=True)
    assert list(made.text.cat.categories) == ["a", "b"]
    assert made.text.astype(object).where(made.text.notna(), None).to_list() == ["b", None, "a"]
    assert made["no text"].isna().all()
    assert_frame_equal(made.drop(columns=["text", "no text"]), FRAME.drop("text", "no text").to_pandas())


@pytest.mark.parametrize("categories", [False, True])
def test_a_table_comes_back_as_it_was(categories: bool) -> None:
    back = from_pandas(to_pandas(FRAME, categories=categories))
    as_floats = FRAME.with_columns(pl.col("holes").cast(pl.Float64))  # pandas has no whole numbers with holes
    assert back.equals(as_floats)
    typed = [name for name in FRAME.columns if name not in ("no text", "nothing")]
    assert back.select(typed).schema == as_floats.select(typed).schema


def test_types_of_pandas_that_know_missing_values_are_read() -> None:
    table = pd.DataFrame({"n": pd.array([1, None], "Int64"), "is": pd.array([True, None], "boolean"), 3: [None, "x"]})
    assert from_pandas(table).rows() == [(1, True, None), (None, None, "x")]


@pytest.mark.parametrize("categories", [False, True])
def test_a_category_holds_each_text_once(categories: bool) -> None:
    made = to_pandas(pl.DataFrame({"url": ["/é", "/a", "/é"]}), categories=categories)
    assert made.url.str.startswith("/é").to_list() == [True, False, True]
    assert isinstance(made.url.dtype, pd.CategoricalDtype) is categories


def test_a_table_needs_no_pyarrow() -> None:
    made = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], capture_output=True, text=True, check=True)
    assert made.stdout == "{'/a': 4} 1\n[('/a', 1), (None, 2), ('/a', 3)]\n"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_resolution_are_read(unit: str) -> None:
    """Whole seconds, as pandas makes of texts, were refused."""
    when = pd.Series(np.array([datetime(2026, 3, 1, 12), None], f"datetime64[{unit}]"))
    spans = pd.Series(np.array([timedelta(seconds=2), None], f"timedelta64[{unit}]"))
    table = from_pandas(pd.DataFrame({"at": when, "zoned": when.dt.tz_localize("UTC"), "took": spans}))
    assert table.rows() == [(datetime(2026, 3, 1, 12), WHEN, timedelta(seconds=2)), (None, None, None)]
