"""The keys of settings, by command: the names of its options without ``--``, what undoes a switch, its arguments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.options import kinds
from logreplay.options.kinds import Option
from logreplay.options.table import options_of
from logreplay.settings_files.entries import Aliases, Entry, Meanings, shared
from logreplay.settings_files.rules import opposite

ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    **{"demo": (), "convert": ("logs",), "inspect": ("logs",), "urls": ("templates",), "run": ("log", "target")},
    **{"sweep": ("rates", "log", "target"), "find": ("log", "target"), "plan": ("logs", "target")},
    **{"duet": ("log", "baseline", "candidate"), "analyze": ("results",), "seconds": ("results",)},
    **{"capacity": ("results",), "compare": ("baseline", "candidate", "more"), "plot": ("results",), "serve": ("log",)},
    "calibrate": (),
}
"""The arguments of each command that takes settings, in the order of the help."""
ALONE: Final = {"live": "0", "otlp": "env"}
"""Options that need no value, and the value that they then have: a free port; the endpoint of the variables."""
_REPEATED: Final = {("capacity", "results"), ("plot", "results"), ("compare", "more")}
"""Arguments that can be given more than once, besides ``logs`` and ``templates``."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a key of a command sets.

    Attributes:
        name: the option or argument, as the command receives it.
        option: its row in the table; None for an argument.
        on: True if ``true`` is what the row says; False for the name that undoes a switch.
        several: it takes several values.
    """

    name: str
    option: Option | None = None
    on: bool = True
    several: bool = False

    @property
    def switch(self) -> bool:
        """Whether it takes only true and false."""
        return self.option is not None and self.option.kind in (kinds.SWITCH, kinds.OFF, kinds.EITHER)

    def typed(self, entry: Entry) -> bool | str | tuple[str, ...]:
        """Return a value of a file as the command line would have it.

        Raises:
            LogreplayError: the value is not of the kind that the key takes.
        """
        where, key, value = entry.where, entry.key, entry.value
        if self.switch:
            if not isinstance(value, bool):
                raise LogreplayError(f"{where}: {key!r} is a switch: write true or false, not {value!r}")
            return value is self.on
        if value is True and self.name in ALONE:
            return ALONE[self.name]
        items = value if isinstance(value, list) else [value]
        if self.several or len(items) == 1:
            texts = [_text(where, key, item) for item in items]
        else:
            texts = [self._joined(where, key, value)]
        if not (texts or self.option) or not all(text.strip() for text in texts):
            raise LogreplayError(f"{where}: {key!r} is empty: give a value, or leave it out")
        if any("\0" in text for text in texts):
            raise LogreplayError(f"{where}: {key!r} holds the character U+0000, which no option can; leave it out")
        return tuple(texts) if self.several else texts[0]

    def _joined(self, where: str, key: str, parts: list[Any]) -> str:
        """Return a list as the one text that an option with several parts takes: ``[50, 100]`` as ``50,100``."""
        kind = kinds.RATES if self.name == "rates" else self.option.kind if self.option else kinds.TEXT
        if parts and not kind.between:
            texts = [_text(where, key, part) for part in parts]
            one_text = self.option and self.option.metavar == "LIST"
            remedy = f"write it as one text, {','.join(texts)!r}" if one_text else f"keep one of {', '.join(texts)}"
            raise LogreplayError(f"{where}: {key!r} takes one value, not a list: {remedy}")
        try:
            return kind.spelled(parts) if parts else ""
        except ValueError:
            raise LogreplayError(
                f"{where}: {key!r} needs numbers or texts in its list, not {_written(parts)}"
            ) from None

    @property
    def meaning(self) -> object:
        """The properties that are equal if two commands mean the same by a key."""
        return (self.switch, self.several, self.option.help) if self.option else "argument"


def _text(where: str, key: str, value: object) -> str:
    if isinstance(value, bool | dict | list):
        raise LogreplayError(f"{where}: {key!r} needs a value, not {_written(value)}")
    return str(value)


def _written(value: object) -> str:
    """A value about as it stands in the file."""
    return json.dumps(value, ensure_ascii=False, default=str)


@cache
def keys(command: str) -> Mapping[str, Key]:
    """The keys of a command; the first name of an option comes before its aliases."""
    found = {
        name: Key(name, several=name in ("logs", "templates") or (command, name) in _REPEATED)
        for name in ARGUMENTS[command]
    }
    found |= {"log": found["logs"]} if "logs" in found else {}
    for option in options_of(command):
        names = _names(option)
        key = Key(option.name, option, option.kind is not kinds.OFF, option.several or option.kind is kinds.PAIR)
        found |= dict.fromkeys(names, key)
        if key.switch:
            found[opposite(names[0])] = Key(option.name, option, not key.on)
    return found


def _names(option: Option) -> list[str]:
    """The names of an option without ``--``, the first one first, without that which undoes it."""
    return [flag[2:] for flag in option.names if flag.startswith("--") and flag not in option.flags.split("/")[1:]]


@cache
def meanings() -> Meanings:
    """The commands that take settings, with what each of their keys means."""
    return {command: {key: meant.meaning for key, meant in keys(command).items()} for command in ARGUMENTS}


@cache
def aliases() -> Aliases:
    """For each command the further names of its options, and the first name of each."""
    return {
        command: {name: names[0] for option in options_of(command) for names in [_names(option)] for name in names[1:]}
        | ({"log": "logs"} if "logs" in arguments else {})
        for command, arguments in ARGUMENTS.items()
    }


@cache
def everywhere() -> Mapping[str, object]:
    """The keys that may stand at the top of a file, and their meaning there."""
    return shared(meanings(), aliases())
