"""Runs a command where a name is loopback for who asks first, and another address for who asks again.

Usage, in namespaces of its own: ``unshare -rnm python -m support.rebinding FOLDER COMMAND…``. The command runs in
FOLDER; ``{target}`` in it is ``http://rebind.test:PORT``. Writes JSON: ``code`` and ``err`` of the command, ``came``:
the address that each connection was made to, ``asked``: how often the name was looked up.
"""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

NAME: Final = "rebind.test"
OTHER: Final = "10.9.9.9"
_A: Final = 1
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"


def serve_names(asked: list[int]) -> None:
    """Answer questions for names (RFC 1035): one address at first, then another, which may not be kept."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind(("127.0.0.1", 53))
        while True:
            query, sender = port.recvfrom(512)
            end = query.index(0, 12) + 5
            kind = int.from_bytes(query[end - 4 : end - 2])
            answers = b""
            if kind == _A:
                asked.append(1)
                address = socket.inet_aton("127.0.0.1" if len(asked) == 1 else OTHER)
                answers = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04" + address
            counts = b"\x00\x01" + (b"\x00\x01" if answers else b"\x00\x00") + bytes(4)
            port.sendto(query[:2] + b"\x81\x80" + counts + query[12:end] + answers, sender)


def serve_http(listening: socket.socket, came: list[str]) -> None:
    """Answer requests, and note for each connection the address that it was made to."""

    def answer(connection: socket.socket) -> None:
        came.append(connection.getsockname()[0])
        with connection:
            pending = b""
            while data := connection.recv(1 << 16):
                pending += data
                while b"\r\n\r\n" in pending:
                    head, _, pending = pending.partition(b"\r\n\r\n")
                    connection.sendall(_HEAD + (b"" if head.startswith(b"HEAD ") else b"hello"))

    while True:
        connection, _ = listening.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def main(folder: str, command: Sequence[str]) -> None:
    for words in (["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{OTHER}/32", "dev", "lo"]):
        subprocess.run(words, check=True)
    resolver = Path(folder, "resolv.conf")
    resolver.write_text("nameserver 127.0.0.1\noptions attempts:1 timeout:2\n")
    subprocess.run(["mount", "--bind", str(resolver), "/etc/resolv.conf"], check=True)
    asked: list[int] = []
    came: list[str] = []
    listening = socket.create_server(("0.0.0.0", 0))
    threading.Thread(target=serve_names, args=(asked,), daemon=True).start()
    threading.Thread(target=serve_http, args=(listening, came), daemon=True).start()
    target = f"http://{NAME}:{listening.getsockname()[1]}"
    words = [word.replace("{target}", target) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    json.dump({"code": done.returncode, "err": done.stderr, "came": came, "asked": len(asked)}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
