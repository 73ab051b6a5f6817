"""Servers that speak HTTP/2, each with a log of its own; skipped where missing."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from conftest import (
    APACHE,
    APACHE_COMBINED,
    APACHE_CONF,
    NGINX,
    NGINX_COMBINED,
    NGINX_CONF,
    WebServer,
    free_port,
    running,
)
from support.real_servers import GO, HAPROXY_DEFAULTS, found

ANSWER = 'location / { return 200 "hello"; }'
HAPROXY_CONF = f"""{HAPROXY_DEFAULTS}
frontend front
    bind 127.0.0.1:{{port}} proto h2
    http-request return status 200 content-type text/plain string hello
"""


@contextmanager
def nginx(folder: Path, *, tls: bool = False) -> Iterator[WebServer]:
    """nginx that ends each connection after 100 requests."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    port, plain = free_port(), free_port()
    server = f"listen 127.0.0.1:{port} http2; {ANSWER}"
    if tls:
        openssl = found("openssl")
        name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
        new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem")
        subprocess.run([openssl, *new, *name], cwd=folder, check=True, capture_output=True)
        key = f"ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
        server = f"listen 127.0.0.1:{port} ssl http2; {key} {ANSWER}"
    conf = NGINX_CONF.format(folder=folder, port=plain, server=server, log_format=NGINX_COMBINED, escape="default")
    (folder / "conf").write_text(conf.replace("keepalive_requests 1000000", "keepalive_requests 100"))
    with running([NGINX, "-c", folder / "conf", "-e", folder / "error.log"], folder, plain) as started:
        yield WebServer(f"{'https' if tls else 'http'}://127.0.0.1:{port}", started.log, started.files, started.pid)


@contextmanager
def nginx_tls(folder: Path) -> Iterator[WebServer]:
    """nginx over TLS, with ``cert.pem`` in the folder."""
    with nginx(folder, tls=True) as server:
        yield server


@contextmanager
def apache(folder: Path) -> Iterator[WebServer]:
    """Apache with mod_http2, in cleartext."""
    modules = Path("/usr/lib/apache2/modules")
    if APACHE is None or not (modules / "mod_http2.so").exists():
        pytest.skip("Apache httpd with mod_http2 is not installed")
    port = free_port()
    (folder / "files").mkdir()
    (folder / "files" / "all").write_text("hello")
    server = f"LoadModule http2_module {modules}/mod_http2.so\nProtocols h2c http/1.1\n"
    server += f"LoadModule alias_module {modules}/mod_alias.so\nAliasMatch .* {folder}/files/all\n"
    server += f"<Directory {folder}/files>\nRequire all granted\n</Directory>\n"
    made = {"folder": folder, "port": port, "modules": modules, "server": server, "log_format": APACHE_COMBINED}
    (folder / "conf").write_text(APACHE_CONF.format(**made))
    with running([APACHE, "-X", "-f", folder / "conf"], folder, port) as started:
        yield started


@contextmanager
def haproxy(folder: Path) -> Iterator[WebServer]:
    """HAProxy, which answers itself."""
    program, port = found("haproxy", "/usr/sbin/haproxy"), free_port()
    (folder / "conf").write_text(HAPROXY_CONF.format(port=port))
    with running(["sh", "-c", f"exec {program} -db -f {folder}/conf > {folder}/access.log"], folder, port) as server:
        yield server


@contextmanager
def go(folder: Path) -> Iterator[WebServer]:
    """The server of Go's library, in cleartext."""
    program, port = found("go", "/usr/local/go/bin/go"), free_port()
    plain = 'http.ListenAndServe("127.0.0.1:" + os.Args[1], '
    assert plain in GO
    both = "p := new(http.Protocols); p.SetUnencryptedHTTP2(true); "
    both += '(&http.Server{Addr: "127.0.0.1:" + os.Args[1], Protocols: p, Handler: '
    source = GO.replace(plain, both)
    (folder / "main.go").write_text(source[: source.rindex("}))")] + "})}).ListenAndServe()\n}\n")
    subprocess.run([program, "build", "-o", "server", "main.go"], cwd=folder, check=True, capture_output=True)
    with running(["sh", "-c", f"cd {folder} && exec ./server {port}"], folder, port) as server:
        yield server


HTTP2_SERVERS: dict[str, Callable[[Path], AbstractContextManager[WebServer]]] = {
    "nginx": nginx,
    "nginx-tls": nginx_tls,
    "apache": apache,
    "haproxy": haproxy,
    "go": go,
}
