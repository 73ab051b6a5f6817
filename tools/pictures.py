"""Makes the pictures of the README from real runs: a terminal as SVG; the report, the live page and a plan as PNG.

Run it with ``tox -e pictures``; it takes about five minutes and needs Chromium. The target is the tutorial's: ten
workers of 220 ms; that of the plan has two of 40 ms. The terminal's lines appear as they did, with pauses cut to a
second; where animation is off, all of them are shown at once.
"""

import asyncio
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from html import escape
from pathlib import Path
from typing import Final

from PIL import Image
from rich.console import Console
from rich.text import Text

from logreplay.cli.main import run as logreplay
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from support.browser import browser

ROOT: Final = Path(__file__).parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"
TARGET: Final = ServerCapacity(workers=10, service_s=0.22)
ADDRESS: Final = "http://127.0.0.1:8080"
COMMANDS: Final = (
    "convert access.log",
    f"run access.csv {ADDRESS} --speed 1 --for 20s -o same.csv",
    f"sweep 10..60:10 access.csv {ADDRESS} --for 20s -o sweep",
    "capacity sweep --demand 200 --p90 500ms",
)
PLANNED: Final = ServerCapacity(workers=2, service_s=0.04)
PLAN: Final = f"plan access.log {ADDRESS} --p99 500ms --growth 100% -o december"
COLUMNS: Final = 118
LONGEST_PAUSE_S: Final = 1.0
FIRST_ROWS: Final = 24
LAST_ROWS: Final = 3
"""Of what a command prints, the rows that are shown; ``…`` stands for those between them."""
COLORS: Final = 96
SVG: Final = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>%s</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
@keyframes appear {{ from {{ visibility: hidden; }} to {{ visibility: visible; }} }}
@media (prefers-reduced-motion: no-preference) {{
%s
}}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as name:
        folder = Path(name)
        shutil.copy(ROOT / "sample_logs" / "nginx_request_time.log", folder / "access.log")
        assert logreplay(["convert", "-q", str(folder / "access.log"), "-o", str(folder / "target.csv")]) == 0
        with spawned(folder / "target.csv", TARGET) as url:
            (PICTURES / "terminal.svg").write_text(terminal(folder, url), encoding="utf-8")
            asyncio.run(pages(folder, url))
        with spawned(folder / "target.csv", PLANNED) as url:
            subprocess.run(command(PLAN, url), cwd=folder, check=True)
            asyncio.run(plan_page(folder / "december"))


def command(arguments: str, url: str) -> list[str]:
    return [sys.executable, "-m", "logreplay.cli.main", *arguments.replace(ADDRESS, url).split()]


def terminal(folder: Path, url: str) -> str:
    """Run the commands and draw what they print, each row with the moment at which it appeared."""
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    moment, moments = 0.5, []
    for arguments in COMMANDS:
        console.print(Text.assemble(("$ ", "bold green"), (f"logreplay {arguments}", "bold")))
        moments.append(moment)
        for row, pause in shortened(printed(arguments, folder, url, console)):
            moment += pause
            console.print(row)
            moments.append(moment)
        moment += LONGEST_PAUSE_S
        console.print()
        moments.append(moment)
    sys.stdout.write(console.export_text(clear=False))  # the tutorial quotes it
    css = "\n".join(
        f'[clip-path="url(#terminal-line-{number})"] {{{{ animation: appear 1ms {moment:.1f}s both; }}}}'
        for number, moment in enumerate(moments)
    )
    title = "; ".join(f"logreplay {arguments}" for arguments in COMMANDS)
    return console.export_svg(title="logreplay", code_format=SVG % (escape(title), css), unique_id="terminal")


def printed(arguments: str, folder: Path, url: str, console: Console) -> list[tuple[Text, float]]:
    """Run a command; return the rows that it prints and the pause before each, in seconds."""
    rows, before = [], time.monotonic()
    env = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command(arguments, url), cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            pause, before = min(time.monotonic() - before, LONGEST_PAUSE_S), time.monotonic()
            for row in Text(line.rstrip().replace(url, ADDRESS)).wrap(console, COLUMNS) or [Text("")]:
                rows.append((row, pause))
                pause = 0.0
    assert process.returncode == 0, f"{arguments}: exit code {process.returncode}: " + "\n".join(
        str(row) for row, _ in rows
    )
    return rows


def shortened(rows: list[tuple[Text, float]]) -> list[tuple[Text, float]]:
    if len(rows) <= FIRST_ROWS + LAST_ROWS:
        return rows
    return [*rows[:FIRST_ROWS], (Text("…", style="dim"), 0.0), *rows[-LAST_ROWS:]]


async def pages(folder: Path, url: str) -> None:
    """Photograph the report of the sweep, and the live page of another one while its last step goes on."""
    async with browser() as page:
        await page.call("Emulation.setScrollbarsHidden", hidden=True)
        await page.open((folder / "sweep" / "report.html").as_uri())
        await page.until("document.readyState === 'complete'")
        await photograph(page.look, "report", 1000, 900)
        sweep = command(f"sweep 10..60:10 access.csv {ADDRESS} --for 12s -o live --live", url)
        live = await asyncio.create_subprocess_exec(
            *sweep, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert live.stderr
        async for line in live.stderr:
            if match := re.search(r"http://\S+#\S+", line.decode()):
                break
        else:
            raise AssertionError("no live page")
        drained = asyncio.create_task(live.stderr.read())
        await page.open(match[0])
        await page.until("document.body.innerText.includes('50/s') || document.body.innerText.includes('50 /s')", 90)
        await asyncio.sleep(9)
        await photograph(page.look, "live", 1000, 900)
        await drained
        await live.wait()


async def plan_page(folder: Path) -> None:
    """Photograph the page of a plan."""
    async with browser() as page:
        await page.call("Emulation.setScrollbarsHidden", hidden=True)
        await page.open((folder / "plan.html").as_uri())
        await page.until("document.readyState === 'complete'")
        await photograph(page.look, "plan", 1000, 820)


async def photograph(look: Callable[..., Awaitable[None]], name: str, width: int, height: int) -> None:
    path = PICTURES / f"{name}.png"
    await look(path, width, height)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            path, optimize=True
        )


if __name__ == "__main__":
    main()
