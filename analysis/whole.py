"""Files that are there whole or not at all, whatever ends the process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give another name to write under; the file gets its own when the block has ended well.

    Raises:
        OSError: it cannot be renamed.
    """
    if path.exists() and not path.is_file():  # a device is written to, and never replaced
        yield path
        return
    fresh = path.with_name(f".part.{path.name}")
    try:
        yield fresh
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file that is there whole or not at all; text as UTF-8.

    Raises:
        OSError: it cannot be written.
    """
    with whole(path) as fresh:
        fresh.write_bytes(data.encode() if isinstance(data, str) else data)
