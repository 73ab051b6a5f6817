"""If a port speaks another protocol than the URL names, the error names that protocol and the remedy."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from logreplay.core.errors import LogreplayError
from logreplay.replay.checks import preflight
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.frames import PREFACE, settings
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.tls import tls_context
from support.certificates import Authority

_HELLO = b"\x16"
"""The first byte of a TLS connection."""
_ALERT = b"\x15\x03\x01\x00\x02\x02\x28"
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_BAD = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass
class Port:
    """What a port says to a connection that begins with these bytes, before it closes it.

    Attributes:
        speaks: the beginnings that it answers, each with the answer; all others: closed without a word.
        waits: for more after any other beginning, until it is left.
    """

    speaks: Sequence[tuple[bytes, bytes]]
    tls: ssl.SSLContext | None = None
    waits: bool = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read(65_536)
        for begins, answer in self.speaks:
            if asked.startswith(begins):
                writer.write(answer)
                break
        else:
            if self.waits:
                await reader.read()
        writer.close()


REFUSES_PLAIN = Port([(_HELLO, _ALERT), (b"", _BAD)])
HTTP2_ONLY = Port([(PREFACE, settings({}))])
GREETS_FIRST = Port([(b"H", settings({})), (PREFACE, settings({}))])
PLAIN = Port([(b"HEAD", _OK)])
SILENT = Port([])
PLAIN_400 = Port([(b"HEAD", _BAD)])
SENDERS: dict[str, Callable[..., Any]] = {"1.1": WireSender, "2": Http2Sender, "aiohttp": AiohttpSender}


async def told(
    port: Port,
    scheme: str,
    kind: str,
    cacert: Path | None = None,
    within: float = 5.0,
    *,
    verify: bool = False,
    host: str = "127.0.0.1",
) -> str:
    server = await asyncio.start_server(port, "127.0.0.1", 0, ssl=port.tls)
    async with server:
        url = f"{scheme}://{host}:{server.sockets[0].getsockname()[1]}"
        endpoint = replace(await resolve(parse_target(url)), addresses=("127.0.0.1",))
        tls = tls_context(cacert=cacert, verify=verify) if scheme == "https" else None
        sender = SENDERS[kind](endpoint, timeout=within, tls=tls)
        try:
            http = "2" if kind == "2" else "1.1"
            patience = 0.2 if port.waits else 5.0
            found = await preflight.answers(sender, endpoint, patience, http=http, cacert=cacert)
        except LogreplayError as error:
            return str(error).removeprefix(f"target {url}: ")
        return found[0].text if found else ""


@pytest.mark.parametrize("kind", SENDERS)
@pytest.mark.parametrize("answers", ["refused with 400", "closed"])
def test_http_to_a_tls_port(answers: str, kind: str, tmp_path: Path) -> None:
    port = REFUSES_PLAIN if answers == "refused with 400" else Port([], Authority(tmp_path / "a").good)
    assert uvloop.run(told(port, "http", kind)) == "its port speaks TLS; write https:// for http://"


@pytest.mark.parametrize("kind", ["1.1", "aiohttp"])
@pytest.mark.parametrize("port", [HTTP2_ONLY, GREETS_FIRST])
def test_http1_to_a_port_that_speaks_http2_only(port: Port, kind: str) -> None:
    assert uvloop.run(told(port, "http", kind)) == "its port speaks HTTP/2 only; use --http 2"


@pytest.mark.parametrize("kind", SENDERS)
def test_https_to_a_plain_port_that_closes_the_connection(kind: str) -> None:
    said = uvloop.run(told(PLAIN, "https", kind))
    assert said == "its port speaks HTTP without TLS; write http:// for https://"
    said = uvloop.run(told(HTTP2_ONLY, "https", kind))
    assert said == "its port speaks HTTP/2 without TLS; write http:// for https://, with --http 2"


@pytest.mark.parametrize("timeout", [5.0, 0.1])
@pytest.mark.parametrize("kind", ["1.1", "2"])
def test_https_to_a_plain_port_that_waits_for_more(kind: str, timeout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handshake looks to it like the beginning of a request."""
    said = uvloop.run(told(Port([(b"HEAD", _OK)], waits=True), "https", kind, within=timeout))
    assert said == "its port speaks HTTP without TLS; write http:// for https://"
    monkeypatch.setattr(preflight, "_REPLY_S", 0.1)
    said = uvloop.run(told(Port([], waits=True), "https", kind, within=timeout))
    assert said.startswith("the target answered no TLS handshake (")
    assert said.endswith(
        "the port may not speak TLS; if it speaks plain HTTP, write http:// for https://; sending anyway"
    )


def test_http2_to_a_port_that_speaks_http1_only() -> None:
    said = uvloop.run(told(Port([(b"HEAD", _OK), (b"PRI", _BAD)]), "http", "2"))
    assert said.startswith("no HTTP/2: PROTOCOL_ERROR: the target answers with HTTP/1; leave out --http")


@pytest.mark.parametrize("kind", SENDERS)
def test_a_port_that_answered_by_tls_is_not_asked_for_its_protocol(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may redirect HTTP without TLS to itself, and then speaks both."""

    async def asked(*_: object, **__: object) -> str:
        return "asked"

    monkeypatch.setattr(preflight, "_remedy", asked)
    said = uvloop.run(told(Port([(b"", _BAD)], Authority(tmp_path / "a").good), "https", kind))
    assert said[:11] == ("no HTTP/2: " if kind == "2" else "the target ")
    assert "asked" not in said


@pytest.mark.parametrize("kind", ["1.1", "aiohttp"])
def test_without_evidence_nothing_is_said_of_the_port(kind: str, tmp_path: Path) -> None:
    assert uvloop.run(told(PLAIN_400, "http", kind)) == ""
    assert uvloop.run(told(SILENT, "http", kind)) == "the target did not answer HEAD / (closed); sending anyway"
    said = uvloop.run(told(SILENT, "https", kind))
    assert said == "no TLS connection: it closed the connection in the handshake; is this its port for https?"


@pytest.mark.parametrize("kind", SENDERS)
def test_a_certificate_that_is_not_accepted_is_told_with_what_helps_against_it(kind: str, tmp_path: Path) -> None:
    mine, other = Authority(tmp_path / "a"), Authority(tmp_path / "b")

    def said(tls: ssl.SSLContext, cacert: Path | None, host: str = "localhost") -> str:
        return uvloop.run(told(Port([(b"", _OK)], tls), "https", kind, cacert, verify=True, host=host))

    wrong_name = said(mine.good, mine.cert, "127.0.0.1")
    assert "IP address mismatch, certificate is not valid for '127.0.0.1'" in wrong_name
    remedy = "; write the certificate's name in TARGET or --tls-name, or accept any certificate with --insecure"
    assert wrong_name.endswith(remedy)
    assert said(mine.context("old", days=-1), mine.cert).endswith(
        "; replace the certificate, or accept any with --insecure"
    )
    for tls in (mine.good, mine.self_signed()):
        assert said(tls, None).endswith(
            "; trust its authority with --cacert, or accept any certificate with --insecure"
        )
        unheld = f"; {other.cert} (--cacert) does not hold its authority; name a file that does, or accept any with "
        assert said(tls, other.cert).endswith(f"{unheld}--insecure")


@pytest.mark.parametrize("kind", SENDERS)
def test_a_handshake_that_no_trust_helps_is_told_without_certificates(kind: str) -> None:
    said = uvloop.run(told(REFUSES_PLAIN, "https", kind))
    assert "HANDSHAKE_FAILURE" in said
    assert said.endswith("; check which TLS versions, ciphers and client certificates (--cert) its port expects")
