"""A log of users who log in and buy is replayed against a fresh shop: the same statuses, the same purchases."""

import http.client
import os
import random
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlencode

import polars as pl
import pytest

from conftest import NGINX, NGINX_COMBINED, NGINX_CONF, WebServer, free_port, running
from logreplay.cli import main

USERS = 50
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


def address(user: int) -> str:
    return f"127.0.1.{user + 1}"


@contextmanager
def shop(folder: Path) -> Iterator[WebServer]:
    """gunicorn behind nginx, which writes the log."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    folder.mkdir()
    port, front = free_port(), free_port()
    os.environ["SHOP_DATABASE"] = str(folder / "shop.db")
    gunicorn: list[str | Path] = [
        sys.executable, "-m", "gunicorn", "--threads", "4", "--log-level", "error", "--chdir", Path(__file__).parent,
        "--bind", f"127.0.0.1:{port}", "support.session_shop:app",
    ]  # fmt: skip
    conf = NGINX_CONF.format(
        folder=folder, port=front, server=f"location / {{ proxy_pass http://127.0.0.1:{port}; }}",
        log_format=NGINX_COMBINED, escape="default",
    )  # fmt: skip
    (folder / "conf").write_text(conf)
    nginx: list[str | Path] = [NGINX, "-c", folder / "conf", "-p", folder, "-e", folder / "error.log"]
    with running(gunicorn, folder, port), running(nginx, folder, front) as server:
        yield server


def purchases(folder: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        return sorted(database.execute("SELECT user, product FROM purchase"))


class Visitor:
    """A scripted user with a browser's memory, at an address of its own."""

    def __init__(self, url: str, user: int) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(address(user), 0))
        self._user, self._cookie, self._token = user, "", ""

    def ask(self, method: str, path: str, **fields: str) -> int:
        body = urlencode({"csrf_token": self._token, **fields}) if method == "POST" else None
        headers = ({"Cookie": self._cookie} if self._cookie else {}) | (FORM if body else {})
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        if given := answer.getheader("Set-Cookie"):
            self._cookie = given.partition(";")[0]
        if found := TOKEN.search(answer.read().decode()):
            self._token = found[1]
        return answer.status

    def visit(self, draw: random.Random) -> None:
        assert self.ask("GET", "/login") == 200
        assert self.ask("POST", "/login", user=f"u{self._user}", password=f"secret of u{self._user}") == 303
        assert self.ask("GET", "/account") == 200
        for _ in range(draw.randint(1, 3)):
            product = draw.randrange(100)
            assert self.ask("GET", "/") == 200
            assert self.ask("GET", f"/product/{product}") == 200
            assert self.ask("POST", f"/buy/{product}") == 303
        assert self.ask("GET", "/product/100") == 404
        assert self.ask("GET", "/orders") == 200
        self._connection.close()


def replay(log: Path, url: str, out: Path, *options: str) -> pl.DataFrame:
    words = [
        "run",
        log,
        url,
        "--tps",
        "200",
        "--no-loop",
        "--methods",
        "GET,POST",
        "--exclude",
        "^/login",
        "--by-client",
    ]
    assert main.run([*map(str, words), *options, "-o", str(out), "-q", "--timeout", "30s"]) in (0, 3)
    return pl.read_csv(out)


def share_alike(rows: pl.DataFrame) -> float:
    return float((rows["rc"] == rows["expected_rc"]).sum()) / rows.height


@pytest.mark.slow
def test_a_replay_with_sessions_repeats_what_users_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DATABASE", "")
    draw = random.Random(7)
    with shop(tmp_path / "original") as original:
        for user in range(USERS):
            Visitor(original.url, user).visit(draw)
    bought = purchases(tmp_path / "original")
    assert len(bought) >= USERS
    logins = tmp_path / "logins.csv"
    own = (f"{address(user)},POST,/login,user=u{user}&password=secret+of+u{user}" for user in range(USERS))
    logins.write_text("\n".join(["client,op,url,body", "*,GET,/login,", *own]) + "\n")
    csv = tmp_path / "access.csv"
    assert main.run(["convert", str(original.log), "-o", str(csv), "-q"]) == 0

    with shop(tmp_path / "fresh") as fresh:
        rows = replay(
            csv, fresh.url, tmp_path / "run.csv", "--cookies", "--login", str(logins),
            "--extract", 'csrf=regex:name="csrf_token" value="([^"]+)"', "--use", "csrf=body:csrf_token",
        )  # fmt: skip
    assert share_alike(rows) >= 0.99
    assert purchases(tmp_path / "fresh") == bought
    told = pl.read_csv(tmp_path / "run.logins.csv")
    assert told.group_by("client").len()["len"].to_list() == [2] * USERS
    assert set(told["rc"]) == {200, 303}
    assert "secret" not in (tmp_path / "run.logins.csv").read_text()

    with shop(tmp_path / "without") as without:
        assert share_alike(replay(csv, without.url, tmp_path / "without.csv")) < 0.6
    assert purchases(tmp_path / "without") == []
