"""Groups the differences of many pairs by route, place and kind, and sets them against the noise.

Theory of operation. Two instances of the same version differ, too: ids, clocks, caches. Where a second instance of the
baseline answers each request as well, each pair says of each difference whether the candidate has it and whether the
second instance has it. If the candidate is like the baseline, one without the other is as likely as the other without
the one (McNemar's exact test). A difference counts only if that is refuted, corrected for the number of groups (Holm).
A change that is rare on each of many routes is found by a second test: of each place, over the routes where the first
did not find it. Half of the level is for each test.
Without a second instance each difference counts, except for values of one class: UUIDs, time stamps, tokens.

Headers and bodies are compared where all targets answer with the same status, or the status is ignored: otherwise a
target that fails more often would have fewer of all other differences.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from logreplay.analysis.response_diff.diff import STATUS, AnswerOf, differences
from logreplay.analysis.response_diff.difference import Difference
from logreplay.analysis.response_diff.rules import Rules
from logreplay.analysis.statistics.sign_test import holm, sign_test
from logreplay.core.errors import LogreplayError
from logreplay.core.files import reason
from logreplay.core.masking import MASK, is_secret, masked
from logreplay.core.plural import number_of

ALPHA: Final = 0.01
"""Level of the test: the share of runs in which a difference that is only noise counts."""
MOST_GROUPS: Final = 300
"""Differences of one route that are told apart; the others are counted as one."""
MOST_SIGNATURES: Final = 20_000
"""Combinations of differences that are told apart; with more, pairs are counted by the first of their differences."""
MOST_BYTES: Final = 64 << 20
"""Bytes of bodies that are held for examples."""
_SHOWN: Final = 300
"""Characters of a value of an example."""
OTHER_PLACES: Final = "(other places)"


class Group(NamedTuple):
    """What differs; `logreplay.analysis.response_diff.difference.Difference` says what the fields mean."""

    place: str
    kind: str
    alike: str


_Found = Mapping[Group, Difference]


class RouteTotal(NamedTuple):
    """How many pairs a route had.

    Attributes:
        pairs: requests that were compared: all targets answered, or some failed.
        differing: pairs whose answers differ in status, headers or body.
        looked_at: differing pairs whose differences are known: all, or a random sample.
    """

    pairs: int
    differing: int
    looked_at: int


class ExamplePair(NamedTuple):
    """A pair with its answers.

    Attributes:
        row: number of the log's row.
        url: request target.
        route: route of the url.
        answers: baseline, candidate and, where there is one, second baseline; None: not sent.
    """

    row: int
    url: str
    route: str
    answers: Sequence[AnswerOf | None]


@dataclass(slots=True)
class _Counts:
    """One group, while pairs are added."""

    example: Difference
    pair: ExamplePair
    candidate: int = 0
    noise: int = 0
    candidate_only: int = 0
    noise_only: int = 0


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One group of differences.

    Attributes:
        route, place, kind, alike: place and kind of the difference
            (`logreplay.analysis.response_diff.difference.Difference`).
        pairs: number of pairs of the route.
        count: pairs with it; estimated where only a sample was looked at.
        share: share of the pairs of the route.
        noise_count, noise_share: the same between the two baselines; None without a second one.
        p: corrected p-value of the test that candidate and noise have it equally often, on its route or, if that is
            less, on all routes; None without noise.
        counts: it is more frequent than in the noise, or there is no noise and the values are not of one class.
        row, url: row and URL of an example.
        baseline, candidate: its values, secrets masked.
    """

    route: str
    place: str
    kind: str
    alike: str
    pairs: int
    count: int
    share: float
    noise_count: int | None
    noise_share: float | None
    p: float | None
    counts: bool
    row: int
    url: str
    baseline: str
    candidate: str


_SCHEMA: Final[dict[str, Any]] = {
    "route": pl.String, "place": pl.String, "kind": pl.String, "alike": pl.String, "pairs": pl.Int64,
    "count": pl.Int64, "share": pl.Float64, "noise_count": pl.Int64, "noise_share": pl.Float64, "p": pl.Float64,
    "counts": pl.Boolean, "row": pl.Int64, "url": pl.String, "baseline": pl.String, "candidate": pl.String,
}  # fmt: skip


_OF_NOISE: Final = ("noise_count", "noise_share", "p")
"""Figures that only a second baseline gives."""


@dataclass(frozen=True, slots=True)
class AnswerDifferences:
    """All differences of a run.

    Attributes:
        rows: those that count first, the most frequent first.
        totals: pairs of each route.
        noise: a second instance of the baseline answered, too.
        share: share of all pairs with a difference that counts, less the share of the noise.
        timed_out: pairs that were not compared, because a request timed out.
        uncompared: other pairs that were not compared: both requests failed alike, neither was sent, or an answer is
            missing.
        unused: words of ``--ignore`` that no difference matched.
        examples: pairs to look at: of the rows that count, in their order, then others.
    """

    rows: Sequence[DifferenceRow] = field(repr=False)
    totals: Mapping[str, RouteTotal] = field(repr=False)
    noise: bool
    share: float
    timed_out: int
    uncompared: int
    unused: Sequence[str]
    examples: Sequence[ExamplePair] = field(repr=False)

    @property
    def counting(self) -> Sequence[DifferenceRow]:
        """The rows that count."""
        return [row for row in self.rows if row.counts]

    @property
    def left_out(self) -> Sequence[str]:
        """One sentence for each reason for which pairs were not compared."""
        reasons = (
            (self.timed_out, "a request timed out"),
            (self.uncompared, "both requests failed alike, neither was sent, or an answer is missing"),
        )
        return [
            f"{number_of(number, 'pair was', 'pairs were')} not compared: {reason}"
            for number, reason in reasons
            if number
        ]


def frame(rows: Sequence[DifferenceRow]) -> pl.DataFrame:
    """Rows as a table; columns as the attributes of `DifferenceRow`."""
    return pl.DataFrame([[getattr(row, name) for name in _SCHEMA] for row in rows], _SCHEMA, orient="row")


def read_rows(path: Path) -> list[DifferenceRow]:
    """The rows of a ``differences.csv``.

    Raises:
        LogreplayError: it cannot be read, or lacks a value.
    """
    try:
        with path.open("rb") as file:
            table = pl.read_csv(file, schema_overrides=_SCHEMA).select(pl.col(list(_SCHEMA)))
    except (OSError, PolarsError) as error:
        raise LogreplayError(f"{path}: cannot be read: {reason(error)}; correct it, or move it away") from None
    table = table.with_columns(pl.col(pl.String).fill_null(""))
    if table.drop(_OF_NOISE).null_count().sum_horizontal().sum():
        raise LogreplayError(f"{path}: lacks a value; correct it, or move it away")
    return [DifferenceRow(**row) for row in table.iter_rows(named=True)]


@dataclass(slots=True)
class Tally:
    """Counts the differences of pairs.

    Attributes:
        rules: say which differences are ignored.
        keep: pairs of each route that are kept as examples, at most.
    """

    rules: Rules
    keep: int = 10
    _groups: dict[str, dict[Group, _Counts]] = field(default_factory=dict)
    _signatures: Counter[tuple[str, frozenset[Group], frozenset[Group]]] = field(default_factory=Counter)
    _first: dict[str, list[ExamplePair]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)
    _held: int = 0
    _noise: bool = False

    def add(self, row: int, url: str, route: str, answers: Sequence[AnswerOf | None]) -> None:
        """Add a pair whose answers differ: of baseline, candidate, any second baseline; None: not sent."""
        before, after, *others = answers
        if before is None or after is None:
            return
        second = others[0] if others else None
        self._noise |= second is not None
        groups = self._groups.setdefault(route, {})
        of_candidate = differences(before, after, self.rules)
        of_noise = differences(before, second, self.rules) if second else []
        if any(each.place == STATUS and not each.ignored for each in (*of_candidate, *of_noise)):
            of_candidate, of_noise = ([each for each in of if each.place == STATUS] for of in (of_candidate, of_noise))
        known = {*groups}
        found, noise = self._found(known, of_candidate), self._found(known, of_noise)
        self._sign(route, frozenset(found), frozenset(noise))
        kept = cache(partial(self._kept, ExamplePair(row, url, route, answers)))  # room is taken once, and if needed
        for group in found.keys() | noise.keys():
            if group not in groups:
                groups[group] = _Counts(_shown(found.get(group) or noise[group]), kept())
            counts = groups[group]
            if group in found and not counts.candidate and counts.noise:
                counts.example, counts.pair = _shown(found[group]), kept()
            counts.candidate += group in found
            counts.noise += group in noise
            counts.candidate_only += group not in noise
            counts.noise_only += group not in found
        first = self._first.setdefault(route, [])
        if found and len(first) < self.keep:
            first.append(kept())

    def _found(self, known: set[Group], differing: Sequence[Difference]) -> _Found:
        """The differences of one side of a pair by group, without those that are ignored; new ones become known."""
        found: dict[Group, Difference] = {}
        for each in differing:
            if each.ignored:
                self._used.add(each.ignored)
                continue
            group = Group(each.place, each.kind, each.alike)
            if group not in known and len(known) >= MOST_GROUPS:
                group = Group(OTHER_PLACES, each.kind.partition(" ")[0], each.alike)
            known.add(group)
            found.setdefault(group, each)
        return found

    def _sign(self, route: str, found: frozenset[Group], noise: frozenset[Group]) -> None:
        signature = (route, found, noise)
        if signature not in self._signatures and len(self._signatures) >= MOST_SIGNATURES:
            signature = (route, frozenset([*found][:1]), frozenset([*noise][:1]))
        self._signatures[signature] += 1

    def _kept(self, pair: ExamplePair) -> ExamplePair:
        """The pair, without its bodies where no room is left for them."""
        size = sum(len(answer.body or b"") for answer in pair.answers if answer)
        if self._held + size > MOST_BYTES or not self.keep:
            return pair._replace(answers=[answer and answer._replace(body=None) for answer in pair.answers])
        self._held += size
        return pair

    def differences(
        self, totals: Mapping[str, RouteTotal], timed_out: int = 0, uncompared: int = 0
    ) -> AnswerDifferences:
        """Return what differs; ``totals``: also of routes without a difference, the rest as in `AnswerDifferences`."""
        corrected = iter(self._corrected())
        rows, chosen = list[tuple[DifferenceRow, ExamplePair]](), set[tuple[str, Group]]()
        for route, group, counts in self._all():
            p = next(corrected) if self._noise else None
            is_counted = bool(counts.candidate) and (not group.alike if p is None else p < ALPHA)
            if is_counted:
                chosen.add((route, group))
            rows.append((_row(route, group, counts, totals[route], p, counts=is_counted), counts.pair))
        rows.sort(key=lambda each: (not each[0].counts, -each[0].count, each[0].route, each[0].place))
        return AnswerDifferences(
            [row for row, _ in rows],
            totals,
            self._noise,
            self._share(chosen, totals),
            timed_out,
            uncompared,
            [word for word in self.rules.words if word not in self._used],
            self._examples([pair for row, pair in rows if row.counts]),
        )

    def _corrected(self) -> list[float]:
        """The p-values of all groups in the order of `_all`: of the group, or of its place on all routes."""
        groups = self._all()
        values = [min(1.0, 2 * p) for p in holm([sign_test(one.candidate_only, one.noise_only) for *_, one in groups])]
        rest: dict[Group, list[int]] = {}
        for at, (_, group, _) in enumerate(groups):
            if values[at] >= ALPHA:
                rest.setdefault(group, []).append(at)
        sums = [
            [sum(getattr(groups[at][2], name) for at in places) for name in ("candidate_only", "noise_only")]
            for places in rest.values()
        ]
        for places, p in zip(rest.values(), holm([sign_test(*both) for both in sums]), strict=True):
            for at in places:
                if groups[at][2].candidate_only > groups[at][2].noise_only:
                    values[at] = min(values[at], 2 * p)
        return values

    def _all(self) -> list[tuple[str, Group, _Counts]]:
        return [(route, *each) for route, groups in self._groups.items() for each in groups.items()]

    def _share(self, chosen: set[tuple[str, Group]], totals: Mapping[str, RouteTotal]) -> float:
        """Share of all pairs with a chosen difference, less the share of the noise."""
        excess = 0.0
        for (route, found, noise), number in self._signatures.items():
            more = any((route, group) in chosen for group in found)
            fewer = any((route, group) in chosen for group in noise)
            excess += number * (more - fewer) * _scale(totals[route])
        return max(0.0, excess) / max(1, sum(total.pairs for total in totals.values()))

    def _examples(self, counting: Sequence[ExamplePair]) -> Sequence[ExamplePair]:
        """Of each route at most `keep` pairs: one of each difference that counts, in their order, then others."""
        found: dict[tuple[str, int], ExamplePair] = {}
        kept: Counter[str] = Counter()
        for pair in (*counting, *(pair for first in self._first.values() for pair in first)):
            if kept[pair.route] < self.keep and (pair.route, pair.row) not in found:
                found[pair.route, pair.row] = pair
                kept[pair.route] += 1
        return [*found.values()]


def _scale(total: RouteTotal) -> float:
    """How many differing pairs one of the sample stands for."""
    return total.differing / max(1, total.looked_at)


def _row(route: str, group: Group, one: _Counts, total: RouteTotal, p: float | None, *, counts: bool) -> DifferenceRow:
    number, noise = (round(count * _scale(total)) for count in (one.candidate, one.noise))
    of = max(1, total.pairs)
    return DifferenceRow(
        route,
        *group._replace(place=masked(group.place)),
        pairs=total.pairs,
        count=number,
        share=number / of,
        noise_count=None if p is None else noise,
        noise_share=None if p is None else noise / of,
        p=p,
        counts=counts,
        row=one.pair.row,
        url=masked(one.pair.url),
        baseline=one.example.baseline,
        candidate=one.example.candidate,
    )


def _shown(one: Difference) -> Difference:
    """The difference with values as a report shows them: masked, and only then cut."""
    values = (_masked(one.place, value) for value in (one.baseline, one.candidate))
    baseline, candidate = (value if len(value) <= _SHOWN else value[:_SHOWN] + "…" for value in values)
    return one._replace(baseline=baseline, candidate=candidate)


def _masked(place: str, value: str) -> str:
    """A value of an example: what a name declares secret is hidden, and what no text can hold is replaced."""
    names = place.replace("[*]", "").replace("']", "").replace("['", ".").replace(":", ".").split(".")
    if value and any(is_secret(name) for name in names if place[:1] == "$" or place.startswith("header:")):
        return MASK
    return masked(value.encode("utf-8", "replace").decode())
