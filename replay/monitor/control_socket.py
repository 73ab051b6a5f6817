"""A unix socket by which the owner of a run changes its load: an order in a line, an answer in a line.

The socket lies in a folder that only its owner may enter, and only the owner or root may give orders. Whatever a client
sends, it costs the run nothing: the process beside the replay reads it, a line is short, a client has a few seconds,
few are served at once, and only an order that could be read is passed on.
"""

import asyncio
import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.core.files import reason
from logreplay.core.masking import terminal_safe
from logreplay.replay.schedules.orders import Order, parse_order

SOCKET: Final = "control.sock"
_LONGEST: Final = 200
"""Bytes of an order."""
_GUESTS: Final = 8
_LONGEST_ANSWER: Final = 4096
_PATIENCE_S: Final = 5.0
"""Seconds for the order of a client, and for its turn."""
_APART_S: Final = 0.02
"""Shortest time between two orders."""
_LONGEST_PATH: Final = 100
"""Bytes: the address of a unix socket has 104 on macOS, 108 on Linux."""

Pass = Callable[[Order, str], Awaitable["tuple[bool, str]"]]
"""Passes an order to the run, and who gave it; returns whether it was carried out, and a sentence."""


@asynccontextmanager
async def control_socket(folder: Path, give: Pass) -> AsyncIterator[None]:
    """Serve orders at ``control.sock`` in a folder until the block ends; a folder made here is removed then."""
    with _listener(folder) as listener:
        async with await asyncio.start_unix_server(_Desk(give).serve, sock=listener, limit=_LONGEST):
            yield


class _Desk:
    """Takes the orders, one after the other."""

    def __init__(self, give: Pass) -> None:
        self._give, self._turn, self._served = give, asyncio.Lock(), 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client: a line, an answer, the end."""
        self._served += 1
        try:
            done, text = await self._answer(reader, writer)
            writer.write(json.dumps({"done": done, "text": text}).encode() + b"\n")
            async with asyncio.timeout(_PATIENCE_S):
                await writer.drain()
        except (OSError, TimeoutError):
            pass  # it went away, or was too slow
        finally:
            self._served -= 1
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[bool, str]:
        who = _peer(writer.get_extra_info("socket"))
        if who is None:
            return False, "only the user who runs logreplay may change its load"
        if self._served > _GUESTS:
            return False, f"{_GUESTS} others are being served; try again"
        try:
            async with asyncio.timeout(_PATIENCE_S):
                line = await reader.readuntil()
            order = parse_order(line.decode(errors="replace"))
        except asyncio.LimitOverrunError:
            return False, f"an order has at most {_LONGEST} bytes, and ends with a line feed"
        except asyncio.IncompleteReadError:
            return False, "the order did not end with a line feed"
        except ValueError as error:
            return False, str(error)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._turn.acquire()
        except TimeoutError:
            return False, "the orders of others wait for the run; try again"
        try:
            answer = await self._give(order, who)  # once it is given, its answer is waited for
            await asyncio.sleep(_APART_S)
        finally:
            self._turn.release()
        return answer


def _peer(connection: Any) -> str | None:
    """Name the client at the other end; None: a user who may not give orders."""
    if not hasattr(socket, "SO_PEERCRED"):
        return "control"  # the folder admits its owner alone
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return f"control, process {pid}" if uid in (0, os.geteuid()) else None


@contextmanager
def _listener(folder: Path) -> Iterator[socket.socket]:
    """The socket in its folder; at the end of the block it is removed, and the folder if it was made here."""
    made = _own_folder(folder)
    path = folder / SOCKET
    try:
        _remove_stale(path)
        with _addressed(path) as address, socket.socket(socket.AF_UNIX) as listener:
            try:
                listener.bind(address)
            except OSError as error:
                raise LogreplayError(f"--control {folder}: {path.name}: {error.strerror or error}") from None
            try:
                os.chmod(path, 0o600)
                yield listener
            finally:
                path.unlink(missing_ok=True)
    finally:
        if made:
            with suppress(OSError):
                folder.rmdir()


def _own_folder(folder: Path) -> bool:
    """Make a folder for its owner alone, or check that it is one; return whether it was made."""
    try:
        folder.mkdir(mode=0o700)
        return True
    except FileExistsError:
        status = folder.lstat()
    except OSError as error:
        raise LogreplayError(f"--control {folder}: cannot be made: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise LogreplayError(f"--control {folder}: is not a folder; name one that does not exist")
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise LogreplayError(
            f"--control {folder}: others may enter this folder (mode {stat.S_IMODE(status.st_mode):04o}), and would be "
            "able to change the load; name a folder that does not exist"
        )
    return False


def _remove_stale(path: Path) -> None:
    """Remove the socket of a run that was killed."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise LogreplayError(f"--control {path.parent}: {path.name} in it is not a socket; name another folder")
    with _addressed(path) as address, socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address)
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise LogreplayError(f"--control {path.parent}: another run is controlled here; name another folder")


@contextmanager
def _addressed(path: Path) -> Iterator[str]:
    """An address of a socket that is short enough however long its path is."""
    if sys.platform != "linux" or len(os.fsencode(path)) <= _LONGEST_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def give_order(place: Path, order: Order) -> str:
    """Give an order to a run; return the sentence that it answers."""
    path = place / SOCKET if place.is_dir() else place
    try:
        with _addressed(path) as address, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE_S)
            connection.connect(address)
            connection.sendall(f"{order.text}\n".encode())
            line = _line(connection, time.monotonic() + 2 * _PATIENCE_S)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        raise LogreplayError(f"{place}: no run is controlled here; start a run with --control '{place}'") from None
    except PermissionError:
        raise LogreplayError(f"{place}: only the user who runs logreplay may change its load") from None
    except TimeoutError:
        raise LogreplayError(f"{place}: the run does not answer; is it suspended?") from None
    except OSError as error:
        raise LogreplayError(f"{place}: {reason(error)}") from None
    done, text = _read(line) or (False, f"{place}: is not the socket of a run")
    if not done:
        raise LogreplayError(text)
    return text


def _line(connection: socket.socket, until: float) -> bytes:
    """The answer of a run, of bounded length, until an instant of the monotonic clock; empty: it went away."""
    line = b""
    while len(line) < _LONGEST_ANSWER and not line.endswith(b"\n"):
        if (left := until - time.monotonic()) <= 0:
            raise TimeoutError
        connection.settimeout(left)
        if not (part := connection.recv(_LONGEST_ANSWER - len(line))):
            break
        line += part
    return line


def _read(line: bytes) -> tuple[bool, str] | None:
    """Whether an order was carried out, and a sentence; None: no run answers so."""
    if not line:
        return False, "the run ended"
    try:
        match json.loads(line):
            case {"done": bool(done), "text": str(text)}:
                return done, terminal_safe(text)
    except (ValueError, RecursionError):
        pass
    return None
