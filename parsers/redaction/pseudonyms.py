"""Substitutes for values: the same for the same value throughout one conversion, of the same length and kind.

A letter becomes a letter, a digit a digit; ASCII punctuation and blanks stay, all else becomes letters. So an e-mail
address, a UUID, a date or a number stays one. Two values share a substitute only if a log has more values of a form
than there are substitutes, which are 26 of one letter. The key is made for each conversion and kept nowhere: no one can
compute substitutes back, nor compare them with those of another conversion.
"""

import re
import string
from collections.abc import Callable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address
from secrets import token_bytes
from typing import Final

_STAYING: Final = string.punctuation + " "
_LETTERS_AND_DIGITS: Final = string.ascii_lowercase + string.digits
_HEX: Final = re.compile(r"(?=[a-fA-F]*[0-9])[0-9a-fA-F-]{8,}")
_DECIMAL: Final = re.compile(r"([0-9]+)\.([0-9]+)")
_SHORT: Final = 8
"""Characters up to which two random substitutes may well be equal."""
_TRIES: Final = 1000
_ROUNDS: Final = 8
_MOST_DIGITS: Final = 64


class Pseudonyms:
    """Gives substitutes; the key is random except in tests. Texts have one character for each byte."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or token_bytes(32)
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[tuple[str, str]] = set()

    def text(self, text: str) -> str:
        """The substitute of a text. What encloses a value, such as quotes, changes nothing in its substitute."""
        value = text.strip(_STAYING)
        if not value:
            return text
        before = text[: text.index(value)]
        return before + self._value(value) + text[len(before) + len(value) :]

    def opaque(self, text: str) -> str:
        """A substitute of which nothing stays but the length, for bytes of unknown meaning."""
        digest = self._digest(text, 64)
        return "".join(_LETTERS_AND_DIGITS[digest[place % 64] % 36] for place in range(len(text)))

    def user(self, name: str) -> str:
        """A name of a user."""
        return "user-" + self._like("x" * 8, name)

    def address(self, text: str) -> str:
        """A substitute inside 10.0.0.0/8 or fd00::/8; names get a name."""
        if ":" in text:
            return str(IPv6Address(b"\xfd" + self._digest(text, 15)))
        if text.replace(".", "").isdigit():
            return self._unlike("IPv4", text, lambda salted: str(IPv4Address(b"\x0a" + self._digest(salted, 15)[:3])))
        return "host-" + self._like("x" * 8, text)

    def _value(self, value: str) -> str:
        if value.isascii() and value.isdigit():
            return self._number(value)
        if decimal := _DECIMAL.fullmatch(value):
            return f"{self._number(decimal[1])}.{self._number(decimal[2])}"
        if len(value) > _SHORT:
            return self._like(value, value)
        return self._unlike("text", value, lambda salted: self._like(value, salted))

    def _like(self, form: str, text: str) -> str:
        """Letters for letters and digits for digits of a form, chosen by a text."""
        digest = self._digest(text, 64)
        letters = "abcdef" if _HEX.fullmatch(form) else string.ascii_lowercase

        def instead(place: int, sign: str) -> str:
            chosen = digest[place % 64]
            if sign in _STAYING:
                return sign
            return string.digits[chosen % 10] if sign in string.digits else letters[chosen % len(letters)]

        return "".join(instead(place, sign) for place, sign in enumerate(form))

    def _unlike(self, kind: str, text: str, substitute: Callable[[str], str]) -> str:
        """A substitute that no other text of this kind has, while there are any left."""
        if (kind, text) not in self._given:
            salted = (f"{text}\0{attempt}" if attempt else text for attempt in range(_TRIES))
            found = next(
                (each for each in map(substitute, salted) if (kind, each) not in self._taken), substitute(text)
            )
            self._given[kind, text] = found
            self._taken.add((kind, found))
        return self._given[kind, text]

    def _number(self, digits: str) -> str:
        """Permute the numbers of this length: a Feistel network over decimal digits, so that none meet.

        A zero in front stays, and no other comes there, as JSON wants it: numbers are permuted until it is so.

        Only up to `_MOST_DIGITS`: longer ones do not meet anyway.

        Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
        """
        if len(digits) > _MOST_DIGITS:
            return self._like(digits, digits)
        if len(digits) < 2:
            order = sorted(string.digits, key=lambda each: self._digest(f"digit {each}", 16))
            return "".join(order[int(digit)] for digit in digits)
        found = self._permuted(digits)
        while (found[0] == "0") != (digits[0] == "0"):
            found = self._permuted(found)
        return found

    def _permuted(self, digits: str) -> str:
        left, right = digits[: len(digits) // 2], digits[len(digits) // 2 :]
        for turn in range(_ROUNDS):
            mixed = int(left) + int.from_bytes(self._digest(f"{turn} {len(digits)} {right}", 64))
            left, right = right, str(mixed % 10 ** len(left)).zfill(len(left))
        return left + right

    def _digest(self, text: str, size: int) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=size).digest()
