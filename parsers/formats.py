"""The built-in formats, each with the address of its specification and lines that it must fit."""

from dataclasses import replace
from typing import Final

from logreplay.parsers.grammar import apache_format, nginx_format
from logreplay.parsers.layouts import Format

_NGINX_DOC: Final = "https://nginx.org/en/docs/http/ngx_http_log_module.html"
_APACHE_DOC: Final = "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html"


def _nginx(name: str, text: str, *samples: str, source: str = _NGINX_DOC) -> Format:
    return replace(nginx_format(text, name), source=source, samples=samples)


def _apache(name: str, text: str, *samples: str, source: str = _APACHE_DOC) -> Format:
    return replace(apache_format(text, name), source=source, samples=samples)


_NGINX_COMBINED: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
_APACHE_COMMON: Final = '%h %l %u %t "%r" %>s %b'
_APACHE_COMBINED: Final = _APACHE_COMMON + ' "%{Referer}i" "%{User-Agent}i"'

FORMATS: Final = (
    _nginx(
        "nginx-combined-timed",
        _NGINX_COMBINED + " $request_time",
        '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "-" "curl/8.5.0" 0.061',
        '::1 - bob smith [20/Nov/2026:18:58:56 +0100] "" 408 0 "-" "-" 2.002',
    ),
    _nginx(
        "nginx-common-timed",
        '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent $request_time',
        '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 0.061',
    ),
    _apache(
        "combined",
        _APACHE_COMBINED,
        '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17 "-" "curl/8.5.0"',
        r'10.0.0.7 - ev\"il] [x [20/Nov/2026:18:59:15 +0100] "-" 408 - "-" "\"quoted\" \\"',
    ),
    _apache(
        "common",
        _APACHE_COMMON,
        '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a?b=c HTTP/1.1" 200 17',
    ),
)
"""In the order in which they are tried: of two that fit a sample equally well the first counts."""
