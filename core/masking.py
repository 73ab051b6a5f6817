"""Masks credentials in printed texts (names stay, values become ``***``) and makes texts safe for a terminal.

For messages, pictures and reports. Result logs and converted CSVs are data and keep their values, because they are
replayed (``convert --redact`` makes a log that can be given away). Names and formats decide; when in doubt, a value is
masked. A secret under a harmless name is not found.
"""

import re
from typing import Final
from urllib.parse import unquote

MASK: Final = "***"

_HEADERS: Final = frozenset({"cookie", "set-cookie", "set-cookie2", "www-authenticate", "authentication-info"})

_NAME: Final = re.compile(
    r"token|passw|pwd|secret|sess|signature|credential|auth(?!or(?!i))|jwt|saml|assertion|nonce|csrf|xsrf|api_?-?key"
    r"|(?<![a-z])(?:key|sig|sid|pass|otp|pin|code|ticket|hmac|mac)(?![a-z])"
)
"""A field whose name matches (in lower case, camelCase cut into words) holds a secret."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# Texts come from strangers: each pattern begins only where a name can begin, so that its time is linear in the text.
_PAIR: Final = re.compile(
    r"(?!(?:(?<=--use )|(?<=--extract ))\w+=(?:\.\.\.|(?:header|param|body|json|regex):))"  # a place, not a secret
    r"(?<![^\s?&;,=/#\"'<>{}()])(?P<name>[^\s?&;,=/#\"'<>{}()]++)=(?P<value>\"[^\"]*\"|[^\s&;#,\"'<>]+)"
)
_NESTED: Final = re.compile(
    r"(?P<before>%(?:25)*(?:3F|26|3B))(?P<name>[\w.-]++)(?P<equals>%(?:25)*3D)(?:(?!%(?:25)*(?:26|23|3B))[^\s&;#\"'])+",
    re.IGNORECASE,
)
_JSON_PAIR: Final = re.compile(r'"(?P<name>[^"]{1,100})"(?P<colon>\s*:\s*)(?:"(?:[^"\\]|\\.)*"|[^\s,}\]"]+)')
_USERINFO: Final = re.compile(
    r"(?:(?<=://)|(?<![^\s\"'=(,])(?=[\w.+-]{1,64}+:(?!//)))"  # behind a scheme; or NAME:PASSWORD@HOST without one
    r"(?:[^/?#\s@:\"]{0,64}+:(?!\d{1,5}(?:[/?#\s]|$))[^\s\"]{0,256}|[^/?#\s\"]{1,256})(?=@)"
)
"""User and password. A password may hold any sign that its user did not encode, but a port is not one."""
_SCHEME: Final = re.compile(
    r"\b(bearer|basic|(?<!--)(?<!--no-)digest|negotiate|ntlm|token)(\s+)(?=\S*[\w+/=.~-]{6})[^\s,\"']+", re.IGNORECASE
)
_LOOKS: Final = re.compile(
    r"(?<![\w-])eyJ[\w-]{6,}+\.[\w-]+(?:\.[\w-]*)?"  # a JSON Web Token (RFC 7519)
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[oprsu]_\w{20,}|\bxox[abprs]-[\w-]{10,}|\bsk_live_\w{10,}"
)
_HEADER_LINE: Final = re.compile(r"^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(:[ \t]*)(.+)$", re.MULTILINE)

_FILE: Final = re.compile(
    r"\.(?:csv|parquet|pias|rejects|log|txt|json|jsonl|har|gor|warc|js|toml|conf|pem|crt|xml|html|gz|bz2|xz|zst)[-.\d]*$",
    re.IGNORECASE,
)
"""The end of a file's name, such as session.har or auth.log.1; no header is called so."""


def terminal_safe(text: str, instead: str = "?") -> str:
    """Replace the characters of a text that could steer a terminal."""
    return "".join(sign if sign.isprintable() else instead for sign in text)


def terminal_safe_lines(text: str) -> str:
    """`terminal_safe` for a text of several lines, which stay lines."""
    return "\n".join(map(terminal_safe, text.split("\n")))


def is_secret(name: str) -> bool:
    """Whether the value of a field of this name (of a query, a form, a header, a JSON object) is to be hidden."""
    decoded = unquote(name)
    return decoded.lower() in _HEADERS or bool(_NAME.search(_CAMEL.sub("_", decoded).lower()))


def _is_header(name: str) -> bool:
    """Whether ``NAME: text`` is a header with a secret, not an error about a file whose name looks like one."""
    return is_secret(name) and not _FILE.search(name)


def masked(text: str) -> str:
    """Mask credentials in any text: urls, query and form fields, JSON, header lines, error texts."""
    text = _HEADER_LINE.sub(lambda m: m[1] + m[2] + MASK if _is_header(m[1]) else m[0], text)
    text = _USERINFO.sub(MASK, text)
    text = _LOOKS.sub(MASK, text)
    text = _SCHEME.sub(rf"\1\2{MASK}", text)
    text = _PAIR.sub(lambda m: f"{m['name']}={MASK}" if is_secret(m["name"]) else m[0], text)
    text = _NESTED.sub(lambda m: m["before"] + m["name"] + m["equals"] + MASK if is_secret(m["name"]) else m[0], text)
    return _JSON_PAIR.sub(lambda m: f'"{m["name"]}"{m["colon"]}"{MASK}"' if is_secret(m["name"]) else m[0], text)


def safe_to_show(text: str) -> str:
    """A text of a log, a target or another program, with credentials masked and nothing that steers a terminal."""
    return terminal_safe(masked(text))
