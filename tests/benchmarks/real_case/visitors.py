"""Visitors of the shop, who leave its log behind: each looks, searches, buys and waits in between."""

import asyncio
import random
from typing import Final

import aiohttp

_PRODUCTS: Final = 20_000
_THINK_S: Final = 1.5
_WORDS: Final = tuple("abcdef0123456789")


def _next(draw: random.Random) -> tuple[str, str]:
    product = 1 + int(draw.random() ** 3 * (_PRODUCTS - 1))  # a few are looked at often
    chance = draw.random()
    if chance < 0.15:
        return "GET", "/"
    if chance < 0.22:
        return "GET", "/static/style.css"
    if chance < 0.82:
        return "GET", f"/product/{product}"
    if chance < 0.94:
        return "GET", f"/search?q={''.join(draw.choices(_WORDS, k=3))}"
    if chance < 0.95:
        return "GET", f"/product/{_PRODUCTS + product}"  # there is none
    return "POST", f"/buy/{product}"


async def _visitor(session: aiohttp.ClientSession, url: str, until: float, draw: random.Random) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(draw.expovariate(1 / _THINK_S))
        if loop.time() > until:
            return
        method, path = _next(draw)
        async with session.request(method, url + path, allow_redirects=False) as answer:
            await answer.read()


async def visit(url: str, visitors: int, seconds: float, seed: int) -> None:
    """Let so many visitors use the shop for a time."""
    until = asyncio.get_running_loop().time() + seconds
    async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        for number in range(visitors):
            group.create_task(_visitor(session, url, until, random.Random(seed * 1000 + number)))
