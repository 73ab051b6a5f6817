"""URLs → routes: what is the same in every request of a kind stays, numbers, ids and hashes become ``{}``.

``/users/17/cart?item=4711`` and ``/users/8/cart?item=1`` are both ``/users/{}/cart?item={}``.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.uint16]
Hashes = npt.NDArray[np.uint64]

MOST: Final = 1000
"""Routes told apart; what comes after them is counted together, so that hostile URLs cannot fill the memory."""

OTHER: Final = "(other)"

_LONGEST: Final = 500
_SEED: Final = 0
_PLACES: Final = 1 << 20
_NUMBER_BITS: Final = np.uint64(16)
_VALUES: Final = (r"=[^&]*", "={}")
_UUID: Final = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_HASH: Final = r"(^|[^A-Za-z0-9])[0-9a-fA-F]{8,}($|[^A-Za-z0-9])"
_TOKEN: Final = r"[A-Za-z]*[0-9][A-Za-z0-9]{15,}"
_NUMBER: Final = r"(^|[^A-Za-z0-9])[0-9]+($|[^A-Za-z0-9])"


def route(url: pl.Expr) -> pl.Expr:
    """Reduce a URL to its fixed parts: path, and the names (not the values) of its query."""
    short = url.str.head(_LONGEST).str.replace(r"^[a-zA-Z]+://[^/]*", "").str.replace_all(*_VALUES)
    fixed = short.str.replace_all(_UUID, "{}")
    for pattern in (_HASH, _HASH, _NUMBER, _NUMBER):  # twice: neighbours share the sign between them
        fixed = fixed.str.replace_all(pattern, "${1}{}${2}")
    return fixed.str.replace_all(_TOKEN, "{}")


def hashed(url: pl.Expr) -> pl.Expr:
    """What `Routes.encode` remembers a URL by."""
    return url.hash(_SEED)


class Routes:
    """Numbers for routes, in the order in which they are first seen.

    A log of millions holds the same URLs again and again: what a URL's number is, is remembered by hash, first for
    the whole URL, then for the one without the values of its query.

    Attributes:
        names: the route of each number.
    """

    def __init__(self) -> None:
        self.names: list[str] = [OTHER]
        self._numbers: dict[str, int] = {}
        self._whole = _Remembered()
        self._short = _Remembered()

    def encode(self, urls: pl.Series, hashes: Hashes) -> Numbers:
        """Return the number of the route of each URL, (n,), given their `hashed`; 0 where there is none."""
        return self._whole.look_up(urls, hashes, self._encode_short)

    def _encode_short(self, urls: pl.Series) -> Numbers:
        short = urls.fill_null("").str.replace_all(*_VALUES)
        return self._short.look_up(short, short.hash(_SEED).to_numpy(), self._encode_new)

    def _encode_new(self, urls: pl.Series) -> Numbers:
        routes = urls.to_frame("url").select(route(pl.col("url"))).to_series()
        for name in routes.unique(maintain_order=True).to_list():
            if name not in self._numbers and len(self.names) <= MOST:
                self._numbers[name] = len(self.names)
                self.names.append(name)
        return routes.replace_strict(self._numbers, default=0, return_dtype=pl.UInt16).to_numpy()


class _Remembered:
    """Numbers of texts seen before: each has one place, by its hash; who comes later takes it."""

    def __init__(self) -> None:
        self._places = np.zeros(_PLACES, np.uint64)
        """Hash and number in one: the place says the lowest bits of the hash, so the number has room in them."""

    def look_up(self, texts: pl.Series, hashes: Hashes, otherwise: Callable[[pl.Series], Numbers]) -> Numbers:
        """Return the numbers of texts, given their hashes; ask for those not remembered."""
        place = hashes & np.uint64(_PLACES - 1)
        remembered = self._places[place]
        found = remembered.astype(np.uint16)
        new = np.flatnonzero((remembered ^ hashes) >> _NUMBER_BITS)
        if len(new):
            _, first, back = np.unique(hashes[new], return_index=True, return_inverse=True)
            in_order = np.argsort(first)  # numbers must not depend on where the batches are cut
            numbers = np.empty(len(first), np.uint16)
            numbers[in_order] = otherwise(texts.gather(new[first[in_order]]))
            found[new] = numbers[back]
            self._places[place[new]] = (hashes[new] >> _NUMBER_BITS << _NUMBER_BITS) | found[new]
        return np.asarray(found, dtype=np.uint16)
