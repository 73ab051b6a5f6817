"""The command line: one module per command. Only here are errors printed and exit codes set."""

import sys

import click

from logreplay.cli.exit_codes import Exit


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="logreplay", prog_name="logreplay")
def cli() -> None:
    """Replay production access logs at rates you choose, and learn what rate your system will carry."""


def main() -> None:
    """Run the command line, and say in one line what went wrong."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = cli.main(arguments, prog_name="logreplay", standalone_mode=False)
        return code if isinstance(code, int) else Exit.OK
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


if __name__ == "__main__":
    main()
