"""Credentials reach the target with every sender, version of HTTP and worker, and nobody else."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from logreplay.cli.main import run
from logreplay.replay.requests.auth.schemes import Authorized, SecretFile
from logreplay.replay.requests.hook import Hooked, Planned, signing
from logreplay.replay.requests.plan import RequestStream
from support.aws_signature import check_signature, headers_of
from support.background_server import beside
from support.http2_server import http2_server
from support.raw_server import raw_server
from support.shaped_replay import server_saw, shaped, written

TOKEN = "verysecrettoken0123456789"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = (f"GET /{number}?b={number}&a=%20 200 10.0.0.{number % 3}" for number in range(30))
    return written(tmp_path / "log.csv", *rows)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(TOKEN + "\n")
    return tmp_path / "token"


@contextmanager
def serving(*, http2: bool) -> Iterator[Any]:
    with beside(http2_server if http2 else raw_server) as server:
        yield server


def heads(server: Any) -> list[bytes]:
    """The requests, without those of the check before the run."""
    return [head for head in server.heads if not head.startswith(b"HEAD / ")]


def replayed(*arguments: object) -> int:
    return run(["run", *map(str, arguments), "--tps", "300", "-n", "30"])


WAYS = [
    (), ("--sender", "aiohttp"), ("--by-client",), ("--http", "2"), ("--http", "2", "--by-client"),
    ("--vusers", "2"), pytest.param(("--cluster", "local:2"), marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("more", WAYS, ids=" ".join)
def test_a_token_is_sent_in_every_way_and_printed_in_none(
    log: Path, token: Path, tmp_path: Path, more: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(http2="2" in more[1:2] and more[0] == "--http") as server:
        common = [
            "run",
            str(log),
            server.url,
            "--auth",
            f"bearer:{token}",
            "-n",
            "30",
            "-v",
            "-o",
            str(tmp_path / "r.csv"),
        ]
        assert run([*common, *([] if "--vusers" in more else ["--tps", "300"]), *more]) in (0, 3)
        sent = heads(server)
    assert len(sent) == 30
    assert {headers_of(head)["authorization"] for head in sent} == {f"Bearer {TOKEN}"}
    printed = "".join(capfd.readouterr())
    assert "uthorization: ***" in printed
    written_files = "".join(path.read_text() for path in (tmp_path / "r.csv", tmp_path / "r.summary.json"))
    assert TOKEN not in printed + written_files
    assert json.loads((tmp_path / "r.summary.json").read_text())["options"]["auth"] == "bearer"


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--http", "2"), ("--workers", "2")], ids=" ".join)
def test_signatures_are_right_over_http_2_and_from_workers(
    log: Path, tmp_path: Path, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botocore", reason="needs the extra `aws`")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with serving(http2="--http" in more) as server:
        arguments = (log, server.url, "--auth", "aws:s3:eu-west-1", "-q", "-o", tmp_path / "r.csv", *more)
        assert replayed(*arguments) in (0, 3)
        sent = heads(server)
    assert len(sent) == 30
    for head in sent:
        check_signature(head, b"", SECRET)


def test_a_hook_comes_before_the_credentials(log: Path, token: Path) -> None:
    @signing
    def change(request: Planned) -> Planned:
        request.url += "&hooked"
        request.headers["Authorization"] = "of the hook"
        return request

    stream = Authorized(Hooked(shaped(log), change), SecretFile("bearer", token))
    seen = server_saw(stream)
    assert len(seen) == 30
    assert {row.header("authorization") for row in seen} == {f"Bearer {TOKEN}"}
    assert all(row.target.endswith("&hooked") for row in seen)


def test_a_token_that_changes_during_a_run_is_sent_from_then_on(log: Path, token: Path) -> None:
    stream = Authorized(shaped(log), SecretFile("bearer", token))
    frames = stream.frames()
    first = next(frames)
    assert "header:Authorization" not in first.columns
    token.write_text("another")
    assert set(stream.scheme.apply(first)["header:Authorization"]) == {"Bearer another"}


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", "2")], ids=" ".join)
def test_a_file_that_stays_unreadable_is_named_at_the_end(
    log: Path, token: Path, tmp_path: Path, more: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(http2=False) as server:

        def take_away() -> None:
            while len(heads(server)) < 2:
                time.sleep(0.01)  # the server tells nobody: ask again
            token.unlink()

        words = ["run", log, server.url, "--auth", f"bearer:{token}", "--tps", 20, "-n", 44, "-o", tmp_path / "r.csv"]
        with ThreadPoolExecutor() as beside_it:
            taken = beside_it.submit(take_away)
            assert run([*map(str, words), "-v", *more]) in (0, 3)
            taken.result(10)
        assert {headers_of(head)["authorization"] for head in heads(server)} == {f"Bearer {TOKEN}"}
    printed = "".join(capfd.readouterr())
    assert f"--auth bearer: {token} cannot be read: No such file" in printed
    assert "uthorization: ***" in printed
    written_files = "".join(path.read_text() for path in (tmp_path / "r.csv", tmp_path / "r.summary.json"))
    assert TOKEN not in printed + written_files
    findings = json.loads((tmp_path / "r.summary.json").read_text())["findings"]
    assert [finding["severity"] for finding in findings if finding["code"] == "auth_stale"] == ["warning"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--auth", "bearer:{token}", "-H", "Authorization: Bearer x"), ("--auth bearer", "--header 'Authorization")),
        (("--auth", "aws:s3:eu-west-1", "-H", "X-Amz-Date: 1"), ("--auth aws:s3:eu-west-1", "--header 'X-Amz-Date")),
        (
            ("--auth", "bearer:{token}", "--by-client", "--extract", "t=header:X-T", "--use", "t=header:Authorization"),
            ("--auth bearer", "--use t=header:Authorization"),
        ),
        (
            ("--auth", "aws:s3:eu-west-1", "--by-client", "--extract", "t=header:X-T", "--use", "t=param:t"),
            ("--auth aws:s3:eu-west-1", "--use t=param:t"),
        ),
        (("--auth", "aws:s3:eu-west-1", "--vusers", "2"), ("--auth aws:s3:eu-west-1", "--vusers")),
        (
            (
                "--auth",
                "bearer:verysecrettoken0123456789",
            ),
            ("--auth", "expected bearer:FILE"),
        ),
    ],
)
def test_what_excludes_each_other_is_refused(
    log: Path, token: Path, arguments: tuple[str, ...], names: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    rate = () if "--vusers" in arguments else ("--tps", "10")
    words = [word.format(token=token) for word in arguments]
    assert run(["run", str(log), "http://127.0.0.1:1", *rate, *words]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in names)
    assert TOKEN not in said


def test_each_chunk_is_signed_in_pieces_that_its_parts_allow(log: Path, token: Path) -> None:
    plain: RequestStream = shaped(log)
    scheme = SecretFile("bearer", token)
    hooked: RequestStream = Hooked(plain, signing(lambda request: request))
    streams = [Authorized(stream, scheme, ahead) for stream in (plain, hooked) for ahead in (False, True)]
    assert [(each.signing, each.together) for each in streams] == [(True, 2048), (False, 2048), (True, 64), (True, 64)]
