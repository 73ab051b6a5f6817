"""The main program of a target of known capacity (`logreplay.replay.servers.target_process`)."""

import asyncio
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from logreplay.core.errors import LogreplayError
from logreplay.replay.child_process import connection_to_parent
from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity, serving


async def _serve(parent: "Connection[Any, Any]", log: Path, capacity: ServerCapacity, port: int) -> None:
    """Serve until the parent ends."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(parent.fileno(), ended.set)
    answers = LoggedAnswers.of_log(log)
    async with serving(answers, capacity, port=port) as url:
        parent.send((url, answers.refused, answers.varied))
        await ended.wait()


if __name__ == "__main__":
    with suppress(EOFError, ConnectionError):  # the parent has ended
        parent = connection_to_parent()
        try:
            asyncio.run(_serve(parent, *parent.recv()))
        except LogreplayError as error:
            parent.send(error)
