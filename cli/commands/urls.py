"""``logreplay urls``: the cross product of lists as a normalized CSV."""

from collections.abc import Sequence
from pathlib import Path

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.core.plural import number_of


@click.command(cls=Configurable)
@click.argument("templates", nargs=-1, required=True, metavar="TEMPLATE...")
@options
def urls(templates: Sequence[str], variables: Sequence[str], output: str, force: bool, quiet: bool) -> int:
    """Write a request for every combination of values as a normalized CSV that can be replayed.

    TEMPLATE is /path/{name} or http://{host}/path/{name}. The host goes into the column host; run --host log sends
    it. Several templates are written one after the other, each with the variables it names.

    \b
    Examples:
      logreplay urls '/projects/{project}/widgets/{widget}' --var project=@projects.txt --var widget=1..9
      logreplay urls 'http://{host}/' 'http://{host}/item/{n}' --var host=a.example,b.example --var n=1..1000
    """
    from logreplay.core.errors import LogreplayError
    from logreplay.core.files import atomic_path, check_distinct
    from logreplay.replay.requests.url_rows import write_frames
    from logreplay.replay.requests.url_templates import Templates, Values, values

    named: dict[str, Values] = {}
    for variable in variables:
        name, equals, text = variable.partition("=")
        if not equals or not name.isidentifier() or name in named:
            raise click.BadParameter(f"{variable!r}: write NAME=VALUES, each NAME once", param_hint="--var")
        try:
            named[name] = values(text)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--var") from None
    try:
        product = Templates(templates, named)
        next(product.frames())  # says what is wrong before a file is made
    except (ValueError, LogreplayError) as error:
        raise click.BadParameter(str(error).removeprefix("TEMPLATE "), param_hint="TEMPLATE") from None
    if output == "-":
        with click.open_file(output, "wb") as file:
            file.writelines(write_frames(product.frames()))
    else:
        files = [text.partition("=")[2] for text in variables]
        check_distinct([("-o", Path(output))], [("--var", name[1:]) for name in files if name.startswith("@")])
        with atomic_path(Path(output), force=force) as fresh, fresh.open("wb") as file:
            file.writelines(write_frames(product.frames()))
    say(f"{number_of(product.count, 'request')}: {output}", quiet=quiet)
    return Exit.OK
