"""Infers from a sample the layout of a log that begins like common or combined and goes on in its own way.

People put ``$request_time`` and other variables in any place. So the text around the fixed core (time in brackets,
request in quotes, status, size) is cut into words; those that always look alike become fields. Referer and user agent
are found by their values, as people also choose the order of the quoted fields.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.fields.units import NGINX_DURATIONS, UNKNOWN, unit_of
from logreplay.parsers.formats.field_names import slot_of
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.log_format import NGINX, Field, compile_tokens

_STAMP: Final = r"\[(?P<time>[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4})\]"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+"'
_CORE: Final = re.compile(
    rf'^(?P<head>(?:[^"\[]|{_QUOTED}|(?!{_STAMP.replace("?P<time>", "?:")})\[)*+){_STAMP}(?P<middle>[^"]*+)'
    rf'(?P<request>{_QUOTED}) (?P<rc>[0-9]{{3}}|-) (?P<bytes>[0-9]+|-)(?P<tail>(?:[^"]|{_QUOTED})*+)$'
)
"""The time is the first outside of quotes, and each quote is closed: the regex does not try a part of a line twice."""
_WORD: Final = re.compile(rf'(?P<name>[A-Za-z_]+[=:])?(?P<value>{_QUOTED}|\[[^]["]*\]|[^ "]+)')
_LIST_GAP: Final = re.compile(r"(?<=[0-9-])(?:, | : )(?=[0-9-])")
_MSEC: Final = re.compile(r"[12][0-9]{9}\.[0-9]{3}")
"""nginx's $msec, from 2001 to 2065: no request took that many seconds."""
_SECONDS: Final = re.compile(r"[0-9]+\.[0-9]{3}(?:,(?:-|[0-9]+\.[0-9]{3}))*")
_LOOKS: Final = {
    "number": re.compile(r"[-0-9a-fA-F.:]+(?:, ?[-0-9a-fA-F.:]+)*|unknown"),  # and addresses, as in X-Forwarded-For
    "referer": re.compile(r"[A-Za-z][-A-Za-z0-9+.]*:/?/.*|about:.*"),
    "agent": re.compile(r"(?!HTTP/)[A-Za-z][-A-Za-z0-9_.+!&' ]*/v?[0-9].*"),
}
"""Patterns of values; of all but numbers no two fit the same value."""


def look_of(values: Sequence[str]) -> str:
    """The look of more than half of the values: ``referer``, ``agent``, ``number`` (also addresses).

    ``empty`` where all values are empty or ``-``; an empty text where no look prevails.
    """
    filled = [value for value in values if value not in ("", "-")]
    if not filled:
        return "empty"
    fits = {look: sum(pattern.fullmatch(value) is not None for value in filled) for look, pattern in _LOOKS.items()}
    return next((look for look, count in fits.items() if count > len(filled) / 2), "")


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
    tail = _tokens([core["tail"] for core in like], leading=False)
    total, note = _total(tail, [core["tail"] for core in like])
    by_nginx = total is not None and total.unit == 1.0
    time = Field("time", "clf", 1, stamp=Stamp("clf", "end" if by_nginx else "start"))
    status, size = Field("rc", "status"), Field("bytes", "int")
    fixed: list[str | Field] = ['"', Field("request", "request"), '" ', status, " ", size]
    tokens = _joined([*head, "[", time, "]", shape[1], *fixed, *tail])
    known = {token.slot for token in tail if isinstance(token, Field)} & {"referer", "agent"}
    format = compile_tokens(tokens, "like combined" if known else "like common", "apache", True, "")
    unsure = _left_out(tail, known)
    return replace(format, server="nginx" if by_nginx else "unknown", note="; ".join(filter(None, (note, unsure))))


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


def _tokens(texts: Sequence[str], *, leading: bool) -> list[str | Field]:
    """Literals and fields of one part; the texts are alike in shape."""
    tokens: list[str | Field] = []
    end = 0
    columns = [[word["value"] for word in _WORD.finditer(_LIST_GAP.sub(",", text))] for text in texts]
    first = _LIST_GAP.sub(",", texts[0])
    words = list(_WORD.finditer(first))
    values = [[column[number].strip('"') for column in columns] for number in range(len(words))]
    names = [(word["name"] or "")[:-1].lower() for word in words]
    quoted = [word["value"].startswith('"') for word in words]
    texts_at = [number for number in range(len(words)) if quoted[number] and not names[number]]
    texted = {} if leading else _referer_and_agent({number: look_of(values[number]) for number in texts_at})
    client = next((number for number, column in enumerate(values) if look_of(column) == "number"), 0)
    for number, word in enumerate(words):
        tokens.append(first[end : word.start("value") + quoted[number]])
        if leading:
            field = {client: Field("client", "text", 1), client + 2: Field("user", "user")}.get(number, Field())
        elif number in texted:
            field = Field(texted[number])
        else:
            field = _field(values[number], names[number], quoted=quoted[number])
        tokens.append(field)
        end = word.end() - quoted[number]
    tokens.append(first[end:])
    return tokens


def _referer_and_agent(looks: Mapping[int, str]) -> dict[int, str]:
    """Choose the columns of the referer and the user agent; none that could as well be the other, or something else.

    Where only one of them can be told, the other is its neighbour in the order of combined, if that is empty in the
    sample; and directly behind the size, as in combined itself, also if it holds texts of another look.

    Args:
        looks: kinds of values in the quoted columns without names, by their place.
    """
    agents, referers = ([place for place in looks if looks[place] == look] for look in ("agent", "referer"))
    agent = agents[0] if len(agents) == 1 else None
    referer = referers[0] if len(referers) == 1 else None
    if referer is None and agent is not None:
        fits = ("referer", "empty", "") if agent == 1 else ("referer", "empty")
        referer = agent - 1 if looks.get(agent - 1) in fits else None
    elif agent is None and referer is not None:
        fits = ("agent", "empty", "") if referer == 0 else ("agent", "empty")
        agent = referer + 1 if looks.get(referer + 1) in fits else None
    elif agent is None and looks.get(0) == looks.get(1) == "empty":
        referer, agent = 0, 1
    return {place: slot for place, slot in ((referer, "referer"), (agent, "agent")) if place is not None}


def _field(values: Sequence[str], name: str, *, quoted: bool) -> Field:
    if name in NGINX_DURATIONS:
        return NGINX[NGINX_DURATIONS[name]]
    if quoted and (slot := slot_of(name)) in ("referer", "agent"):
        return Field(slot)
    numbers = [value for value in values if value != "-"]
    if numbers and all(_MSEC.fullmatch(value) for value in numbers):
        return Field("time", "epoch", 3, stamp=Stamp("epoch", "end"))
    if numbers and all(_SECONDS.fullmatch(value) for value in numbers):
        return Field("total", "list", 1)
    if numbers and not quoted and all(re.fullmatch(r"[0-9]+", value) for value in numbers):
        return Field("", "int")
    return Field()


def _left_out(tail: Sequence[str | Field], known: Set[str]) -> str:
    """Say that a quoted value of unknown meaning may be the referer or the user agent."""
    unknown = any(
        isinstance(field, Field) and field == Field() and isinstance(before, str) and before.endswith(' "')
        for before, field in pairwise(tail)
    )
    words = [word for slot, word in (("referer", "referer"), ("agent", "user agent")) if slot not in known]
    if not words or not unknown:
        return ""
    return f"no quoted value is certainly the {' or the '.join(words)}, so none is used as it: give the format with -f"


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
