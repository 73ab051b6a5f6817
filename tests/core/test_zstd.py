"""Frames of zstd, compressed one by one."""

import pytest

from logreplay.core.zstd import frame_compressor, zstd


@pytest.mark.parametrize("level", [-5, 1, 3])
def test_each_piece_becomes_a_frame_that_names_its_size(level: int) -> None:
    compress = frame_compressor(level)
    pieces = [b"a" * 300_000, b"", b"bc"]
    frames = [compress(piece) for piece in pieces]
    assert [zstd.get_frame_info(frame).decompressed_size for frame in frames] == [300_000, 0, 2]
    assert zstd.decompress(b"".join(frames)) == b"".join(pieces)
