"""``logreplay control``: changes the load of a run."""

from pathlib import Path

import click

from logreplay.cli.display.terminal import print_text


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("place", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", metavar="ORDER", nargs=-1, required=True)
def control(place: Path, words: tuple[str, ...]) -> None:
    """Change the load of the run that was started with run --control DIR.

    \b
    ORDER is one of
      raise 20%   send 20 % more
      lower 20%   send 20 % less
      rate 150    send 150 requests/s (a run with --tps)
      speed 2     replay twice as fast as the log (a run with --speed)
      pause       send nothing
      continue    send as before the pause
      end         end the run now; its rows are kept, its exit code is 130

    A change takes effect on the next whole second of the run and begins a step of the result log; end takes effect at
    once. A pause moves the schedule: requests that would be due in it are sent after it, at the same rate. The rate
    stays between a thousandth and ten times the one that the run began with. Only the user who started the run may
    change it.

    \b
    Example:
      logreplay run access.log http://127.0.0.1:8080 --tps 100 --control load
      logreplay control load raise 20%
    """
    from logreplay.controlling import control as give
    from logreplay.core.errors import UsageError

    try:
        print_text(give(place, " ".join(words)))
    except UsageError as error:
        raise click.UsageError(str(error)) from None
