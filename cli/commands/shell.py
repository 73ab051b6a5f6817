"""Commands about the command line itself: ``completion`` for shells, and ``man``, its help as manual pages."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from logreplay.cli.display.terminal import print_result, say
from logreplay.cli.options.help_groups import sections
from logreplay.cli.settings.empty_values import Checked
from logreplay.cli.settings.share import shared

_FIRST: Final = b'.TH "LOGREPLAY'
"""Beginning of each page."""


@click.command(cls=Checked)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for SHELL, which is bash, zsh or fish, that completes commands, options and their values.

    \b
    Example:
      logreplay completion bash > ~/.local/share/bash-completion/completions/logreplay
      logreplay completion zsh > ~/.zfunc/_logreplay        # with fpath+=~/.zfunc before compinit in ~/.zshrc
      logreplay completion fish > ~/.config/fish/completions/logreplay.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind
    root = click.get_current_context().find_root().command
    print_result(kind(root, {}, "logreplay", "_LOGREPLAY_COMPLETE").source())


@click.command(cls=Checked)
@click.argument("command", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write the pages of all commands to DIR."
)
def man(command: str | None, output: Path | None) -> None:
    """Print the manual page of COMMAND (without it, of logreplay), or write all of them.

    \b
    Example:
      logreplay man sweep | man -l -
      logreplay man -o ~/.local/share/man/man1
    """
    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    if command is not None and command not in root.commands:
        raise click.UsageError(f"{command!r} is not a command; the commands are {', '.join(root.commands)}")
    if command is not None and output is not None:
        raise click.UsageError("COMMAND and -o exclude each other: -o writes the pages of all commands; leave out one")
    if output is None:
        print_result(page(root, command or "").removesuffix("\n"))
        return
    from logreplay.core.errors import LogreplayError
    from logreplay.core.files import write_atomically, writing

    pages = {output / f"{_title(name)}.1": page(root, name) for name in ("", *root.commands)}
    with shared():
        with writing(output):
            output.mkdir(parents=True, exist_ok=True)
            for path in pages:
                if path.is_file() and not path.read_bytes().startswith(_FIRST):
                    raise LogreplayError(
                        f"{path}: exists already, and is not a page of logreplay; choose another with -o"
                    )
        for path, text in pages.items():
            write_atomically(path, text)
    say(str(output))


def page(root: click.Group, name: str) -> str:
    """A manual page in roff; the empty name is the program itself."""
    command = root.commands[name] if name else root
    with click.Context(root, info_name="logreplay", **root.context_settings) as parent:
        context = click.Context(command, parent if name else None, info_name=name or "logreplay")
        return "\n".join(_lines(root, command, context, name)) + "\n"


def _title(name: str) -> str:
    return f"logreplay-{name}" if name else "logreplay"


def _lines(root: click.Group, command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    about, *examples = re.split(r"\x08\nExamples?:\s*", inspect.cleandoc(command.help or ""), maxsplit=1)
    yield f'.TH "{_title(name).upper()}" "1" "" "logreplay" "logreplay"'
    yield from (".SH NAME", rf"{_text(_title(name))} \- {_text(command.get_short_help_str(200))}")
    pieces = " ".join(command.collect_usage_pieces(context))
    yield from (".SH SYNOPSIS", rf"\fBlogreplay{' ' + name if name else ''}\fR {_text(pieces)}")
    yield ".SH DESCRIPTION"
    for paragraph in about.strip().split("\n\n"):
        kept = paragraph.startswith("\b\n")  # its lines
        yield from (".PP", *(_as_lines(paragraph[2:]) if kept else [_text(" ".join(paragraph.split()))]))
    for number, (title, options) in enumerate(sections(command, context)):
        yield from ((".SH OPTIONS",) if not number else ())
        yield from ((f".SS {_text(title)}",) if title != "Options" else ())
        for names, text in options:
            yield from (".TP", rf"\fB{_text(names)}\fR", _text(" ".join(text.split())) or r"\&")
    if not name:
        yield ".SH COMMANDS"
        for other, child in root.commands.items():
            yield from (".TP", rf"\fB{_text(other)}\fR", _text(child.get_short_help_str(200)))
    for text in examples:
        yield from (".SH EXAMPLES", *_as_lines(text))
    if command.epilog:
        yield from (".SH SETTINGS", _text(command.epilog))
    others = [_title(other) for other in ("", *root.commands) if other != name]
    yield from (".SH SEE ALSO", ", ".join(rf"\fB{_text(other)}\fR(1)" for other in others))


def _as_lines(text: str) -> Iterator[str]:
    yield from (".nf", *(_text(line.strip()) for line in text.strip().splitlines()), ".fi")


def _text(text: str) -> str:
    """Text that roff shows as it stands."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    text = text.replace("^", r"\(ha").replace("~", r"\(ti")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return rf"\&{text}" if text.startswith(".") else text
