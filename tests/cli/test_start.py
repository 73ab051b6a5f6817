"""What loads the command line."""

import subprocess
import sys
from pathlib import Path

from logreplay.cli.exit_codes import Exit


def test_a_signal_while_the_program_is_loaded_ends_it_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    program = "import sys; sys.path.insert(0, '.'); from logreplay.cli.start import main; main()"
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (Exit.INTERRUPTED, b"interrupted\n")


def test_nothing_is_loaded_before_the_program_listens_to_signals() -> None:
    """Ctrl-C in the first 10 ms showed a traceback of `typing`, `enum` or `re`."""
    program = "import sys; before = {*sys.modules}; import logreplay.cli.start; print(*{*sys.modules} - before)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert set(ended.stdout.split()) == {
        "logreplay",
        "logreplay.cli",
        "logreplay.cli.start",
        "logreplay.core",
        "logreplay.core.lazy_names",
    }
