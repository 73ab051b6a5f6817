"""Infers from a sample the layout of a log that begins like common or combined and goes on in its own way.

People put ``$request_time`` and other variables in any place. So the text around the fixed core (time in brackets,
request in quotes, status, size) is cut into words; those that always look alike become fields.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.fields.units import NGINX_DURATIONS, UNKNOWN, unit_of
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.log_format import NGINX, Field, compile_tokens

_CORE: Final = re.compile(
    r'^(?P<head>.*?)\[(?P<time>[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4})\](?P<middle>[^"]*)'
    r'"(?P<request>(?:[^"\\]|\\.)*)" (?P<rc>[0-9]{3}|-) (?P<bytes>[0-9]+|-)(?P<tail>.*)$'
)
_WORD: Final = re.compile(r'(?P<name>[A-Za-z_]+[=:])?(?P<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^ "]+)')
_LIST_GAP: Final = re.compile(r"(?<=[0-9-])(?:, | : )(?=[0-9-])")
_MSEC: Final = re.compile(r"[12][0-9]{9}\.[0-9]{3}")
"""nginx's $msec, from 2001 to 2065: no request took that many seconds."""


def from_sample(lines: Sequence[str]) -> Format | None:
    """Find the layout that most lines of the sample share; None if they do not have the core."""
    cores = [core for line in lines if (core := _CORE.match(line))]
    shapes = Counter(_shape(core) for core in cores)
    if not shapes:
        return None
    shape, count = shapes.most_common(1)[0]
    if count < 2:
        return None
    like = [core for core in cores if _shape(core) == shape]
    head = _tokens([core["head"] for core in like], leading=True)
    middle = _tokens([core["middle"] for core in like], leading=False, plain=True)
    tail = _tokens([core["tail"] for core in like], leading=False)
    if head is None or middle is None or tail is None:
        return None
    total, note = _total(tail, [core["tail"] for core in like])
    by_nginx = total is not None and total.unit == 1.0
    time = Field("time", "clf", 1, stamp=Stamp("clf", "end" if by_nginx else "start"))
    status, size = Field("rc", "status"), Field("bytes", "int")
    fixed: list[str | Field] = ['"', Field("request", "request"), '" ', status, " ", size]
    tokens = _joined([*head, "[", time, "]", *middle, *fixed, *tail])
    name = "like combined" if shape[2].startswith(' "" ""') else "like common"
    format = compile_tokens(tokens, name, "apache", True, "")
    return replace(format, server="nginx" if by_nginx else "unknown", note=note)


def _shape(core: re.Match[str]) -> tuple[str, str, str]:
    return (
        _WORD.sub(_kind, _LIST_GAP.sub(",", core["head"])),
        core["middle"],
        _WORD.sub(_kind, _LIST_GAP.sub(",", core["tail"])),
    )


def _kind(word: re.Match[str]) -> str:
    value = word["value"]
    mark = '""' if value.startswith('"') else "[]" if value.startswith("[") else "w"
    return (word["name"] or "") + mark


def _tokens(texts: Sequence[str], *, leading: bool, plain: bool = False) -> list[str | Field] | None:
    """Literals and fields of one part; the texts are alike in shape."""
    if plain:
        return [texts[0]]
    tokens: list[str | Field] = []
    end = 0
    first = _LIST_GAP.sub(",", texts[0])
    columns = [[word["value"] for word in _WORD.finditer(_LIST_GAP.sub(",", text))] for text in texts]
    for number, word in enumerate(_WORD.finditer(first)):
        values = [column[number] for column in columns]
        tokens.append(first[end : word.start()] + (word["name"] or ""))
        quoted = word["value"].startswith('"')
        inside = [value.strip('"') for value in values]
        field = _field(number, quoted, inside, (word["name"] or "")[:-1].lower(), leading)
        tokens += ['"', field, '"'] if quoted else [field]
        end = word.end()
    tokens.append(first[end:])
    return tokens


def _field(number: int, quoted: bool, values: Sequence[str], name: str, leading: bool) -> Field:
    if leading:
        return Field("client", "text", 1) if number == 0 else Field("user", "user") if number == 2 else Field()
    if name in NGINX_DURATIONS:
        return NGINX[NGINX_DURATIONS[name]]
    if quoted:
        slot = {0: "referer", 1: "agent"}.get(number, "")
        return Field(slot)
    numbers = [value for value in values if value != "-"]
    if numbers and all(_MSEC.fullmatch(value) for value in numbers):
        return Field("time", "epoch", 3, stamp=Stamp("epoch", "end"))
    if numbers and all(re.fullmatch(r"[0-9]+\.[0-9]{3}(?:,(?:-|[0-9]+\.[0-9]{3}))*", value) for value in numbers):
        return Field("total", "list", 1)
    if numbers and all(re.fullmatch(r"[0-9]+", value) for value in numbers):
        return Field("", "int")
    return Field()


def _total(tail: list[str | Field], texts: Sequence[str]) -> tuple[Field | None, str]:
    """Decide on the field that holds the duration: a known name, the first with three decimals, the last number."""
    fields = [(place, token) for place, token in enumerate(tail) if isinstance(token, Field)]
    named = [token for _, token in fields if token.slot == "total" and token.rank == 2]
    decimals = [(place, token) for place, token in fields if token.slot == "total"]
    if named:
        return named[0], ""
    if decimals:
        place, token = decimals[0]
        tail[place] = replace(token, rank=2)
        return tail[place], "the number with three decimals is taken as the duration in seconds"  # type: ignore[return-value]
    numbers = [(place, token) for place, token in fields if token.kind == "int"]
    if not numbers:
        return None, ""
    if len(numbers) > 1:
        return (
            None,
            "several numbers follow and none is certainly a duration, so none is used: give the format with -f",
        )
    place, token = numbers[0]
    order = [index for index, _ in fields].index(place)
    values = [words[order]["value"] for text in texts if len(words := list(_WORD.finditer(text))) > order]
    unit, note = unit_of("", values)
    tail[place] = replace(token, slot="total", unit=unit)
    return (tail[place] if unit != UNKNOWN else None), note  # type: ignore[return-value]


def _joined(tokens: Sequence[str | Field]) -> list[str | Field]:
    """Put neighbouring literals together."""
    joined: list[str | Field] = []
    for token in tokens:
        if isinstance(token, str) and joined and isinstance(joined[-1], str):
            joined[-1] += token
        elif token != "":
            joined.append(token)
    return joined
