"""nginx that answers over HTTP/1.1 and HTTP/2, and logs the fields that a test asks for."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from conftest import ServerFactory, free_port


@dataclass(frozen=True)
class LoggingNginx:
    """A server that runs for the length of a test.

    Attributes:
        url: at which it speaks HTTP/1.1.
        http2: at which it speaks HTTP/2.
    """

    url: str
    http2: str
    _log: Path

    @classmethod
    def of(cls, nginx: ServerFactory, *fields: str, answer: str = 'return 200 "hello";') -> "LoggingNginx":
        """Start one that logs the url of each request, and these variables of nginx."""
        port = free_port()
        listening = f"listen 127.0.0.1:{port} http2; location / {{ {answer} }}"
        made = nginx(server=listening, log_format="|".join(("$request_uri", *fields)))
        return cls(made.url, f"http://127.0.0.1:{port}", made.log)

    def url_for(self, options: Collection[object]) -> str:
        """The URL that speaks the version of HTTP that options of a command ask for."""
        return self.http2 if "--http" in options else self.url

    def rows(self) -> list[list[str]]:
        """The logged fields of each request but ``/``, which a command sends first."""
        rows = [line.split("|") for line in self._log.read_text().splitlines()]
        return [row for row in rows if row[0] != "/"]
