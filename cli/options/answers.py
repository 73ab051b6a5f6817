"""Options that say how the answers of two targets are compared."""

from collections.abc import Sequence

import click

from logreplay.cli.options.groups import bundle
from logreplay.cli.options.types import Whole
from logreplay.options.answer_rules import KEPT, AnswerRules


def _ignored(_context: click.Context, _option: click.Parameter, words: Sequence[str]) -> Sequence[str]:
    """Check the words of ``--ignore``."""
    if words:
        from logreplay.analysis.answers.rules import Rules

        try:
            Rules.of(words)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return words


_OPTIONS = (
    click.option(
        "--ignore",
        multiple=True,
        metavar="PLACE",
        callback=_ignored,
        help="Ignore differences in PLACE: a JSON path, header:NAME, line:TEXT, order:PATH, status, size or body. "
        "Repeatable.",
    ),
    click.option(
        "--keep",
        type=Whole(0, 1000),
        metavar="N",
        help=f"Show N differing pairs of each route in report.html and pairs.jsonl; 0: none.  [default: {KEPT}]",
    ),
)
comparing_options = bundle("answer_rules", AnswerRules, _OPTIONS)
"""Gives a command the options of comparing answers; it receives them as one ``answer_rules``."""
