"""Spells options in texts as parameters of the functions, ``--for 1m`` as ``duration="1m"``; finds misspelled names."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from operator import ne
from typing import Final, TypeVar

from logreplay.core import FORKED_THREADS
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.options import kinds
from logreplay.options.kinds import Option
from logreplay.options.table import options_of

T = TypeVar("T")
_OPTION: Final = re.compile(
    r"(?<![\w/-])(?P<flag>--?[a-z][a-z0-9-]*)(?:(?P<gap> )(?P<value>'[^']*'|[^\s,;)]+(?:,[^\s,;)]+)*))?"
)
_NO: Final = "no-"
_ALIKE: Final = 0.8
"""Lowest likeness of a misspelled word to its name; that of ``growth`` and ``within``, which mean others, is 0.67."""
_SHORTEST: Final = 3
_COMMAND: Final = re.compile(r"\blogreplay [a-z]+ [^;\n]*$")
"""The beginning of a command line, whose options stay."""
_OF_ANOTHER: Final = re.compile(r"(?<!logreplay )\b(run|sweep) (--crash\b|--warmup(?: \d+s)?)")
"""Advice on an option of the command that has it."""
_CALL: Final = re.compile(r"\blogreplay (compare|convert|inspect) ((?:[A-Z]+|[^\s;]*/[^\s;]*|'[^']*')(?: [^\s;]+)*)$")
"""A command line without options at the end of a text."""
_WITH_FORMAT: Final = re.compile(r"\blogreplay convert ('[^']*'|[^\s;'\"\\]+) -f FORMAT\b")
_PLACEHOLDER: Final = re.compile(r"(?!.*,[A-Z]{2})[A-Z.…,:|]+")
"""Words for values, unlike ``GET,HEAD``."""
_PROSE: Final = re.compile(r"[a-z]+|-.*")


def near_names(typed: str, names: Iterable[str]) -> list[str]:
    """The names that a word may mean: misspelled, cut short, or with a word added; ``-`` and ``_`` are the same."""
    typed, shown = typed.replace("_", "-"), {name: name.replace("_", "-") for name in names}
    if typed.startswith(_NO):
        typed = typed.removeprefix(_NO)
        shown = {name: text.removeprefix(_NO) for name, text in shown.items() if text.startswith(_NO)}
    return [name for name, text in shown.items() if _is_near(typed, text)]


def _is_near(typed: str, name: str) -> bool:
    if min(len(typed), len(name)) < _SHORTEST:
        return False
    one_other = len(typed) == len(name) and sum(map(ne, typed, name)) == 1
    slip = one_other or sorted(typed) == sorted(name) or SequenceMatcher(None, typed, name).ratio() >= _ALIKE
    return slip or name.startswith(typed) or typed.startswith(f"{name}-")


def spelled(text: str, function: str) -> str:
    """Spell the options in a text as parameters of a function; those that it does not have stay."""
    options = _parameters(function)

    def parameter(match: re.Match[str]) -> str:
        flag, gap, value = match["flag"], match["gap"] or "", match["value"] or ""
        if not (option := options.get(flag)) or _COMMAND.search(match.string, 0, match.start()):
            return match[0]
        left = gap + _OPTION.sub(parameter, value)
        if option.kind in (kinds.SWITCH, kinds.OFF, kinds.EITHER):
            return f"{option.name}={not flag.startswith('--no-') or option.name == 'no_cache'}{left}"
        word = re.sub(r":$|(?<!\.)\.$|(?<=[A-Z])\]$", "", value)
        if not word or (_PROSE.fullmatch(word) and word not in (*option.metavar.split("|"), *option.kind.choices)):
            return f"{option.name}={left}"
        bare = _PLACEHOLDER.fullmatch(word) or (re.fullmatch(r"[\d.]+", word) and "str" not in _accepted(option))
        quoted = word if bare else '"' + word.strip("'") + '"'
        return f"{option.name}={quoted}{value[len(word) :]}"

    text = _WITH_FORMAT.sub(lambda call: f"logreplay.convert({shlex.split(call[1])[0]!r}, format=FORMAT)", text)
    text = _OF_ANOTHER.sub(lambda advice: f"{advice[1]}({spelled(advice[2], advice[1])})", text)
    return _CALL.sub(_call, _OPTION.sub(parameter, text))


def _call(match: re.Match[str]) -> str:
    """A command line as a call: ``logreplay compare a.csv 'b c.csv'``."""
    try:
        command, words = match[1], shlex.split(match[2])
    except ValueError:  # words of a stranger
        return match[0]
    given = ", ".join(word if word.isupper() else repr(word) for word in words)
    return match[0] if any(word.startswith("-") for word in words) else f"logreplay.{command}({given})"


def texts_spelled(value: T, function: str) -> T:
    """A value whose texts name the parameters of a function: a text, or texts within tuples, lists and dataclasses."""
    if isinstance(value, str):
        text = spelled(value, function)
        return value if text == value else text  # type: ignore[return-value]  # a word of an enumeration stays one
    if type(value) in (tuple, list):
        return type(value)(texts_spelled(each, function) for each in value)  # type: ignore[call-arg, attr-defined]
    if is_dataclass(value) and not isinstance(value, type):
        held = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        return replace(value, **{name: texts_spelled(each, function) for name, each in held.items()})
    return value


@contextmanager
def respelled(function: str) -> Iterator[None]:
    """Within the block, which is the call of a function, errors name its parameters."""
    FORKED_THREADS.check()
    try:
        yield
    except LogreplayError as error:
        text = spelled(str(error), function)
        if isinstance(error, UsageError) and not error.parameters:
            names = [option.name for option in options_of(function, python=True)]
            error.parameters = tuple(name for name in dict.fromkeys(re.findall(r"\b(\w+)=", text)) if name in names)
        error.args = (text, *error.args[1:])
        raise


@contextmanager
def spelled_for_save() -> Iterator[None]:
    """Within the block, errors advise what can be given to ``save`` of a result: another path, or ``force``."""
    try:
        yield
    except LogreplayError as error:
        text = str(error).replace(" with -o", "").replace(": -o would", ": save would").replace("--force", "force=True")
        error.args = (text, *error.args[1:])
        raise


@cache
def _parameters(function: str) -> Mapping[str, Option]:
    """The parameters of a function by the names of their options on the command line."""
    named = {option.name: option for option in options_of(function, python=True)}
    return {flag: named[each.name] for each in options_of(function) if each.name in named for flag in each.names}


def _accepted(option: Option) -> str:
    return f"{option.kind.annotation} str" if option.kind.choices else option.kind.annotation
