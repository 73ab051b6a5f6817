"""WARC files: their request records. Needs the extra ``warc`` (warcio).

Source: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

from logreplay.core.errors import LogreplayError
from logreplay.core.installation import needs_extra
from logreplay.parsers.captures.capture import (
    LARGEST,
    LONGEST_HEAD,
    Capture,
    CaptureFormat,
    Record,
    Unanswered,
    instant,
    record_of,
    request_message,
    response_message,
    url_parts,
)
from logreplay.parsers.fields.values import Rejected

_SHOWN: Final = 1 << 16
_ANSWER: Final = 1 << 20
"""Bytes looked at of a response, for its status."""


def _read(file: BinaryIO, name: str) -> Iterator[Record]:
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        raise LogreplayError(f"{name}: reading WARC {needs_extra('warc')}") from None
    waiting, answers, number = Unanswered(), dict[bytes, tuple[int, int]](), 0
    archive = ArchiveIterator(file, no_record_parse=True)
    archive.reader.readline = lines = _HeaderLines(archive.reader.readline)
    try:
        for number, one in enumerate(archive, 1):
            lines.left = LONGEST_HEAD
            kind, key, other = one.rec_type, _id(one, "WARC-Record-ID"), _id(one, "WARC-Concurrent-To")
            if kind == "response":
                answer = response_message(one.raw_stream.read(_ANSWER))
                yield Record(b"")
                if found := waiting.take(other) or waiting.take(key):
                    yield _answered(found, answer)
                else:
                    answers[key] = answer
                    if len(answers) > waiting.most:
                        answers.pop(next(iter(answers)))
            elif kind == "request":
                record = _request(one, number)
                if not record.capture:
                    yield record
                elif other in answers:
                    yield _answered(record, answers.pop(other))
                else:
                    yield from waiting.add(other or key, record)
            else:
                yield Record(b"")
    except ArchiveLoadFailed as error:
        yield Record(str(error).encode(), None, "rejected", "layout, and with it the rest of the file", number + 1)
    except Rejected as error:
        yield Record(b"", None, "rejected", f"{error}, and with it the rest of the file", number + 1)
    except (EOFError, ValueError, OSError):
        yield Record(b"", None, "rejected", "damaged, and with it the rest of the file", number + 1)
    yield from waiting.rest()


@dataclass(slots=True)
class _HeaderLines:
    """Reads the lines of a record's header, and the empty ones before it; warcio joins any number, in quadratic time.

    Attributes:
        read: reads a line of a given length at most.
        left: bytes that the header may still have.
    """

    read: Callable[[int], bytes]
    left: int = LONGEST_HEAD

    def __call__(self) -> bytes:
        line = self.read(self.left + 1)
        self.left -= len(line)
        if self.left < 0:
            raise Rejected(f"a header longer than {LONGEST_HEAD >> 20} MB")
        return line


def _request(one: Any, number: int) -> Record:
    """The request of a record."""
    data = one.raw_stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        return Record(data[:_SHOWN], None, "rejected", f"longer than {LARGEST >> 20} MB", number)
    uri = (one.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
    date = one.rec_headers.get_header("WARC-Date") or ""

    def make() -> Capture:
        length = one.rec_headers.get_header("Content-Length") or ""
        if length.isdigit() and len(data) < int(length):
            raise Rejected("cut off at the end of the file")
        scheme, host = url_parts(uri)
        return replace(request_message(data), start=instant(date), scheme=scheme, host=host)

    return record_of(data, make, number)


def _id(one: Any, name: str) -> bytes:
    return str(one.rec_headers.get_header(name) or "").encode("utf-8", "replace")


def _answered(record: Record, answer: tuple[int, int]) -> Record:
    assert record.capture
    return replace(record, capture=replace(record.capture, rc=answer[0], size=answer[1]))


WARC: Final = CaptureFormat("warc", lambda head: head.startswith(b"WARC/"), _read, "records")
