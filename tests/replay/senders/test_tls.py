"""A client certificate is loaded with its key, and a wrong file or password is named without a prompt."""

import ssl
from pathlib import Path

import pytest

from logreplay.core.errors import TargetError
from logreplay.replay.senders.tls import ClientCertificate, KeyPassword, tls_context
from support.certificates import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def loaded(cert: Path, key: Path | None = None, password: KeyPassword | None = None) -> ssl.SSLContext:
    return tls_context(client=ClientCertificate(cert, key, password))


def test_a_certificate_is_loaded_from_one_file_or_two(authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.client("client")
    loaded(cert, key)
    (tmp_path / "both.pem").write_bytes(cert.read_bytes() + key.read_bytes())
    loaded(tmp_path / "both.pem")


def test_the_password_of_a_key_comes_from_a_file_or_a_variable(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = authority.client("locked", "secret word")
    (tmp_path / "word").write_text("secret word\r\nanother line\n")
    loaded(cert, key, KeyPassword.parse(f"file:{tmp_path / 'word'}"))
    monkeypatch.setenv("KEY_WORD", "secret word")
    loaded(cert, key, KeyPassword.parse("env:KEY_WORD"))
    monkeypatch.setenv("KEY_WORD", "another")
    with pytest.raises(TargetError, match="password of --key-password env:KEY_WORD does not open the key"):
        loaded(cert, key, KeyPassword.parse("env:KEY_WORD"))
    with pytest.raises(TargetError, match="key has a password; name it with --key-password"):
        loaded(cert, key)
    monkeypatch.delenv("KEY_WORD")
    with pytest.raises(TargetError, match="there is no such environment variable"):
        loaded(cert, key, KeyPassword.parse("env:KEY_WORD"))
    with pytest.raises(TargetError, match="cannot be read: No such file"):
        loaded(cert, key, KeyPassword.parse(f"file:{tmp_path / 'none'}"))


def test_a_password_on_the_command_line_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match=r"^expected file:FILE or env:NAME") as refused:
        KeyPassword.parse("hunter2")
    assert "hunter2" not in str(refused.value)


def test_a_wrong_file_is_named(authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.client("client")
    _, other = authority.client("other")
    with pytest.raises(TargetError, match="the key does not belong to the certificate"):
        loaded(cert, other)
    with pytest.raises(TargetError, match="the first must hold a certificate and its key, or name the key with --key"):
        loaded(cert)
    with pytest.raises(TargetError, match="expected PEM files; the first must hold a certificate "):
        loaded(key, cert)
    with pytest.raises(TargetError, match=r"none\.pem: cannot be read: No such file or directory; name a PEM file"):
        loaded(tmp_path / "none.pem")
