"""Files in a store: ``s3://``, ``gs://``, ``https://`` and others that fsspec reaches.

Credentials and endpoints are found as each store's package finds them, for S3 in ``AWS_*`` variables and ``~/.aws``.

Source: https://filesystem-spec.readthedocs.io (fsspec)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from typing import Any, BinaryIO, Final, cast

from logreplay.core.errors import LogreplayError
from logreplay.core.installation import needs_extra
from logreplay.core.masking import masked

SCHEMES: Final = ("s3", "s3a", "gs", "gcs", "az", "abfs", "hdfs", "sftp", "smb")
"""Schemes of stores."""

_WEB: Final = ("http", "https")
"""Schemes of web servers: they hold logs to convert. Where requests are sent, such an address is a target."""

_EXTRAS: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}

_BLOCK: Final = 8 << 20
"""Bytes of a CSV that are fetched at a time: a reader holds two of these."""

_PIECE: Final = 4 << 20
"""Bytes of a log that are fetched at a time."""


def is_address(text: str) -> bool:
    """Whether a text names a file in a store, and not one of this machine."""
    return text.partition("://")[0] in (*SCHEMES, *_WEB) and "://" in text


def _is_web(address: str) -> bool:
    """Whether an address is that of a web server."""
    return address.partition("://")[0] in _WEB


def matching(address: str) -> list[str]:
    """The addresses that a pattern with ``*`` stands for, in order of their names; of others the address itself.

    A file whose name looks like a pattern is that file.
    """
    path, mark, _ = address.partition("?") if address.startswith("http") else (address, "", "")
    if mark or not any(sign in path for sign in "*["):  # what follows a ? in https:// is a query, perhaps a signature
        return [address]
    with said(address):
        filesystem, place = _filesystem(address)
        found = [place] if filesystem.exists(place) else sorted(filesystem.glob(place))
        if not found:
            raise FileNotFoundError
        return [filesystem.unstrip_protocol(name) for name in found]


def size_of(address: str) -> int:
    """The bytes of a file; 0 where the store does not say."""
    with said(address):
        filesystem, path = _filesystem(address)
        return int(filesystem.info(path).get("size") or 0)


def identity(address: str) -> str:
    """The store's identity of the content of a file (S3: the ETag)."""
    with said(address):
        filesystem, path = _filesystem(address)
        return str(filesystem.ukey(path))


def open_seekable(address: str, block: int = _BLOCK) -> BinaryIO:
    """Open a file and fetch ``block`` bytes of it at a time; call it within `said`, which words the errors."""
    filesystem, path = _filesystem(address)
    file = filesystem.open(path, "rb", block_size=block, cache_type="readahead")
    return cast(BinaryIO, BufferedReader(cast(Any, file)))  # fsspec's readline takes no limit


@contextmanager
def said(address: str) -> Iterator[None]:
    """Turn an exception of a store into one sentence."""
    shown = masked(address)
    try:
        yield
    except FileNotFoundError as error:
        why = _web_failure(error) if _is_web(address) else "no such object in the store"
        raise LogreplayError(f"{shown}: {why}") from None
    except ImportError as error:
        scheme = address.partition("://")[0]
        extra = _EXTRAS.get(scheme)
        missing = needs_extra(extra) if extra else f"needs another package: {error}"
        raise LogreplayError(f"{shown}: reading {scheme}:// {missing}") from None
    except LogreplayError as error:
        raise LogreplayError(f"{shown}: {error}") from None
    except Exception as error:  # each store has its own errors
        if _is_web(address):
            raise LogreplayError(f"{shown}: {_web_failure(error)}") from None
        text = masked(str(error).partition("\n")[0]) or type(error).__name__
        raise LogreplayError(f"{shown}: cannot be read from the store: {text}") from None


def _web_failure(error: BaseException) -> str:
    """The reason why a web server did not send a file, and what to do."""
    from socket import gaierror
    from ssl import SSLError

    while error.__cause__:
        error = error.__cause__
    if status := getattr(error, "status", 0):
        return f"the server answered with status {status}; check the address, or download the file and convert that"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused; check host and port, and that the server runs"
    if isinstance(error, gaierror):
        return f"host not found ({error.strerror}); check its name"
    if isinstance(error, SSLError):
        return (
            f"no TLS connection ({error.reason or error.strerror}); check the port and the certificate, or use http://"
        )
    if isinstance(error, FileNotFoundError):
        return "no such file on the server; check the address"
    text = masked(str(error).partition("\n")[0]) or type(error).__name__
    return f"cannot be read: {text}; download the file and convert that"


class StoredFile(RawIOBase):
    """A file in a store, read from its beginning; it is opened with the first read, and may be put back."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._file: BinaryIO | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with said(self._address):
            self._file = self._file or open_seekable(self._address, _PIECE)
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def put_back(self) -> None:
        """Close the file; the next read begins at its beginning."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        self.put_back()
        super().close()


def _filesystem(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise ImportError("fsspec is not installed") from None
    return cast("tuple[Any, str]", fsspec.core.url_to_fs(address))
