"""``logreplay init``: a first settings file."""

import json
import sys
from collections.abc import Iterator, Sequence, Set
from functools import partial
from pathlib import Path

import click

from logreplay.calling.loop_thread import run_until_stopped
from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.terminal import say, say_finding
from logreplay.cli.settings.empty_values import Checked, key_of
from logreplay.cli.signals import SIGNALS
from logreplay.inputs.logs import normalized
from logreplay.options.clashes import gives_way, named, needed
from logreplay.options.sender_rules import SenderRules
from logreplay.options.table import options_of
from logreplay.settings_files.keys import ARGUMENTS, everywhere
from logreplay.settings_files.rules import FILE, NEEDS_TYPED_DESTINATION, REFUSED

_COMMANDS = ("run", "sweep", "find", "convert")
_EXAMPLES = {
    **dict.fromkeys(("N", "M"), "5"),
    **{
        "D": "10s",
        "D|D..D": "1s",
        "P%": "10%",
        "N|P%": "5%",
        "R": "100",
        "X": "2",
        "R..R": "10..200",
        "R:D,…": "50:10s,100:20s",
    },
    **{"RATES": "50..400", "N,N,…|N..N": "1,10,50", "REGEX": "^/api", "SET": "2xx,404,500-504", "ROW|TIME": "1000"},
    **{"TIME": "2026-11-21T10:00:00", "ZONE": "Europe/Berlin", "LIST": "GET,HEAD", "s|FROM|TO|": "s|^/v1/|/v2/|"},
    **{"K=V": "debug=1", "'K: V'|@FILE|log": "X-Test: 1", "log|size|FILE:COLUMN": "size", "FILE:P%": "other.csv:10%"},
    **{"bearer:FILE|…": "bearer:token.txt", "file:FILE|env:NAME": "env:KEY_PASSWORD", "HOST": "staging.example"},
    **{"https://…/{trace_id}": "https://traces.example/{trace_id}", "ADDR,ADDR-ADDR,…": "127.0.0.2-127.0.0.9"},
    **{"NAME": "www.example.org", "KEY": "address+agent", "NAME,…": "db,app", "CONDITION": "errors>5%/10s"},
    **{"NAME=header:…|json:…|regex:…": "token=json:$.token", "NAME=header:…|param:…|body:…": "token=param:token"},
    **{"[[HOST:]PORT]": "8000", "[HOST:]PORT": "9464", "'p99<300ms'": "p95<300ms"},
    **{"NAME[/s][:MAX]=URL|!COMMAND|PRESET": "queue=http://127.0.0.1:8080/queue"},
}
"""Values by the placeholder in the help."""
_EXAMPLES_OF = {
    **dict.fromkeys(("p50", "p90", "p99"), "300ms"),
    **{
        "client": "10.0.0.7,10.1.0.0/16",
        "until": "2026-11-21T11:00:00",
        "junit": "checks.xml",
        "history": "history.csv",
    },
}
"""Values of options whose placeholder others have, too."""
_SENDING = ("run", "sweep", "find")
_ALWAYS_TYPED = ("help", "force", "output", "resume", "quiet", "json", "dry-run", "verbose", "debug", *REFUSED)
_NEEDS = {"ramp": "for", "extract": "use", "use": "extract"}
"""Needed options that the table of contradictions lacks."""
_UNWRITTEN = {name.replace("-", "_") for name in _ALWAYS_TYPED} | {"shuffle", "random", "as_json"}
"""Parameters that the file lacks."""


@click.command(cls=Checked)
@click.option("--log", metavar="FILE", help="Access log or normalized CSV.  [default: asked on a terminal]")
@click.option("--target", metavar="URL", help="http://HOST:PORT.  [default: asked on a terminal]")
@click.option(
    "--check/--no-check", default=True, show_default=True, help="Read the log, and send one request to the target."
)
@click.option("--allow-target", multiple=True, metavar="HOST", help="Permit load on HOST. Repeatable.")
@click.option("--force", is_flag=True, help=f"Replace an existing {FILE}.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors and lost rows.")
def init(
    log: str | None, target: str | None, check: bool, allow_target: tuple[str, ...], force: bool, quiet: bool
) -> None:
    """Write logreplay.toml into the current folder: LOG, TARGET, and every other option, commented out.

    \b
    Example:
      logreplay init
      logreplay init --log access.log --target http://127.0.0.1:8080
    """
    from logreplay.core.files import check_absent, check_distinct, write_atomically

    path = Path(FILE)
    if not force:
        check_absent(path, "")
    check_distinct([("the settings file", path)], [("--log", log)] if log else [])
    asking = sys.stdin.isatty() and sys.stderr.isatty()
    if log is None and asking:
        log = click.prompt("access log (empty: the bundled sample)", default="", show_default=False, err=True)
    if target is None and asking:
        target = click.prompt("target (empty: a built-in one)", default="", show_default=False, err=True)
    if check and log:
        with normalized(Path(log), partial(say, quiet=quiet)):
            pass
    if check and target:
        _ask(target, allow_target, quiet=quiet)
    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    write_atomically(path, settings_text(root, log or "", target or ""), force=force, option="")
    next_step = "next: logreplay run --tps 10 --for 10s"
    say(f"{path} holds the settings; options on the command line override them; {next_step}\n{path}", quiet=quiet)


def _ask(target: str, allow_target: tuple[str, ...], *, quiet: bool) -> None:
    """See whether the target answers, as a run would before its first request."""

    async def ask() -> None:
        for finding in await SenderRules(allow_target=allow_target).first_answer(target):
            say_finding(finding.severity, finding.text, quiet=quiet)

    with SIGNALS.hearing():
        run_until_stopped(ask, tell_of_loop)
    say(f"{target} answers", quiet=quiet)


def settings_text(group: click.Group, log: str, target: str) -> str:
    """The text of a settings file: every option that may stand there, commented out, by command."""
    params = {name: [p for p in group.commands[name].params if _settable(p)] for name in _COMMANDS}
    several = everywhere().keys() & {key_of(p) for p in params["sweep"]}
    common = [p for p in params["run"] if key_of(p) in several and isinstance(p, click.Option)]
    names = {key_of(parameter) for parameter in common}
    lines = [
        "# Settings of logreplay in this folder. Each key is the name of an option. The command line wins over",
        "# variables (LOGREPLAY_RUN_TPS), variables over this file. Remove a # to set a line; values are examples.",
        "",
        *_line("log", log, "access log or normalized CSV; without it the bundled sample"),
        *_line("target", target, "http://HOST:PORT; without it a built-in one"),
        "",
        "# --- for every command that has the option",
        *_options(common, _SENDING),
    ]
    for name in _COMMANDS:
        own = [p for p in params[name] if key_of(p) not in names | {"log", "target", "logs"}]
        lines += [
            "",
            f"# --- logreplay {name}: {group.commands[name].short_help}",
            f"[{name}]",
            *_options(own, (name,)),
        ]
    return "\n".join(lines) + "\n"


def _settable(parameter: click.Parameter) -> bool:
    return not getattr(parameter, "hidden", False) and key_of(parameter) not in _ALWAYS_TYPED


def _line(key: str, value: str, text: str) -> Iterator[str]:
    yield f"# {text}"
    # TOML takes no surrogates and no raw DEL
    written = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    yield f"{key} = {written}" if value else f'# {key} = ""'


def _options(parameters: Sequence[click.Parameter], commands: Sequence[str]) -> Iterator[str]:
    for parameter in parameters:
        beside = _beside(parameter, commands)
        text = " ".join(filter(None, (getattr(parameter, "help", None), *beside)))
        line = f"# {key_of(parameter)} = {_example(parameter)}"
        yield line.ljust(36) + f"  # {text}" if text else line


def _beside(parameter: click.Parameter, commands: Sequence[str]) -> Iterator[str]:
    """The options that a line needs, and those that it excludes."""
    name, key = parameter.name or "", key_of(parameter)
    value = json.loads(_example(parameter))
    names = {name, f"{name}={False if key == f'no-{name}'.replace('_', '-') else value}"}
    wanted = {label: None for name in commands for own in names for label in sorted(needed(name).get(own, ()))}
    if key in NEEDS_TYPED_DESTINATION and "run" in commands:
        yield "Needs a TARGET that is typed."
    if all_needed := [text for text in (" or ".join(map(_named, wanted)), _NEEDS.get(key)) if text]:
        yield f"Needs {' and '.join(all_needed)}."
    others = sorted(each for each in _excluded(names, commands) if each.partition("=")[0] not in _UNWRITTEN)
    if others:
        yield f"Not with {', '.join(map(_named, others))}."


def _excluded(names: Set[str], commands: Sequence[str]) -> Iterator[str]:
    """The labels that exclude one of these in each command that has both."""
    pairs = {
        name: {frozenset((one.partition(">")[0], other.partition(">")[0])) for one in found for other in found[one]}
        for name in commands
        for found in [gives_way(name)]
    }
    known = {name: {*ARGUMENTS[name], *(option.name for option in options_of(name))} for name in commands}
    for pair in set().union(*pairs.values()):
        having = [name for name in commands if {label.partition("=")[0] for label in pair} <= known[name]]
        if pair & names and having and all(pair in pairs[name] for name in having):
            yield from pair - names


def _named(label: str) -> str:
    """A label of the table of contradictions as a file has it."""
    return named({label: ""}, label).removeprefix("--").strip() if label not in ("rates", "target") else label


def _example(parameter: click.Parameter) -> str:
    """The default, or another value that the option takes."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return "true"
    default = parameter.to_info_dict().get("default")
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        return json.dumps(default)
    shown = parameter.metavar or parameter.human_readable_name
    value = _EXAMPLES_OF.get(key_of(parameter)) or _EXAMPLES.get(shown) or shown.partition("|")[0]
    if isinstance(parameter.type, click.Choice):
        value = parameter.type.choices[0]
    return json.dumps([value] if getattr(parameter, "multiple", False) else value, ensure_ascii=False)
