"""Options that let clients keep something between their requests: cookies, logins, values of answers."""

from typing import TYPE_CHECKING, Final

import click

from logreplay.cli.options.types import ParsedType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logreplay.cli.options.requests import Shaping
    from logreplay.cli.options.sender import Sending

SESSION_OPTIONS: Final = (
    click.option("--cookies", is_flag=True, help="With --by-client: send back the cookies that TARGET sets."),
    click.option(
        "--login",
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
KEPT: Final = ("cookies", "login", "extract", "use")
"""The options by which a client keeps something."""
YIELDS_TO: Final = {name: {"streams", "sender=aiohttp", "sender=h2", "http=log"} for name in KEPT}
NEEDS: Final = {name: {"by_client"} for name in (*KEPT, "client_key")}


def given(sending: "Sending") -> str:
    """The first of the options that was given; empty if none was."""
    return next((f"--{name}" for name in KEPT if getattr(sending, name)), "")


def conflicts(sending: "Sending", shaping: "Shaping") -> "Iterator[str]":
    """Sentences on options that contradict these, or lack another one."""
    option = given(sending)
    for name in filter(None, (option, shaping.client_key and "--client-key")):
        if sending.sender != "wire":
            yield f"{name} and --sender {sending.sender} exclude each other: only --sender wire keeps clients apart"
        if not sending.by_client:
            yield f"{name} needs --by-client: without it, requests belong to no client"
    if option and sending.http == "log":
        yield f"{option} and --http log exclude each other: the session of a client belongs to one connection"
    if option and sending.streams:
        yield f"{option} and --streams exclude each other: a client with a session has one request at a time"
    extracted, used = ({rule.name for rule in rules} for rules in (sending.extract, sending.use))
    for name in sorted(used - extracted):
        yield f"--use {name} needs --extract {name}=...: nothing else has a value of this name"
    for name in sorted(extracted - used):
        yield f"--extract {name} needs --use {name}=...: nothing else takes a value of this name"
    fixed = {header.name.lower() for header in shaping.header}
    for rule in sending.use:
        if rule.kind == "header" and rule.where.lower() in fixed:
            yield (
                f"--use {rule.name}=header:{rule.where} and --header '{rule.where}: ...' exclude each other: "
                "a request has one of them; leave one out"
            )
