"""TLS settings of connections to a target: whom it must prove to be, and what it is shown."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logreplay.core.errors import TargetError

_LONGEST_PASSWORD: Final = 1024
"""Bytes: OpenSSL takes no more."""


@dataclass(frozen=True, slots=True)
class KeyPassword:
    """Where the password of a private key is: never the password, which each process that sends reads itself.

    Attributes:
        kind: ``file`` or ``env``.
        place: name of the file, or of the environment variable.
    """

    kind: str
    place: str

    @classmethod
    def parse(cls, text: str) -> "KeyPassword":
        """Read ``file:FILE`` or ``env:NAME``. An error does not name the text, as it may be the password."""
        kind, _, place = text.partition(":")
        if kind not in ("file", "env") or not place:
            raise ValueError("expected file:FILE or env:NAME, where the password is; the password itself is not taken")
        return cls(kind, place)

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}"

    def read(self) -> bytes:
        """The password; TargetError if it cannot be read."""
        if self.kind == "env":
            if (value := os.environ.get(self.place)) is None:
                raise TargetError(
                    f"--key-password {self}: there is no such environment variable; set it, or name a file"
                )
            return value.encode()
        try:
            with open(self.place, "rb") as file:
                return file.read(_LONGEST_PASSWORD + 2).split(b"\n")[0].removesuffix(b"\r")
        except OSError as error:
            raise TargetError(f"--key-password {self}: cannot be read: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate that proves to the target who sends (mutual TLS).

    Attributes:
        cert: PEM file with the certificate, and those of its authorities if the target needs them.
        key: PEM file with the private key; None: it is in the same file.
        password: password of the key; None: it has none.
    """

    cert: Path
    key: Path | None = None
    password: KeyPassword | None = None

    def load(self, context: ssl.SSLContext) -> None:
        """Load it into a context; TargetError if a file cannot be read, or holds no certificate or key."""
        password, asked = self.password and self.password.read(), False

        def given() -> bytes:
            nonlocal asked
            asked = True
            return password or b""  # without an answer OpenSSL would ask on the terminal

        where = f"--cert {self.cert}" + (f" and --key {self.key}" if self.key else "")
        for path in (self.cert, *([self.key] if self.key else [])):
            try:
                path.open("rb").close()
            except OSError as error:
                raise TargetError(f"{path}: cannot be read: {error.strerror}; name a PEM file") from None
        try:
            context.load_cert_chain(self.cert, self.key, given)
        except (ssl.SSLError, ValueError) as error:
            if asked and password is None:
                remedy = "the key has a password; name it with --key-password file:FILE or env:NAME"
            elif asked:
                remedy = (
                    f"the password of --key-password {self.password} does not open the key; a duet has one for both"
                )
            elif "KEY_VALUES_MISMATCH" in str(error):
                remedy = "the key does not belong to the certificate"
            else:
                what = "a certificate" if self.key else "a certificate and its key, or name the key with --key"
                remedy = f"expected PEM files; the first must hold {what} ({getattr(error, 'reason', None) or error})"
            raise TargetError(f"{where}: {remedy}") from None


def tls_context(
    *, cacert: Path | None = None, verify: bool = True, client: ClientCertificate | None = None
) -> ssl.SSLContext:
    """The TLS settings for an https target.

    It trusts the system's certificates, or those of ``cacert``, and shows the client's to a target that asks for one.
    """
    try:
        context = ssl.create_default_context(cafile=cacert)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or error
        raise TargetError(f"{cacert}: no certificates can be read: {reason}; give a PEM file") from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if client:
        client.load(context)
    return context
