"""Certificates for tests: an authority of their own, and what it, or nobody, signed."""

import ssl
import subprocess
from pathlib import Path


class Authority:
    """Makes certificates in a folder, with the openssl command.

    Attributes:
        cert: to trust.
        good: a server's context with which nothing is wrong.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key, self.cert = self._self_signed("authority", "-addext", "keyUsage=critical,keyCertSign")
        self.good = self.context("good")

    def context(self, name: str, *, days: int = 2, host: str = "localhost") -> ssl.SSLContext:
        """A server's context whose certificate the authority signed; with ``days`` below 0 it has expired."""
        key, request, cert = (self._folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{host}\n{_STRICT}")
        _openssl("req", *_NEW_KEY, "-subj", f"/CN={host}", "-keyout", key, "-out", request)
        signing = ("-CA", self.cert, "-CAkey", self._key, "-CAcreateserial", "-days", str(days))
        _openssl("x509", "-req", "-in", request, *signing, "-extfile", extensions, "-out", cert)
        return _server(cert, key)

    def self_signed(self) -> ssl.SSLContext:
        """A server's context whose certificate nobody signed."""
        key, cert = self._self_signed("alone", "-addext", "subjectAltName=DNS:localhost")
        return _server(cert, key)

    def _self_signed(self, name: str, *more: str) -> tuple[Path, Path]:
        key, cert = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        _openssl("req", "-x509", *_NEW_KEY, "-days", "2", "-subj", f"/CN={name}", *more, "-keyout", key, "-out", cert)
        return key, cert


_STRICT = "authorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n"
"""Python 3.13 demands what RFC 5280 does (ssl.VERIFY_X509_STRICT)."""
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def _server(cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
