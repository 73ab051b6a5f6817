"""Compiles a ``log_format`` of nginx or a ``LogFormat`` of Apache to a format.

A format string is literals and variables in turn. Each variable has a kind, which restricts its value, and
perhaps a slot, the raw field that it fills; the other variables are skipped. From these a strict pattern for clean
lines and wider ones for all others are made.

Source: https://nginx.org/en/docs/http/ngx_http_log_module.html,
https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#formats
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeVar

from logreplay.core.errors import LogreplayError
from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.fields.values import CLEAN
from logreplay.parsers.formats.field_names import header_slot
from logreplay.parsers.formats.format import Format, TextLayout, Value

Place = TypeVar("Place")

WITH_HEADERS: Final = -1
"""Rank of a byte count that includes headers."""

MILLISECOND: Final = 1e-3
MICROSECOND: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Field:
    """One variable of a format string.

    Attributes:
        slot: the raw field it fills; empty: skipped over.
        kind: key of `_SHAPES`, or ``text``, ``user``, ``request``.
        rank: priority of the variable: of several for one slot, the highest counts.
        unit: length of a duration's unit, seconds.
        stamp: format of a time.
        shape: for kind ``shape``: the pattern of its values.
        strict: pattern of the clean values, which need no decoding; empty: all are clean.
    """

    slot: str = ""
    kind: str = "text"
    rank: int = 0
    unit: float = 1.0
    stamp: Stamp | None = None
    shape: str = ""
    strict: str = ""


_LIST: Final = r"(?:[-0-9.]+(?:(?:, | : |,|:)[-0-9.]+)*)?"

_WHOLE: Final = "(?:[0-9]{1,9}|[0-9]{11,})"
_SECONDS: Final = rf"(?:(?:{_WHOLE}\.[0-9]+|-)(?:(?:, | : |,|:)(?:{_WHOLE}\.[0-9]+|-))*)?"
"""Ten digits are an instant ($msec), no duration."""

_SHAPES: Final = {
    "clf": (
        r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}",
        r"[0-9]{1,2}/[A-Za-z]{3}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?: ?[+-][0-9]{4}| ?)",
    ),
    "iso": (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?",
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)? ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?",
    ),
    "epoch": (r"[0-9]+(?:\.[0-9]+)?", r"[0-9]+(?:\.[0-9]+)?"),
    "status": (r"[0-9]{3}|-", _LIST),
    "int": (r"[0-9]+|-", r"[-+]?[0-9]*"),
    "number": (r"[0-9]+(?:\.[0-9]+)?|-", _LIST),
    "seconds": (r"[0-9]{1,9}\.[0-9]{3}|-", _SECONDS),
    "list": (r"[0-9]{1,9}\.[0-9]{3}|-", _SECONDS),
    "query": (r"(?:\?[!#-\[\]-~]*)?", r"(?:\?.*?)?"),
}
"""Strict and wide pattern of each kind of value."""

NGINX: Final = {
    "remote_addr": Field("client", "text", 1),
    "remote_user": Field("user", "user"),
    "time_local": Field("time", "clf", 1, stamp=Stamp("clf", "end")),
    "time_iso8601": Field("time", "iso", 2, stamp=Stamp("iso", "end")),
    "msec": Field("time", "epoch", 3, stamp=Stamp("epoch", "end")),
    "request": Field("request", "request"),
    "request_method": Field("op"),
    "request_uri": Field("url", "target", 2),
    "uri": Field("url", "path", 1),
    "document_uri": Field("url", "path"),
    "args": Field("args"),
    "query_string": Field("args"),
    "server_protocol": Field("protocol"),
    "status": Field("rc", "status"),
    "body_bytes_sent": Field("bytes", "int", 2),
    "bytes_sent": Field("bytes", "int", WITH_HEADERS),
    "request_length": Field("request_bytes", "int"),
    "request_time": Field("total", "seconds", 2),
    "upstream_response_time": Field("total", "list", 1),
    "upstream_header_time": Field("first", "list"),
    "upstream_connect_time": Field("", "list"),
    "upstream_status": Field("", "number"),
    "upstream_response_length": Field("", "number"),
    "connection": Field("", "int"),
    "connection_requests": Field("", "int"),
    "http_host": Field("host", "text", 2),
    "host": Field("host", "text", 3),
    "server_name": Field("host", "text", 1),
    "http_referer": Field("referer"),
    "http_user_agent": Field("agent"),
    "http_x_forwarded_for": Field("client"),
    "request_body": Field("body"),
}

_APACHE: Final = {
    "h": Field("client", "text", 1),
    "a": Field("client", "text", 2),
    "u": Field("user", "user"),
    "r": Field("request", "request"),
    "m": Field("op"),
    "U": Field("url", "path", 1),
    "q": Field("query", "query"),
    "H": Field("protocol"),
    "s": Field("rc", "status", 1),
    ">s": Field("rc", "status", 2),
    "b": Field("bytes", "int", 3),
    "B": Field("bytes", "int", 2),
    "O": Field("bytes", "int", WITH_HEADERS),
    "I": Field("request_bytes", "int"),
    "D": Field("total", "int", 3, MICROSECOND),
    "T": Field("total", "number", 1),
    "v": Field("host", "text", 1),
    "V": Field("host", "text", 2),
    "p": Field("", "int"),
    "P": Field("", "int"),
    "k": Field("", "int"),
    "S": Field("", "int"),
    "{us}T": Field("total", "int", 3, MICROSECOND),
    "{ms}T": Field("total", "int", 2, MILLISECOND),
    "{s}T": Field("total", "number", 1),
    "^FB": Field("first", "int", 1, MICROSECOND),
    "{referer}i": Field("referer"),
    "{user-agent}i": Field("agent"),
    "{x-forwarded-for}i": Field("client"),
    "{host}i": Field("host", "text", 3),
}

_BODIES: Final = frozenset({"request_body", "request-body", "body", "post_body", "post-body", "dumpio"})
"""Names of notes and variables of Apache that hold a body."""

_GROUP: Final = re.compile(r"\(\?P<(\w+)>")
_NO_MORE: Final[Mapping[str, Field]] = {}
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))")
_DIRECTIVE: Final = re.compile(
    r"%(?:%|(?:!?[0-9]{3}(?:,[0-9]{3})*)?([<>]?)(\{[^}]*\})?([<>]?)(\^[A-Za-z]{2}|[A-Za-z]))"
)
_STRFTIME: Final = {
    "Y": r"[0-9]{4}",
    "b": r"[A-Za-z]{3}",
    "h": r"[A-Za-z]{3}",
    "B": r"[A-Za-z]+",
    "a": r"[A-Za-z]{3}",
    "j": r"[0-9]{3}",
    "e": r"[ 0-9][0-9]",
    "z": r"[+-][0-9]{4}",
    "F": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "T": r"[0-9]{2}:[0-9]{2}:[0-9]{2}",
    "R": r"[0-9]{2}:[0-9]{2}",
    "D": r"[0-9]{2}/[0-9]{2}/[0-9]{2}",
    "p": r"[AP]M",
    "3f": r"[0-9]{3}",
    "6f": r"[0-9]{6}",
    **dict.fromkeys("mdHMSyI", r"[0-9]{2}"),
}


def nginx_format(
    text: str, name: str = "log_format", *, escaped: bool = True, more: Mapping[str, Field] = _NO_MORE
) -> Format:
    """Compile the string of a ``log_format``, as nginx sees it unquoted; ``more``: variables of other servers."""
    return compile_tokens(nginx_tokens(as_in_lines(text), more), name, "nginx", escaped, text)


def nginx_tokens(text: str, more: Mapping[str, Field] = _NO_MORE) -> list[str | Field]:
    """Literals and variables in turn."""
    tokens: list[str | Field] = []
    end = 0
    for match in _VARIABLE.finditer(text):
        variable = match[1] or match[2]
        tokens += [text[end : match.start()], more.get(variable) or NGINX.get(variable) or _of_request(variable)]
        end = match.end()
    tokens.append(text[end:])
    return tokens


def apache_format(text: str, name: str = "LogFormat") -> Format:
    """Compile the string of a ``LogFormat``, as Apache sees it after unquoting."""
    return compile_tokens(apache_tokens(as_in_lines(text)), name, "apache", True, text)


def as_in_lines(text: str) -> str:
    """A part of a format as the lines of a log are read: one character for each byte of its UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def apache_tokens(text: str) -> list[str | Field]:
    """Literals and directives in turn; the pieces of one time are one field."""
    tokens: list[str | Field] = []
    end = 0
    for match in _DIRECTIVE.finditer(text):
        tokens.append(text[end : match.start()])
        end = match.end()
        if match[4] is None:
            tokens.append("%")
        else:
            tokens += _directive(match[1] or match[3], (match[2] or "")[1:-1], match[4])
    tokens.append(text[end:])
    return _join_times(tokens)


def _directive(which: str, argument: str, letter: str) -> list[str | Field]:
    if letter == "t":
        return ["[", Field("time", "clf", 2, stamp=Stamp("clf")), "]"] if not argument else [_time(argument)]
    if letter == "a" and argument:
        return [Field()]
    key = f"{{{argument.lower()}}}{letter}" if argument and letter not in "uvVpP" else letter
    if found := _APACHE.get(which + key if which + key in _APACHE else key):
        return [found]
    if letter in "en" and argument.lower() in _BODIES:  # noted by mod_lua, mod_dumpost or another module
        return [Field("body")]
    return [header_field(argument.replace("-", "_")) if letter == "i" else Field()]


def _of_request(variable: str) -> Field:
    """A variable of nginx that holds a header of the request, or nothing that is needed."""
    return header_field(variable.removeprefix("http_")) if variable.startswith(("http_", "content_type")) else Field()


def header_field(name: str) -> Field:
    """A header of the request, with ``_`` for ``-`` in its name."""
    return Field(header_slot(name))


def _time(argument: str) -> Field:
    prefix, _, rest = argument.partition(":") if argument.startswith(("begin:", "end:")) else ("", "", argument)
    at: Literal["start", "end"] = "end" if prefix == "end" else "start"
    rank = 0 if at == "end" else 10
    fixed = {
        "sec": Field("time", "epoch", rank + 1, stamp=Stamp("epoch", at)),
        "%s": Field("time", "epoch", rank + 1, stamp=Stamp("epoch", at)),
        "msec": Field("time", "epoch", rank + 3, stamp=Stamp("epoch", at, 1000)),
        "usec": Field("time", "epoch", rank + 4, stamp=Stamp("epoch", at, 1)),
        "msec_frac": Field("", "shape", shape=_STRFTIME["3f"], stamp=Stamp("pattern", at, pattern="%3f")),
        "usec_frac": Field("", "shape", shape=_STRFTIME["6f"], stamp=Stamp("pattern", at, pattern="%6f")),
    }
    if rest in fixed:
        return fixed[rest]
    shape = re.sub(
        r"%[EO_0^#-]?([A-Za-z])|([^%]+)", lambda m: _STRFTIME.get(m[1], ".+?") if m[1] else re.escape(m[2]), rest
    )
    return Field("time", "shape", rank + 2, stamp=Stamp("pattern", at, pattern=rest), shape=shape)


def _join_times(tokens: Sequence[str | Field]) -> list[str | Field]:
    """Make one field of the pieces of one time, such as ``%{%T}t.%{usec_frac}t``."""
    joined: list[str | Field] = []
    for token in (t for t in tokens if t != ""):
        before = joined[-2:]
        gap = before[-1] if before and isinstance(before[-1], str) else ""
        last = before[0] if gap and len(before) == 2 else joined[-1] if joined else None
        if (
            isinstance(token, Field)
            and isinstance(last, Field)
            and token.stamp
            and last.stamp
            and token.stamp.kind == last.stamp.kind == "pattern"
            and len(gap) <= 3
        ):
            del joined[len(joined) - (2 if gap else 1) :]
            pattern = last.stamp.pattern + gap.replace("%", "%%") + token.stamp.pattern
            token = replace(
                last,
                slot="time",
                rank=max(last.rank, token.rank) + 1,
                stamp=replace(last.stamp, pattern=pattern),
                shape=last.shape + re.escape(gap) + token.shape,
            )
        joined.append(token)
    return joined


def compile_tokens(tokens: Sequence[str | Field], name: str, server: str, escaped: bool, text: str) -> Format:
    """Give each slot to one field, and make the patterns."""
    fields = [token for token in tokens if isinstance(token, Field)]
    if not fields:
        raise LogreplayError(f"log format {text!r}: no variable in it; write it as in the server's configuration")
    owners = choose_fields(((token, place) for place, token in enumerate(tokens)), f"log format {text!r}")
    slots = {place: slot for slot, (_, place) in owners.items()}
    strict, wide, widest = _line_patterns(tokens, slots, escaped, server)
    parts = [
        token if isinstance(token, str) else Value(slots.get(place, ""), _kind(token))
        for place, token in enumerate(tokens)
    ]
    doubts = [] if escaped or server != "nginx" else ["with escape=none a quote in a value can imitate the layout"]
    if "bytes" in owners and owners["bytes"][0].rank == WITH_HEADERS:
        doubts.append("byte counts include headers, as the log has no others")
    wider = tuple(dict.fromkeys(rf"^{pattern}\s*$" for pattern in (wide, widest)))
    return Format(
        name=name,
        note="; ".join(doubts),
        server=server,
        escaped=escaped,
        layout=TextLayout(f"^{strict}$", wider, frozenset(_GROUP.findall(wide)), tuple(parts)),
        **times_of(owners),
    )


def choose_fields(fields: Iterable[tuple[str | Field, Place]], what: str) -> dict[str, tuple[Field, Place]]:
    """Give each slot to its field of the highest rank; where there is a request line, its parts get none."""
    owners: dict[str, tuple[Field, Place]] = {}
    for field, place in fields:
        if isinstance(field, str) or not field.slot:
            continue
        if field.slot not in owners or field.rank > owners[field.slot][0].rank:
            owners[field.slot] = field, place
    if "request" in owners:
        for slot in ("op", "url", "query", "args", "protocol"):
            owners.pop(slot, None)
    elif "url" not in owners:
        raise LogreplayError(f"{what}: it does not log the request ($request, $request_uri, %r, %U)")
    return owners


def times_of(owners: Mapping[str, tuple[Field, object]]) -> dict[str, Any]:
    """Return those attributes of a `Format` that the chosen fields for times and durations determine."""
    total, first, time = (owners[slot][0] if slot in owners else Field() for slot in ("total", "first", "time"))
    named = frozenset({"first"} if first.slot and first.unit != total.unit else ())
    return {
        "stamp": time.stamp or Stamp("none"),
        "total_unit": total.unit,
        "first_unit": first.unit,
        "named": named,
    }


def _line_patterns(
    tokens: Sequence[str | Field], slots: Mapping[int, str], escaped: bool, server: str
) -> tuple[str, str, str]:
    """Strict, wide and widest pattern of a line; ``slots`` are those of the chosen fields, by their place."""
    fast, careful, last_resort = "", "", ""
    for place, token in enumerate(tokens):
        if isinstance(token, str):
            fast += re.escape(token)
            gap = re.sub(r"(?:\\[ \t])+", r"[ \\t]+?", re.escape(token))
            careful, last_resort = careful + gap, last_resort + gap
            continue
        before = tokens[place - 1] if place else ""
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        strict, wide, widest = _patterns(token, before, after, escaped, server)
        group = slots.get(place, "")
        fast += _strict_group(group, strict, token.kind)
        careful += _group(group, wide)
        last_resort += _group(group, widest)
    return fast, careful, last_resort


def _kind(field: Field) -> str:
    """The pattern of a field's values; texts of some fields are restricted."""
    return field.slot if field.kind == "text" and field.slot in ("client", "url", "op") else field.kind


def _group(name: str, pattern: str) -> str:
    return f"(?P<{name}>{pattern})" if name else f"(?:{pattern})"


def _strict_group(name: str, pattern: str, kind: str) -> str:
    if name == "request":
        origin = r"[a-z]+://(?P<host>[!#-.0-?A-Z^-~]+)" if kind == "absolute" else ""
        return rf"(?P<op>[A-Z]+) {origin}(?P<url>/{CLEAN}*)(?: (?P<protocol>HTTP/[0-9.]+))?"
    if name == "url":
        return rf"(?P<url>/{CLEAN}*)" if kind in ("shape", "w3c") else rf"(?P<url>/{pattern})"
    if kind == "peer":
        return rf"(?P<{name}>[0-9A-Za-z.-]+):[0-9]+"
    return _group(name, pattern)


def _patterns(
    field: Field, before: str | Field, after: str | Field, escaped: bool, server: str
) -> tuple[str, str, str]:
    """Strict, wide and widest pattern of a value in its place."""
    if field.kind == "shape":
        return field.strict or field.shape, field.shape, field.shape
    if field.kind in _SHAPES:
        strict, wide = _SHAPES[field.kind]
        return strict, wide, wide
    quoted = isinstance(before, str) and before.endswith('"') and isinstance(after, str) and after.startswith('"')
    stops = "\\\\" + (re.escape(after[0]) if isinstance(after, str) and after else "")
    if field.kind in ("target", "path") or field.slot in ("url", "op", "args", "query"):
        stops += ' "' + (r"\?" if field.kind == "path" and isinstance(after, Field) else "")
    if field.slot == "client":
        stops += r' ,"\['
    strict = f"[ -~--[{stops}]]*" + ("?" if isinstance(after, Field) else "")
    within = '[^"]*' if server == "nginx" else r'(?:[^"\\]|\\.)*'
    if escaped and quoted:
        return strict, within, ".*?"
    if escaped and field.kind == "user":  # greedy: what follows is the last time stamp, not one in the user's name
        return strict, f'{within}|""', ".*?"
    return strict, ".*?", ".*?"
