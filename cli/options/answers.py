"""Options that say how the answers of two targets are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from logreplay.cli.options.groups import bundle
from logreplay.cli.options.types import Whole

if TYPE_CHECKING:
    from logreplay.analysis.answers.rules import Rules

_KEPT: Final = 10


def _ignored(_context: click.Context, _option: click.Parameter, words: Sequence[str]) -> Sequence[str]:
    """Check the words of ``--ignore``."""
    if words:
        from logreplay.analysis.answers.rules import Rules

        try:
            Rules.of(words)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """How answers are compared, as the user asked for it."""

    ignore: Sequence[str] = ()
    keep: int | None = None

    @property
    def examples(self) -> int:
        """Differing pairs of each route to show."""
        return _KEPT if self.keep is None else self.keep

    @property
    def given(self) -> str:
        """An option that the user gave; empty for none."""
        return "--ignore" if self.ignore else "--keep" if self.keep is not None else ""

    @property
    def rules(self) -> "Rules":
        """The rules of ``--ignore``."""
        from logreplay.analysis.answers.rules import Rules

        return Rules.of(self.ignore)

    def said(self) -> dict[str, Any]:
        """What the user said, for the summary."""
        return {"ignore": list(self.ignore)} if self.ignore else {}


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
        help=f"Show N differing pairs of each route in report.html and pairs.jsonl; 0: none.  [default: {_KEPT}]",
    ),
)
comparing_options = bundle("comparing", Comparing, _OPTIONS)
"""Gives a command the options of comparing answers; it receives them as one ``comparing``."""
