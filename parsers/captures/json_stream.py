"""Cuts a stream of JSON into its objects, in flat memory.

The reader looks at strings and brackets only: damage inside an object is a matter of that object, and the objects
around it are read.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from typing import BinaryIO, Final

from logreplay.parsers.captures.capture import LARGEST, Capture, Record, record_of

_PIECE: Final = 1 << 20
_STRUCTURE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_INSIDE_LINE: Final = re.compile(rb'(?:[^"\\\n]++|\\[^\n])*+')
_TAIL: Final = 64
"""Bytes before a bracket that may hold the name of its list."""
_SHOWN: Final = 1 << 16
"""Bytes kept of an object that is too long."""
_DEEPEST: Final = 200
"""Brackets that may be open; JSON of any program that captures requests needs far fewer."""
_BETWEEN: Final = b" \t\r\n,[]"
_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")

Found = tuple[bytes, bool]
"""The bytes of an object, and whether they are all of it: it is not too long, and not cut off."""


@dataclass(slots=True)
class _Cutter:
    """Reads a stream piece by piece."""

    name: str
    longest: int
    others: bool = False
    stack: bytearray = field(default_factory=bytearray)
    over: int = 0
    inside: bool = False
    depth: int | None = None
    tail: bytes = b""
    held: list[bytes] = field(default_factory=list)
    length: int = 0

    def cut(self, data: bytes) -> Iterator[Found]:
        """Take the next bytes; yield the objects that end in them, and the text between if ``others`` is set."""
        at, begin, end = 0, 0, 0
        while at < len(data):
            if self.inside:
                text = _INSIDE_LINE if self.others else _INSIDE  # a line break in a string: its quote is missing
                at = text.match(data, at).end()  # type: ignore[union-attr]  # it matches nothing, too
                if at < len(data):
                    self.inside, at = False, at + 1
                continue
            found = _STRUCTURE.search(data, at)
            if not found:
                break
            at = found.end()
            match found[0]:
                case b'"':
                    self.inside = True
                case b"{" | b"[":
                    named = (self.tail + data[max(found.start() - _TAIL, 0) : found.start()])[-_TAIL:]
                    if self.others and self.depth is not None and self._is_next(found[0], named):
                        del self.stack[self.depth :]
                        end = found.start()
                        yield self.taken(data[begin:end], ended=False)
                    if self.depth is None and found[0] == b"{" and self._is_wanted():
                        self.depth, begin = len(self.stack) + self.over, found.start()
                        yield from self._other(data[end:begin])
                    if len(self.stack) < _DEEPEST:
                        self.stack += b"N" if self._is_list(found[0], named) else found[0]
                    else:
                        self.over += 1
                case _:
                    if self.over:
                        self.over -= 1
                    elif self.stack:
                        self.stack.pop()
                    if self.depth is not None and len(self.stack) + self.over <= self.depth:
                        yield self.taken(data[begin:at])
                        end = at
        if self.depth is not None:
            self._hold(data[begin:])
        else:
            yield from self._other(data[end:])
        self.tail = (self.tail + data[-_TAIL:])[-_TAIL:]

    def _other(self, data: bytes) -> Iterator[Found]:
        if self.others and (other := data.strip(_BETWEEN)):
            yield other, False

    def _is_list(self, bracket: bytes, before: bytes) -> bool:
        wanted = self.name and bracket == b"[" and len(self.stack) == 2
        return bool(wanted and re.search(rf'"{self.name}"\s*:\s*$'.encode(), before))

    def _is_next(self, bracket: bytes, before: bytes) -> bool:
        """Whether an object begins before the one it stands in has ended: within that, it would follow a colon."""
        before = before.rstrip()
        inside = self.stack[-1:] == b"{" and not self.over
        return inside and bracket == b"{" and bool(before) and not before.endswith(b":")

    def _is_wanted(self) -> bool:
        return self.stack.endswith(b"N") if self.name else not self.stack.strip(b"[")

    def _hold(self, data: bytes) -> None:
        self.length += len(data)
        if self.length <= self.longest:
            self.held.append(data)
        elif self.held:
            self.held = [b"".join(self.held)[:_SHOWN]]

    def taken(self, data: bytes, *, ended: bool = True) -> Found:
        """Take the last bytes of the object; return it."""
        self._hold(data)
        taken = b"".join(self.held), ended and self.length <= self.longest
        self.held, self.length, self.depth = [], 0, None
        return taken


def objects(file: BinaryIO, longest: int, name: str = "", *, others: bool = False) -> Iterator[Found]:
    """Yield the objects of a stream of JSON values, with or without lines between them.

    With a name, those in the list of that name in an object in an object (``entries`` of HAR's ``log``). ``others``:
    also the text between the objects, as one that is not whole; and an object without its end costs no other.
    """
    cutter = _Cutter(name, longest, others)
    rest = b""
    while piece := file.read(_PIECE):
        data = rest + piece
        backslashes = len(data) - len(data.rstrip(b"\\"))
        cut = len(data) - backslashes % 2  # an escape must not be cut in two
        rest = data[cut:]
        yield from cutter.cut(data[:cut])
    yield from cutter.cut(rest)
    if cutter.depth is not None:
        yield cutter.taken(b"", ended=False)


def object_lines(file: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield the objects of JSON arrays, and other text between them, each as one line; without end, if cut off."""
    for (data, whole), more in pairwise(chain(objects(file, longest, others=True), [(b"", False)])):
        yield data.translate(_ONE_LINE) + (b"\n" if whole or more[0] else b"")


def records(file: BinaryIO, make: Callable[[bytes], Capture | None], name: str = "") -> Iterator[Record]:
    """Yield what some code makes of each object of a stream; ``name`` as for `objects`."""
    for data, whole in objects(file, LARGEST, name):
        if whole:
            yield record_of(data, partial(make, data))
        else:
            yield Record(data, None, "rejected", f"cut off, or longer than {LARGEST >> 20} MB")
