"""A PostgreSQL that runs for the length of a test, reached by a unix socket; skipped where it is not installed."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres(max_connections: int = 20) -> Iterator[str]:
    """Run it while the block runs; the value is its connection string."""
    bins = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not bins or not shutil.which("psql"):
        pytest.skip("PostgreSQL is not installed")
    root = os.getuid() == 0  # PostgreSQL refuses to run as root
    owner = ("runuser", "-u", "postgres", "--") if root else ()
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket is short
        data = Path(folder, "data")
        data.mkdir()
        if root:
            for path in (folder, data):
                shutil.chown(path, "postgres", "postgres")
        made = ("-D", data, "-U", "shop", "-A", "trust", "--no-sync")
        subprocess.run([*owner, bins[-1].parent / "initdb", *made], check=True, capture_output=True, cwd="/")
        settings = (f"unix_socket_directories={folder}", "listen_addresses=", "fsync=off",
                    f"max_connections={max_connections}")  # fmt: skip
        words = [word for setting in settings for word in ("-c", setting)]
        program = [*owner, bins[-1], "-D", data, *words]
        with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/") as server:
            try:
                at, deadline = f"host={folder} user=shop dbname=postgres", time.monotonic() + 30
                while subprocess.run(["psql", "-c", "", at], capture_output=True, check=False).returncode:
                    if server.poll() is not None or time.monotonic() > deadline:
                        said = server.stderr.read().decode() if server.stderr else ""
                        pytest.fail(f"PostgreSQL does not answer: {said}")
                    time.sleep(0.02)  # it tells nobody when it is ready
                yield at
            finally:
                server.terminate()
                server.wait(30)
