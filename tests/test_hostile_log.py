"""A log made of all that a stranger may try: nothing of it reaches another address, a terminal or a page alive."""

import json
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from logreplay.cli.main import run as logreplay
from logreplay.core.rows import scan
from support.address_monitor import Witnessed, witnessed
from support.background_server import beside
from support.recording_server import Received, RecordingServer, recording

TRAP = "127.0.0.9:9"
"""An address that no request may go to."""

HOSTILE = (
    b"\r\nX-Injected: 1",
    b"x\r\nX-Injected: 1\r\n\r\n",
    b"\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\nX-Injected: 1\n\nGET /smuggled HTTP/1.1\n\n",
    b"\rX-Injected: 1",
    b"a\0b",
    b"\x1b]0;owned\x07\x1b[31mred\x1b[2J",
    b"\x9b31m\xc2\x9b31m\xc2\x85",
    b"\xe2\x80\xae\xe2\x81\xa6evil\xef\xbb\xbf",
    b"<script>document.title='owned'</script><img src=x onerror=document.title='owned'>",
    b"</svg></td><svg onload=document.title='owned'>&lt;",
    b"=cmd|'/C calc'!A0",
    b"+SUM(1)*@A1,-2+3",
    b"{{7*7}}{%raw%}${jndi:ldap://" + TRAP.encode() + b"/a}",
    b"$\\frac{$_{^[bold red]x[/bold red]",
    b"a,b,c",
    b"a b",
    b"\xff\xfe\xc0\xaf",
    b"?token=hunter2",
    b"http://" + TRAP.encode() + b"/",
)
TARGETS = (
    f"http://{TRAP}/absolute",
    f"HTTPS://{TRAP}/absolute",
    f"//{TRAP}/two-slashes",
    f"/\\{TRAP}/backslash",
    f"http://bob:hunter2@{TRAP}/userinfo",
    f"/@{TRAP}/at",
    f"@{TRAP}/",
    TRAP,
    "http://xn--bcher-kva.test/idn",
    "http://b\xc3\xbccher.test/idn",
    "*",
    "ftp://127.0.0.9/",
    "javascript:document.title='owned'",
    f"/ok?next=http://{TRAP}/",
    "/../../etc/passwd",
    "/%0d%0aX-Injected:%201",
    "",
)
METHODS = ("CONNECT", "PRI", "TRACE", "G\tT", "<b>", "=1+1", "get", "X" * 200, "GET / HTTP/1.1\\r\\nX-Injected:")

LINE = b'%s:80 10.0.0.%d - - [20/Nov/2026:12:00:%02d +0000] "%s %s HTTP/1.1" 200 17 "%s" "%s"\n'
HEAD = re.compile(rb"[A-Z]+ (/[\x21-\x7e]*|\*) HTTP/1\.1(\r\n[A-Za-z-]+: [^\x00-\x08\x0a-\x1f\x7f]*)*")
NAMES = {"host", "user-agent", "accept", "referer", "content-length"}


def escaped(data: bytes) -> bytes:
    """As nginx logs it."""
    return re.sub(rb"[^ !#-\[\]-~]", lambda found: b"\\x%02X" % ord(found[0]), data)


def hostile_lines() -> Iterator[bytes]:
    plain = {"host": b"h", "op": b"GET", "url": b"/ok", "referer": b"-", "agent": b"a"}
    numbers = count()

    def line(**changed: bytes) -> bytes:
        number, fields = next(numbers), {**plain, **changed}
        return LINE % (fields["host"], number % 4, number % 60, *(fields[name] for name in list(plain)[1:]))

    for raw in HOSTILE:
        for text in (raw, escaped(raw), raw.replace(b"\r", b"\\r").replace(b"\n", b"\\n")):
            yield line(url=b"/p" + text)
            yield line(referer=text)
            yield line(agent=text)
            yield line(host=text)
            yield line(op=b"GET" + text)
    for target in TARGETS:
        for op in ("GET", "CONNECT", "POST", "OPTIONS"):
            yield line(op=op.encode(), url=target.encode("latin-1"))
    for op in METHODS:
        yield line(op=op.encode(), url=TRAP.encode() if op == "CONNECT" else b"/method")


def is_clean(text: bytes) -> bool:
    """Whether a terminal can be given it: UTF-8, printable, no sign that reorders or hides others."""
    return all(sign == "\n" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co") for sign in text.decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``hostile.log``, and ``hostile.csv`` made of it."""
    made = tmp_path_factory.mktemp("hostile")
    (made / "hostile.log").write_bytes(b"".join(hostile_lines()))
    command = ["convert", "hostile.log", "-f", "vhost_combined", "-o", "hostile.csv", "--json"]
    done = witnessed(command, made)
    account = json.loads(done.stdout)
    assert account["lines"] == (made / "hostile.log").read_bytes().count(b"\n")
    assert account["lines"] == sum(account[part] for part in ("converted", "unreplayable", "rejected", "blank"))
    assert account["converted"] > 150
    assert not done.addresses
    assert is_clean(done.stderr)
    return made


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    """A target that is hostile, too."""
    headers = b"X-Evil: \x9b31m\xc2\x9b31m<script>\r\nSet-Cookie: sid=hunter2\r\nLocation: http://%s/?token=hunter2\r\n"
    with beside(partial(recording, headers=headers % TRAP.encode())) as kept:
        yield kept


def replay(server: RecordingServer, folder: Path, *options: str, env: dict[str, str] | None = None) -> Witnessed:
    """Replay the hostile log under watch."""
    command = ["run", "hostile.csv", server.url, "--tps", "1000", *options, "-o", "results.csv", "--force"]
    return witnessed(command, folder, env)


def check(server: RecordingServer, done: Witnessed, folder: Path, *, names: set[str]) -> list[Received]:
    """Hold that the target, and nothing else, got the planned requests, and nothing else."""
    assert done.addresses == {("127.0.0.1", server.port)}
    assert is_clean(done.stdout)
    assert is_clean(done.stderr)
    first, *seen = server.received
    assert first.line == "HEAD / HTTP/1.1"
    rows = scan(folder / "results.csv").sort("seq").collect()
    assert sorted(one.line for one in seen) == sorted(
        f"{op} {url} HTTP/1.1" for op, url in rows.select("op", "url").iter_rows()
    )
    assert rows.height > 100
    for one in seen:
        assert re.fullmatch(
            rb"[A-Z]+ (/[\x21-\x7e]*|\*) HTTP/1\.1(\r\n[A-Za-z-]+: [^\x00-\x08\x0a-\x1f\x7f]*)*", one.head
        )
        found = [name for name, _ in one.headers]
        assert len(found) == len(set(found))
        assert set(found) <= names
        assert not one.body
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
def test_only_the_planned_requests_are_sent_and_only_to_the_target(
    server: RecordingServer, folder: Path, sender: str
) -> None:
    done = replay(
        server, folder, "--sender", sender, "--methods", "GET,HEAD,POST,OPTIONS,TRACE", "--header", "X-Run: 1"
    )
    for one in check(server, done, folder, names=NAMES | {"x-run"}):
        assert one.header("host") == f"127.0.0.1:{server.port}"
        assert one.header("x-run") == "1"


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--by-client",), ("--sender", "aiohttp"), ("--workers", "2", "--no-keep-alive")])
def test_headers_of_the_log_are_one_header_each(
    server: RecordingServer, folder: Path, options: tuple[str, ...]
) -> None:
    done = replay(server, folder, "--host", "log", "--agent", "log", "--referer", "log", *options)
    seen = check(server, done, folder, names=NAMES | {"connection"})
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]+(:[0-9]{1,5})?", one.header("host") or "") for one in seen)


@pytest.mark.slow
def test_what_a_hook_and_injected_requests_bring_in_is_checked_too(server: RecordingServer, folder: Path) -> None:
    (folder / "hooks.py").write_text(
        "def evil(request):\n"
        "    request.headers['referer'] = 'x\\r\\nX-Injected: 1\\r\\n\\r\\nGET /smuggled HTTP/1.1'\n"
        "    if request.number % 3 == 1: request.headers['Host\\r\\nX-Injected'] = '1'\n"
        f"    if request.number % 3 == 2: request.url = 'http://{TRAP}/'\n"
        "    return request\n"
    )
    done = replay(server, folder, "--inject", "hostile.csv:20%", "--hook", "hooks:evil")
    assert b"that cannot be set" in done.stderr
    assert b"url that cannot be sent" in done.stderr
    check(server, done, folder, names=NAMES)


@pytest.mark.slow
def test_exchanges_are_shown_without_control_bytes_and_secrets(server: RecordingServer, folder: Path) -> None:
    done = replay(server, folder, "-v", "--requests", "150", "--header", "Authorization: Bearer hunter2-abcdef")
    assert b"hunter2" not in done.stdout + done.stderr
    assert b"Authorization: ***" in done.stdout
    assert b"Set-Cookie: ***" in done.stdout
    assert is_clean(done.stdout)
    shown = replay(
        server, folder, "-v", "--requests", "5", "--show-secrets", "--header", "Authorization: Bearer hunter2"
    )
    assert b"Authorization: Bearer hunter2" in shown.stdout
    assert b"Set-Cookie: sid=hunter2" in shown.stdout
    assert is_clean(shown.stdout)


@pytest.mark.slow
def test_lists_of_urls_and_templates_lead_nowhere_else(server: RecordingServer, folder: Path) -> None:
    values = folder / "values.txt"
    lines = (text.decode(errors="replace").replace("\n", "").replace("\r", "") for text in HOSTILE)
    values.write_text("\n".join(lines) + "\n", "utf-8")
    assert logreplay(["urls", "/p/{x}", "--var", f"x=@{values}", "-o", f"{folder / 'urls.csv'}", "--force"]) == 0
    (folder / "list.txt").write_text(f"http://{TRAP}/a\n/b\nhttp://u:p@{TRAP}\n")
    for name in ("urls.csv", "list.txt"):
        server.received.clear()
        command = ["run", name, server.url, "--tps", "500", "-o", "results.csv", "--force"]
        done = witnessed(command, folder)
        assert done.addresses == {("127.0.0.1", server.port)}
        assert len(server.received) == 1 + scan(folder / "results.csv").select(pl.len()).collect().item()
        assert {one.header("host") for one in server.received} == {f"127.0.0.1:{server.port}"}


@pytest.mark.slow
def test_a_sweep_of_it_makes_a_page_in_which_nothing_lives(
    server: RecordingServer, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["sweep", "100,200", "hostile.csv", server.url, "--for", "5s", "-o", "sweep", "--force"]
    done = witnessed(command, folder)
    assert done.addresses == {("127.0.0.1", server.port)}
    assert is_clean(done.stdout)
    assert is_clean(done.stderr)
    # a result log made elsewhere may hold what a converted log cannot
    url = "/" + "".join(text.decode("latin-1") for text in HOSTILE)
    rows = pl.read_csv(folder / "sweep" / "results.csv", infer_schema=False)
    rows = rows.with_columns(url=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit(url)).otherwise("url"))
    rows.with_columns(op=pl.lit("<b>\x1b[31m"), lag=pl.lit("0")).write_csv(folder / "evil.csv")
    evil = str(folder / "evil.csv")
    assert logreplay(["analyze", evil, "-o", str(folder / "analysis"), "--force"]) in (0, 3)
    other = folder / "other.csv"
    pl.read_csv(evil, infer_schema=False).with_columns(latency=pl.lit("0.004")).write_csv(other)
    assert logreplay(["compare", evil, str(other)]) == 0
    said = capfdbinary.readouterr()
    assert b"route" in said.out
    assert is_clean(said.out)
    assert is_clean(said.err)
    for page in (folder / "sweep" / "report.html", folder / "analysis" / "report.html"):
        assert is_clean(page.read_bytes())
        assert b"hunter2" not in page.read_bytes()
        assert title_in_a_browser(page).endswith("logreplay")
    (folder / "live.html").write_text(f"<title>x</title><td>{HOSTILE[9].decode()}</td>")
    assert title_in_a_browser(folder / "live.html") == "owned"  # the browser would have run it


def title_in_a_browser(page: Path) -> str:
    """The title that a page has after all its scripts, if any, have run; with its policy against scripts taken off."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium is installed; all but the look into the page has passed")
    bare = page.with_name("bare.html")
    bare.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text()))
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--virtual-time-budget=2000",
    )
    done = subprocess.run([browser, *flags, "--dump-dom", bare.as_uri()], capture_output=True, timeout=60)
    title = re.search(r"<title>(.*?)</title>", done.stdout.decode(errors="replace"))
    assert title, done.stderr[-2000:]
    return title[1]
