"""The headers of a request as one text: the column ``headers``, ``Name: value`` with tabs between them.

Kept are the headers that the client chose. Those that say where a message ends or what becomes of its connection are
left out, as whoever sends the request again writes its own.
"""

import re
from collections.abc import Iterable
from typing import Final

import polars as pl

from logreplay.core.errors import LogreplayError

HEADERS: Final = "headers"
"""The name of the column."""

NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
LONGEST: Final = 64 << 10
"""Characters of all headers of a request; more is damage or an attack."""

OF_CONNECTION: Final = frozenset(
    {
        "content-length",
        "transfer-encoding",
        "connection",
        "proxy-connection",
        "keep-alive",
        "upgrade",
        "expect",
        "te",
        "trailer",
        "http2-settings",
    }
)
"""Headers, in lower case, that belong to one transfer of a message and not to the message."""

OF_CLIENT: Final = frozenset(
    {
        *("x-forwarded-for", "x-real-ip", "true-client-ip", "cf-connecting-ip", "x-client-ip"),
        *("x-cluster-client-ip", "fastly-client-ip"),
    }
)
"""Headers, in lower case, in which a proxy tells the address of its client."""

_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]+")


class HeadersTooLong(LogreplayError):
    """The headers of one request are longer than `LONGEST`."""


def header_text(headers: Iterable[tuple[str, str]]) -> str | None:
    """Headers as one text; control bytes become blanks; None if there are none."""
    kept = [
        f"{name}: {_CONTROLS.sub(' ', value).strip()}"
        for name, value in headers
        if NAME.fullmatch(name) and name.lower() not in OF_CONNECTION
    ]
    text = "\t".join(kept).encode("utf-8", "replace").decode()
    if len(text) > LONGEST:
        raise HeadersTooLong(f"headers longer than {LONGEST >> 10} KiB")
    return text or None


def header_values(name: str) -> pl.Expr:
    """The values of a header in the column `HEADERS`, joined if there are several; null where there is none."""
    between = "; " if name.lower() == "cookie" else ", "  # RFC 9110, 5.3; RFC 9113, 8.2.3
    own = pl.col(HEADERS).str.extract_all(rf"(?i)(?:^|\t){re.escape(name)}: [^\t]*")
    values = own.list.eval(pl.element().str.replace(r"^\t?[^:]*: ", "")).list.join(between)
    return pl.when(own.list.len() > 0).then(values)


def header_value(name: str) -> pl.Expr:
    """The value of a header in the column `HEADERS`, of several the first; null where there is none."""
    return pl.col(HEADERS).str.extract(rf"(?i)(?:^|\t){re.escape(name)}: ([^\t]*)", 1)


def header_pairs(text: str | None) -> list[tuple[str, str]]:
    """The headers in a text of `header_text`; other parts of it are left out."""
    split = (part.partition(": ") for part in (text or "").split("\t"))
    return [(name, value) for name, colon, value in split if colon and NAME.fullmatch(name)]
