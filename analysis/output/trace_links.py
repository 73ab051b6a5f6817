"""Links to the traces of requests."""

import re
from typing import Final
from urllib.parse import urlsplit

from logreplay.core.record import SAMPLED_FROM, least_sampled

PLACE: Final = "{trace_id}"
_ID: Final = re.compile("[0-9a-f]{32}")


def is_sampled(trace_id: str, share: float) -> bool:
    """Whether the request of a trace was marked as sampled, when this share of them was."""
    return _ID.fullmatch(trace_id) is not None and int(trace_id[SAMPLED_FROM:], 16) >= least_sampled(share)


def trace_url(text: str) -> str:
    """Read the address of a trace, ``https://…/{trace_id}``."""
    try:
        parts = urlsplit(text)
        host, user = parts.hostname, parts.username
    except ValueError:
        host = user = None
    if not text.lower().startswith(("http://", "https://")) or not host or PLACE not in text:
        raise ValueError(f"{text!r}: expected an address with the place of the id, such as https://traces/{PLACE}")
    if user is not None:
        raise ValueError("a report that others may read must not hold a password: remove user and password")
    if " " in text or not text.isprintable():
        raise ValueError(f"{text!r}: holds a blank or a control byte; write it as %20")
    return text


def link(url: object, trace_id: object) -> str | None:
    """The address of a trace; None if the parts, which may come from files of others, make no valid one."""
    if not isinstance(url, str) or not isinstance(trace_id, str) or not _ID.fullmatch(trace_id):
        return None
    try:
        return trace_url(url).replace(PLACE, trace_id)
    except ValueError:
        return None
