"""One thing is not said to be several."""

import ast
import re
from pathlib import Path

import pytest

from logreplay.core.plural import first_of, number_of

ROOT = Path(__file__).parents[2]
SINGULAR = re.compile(
    r"^ (?:more |other |login )?(?:requests?|rows|trials|pairs|sessions|cookies|exchanges) (?:were|are)\b"
)


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (1, ("request",), "1 request"),
        (0, ("request",), "0 requests"),
        (2000, ("request",), "2,000 requests"),
        (1, ("pair was", "pairs were"), "1 pair was"),
        (2, ("retry", "retries"), "2 retries"),
    ],
)
def test_a_number_agrees_with_its_noun(number: int, words: tuple[str, ...], text: str) -> None:
    assert number_of(number, *words) == text


def test_no_message_puts_a_plural_and_its_verb_behind_any_number() -> None:
    """``{count} rows were …`` is wrong for one row: `number_of` is for that."""
    found = []
    for path in (path for folder in ("parsers", "replay", "analysis", "cli") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            texts = [getattr(part, "value", None) for part in getattr(node, "values", [])]
            parts = [text if isinstance(text, str) else None for text in texts]
            for before, number, after in zip(["", *parts], parts, parts[1:], strict=False):
                if (
                    number is None
                    and after
                    and SINGULAR.match(after)
                    and not (before or "").endswith((" of ", "than "))
                ):
                    found.append(f"{path.name}: …{after}")
    assert found == []


def test_a_long_list_names_the_first_and_counts_the_others() -> None:
    assert first_of(["a", "b"]) == "a, b"
    assert first_of([f"{rate}/s" for rate in range(1, 9)]) == "1/s, 2/s, 3/s, 4/s, 5/s and 3 more"
