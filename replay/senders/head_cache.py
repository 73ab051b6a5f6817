"""Heads of answers that were seen before, and what the parser said of them.

Servers say the same again and again. An answer that begins with the bytes of one that was whole and good, and has as
many after them, need not be parsed again. What is known comes from the parser alone.
"""

from typing import Final, NamedTuple

HEAD_END: Final = b"\r\n\r\n"
_HEADS: Final = 1024
_LONGEST: Final = 4096


class HeadCache(NamedTuple):
    """What the parser said of an answer, and would say of any with the same head.

    Attributes:
        status: below 200 never.
        size: bytes of the body, which are all that follow the head.
    """

    status: int
    size: int


def remember(known: dict[bytes, HeadCache], head: bytes, answer: HeadCache) -> None:
    """Remember an answer that came in one piece, if its head alone says where it ends."""
    ends_plainly = head.endswith(HEAD_END) and head.count(b"\n") == head.count(b"\r\n")
    if ends_plainly and len(head) <= _LONGEST and b"chunked" not in head.lower():
        if len(known) == _HEADS:
            known.clear()
        known[head] = answer
