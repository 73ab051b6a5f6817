"""The words that a redaction keeps; every other letter and digit is replaced.

A redaction is an allow-list. A grammar, such as that of a query, only tells where a name stands, and which letters and
digits are one value. What it does not understand is a value, and values are replaced.

- Names (of query fields, cookies, headers, keys of JSON) and segments of paths keep their words: letters that read as
  words, and short numbers beside them. Beside words a longer number, or a hash, is an id: it is replaced, they stay. In
  any other company (``4711abc``, ``bob@example.org``) nothing stays.
- Texts about formats and programs (Accept, User-Agent) keep the words of `VOCABULARY`, codes of two letters and
  versions.
"""

import re
from collections.abc import Callable
from typing import Final

Change = Callable[[str], str]
"""The substitute of a text, of its length. Texts have one character for each byte."""

_WORDS: Final = """
20100101 8859 aarch64 accept age ahrefsbot amd64 android apache api applebot applewebkit application archiver
arm armv7l atom attachment authorization avif axios b3 baiduspider base64 beta bin bingbot bingpreview bits bot
boundary brand browser build bytes bytespider cache charset chrome chromium client clr com compatible compress
content context control cors cpu crawler crios cros csrf css css3 csv curl dalvik darwin data deflate desktop
digext disposition document edg edga edgios empty en encoded encoding encrypted es5 es6 event exchange explorer
facebookexternalhit false feed feedfetcher firefox font form format fxios gecko gif git go google googlebot
graphql grpc gzip h264 haproxy headlesschrome html html5 http http2 httpclient https i18n i686 ico identity
iemobile iframe image immutable infopath inline intel ios ipad iphone ipod iso java javascript jpeg jpg json k6
k8s keep khtml l10n language like linux m3u8 mac macintosh max md5 media messages microsoft midp mixed mjs
mobile mode mozilla mp3 mp4 mpeg msie msnbot multipart navigate net nginx none not oauth2 object octet ogg
okhttp only opera opr org origin os p256 patch pdf perl permessage php phpmyadmin plain platform png pragma
preload presto problem proto protobuf python related report request requested requests revalidate robot robots
ruby rust safari same script seamonkey search secure semrushbot server sha1 sha256 signed silk site slurp spider
stale store stream strict style sv1 svg tablet takeover text tiff token touch track transform trident true type
ubuntu unicode upgrade urlencoded urllib urllib3 user utf utf8 varnish vary vendor version video vnd wasm wav
web webdriver webm webp websocket wget win win64 window windows woff woff2 wow64 www x11 x64 x86 xhtml xml
xmlhttprequest yandexbot zh zip zstd
"""
VOCABULARY: Final = frozenset(_WORDS.split())
"""In lower case."""

_RUN: Final = re.compile(r"[A-Za-z0-9\x80-\xff]+")
_BETWEEN: Final = re.compile(r"([-_.,+()! ]+)")
_BETWEEN_NAMES: Final = re.compile(r"([-_.,+()! \[\]:$]+|^@)")
_FILE: Final = re.compile(
    r"\.(?:html?|php|aspx?|jsp|cgi|m?js|css|map|json|xml|txt|csv|pdf|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|eot"
    r"|mp[34]|webm|m3u8|zip|gz|rss|atom|wasm)$"
)
_ENGLISH: Final = re.compile(
    r"[A-Za-z]{1,2}|[a-z]?(?:[A-Z]{0,12}[a-z]{2,20}|(?:A[st]|By|I[dns]|My|No|O[fnr]|To|Up)(?![a-z])|[A-Z]{1,12}s?$){1,5}"
)
_LONGEST: Final = 24
_FEW_DIGITS: Final = re.compile(r"[0-9]{1,3}")
_VERSION: Final = re.compile(r"v[0-9]{1,3}")
_NUMBERED: Final = re.compile(r"([A-Za-z]+)[0-9]{1,2}")
_ID: Final = re.compile(r"[0-9]{4,}|(?=[a-f]*[0-9])[0-9a-f]{8,}|(?=[A-F]*[0-9])[0-9A-F]{8,}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CHUNK: Final = re.compile(r"[^ \t;,()\"]+")
_CODE: Final = re.compile(r"[A-Za-z]{1,2}")
_QUANTITY: Final = re.compile(r"[0-9]{1,3}(?:[._][0-9]{1,3}){0,2}")


def segment(text: str, change: Change) -> str:
    """Keep the words of a segment of a path, replace the rest."""
    found = _FILE.search(text)
    ending = found[0] if found else ""
    return _words(text.removesuffix(ending), _BETWEEN, _is_word, change) + ending


def name(text: str, change: Change) -> str:
    """Keep the words of a name, also if they end in two digits (``address1``); replace the rest."""
    return _words(text, _BETWEEN_NAMES, _is_numbered, change)


def _words(text: str, between: re.Pattern[str], is_word: Callable[[str], bool], change: Change) -> str:
    parts = between.split(text)
    words = [bool(part) and is_word(part) for part in parts[::2]]
    if _UUID.fullmatch(text) or not any(words):
        return change(text)
    ids = [not word and bool(_ID.fullmatch(part)) for part, word in zip(parts[::2], words, strict=True)]
    few = (word or not part or _FEW_DIGITS.fullmatch(part) for part, word in zip(parts[::2], words, strict=True))
    if not all(known or an_id for known, an_id in zip(few, ids, strict=True)):
        return change(text)
    parts[::2] = [change(part) if an_id else part for part, an_id in zip(parts[::2], ids, strict=True)]
    return "".join(parts)


def _is_word(run: str) -> bool:
    """Whether a run of letters and digits reads as words, of any language."""
    if run.isascii():
        known = run.lower() in VOCABULARY or _VERSION.fullmatch(run)
        return bool(known or (len(run) <= _LONGEST and _ENGLISH.fullmatch(run)))
    try:
        letters = run.encode("latin-1").decode()
    except UnicodeError:
        return False
    return len(letters) <= _LONGEST and letters.isalpha()


def _is_numbered(run: str) -> bool:
    numbered = _NUMBERED.fullmatch(run)
    return _is_word(numbered[1] if numbered else run)


def phrase(text: str, change: Change) -> str:
    """Keep words of `VOCABULARY`, codes and versions in a text about formats or programs; replace the rest."""
    return _CHUNK.sub(lambda found: _chunk(found[0], change), text)


def _chunk(text: str, change: Change) -> str:
    runs = _RUN.findall(text)
    named = any(run.lower() in VOCABULARY or _CODE.fullmatch(run) for run in runs)
    versions = named or bool(_QUANTITY.fullmatch(text))
    if all(
        run.lower() in VOCABULARY or _CODE.fullmatch(run) or (versions and _FEW_DIGITS.fullmatch(run)) for run in runs
    ):
        return text
    return _RUN.sub(lambda found: found[0] if found[0].lower() in VOCABULARY else change(found[0]), text)
