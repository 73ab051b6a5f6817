"""A headless Chromium, driven over its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

import asyncio
import base64
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One page of it; what its console says is kept in ``console``."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.console: list[str] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads((await self._socket.receive(timeout=20)).data)
            if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                self.console.append(json.dumps(message["params"]))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    async def open(self, url: str) -> None:
        for domain in ("Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """What an expression is worth in the page."""
        done = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return done["result"].get("value")

    async def until(self, script: str, timeout_s: float = 30) -> None:
        """Wait until an expression is true in the page."""
        async with asyncio.timeout(timeout_s):
            while not await self.value(script):  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # the page tells nobody: ask again

    async def look(self, path: Path, width: int, height: int, *, dark: bool = False) -> None:
        """Take a picture of the page."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        shot = await self.call("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(shot["data"]))  # noqa: ASYNC240


@asynccontextmanager
async def browser() -> AsyncIterator[Page]:
    """A new page of a new browser, that ends with the block."""
    assert CHROMIUM
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr
        try:
            async with asyncio.timeout(60):
                async for line in process.stderr:
                    if match := re.search(r"ws://(\S+?)/", line.decode()):
                        break
                else:
                    raise AssertionError("Chromium did not start")
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://{match[1]}/json") as answer:
                    pages = await answer.json()
                url = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
                async with session.ws_connect(url, max_msg_size=0) as socket:
                    yield Page(socket)
        finally:
            process.terminate()
            await process.wait()
