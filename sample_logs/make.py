"""Make the sample logs: a small shop behind a real nginx and a real Apache, visited for a minute and a half.

Run it with ``python sample_logs/make.py`` where nginx and apache2 are installed; it takes about three minutes and
replaces the logs beside it. Both servers serve files of their own and pass the rest to a backend whose answers
have the sizes and delays of a shop. Visitors arrive at random, in waves; some are robots, some speak no HTTP.
Addresses are those set aside for documentation (RFC 5737, RFC 3849). The one thing the servers did not write
themselves: in each log one line is cut short, as a rotation by copying leaves it.
"""

import asyncio
import math
import os
import random
import shutil
import signal
import tempfile
from email.utils import formatdate
from pathlib import Path

from aiohttp import ClientSession, DummyCookieJar, TCPConnector, web
from yarl import URL

HERE = Path(__file__).parent
SECONDS = 90
PUBLISHED = 1_767_225_600  # 2026-01-01
VISITS_PER_SECOND = 34
BACKEND_PORT, NGINX_PORT, APACHE_PORT = 18701, 18702, 18703

AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.6 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
    'Mozilla/5.0 (compatible; ExampleBot/2.1; "polite"; +http://bot.example/)',
    "curl/8.14.1",
)
STATIC = {"/static/site.css": 14_211, "/static/shop.js": 48_730, "/favicon.ico": 1_150, "/static/logo.svg": 3_904}
GARBAGE = (
    b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03&\x1a\x9c\n\n",
    b"\x03\x00\x00/*\xe0\x00\x00\x00\x00\x00Cookie: mstshash=Administr\r\n\r\n",
    b"HELP\r\n\r\n",
    b"\r\n\r\n",
)
PROBES = (
    "/wp-login.php",
    "/.env",
    "/cgi-bin/%2e%2e/%2e%2e/bin/sh",
    "/?q=%27%20OR%201=1--",
    "/index.php?s=/x&f=%3Cscript%3E",
)

NGINX_CONF = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.error;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
    types {{ text/css css; text/javascript js; image/svg+xml svg; }}
    log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                     '"$http_referer" "$http_user_agent" $request_time';
    access_log {folder}/nginx_combined.log combined;
    access_log {folder}/nginx_request_time.log timed;
    set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;
    client_header_timeout 2s;
    server {{
        listen 127.0.0.1:{port}; root {folder}/files;
        location /static/ {{ etag on; }}
        location = /favicon.ico {{ }}
        location / {{ proxy_pass http://127.0.0.1:{backend}; proxy_read_timeout 1500ms; }}
    }}
}}
"""
APACHE_CONF = """
ServerRoot {folder}
ServerName shop.example
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.error
Listen 127.0.0.1:{port}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule reqtimeout_module /usr/lib/apache2/modules/mod_reqtimeout.so
LoadModule remoteip_module /usr/lib/apache2/modules/mod_remoteip.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
RemoteIPHeader X-Forwarded-For
RequestReadTimeout header=2
LogFormat "%a %l %u %t \\"%r\\" %>s %b \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
CustomLog {folder}/apache_combined.log combined
DocumentRoot {folder}/files
ProxyTimeout 2
ProxyPass /static !
ProxyPass /favicon.ico !
ProxyPass / http://127.0.0.1:{backend}/
"""


async def answer(request: web.Request) -> web.Response:
    """Answer as a shop does: a size that belongs to the path, a delay that differs each time."""
    path = request.path
    own = random.Random(path)
    if path.startswith("/product/") and own.random() < 0.03:
        raise web.HTTPMovedPermanently("/catalog/1")
    if request.raw_path in PROBES or path.startswith("/missing"):
        return web.Response(status=404, body=b"x" * 162)
    median = 0.120 if path == "/search" else 0.060 if path.startswith("/api/") else 0.025
    await asyncio.sleep(random.lognormvariate(math.log(median), 0.5))
    if random.random() < 0.004:
        return web.Response(status=500, body=b"x" * 571)
    if path == "/checkout":
        return web.Response(status=303, headers={"Location": "/thanks"})
    return web.Response(body=b"x" * int(own.lognormvariate(math.log(9_000), 0.7)))


def visits(rng: random.Random) -> list[tuple[float, str, str, str, str]]:
    """Plan when who asks for what: (second, client, agent, method, target) in order of time."""
    plan = []
    clients = [f"{net}.{rng.randrange(1, 255)}" for net in ("192.0.2", "198.51.100", "203.0.113") for _ in range(60)]
    clients += [f"2001:db8::{rng.randrange(1, 0xFFFF):x}" for _ in range(40)]
    pages = [f"/product/{1000 + n}" for n in range(300)] + [f"/catalog/{n}" for n in range(1, 40)] + ["/", "/about"]
    weights = [1 / (1 + rank) ** 0.8 for rank in range(len(pages))]
    rng.shuffle(pages)
    now = 0.0
    while now < SECONDS:
        now += rng.expovariate(VISITS_PER_SECOND * (1 + 0.45 * math.sin(now / 9)))
        target = rng.choices(pages, weights)[0]
        kind = rng.random()
        method = "GET"
        if kind < 0.16:
            target = rng.choice(list(STATIC))
        elif kind < 0.24:
            target = f"/search?q={rng.choice(('red+shoes', 'caf%C3%A9', 'tea%2Fcoffee', 'a,b', '%22mug%22'))}"
        elif kind < 0.32:
            target = f"/api/stock?id={rng.randrange(1000, 1300)}&ts={rng.randrange(10**9)}"
        elif kind < 0.34:
            method, target = "POST", rng.choice(("/cart", "/checkout", "/api/events"))
        elif kind < 0.35:
            method = "HEAD"
        elif kind < 0.36:
            target = rng.choice(PROBES)
        elif kind < 0.365:
            target = f"/missing/{rng.randrange(99)}.html"
        plan.append((now, rng.choice(clients), rng.choice(AGENTS), method, target))
    return plan


async def visit(session: ClientSession, port: int, client: str, agent: str, method: str, target: str) -> None:
    """Ask once, as the client would."""
    headers = {"X-Forwarded-For": client, "User-Agent": agent}
    if target in STATIC and client.endswith(("1", "4", "7", "a", "d")):  # this one has been here before
        headers["If-Modified-Since"] = formatdate(PUBLISHED, usegmt=True)
    if not target.startswith("/api"):
        headers["Referer"] = "https://shop.example/"
    url = URL(f"http://127.0.0.1:{port}{target}", encoded=True)
    data = b"item=1" if method == "POST" else None
    async with session.request(method, url, headers=headers, data=data, allow_redirects=False) as response:
        await response.read()


async def speak_no_http(port: int, payload: bytes) -> None:
    """Send what scanners send to a web server, and hear it out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(payload)
    await reader.read()
    writer.close()


async def traffic(port: int) -> None:
    """Let everybody visit one server."""
    rng = random.Random(2026)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    async with ClientSession(
        connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar(), auto_decompress=False
    ) as session:
        tasks = []
        for number, (at, client, agent, method, target) in enumerate(visits(rng)):
            await asyncio.sleep(begin + at - loop.time())
            tasks.append(asyncio.create_task(visit(session, port, client, agent, method, target)))
            if number % 170 == 60:
                tasks.append(asyncio.create_task(speak_no_http(port, GARBAGE[number // 170 % len(GARBAGE)])))
        await asyncio.gather(*tasks)


async def connectable(port: int) -> None:
    """Wait until a server accepts connections."""
    for _ in range(500):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return
    raise RuntimeError(f"nothing listens on 127.0.0.1:{port}")


async def make(folder: Path) -> None:
    """Run backend and servers, and visit them."""
    files = folder / "files"
    (files / "static").mkdir(parents=True)
    for name, size in STATIC.items():
        (files / name[1:]).write_bytes(b"x" * size)
        os.utime(files / name[1:], (PUBLISHED, PUBLISHED))
    (folder / "nginx.conf").write_text(NGINX_CONF.format(folder=folder, port=NGINX_PORT, backend=BACKEND_PORT))
    (folder / "apache.conf").write_text(APACHE_CONF.format(folder=folder, port=APACHE_PORT, backend=BACKEND_PORT))

    application = web.Application()
    application.router.add_route("*", "/{any:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", BACKEND_PORT).start()
    nginx: list[str | Path] = ["nginx", "-c", folder / "nginx.conf", "-p", folder]
    apache: list[str | Path] = ["apache2", "-X", "-f", folder / "apache.conf"]
    for command, port in ((nginx, NGINX_PORT), (apache, APACHE_PORT)):
        process = await asyncio.create_subprocess_exec(*command)
        await connectable(port)
        await traffic(port)
        process.send_signal(signal.SIGTERM)
        await process.wait()
    await runner.cleanup()


def fetch_logs(folder: Path) -> None:
    """Put the servers' logs beside this file, one line of each cut short."""
    for log in sorted(folder.glob("*_*.log")):
        lines = log.read_bytes().splitlines(keepends=True)
        at = len(lines) * 2 // 3
        lines[at] = lines[at][:47] + b"\n"
        (HERE / log.name).write_bytes(b"".join(lines))


if __name__ == "__main__":
    scratch = Path(tempfile.mkdtemp())
    scratch.chmod(0o755)
    try:
        asyncio.run(make(scratch))
        fetch_logs(scratch)
    finally:
        shutil.rmtree(scratch)
