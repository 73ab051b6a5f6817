"""``logreplay urls``: the cross product of lists as a normalized CSV."""

from collections.abc import Sequence

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
    from logreplay.command_tasks.url_lists import urls_once

    count = urls_once(templates, variables, output, force=force)
    say(f"{number_of(count, 'request')}: {output}", quiet=quiet)
    return Exit.OK
