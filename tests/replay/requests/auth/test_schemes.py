"""Tokens and passwords come from files, are checked, and are never in a message or a pickle."""

import base64
import os
import pickle
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.auth.schemes import SecretFile, parse

TOKEN = "verysecrettoken.0123456789"
FRAME = pl.DataFrame({"url": ["/a", "/b"], "header:AUTHORIZATION": ["mine", None]})


def secret(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def header_of(scheme: SecretFile) -> list[str]:
    frame = scheme.apply(FRAME)
    assert frame.columns == ["url", "header:Authorization"]
    return frame["header:Authorization"].to_list()


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_token_is_sent_with_each_request_instead_of_another_header(tmp_path: Path, end: str) -> None:
    scheme = parse(f"bearer:{secret(tmp_path / 'token', TOKEN + end)}")
    assert isinstance(scheme, SecretFile)
    assert header_of(scheme) == [f"Bearer {TOKEN}"] * 2


def test_user_and_password_are_encoded_as_utf_8(tmp_path: Path) -> None:
    scheme = parse(f"basic:{secret(tmp_path / 'password', 'Jörg:pass:wörd')}")
    assert isinstance(scheme, SecretFile)
    kind, _, coded = header_of(scheme)[0].partition(" ")
    assert (kind, base64.b64decode(coded).decode()) == ("Basic", "Jörg:pass:wörd")


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    scheme = SecretFile("bearer", secret(tmp_path / "token", "old"))
    assert header_of(scheme)[0] == "Bearer old"
    secret(tmp_path / "new", "new")
    os.replace(tmp_path / "new", tmp_path / "token")
    assert header_of(scheme)[0] == "Bearer new"


def test_while_a_file_is_being_written_the_secret_before_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = secret(tmp_path / "token", "old")
    scheme = SecretFile("bearer", path)
    scheme.load()
    for text in ("", "half a\n", b"\xff"):
        secret(path, text)
        assert header_of(scheme)[0] == "Bearer old"
    assert "is not UTF-8" in scheme.stale
    path.unlink()
    assert header_of(scheme)[0] == "Bearer old"
    assert "cannot be read: No such file" in scheme.stale
    with pytest.raises(LogreplayError, match=r"--auth bearer: .*token cannot be read: No such file"):
        SecretFile("bearer", path).load()

    def read_in_between(read: Path, encoding: str) -> str:
        monkeypatch.undo()
        secret(read, "whole")
        return "who"

    secret(path, "who")
    monkeypatch.setattr(Path, "read_text", read_in_between)
    assert header_of(scheme)[0] == "Bearer old"
    assert header_of(scheme)[0] == "Bearer whole"
    assert scheme.stale == ""


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("bearer", "", "the file is empty"),
        ("basic", "\n", "the file is empty"),
        ("bearer", f"\ufeff{TOKEN}", "begins with a byte order mark"),
        ("basic", f"\ufeffme:{TOKEN}", "begins with a byte order mark"),
        ("bearer", f"{TOKEN} {TOKEN}", "expected a token"),
        ("bearer", f"{TOKEN}\nX-Injected: 1", "expected a token"),
        ("bearer", f"Bearer {TOKEN}", "leave out the word Bearer"),
        ("basic", TOKEN, "expected one line, user:password"),
        ("basic", f"{TOKEN}:\n:x", "expected one line, user:password"),
        ("basic", f":{TOKEN}", "expected one line, user:password"),
        ("bearer", b"\xff" + TOKEN.encode(), "is not UTF-8"),
        ("bearer", TOKEN * 9999, "is not a file of up to 64 KiB"),
    ],
)
def test_what_is_no_secret_is_refused_without_quoting_it(
    tmp_path: Path, kind: str, text: str | bytes, why: str
) -> None:
    with pytest.raises(LogreplayError, match=why) as caught:
        SecretFile(kind, secret(tmp_path / "file", text)).load()
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "bearer", "bearer:", f"bearer:{TOKEN}", f"basic:me:{TOKEN}", "aws", "aws:", "aws:S3", TOKEN, "aws:s3:eu/1"],
)
def test_another_text_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected bearer:FILE, basic:FILE, aws:SERVICE or aws:SERVICE:REGION"
    ) as caught:
        parse(text)
    assert TOKEN not in str(caught.value)


def test_the_secret_is_neither_shown_nor_pickled(tmp_path: Path) -> None:
    scheme = SecretFile("bearer", secret(tmp_path / "token", TOKEN))
    scheme.load()
    assert str(scheme) == "bearer"
    assert TOKEN not in repr(scheme)
    assert TOKEN.encode() not in pickle.dumps(scheme)
    assert pickle.loads(pickle.dumps(scheme)) == scheme
