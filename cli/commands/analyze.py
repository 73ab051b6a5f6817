"""``logreplay analyze``: tables, pictures and a report from any result log."""

from contextlib import suppress
from pathlib import Path

import click

from logreplay.cli.display.terminal import say, say_finding
from logreplay.cli.options.cluster import cluster_option
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.settings.share import share_option
from logreplay.result_folder import place_for
from logreplay.runs.engines import cluster_executor


@click.command(cls=Configurable)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write to this folder.  [default: RESULTS if a folder, else analyze-TIME]",
)
@click.option("--no-plots", is_flag=True, help="Write tables and summary without pictures.")
@click.option("--force", is_flag=True, help="Write into an existing folder.")
@share_option
@cluster_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout instead of tables.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print progress and the answer on stderr.")
def analyze(
    results: Path, output: Path | None, no_plots: bool, force: bool, cluster: str | None, as_json: bool, quiet: bool
) -> None:
    """Find the rate at which the target saturates, and say whether the run is valid.

    RESULTS is a result log, or the folder of a sweep. Of a folder, the files that it lacks are written into it.

    \b
    Example: logreplay analyze results.csv -o report
    """
    from logreplay.analysis.input import sources
    from logreplay.analysis.output.folder import write_folder
    from logreplay.cli.display.tables import print_summary

    path = sources.locate(results)
    inside = output is None and results.is_dir()
    folder = results if inside else place_for(output, _made if output is None else Path if force else _free, "analyze")
    with cluster_executor(cluster) as executor:
        summary, steps = write_folder(path, folder, plots=not no_plots, executor=executor)
    if as_json:
        import json

        click.echo(json.dumps(summary, indent=2))
    else:
        print_summary(summary, steps)
    for finding in summary["findings"]:
        if finding["text"] != summary["answer"]:
            say_finding(finding["severity"], finding["text"], quiet=quiet)
    say(f"{summary['answer']}\n{folder}", quiet=quiet)


def _made(folder: Path) -> Path:
    """Make a folder, which is removed if it is empty when the command ends.

    Raises:
        TakenError: another command made it.
        LogreplayError: it cannot be made.
    """
    from logreplay.core.files import TakenError, unwritable

    try:
        folder.mkdir()
    except FileExistsError:
        raise TakenError(f"{folder}: exists already; choose another with -o") from None
    except OSError as error:
        raise unwritable(folder, error) from None

    def remove() -> None:
        with suppress(OSError):
            folder.rmdir()

    click.get_current_context().call_on_close(remove)
    return folder


def _free(folder: Path) -> Path:
    """Return a folder that is empty or not there.

    Raises:
        TakenError: it holds something.
    """
    from logreplay.core.files import check_absent

    if not (folder.is_dir() and not any(folder.iterdir())):
        check_absent(folder)
    return folder
