"""Options that set target permission, HTTP client, workers and limits of everything that sends."""

from pathlib import Path

import click

from logreplay.cli.options import sessions
from logreplay.cli.options.groups import bundle
from logreplay.cli.options.types import DURATION, ParsedType, Whole
from logreplay.options.sender_rules import KEPT, SenderRules, late, methods

_OPTIONS = (
    click.option(
        "--timeout", type=DURATION, default="30s", show_default=True, metavar="D", help="Fail a request after D."
    ),
    click.option("--max-in-flight", type=Whole(1), metavar="N", help="Limit requests in flight.  [default: no limit]"),
    click.option(
        "--late",
        type=ParsedType(late),
        default="send",
        show_default=True,
        metavar="send|drop:D",
        help="Send late requests, or drop those later than D.",
    ),
    click.option(
        "--methods",
        "--method",
        "methods",
        type=ParsedType(methods, "methods"),
        default="GET,HEAD",
        show_default=True,
        metavar="LIST",
        help="Send only these methods.",
    ),
    click.option(
        "--allow-target",
        multiple=True,
        metavar="HOST",
        help="Permit load on HOST. Repeatable.  [default: this machine only]",
    ),
    click.option(
        "--no-keep-alive", "keep_alive", flag_value=False, default=True, help="Open a new connection for each request."
    ),
    click.option(
        "--http",
        type=click.Choice(["1.1", "2", "log"]),
        default="1.1",
        show_default=True,
        help="Version of HTTP; log: that of each request in LOG.",
    ),
    click.option("--connections", type=Whole(1, 10_000), metavar="N", help="With HTTP/2: open at most N."),
    click.option("--streams", type=Whole(1), metavar="M", help="With HTTP/2: M requests at once on each."),
    click.option("--digest/--no-digest", default=None, help="Write a hash of each response to the column digest."),
    click.option("--by-client", is_flag=True, help="Give each client of LOG one connection; keep its order."),
    click.option("-k", "--insecure", is_flag=True, help="Do not verify certificates (https)."),
    click.option(
        "--cacert", type=click.Path(path_type=Path), metavar="FILE", help="Trust only the certificates in FILE."
    ),
    click.option(
        "--sender", type=click.Choice(["wire", "aiohttp", "h2"]), default="wire", show_default=True, help="HTTP client."
    ),
    click.option(
        "--workers", type=Whole(1, 1000), metavar="N", help="Send from N processes.  [default: as many as needed]"
    ),
    click.option("--cluster", metavar="ADDRESS", help="Send from a Dask cluster: tcp://HOST:8786, or local:N."),
    *sessions.SESSION_OPTIONS,
    click.option("--show-secrets", is_flag=True, help="Do not mask tokens, passwords and cookies in output."),
)
YIELDS_TO = {
    **sessions.YIELDS_TO,
    "by_client": {"sender=aiohttp", "sender=h2", "connections", "keep_alive=False"},
    "connections": {"by_client"},
    "http=2": {"sender=aiohttp"},
    "http=1.1": {"sender=h2"},
    "http=log": {"sender=aiohttp", "sender=h2", *KEPT},
    "sender=aiohttp": {"by_client", "http=2", "http=log"},
    "sender=h2": {"by_client", "http=1.1", "http=log"},
    "streams": {"keep_alive=False", *KEPT},
    "keep_alive=False": {"streams", "by_client"},
    "insecure": {"cacert"},
    "cacert": {"insecure"},
}
NEEDS = {
    **sessions.NEEDS,
    "sender=h2": {"http=2"},
    "connections": {"http=2", "http=log"},
    "streams": {"http=2", "http=log"},
}
sending_options = bundle("sender_rules", SenderRules, _OPTIONS)
"""Gives a command the options of sending; it receives them as one ``sender_rules``."""
