"""Options that a command does not have: what to use in place of those of other load generators, and near names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from logreplay.core.plural import listed
from logreplay.options.table import options_of

_HERE: Final[Mapping[str, Mapping[str, str]]] = {
    "the duration": {"sweep": "--for D (of each step)", "find": "--budget D (of all trials)", "": "--for D"},
    "the rate": {"sweep": "RATES, such as 50..400,", "find": "--start R and --max-tps R", "": "--tps R"},
    "stages": {"run": "--steps R:D,…", "duet": "--steps R:D,…", "sweep": "RATES, such as 50,100,200,"},
    "the number of requests": {"run": "--requests N", "duet": "--requests N"},
    "users": {"run": "--vusers N", "sweep": "--vusers N,N", "find": "-c alone (find searches their number)"},
    "the pause of a user": {"run": "--think D", "sweep": "--think D", "find": "--think D"},
    "threads": {"": "--workers N"},
    "a list of URLs": {"": "the file as LOG"},
    "random URLs": {"": "--request-order random"},
    "the method": {"": "--methods LIST"},
    "a file with the body": {"": "--body FILE:COLUMN"},
    "credentials": {"": "--auth basic:FILE"},
    "a cookie": {"": "--header 'Cookie: …'"},
    "a script": {"": "--hook MODULE:FUNCTION"},
    "certificates": {"": "--cacert FILE"},
    "a client certificate": {"": "--cert FILE"},
    "its key": {"": "--key FILE"},
    "another address": {"": "--connect-to HOST:PORT:ADDR:PORT"},
    "source addresses": {"": "--local-address ADDR,…"},
    "no keep-alive": {"": "--no-keep-alive"},
    "HTTP/2": {"": "--http 2"},
    "changes of the load by hand": dict.fromkeys(("sweep", "find", "duet"), "logreplay run --control DIR"),
}
"""Option to use for each meaning, by command; "" stands for the others."""
FOREIGN: Final[Mapping[str, Mapping[str, str]]] = {
    "-c": {"users": "ab, hey, k6, siege, wrk"},
    "-d": {"the duration": "k6, wrk", "the pause of a user": "siege"},
    "-n": {"the number of requests": "ab, hey"},
    "-t": {"the duration": "ab, siege, Locust", "threads": "wrk"},
    "-z": {"the duration": "hey"},
    "-q": {"the rate": "hey"},
    "-R": {"the rate": "wrk2"},
    "-r": {"the number of requests": "siege"},
    "-u": {"users": "k6, Locust"},
    "-i": {"the number of requests": "k6", "random URLs": "siege"},
    "-f": {"a list of URLs": "siege"},
    "-s": {"stages": "k6", "a script": "wrk"},
    "-m": {"the method": "hey"},
    "-p": {"a file with the body": "ab"},
    "-D": {"a file with the body": "hey"},
    "-A": {"credentials": "ab"},
    "-a": {"credentials": "hey"},
    "-C": {"a cookie": "ab"},
    "-h2": {"HTTP/2": "hey"},
    "-disable-keepalive": {"no keep-alive": "hey"},
    "-keepalive": {"no keep-alive": "vegeta"},
    "-rate": {"the rate": "vegeta"},
    "-duration": {"the duration": "vegeta"},
    "-targets": {"a list of URLs": "vegeta"},
    "-max-workers": {"users": "vegeta"},
    "-root-certs": {"certificates": "vegeta"},
    "-cert": {"a client certificate": "vegeta"},
    "-key": {"its key": "vegeta"},
    "-connect-to": {"another address": "vegeta"},
    "--resolve": {"another address": "curl"},
    "-laddr": {"source addresses": "vegeta"},
    "--local-ips": {"source addresses": "k6"},
    "--interface": {"source addresses": "curl"},
    "--duration": {"the duration": "k6"},
    "--iterations": {"the number of requests": "k6"},
    "--rps": {"the rate": "k6"},
    "--stage": {"stages": "k6"},
    "--vus": {"users": "k6"},
    "--users": {"users": "Locust"},
    "--run-time": {"the duration": "Locust"},
    "--concurrent": {"users": "siege"},
    "--concurrency": {"users": "plow"},
    "--reps": {"the number of requests": "siege"},
    "--time": {"the duration": "siege"},
    "--threads": {"threads": "wrk"},
    "--control": {"changes of the load by hand": "run"},
    "--for": {"the duration": "run"},
    "--tps": {"the rate": "run"},
    "--rate": {"the rate": "run"},
}
"""Meanings of other tools' options, by tool; the last ones are those of other commands."""
_QUANTITY: Final = re.compile(r"\d[\d.]*[a-zA-Z%/]{0,3}")
_JOINED: Final = re.compile(r"(-[a-zA-Z])(\d.*)")


def uses(name: str, command: str) -> Iterator[tuple[str, str, str]]:
    """Yield what an option of other tools means, in which of them, and what a command has for it."""
    for meaning, tools in FOREIGN.get(name, {}).items():
        here = _HERE[meaning]
        if use := here.get(command, here.get("", "")):
            yield meaning, tools, use


def check_words(command: click.Command, ctx: click.Context, args: Sequence[str]) -> None:
    """Refuse options of other tools, which click does not know, or takes for others: ``-rate`` for ``-r``."""
    options = {
        name: option
        for option in command.get_params(ctx)
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }
    takes_rates = any(parameter.name == "rates" for parameter in command.params)
    for before, word, after in zip(("", *args), args, (*args[1:], ""), strict=False):
        if word == "--":
            return
        if before in options and not options[before].is_flag:
            continue  # a value
        name = word.partition("=")[0]
        if joined := _JOINED.fullmatch(word):
            name, after = joined.groups()
        if name not in options:
            fault = f"No such option {name!r}"
        elif options[name].is_flag and not takes_rates and _QUANTITY.fullmatch(after) and not Path(after).exists():
            fault = f"{name} {after}: {name} is {max(options[name].opts, key=len)} here, and takes no value"
        else:
            continue
        ways = [f"{use} for {meaning} ({tools})" for meaning, tools, use in uses(name, command.name or "")]
        if not ways and len(name) > 3 and f"-{name}" in options and name != "-help":
            ways = [f"-{name}"]
        if ways:
            raise click.UsageError(f"{fault}; use {' or '.join(ways)}", ctx)


def refusal(name: str, ctx: click.Context) -> str:
    """Say that a command has no option of this name, written with its dashes, and which option may be meant."""
    from logreplay.options.spelling import near_names  # only for an error

    shown = [each for each in ctx.command.get_params(ctx) if isinstance(each, click.Option)]
    if not name.startswith("--no-"):  # other hidden ones restore a default
        shown = [each for each in shown if not each.hidden]
    own = sorted({text for option in shown for text in (*option.opts, *option.secondary_opts)})
    near = near_names(name.removeprefix("--"), (text.removeprefix("--") for text in own))
    group = ctx.find_root().command
    commands = group.list_commands(ctx) if isinstance(group, click.Group) else []
    having = [other for other in commands if name in _names(other)]
    hints = [f"{listed(having)} {'has' if len(having) == 1 else 'have'} it"] if having else []
    hints += [f"did you mean {' or '.join(f'--{each}' for each in near)}?"] if near else []
    return "; ".join([f"No such option {name!r}", *hints])


def _names(command: str) -> list[str]:
    """The options of a command, without earlier names and those that it only refuses."""
    shown = (each for each in options_of(command) if not each.hidden and command not in each.refused.split())
    return [name for each in shown for name in each.names]
