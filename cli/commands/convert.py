"""``logreplay convert``: access logs → normalized CSV."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from logreplay.cli.display.progress_bar import Bar
from logreplay.cli.display.terminal import on_terminal, print_json, say, say_losses
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.core.masking import masked, terminal_safe
from logreplay.options.clashes import gives_way

if TYPE_CHECKING:
    from logreplay.parsers.conversion.report import ConvertReport

_M_ARENA_MAX: Final = -8
"""Number of the option in <malloc.h>."""


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
    envoy-json, haproxy, aws-alb, aws-elb, aws-s3, atlassian, bitbucket, pias, urls; docs/formats.md has all. Captured
    requests: har, gor, mitmproxy, envoy-tap, warc, vegeta; their bodies go to NAME.bodies.zst beside the CSV.

    \b
    Examples:
      logreplay convert access.log.1.gz access.log -o access.csv
      logreplay convert monday.csv tuesday.csv -o week.parquet
      logreplay convert session.har --to k6
      logreplay convert 's3://logs/2026-11-*.gz' -o november.csv
      logreplay convert access.log -f /etc/nginx/nginx.conf#timed
      logreplay convert access.log -f '$remote_addr [$time_local] "$request" $status $request_time'
    """
    # blocks are parsed side by side, each by one thread; more threads inside each would be in each other's way
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    _use_one_heap()
    from logreplay.conversion import ConvertCall, convert_once
    from logreplay.core.errors import LogreplayError, TooManyRejects

    call = ConvertCall.of(logs, output, **given)
    if as_json and call.output == "-":
        raise click.UsageError("--json and -o - exclude each other: both write to standard output")
    try:
        with Bar("converting", shown=not quiet and on_terminal()) as bar:
            result = convert_once(call, bar.update)
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
