"""Commands that read or make logs and send nothing: ``convert``, ``inspect``, ``urls``."""

import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from logreplay.cli.display.progress_bar import bar
from logreplay.cli.display.terminal import print_json, print_result, print_text, say, say_losses
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.core.files import removed_if_empty
from logreplay.core.installation import OWN_PROCESS
from logreplay.core.masking import masked, terminal_safe
from logreplay.core.plural import number_of
from logreplay.options.clashes import gives_way

if TYPE_CHECKING:
    from logreplay.log_inspection import InspectResult
    from logreplay.parsers.conversion.report import ConvertReport

_M_ARENA_MAX: Final = -8
"""Number of the option in <malloc.h>."""
_ROUTES: Final = 10


@click.command(cls=Configurable, yields_to=gives_way("convert"))
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@options
def convert(logs: tuple[str, ...], output: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Convert access logs and captured requests to the normalized CSV that the other commands read.

    Several logs become one CSV in order of time. They may be plain or compressed (gz, bz2, xz, zst), and lie in a store
    (s3://, gs://, https://); - is standard input. Normalized CSVs, result logs and Parquet files are merged in the same
    way. A .rejects file beside the CSV keeps the lines that cannot be replayed or understood: number, reason, tab, the
    line.

    logreplay detects the format of each log from its content. Names for -f: combined, common, vhost_combined,
    combinedio, nginx-main, nginx-combined-timed (with $request_time), nginx-ingress, npm, npmplus, apache-combined-us
    (with %D), apache-combined-s-us (with %T/%D), json, ltsv, w3c, cloudfront, caddy, traefik, traefik-clf, envoy,
    envoy-json, istio, kong, haproxy, aws-alb, aws-elb, aws-s3, google-cloud, cloudflare, azure-gateway,
    azure-front-door, ecs, atlassian, bitbucket, pias, urls; docs/formats.md has all. Captured requests: har, gor,
    mitmproxy, envoy-tap, warc, vegeta; their bodies go to NAME.bodies.zst beside the CSV.

    \b
    Examples:
      logreplay convert access.log.1.gz access.log -o access.csv
      logreplay convert monday.csv tuesday.csv -o week.parquet
      logreplay convert session.har --to k6
      logreplay convert 's3://logs/2026-11-*.gz' -o november.csv
      logreplay convert access.log -f /etc/nginx/nginx.conf#timed
      logreplay convert access.log -f '$remote_addr [$time_local] "$request" $status $request_time'
    """
    if OWN_PROCESS.claimed:
        _use_one_thread_each()
        _use_one_heap()
    from logreplay.conversion import convert_once
    from logreplay.core.errors import LogreplayError, TooManyRejects

    if as_json and output == "-":
        raise click.UsageError("--json and -o - exclude each other: both write to standard output")
    try:
        with bar("converting", quiet=quiet) as update:
            result = convert_once(logs, output, update, **given)
    except TooManyRejects as error:
        say(f"Error: {masked(terminal_safe(str(error)))}")
        return Exit.CONDITION
    if as_json:
        print_json(result.summary, indent=None)
    if not quiet:
        _tell(result.report)
    else:
        say_losses(result.report)
    if result.nothing:
        raise LogreplayError(result.nothing)
    return Exit.OK


def _use_one_thread_each() -> None:
    """Let Polars use one thread: blocks are parsed side by side, and more in each would be in each other's way."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")


def _use_one_heap() -> None:
    """Let the threads share one heap of glibc, where blocks that one has freed serve the others: 30 MB less in all."""
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _tell(report: "ConvertReport") -> None:
    share = "all" if report.share == 1 else f"{report.share:.1%}"
    if report.unit == "lines":
        say(f"format: {report.format} ({share} of the sampled lines fit)")
    else:
        say(f"format: {report.format}")
    for reason, count in report.reasons.most_common():
        places = [
            f"{name}:{number}" if report.files > 1 else f"{number}"
            for name, number, why in report.first_bad
            if why == reason
        ]
        more = ", …" if count > len(places) else ""
        say(terminal_safe(f"{count:>10,} {reason} ({report.unit.removesuffix('s')} {', '.join(places)}{more})"))
    for note in report.notes:
        say(f"note: {note}")
    say(report.sentence())
    where = report.output if report.output != "-" else "standard output"
    if files := ", ".join(filter(None, (where, report.bodies, report.rejects))):
        say(terminal_safe(files))


@click.command(cls=Configurable)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@options
def inspect(logs: tuple[str, ...], output: Path | None, force: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """Describe a log before it is replayed: rates and peaks, bursts, routes, clients, and the commands that replay it.

    LOG is whatever convert reads: an access log, plain or compressed, captured requests, or a normalized CSV. It is
    read once; nothing is written without -o. Hours are those of --timezone. The busiest minute and hour may begin with
    any second. -o DIR keeps report.html, summary.json and tables as CSV: seconds, hours, week, routes, clients, agents.

    \b
    Examples:
      logreplay inspect access.log
      logreplay inspect access.log.*.gz --timezone Europe/Berlin -o what-comes
    """
    if OWN_PROCESS.claimed:
        _use_one_thread_each()
    from logreplay.log_inspection import NoRequest, check_place, inspect_once

    if output:
        check_place(output, force=force)
    with removed_if_empty(output) if output else nullcontext():  # it can be written, before hours of reading
        with bar("reading", quiet=quiet) as update:
            try:
                found = inspect_once(logs, given, update)
            except NoRequest as error:
                if as_json:
                    print_json(error.summary)
                raise
        if output:
            found.save(output, force=force)
        if as_json:
            print_json(found.summary)
        elif quiet:
            say_losses(found.report)
        else:
            (print_text if output else print_result)("\n".join(map(terminal_safe, _lines(found))))
        if output:
            say(f"{output / 'report.html'}", quiet=quiet)
    return Exit.OK


def _lines(found: "InspectResult") -> list[str]:
    report = found.report
    lines = [f"{', '.join(found.logs)}: {report.sentence()}; format {report.format}"]
    lines += [f"  {name:<14} {text}" for name, text in found.facts]
    routes = found.profile.routes.head(_ROUTES)
    lines += [
        f"  {'routes' if not at else '':<14} {row['share'] * 100:>5.1f} %  {row['method']} {masked(row['route'])}"
        for at, row in enumerate(routes.iter_rows(named=True))
    ]
    lines += [f"  {'not replayed':<14} {count:,} {reason}" for reason, count in report.reasons.most_common()]
    for replay in found.replays:
        lines += ["", f"{replay.command}", f"  measures {replay.gives}"]
        lines += [f"  leaves out {text}" for text in replay.lacks]
    if found.missing:
        lines += ["", "all of them leave out", *(f"  {text}" for text in found.missing)]
    return lines


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
    from logreplay.command_tasks import urls_once

    count = urls_once(templates, variables, output, force=force)
    say(f"{number_of(count, 'request')}: {'standard output' if output == '-' else output}", quiet=quiet)
    return Exit.OK
