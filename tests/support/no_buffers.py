"""Lets calls on the connections to one target fail as on a machine whose network has no buffers left (ENOBUFS).

A library that is loaded before libc makes them fail: no real network fails so on demand. It counts only the calls on
these connections: a process under load also writes to files, pipes and wake-up descriptors, any number of times.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

_SOURCE: Final = r"""
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(const char *call, const struct sockaddr *peer) {
    static int count;
    if (strcmp(call, CALL) || peer->sa_family != AF_INET || ntohs(((struct sockaddr_in *)peer)->sin_port) != PORT)
        return 0;
    int number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (number < FIRST || number > LAST || (number - FIRST) % EVERY)
        return 0;
    FILE *told = fopen(TOLD, "a");
    fprintf(told, "%d\n", number);
    fclose(told);
    errno = ENOBUFS;
    return 1;
}

int connect(int fd, const struct sockaddr *peer, socklen_t length) {
    return fails("connect", peer) ? -1 : syscall(SYS_connect, fd, peer, length);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    int before = errno;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && fails("write", (struct sockaddr *)&peer))
        return -1;
    errno = before;
    return syscall(SYS_write, fd, bytes, length);
}
"""


class NoBuffers:
    """The failing calls of a command.

    Args:
        folder: where the library is built.
        call: ``connect`` or ``write``.
        numbers: which calls on the connections to the target fail, counted from 1.
        target: URL with an IPv4 address.
    """

    def __init__(self, folder: Path, call: str, numbers: range, target: str) -> None:
        if not (compiler := shutil.which("cc")):
            pytest.skip("no C compiler is installed")
        self._told, library, source = folder / "failed.txt", folder / "no_buffers.so", folder / "no_buffers.c"
        source.write_text(_SOURCE)
        known = {"CALL": f'"{call}"', "TOLD": f'"{self._told}"', "PORT": urlsplit(target).port}
        known |= {"FIRST": numbers[0], "LAST": numbers[-1], "EVERY": numbers.step}
        defined = [f"-D{name}={value}" for name, value in known.items()]
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", *defined, "-o", library, source], check=True)
        self.env = {**os.environ, "LD_PRELOAD": str(library)}

    @property
    def failed(self) -> list[int]:
        """Numbers of the calls that failed."""
        return [int(number) for number in self._told.read_text().split()]
