"""Reduces URLs to routes: the fixed parts stay; numbers, ids and hashes become ``{}``.

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
_PLACE: Final = np.uint64(_PLACES - 1)
_NUMBER_BITS: Final = np.uint64(16)
_HALF_BITS: Final = np.uint64(32)
_VALUES: Final = (r"=[^&]*", "={}")
_UUID: Final = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_HASH: Final = r"(^|[^A-Za-z0-9%])[0-9a-fA-F]{8,}($|[^A-Za-z0-9])"
_TOKEN: Final = r"[A-Za-z]*[0-9][A-Za-z0-9]{15,}"
_NUMBER: Final = r"(^|[^A-Za-z0-9%])[0-9]+($|[^A-Za-z0-9])"  # not the digits of %97


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

    def of(self, urls: pl.Series) -> Numbers:
        """Return the number of the route of each URL, (n,); 0 where there is none."""
        return self.encode(urls, urls.hash(_SEED).to_numpy())

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
    """Numbers of texts seen before: each has two places, by its hash; the second serves where the first is taken."""

    def __init__(self) -> None:
        self._first, self._second = np.zeros((2, _PLACES), np.uint64)
        """Hash and number in one: the place says the lowest bits of the hash, so the number has room in them."""

    def look_up(self, texts: pl.Series, hashes: Hashes, otherwise: Callable[[pl.Series], Numbers]) -> Numbers:
        """Return the numbers of texts, given their hashes; ask for those not remembered."""
        numbers, new = _recalled(self._first, hashes)
        if not len(new):
            return numbers
        others = hashes[new] << _HALF_BITS | hashes[new] >> _HALF_BITS
        numbers[new], unknown = _recalled(self._second, others)
        if len(unknown):
            new, others = new[unknown], others[unknown]
            numbers[new] = _asked(texts, hashes, new, otherwise)
            free = self._first[hashes[new] & _PLACE] == 0
            _remember(self._first, hashes[new[free]], numbers[new[free]])
            _remember(self._second, others[~free], numbers[new[~free]])
        return numbers


def _recalled(places: Hashes, hashes: Hashes) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """The numbers remembered, and the indices of the hashes that are not."""
    remembered = places[hashes & _PLACE]
    return remembered.astype(np.uint16), np.flatnonzero((remembered ^ hashes) >> _NUMBER_BITS)


def _remember(places: Hashes, hashes: Hashes, numbers: Numbers) -> None:
    places[hashes & _PLACE] = (hashes >> _NUMBER_BITS << _NUMBER_BITS) | numbers


def _asked(
    texts: pl.Series, hashes: Hashes, new: npt.NDArray[np.intp], otherwise: Callable[[pl.Series], Numbers]
) -> Numbers:
    """Ask for the number of each new text once, in the order of the texts: numbers depend on no cut into batches."""
    _, first, back = np.unique(hashes[new], return_index=True, return_inverse=True)
    in_order = np.argsort(first)
    numbers = np.empty(len(first), np.uint16)
    numbers[in_order] = otherwise(texts.gather(new[first[in_order]]))
    return np.asarray(numbers[back], dtype=np.uint16)
