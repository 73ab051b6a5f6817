"""Recognises requests that begin another protocol, so that sending them alone would ask for something else.

An answer 101 opens a WebSocket, whose messages no log has. A gRPC call is a POST whose body is its arguments.
"""

import re
from typing import Final

import polars as pl

from logreplay.core.headers import HEADERS

WEBSOCKET: Final = "websocket"
GRPC: Final = "grpc"
SWITCHING_PROTOCOLS: Final = 101
AGENT: Final = "grpc-"
"""The agents of gRPC's libraries begin with it (``grpc-go/1.60.0``), also behind one of the application."""

_CALL: Final = r"^/[^/?]+/[^/?]+$"
_AGENT: Final = rf"(?:^|[ /]){AGENT}[a-z]"
_TYPE: Final = r"application/grpc(?:[+;\t ]|$)"
"""``application/grpc-web`` is another one: browsers send it, over any version of HTTP."""
_CONTENT: Final = rf"(?i)(?:^|\t)content-type: *{_TYPE}"


def is_grpc_type(content_type: str) -> bool:
    """Whether a media type is that of gRPC."""
    return re.match(_TYPE, content_type.lower()) is not None


def other_protocol() -> pl.Expr:
    """The protocol that a row begins, as the reason why it cannot be sent again; null for plain requests.

    Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
    """
    is_grpc = pl.col("agent").str.contains(_AGENT).fill_null(False) | pl.col(HEADERS).str.contains(_CONTENT)
    is_call = (pl.col("op") == "POST") & pl.col("url").str.contains(_CALL) & pl.col("body").is_null()
    return (
        pl.when(pl.col("rc") == SWITCHING_PROTOCOLS)
        .then(pl.lit(WEBSOCKET))
        .when(is_call & is_grpc.fill_null(False))
        .then(pl.lit(GRPC))
    )
