"""Checks signatures of AWS in what a server received, by the letter of the specification and without botocore.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import re
from urllib.parse import quote, unquote_to_bytes


def _encoded(text: str, safe: str = "") -> str:
    return quote(unquote_to_bytes(text), safe=f"-_.~{safe}")


def headers_of(head: bytes) -> dict[str, str]:
    """The header lines of a request; a name that comes twice is an error."""
    pairs = [line.partition(": ") for line in head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")[1:] if line]
    names = [name.lower() for name, _, _ in pairs]
    assert len(set(names)) == len(names), names
    return {name.lower(): value for name, _, value in pairs}


def check_signature(head: bytes, body: bytes, secret: str) -> None:
    """Check that a request, as it was received, has the signature that its method, target, headers and body need."""
    method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
    headers = headers_of(head)
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        headers["authorization"],
    )
    assert found, headers["authorization"]
    _, day, region, service, names, signature = found.groups()
    must = {"host"} | {name for name in headers if name.startswith("x-amz-")} | ({"content-type"} & headers.keys())
    assert must <= set(names.split(";"))
    path, _, query = target.partition("?")
    uri = _encoded(path, "/")
    uri = uri if service == "s3" else quote(uri, safe="-_.~/")
    pairs = sorted(tuple(map(_encoded, part.partition("=")[::2])) for part in query.split("&") if part)
    content = hashlib.sha256(body).hexdigest()
    assert headers.get("x-amz-content-sha256", content) in (content, "UNSIGNED-PAYLOAD")
    canonical = "\n".join(
        [
            method,
            uri,
            "&".join("=".join(pair) for pair in pairs),
            *(f"{name}:{' '.join(headers[name].split())}" for name in names.split(";")),
            "",
            names,
            headers.get("x-amz-content-sha256", content),
        ]
    )
    scope = f"{day}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{digest}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    assert hmac.digest(key, text.encode(), "sha256").hex() == signature, canonical
