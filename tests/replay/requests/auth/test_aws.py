"""Signatures of AWS are those of the specification, as a server checks them on what it received."""

import pickle
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.auth.aws import SigV4
from logreplay.replay.requests.auth.schemes import Authorized
from logreplay.replay.requests.bodies import LoggedBody
from logreplay.replay.requests.headers import FixedHeader
from logreplay.replay.schedules.rates import Constant, Limited
from support.aws_signature import check_signature, headers_of
from support.background_server import beside
from support.raw_server import ANSWERS, raw_server, response, sends
from support.shaped_replay import server_saw, shaped, written

pytest.importorskip("botocore", reason="needs the extra `aws`")

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of a user without files of configuration."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written(
        tmp_path / "log.csv",
        "GET / 200",
        'GET "/a%20b/caf%C3%A9,(x)?prefix=a/b&empty&list-type=2&q=%26%3D+~" 200',
        'GET "/items?id=2&id=1&b=x,y&B=1" 200',
        "GET //double//slash?&& 200",
        "GET /%ff%FE?x=%ff 200",
        "PUT /object 200 - - - - 5 hello",
        "POST /empty 200",
    )


@pytest.mark.parametrize(
    ("sender", "service", "token"),
    [
        ("wire", "s3", ""),
        ("wire", "execute-api", "a-session-token/+="),
        ("aiohttp", "s3", "a-session-token/+="),
        ("aiohttp", "execute-api", ""),
    ],
)
def test_a_server_finds_each_signature_right(
    log: Path, sender: str, service: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    shapes = (LoggedBody(), FixedHeader("Content-Type", "text/plain"), FixedHeader("X-Amz-Meta-A", " a   b "))
    stream = shaped(log, *shapes, FixedHeader("Host", "bucket.example"), methods=("GET", "PUT", "POST"))
    seen = server_saw(Authorized(stream, SigV4(service, "eu-west-1", "http://127.0.0.1:1")), sender)
    rows = [row for row in seen if service == "s3" or "//" not in row.target]  # others take // for /
    assert len(rows) >= 6
    for row in rows:
        check_signature(row.head, row.body, SECRET)
        assert headers_of(row.head).get("x-amz-security-token", "") == token
        assert headers_of(row.head)["host"] == "bucket.example"


def test_a_request_is_signed_within_the_second_before_it_is_sent(log: Path) -> None:
    stream = Authorized(shaped(log), SigV4("s3", "eu-west-1", "http://127.0.0.1:1"))
    epoch = time.time() - time.perf_counter()
    seen = server_saw(stream, "wire", Limited(Constant(2), requests=5))
    for row in seen:
        stamp = datetime.strptime(headers_of(row.head)["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        assert -1 < epoch + row.at / 1e9 - stamp.timestamp() < 2.5  # stamps are of whole seconds; a busy machine


def test_credentials_never_travel_with_the_plan(log: Path) -> None:
    stream = Authorized(shaped(log), SigV4("s3", "eu-west-1", "http://127.0.0.1:1"))
    next(stream.frames())
    sent = pickle.dumps(stream)
    assert SECRET.encode() not in sent
    assert b"AKIDEXAMPLE" not in sent
    assert SECRET not in repr(stream)
    assert pickle.loads(sent).scheme == stream.scheme


@pytest.mark.parametrize(
    ("unset", "message"),
    [
        ("AWS_SECRET_ACCESS_KEY", "--auth aws:es: Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY"),
        ("both", "--auth aws:es: no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("neither", "--auth aws:es: no region; write aws:es:REGION, or set AWS_DEFAULT_REGION"),
    ],
)
def test_what_is_missing_is_said(unset: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"):
        if unset in (name, "both"):
            monkeypatch.delenv(name)
    with pytest.raises(LogreplayError) as caught:
        SigV4("es").load()
    assert str(caught.value).startswith(message)


def test_a_role_that_is_refused_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusal = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>not yours</Message></Error></ErrorResponse>"
    (tmp_path / "config").write_text(
        "[profile load]\nrole_arn = arn:aws:iam::123456789012:role/load\nsource_profile = own\n"
        f"[profile own]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {SECRET}\n"
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "load")
    answers = {**ANSWERS, "/": sends(response(refusal, "403 Forbidden", "Content-Type: text/xml"), keep=True)}
    with beside(lambda: raw_server(answers=answers)) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        with pytest.raises(LogreplayError, match=r"--auth aws:es:eu-west-1: .*AccessDenied.*AssumeRole.*not yours"):
            SigV4("es", "eu-west-1").load()


def test_the_region_may_come_from_the_configuration(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    (row, *_) = server_saw(Authorized(shaped(log), SigV4("es", "", "http://127.0.0.1:1")))
    assert "/ap-south-1/es/" in headers_of(row.head)["authorization"]
