"""The result of `plan`: the number of machines, the tables behind it, and its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from logreplay.analysis.json_text import finite, json_text
from logreplay.analysis.notebook_view import html as in_notebook
from logreplay.analysis.planning import wording
from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.core.errors import LogreplayError
from logreplay.core.files import check_absent, removed_if_empty, write_atomically
from logreplay.core.frames import to_pandas
from logreplay.options.keywords import value_of
from logreplay.options.kinds import PATH, SWITCH
from logreplay.options.spelling import spelled_for_save
from logreplay.scratch import HoldsScratch, Scratch

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from logreplay.analysis.planning.plan import MachinePlan
    from logreplay.analysis.planning.proof import Proof
    from logreplay.folder_results import FindResult
    from logreplay.log_inspection import InspectResult

_FILES: Final = ("plan.json", "plan.html")
_MANIFESTS: Final = ("hpa.yaml", "keda.yaml")
_STATES: "Final[Mapping[bool | None, Literal['passed', 'failed', 'unjudged']]]" = {
    True: "passed", False: "failed", None: "unjudged"
}  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class PlanResult(HoldsScratch, CheckedAnswer):
    """How many machines carry the demand of a log. Rates in requests/s.

    Attributes:
        log: the contents of the log.
        plan: demand, supply and machines; None: it was refused, see `sentence`.
        refusal: why it was; empty if it was not.
        proofs: replays of the busiest minute, the planned number of machines first.
        search: the search that was made; None: one made before was read.
        stopped: why the search or a proof ended before its plan did; empty if none did.
        notes: sentences that were told meanwhile.
        scratch: the temporary folder of the files; None: the caller chose their place, or there are none.
    """

    log: "InspectResult"
    plan: "MachinePlan | None" = None
    refusal: str = ""
    proofs: "tuple[Proof, ...]" = ()
    search: "FindResult | None" = None
    stopped: str = ""
    notes: Sequence[str] = ()
    scratch: Scratch | None = None

    @property
    def verdict(self) -> str:
        """``VALID``, or ``NO_ANSWER``: the plan was refused, or its proof failed."""
        return "VALID" if self.passed else "NO_ANSWER"

    @property
    def sentence(self) -> str:  # type: ignore[override]  # computed
        """The answer in words."""
        return wording.answer(self.plan, self.proofs) if self.plan else f"no plan: {self.refusal}"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Whether there is a plan, and whether the planned machines kept the bounds in its proof."""
        missed = self.search is not None and "failed" in {check.state for check in self.search.checks}
        if not self.plan:
            return (Check("the machines are known", "failed" if missed else "unjudged", self.refusal),)
        found = [Check("the machines are known", text=self.sentence)]
        of_pods = [("the steepest hour keeps the bounds", each) for each in self.proofs if not each.machines]
        for name, proof in [*(("the busiest minute keeps the bounds", each) for each in self.proofs[:1]), *of_pods]:
            found.append(Check(name, _STATES[proof.kept], proof.sentence))
        return tuple(found)

    @property
    def machines(self) -> int | None:
        """Machines for the busiest minute; None: no answer."""
        return self.plan.number.number if self.plan else None

    @property
    def low(self) -> int | None:
        """Machines where the lower end of demand meets the upper end of supply."""
        return self.plan.number.low if self.plan else None

    @property
    def high(self) -> int | None:
        """Machines where the upper end of demand meets the lower end of supply."""
        return self.plan.number.high if self.plan else None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each fact."""
        log = (("log", self.log.report.sentence()), *(("note", text) for text in self._notes))
        if not self.plan:
            return log
        proofs = [("proof", each.sentence) for each in self.proofs]
        others = [("not covered", each) for each in wording.not_covered(self.plan)]
        return (*log, *wording.sentences(self.plan), *proofs, *others)

    @property
    def summary(self) -> dict[str, Any]:
        """The plan as ``plan --json`` prints it; see the page on files."""
        counts = self.log.report.summary()
        lines = {name: counts[name] for name in ("lines", "converted", "unreplayable", "rejected", "blank", "filtered")}
        told = {"verdict": self.verdict, "answer": self.sentence, "log": list(self.log.logs), **lines}
        told["notes"] = self._notes
        return finite(told | wording.as_dict(self.plan, self.proofs)) if self.plan else told

    @property
    def _notes(self) -> list[str]:
        return [*self.log.report.notes, *self.log.coverage]

    @cached_property
    def week(self) -> "pd.DataFrame":
        """The hours of the week that the log covers, from Monday 0 on: rates, machines, and their ranges."""
        return to_pandas(self._answered.week)

    def html(self) -> str:
        """The page with pictures and tables, as a text.

        Raises:
            LogreplayError: there is no plan.
        """
        from logreplay.analysis.output.plan_page import html

        return html(", ".join(self.log.logs), self._answered, self.sentence, self.facts, self.proofs)

    @property
    def manifests(self) -> dict[str, str]:
        """Manifests for an autoscaler by name of file: Kubernetes and KEDA; none without ``reaction``."""
        from logreplay.analysis.output.plan_page import manifests

        target = self.plan.scaling if self.plan else None
        return manifests(target) if target else {}

    @spelled_for_save()
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Write ``plan.json``, ``plan.html`` and the manifests into a folder, which is made; return it.

        Raises:
            LogreplayError: a file exists and ``force`` is not given, or cannot be written.
        """
        place: Path = value_of("folder", PATH, folder)
        force = value_of("force", SWITCH, force)
        check_place(place, force=force)
        texts = {"plan.json": json_text(self.summary) + "\n", **self.manifests}
        texts |= {"plan.html": self.html()} if self.plan else {}
        with removed_if_empty(place):
            for name in (*_FILES, *_MANIFESTS) if force else ():
                if name not in texts:
                    (place / name).unlink(missing_ok=True)  # of an earlier plan
            for name, text in texts.items():
                write_atomically(place / name, text, force=force)
        return place

    def plot(self, ax: "Axes | None" = None) -> "Figure | Axes":
        """Draw demand beside supply: on ``ax``, which is returned, or as a figure of its own.

        Raises:
            LogreplayError: there is no plan.
        """
        from logreplay.analysis.output.plots import hockey_stick, planning

        plan = self._answered
        return hockey_stick.drawn(lambda own: planning.demand_and_supply(own, plan), ax)

    @property
    def _answered(self) -> "MachinePlan":
        if not self.plan:
            raise LogreplayError(self.sentence)
        return self.plan

    def _repr_html_(self) -> str:
        return in_notebook(self.sentence, [f"{name}: {text}" for name, text in self.facts])


def check_place(folder: Path, *, force: bool) -> None:
    """Check a folder for `PlanResult.save`: without ``force`` none of its files may be there."""
    for name in () if force else (*_FILES, *_MANIFESTS):
        check_absent(folder / name)
