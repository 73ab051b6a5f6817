"""Stores the settings and the finished steps of a sweep, so that a killed sweep can be resumed.

Only the same sweep is resumed: the same log, target and options.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Protocol, Self

from logreplay.core.errors import LogreplayError
from logreplay.core.files import atomic_path, writing
from logreplay.replay.results.outcome import Addresses, Outcome
from logreplay.replay.results.verdict import Finding, Severity, Waits
from logreplay.replay.sessions.client_sessions import SessionCounts
from logreplay.replay.sweeps.step_log import Mark
from logreplay.replay.sweeps.steps import FinishedStep, Step

NAME: Final = "manifest.json"
SCHEMA: Final = "logreplay-sweep/3"
REFINED_STEPS: Final = 4
"""Smaller steps that refine a sweep."""
_LARGEST: Final = 10**12
"""No sweep has as many requests, bytes or seconds."""
_NAMES: Final = {
    "target": "the target", "rates": "RATES", "keep_alive": "--no-keep-alive", "since": "--from",
    **{order: f"--request-order {order}" for order in ("shuffle", "random")},
}  # fmt: skip
"""The names of settings that are not those of their options."""
_SINCE: Final = {"answers": 0, "addresses": {}, "sessions": None, "replaces": "", "log": ""}
_OF_STEPS_SINCE: Final = {"mix": 0, "limit": "", "warnings": [], "waits": {}, "by_second": []}
"""Keys that manifests of earlier versions lack, and keys that their steps lack, with the values meant."""


@dataclass(slots=True)
class Manifest:
    """A sweep in a folder.

    Attributes:
        folder: where.
        what: log, target and options, as plain values.
        done: the steps that are finished.
        mark: position of the last complete row of the result log.
        refined: rates of the smaller steps that follow the others.
        answers: responses in the finished steps.
        addresses: connections and requests of each address of the target in the finished steps.
        sessions: counts of the sessions of clients in the finished steps; None: clients keep nothing.
        replaces: the folder above, absolute, if the finished sweep takes the place of the result there; else empty.
            Once it has taken it, or was moved elsewhere, the folder above is another one.
        log: the name of the log; the same log may have another.
    """

    folder: Path
    what: Mapping[str, Any]
    done: list[FinishedStep] = field(default_factory=list)
    mark: Mark = field(default_factory=Mark)
    refined: list[float] = field(default_factory=list)
    answers: int = 0
    addresses: Addresses = field(default_factory=dict)
    sessions: SessionCounts | None = None
    replaces: str = ""
    log: str = ""

    def finish(self, step: FinishedStep, mark: Mark) -> None:
        """Note a finished step. Even after a crash the file holds this state or the one before."""
        self.done.append(step)
        self.mark = mark
        self.write()

    def write(self) -> None:
        """Write the file."""
        value = {
            "schema": SCHEMA,
            "what": self.what,
            "done": [
                {
                    **asdict(each.step),
                    **{name: getattr(each, name) for name in ("carried", "failed", "sent", "limit")},
                    "warnings": [finding.as_dict() for finding in each.warnings],
                    "waits": asdict(each.waits),
                    "by_second": each.by_second,
                }
                for each in self.done
            ],
            "mark": asdict(self.mark),
            "refined": self.refined,
            "answers": self.answers,
            "addresses": self.addresses,
            "sessions": self.sessions and self.sessions.as_dict(),
            "replaces": self.replaces,
            "log": self.log,
        }
        path = self.folder / NAME
        with writing(path), atomic_path(path) as fresh, fresh.open("w", encoding="utf-8") as file:
            file.write(json.dumps(value, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of a sweep; a `LogreplayError` says that there is none, or that it is damaged."""
        path = folder / NAME
        try:
            value = _SINCE | json.loads(path.read_text(encoding="utf-8"))
            if value["schema"] != SCHEMA:
                raise ValueError(value["schema"])
            return cls(
                folder,
                _of(dict, value["what"]),
                [_finished(each) for each in _of(list, value["done"])],
                _plain(Mark, value["mark"]),
                [_of(float, rate) for rate in _of(list, value["refined"])],
                _of(int, value["answers"]),
                {
                    address: {name: _of(int, counts[name]) for name in ("connections", "requests")}
                    for address, counts in _of(dict, value["addresses"]).items()
                },
                _sessions(value["sessions"]),
                _of(str, value["replaces"]),
                _of(str, value["log"]),
            )
        except OSError:
            why = f"holds no sweep that could be resumed: there is no {NAME}" if folder.is_dir() else "is not a folder"
            raise LogreplayError(f"{folder}: {why}; name the folder of a sweep with --resume") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _damaged(folder) from None

    def smaller_steps(self, planned: Sequence[Step]) -> list[Step]:
        """The smaller steps, which follow those that were planned and are as long."""
        return [Step(len(planned) + index, rate, planned[0].seconds) for index, rate in enumerate(self.refined)]

    def unfinished(self, outcomes: Iterable[Outcome]) -> list[Outcome]:
        """Those of steps that are not finished."""
        done = {each.step.index for each in self.done}
        return [outcome for outcome in outcomes if outcome.step not in done]

    def check_steps(self, planned: Sequence[Step]) -> None:
        """Check that the finished and the smaller steps are those of this sweep: anybody may have written the file."""
        rates = [step.rate for step in planned]
        known = (*planned, *self.smaller_steps(planned))
        within = all(min(rates) / (REFINED_STEPS + 1) <= rate <= max(rates) for rate in self.refined)
        made = {each.step for each in self.done}
        if not within or len(self.refined) > REFINED_STEPS or len(made) < len(self.done) or not made <= {*known}:
            raise _damaged(self.folder)

    def check(self, what: Mapping[str, Any], log: str = "") -> None:
        """Check that this sweep has the present settings, and its log this name; list all differences in the error."""
        now = json.loads(json.dumps(what))
        pairs = {name: (self.what.get(name), now.get(name)) for name in {**self.what, **now}}
        differ = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        if "log" in differ:
            differ["log"] = (self.log, log)
        try:
            changed = [text for name, (before, after) in differ.items() for text in _changed(name, before, after)]
        except (TypeError, RecursionError):
            raise _damaged(self.folder) from None
        if changed:
            raise LogreplayError(
                f"{self.folder}: was another sweep: {', '.join(changed)}; "
                "give the same log, target and options, or start again with -o"
            )


def smaller_rates(low: float, high: float, rates: Collection[float]) -> list[float]:
    """The rates that refine a sweep, in requests/s: within a range, none of its own or above its highest rate."""
    width = (min(high, max(rates)) - low) / (REFINED_STEPS + 1)
    even = [round(low + width * (index + 1), 2) for index in range(REFINED_STEPS)]
    above = [min(each for each in (rate + width, *rates) if each > rate) for rate in even]
    return [round((rate + end) / 2, 2) if rate in rates else rate for rate, end in zip(even, above, strict=True)]


def _damaged(folder: Path) -> LogreplayError:
    return LogreplayError(f"{folder / NAME}: is not a manifest of a sweep, or is damaged; start the sweep again")


def _finished(value: Any) -> FinishedStep:
    value = _OF_STEPS_SINCE | value
    return FinishedStep(
        _plain(Step, value),
        _of(bool, value["carried"]),
        _of(int, value["failed"]),
        _of(int, value["sent"]),
        _of(str, value["limit"]),
        tuple(
            Finding(_of(str, told["code"]), Severity(told["severity"]), _of(str, told["text"]))
            for told in _of(list, value["warnings"])
        ),
        _plain(Waits, value["waits"]) if _of(dict, value["waits"]) else Waits(),
        tuple((_of(int, count), _of(int, failed)) for count, failed in _of(list, value["by_second"])),
    )


def _sessions(value: Any) -> SessionCounts | None:
    """The counts of sessions; None: there are none."""
    if value is None:
        return None
    counts: dict[str, Any] = {
        name: Counter({each: _of(int, count) for each, count in _of(dict, value[name]).items()})
        if isinstance(known, dict)
        else _of(int, value[name])
        for name, known in SessionCounts().as_dict().items()
    }
    return SessionCounts(**counts)


def _plain(kind: Any, value: Any) -> Any:
    """A frozen value that has nothing but numbers and texts."""
    return kind(**{item.name: _of(item.type, value[item.name]) for item in fields(kind)})


def _of(kind: Any, value: Any) -> Any:
    """Return a value of JSON if it is of this kind, and a number neither below 0 nor larger than any of a sweep."""
    right = isinstance(value, (int, float) if kind is float else kind)
    if kind in (int, float):
        right = right and not isinstance(value, bool) and 0 <= value <= _LARGEST
    if not right:
        raise TypeError(value)
    return value


def _changed(name: str, before: Any, after: Any) -> Iterator[str]:
    """What differs in a setting of a sweep, in words."""
    if name == "log":
        named = f"was {before}, is now {after}, which" if before and before != after else after
        yield " ".join(filter(None, ("the log", named, "has other content")))
    elif name == "files":
        before, after = before or {}, after or {}
        for path in {**before, **after}:
            if before.get(path) != after.get(path):
                content = "has other content" if path in after else "is no longer used"
                yield f"{path} {content if path in before else 'was not used before'}"
    else:
        option = _NAMES.get(name) or "--" + name.replace("_", "-")
        yield f"{option} was {_said(name, before)}, is now {_said(name, after)}"


def _said(name: str, value: Any) -> str:
    """The value of a setting, in the form of the command line."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "on" if value is not (name == "keep_alive") else "off"
    if isinstance(value, list):
        return ",".join(_said(name, each) for each in value)
    if isinstance(value, dict):  # random pauses of --think
        return f"{value.get('low')}..{value.get('high')}"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


class Identified(Protocol):
    """A log that is not a file, and has an identity."""

    def fingerprint(self) -> str:
        """Its identity: another one has another."""


def fingerprint(log: Path | Identified) -> str:
    """Return the identity of a log: a hash of the content of a file, or the log's own fingerprint."""
    if not isinstance(log, Path):
        return log.fingerprint()
    with log.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
