"""A file is there whole or not at all."""

import os
from pathlib import Path

import pytest

from logreplay.analysis.whole import whole, write_whole


def test_what_was_there_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    write_whole(path, "before")
    with pytest.raises(UnicodeEncodeError), whole(path) as fresh, fresh.open("w", encoding="ascii") as file:
        file.writelines(["half\n", "näher"])
    assert path.read_text() == "before"
    write_whole(path, "näher".encode())
    assert path.read_text(encoding="utf-8") == "näher"
    assert [found.name for found in tmp_path.iterdir()] == ["seconds.csv"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(path, b"rows")
        assert os.read(reader, 100) == b"rows"
    finally:
        os.close(reader)
    assert path.is_fifo()
