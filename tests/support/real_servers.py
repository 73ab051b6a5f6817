"""Other servers than nginx and Apache (which `conftest` starts), each with a log of its own; skipped where missing."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from conftest import NGINX, NGINX_COMBINED, NGINX_CONF, WebServer, free_port, running

LIGHTTPD_CONF = """
server.port = {port}
server.bind = "127.0.0.1"
server.document-root = "{folder}/files"
server.errorlog = "{folder}/error.log"
server.max-keep-alive-requests = 60000
server.modules = ("mod_rewrite", "mod_accesslog")
accesslog.filename = "{folder}/access.log"
url.rewrite-once = ("" => "/all")
mimetype.assign = ("" => "text/plain")
"""
HAPROXY_DEFAULTS = """
global
    log stdout len 8192 format raw local0
defaults
    mode http
    log global
    option httplog
    option dontlognull
    timeout connect 5s
    timeout client 30s
    timeout server 30s
"""
HAPROXY_CONF = f"""{HAPROXY_DEFAULTS}
frontend front
    bind 127.0.0.1:{{port}}
    default_backend back
backend back
    server one {{behind}}
"""
NODE = """
const fs = require('fs'), log = fs.createWriteStream('access.log');
require('http').createServer((request, response) => {
  const body = 'hello', sent = request.method === 'HEAD' ? 0 : body.length;
  response.on('finish', () => log.write(
    `{"time":"${new Date().toISOString()}","method":"${request.method}","url":${JSON.stringify(request.url)},` +
    `"status":${response.statusCode},"bytes":${sent}}\\n`));
  response.end(body);
}).listen(PORT, '127.0.0.1');
"""
GO = """
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

func main() {
	log, _ := os.Create("access.log")
	var one sync.Mutex
	http.ListenAndServe("127.0.0.1:" + os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
		one.Lock()
		defer one.Unlock()
		now := time.Now().Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(log, "127.0.0.1 - - [%s] \\"%s %s %s\\" 200 5\\n", now, r.Method, r.RequestURI, r.Proto)
	}))
}
"""


def found(name: str, *places: str) -> str:
    """A program's path; skips the test where it is not installed."""
    path = shutil.which(name) or next((place for place in places if Path(place).exists()), None)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@contextmanager
def lighttpd(folder: Path) -> Iterator[WebServer]:
    """lighttpd, with files."""
    program, port = found("lighttpd", "/usr/sbin/lighttpd"), free_port()
    (folder / "files").mkdir()
    (folder / "files" / "all").write_text("hello")
    (folder / "conf").write_text(LIGHTTPD_CONF.format(folder=folder, port=port))
    with running([program, "-D", "-f", folder / "conf"], folder, port) as server:
        yield server


@contextmanager
def haproxy(folder: Path) -> Iterator[WebServer]:
    """HAProxy in front of an nginx; the log is HAProxy's."""
    program, port, behind = found("haproxy", "/usr/sbin/haproxy"), free_port(), free_port()
    if NGINX is None:
        pytest.skip("nginx is not installed")
    (folder / "nginx").mkdir()
    answer = 'location / { return 200 "hello"; }'
    made = {
        "folder": folder / "nginx",
        "port": behind,
        "server": answer,
        "log_format": NGINX_COMBINED,
        "escape": "default",
    }
    (folder / "nginx" / "conf").write_text(NGINX_CONF.format(**made))
    (folder / "conf").write_text(HAPROXY_CONF.format(port=port, behind=f"127.0.0.1:{behind}"))
    nginx: list[str | Path] = [NGINX, "-c", folder / "nginx" / "conf", "-e", folder / "nginx" / "error.log"]
    front: list[str | Path] = ["sh", "-c", f"exec {program} -db -f {folder}/conf > {folder}/access.log"]
    with running(nginx, folder / "nginx", behind), running(front, folder, port) as server:
        yield server


@contextmanager
def node(folder: Path) -> Iterator[WebServer]:
    """Node's own HTTP server, which logs JSON."""
    program, port = found("node"), free_port()
    (folder / "server.js").write_text(f"process.chdir({str(folder)!r}); const PORT = {port};{NODE}")
    with running([program, folder / "server.js"], folder, port) as server:
        yield server


@contextmanager
def go(folder: Path) -> Iterator[WebServer]:
    """The server of Go's library."""
    program, port = found("go", "/usr/local/go/bin/go"), free_port()
    (folder / "main.go").write_text(GO)
    subprocess.run([program, "build", "-o", "server", "main.go"], cwd=folder, check=True, capture_output=True)
    with running(["sh", "-c", f"cd {folder} && exec ./server {port}"], folder, port) as server:
        yield server


@contextmanager
def nginx_tls(folder: Path) -> Iterator[WebServer]:
    """nginx with a certificate of its own, ``cert.pem`` in the folder."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    openssl, port, plain = found("openssl"), free_port(), free_port()
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem")
    subprocess.run([openssl, *new, *name], cwd=folder, check=True, capture_output=True)
    secure = f"listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
    answer = f'{secure} location / {{ return 200 "hello"; }}'
    (folder / "conf").write_text(
        NGINX_CONF.format(folder=folder, port=plain, server=answer, log_format=NGINX_COMBINED, escape="default")
    )
    with running([NGINX, "-c", folder / "conf", "-e", folder / "error.log"], folder, plain) as server:
        yield WebServer(f"https://127.0.0.1:{port}", server.log, server.files, server.pid)


@contextmanager
def nginx_cache(folder: Path, behind: str) -> Iterator[WebServer]:
    """nginx that caches all answers of another server; ``behind``: that server's base URL."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    port = free_port()
    cache = f"proxy_cache_path {folder}/cache keys_zone=all:10m; proxy_cache all; proxy_cache_valid any 10m;"
    location = f"location / {{ proxy_pass {behind}; }}"
    conf = NGINX_CONF.format(folder=folder, port=port, server=location, log_format=NGINX_COMBINED, escape="default")
    (folder / "conf").write_text(conf.replace("http {", f"http {{ {cache}", 1))
    with running([NGINX, "-c", folder / "conf", "-p", folder, "-e", folder / "error.log"], folder, port) as server:
        yield server


SERVERS: dict[str, Callable[[Path], AbstractContextManager[WebServer]]] = {
    "nginx-tls": nginx_tls,
    "lighttpd": lighttpd,
    "haproxy": haproxy,
    "node": node,
    "go": go,
}
