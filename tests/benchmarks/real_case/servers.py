"""Starts the shop: PostgreSQL, gunicorn and nginx, in a folder and in a network namespace with an address of its own.

The namespace makes the shop a machine of its own to the replay: other work on this one is not taken for its load.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from conftest import free_port

ADDRESS: Final = "10.77.0.2"
_NAME: Final = "logreplay-shop"
_HERE: Final = Path(__file__).parent
_NGINX: Final = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    log_format shop '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                    '"$http_referer" "$http_user_agent" $request_time';
    access_log {folder}/access.log shop;
    proxy_cache_path {folder}/cache keys_zone=products:1m;
    upstream shop {{ server 127.0.0.1:{gunicorn}; keepalive 16; }}
    server {{
        listen {address}:{port} backlog=4096;
        proxy_http_version 1.1; proxy_set_header Connection "";
        location /static/ {{ return 200 "body {{ font-family: sans-serif }}"; }}
        location /product/ {{ proxy_pass http://shop; proxy_cache products; proxy_cache_valid 200 10s; }}
        location / {{ proxy_pass http://shop; }}
    }}
}}
"""
_TABLES: Final = """
SELECT setseed(0.7);
CREATE TABLE word AS SELECT n AS id, substr(md5(n::text), 1, 4 + n % 5) AS word FROM generate_series(1, 2000) AS n;
CREATE TABLE product AS SELECT n AS id, 'Product ' || n AS name, (500 + random() * 9500)::int AS price,
    (SELECT string_agg(word, ' ') FROM word WHERE id BETWEEN n % 1900 AND n % 1900 + 60) AS description
    FROM generate_series(1, 20000) AS n;
ALTER TABLE product ADD PRIMARY KEY (id);
CREATE TABLE review AS SELECT n AS id, 1 + (random() * 19999)::int AS product, 1 + (random() * 4)::int AS stars,
    md5(n::text) AS words FROM generate_series(1, 200000) AS n;
CREATE INDEX ON review (product);
CREATE TABLE purchase (id bigserial PRIMARY KEY, product int, at timestamptz DEFAULT now());
INSERT INTO purchase (product) SELECT 1 + (power(random(), 3) * 19999)::int FROM generate_series(1, 50000);
VACUUM ANALYZE;
"""


def _postgres() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        sys.exit("PostgreSQL is not installed: install the package postgresql")
    return found[-1].parent


def _found(name: str) -> str:
    path = shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    if path is None:
        sys.exit(f"{name} is not installed")
    return path


@contextmanager
def _process(command: Sequence[str], **more: object) -> Iterator[None]:
    process = subprocess.Popen(command, **more)  # type: ignore[call-overload]
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def _answers(command: Sequence[str], what: str) -> None:
    until = time.monotonic() + 30
    while subprocess.run(command, capture_output=True, check=False).returncode:
        if time.monotonic() > until:
            sys.exit(f"{what} does not answer: {' '.join(command)}")
        time.sleep(0.1)  # it tells nobody when it is ready


@contextmanager
def _database(folder: Path, on: Sequence[str]) -> Iterator[str]:
    port, bin_, data = free_port(), _postgres(), folder / "data"
    # PostgreSQL refuses to run as root
    owner = ("runuser", "-u", "postgres", "--") if os.getuid() == 0 else ()
    data.mkdir()
    if owner:
        shutil.chown(data, "postgres", "postgres")
    subprocess.run([*owner, bin_ / "initdb", "-D", data, "-U", "shop", "-A", "trust"], check=True, capture_output=True)
    settings = ("-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
    with _process([*on, *owner, str(bin_ / "postgres"), "-D", str(data), *settings], **quiet):
        at = f"host=127.0.0.1 port={port} user=shop dbname=postgres"
        _answers([*on, str(bin_ / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)], "PostgreSQL")
        subprocess.run([*on, bin_ / "psql", "-q", "-v", "ON_ERROR_STOP=1", at], input=_TABLES, text=True, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        yield at


@contextmanager
def _namespace() -> Iterator[tuple[str, ...]]:
    """A network namespace that this machine reaches at `ADDRESS`; the words that run a command in it."""
    ip = _found("ip")

    def make(*words: str, there: bool = False) -> None:
        subprocess.run([ip, *(("-n", _NAME) if there else ()), *words], check=True)

    make("netns", "add", _NAME)
    try:
        make("link", "add", _NAME, "type", "veth", "peer", "name", "there", "netns", _NAME)
        make("address", "add", f"{ADDRESS[:-1]}1/30", "dev", _NAME)
        make("link", "set", _NAME, "up")
        make("address", "add", f"{ADDRESS}/30", "dev", "there", there=True)
        make("link", "set", "there", "up", there=True)
        make("link", "set", "lo", "up", there=True)
        yield (ip, "netns", "exec", _NAME)
    finally:
        make("netns", "delete", _NAME)


@contextmanager
def shop(folder: Path, *, core: int) -> Iterator[str]:
    """Run the shop while the block runs; the value is its URL, ``access.log`` in the folder is its log.

    Args:
        folder: an empty one, which other users may enter.
        core: the only core for all three servers.
    """
    with ExitStack() as stack:
        there = stack.enter_context(_namespace())
        on = (*there, "taskset", "-c", str(core))
        database = stack.enter_context(_database(folder, on))
        gunicorn, port = free_port(), free_port()
        stack.enter_context(
            _process(
                [*on, sys.executable, "-m", "gunicorn", "--workers", "2", "--threads", "4", "--log-level", "error",
                 "--bind", f"127.0.0.1:{gunicorn}", "--keep-alive", "60", "shop:app"],
                cwd=_HERE, env={**os.environ, "SHOP_DATABASE": database},
            )
        )  # fmt: skip
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, gunicorn=gunicorn, address=ADDRESS, port=port))
        stack.enter_context(_process([*on, _found("nginx"), "-c", str(folder / "nginx.conf"), "-e", "stderr"]))
        url = f"http://{ADDRESS}:{port}"
        _answers(["curl", "-sf", "-o", "/dev/null", url], "the shop")
        yield url
