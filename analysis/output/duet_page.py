"""Writes the report of a duet, and the files of its differences: all that comes from targets is masked and escaped."""

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from logreplay.analysis.output.html import svg
from logreplay.analysis.output.plots.overlay import changes, shown
from logreplay.analysis.output.template import rendered
from logreplay.analysis.response_diff.aggregate import ALPHA, AnswerDifferences, ExamplePair, frame
from logreplay.analysis.response_diff.diff import AnswerOf, pretty
from logreplay.analysis.response_diff.rules import IGNORED_HEADERS, default_ignored
from logreplay.analysis.verdict.ratio_interval import DIFFERENT
from logreplay.analysis.verdict.shares import FAILS_MORE
from logreplay.core.files import atomic_path, write_atomically
from logreplay.core.masking import masked
from logreplay.core.plural import number_of
from logreplay.core.record import to_csv

if TYPE_CHECKING:
    from logreplay.analysis.verdict.comparison import Comparison

NAMES: Final = ("baseline", "candidate", "second baseline")
_NAMED: Final = 3
"""Routes or places in the first line."""
_SHOWN: Final = 4000
"""Characters of a body in the report."""
_ROWS: Final = 200
"""Differences in the report."""
_EXAMPLES: Final = 20
"""Pairs side by side in the report."""


def write_differences(folder: Path, found: AnswerDifferences) -> None:
    """Write ``differences.csv`` and ``pairs.jsonl`` into a folder."""
    write_atomically(folder / "differences.csv", to_csv(frame(found.rows), header=True).decode())
    with atomic_path(folder / "pairs.jsonl") as fresh, fresh.open("w", encoding="utf-8", errors="replace") as file:
        for pair in found.examples:
            file.write(json.dumps(_as_dict(pair), ensure_ascii=False) + "\n")


def html(
    title: str,
    sentences: Sequence[str],
    times: Sequence[Mapping[str, Any]],
    found: AnswerDifferences | None,
    facts: Sequence[tuple[str, str]] = (),
    compared: "Comparison | None" = None,
) -> str:
    """Return the report of a duet as the text of an HTML page.

    Args:
        title: names both targets.
        sentences: sentences of the comparison of times.
        times: rows of its table, all with the same keys.
        found: differences of the answers; None: they were not compared.
        facts: names and values of the duet, such as the URL of its baseline.
        compared: the comparison of the times, for the first line and the picture of the changes; None: neither.
    """
    return rendered(
        "duet.html.j2",
        {"percent": percent},
        title=title,
        headline=_headline(compared, found) if compared else "",
        drawing=_drawing(compared) if compared else "",
        facts=[(name, masked(value)) for name, value in facts],
        sentences=sentences,
        times=times,
        found=found,
        rows=found.rows[:_ROWS] if found else (),
        examples=[_side_by_side(pair) for pair in found.examples[:_EXAMPLES]] if found else (),
        ignored=", ".join(IGNORED_HEADERS),
        alpha=ALPHA,
    )


def _headline(compared: "Comparison", found: AnswerDifferences | None) -> str:
    """The verdict in one line: changed routes, more failures, and the places of answers that differ."""
    parts, judged = [], {**({"all requests": compared.change} if compared.change else {}), **compared.routes}
    if compared.verdict == FAILS_MORE:
        parts.append(f"{compared.failed[1]:.2%} of the requests failed, {compared.failed[0]:.2%} in the baseline")
    changed = [(name, each) for name, each in judged.items() if each.verdict(compared.tolerance) in DIFFERENT]
    for name, each in changed[:_NAMED]:
        parts.append(f"{masked(name)} {abs(each.ratio - 1):.1%} {each.verdict(compared.tolerance)}")
    if len(changed) > _NAMED:
        parts.append(f"{number_of(len(changed) - _NAMED, 'more route')} changed")
    if found and found.counting:
        places = list(dict.fromkeys(row.place for row in found.counting))
        named = ", ".join(map(masked, places[:_NAMED])) + ", …" * (len(places) > _NAMED)
        parts.append(f"{named} {'differs' if len(places) == 1 else 'differ'} in {percent(found.share)} of the answers")
    return f"Candidate: {', '.join(parts)}" if parts else ""


def _drawing(compared: "Comparison") -> Markup:
    """Draw the changes of all requests, routes and percentiles, each with its interval."""
    drawn = shown(compared)
    if not drawn:
        return Markup()
    return svg(partial(changes, found=compared), (7.6, 0.9 + 0.3 * len(drawn)), "Changes with their intervals")


def percent(share: float | None) -> str:
    """A share as text: ``0.5%``; ``–`` for none."""
    return "–" if share is None else f"{100 * share:.3g}%"


def _as_dict(pair: ExamplePair) -> dict[str, Any]:
    """A pair as JSON, secrets masked."""
    answers = {
        name.replace(" ", "_"): {
            "status": answer.status,
            "error": answer.error,
            "headers": _headers(answer),
            "size": answer.size,
            "body": _body(answer),
        }
        for name, answer in zip(NAMES, pair.answers, strict=False)
        if answer
    }
    return {"row": pair.row, "route": pair.route, "url": masked(pair.url), **answers}


def _headers(answer: AnswerOf) -> list[str]:
    return [masked(f"{name.decode('latin-1')}: {value.decode('latin-1')}") for name, value in answer.headers]


def _body(answer: AnswerOf) -> str:
    return masked(pretty(answer))


def _side_by_side(pair: ExamplePair) -> dict[str, Any]:
    """Both answers in lines: each line with whether it differs."""
    answers = pair.answers[:2]
    texts = [_text(answer) if answer else [] for answer in answers]
    unmarked = [_ignored_lines(answer) if answer else set[int]() for answer in answers]
    matcher = SequenceMatcher(None, texts[0], texts[1])
    sides: list[list[tuple[str, bool]]] = [[], []]
    for kind, *ends in matcher.get_opcodes():
        for side, text, ignored, (begin, end) in zip(sides, texts, unmarked, (ends[:2], ends[2:]), strict=True):
            side += [(text[at], kind != "equal" and at not in ignored) for at in range(begin, end)]
    return {"row": pair.row, "url": masked(pair.url), "sides": [*zip(NAMES, sides, strict=False)]}


def _ignored_lines(answer: AnswerOf) -> set[int]:
    """The indices of lines of `_text` that hold headers that are not compared."""
    names = (name.decode("latin-1").lower() for name, _ in answer.headers)
    return {at for at, name in enumerate(names, 1) if default_ignored(name)}


def _text(answer: AnswerOf) -> list[str]:
    body = _body(answer)
    cut = [*body[:_SHOWN].splitlines(), *(["…"] if len(body) > _SHOWN else [])]
    return [answer.error or str(answer.status), *_headers(answer), "", *cut]
