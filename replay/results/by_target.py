"""Writes the rows of a duet into one result log for each target, and judges each target by its own."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from logreplay.core.record import RESPONSE_PARTS, TARGET, never_sent
from logreplay.replay.results.counters import ERROR_CODE, Counters
from logreplay.replay.results.result_log import Results
from logreplay.replay.results.verdict import Finding, Judgement, failures, metric_missed
from logreplay.replay.sessions.server_timing import column_of

CANDIDATES: Final = ("candidate", "candidate2")
"""Names of the targets whose failures are a result."""
_SERVICE: Final = pl.sum_horizontal("connect", "latency", "xfertime")
_HELD_BACK: Final = (pl.col("error") == "cancelled") & never_sent(_SERVICE, pl.sum_horizontal(*RESPONSE_PARTS))
_KIND: Final = (
    ERROR_CODE,
    pl.col("rc", "expected_rc").fill_null(0),
    _HELD_BACK.fill_null(False).alias("held_back"),
)
"""The kind of a request, as `Counters.count` takes it."""


class ByTarget:
    """Divides rows by their column ``target``. In each log ``seq`` is the number of the group: logs join on it.

    Args:
        results: takes the rows of each target.
        together: requests of a group; 1: each request went to one target only.
        taking_turns: URLs of all targets, if some share a log and take turns: those after the first
            ``len(results)`` share the first logs. Rows then keep the URL of their target.
        metrics: names of the metrics of ``--server-timing``.

    Attributes:
        counters: counts of the requests of each target that were written.
    """

    def __init__(
        self,
        results: Sequence[Results],
        together: int,
        taking_turns: Sequence[str] = (),
        metrics: Sequence[str] = (),
    ) -> None:
        self._results, self._together, self._urls = results, together, pl.Series(taking_turns, dtype=pl.String)
        self.counters = [Counters() for _ in taking_turns or results]
        self._metrics, self._had = metrics, [set[str]() for _ in self.counters]

    def write(self, rows: pl.DataFrame) -> None:
        kinds = rows.group_by(TARGET, *_KIND).len()
        for target, counters in enumerate(self.counters):
            counters.count(*(column.to_numpy() for column in kinds.filter(pl.col(TARGET) == target).drop(TARGET)))
        for name in self._metrics:
            if (column := column_of(name)) in rows.columns:  # rows of a lost worker lack it
                for target in rows.filter(pl.col(column).is_not_null())[TARGET].unique():
                    self._had[target].add(name)
        number = len(self._results)
        of_one = rows.with_columns(pl.col("seq") // self._together, pl.col("offered") / number)
        for index, results in enumerate(self._results):
            own = of_one.filter(pl.col(TARGET) % number == index)
            url = self._urls[own[TARGET]].alias(TARGET) if len(self._urls) else None
            results.write(own.drop(TARGET) if url is None else own.with_columns(url))

    def close(self) -> None:
        with ExitStack() as closing:  # closes each, even if another one fails
            for results in self._results:
                closing.callback(results.close)

    @property
    def lacking(self) -> list[list[str]]:
        """The metrics that no response of each target had, though responses of another one did."""
        known = set[str]().union(*self._had)
        return [[name for name in self._metrics if name in known - own] for own in self._had]


@dataclass(frozen=True, slots=True)
class DuetJudgement:
    """The verdict on a duet: one generator and its targets, each judged by itself.

    Attributes:
        generator: the verdict on what all targets share.
        targets: name → findings on its requests; failures of `CANDIDATES` are a result.
    """

    generator: Judgement
    targets: Mapping[str, Sequence[Finding]]

    @classmethod
    def of(
        cls, pooled: Judgement, urls: Mapping[str, str], counters: Sequence[Counters], lacking: Sequence[Sequence[str]]
    ) -> "DuetJudgement":
        """Judge each target.

        Args:
            pooled: on the requests of all targets together.
            urls: addresses of the targets, by name.
            counters: counts of the targets, in that order.
            lacking: metrics of ``--server-timing`` that only responses of other targets had, of each target.
        """
        shared = Judgement.of(
            replace(each, text=f"all targets together: {each.text}") if each.code == "server_timing" else each
            for each in pooled.findings
            if each.code != "target_failing"
        )
        judged = shared.valid  # or they may have failed on this machine
        found = [
            (*(failures(own) if judged else ()), *map(metric_missed, lacks if own.completed else ()))
            for own, lacks in zip(counters, lacking, strict=True)
        ]
        return cls(
            shared,
            {
                name: [replace(each, text=f"{name} {url}: {each.text}") for each in own]
                for (name, url), own in zip(urls.items(), found, strict=True)
            },
        )

    @property
    def whole(self) -> Judgement:
        """All findings, and the verdict that follows from them."""
        return Judgement.of((*self.generator.findings, *(each for own in self.targets.values() for each in own)))

    def of_target(self, name: str) -> Judgement:
        """On the run of one target, or of two that share a result log: one generator made them all."""
        return Judgement.of((*self.generator.findings, *self.findings_of(name)))

    def findings_of(self, name: str) -> list[Finding]:
        """The findings on the targets whose rows a result log has."""
        return [*self.targets[name], *self.targets.get(f"{name}2", ())]

    @property
    def failing(self) -> list[str]:
        """The targets that answered less than half of their requests, by name."""
        return [name for name, findings in self.targets.items() if not Judgement.of(findings).valid]

    @property
    def valid(self) -> bool:
        """Whether the two can be compared: the candidate may fail, but neither the generator nor another target."""
        return self.generator.valid and not set(self.failing) - {*CANDIDATES}

    @property
    def sentence(self) -> str:
        """What a duet that is not valid, or whose candidate fails, says for itself; empty of any other."""
        told = [] if self.valid else ["invalid duet: its figures prove nothing"]
        if failing := ["second baseline" if name == "noise" else name for name in self.failing]:
            told.append(f"more than half of the requests to the {' and the '.join(failing)} failed")
        return "; ".join(told)
