"""Writes the reference of commands from their help when the site is built."""

import inspect
import re
from typing import Any

import click

from logreplay.cli.main import cli
from logreplay.cli.options.help_groups import sections

HERE = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the reference into its page; MkDocs calls this for each page."""
    return markdown.replace(HERE, reference()) if HERE in markdown else markdown


def reference() -> str:
    """Return all commands as Markdown, in the order of `logreplay --help`."""
    context = click.Context(cli, info_name="logreplay", **cli.context_settings)
    return "\n".join(_section(name, command, context) for name, command in cli.commands.items())


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    lines = [f"## logreplay {name}", "", *_fenced([usage]), "", *map(_paragraph, paragraphs)]
    for title, records in sections(command, context):
        rows = [f"| `{_cell(names)}` | {_cell(_plain(text))} |" for names, text in records]
        lines += [f"| {title} | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _paragraph(text: str) -> str:
    title, _, example = text.replace("\b\n", "").partition("\n") if text.startswith("\b") else ("", "", "")
    if not title:
        found = re.fullmatch(r"(Example): (logreplay .*)", text)
        title, example = (f"{found[1]}:", found[2]) if found else ("", "")
    if title:
        return "\n".join([title, "", *_fenced(inspect.cleandoc(example).splitlines()), ""])
    return _plain(text) + "\n"


def _fenced(lines: list[str]) -> list[str]:
    return ["```text", *lines, "```"]


def _plain(text: str) -> str:
    return re.sub(r"([*_<>$\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "&#124;" if "\\" in text else "\\|")
