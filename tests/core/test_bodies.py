"""Bodies in their file, and back by their addresses."""

import tracemalloc
from io import BytesIO
from pathlib import Path
from zlib import crc32

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.bodies import ADDRESS, BodyWriter, StoredBodies, beside, length, named, pieces
from logreplay.core.errors import LogreplayError
from logreplay.core.zstd import zstd


def written(path: Path, bodies: list[bytes | None]) -> pl.Series:
    """The addresses of bodies in a file, each after its name."""
    with path.open("wb") as file:
        writer = BodyWriter(file)
        addresses = writer.add(bodies)
        writer.close()
    return pl.Series("body", [address and f"{path}#{address}" for address in addresses], dtype=pl.String)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), st.binary(max_size=50))))
def test_every_body_comes_back_byte_for_byte(bodies: list[bytes | None]) -> None:
    file = BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("logreplay.core.bodies._BLOCK", 64)
        writer = BodyWriter(file)
        addresses = pl.Series([address and f"x#{address}" for address in writer.add(bodies)], dtype=pl.String)
        writer.close()
    assert addresses.str.contains(ADDRESS).fill_null(True).all()
    with StoredBodies(lambda _: file) as reader:
        assert reader.load(addresses).to_list() == [body or None for body in bodies]


def test_the_file_unpacks_to_all_bodies_and_holds_equal_ones_once(tmp_path: Path) -> None:
    addresses = written(tmp_path / "x", [b"a" * 300_000, b"bc", b"a" * 300_000, b"bc"])
    assert addresses[0] == addresses[2]
    assert zstd.decompress((tmp_path / "x").read_bytes()) == b"a" * 300_000 + b"bc"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:20], "damaged, or with the bodies of another log"),
        (lambda data: b"x" + data[1:], "cannot be read"),
        (lambda data: b"", "damaged, or with the bodies of another log"),
    ],
)
def test_a_damaged_file_is_an_error_with_the_name_of_the_file(tmp_path: Path, damage: object, reason: str) -> None:
    path = tmp_path / "x.bodies.zst"
    addresses = written(path, [bytes(range(256)) * 4])
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with StoredBodies() as reader, pytest.raises(LogreplayError, match=rf"x\.bodies\.zst: {reason}"):
        reader.load(addresses)


def test_bodies_of_another_log_are_noticed(tmp_path: Path) -> None:
    mine = written(tmp_path / "mine", [b"one"])
    written(tmp_path / "other", [b"two"])
    with StoredBodies() as reader, pytest.raises(LogreplayError, match="bodies of another log"):
        reader.load(mine.str.replace("mine#", "other#"))


@pytest.mark.parametrize("address", ["0-0-999999999-00000000", "999999999999999-0-1-00000000", "7"])
def test_a_hostile_address_is_an_error_and_takes_no_memory(tmp_path: Path, address: str) -> None:
    written(tmp_path / "x", [b"one"])
    with StoredBodies() as reader, pytest.raises(LogreplayError):
        reader.load(pl.Series([f"{tmp_path}/x#{address}"]))


def test_a_frame_is_not_unpacked_beyond_the_largest_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """6 kB became 200 MB at once."""
    monkeypatch.setattr("logreplay.core.bodies.LARGEST", 1 << 20)
    (tmp_path / "x").write_bytes(zstd.compress(bytes(200_000_000)))
    with StoredBodies() as reader:
        tracemalloc.start()
        try:
            found = reader.load(pl.Series([f"{tmp_path}/x#0-0-9-{crc32(bytes(9)):08x}"]))
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert found.to_list() == [bytes(9)]
    assert most < 8 << 20


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    with StoredBodies() as reader, pytest.raises(LogreplayError, match=r"gone: no such file: it holds the bodies"):
        reader.load(pl.Series([f"{tmp_path}/gone#0-0-1-00000000"]))


def test_rows_are_cut_where_their_bodies_are_large() -> None:
    sizes = [1, 5_000_000, 4_000_000, 1, 90_000_000, 1]
    frame = pl.DataFrame({"ref": [f"f#0-0-{size}-00000000" for size in sizes] + [None]})
    assert [piece.height for piece in pieces(frame, length("ref"))] == [2, 2, 1, 2]


def test_the_file_stands_beside_the_csv_whatever_its_ending() -> None:
    names = ["a/access.csv", "a/access.csv.gz", "a/access.csv.zst", "a/access.parquet", "a/access"]
    assert {beside(name) for name in names} == {"a/access.bodies.zst"}
    frame = pl.DataFrame({"ref": ["0-1-2-0000000a", "../../etc/passwd", None]})
    assert frame.select(named(pl.col("ref"), "x.csv")).to_series().to_list() == [
        "x.bodies.zst#0-1-2-0000000a",
        None,
        None,
    ]
