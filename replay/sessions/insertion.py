"""Insertion of extracted values into requests: ``NAME=header:…``, ``NAME=param:…``, ``NAME=body:…``."""

from dataclasses import dataclass
from typing import Final

from logreplay.replay.requests.header_columns import check_header
from logreplay.replay.sessions.extraction import NAME
from logreplay.replay.sessions.request_text import (
    BODY_METHODS,
    header_of,
    method_of,
    with_body_field,
    with_header,
    with_parameter,
)

_PLACE: Final = "{}"


@dataclass(frozen=True, slots=True)
class Insertion:
    """A rule that puts a value into a request.

    Attributes:
        name: name of the value.
        kind: ``header``, ``param`` or ``body``.
        where: name of the header, the query parameter or the field of the body.
        template: text of the header, with ``{}`` for the value.
    """

    name: str
    kind: str
    where: str
    template: str = _PLACE

    @classmethod
    def parse(cls, text: str) -> "Insertion":
        """Read ``NAME=header:HEADER``, ``NAME=header:HEADER: TEXT {}``, ``NAME=param:NAME`` or ``NAME=body:FIELD``."""
        name, equals, what = text.partition("=")
        kind, colon, where = what.partition(":")
        if not (equals and colon and NAME.fullmatch(name) and where) or kind not in ("header", "param", "body"):
            raise ValueError(
                f"{text!r}: expected NAME=header:HEADER, NAME=param:PARAMETER or NAME=body:FIELD, "
                "such as form=header:X-CSRF-Token"
            )
        if kind != "header":
            return cls(name, kind, where)
        header, _, template = where.partition(":")
        rule = cls(name, kind, header.strip(), template.strip() or _PLACE)
        if _PLACE not in rule.template:
            raise ValueError(
                f"{text!r}: the text of the header has no {{}} for the value; write Authorization: Bearer {{}}"
            )
        check_header(rule.where, rule.template)
        return rule

    @property
    def label(self) -> str:
        """The rule as given, without the text around a header's value."""
        return f"{self.name}={self.kind}:{self.where}"

    def concerns(self, request: bytes) -> bool:
        """Whether a request has a place for the value, as far as that is known without the value."""
        if self.kind == "header":
            return header_of(request, self.where.lower().encode()) is None
        if self.kind == "param":
            return with_parameter(request, self.where, "\x00") is not request
        return method_of(request) in BODY_METHODS

    def insert(self, request: bytes, value: str) -> bytes:
        """The request with the value, which `is_usable`; a header that it has already wins."""
        if self.kind == "param":
            return with_parameter(request, self.where, value)
        if self.kind == "body":
            return with_body_field(request, self.where, value)
        if not self.concerns(request):
            return request
        return with_header(request, self.where.encode(), self.template.replace(_PLACE, value).encode())
