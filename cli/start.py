"""The program ``logreplay``: a signal that comes while its modules are loaded ends it without a traceback."""

import signal


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the command line hears signals itself
    from logreplay.cli.main import main as command_line

    command_line()
