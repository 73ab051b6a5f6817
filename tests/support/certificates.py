"""Certificates for tests: an authority of their own, and what it, or nobody, signed."""

import datetime
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Makes certificates in a folder.

    Attributes:
        cert: to trust.
        good: a server's context with which nothing is wrong.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key = _new_key()
        signs = x509.KeyUsage(False, False, False, False, False, True, False, False, False)
        made = _certificate("authority", self._key, days=2).add_extension(signs, critical=True)
        self._made = made.add_extension(x509.BasicConstraints(True, None), critical=True).sign(
            self._key, hashes.SHA256()
        )
        self.cert = self._write("authority.pem", self._made)
        self.good = self.context("good")

    def context(self, name: str, *, days: int = 2, host: str = "localhost") -> ssl.SSLContext:
        """A server's context whose certificate the authority signed; with ``days`` below 0 it has expired."""
        key = _new_key()
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = _certificate(host, key, days=days, issuer=self._made.subject).add_extension(_names(host), critical=False)
        return self._server(name, made.add_extension(authority, critical=False).sign(self._key, hashes.SHA256()), key)

    def client(self, name: str, password: str = "") -> tuple[Path, Path]:
        """The files of a client's certificate and of its key, which the password opens."""
        self.context(name, host=name)
        secret = self._folder / f"{name}.key"
        if password:
            key = serialization.load_pem_private_key(secret.read_bytes(), None)
            locked = serialization.BestAvailableEncryption(password.encode())
            pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
            secret.write_bytes(key.private_bytes(pem, form, locked))
        return self._folder / f"{name}.pem", secret

    def self_signed(self) -> ssl.SSLContext:
        """A server's context whose certificate nobody signed."""
        key = _new_key()
        made = _certificate("alone", key, days=2).add_extension(_names("localhost"), critical=False)
        return self._server("alone", made.sign(key, hashes.SHA256()), key)

    def _server(self, name: str, cert: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
        secret = self._folder / f"{name}.key"
        plain = serialization.NoEncryption()
        secret.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, plain)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._write(f"{name}.pem", cert), secret)
        return context

    def _write(self, name: str, cert: x509.Certificate) -> Path:
        path = self._folder / name
        path.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
        return path


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _names(host: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.DNSName(host)])


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, *, days: int, issuer: x509.Name | None = None
) -> x509.CertificateBuilder:
    """One that ends so many days from now; as complete as Python 3.13 demands (ssl.VERIFY_X509_STRICT)."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(issuer or name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
