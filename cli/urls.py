"""``logreplay urls``: the cross product of lists as a normalized CSV."""

from collections.abc import Sequence

import click

from logreplay.cli.exit_codes import Exit
from logreplay.cli.inputs import say


@click.command(short_help="A list of requests from a template.")
@click.argument("template")
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values for {NAME}: a,b,c or 1..9 or @FILE with one a line. Repeatable; the last changes fastest.",
)
@click.option("-o", "--output", default="urls.csv", show_default=True, help="CSV to write; -: standard output.")
@click.option("--force", is_flag=True, help="Overwrite an existing OUTPUT.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def urls(template: str, variables: Sequence[str], output: str, force: bool, quiet: bool) -> int:
    """Write a request for every combination of values as a normalized CSV that can be replayed.

    TEMPLATE is /path/{name} or http://{host}/path/{name}; the host goes into the column of that name, which
    run --host log sends.

    \b
    Example:
      logreplay urls '/projects/{project}/widgets/{widget}' --var project=@projects.txt --var widget=1..9
    """
    from logreplay.parsers.record import LogreplayError
    from logreplay.replay.urls import expand, to_normalized, values

    named: dict[str, Sequence[str]] = {}
    for variable in variables:
        name, equals, text = variable.partition("=")
        if not equals or not name.isidentifier() or name in named:
            raise click.BadParameter(f"{variable!r}: write NAME=VALUES, each NAME once", param_hint="--var")
        try:
            named[name] = values(text)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--var") from None
    count = 1
    for choices in named.values():
        count *= len(choices)
    try:
        next(expand(template, named))  # says what is wrong before a file is made
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TEMPLATE") from None
    try:
        with click.open_file(output, "wb" if force or output == "-" else "xb") as file:
            file.writelines(to_normalized(expand(template, named)))
    except FileExistsError:
        raise LogreplayError(
            f"{output}: exists already; choose another name with -o, or overwrite it with --force"
        ) from None
    say(f"{count:,} requests: {output}", quiet=quiet)
    return Exit.OK
