"""The socket by which a load is changed: who may open it, and what a broken client costs."""

import asyncio
import os
import socket
import stat
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.monitor import control_socket as module
from logreplay.replay.monitor.control_socket import SOCKET, control_socket, give_order
from logreplay.replay.schedules.orders import Order, parse_order


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[list[tuple[Order, str]]]:
    taken: list[tuple[Order, str]] = []

    async def give(order: Order, who: str) -> tuple[bool, str]:
        taken.append((order, who))
        return order.word != "continue", f"{order.text} it is"

    async with control_socket(folder, give):
        yield taken


async def given(place: Path, text: str) -> str:
    return await asyncio.to_thread(give_order, place, parse_order(text))


async def said(folder: Path, data: bytes) -> bytes:
    """What is answered to a client that sends this."""
    reader, writer = await asyncio.open_unix_connection(str(folder / SOCKET))
    try:
        writer.write(data)
        writer.write_eof()
        return await reader.read()
    except OSError:
        return b""
    finally:
        writer.close()


def test_its_owner_alone_may_open_it_and_it_is_gone_afterwards(tmp_path: Path) -> None:
    async def main() -> None:
        folder = tmp_path / "load"
        async with serving(folder) as taken:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert stat.S_IMODE((folder / SOCKET).stat().st_mode) == 0o600
            assert await given(folder, "raise 20%") == "raise 20% it is"
            assert await given(folder / SOCKET, "pause") == "pause it is"
            assert [who for _, who in taken] == [f"control, process {os.getpid()}"] * 2
            with pytest.raises(LogreplayError, match=r"^continue it is$"):
                await given(folder, "continue")
            with pytest.raises(LogreplayError, match="another run is controlled here"):
                async with serving(folder):
                    pass
        assert not folder.exists()
        with pytest.raises(LogreplayError, match="no run is controlled here"):
            await given(folder, "pause")

    asyncio.run(main())


def test_a_broken_client_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage, half a line, 10 MB, and a hundred who say nothing: the next order is served."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.5)

    async def main() -> None:
        folder = tmp_path / "load"
        async with serving(folder) as taken:
            assert b"expected raise 20%" in await said(folder, b"\x00\xff\xfe\n")
            assert b"expected raise 20%" in await said(folder, "rate ١٢\n".encode())
            assert b"did not end with a line feed" in await said(folder, b"raise 2")
            assert b"lower" not in await said(folder, b"x" * 10_000_000)
            assert b"at most 200 bytes" in await said(folder, b"y" * 300)
            silent = [await asyncio.open_unix_connection(str(folder / SOCKET)) for _ in range(100)]
            refused = [await asyncio.wait_for(reader.read(), 30) for reader, _ in silent[20:]]
            assert all(b"others are being served" in answer for answer in refused)
            assert {await asyncio.wait_for(reader.read(), 30) for reader, _ in silent[:8]} == {b""}
            assert await given(folder, "lower 5%") == "lower 5% it is"
            assert len(taken) == 1
            for _, writer in silent:
                writer.close()

    asyncio.run(main())


def test_a_folder_that_others_may_enter_and_anything_else_there_are_refused(tmp_path: Path) -> None:
    shared, file, other = tmp_path / "shared", tmp_path / "file", tmp_path / "other"
    shared.mkdir(mode=0o755)
    file.write_text("")
    other.mkdir(mode=0o700)
    (other / SOCKET).write_text("")
    link = tmp_path / "link"
    link.symlink_to(other)

    async def opened(folder: Path) -> None:
        async with serving(folder):
            pass

    for folder, why in (
        (shared, "others may enter this folder \\(mode 0755\\)"),
        (file, "is not a folder"),
        (link, "is not a folder"),
        (other, "is not a socket"),
        (tmp_path / "no" / "load", "cannot be made: No such file"),
    ):
        with pytest.raises(LogreplayError, match=why):
            asyncio.run(opened(folder))
    assert (other / SOCKET).exists()


def test_the_socket_of_a_killed_run_is_replaced_and_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 120)  # longer than the address of a socket may be
    folder.mkdir(mode=0o700)

    async def main() -> None:
        before = os.getcwd()
        os.chdir(folder)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(SOCKET)
        os.chdir(before)
        async with serving(folder):
            assert await given(folder, "pause") == "pause it is"
        assert list(folder.iterdir()) == []

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"{}\n", "is not the socket of a run"),
        (b"1\n", "is not the socket of a run"),
        (b'{"done": 1, "text": "x"}\n', "is not the socket of a run"),
        (b"[" * 100_000, "is not the socket of a run"),
        (b"HTTP/1.1 400 Bad Request\r\n", "is not the socket of a run"),
        (b'{"done": false, "text": "no\\u001b[2J"}\n', r"^no\?\[2J$"),
    ],
)
def test_what_is_no_run_is_named_and_cannot_steer_the_terminal(tmp_path: Path, answer: bytes, why: str) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / SOCKET))
        other.listen()

        def serve() -> None:
            connection, _ = other.accept()
            with connection, suppress(OSError):
                connection.recv(100)
                connection.sendall(answer)

        serving = threading.Thread(target=serve)
        serving.start()
        with pytest.raises(LogreplayError, match=why):
            give_order(tmp_path, parse_order("pause"))
        serving.join()


def test_an_order_that_was_given_is_answered_and_one_whose_turn_does_not_come_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.2)

    async def main() -> None:
        refused = asyncio.Event()

        async def give(order: Order, who: str) -> tuple[bool, str]:
            await refused.wait()
            return True, order.text

        async with control_socket(tmp_path / "load", give):
            both = [asyncio.create_task(said(tmp_path / "load", text)) for text in (b"pause\n", b"raise 1%\n")]
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED, timeout=30)
            assert b"the orders of others wait" in done.pop().result()
            refused.set()
            assert b"".join([await each for each in both]).count(b'"done": true') == 1

    asyncio.run(main())


def test_a_run_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.05)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / SOCKET))
        deaf.listen()
        with pytest.raises(LogreplayError, match="the run does not answer"):
            give_order(tmp_path, parse_order("pause"))

        def close_two() -> None:
            for _ in range(2):
                deaf.accept()[0].close()

        closing = threading.Thread(target=close_two)
        closing.start()
        with pytest.raises(LogreplayError, match=r"the run ended|reset|Broken"):
            give_order(tmp_path, parse_order("pause"))
        closing.join()
