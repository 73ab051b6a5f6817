"""What loads the command line."""

import signal
import subprocess
import sys
from pathlib import Path


def test_a_signal_while_the_program_is_loaded_ends_it_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    program = "import sys; sys.path.insert(0, '.'); from logreplay.cli.start import main; main()"
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")
