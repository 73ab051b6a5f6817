"""Logs in a store that speaks S3: each worker reads its part there for itself."""

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import free_port
from logreplay.cli.main import run
from logreplay.core.errors import LogreplayError
from logreplay.core.rows import read_batches, scan
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.replay.requests.bodies import LoggedBody, loaded
from logreplay.replay.requests.plan import Requests
from logreplay.replay.requests.sources import Stored
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from logreplay.replay.sweeps.manifest import fingerprint
from support.captured_requests import BINARY, har

s3fs = pytest.importorskip("s3fs", reason="needs the extra `s3`")
pytest.importorskip("moto", reason="needs a server that speaks S3")
BotoCoreError = pytest.importorskip("botocore.exceptions").BotoCoreError

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parent.parent / "sample_logs" / "nginx_request_time.log"
COLUMNS = ("url", "op", "rc", "latency", "client", "no_such_column")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An empty bucket, ``logs``, of a server of our own; the value is its file system."""
    port, folder = free_port(), tmp_path_factory.mktemp("store")
    told = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch, (folder / "server.log").open("wb") as log:
        for name, value in told.items():
            patch.setenv(name, value)
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **told})
        try:
            filesystem, deadline = s3fs.S3FileSystem(), time.monotonic() + 60
            while True:
                try:
                    filesystem.mkdir("logs")
                    break
                except (OSError, BotoCoreError):  # not there yet
                    assert time.monotonic() < deadline, (folder / "server.log").read_text()
            yield filesystem
        finally:
            server.terminate()
            server.wait(10)


@pytest.fixture(scope="module")
def sample(bucket: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled log, converted; in the bucket as access.csv, access.csv.gz and access.parquet, too."""
    path = tmp_path_factory.mktemp("sample") / "access.csv"
    convert([str(SAMPLE)], str(path), ConvertOptions())
    table = path.with_name("table.parquet")
    convert([str(SAMPLE)], str(table), ConvertOptions())
    for name, content in (
        ("access.csv", path.read_bytes()),
        ("access.csv.gz", gzip.compress(path.read_bytes())),
        ("access.parquet", table.read_bytes()),
    ):
        bucket.pipe_file(f"logs/{name}", content)
    return path


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.mark.parametrize("name", ["access.csv", "access.csv.gz", "access.parquet"])
def test_a_stored_log_has_the_rows_of_the_file(sample: Path, name: str) -> None:
    stored = pl.concat(Stored(f"s3://logs/{name}").batches(COLUMNS))
    assert stored.equals(pl.concat(read_batches(sample, COLUMNS)))
    assert stored.height == scan(sample).collect().height


def test_workers_read_a_stored_log_and_send_every_row_once(sample: Path, tmp_path: Path) -> None:
    planned = scan(sample).filter(pl.col("op").is_in(["GET", "HEAD"])).collect()
    with spawned(sample, ServerCapacity(64, 0.001)) as url:
        out = tmp_path / "r.csv"
        arguments = ("run", "s3://logs/access.parquet", url, "--tps", 500, "--workers", 2, "-o", out, "-q")
        assert logreplay(*arguments) in (0, 3)
    rows = scan(out).collect().sort("seq")
    assert rows["seq"].to_list() == list(range(planned.height))
    assert rows["url"].equals(planned["url"])


def test_a_sweep_is_resumed_only_with_the_same_object(
    sample: Path, bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.pipe_file("logs/changing.csv", sample.read_bytes())
    with spawned(sample, ServerCapacity(64, 0.001)) as url:
        arguments = ("sweep", "20,40", "s3://logs/changing.csv", url, "--for", "1s", "--no-plots", "-q")
        assert logreplay(*arguments, "-o", tmp_path / "sweep") in (0, 3)
        before = fingerprint(Stored("s3://logs/changing.csv"))
        bucket.pipe_file("logs/changing.csv", sample.read_bytes()[:-200])
        assert fingerprint(Stored("s3://logs/changing.csv")) != before
        assert logreplay(*arguments, "--resume", tmp_path / "sweep") == 1
    assert "was another sweep: the log s3://logs/changing.csv has other content" in capsys.readouterr().err


def test_what_is_not_there_or_no_normalized_log_is_named(bucket: Any, sample: Path) -> None:
    bucket.pipe_file("logs/raw.log", SAMPLE.read_bytes())
    bucket.pipe_file("logs/no.parquet", b"PAR1 but not really")
    for name, what in (
        ("logs/none.csv", "no such object in the store"),
        ("nowhere/access.csv", "no such object in the store"),
        ("logs/raw.log", "not a normalized CSV"),
        ("logs/no.parquet", "cannot be read from the store"),
    ):
        with pytest.raises(LogreplayError, match=f"s3://{name}: {what}"):
            Stored(f"s3://{name}").names()


def test_a_stored_log_needs_a_target_and_http_is_none(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logreplay("run", "s3://logs/access.csv", "--tps", 1, "-o", tmp_path / "r.csv") == 2
    assert "give a TARGET" in capsys.readouterr().err
    assert logreplay("run", "ftp://127.0.0.1:1/access.csv", "--tps", 1, "-o", tmp_path / "r.csv") == 2
    assert "is not a log" in capsys.readouterr().err


def test_a_stored_log_whose_name_looks_like_a_pattern_is_read_by_its_name(bucket: Any, tmp_path: Path) -> None:
    bucket.pipe_file("logs/named/log[1].har", har())
    bucket.pipe_file("logs/named/log1.har", b"another file")
    assert convert(["s3://logs/named/log[1].har"], tmp_path / "week.csv").converted == 3


def test_logs_in_a_bucket_are_converted_by_a_pattern_and_replayed_with_their_bodies(
    bucket: Any, tmp_path: Path
) -> None:
    bucket.pipe_file("logs/captures/user1.har", har())
    bucket.pipe_file("logs/captures/user2.har", har() + b"\n")
    report = convert(["s3://logs/captures/*.har"], tmp_path / "week.csv")
    assert report.converted == 6
    for name in ("week.csv", "week.bodies.zst"):
        bucket.pipe_file(f"logs/{name}", (tmp_path / name).read_bytes())
    (shaped,) = Requests(Stored("s3://logs/week.csv"), ("PUT",), loop=False, shapes=[LoggedBody()]).frames()
    (loaded_frame,) = loaded([shaped])
    assert loaded_frame["payload"].to_list() == [BINARY] * 2
