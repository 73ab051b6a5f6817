"""Commands whose options can also come from ``logreplay.toml`` and ``LOGREPLAY_*`` variables."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import compress
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from logreplay.cli.display.terminal import say
from logreplay.cli.settings.empty_values import Checked, key_of
from logreplay.cli.settings.file import read_settings
from logreplay.cli.settings.precedence import Names, Rank, Setting, applicable, excluded_by, lacking
from logreplay.cli.settings.share import SHARE, shared
from logreplay.cli.settings.variables import read_variables, variable_of
from logreplay.core.errors import UsageError
from logreplay.core.masking import masked, terminal_safe
from logreplay.options.request_rules import WRITE_HEADERS, written_by
from logreplay.settings_files.rules import (
    DESTINATIONS,
    FILE,
    WIDENING,
    check_destination,
    check_places,
    is_from_user,
    opposite,
    permission,
)

_FOUND: Final = "logreplay.settings"
_APPLIED: Final = "logreplay.settings.applied"
_EXCLUDED: Final = "logreplay.settings.excluded"
_LACKING: Final = "logreplay.settings.lacking"
_PLACEHOLDER: Final = re.compile(r"\{\w*\}")
"""A variable of a template of URLs."""
_EPILOG: Final = (
    f"Options can also be set in {FILE} (see logreplay init) or in variables such as {{}}; the command line "
    "wins, --no-NAME restores a default."
)


def find_settings(context: click.Context) -> None:
    """Read the file and the variables, for the commands of this context."""
    variables = read_variables(os.environ)
    file = read_settings(Path(FILE)) if Path(FILE).is_file() else {}
    context.meta[_FOUND] = {name: file.get(name, {}) | variables.get(name, {}) for name in {**file, **variables}}


class Configurable(Checked):
    """A command that takes settings.

    Args:
        yields_to, needs: settings that are left out beside others; see `logreplay.cli.settings.precedence.applicable`.
    """

    def __init__(self, *args: Any, yields_to: Names | None = None, needs: Names | None = None, **named: Any) -> None:
        super().__init__(*args, **named)
        self._yields_to, self._needs = yields_to, needs
        self.resets = dict(_resets(self.params))
        if self.params:
            self.epilog = _EPILOG.format(variable_of(self.name or "", key_of(self.params[-1])))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, among them the hidden options that set others back to their defaults."""
        return [*super().get_params(ctx), *(option for _, option in self.resets.values())]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line, and take from the settings what it leaves open."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        typed = self._typed(ctx, args)
        reset = {name for name, (_, option) in self.resets.items() if option.name in typed}
        for name in sorted(reset & typed.keys()):
            option, back = self.resets[name]
            raise click.UsageError(f"--{key_of(option)} and {back.opts[0]} contradict each other: give one of them")
        found = self._found(ctx)
        yields_to = self._yielding({name: setting.value for name, setting in found.items()} | typed)
        applied = applicable(found, typed, reset, yields_to, self._needs)
        ctx.meta[_APPLIED] = applied
        excluded = ctx.meta[_EXCLUDED] = excluded_by(found, typed, reset | applied.keys(), yields_to)
        ctx.meta[_LACKING] = lacking(found, typed, reset | applied.keys() | excluded.keys(), self._needs)
        check_places(FILE, self.name or "", self._from_file(applied))
        ctx.default_map = {name: setting.value for name, setting in applied.items()}
        left = super().parse_args(ctx, list(args))
        self._warn_of_credentials(ctx, args)
        return left

    def _warn_of_credentials(self, ctx: click.Context, args: list[str]) -> None:
        """Warn of each option with a credential that stands on the command line."""
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in dict.fromkeys(order):
            key, given = key_of(parameter), values.get(parameter.name or "")
            texts = [str(text) for text in (given if isinstance(given, list | tuple) else [given])]
            if any(_is_credential(key, _PLACEHOLDER.sub("", text)) for text in texts):
                name = f"--{key}" if isinstance(parameter, click.Option) else key.upper()
                file = ", or in a file: --header @FILE" if key == "header" else ""
                say(
                    f"warning: {name} holds a credential, and other users of this machine can read command lines (ps); "
                    f"give it in the variable {variable_of(self.name or '', key)}{file}",
                    quiet=bool(ctx.params.get("quiet")),
                )

    def _found(self, ctx: click.Context) -> Mapping[str, Setting]:
        """Return the settings of this command, those that do not count, too."""
        found: Mapping[str, Setting] = ctx.meta.get(_FOUND, {}).get(self.name, {})
        return found

    def _typed(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        """Return the values of the parameters that stand on the command line, by name."""
        context = click.Context(self, ctx.parent, ctx.info_name, resilient_parsing=True, help_option_names=[])
        with context.scope(cleanup=False):
            super().parse_args(context, list(args))
        names = {parameter.name or "" for parameter in self.get_params(context)}
        typed = {name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
        return {name: context.params.get(name) for name in typed}

    def _yielding(self, _given: Mapping[str, Any]) -> Names | None:
        """Return the settings that are left out beside others, among values of the settings and the command line."""
        return self._yields_to

    def _from_file(self, applied: Mapping[str, Setting]) -> dict[str, Any]:
        """Return the values that come from the file, by key."""
        return {
            key_of(parameter): applied[parameter.name].value
            for parameter in self.params
            if parameter.name in applied and applied[parameter.name].origin == FILE
        }

    def _left_out(self, ctx: click.Context) -> Iterator[str]:
        """Name the settings that options of a higher place exclude, and those that need an option that is not given."""
        keys = {
            each.name: f"--{key_of(each)}" if isinstance(each, click.Option) else key_of(each).upper()
            for each in self.params
        }
        for name, other in ctx.meta.get(_EXCLUDED, {}).items():
            origin = ctx.meta[_FOUND][self.name][name].origin
            yield f"{origin}: {keys[name]} is left out beside {keys[other]}, which excludes it"
        for name, labels in ctx.meta.get(_LACKING, {}).items():
            origin = ctx.meta[_FOUND][self.name][name].origin
            others = (re.match(r"(\w+)[=>]?(.*)", label) for label in labels)
            wanted = " or ".join(f"{keys[other[1]]} {other[2]}".strip() for other in others if other)
            yield f"{origin}: {keys[name]} is left out: it needs {wanted}"

    def invoke(self, ctx: click.Context) -> Any:
        """Say which values come from the file, and which settings are left out, then run the command."""
        taken = self._from_file(ctx.meta.get(_APPLIED, {}))
        _leave_out_replaced(ctx, taken, self._needs or {})
        if taken:
            said = ", ".join(f"{key}{_shown(value)}" for key, value in taken.items())
            hidden = bool(ctx.params.get("quiet")) and not any(key in taken for key in ("quiet", *WIDENING))
            say(f"{FILE}: {said}", quiet=hidden)
        for told in self._left_out(ctx):
            say(told, quiet=bool(ctx.params.get("quiet")))
        check_destination(FILE, taken, ctx.params)
        if "allow-target" in taken and not is_from_user(taken, ctx.params):
            for name in DESTINATIONS:
                named = ctx.params[name] if name in taken else ()
                for target in (named,) if isinstance(named, str) else named:
                    permission(target, ctx.params["allow_target"])
            ctx.params["allow_target"] = ()  # the file may permit the host that it names by its address
        try:
            with shared() if ctx.params.pop(SHARE, False) else nullcontext():
                return super().invoke(ctx)
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from None


def _leave_out_replaced(ctx: click.Context, taken: dict[str, Any], needs: Names) -> None:
    """Of two bounds of one statistic, or two values of one header, take out that of the lower rank.

    One is an option, such as ``--p99`` or ``--host``, the other a value of ``--bound`` or ``--header``. A setting that
    needs an option that is taken out is taken out, too.

    Args:
        ctx: its parameters are changed.
        taken: values that come from the file, by key; settings that are left out are removed from it.
        needs: see `Configurable`.
    """
    applied: Mapping[str, Setting] = ctx.meta.get(_APPLIED, {})
    rank = {name: applied[name].rank if name in applied else Rank.TYPED for name in ctx.params}
    bounds = {name: ("bound", {name}) for name, _ in ctx.params.get("bound", ())}
    headers = {name: ("header", {*written_by(name, ctx.params.get(name))}) for name in WRITE_HEADERS}
    for name, (repeated, same) in {**bounds, **headers}.items():
        values = ctx.params.get(repeated, ())
        kept = [_stands_for(each).lower() not in same for each in values]
        if ctx.params.get(name) is None or all(kept) or rank[name] == rank[repeated]:
            continue
        if rank[repeated] > rank[name]:
            depending = [other for other in applied if needs.get(other) == {name}]
            ctx.meta[_EXCLUDED] |= {name: repeated}
            ctx.meta[_LACKING] |= {other: [name] for other in depending}
            for each in (name, *depending):
                ctx.params[each] = None
                taken.pop(each.replace("_", "-"), None)
        else:
            ctx.params[repeated] = tuple(compress(values, kept))
            if not any(kept):
                ctx.meta[_EXCLUDED] |= {repeated: name}
                taken.pop(repeated, None)
            elif len(texts := taken.get(repeated, ())) == len(kept):  # a file has several
                taken[repeated] = [*compress(texts, kept)]


def _stands_for(value: Any) -> str:
    """The statistic of a bound, or the name of a header."""
    return str(value[0] if isinstance(value, tuple) else value.name)


def _is_credential(key: str, text: str) -> bool:
    shown = text if key == "header" else f"--{key} {text}"
    return masked(shown) != shown


def where_from(error: click.BadParameter) -> str:
    """Return where a wrong value came from, if not from the command line; empty if it did."""
    if error.ctx is None or error.param is None or not error.param.name:
        return ""
    setting = error.ctx.meta.get(_APPLIED, {}).get(error.param.name)
    return f" (from {setting.origin})" if setting else ""


def _resets(parameters: list[click.Parameter]) -> "list[tuple[str, tuple[click.Parameter, click.Option]]]":
    """Return the options that set others back to their defaults, by the name of the parameter."""
    taken = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
    return [
        (parameter.name or "", (parameter, _reset(name, f"reset {parameter.name}")))
        for parameter in parameters
        if not parameter.required and not parameter.secondary_opts
        if (name := f"--{opposite(key_of(parameter))}") not in taken
    ]


def _reset(name: str, stored_as: str) -> click.Option:
    """Return such an option; by its own name, ``--keep-alive`` would be stored where ``--no-keep-alive`` is."""
    option = click.Option([name], is_flag=True, expose_value=False, hidden=True)
    option.name = stored_as
    return option


def _shown(value: Any) -> str:
    """Return a value as it stands after its name; a switch has none."""
    if isinstance(value, bool):
        return ""
    text = " " + (" ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return terminal_safe(text)
