"""Runs a program that writes to whoever started it, after that process has ended."""

import os
import subprocess
import sys


def abandoned(module: str) -> tuple[int, bytes]:
    """Run a module whose standard output nobody reads any more; return its exit code and what it says of it.

    Args:
        module: its name; its standard input stays open.
    """
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE
    ) as process:
        os.close(write)
        os.close(read)
        assert process.stderr
        error = process.stderr.read()
        return process.wait(30), error
