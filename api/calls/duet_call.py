"""A duet as its caller asked for it: one frozen value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from logreplay.calls.sending_call import SendingCall
from logreplay.core.errors import UsageError
from logreplay.options.load import Load
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.requests.combine import Swap

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log
    from logreplay.replay.senders.tls import KeyPassword

NAMES: Final = ("baseline", "candidate", "noise")
"""The targets that get each request, in the order of their numbers in the plan; those of --swap follow."""
LIMITS: Final = ("fail_above", "fail_different")
"""Options that a summary has only if they were given: `logreplay.analyze` judges by them again."""
SWAP_EVERY_S: Final = 2.0
"""Usual length of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuetCall(SendingCall):
    """One duet, as the caller asked for it.

    Attributes:
        baseline, candidate: URLs of the targets.
        noise: URL of a second instance of the baseline; None: there is none.
        swap: URLs of a second pair of targets: the baseline on the candidate's machine, the candidate on the
            baseline's. None: there is none.
        swap_every: seconds of a turn of each pair; None: `SWAP_EVERY_S`.
        candidate_cert, candidate_key: files of the client certificate for the candidate; None: as for the baseline.
        candidate_key_password: where its password is; None: as for the baseline.
        load: schedule of the requests.
        ignore: places whose differences do not count.
        keep: differing pairs of each route to show; None: `logreplay.runs.pair_result.KEPT`.
        alternate: send each request to one of the targets.
        fail_above: limit of the change of the times, a fraction; None: none.
        fail_different: limit of the share of pairs with different answers; None: none.
    """

    log: "Log"
    baseline: str
    candidate: str
    noise: str | None = None
    swap: tuple[str, str] | None = None
    swap_every: float | None = None
    candidate_cert: Path | None = None
    candidate_key: Path | None = None
    candidate_key_password: "KeyPassword | None" = None
    load: Load
    ignore: Sequence[str] = ()
    keep: int | None = None
    alternate: bool = False
    fail_above: float | None = None
    fail_different: float | None = None

    @property
    def targets(self) -> dict[str, str]:
        """The targets that get each request, by name; with --swap those of the first pair."""
        urls = (self.baseline, self.candidate, *((self.noise,) if self.noise else ()))
        return dict(zip(NAMES, urls, strict=False))

    @property
    def all_targets(self) -> dict[str, str]:
        """All targets by name, in the order of their numbers in the plan."""
        return self.targets | dict(zip(("baseline2", "candidate2"), self.swap or (), strict=False))

    def urls_of(self, name: str) -> str:
        """The URLs of the targets whose rows a result log has, in words."""
        found = self.all_targets
        return " and ".join(found[each] for each in (name, f"{name}2") if each in found)

    def rules_for(self, name: str) -> SenderRules:
        """How to send to a target, by its name."""
        if self.candidate_cert and name.startswith("candidate"):
            password = self.candidate_key_password or self.sender_rules.key_password
            return replace(self.sender_rules, cert=self.candidate_cert, key=self.candidate_key, key_password=password)
        return self.sender_rules

    @property
    def turns(self) -> Swap | None:
        """How two pairs of targets take turns."""
        every = self.swap_every or SWAP_EVERY_S
        return Swap(every, len(self.targets), self.request_rules.seed + 3) if self.swap else None

    @property
    def compares_answers(self) -> bool:
        """Whether both targets get each request, and digests are wanted."""
        return not self.alternate and self.sender_rules.digest is not False

    def as_summary(self) -> dict[str, Any]:
        """The options as given, for the summary."""
        return {
            **({"swap": [*self.swap], "swap_every": self.swap_every or SWAP_EVERY_S} if self.swap else {}),
            **self.load.as_summary(self.request_rules.seed),
            **self.request_rules.as_summary(),
            **self.sender_rules.as_summary(),
            **({"ignore": list(self.ignore)} if self.ignore else {}),
            **{name: limit for name in LIMITS if (limit := getattr(self, name)) is not None},
        }

    def checked(self) -> Self:
        """Refuse values that exclude each other; return the same, with one worker where others of them need that."""
        if (users := self.load.vusers is not None) or self.load.think != 0.0:
            raise UsageError(
                f"duet and {'--vusers' if users else '--think'} exclude each other: a user (--vusers) waits for one "
                "response, and a pair has two; give a rate, such as --tps 100"
            )
        if self.sender_rules.cluster:
            raise UsageError("duet and --cluster exclude each other: pairs are compared on this machine; use --workers")
        if (auth := self.request_rules.auth) and auth.expires:
            raise UsageError(f"duet and --auth {auth} exclude each other: each target would need its own signature")
        load = self.load.checked(users=False)
        sender_rules = self.reconciled(load)
        return replace(self, load=load, sender_rules=replace(sender_rules, digest=sender_rules.digest is not False))
