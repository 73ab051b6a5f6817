"""Turns the value of ``-f`` into a format: a name, a ``log_format`` or ``LogFormat``, or one in a configuration file.

Includes of nginx configurations are followed (by crossplane); of Apache's, only the file itself is read.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from os.path import isfile
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.core.installation import needs_extra
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.log_format import (
    Field,
    apache_format,
    apache_tokens,
    as_in_lines,
    choose_fields,
    nginx_format,
    nginx_tokens,
    times_of,
)
from logreplay.parsers.formats.named_values import JsonLayout

NAMES: Final = {format.name: format for format in FORMATS}

OTHER_NAMES: Final = {
    "nginx": "combined",
    "apache": "combined",
    "nginx-combined": "combined",
    "apache-combined": "combined",
    "apache-common": "common",
    "main": "nginx-main",
    "ingress": "nginx-ingress",
    "ingress-nginx": "nginx-ingress",
    "alb": "aws-alb",
    "elb": "aws-elb",
    "s3": "aws-s3",
    "tomcat": "atlassian",
}

BY_CONTENT: Final = ("json", "ltsv", "w3c", "iis")
"""Names of formats that need a sample of the log."""

_FEW: Final = 5
"""Known names in a message."""

_COMMON: Final = ("combined", "common", "json", "ltsv", "w3c")

_NGINX_DIRECTIVE: Final = re.compile(r"^\s*log_format\s+(\S+)\s+(.*?);?\s*$", re.DOTALL)
_APACHE_DIRECTIVE: Final = re.compile(r"^\s*(?:LogFormat|CustomLog\s+\S+)\s+(.*)$", re.DOTALL | re.IGNORECASE)


def defined(text: str, others: Iterable[str] = ()) -> Format | None:
    """The format for a value of ``-f``; None for those detected by content. Errors also name ``others``."""
    if text in ("auto", *BY_CONTENT):
        return None
    if format := NAMES.get(OTHER_NAMES.get(text, text)):
        return format
    path, mark, name = text.rpartition("#")
    if mark and "$" not in text and "%" not in text:
        return from_configuration(Path(path), name)
    if match := _NGINX_DIRECTIVE.match(text):
        return nginx_definition(match[1], _words(match[2]))
    if match := _APACHE_DIRECTIVE.match(text):
        return apache_definition("LogFormat", _words(match[1])[0])
    if "$" in text:
        return nginx_definition("log_format", [text])
    if "%" in text:
        return apache_definition("LogFormat", text.replace('\\"', '"'))
    if isfile(text):
        names = sorted(_formats_of(Path(text)))
        raise LogreplayError(f"format {text}: name one of its formats, such as {text}#{names[0] if names else 'NAME'}")
    known = sorted({*NAMES, *OTHER_NAMES, *BY_CONTENT, *others})
    few = get_close_matches(text, known, _FEW, 0.4) or _COMMON
    raise LogreplayError(
        f"format {text!r}: no such name, and no log_format or LogFormat either; known names: {', '.join(few)} and "
        f"{len(known) - len(few)} others (docs/formats.md); a format of your own can be given as text or as "
        "nginx.conf#name"
    )


def _words(text: str) -> list[str]:
    """The arguments of a directive."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise LogreplayError(
            f"format {text!r}: {str(error).lower()}; give the directive as it stands in a file"
        ) from None
    if not words:
        raise LogreplayError(f"format {text!r}: it is empty; write it as in a configuration")
    return words


def from_configuration(path: Path, name: str) -> Format:
    """Read the format of a name from a configuration of nginx or Apache."""
    found = _formats_of(path)
    if name in found:
        return found[name]()
    if name == "combined":
        return NAMES["combined"]
    raise LogreplayError(f"{path}: no log format {name!r}; it has: {', '.join(sorted(found)) or 'none'}")


def _formats_of(path: Path) -> dict[str, Callable[[], Format]]:
    """The formats of a configuration, by name."""
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise LogreplayError(f"{path}: cannot be read: {error.strerror}") from None
    if re.search(r"^\s*LogFormat\s", text, re.MULTILINE | re.IGNORECASE):
        return _apache_formats(text)
    return _nginx_formats(path)


def _apache_formats(text: str) -> dict[str, Callable[[], Format]]:
    lines = re.sub(r"\\\n", " ", text).splitlines()
    found: dict[str, Callable[[], Format]] = {}
    for line in lines:
        if match := re.match(r'\s*LogFormat\s+"((?:[^"\\]|\\.)*)"\s+(\S+)\s*$', line, re.IGNORECASE):
            plain, name = _unquoted(match[1]), match[2]
            found[name] = lambda plain=plain, name=name: apache_definition(name, plain)  # type: ignore[misc]
    return found


def _nginx_formats(path: Path) -> dict[str, Callable[[], Format]]:
    try:
        import crossplane
    except ImportError:
        raise LogreplayError(
            f"{path}: reading an nginx configuration {needs_extra('nginx')}; or give the log_format as text with -f"
        ) from None
    parsed = crossplane.parse(str(path), combine=True)
    if parsed["errors"]:
        error = parsed["errors"][0]
        if error.get("line") is None:
            raise LogreplayError(f"{path}: is not an nginx configuration; name the file that holds the log_format")
        raise LogreplayError(f"{error.get('file') or path}: line {error['line']}: {error['error']}")
    found: dict[str, Callable[[], Format]] = {}

    def collect(directives: list[dict[str, Any]]) -> None:
        for directive in directives:
            if directive["directive"] == "log_format":
                name, *words = directive["args"]
                words = [_unquoted(word) for word in words]
                found[name] = lambda name=name, words=words: nginx_definition(name, words)  # type: ignore[misc]
            collect(directive.get("block", []))

    for file in parsed["config"]:
        collect(file["parsed"])
    return found


def _unquoted(text: str) -> str:
    """The escapes that nginx and Apache know inside quotes in their configurations."""
    plain = {"t": "\t", "r": "\r", "n": "\n", '"': '"', "'": "'", "\\": "\\"}
    return re.sub(r"\\(.)", lambda m: plain.get(m[1], m[0]), text)


def nginx_definition(name: str, words: list[str]) -> Format:
    """The format of a ``log_format`` directive: its strings, after perhaps ``escape=…``."""
    escaped = True
    if words and words[0].startswith("escape="):
        escaped = words.pop(0) != "escape=none"
    text = "".join(words)
    if text.lstrip().startswith("{"):
        return _json_definition(name, text, r"\$(?:\{\w+\}|\w+)", nginx_tokens, "nginx")
    return nginx_format(text, name, escaped=escaped)


def apache_definition(name: str, text: str) -> Format:
    """The format of a ``LogFormat`` string."""
    if text.lstrip().startswith("{"):
        return _json_definition(name, text, r"%[^\"\s,}]+", apache_tokens, "apache")
    return apache_format(text, name)


def _json_definition(
    name: str, text: str, bare: str, tokens: Callable[[str], list[str | Field]], server: str
) -> Format:
    """A format string that makes JSON: each value that is just one variable fills that variable's slot."""
    quoted = re.sub(rf'"(?:[^"\\]|\\.)*"|({bare})', lambda m: json.dumps(m[1]) if m[1] else m[0], text)
    try:
        template = json.loads(as_in_lines(quoted), strict=False)
    except (ValueError, RecursionError):
        raise LogreplayError(f"log format {name}: looks like JSON, but cannot be parsed: {text!r}") from None
    found: list[tuple[Field, tuple[str, ...]]] = []

    def visit(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(inner, (*path, key))
        elif isinstance(value, str):
            parts = [token for token in tokens(value) if token != ""]
            if parts[:1] == ["["] and parts[-1:] == ["]"]:
                parts = parts[1:-1]
            field = parts[0] if parts and isinstance(parts[0], Field) else None
            whole = len(parts) == 1 or (len(parts) == 2 and isinstance(parts[1], Field) and parts[1].slot == "query")
            if field and whole:
                found.append((field, path))

    visit(template, ())
    owners = choose_fields(found, f"log format {name}")
    return Format(
        name=name,
        layout=JsonLayout(tuple((slot, path) for slot, (_, path) in owners.items())),
        server=server,
        escaped=False,
        **times_of(owners),
    )
