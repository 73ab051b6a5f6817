"""Groups of options in the help of ``run``, ``sweep`` and ``find``, the most used first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from logreplay.cli.options.other_tools import check_words
from logreplay.cli.options.progress import WithLive

Record = tuple[str, str]
"""The names of an option, and its help."""

_FIRST: Final[Mapping[str, Sequence[str]]] = {
    "run": ("tps", "speed", "duration", "output", "allow_target"),
    "sweep": ("duration", "warmup", "repeat", "output", "allow_target"),
    "find": ("p99", "max_errors", "tps", "output", "allow_target"),
    "duet": ("tps", "speed", "duration", "output", "allow_target"),
}
_GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "Bounds": ("p50", "p90", "p95", "p999", "p9999", "p99999", "mean", "max"),
    "Load": (
        *("ramp", "steps", "vusers", "follow", "arrivals", "think", "delay", "requests", "loop", "skip_idle"),
        *("settle", "order", "refine", "start", "max_tps", "precision", "trial_s", "alternate", "noise"),
    ),
    "Requests": (
        *("match", "exclude", "status", "methods", "sample", "beginning", "shuffle", "random", "seed", "restart"),
        *("rewrite", "param", "header", "host", "agent", "referer", "no_cache", "body", "inject", "auth", "hook"),
    ),
    "Connection": (
        *("timeout", "max_in_flight", "late", "keep_alive", "by_client", "insecure", "cacert", "sender"),
        *("http", "connections", "streams", "demo_target"),
    ),
    "Sessions": ("client_key", "cookies", "login", "extract", "use"),
    "Stop conditions": ("stop_at", "crash", "keep_going", "trials", "budget"),
    "Comparison": ("ignore", "keep", "fail_above", "fail_different"),
    "Output": (
        *(
            "force",
            "share",
            "junit",
            "history",
            "resume",
            "dry_run",
            "verbose",
            "debug",
            "quiet",
            "as_json",
            "classic",
            "no_plots",
        ),
        *("digest", "show_secrets", "help"),
    ),
    "Live": ("live", "metrics", "progress", "watch"),
    "Several machines": ("workers", "cluster"),
}
REFUSED: Final[Mapping[str, Sequence[str]]] = {"duet": ("vusers", "think", "cluster")}
"""Options that a command takes only to say why it refuses them."""
_WIDEST: Final = 32
"""Columns of the names; a longer one has its text on the next line."""


class GroupedCommand(WithLive):
    """A command whose help lists its options in groups, and which knows those of other tools."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            check_words(self, ctx, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups, the text of all in one column."""
        groups = [(title, list(records)) for title, records in sections(self, ctx)]
        widest = max(len(names) for _, records in groups for names, _ in records if len(names) <= _WIDEST)
        for title, records in groups:
            with formatter.section(title):
                formatter.write_dl([(names.ljust(widest), text) for names, text in records], col_max=_WIDEST)


def sections(command: click.Command, context: click.Context) -> Iterator[tuple[str, Sequence[Record]]]:
    """The options of a command as its help shows them: the title of each group, and its records."""
    refused = REFUSED.get(command.name or "", ())
    records = {
        "help" if "--help" in parameter.opts else parameter.name or "": record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        and parameter.name not in refused
        and (record := parameter.get_help_record(context))
    }
    first = _FIRST.get(command.name or "", ()) if isinstance(command, GroupedCommand) else ()
    if first:
        groups = {"Most used": first, **_GROUPS}
        for title, names in groups.items():
            if among := [records.pop(name) for name in names if name in records]:
                yield title, among
    if records:
        yield "Other options" if first else "Options", list(records.values())
