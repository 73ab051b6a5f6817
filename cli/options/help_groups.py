"""Groups of options in the help of the commands that send, the most used first."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from logreplay.cli.options.other_tools import check_words
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.settings.empty_values import UnexpectedArgument, show_help
from logreplay.options.clashes import gives_way, needed
from logreplay.options.table import GROUPS, SHOWN_FIRST, grouped, options_of
from logreplay.settings_files.keys import ALONE

Record = tuple[str, str]
"""The names of an option, and its help."""

_VALUES: Final = {"--live": re.compile(r"(\S+:)?\d+"), "--otlp": re.compile(r"(https?|grpcs?)://\S+")}
"""Pattern of the value of an option that may stand alone; any other word after it is an argument."""
_WANTED: Final = {"--live": "PORT or HOST:PORT", "--otlp": "http://HOST:PORT or https://HOST:PORT"}
_WIDEST: Final = 32
"""Columns of the names; a longer one has its text on the next line."""
_TITLES: Final = "logreplay.help.titles"


class GroupedCommand(Configurable):
    """A command whose help lists its options in groups, and which knows those of other tools.

    ``--help`` shows the groups that most users need, ``--help-all`` every option.
    ``--live`` and ``--otlp`` may stand before an argument: only an address, or a URL, is their value.
    """

    def __init__(self, *args: Any, name: str, **named: Any) -> None:
        super().__init__(*args, name=name, **{"yields_to": gives_way(name), "needs": needed(name), **named})
        self._help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show every option.",
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, and ``--help-all`` beside ``--help``."""
        return [*super().get_params(ctx), self._help_all]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            check_words(self, ctx, args)
        self._check_pairs(args)
        alone = {}
        for index, word in enumerate(args[:-1]):
            if word == "--":
                break
            if word in _VALUES and not _VALUES[word].fullmatch(args[index + 1]):
                alone[word] = args[index + 1]
                args = [*args[:index], f"{word}={ALONE[word[2:]]}", *args[index + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except UnexpectedArgument as error:
            more = "".join(
                f"; if {value!r} is meant for {name}, write {_WANTED[name]}"
                for name, value in alone.items()
                if not value.startswith("-")
            )
            raise UnexpectedArgument(error.message + more, ctx) from None

    def _check_pairs(self, args: Sequence[str]) -> None:
        """Check that an option of two values has both: click would take the next option for the second."""
        pairs = {name: each for each in self.params if each.nargs == 2 for name in each.opts}
        for index, word in enumerate(args):
            if word == "--":
                break
            values = [*args[index + 1 : index + 3], "-", "-"][:2]
            if word in pairs and any(value.startswith("-") for value in values):
                one = "" if values[0].startswith("-") else f", and {values[0]} is one"
                raise click.UsageError(f"{word} takes two values, {pairs[word].metavar}{one}: give both")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups, the text of all in one column."""
        shown = ctx.meta.get(_TITLES, SHOWN_FIRST)
        groups = [(title, records) for title, records in sections(self, ctx) if title in shown]
        widest = max(len(names) for _, records in groups for names, _ in records if len(names) <= _WIDEST)
        for title, records in groups:
            with formatter.section(title):
                formatter.write_dl([(names.ljust(widest), text) for names, text in records], col_max=_WIDEST)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where settings come from; last, where the other groups are."""
        super().format_epilog(ctx, formatter)
        left = [title for title, _ in sections(self, ctx) if title not in ctx.meta.get(_TITLES, SHOWN_FIRST)]
        if left:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows every option, also these groups: {', '.join(left)}.")


def _show_all(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[_TITLES] = frozenset(GROUPS)
    show_help(ctx, option, wanted)


def sections(command: click.Command, context: click.Context) -> Iterator[tuple[str, Sequence[Record]]]:
    """The options of a command as its help shows them: the title of each group, and its records."""
    records = {
        "help" if "--help" in parameter.opts else parameter.name or "": record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    }
    if not isinstance(command, GroupedCommand):
        yield "Options", list(records.values())
        return
    name = command.name or ""
    for title, options in grouped(name, [each for each in options_of(name) if name not in each.refused]).items():
        shown = [records[option.name] for option in options]
        yield title, [*shown, records["help"], records["help_all"]] if title == "Output" else shown
