"""Writes the cross product of lists as a normalized CSV."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import atomic_path, check_distinct

if TYPE_CHECKING:
    from logreplay.replay.requests.url_templates import Values


_OTHERS: Final = (".gz", ".zst", ".parquet", ".pias", ".gor", ".har")
"""Endings of other formats than plain CSV, for the commands that read a log."""


def urls_once(templates: Sequence[str], variables: Sequence[str], output: str, *, force: bool) -> int:
    """Write a request for every combination of values; return how many there are.

    Args:
        templates: paths or urls with ``{name}``.
        variables: ``NAME=VALUES`` each.
        output: the file; ``-``: standard output.
        force: replace an existing file.

    Raises:
        UsageError: a template or a variable is wrong, or the file's name says another form than CSV.
        TakenError: the file exists, and ``force`` was not given.
        LogreplayError: the file cannot be written.
    """
    from logreplay.replay.requests.url_rows import write_frames
    from logreplay.replay.requests.url_templates import Templates

    if output.lower().endswith(_OTHERS):
        raise UsageError(f"Invalid value for -o: {output!r}: urls writes plain CSV; end the name in .csv")
    named = _named(variables)
    try:
        product = Templates(templates, named)
        next(product.frames())  # says what is wrong before a file is made
    except (ValueError, LogreplayError) as error:
        raise UsageError(f"Invalid value for TEMPLATE: {str(error).removeprefix('TEMPLATE ')}") from None
    if output == "-":
        sys.stdout.buffer.writelines(write_frames(product.frames()))
        sys.stdout.buffer.flush()
        return product.count
    files = [text.partition("=")[2] for text in variables]
    check_distinct([("-o", Path(output))], [("--var", name[1:]) for name in files if name.startswith("@")])
    with atomic_path(Path(output), force=force) as fresh, fresh.open("wb") as file:
        file.writelines(write_frames(product.frames()))
    return product.count


def _named(variables: Sequence[str]) -> "dict[str, Values]":
    """The values of each variable."""
    from logreplay.replay.requests.url_templates import values

    named: dict[str, Values] = {}
    for variable in variables:
        name, equals, text = variable.partition("=")
        if not equals or not name.isidentifier() or name in named:
            raise UsageError(f"Invalid value for --var: {variable!r}: write NAME=VALUES, each NAME once")
        try:
            named[name] = values(text)
        except ValueError as error:
            raise UsageError(f"Invalid value for --var: {error}") from None
    return named
