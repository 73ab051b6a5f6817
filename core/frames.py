"""Tables of pandas from tables of Polars, and back, column by column: PyArrow is not needed."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from logreplay.core.errors import UsageError
from logreplay.core.plural import number_of
from logreplay.core.rows import converted

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(frame: pl.DataFrame, *, categories: bool = False) -> "pd.DataFrame":
    """Make a table of pandas, with the types that `polars.DataFrame.to_pandas` gives.

    Args:
        frame: numbers, texts, truth values and times.
        categories: make texts categories, an eighth of the memory for the requests of a run.
    """
    import pandas as pd

    texts = pd.Series(["text"]).dtype  # `str` since pandas 3, before that `object`

    def made(column: pl.Series) -> Any:
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            if categories:
                return _categorical(column.cast(pl.String))
            return pd.Series(column.to_list(), dtype=texts)
        if column.dtype == pl.Null or (column.dtype == pl.Boolean and column.null_count()):
            return pd.Series(column.to_list(), dtype=object)
        values = pd.Series(column.to_numpy())
        zone = getattr(column.dtype, "time_zone", None)
        return values.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else values

    return pd.DataFrame({column.name: made(column) for column in frame})


def _categorical(column: pl.Series) -> "pd.Categorical":
    import pandas as pd

    values = column.drop_nulls().unique().sort()
    codes = column.cast(pl.Enum(values)).to_physical().cast(pl.Int32).fill_null(-1)
    return pd.Categorical.from_codes(codes.to_numpy(), pd.Index(values.to_list()))


def table_name(table: "pd.DataFrame | pl.DataFrame") -> str:
    """The name of a table that a program gives, for messages."""
    return f"a table of {number_of(len(table), 'row')}"


def from_pandas(table: "pd.DataFrame", *, whole: bool = False) -> pl.DataFrame:
    """Make a table of Polars; what pandas counts as missing is null.

    Args:
        whole: make floats whole numbers in columns that lack some values and have only whole ones: pandas makes whole
            numbers floats where a value is missing, and their texts would be 1.0 in place of 1.
    """
    for name in table.columns[table.columns.duplicated()]:
        raise UsageError(
            f"{table_name(table)}: two columns have the name {name}; leave one out, or give it another name"
        )
    columns = [_column(str(name), table.iloc[:, at]) for at, name in enumerate(table.columns)]
    return pl.DataFrame([_whole(column) for column in columns] if whole else columns)


def _whole(column: pl.Series) -> pl.Series:
    if not (column.dtype.is_float() and column.null_count()):
        return column
    made = converted(column, pl.Int64)
    return made if made.null_count() == column.null_count() else column


def _column(name: str, column: "pd.Series[Any]") -> pl.Series:
    import pandas as pd

    kind: Any = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        at = pl.Series(column.cat.codes.to_numpy(), dtype=pl.Int32)
        categories = pl.Series(name, kind.categories.to_list())
        return categories.gather(at.replace(-1, None))
    if isinstance(kind, pd.DatetimeTZDtype):
        return _values(name, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()).dt.replace_time_zone("UTC")
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return _values(name, column.to_numpy())
    missing = column.isna().to_numpy()
    values = [None if gone else value for value, gone in zip(column, missing, strict=True)]
    try:
        return pl.Series(name, values, strict=False)
    except pl.exceptions.ComputeError:  # instants of which some have a time zone
        return pl.Series(name, [value if value is None else str(value) for value in values])


def _values(name: str, values: "np.ndarray[Any, Any]") -> pl.Series:
    """A column of numbers, truth values or times; Polars has no times in whole seconds."""
    times = values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] not in ("ms", "us", "ns")
    if values.dtype.kind == "c":
        values = values.astype(str)  # Polars has no complex numbers
    return pl.Series(name, values.astype(f"{values.dtype.kind}8[us]") if times else values, nan_to_null=True)
