"""Signatures of AWS (Signature Version 4), by botocore's signer.

Signed are the method, the target, the host, the body, and of the other headers Content-Type and those that begin with
X-Amz. Path and query are signed in the canonical form of what a server decodes from them, and sent unchanged.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote, unquote_to_bytes

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.installation import needs_extra
from logreplay.replay.requests.header_columns import PAYLOAD, cleaned, headers, with_headers

_WRITTEN: Final = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-SHA256")


@dataclass(slots=True)
class SigV4:
    """Signs each request, with the credentials that botocore finds: variables, ``~/.aws``, or a role.

    Attributes:
        service: such as ``s3``, ``execute-api``, ``es``.
        region: empty: that of botocore's configuration.
        origin: scheme and authority of the target.
    """

    written: ClassVar[Collection[str]] = tuple(name.lower() for name in _WRITTEN)
    expires: ClassVar[bool] = True
    together: ClassVar[int] = 64
    reads: ClassVar[Path | None] = None  # botocore knows where credentials are
    stale: ClassVar[str] = ""  # credentials that cannot be renewed end the run
    service: str
    region: str = ""
    origin: str = ""
    _signer: Any = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return ":".join(("aws", self.service, self.region)).removesuffix(":")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the service, the region and the target, and never the credentials."""
        return SigV4, (self.service, self.region, self.origin)

    def load(self) -> None:
        """Find the credentials, unless they are there; botocore renews those that expire."""
        if self._signer:
            return
        try:
            from botocore.auth import S3SigV4Auth, SigV4Auth
            from botocore.exceptions import BotoCoreError, ClientError
            from botocore.session import get_session
        except ImportError:
            raise LogreplayError(f"--auth aws {needs_extra('aws')}") from None
        try:
            session = get_session()
            credentials = session.get_credentials()
            region = self.region or session.get_config_variable("region")
            if credentials:
                credentials.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise LogreplayError(f"--auth {self}: {error}") from None
        if not credentials:
            raise LogreplayError(
                f"--auth {self}: no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_PROFILE, on each machine that sends"
            )
        if not region:
            raise LogreplayError(
                f"--auth {self}: no region; write aws:{self.service}:REGION, or set AWS_DEFAULT_REGION"
            )
        kind = S3SigV4Auth if self.service == "s3" else SigV4Auth
        self._signer = kind(credentials, self.service, region)

    def apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        from botocore.exceptions import BotoCoreError, ClientError

        self.load()
        names, values = headers(frame.columns)
        own: Iterable[tuple[str | None, ...]] = repeat(())
        if names:
            own = frame.select(cleaned(value) for value in values).iter_rows()
        bodies = frame[PAYLOAD] if PAYLOAD in frame.columns else repeat(None)
        signed: list[dict[str, str]] = []
        try:
            for op, url, body, given in zip(frame["op"], frame["url"], bodies, own, strict=False):
                pairs = {name: value for name, value in zip(names, given, strict=False) if value is not None}
                signed.append(self._signed(op, url, body, pairs))
        except (BotoCoreError, ClientError) as error:
            raise LogreplayError(f"--auth {self}: {error}") from None
        return with_headers(
            frame, {name: pl.Series([one.get(name) for one in signed], dtype=pl.String) for name in _WRITTEN}
        )

    def _signed(self, op: str, url: str, body: bytes | None, pairs: dict[str, str]) -> dict[str, str]:
        from botocore.awsrequest import AWSRequest

        scheme, _, authority = self.origin.partition("://")
        lower = {name.lower(): value for name, value in pairs.items()}
        kept = {name: value for name, value in lower.items() if name.startswith("x-amz-") or name == "content-type"}
        kept = {name: value for name, value in kept.items() if name not in self.written}
        path, _, query = url.partition("?")
        canonical = "&".join("=".join(map(_encoded, _pair(part))) for part in query.split("&") if part)
        request = AWSRequest(
            op,
            f"{scheme}://{authority}{_encoded(path, safe='/')}?{canonical}",
            headers={"Host": lower.get("host", authority), **kept},
            data=body or b"",
        )
        self._signer.add_auth(request)
        return {name: request.headers[name] for name in _WRITTEN if name in request.headers}


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name, value


def _encoded(text: str, safe: str = "") -> str:
    """A part of a URL in canonical form: all but unreserved characters percent-encoded, once."""
    return quote(unquote_to_bytes(text), safe=f"{safe}-_.~")
