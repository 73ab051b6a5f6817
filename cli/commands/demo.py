"""``logreplay demo``: conversion, target and sweep with the bundled log, in under a minute."""

from pathlib import Path

import click

from logreplay.calling.stopping import stop_rule
from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.running.reporting import report_sweep
from logreplay.cli.running.sweep import limited_steps
from logreplay.cli.running.sweep_runner import sweep_into
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.settings.share import share_option
from logreplay.inputs.logs import BUNDLED, bundled_log
from logreplay.options.request_rules import INDEPENDENT, RequestRules, arriving
from logreplay.options.sender_rules import SenderRules
from logreplay.runs.result_files import ResultFolder

RATES = (50.0, 100.0, 150.0, 200.0, 225.0, 250.0, 275.0, 300.0)
STEP_SECONDS = 4.0


@click.command(cls=Configurable)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write to this folder.  [default: demo-TIME]"
)
@click.option("--http", type=click.Choice(["1.1", "2"]), default="1.1", show_default=True, help="Version of HTTP.")
@click.option("--force", is_flag=True, help="Replace an existing result.")
@share_option
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def demo(output: Path | None, http: str, force: bool, quiet: bool) -> int:
    """Convert the bundled log, start a target that carries 250 requests/s, and sweep past its saturation.

    \b
    Example:
      logreplay demo -o demo
    """
    from logreplay.analysis.summary import About
    from logreplay.parsers.conversion.job import ConvertOptions, convert
    from logreplay.replay.requests.plan import Requests
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import spawned
    from logreplay.replay.sweeps.manifest import Manifest
    from logreplay.replay.sweeps.steps import Course

    place = click.get_current_context().with_resource(ResultFolder.named(output, "demo", force=force))
    csv, capacity = place.path / "access.csv", ServerCapacity()
    with bundled_log() as log:
        converted = convert([log], csv, ConvertOptions(force=force))
    say(f"1. converted {BUNDLED}, the log of a real nginx: {converted.sentence()}", quiet=quiet)
    with spawned(csv, capacity) as url:
        say(f"2. started a target at {url}: {capacity}", quiet=quiet)
        rates = " ".join(f"{rate:g}" for rate in RATES)
        say(f"3. replaying the log at {rates} requests/s, {STEP_SECONDS:g} s each", quiet=quiet)
        course = Course(RATES, STEP_SECONDS)
        manifest, requests = Manifest(place.path, {}), Requests(csv)
        at = arriving(INDEPENDENT, requests, RequestRules())
        outcomes, _ = sweep_into(
            manifest,
            requests,
            url,
            course,
            SenderRules(http=http),
            stop_rule(()),
            at=at,
            terminal=Terminal(quiet=quiet),
        )
    folder = place.keep()
    said = {"rates": list(RATES), "arrivals": INDEPENDENT, "for": STEP_SECONDS, "http": http}
    about = About(BUNDLED, url, said, limited=limited_steps(manifest, outcomes))
    valid = report_sweep(folder, about, quiet=quiet)
    say(f"look at {folder / 'report.html'}, {folder / 'hockeystick.png'}", quiet=quiet)
    if any(outcome.stopped for outcome in outcomes):
        say(f"interrupted: {len(manifest.done)} of {len(RATES)} rates are done", quiet=quiet)
        return Exit.INTERRUPTED
    return Exit.OK if valid else Exit.INVALID
