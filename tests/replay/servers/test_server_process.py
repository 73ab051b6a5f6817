import os
import subprocess
import sys


def test_a_server_ends_without_a_word_if_the_process_that_started_it_has_ended() -> None:
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "logreplay.replay.servers.minimal"],
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(write)
        os.close(read)
        assert process.stderr
        assert process.stderr.read() == b""
        assert process.wait(30) == 0
