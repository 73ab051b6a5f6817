"""Options that let clients keep something between their requests: cookies, logins, values of answers."""

from typing import Final

import click

from logreplay.cli.options.types import Once, ParsedType
from logreplay.options.sender_rules import KEPT

SESSION_OPTIONS: Final = (
    click.option("--cookies", is_flag=True, help="With --by-client: send back the cookies that TARGET sets."),
    click.option(
        "--login",
        cls=Once,
        type=ParsedType("replay.sessions.logins:LoginFile.parse", "path"),
        metavar="FILE",
        help="With --by-client: send each client's login in FILE (client,op,url,body) first.",
    ),
    click.option(
        "--extract",
        type=ParsedType("replay.sessions.extraction:Extraction.parse"),
        multiple=True,
        metavar="NAME=header:…|json:…|regex:…",
        help="With --by-client: take a value from responses. Repeatable.",
    ),
    click.option(
        "--use",
        type=ParsedType("replay.sessions.insertion:Insertion.parse"),
        multiple=True,
        metavar="NAME=header:…|param:…|body:…",
        help="Put an extracted value into the client's later requests. Repeatable.",
    ),
)
YIELDS_TO: Final = {name: {"streams", "sender=aiohttp", "sender=h2", "http=log"} for name in KEPT}
NEEDS: Final = {name: {"by_client"} for name in (*KEPT, "client_key")}
