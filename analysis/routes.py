"""URLs → routes: what is the same in every request of a kind stays, numbers, ids and hashes become ``{}``.

``/users/17/cart?item=4711`` and ``/users/8/cart?item=1`` are both ``/users/{}/cart?item={}``.
"""

from typing import Final

import polars as pl

MOST: Final = 1000
"""Routes told apart; what comes after them is counted together, so that hostile URLs cannot fill the memory."""

OTHER: Final = "(other)"

_LONGEST: Final = 500
_UUID: Final = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_HASH: Final = r"(^|[^A-Za-z0-9])[0-9a-fA-F]{8,}($|[^A-Za-z0-9])"
_TOKEN: Final = r"[A-Za-z]*[0-9][A-Za-z0-9]{15,}"
_NUMBER: Final = r"(^|[^A-Za-z0-9])[0-9]+($|[^A-Za-z0-9])"


def route(url: pl.Expr) -> pl.Expr:
    """Reduce a URL to its fixed parts: path, and the names (not the values) of its query."""
    short = url.str.head(_LONGEST).str.replace(r"^[a-zA-Z]+://[^/]*", "").str.replace_all(r"=[^&]*", "={}")
    fixed = short.str.replace_all(_UUID, "{}")
    for pattern in (_HASH, _HASH, _NUMBER, _NUMBER):  # twice: neighbours share the sign between them
        fixed = fixed.str.replace_all(pattern, "${1}{}${2}")
    return fixed.str.replace_all(_TOKEN, "{}")


class Routes:
    """Numbers for routes, in the order in which they are first seen.

    Attributes:
        names: the route of each number.
    """

    def __init__(self) -> None:
        self.names: list[str] = [OTHER]
        self._numbers: dict[str, int] = {}

    def encode(self, urls: pl.Series) -> pl.Series:
        """Return the number of the route of each URL, UInt16."""
        distinct = (
            urls.unique(maintain_order=True).drop_nulls().to_frame("url").select("url", route=route(pl.col("url")))
        )
        for name in distinct["route"].unique(maintain_order=True).to_list():
            if name not in self._numbers and len(self.names) <= MOST:
                self._numbers[name] = len(self.names)
                self.names.append(name)
        number = pl.col("route").replace_strict(self._numbers, default=0, return_dtype=pl.UInt16)
        numbers = distinct.select("url", number=number)
        return urls.to_frame("url").join(numbers, on="url", how="left", maintain_order="left")["number"].fill_null(0)
