"""The cases of h2spec for clients, where h2specd is installed (go install github.com/summerwind/h2spec/cmd/h2specd)."""

import asyncio
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest

from logreplay.replay.clock import monotonic
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http2.sender import Http2Sender


async def ask(url: str) -> None:
    """Send one request, and stay for what the server sends after its answer."""
    parts = urlsplit(url)
    # one stream on a connection: the next case would meet a second connection of this one
    sender = Http2Sender(await resolve(parse_target(f"{parts.scheme}://{parts.netloc}")), timeout=4, streams=1)
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    await sender.open(lambda *row: ended.set_result(None), monotonic)
    sender.send(0, sender.prepare(pl.DataFrame({"op": ["GET"], "url": ["/"]}))[0], monotonic())
    await ended
    await asyncio.sleep(0.2)
    await sender.close()


def ask_each(urls: Path) -> None:
    """Ask the URLs that come through a pipe, until an empty line."""
    with os.fdopen(os.open(urls, os.O_RDWR)) as lines:  # its own end for writing, too: it never sees the last one go
        while url := lines.readline().strip():
            asyncio.run(ask(url))


@pytest.mark.slow
def test_all_cases_of_h2spec_for_clients_pass(tmp_path: Path) -> None:
    program = shutil.which("h2specd") or shutil.which("h2specd", path=Path.home() / "go" / "bin")
    if program is None:
        pytest.skip("h2specd is not installed")
    urls, client = tmp_path / "urls", tmp_path / "client"
    os.mkfifo(urls)
    client.write_text(f'echo "$1" > {urls}\n')  # h2specd gives a client three seconds, the start of Python included
    asking = threading.Thread(target=ask_each, args=(urls,), daemon=True)
    asking.start()
    command = [program, "--exec", f"sh {client}", "--timeout", "6", "--from-port", "31000"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", timeout=300)
    urls.write_text("\n")
    asking.join(10)
    counts = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", done.stdout)
    assert counts, done.stdout[-2000:]
    failures = done.stdout.partition("Failures")[2][:3000]
    assert counts.group(3, 4) == ("0", "0"), failures
    assert int(counts[1]) >= 57
