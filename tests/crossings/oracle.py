"""One oracle for all crossings: what must hold whatever was chosen."""

import csv
import fcntl
import gzip
import json
import math
import re
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from crossings.pairs import Case
from crossings.running import Ran, other_targets
from crossings.table import READING
from crossings.target import Got
from crossings.world import AGENTS, CLIENTS, FOLDERS, LINES, MADE, OLD, World, old_file, output_of, summary_of
from logreplay.analysis.input.run_metadata import UNFINISHED
from logreplay.analysis.output.history import ATTRIBUTES
from logreplay.core.record import RESPONSE_PARTS
from logreplay.core.rows import scan
from logreplay.core.zstd import zstd

_TRACES: Final = (
    "Traceback (most recent call last)",
    "Exception ignored",
    "never retrieved",
    "was never awaited",
    "Fatal Python error",
    "Warning: ",
    "leaked semaphore",
    "this is a bug of logreplay",
)
_OF_THE_KILLED: Final = ("Warning: ", "leaked semaphore")
"""What the interpreter's own tracker of semaphores says once their owner was killed."""
_OPTION: Final = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[a-z]\b|RATES|LOG|TARGET)")
_TAKEN_AS_GIVEN: Final = {
    "pipe.log",
    "of-target",
    "of-candidate",
    "of-baseline2",
    "of-candidate2",
    "__pycache__",
    "tmp",
    "home",
    MADE,
}
_REPORTS: Final = {
    ("history", "file"): r"runs(\.without-[a-z0-9_-]+)?\.csv",
    ("history", "json"): r"runs\.json",
    ("junit", "file"): r"checks\.xml",
}
"""Names of further files, by option and its value."""
_FAILED: Final = re.compile("Error: |nothing was sent|no judged request was sent")
_TOLD_LATE: Final = re.compile(
    r"interrupted while the rows were evaluated; they are kept"
    r"|interrupted: (\d+) of \1 steps are done; the rows are kept"
)
_HALF: Final = 0.5
"""A run of which more than this share fails has measured only failures."""
_COUNTED: Final = re.compile(r"(\d+) x ([a-z_]+)\b(?! \d)")
"""The counts of errors by name in a finding."""
_SHOWN: Final = 1500
_DASK: Final = "dask-scratch-space"
"""Dask keeps two empty lock files in it for all its processes of a user."""
_FILTERS_OF_CONVERT: Final = ("since", "until", "match", "exclude", "status", "method", "client")
_BESIDE_RUN: Final = r"\.(summary\.json|hlog|hgrm|seconds\.csv|watch\.csv|logins\.csv)"
_NEVER_CAME: Final = ("refused", "reset", "closed", "connect_timeout", "tls", "protocol", "short_body")
_TRACED: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]")
_ANSWERING: Final = ("loopback", "ipv6", "unix", "tls")
"""Kinds of targets that answer all requests at once."""
_DEVIATIONS: Final = 5.5
"""Standard deviations by which a fair draw errs in one of ten million duets."""
_ON_DISK_S: Final = 3.0
"""A request is on disk so long after it ended, however the program ends: one second, more on a busy machine."""
_FILTERS: Final = ("match", "exclude", "status", "sample", "from", "inject", "hook")


@dataclass(frozen=True)
class Finding:
    """Something that must not be: its kind, and what was seen."""

    kind: str
    text: str


def findings(case: Case, ran: Ran, world: World) -> list[Finding]:
    """All that is wrong with a crossing that ended."""
    found = [*_ended(ran), *_traces(ran)]
    if ran.code is None:
        return found
    found += [*_exit(case, ran), *_files(case, ran, world)]
    try:
        judge = {"convert": _converted, "inspect": _read, "plan": _read}.get(case.command, _replayed)
        found += [*judge(case, ran, world)]
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError, zstd.ZstdError) as error:
        found.append(Finding("files", f"a result cannot be read: {error!r}"))
    return found


def _ended(ran: Ran) -> Iterator[Finding]:
    if ran.code is None:
        yield Finding("time", f"did not end within {ran.seconds:.0f} s")
    if ran.strays:
        yield Finding("process", f"processes are left: {ran.strays}")


def _traces(ran: Ran) -> Iterator[Finding]:
    marks = [mark for mark in _TRACES if ran.code != -signal.SIGKILL or mark not in _OF_THE_KILLED]
    for mark in marks:
        for stream in (ran.out, ran.err):
            if mark in stream and ran.code is not None:
                yield Finding("traceback", stream[stream.index(mark) :][-_SHOWN:])
                return


def _exit(case: Case, ran: Ran) -> Iterator[Finding]:
    if refused := case.refused:
        if ran.code != 2:
            yield Finding("refusal", f"exit code {ran.code}, not 2: {refused[0].names} exclude each other")
        elif not any(all(name in ran.out + ran.err for name in rule.names) for rule in refused):
            told = " or ".join(" and ".join(rule.names) for rule in refused)
            yield Finding("refusal", f"the refusal does not name {told}: {ran.err[-400:]!r}")
        return
    if ran.code == 2:
        yield Finding("refusal", f"refused, and no rule of the table says so: {ran.err[-600:]!r}")
    elif ran.code not in (codes := _codes(case, ran)):
        yield Finding("exit", f"exit code {ran.code}, not one of {sorted(codes)}: {(ran.out[-200:], ran.err[-800:])!r}")
    elif ran.code == 1 and case.choice["terminal"] in ("-", "pty") and not _FAILED.search(ran.err):
        yield Finding("exit", f"failed without a word: {ran.err[-400:]!r}")


def _codes(case: Case, ran: Ran) -> set[int]:
    """The exit codes that may be."""
    choice = case.choice
    codes = {130} if ran.signalled or choice["terminal"] == "hangup" else set()
    if _killed(case, ran):
        return {-signal.SIGKILL}
    if choice["terminal"] in ("head", "hangup"):
        codes |= {1}  # what was printed could not be read
    if choice["force"] == "exists" and output_of(case) and choice.get("dry-run") != "yes":
        return codes | {1}
    if case.command in READING:
        strict = choice["input"] == "bad lines" and (
            choice.get("strict") == "yes" or choice.get("max-rejects") == "few"
        )
        filtered = any(choice.get(name, "-") != "-" for name in _FILTERS_OF_CONVERT)  # may leave nothing
        refused = {3} if case.command == "plan" else set()
        return codes | refused | ({4} if strict else {0}) | ({1} if filtered else set())
    if choice.get("dry-run") == "yes":
        return codes | {0} | ({1} if _may_be_empty(case) else set())
    if "refusing" in (choice["target"], choice.get("candidate")):
        return codes | {1}
    codes |= {0, 3}
    if _may_be_empty(case) or ran.lost:  # a worker that could not begin
        codes |= {1}
    limited = any(choice.get(name, "-") != "-" for name in ("fail-above", "fail-different"))
    if choice["stop"] == "soon" or choice.get("crash") == "yes" or case.command == "find" or limited:
        codes |= {4}
    if choice.get("candidate") == "periodic":  # with some paths left out, more than half of its requests may fail
        codes |= {4}
    return codes


def _may_be_empty(case: Case) -> bool:
    """Whether the filters may leave nothing to replay, or --routes one route."""
    choice = case.choice
    single = choice["input"] in ("urls.txt", "request") and any(
        choice[name] != "-" for name in ("status", "from", "sample", "match", "exclude")
    )
    only_post = choice["input"] == "request" and choice["methods"] == "-"
    one_route = choice.get("routes") == "yes" and (choice["match"] != "-" or choice["input"] in ("urls.txt", "request"))
    return single or only_post or one_route or choice.get("pacing") == "follow" or choice.get("arrivals") == "log"


def _files(case: Case, ran: Ran, world: World) -> Iterator[Finding]:
    allowed = _allowed(case, ran)
    reports = "|".join(name for (option, value), name in _REPORTS.items() if case.choice.get(option) == value)
    for path in sorted(world.folder.iterdir()):
        if path.name in world.inputs:
            follows = case.choice.get("pacing") == "follow" and path.name == "access.log"
            replaced = case.choice["force"] == "old" and path.name in (output_of(case), summary_of(case))
            if not (follows or replaced) and path.read_bytes() != world.inputs[path.name]:
                yield Finding("files", f"{path.name} was changed")
        elif path.name not in _TAKEN_AS_GIVEN and not re.fullmatch(f"{allowed}|{reports}", path.name):
            yield Finding("files", f"{path.name} is there, and nobody named it")
    for name in world.inputs:
        removed = _ended_hard(case, ran) and case.choice["force"] == "old" and name == summary_of(case)
        if not removed and not (world.folder / name).exists():
            yield Finding("files", f"{name} is gone")
    temporary = (path for path in (world.folder / "tmp").rglob("*") if not _is_of_dask(case, ran, path))
    if not _killed(case, ran) and (left := sorted(str(path.relative_to(world.folder)) for path in temporary)):
        yield Finding("files", f"temporary files are left: {left[:5]}")
    for path in world.folder.glob(".*.lock"):
        if _is_locked(path):
            yield Finding("files", f"{path.name} is still locked")
    kept = world.folder / old_file(case)
    if output_of(case) and case.choice["force"] == "exists" and kept.is_file() and kept.read_bytes() != OLD:
        yield Finding("files", "an existing result was overwritten without --force")


def _allowed(case: Case, ran: Ran) -> str:
    """What may be there afterwards, as a pattern."""
    name = output_of(case)
    if case.command == "convert":
        rejects = "kept.txt" if case.choice["rejects"] == "named" else r"(out|access|bad|stdin|pipe)[\w.]*\.rejects"
        default = r"(access|bad|urls)(\.log)?(\.csv|\.parquet|\.txt|\.pias)+"
        return rf"({re.escape(name) or default}|{rejects})"
    if case.command in FOLDERS:
        default = "(?!)" if case.command in READING else rf"{case.command}-\d{{8}}-\d{{6}}(-\d+)?"
        return re.escape(name) or default
    stem = r"out" if name else r"run-\d{8}-\d{6}(-\d+)?"
    growing = (
        r"|\.\w+(\.\w+)?\.running\.(csv|csv\.gz|csv\.zst|watch\.csv|logins\.csv)" if _ended_hard(case, ran) else ""
    )
    left = r"|\..*\.logreplay\.(lock|part).*" if _killed(case, ran) else ""
    return rf"{stem}(\.csv|\.csv\.gz|\.csv\.zst|\.parquet|{_BESIDE_RUN}{growing}){left}"


def _users_were_lost(case: Case, ran: Ran) -> bool:
    """Whether users of a lost worker may have sent requests after its last report; a schedule would name them."""
    of_users = case.choice.get("pacing") in ("vusers", "users", "doubled") or case.choice.get("vusers") == "yes"
    return bool(ran.lost) and of_users


def _ended_hard(case: Case, ran: Ran) -> bool:
    """Whether the program was ended at once, as by a second Ctrl-C: whole rows are on disk, and no summary."""
    twice = case.choice["signal"] == "INT twice" and ran.signalled and ran.code == 130
    return twice or _killed(case, ran) or _ended_while_evaluating(case, ran)


def _ended_while_evaluating(case: Case, ran: Ran) -> bool:
    """Whether a signal came after the last request: the rows are kept, and the program says what evaluates them."""
    told = _TOLD_LATE.search(ran.out + ran.err) is not None
    return ran.signalled and ran.code == 130 and (told or case.choice["terminal"] == "hangup")


def _killed(case: Case, ran: Ran) -> bool:
    """Whether the program was killed, and could tidy up nothing."""
    return case.choice["signal"] == "KILL" and ran.signalled and ran.code == -signal.SIGKILL


def _is_of_dask(case: Case, ran: Ran, path: Path) -> bool:
    """Whether a file belongs to Dask; its workers, if ended at once, leave folders that its next start removes."""
    return _DASK in (path.name, path.parent.name) or (_ended_hard(case, ran) and _DASK in path.parts)


def _is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _ended_unjudged(case: Case, ran: Ran) -> bool:
    """Whether a sweep may have ended before a request that counts: it then keeps nothing, and says so."""
    aside = case.choice.get("warmup", "-") != "-" or case.choice.get("settle") == "some"
    quiet = case.choice["quiet"] != "-" or case.choice["terminal"] == "hangup"
    return (
        aside
        and (ran.code in (4, 130) or ran.lost > 0)
        and (quiet or "no judged request was sent" in ran.out + ran.err)
    )


def _result(case: Case, world: World) -> Path | None:
    """The result of a command; None if there is none."""
    name = output_of(case)
    if not name:
        pattern = re.compile(rf"{case.command}-\d{{8}}-\d{{6}}(-\d+)?(\.csv)?")
        found = [path for path in world.folder.iterdir() if pattern.fullmatch(path.name)]
        return found[0] if found else None
    path = world.folder / name
    return path if path.exists() else None


def _is_old(result: Path) -> bool:
    """Whether it is still the one that was there before."""
    rows = result / "results.csv" if result.is_dir() else result
    return rows.exists() and rows.read_bytes() == OLD


def _growing(world: World) -> Path | None:
    """Where the rows of a command are that did not come to its end and was to replace a result; None: nowhere."""
    rows = [path for path in world.folder.glob("*.running.*") if re.search(r"\.running\.csv(\.gz|\.zst)?$", path.name)]
    found = [*rows, *world.folder.glob("*/running")]
    return found[0] if found else None


def _replayed(case: Case, ran: Ran, world: World) -> Iterator[Finding]:
    gots = [ran.got, *ran.others.values()]
    received = sum(sum(got.requests.values()) for got in gots)
    if case.refused or ran.code == 2 or (case.choice["force"] == "exists" and output_of(case)):
        if received and case.choice.get("dry-run") != "yes":
            yield Finding("received", f"refused, and yet targets got {received} requests")
        return
    for wrong in (wrong for got in gots for wrong in got.wrong[:3]):
        yield Finding("received", wrong)
    if case.choice.get("dry-run") == "yes":
        if ran.got.connections:
            yield Finding("received", "--dry-run, and yet the target got a connection")
        return
    half = _ended_hard(case, ran) or (case.command != "run" and ran.code != 0)
    result = (_growing(world) if half else None) or _result(case, world)
    if case.command == "duet":
        yield from _duet(case, ran, result)
    else:
        yield from _of_target(case, ran, result)
    yield from _reported(case, ran, world)


def _of_target(case: Case, ran: Ran, result: Path | None, name: str = "") -> Iterator[Finding]:
    """What the result says of one target, and what this target got; ``name``: which of a duet."""
    if result is None or _is_old(result):
        if (_ended_hard(case, ran) and ran.sent_s < _ON_DISK_S) or _ended_unjudged(case, ran):
            return
        if _users_were_lost(case, ran):
            return
        if ran.got.requests:
            yield Finding("files", f"no result, and yet the target got {sum(ran.got.requests.values())} requests")
        elif ran.code in (0, 3, 4) and not name:
            yield Finding("files", f"exit code {ran.code}, and no result")
        return
    rows = _rows(case, result)
    if rows is None:
        if ran.got.requests and not (_ended_hard(case, ran) and ran.sent_s < _ON_DISK_S):
            yield Finding("files", f"no rows, and yet the target got {sum(ran.got.requests.values())} requests")
        return
    yield from _identities(case, ran, result, rows, name)
    if case.choice["target"] != "builtin":
        yield from _received(case, ran, rows)


def _duet(case: Case, ran: Ran, folder: Path | None) -> Iterator[Finding]:
    """All that holds for a run holds for each side; and both sides have the same requests, or share them out."""
    logs = {}
    gots = {"baseline": ran.got, **ran.others}
    seconds = {name: gots.pop(f"{name}2", None) for name in ("baseline", "candidate")}  # they share the result logs
    gots = {name: got.with_those_of(seconds.get(name)) for name, got in gots.items()}
    kinds = {
        name: kind for name, kind in {"baseline": case.choice["target"], **other_targets(case)}.items() if name in gots
    }
    ran = replace(ran, got=gots["baseline"], others={name: got for name, got in gots.items() if name != "baseline"})
    for name, got in gots.items():
        path = folder / f"{name}.csv" if folder else None
        log = path if path and path.exists() else None
        yield from _of_target(case.but("target", kinds[name]), replace(ran, got=got), log, name)
        if log:
            logs[name] = scan(log).select("seq", "row", "op", "url", "scheduled").collect().sort("seq")
    if not folder or not logs or _ended_hard(case, ran):
        return
    if case.choice["alternate"] == "yes":
        if pl.concat([*logs.values()]).select(pl.col("seq").is_duplicated().any()).item():
            yield Finding("identities", "--alternate, and both targets got the same request")
    else:
        heights = {name: log.height for name, log in logs.items()}
        if ran.code in (4, 130):  # the end may have come between the two requests of a pair
            last = min(cast(int, log["seq"].max()) if log.height else -1 for log in logs.values())
            logs = {name: log.filter(pl.col("seq") <= last) for name, log in logs.items()}
        same = all(log.equals(logs["baseline"]) for log in logs.values())
        if len(logs) < len(kinds) or not same or max(heights.values()) - min(heights.values()) > 1:
            yield Finding("identities", f"the targets got different requests: {heights} rows")
        yield from _order(case, ran, kinds)
    compared = case.choice["alternate"] == "-" and case.choice["digest"] != "no"
    lacking = {"summary.json", "report.html", *(("differences.csv", "pairs.jsonl") if compared else ())} - {
        path.name for path in folder.iterdir()
    }
    if lacking and ran.code in (0, 3, 4, 130):
        yield Finding("files", f"exit code {ran.code}, and no {', '.join(sorted(lacking))}")


def _reported(case: Case, ran: Ran, world: World) -> Iterator[Finding]:
    """The reports that were asked for are there, and whole."""
    for (option, value), name in _REPORTS.items():
        if case.choice.get(option) != value:
            continue
        found = [path for path in world.folder.iterdir() if re.fullmatch(name, path.name)]
        if not found and ran.code in ((0,) if option == "history" else (0, 3, 4)):  # invalid runs add nothing
            yield Finding("files", f"exit code {ran.code}, and no {name}")
        if option == "history" and any(cell == "" for path in found for cell in _metrics(path)):
            yield Finding("files", f"{found}: a metric is empty, which Otava refuses")


def _metrics(path: Path) -> Iterator[str]:
    """The cells of the metrics of a history."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            yield from (cell for row in csv.DictReader(file) for name, cell in row.items() if name not in ATTRIBUTES)


def _order(case: Case, ran: Ran, kinds: Mapping[str, str]) -> Iterator[Finding]:
    """Which target of a pair gets its request first is drawn; a connection that must be opened first delays it."""
    opens = (
        case.choice["no-keep-alive"] == "yes"
        or case.choice["requests-per-connection"] != "-"
        or case.choice["by-client"] == "yes"
    )
    if not {*kinds.values()} <= set(_ANSWERING) or (opens and len({*kinds.values()}) > 1):
        return
    times = [dict[tuple[str, str, int], float](), dict[tuple[str, str, int], float]()]
    for got, at in zip((ran.got, ran.others["candidate"]), times, strict=True):
        seen = Counter[tuple[str, str]]()
        for key, when in got.order:
            seen[key] += 1
            at[(*key, seen[key])] = when
    pairs = [(when, times[1][key]) for key, when in times[0].items() if key in times[1]]
    first = sum(baseline < candidate for baseline, candidate in pairs)
    if abs(2 * first - len(pairs)) > _DEVIATIONS * math.sqrt(len(pairs)):
        yield Finding("order", f"the baseline got its request first in {first} of {len(pairs)} pairs")


def _rows(case: Case, result: Path) -> pl.DataFrame | None:
    if case.command in ("run", "duet"):
        _whole(result)
        return scan(result).collect()
    kept = [result / name for name in ("results.csv", "warmup.csv") if (result / name).exists()]
    if not kept:
        return None
    for path in kept:
        _whole(path)
    return pl.concat([scan(path).collect().with_columns(of=pl.lit(path.name)) for path in kept])


def _whole(path: Path) -> None:
    """Check that every line has all its columns.

    Raises:
        ValueError: not so.
    """
    if path.suffix == ".parquet":
        return
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstd.decompress(data)
    commas = data.partition(b"\n")[0].count(b",")
    quoteless = [line for line in data.splitlines() if b'"' not in line]
    if not data.endswith(b"\n") or any(line.count(b",") != commas for line in quoteless):
        raise ValueError(f"{path.name}: half a line")


def _identities(case: Case, ran: Ran, result: Path, rows: pl.DataFrame, name: str) -> Iterator[Finding]:
    judged = rows.filter(pl.col("of") == "results.csv") if "of" in rows.columns else rows
    if judged["seq"].n_unique() != judged.height:
        yield Finding("identities", "a request has two rows")
    yield from _times(case, judged)
    yield from _positions(case, rows)
    stem = result.name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[0]
    path = result / "summary.json" if result.is_dir() else result.with_name(f"{stem}.summary.json")
    if not path.exists() or (path.read_bytes() != OLD and UNFINISHED in json.loads(path.read_text())):
        unfinished = case.command == "find" and (ran.code in (4, 130) or ran.lost)
        got_none = case.command == "duet" and not rows.height  # by chance, where both share few requests
        if ran.code in (0, 3, 4, 130) and not unfinished and not got_none and not _ended_hard(case, ran):
            yield Finding("identities", f"exit code {ran.code}, rows, and no summary")
        return
    if path.read_bytes() == OLD:
        yield Finding("identities", "the summary of an older run is beside new rows")
        return
    summary: dict[str, Any] = json.loads(path.read_text())
    counts = summary["requests"]
    begun = pl.sum_horizontal("connect", "latency", "xfertime") > 0
    lost = pl.col("lag") + pl.col("queued") == 0  # a lost worker may have sent it
    started = judged.filter((pl.col("error").fill_null("") != "cancelled") | begun | lost)
    sent = started.filter(pl.col("error").fill_null("") != "dropped").height
    failed = started.filter(~pl.col("error").fill_null("").is_in(["", "dropped"])).height
    if not counts["scheduled"] == judged.height == counts["sent"] + counts["dropped"] + counts["not_sent"]:
        yield Finding("identities", f"scheduled = rows = sent + dropped + not_sent: {counts}, {judged.height} rows")
    elif counts["sent"] != sent or counts["net_error"] != failed:
        yield Finding("identities", f"{sent} rows were sent, {failed} of them failed; the summary says {counts}")
    elif counts["sent"] != counts["ok"] + counts["http_error"] + counts["net_error"]:
        yield Finding("identities", f"sent = ok + http_error + net_error: {counts}")
    if not name:
        yield from _verdict(case, ran, judged, summary)
    planned = _planned(case, ran)
    if planned is not None and counts["scheduled"] != planned:
        yield Finding("identities", f"{planned} requests were planned, {counts['scheduled']} scheduled: {summary}")
    if (
        case.choice["json"] == "yes"
        and case.choice["terminal"] in ("-", "blocked")
        and ran.code in (0, 3, 4)
        and case.choice.get("verbose", "-") == "-"
        and (json.loads(ran.out)["targets"][name] if name else json.loads(ran.out))["requests"] != counts
    ):
        yield Finding("identities", "--json printed another summary than it wrote")


def _verdict(case: Case, ran: Ran, rows: pl.DataFrame, summary: dict[str, Any]) -> Iterator[Finding]:
    """The verdict agrees with the exit code and with the rows, whichever worker wrote them."""
    verdict, told = summary["verdict"], {each["code"]: each["text"] for each in summary["findings"]}
    if (ran.code, verdict == "VALID") in ((0, False), (3, True)):
        yield Finding("verdict", f"exit code {ran.code} beside the verdict {verdict}")
    if "shard_lost" in told:
        if not ran.lost:
            yield Finding("verdict", f"nobody killed a worker: {told['shard_lost']}")
        if verdict != "GENERATOR_BOUND":
            yield Finding("verdict", f"a worker was lost, and the verdict is {verdict}")
        if "dropped" in told and case.choice["late"] != "drop":
            yield Finding("verdict", f"--late was not given: {told['dropped']}")
    if case.command != "run" or verdict not in ("VALID", "TARGET_FAILING"):
        return
    error, status, logged = pl.col("error").fill_null(""), pl.col("rc"), pl.col("expected_rc").fill_null(0)
    new_error = (error == "") & (status >= 400) & (status // 100 != logged // 100)
    sent = rows.filter(error != "dropped")
    failed = sent.filter(~error.is_in(["", "cancelled"]) | new_error).height
    if sent.height and (failed > _HALF * sent.height) != (verdict == "TARGET_FAILING"):
        yield Finding("verdict", f"{failed} of {sent.height} requests failed, and the verdict is {verdict}")
    for count, word in _COUNTED.findall(told.get("target_failing", "")):
        if word != "status" and (seen := sent.filter(error == word).height) != int(count):
            yield Finding("verdict", f"{seen} rows have the error {word}: {told['target_failing']}")


def _times(case: Case, rows: pl.DataFrame) -> Iterator[Finding]:
    """No part of a response time is negative, and a request waits only for an option, or to be sent again."""
    for part in RESPONSE_PARTS:
        if rows.filter(pl.col(part).is_null() | (pl.col(part) < 0)).height:
            yield Finding("identities", f"{part} is missing or negative in some rows")
    choice = case.choice
    limited = choice["by-client"] == "yes" or choice["http"] in ("two", "log") or choice["max-in-flight"] != "-"
    if not (limited or choice["target"] == "closing") and rows.filter(pl.col("queued") > 0).height:
        yield Finding("identities", "requests were queued, and no option makes them wait")


def _positions(case: Case, rows: pl.DataFrame) -> Iterator[Finding]:
    """Steps and trials read on where the last one ended, or begin at the start of the log.

    Steps that leave out a route read on about there, in a log of their own.
    """
    choice = case.choice
    if case.command not in ("sweep", "find") or any(choice[name] != "-" for name in ("inject", "hook")):
        return
    if choice.get("routes", "-") != "-":
        return
    if choice["request-order"] not in ("-", "log") or choice["workers"] not in ("-", "1"):
        return
    if choice.get("settle", "-") != "-":
        return
    if choice.get("warmup", "-") != "-" or rows.is_empty():
        return
    ordered = rows.sort("seq")
    first = ordered["row"].min()
    next_one = pl.col("seq") == pl.col("seq").shift(1) + 1  # rows are missing where the program was ended at once
    began = next_one & (pl.col("step") != pl.col("step").shift(1))
    back = ordered.filter(next_one & (pl.col("row") <= pl.col("row").shift(1)) & (pl.col("row") != first))
    if back.height:
        yield Finding("identities", f"the log goes back to other rows than its first: {back['row'].to_list()[:5]}")
    again = ordered.filter(began, pl.col("row") != first)
    if choice["restart"] == "yes" and again.height:
        yield Finding("identities", f"--restart, and steps begin at rows {again['row'].to_list()[:5]}, not {first!r}")


def _planned(case: Case, ran: Ran) -> int | None:
    """How many requests a run has to make; None where that is not known beforehand."""
    choice = case.choice
    if case.command not in ("run", "duet") or ran.code not in (0, 3) or ran.signalled or choice["for"] != "-":
        return None
    if choice["signal"] == "KILL workers" or (ran.lost and choice["pacing"] == "vusers"):
        return None
    if any(choice[name] != "-" for name in _FILTERS) or choice["request-order"] == "random":
        return None
    if choice.get("crash", "-") != "-" or choice["stop"] == "soon":
        return None
    if choice["pacing"] not in ("tps", "speed", "vusers") or choice["terminal"] == "hangup":
        return None
    if choice.get("alternate") == "yes":
        return None
    if choice["input"] == "request":
        once = 1
    elif choice["input"] == "urls.txt" or choice["methods"] != "-":
        once = LINES
    else:
        once = LINES - LINES // 10
    looping = choice["loop"] == "loop" or (choice["loop"] == "-" and choice["pacing"] != "speed")
    if choice["requests"] != "-":
        return 20 if looping else min(20, once)
    return once


def _received(case: Case, ran: Ran, rows: pl.DataFrame) -> Iterator[Finding]:
    got = ran.got
    error = pl.col("error").fill_null("")
    of_rows = _keys(rows.filter(error != "dropped"))
    surely = _keys(rows.filter(error == ""))
    logins = {key for key in got.requests + got.broken if key[1] == "/login"}
    came = Counter({key: count for key, count in (got.requests + got.broken).items() if key not in logins})
    if logins and case.choice["login"] == "-":
        yield Finding("received", "nobody was to log in")
    if lacking := surely - came:
        yield Finding("received", f"answered, say the rows, and the target never got them: {_few(lacking)}")
    if (more := came - of_rows) and not (_ended_hard(case, ran) or _users_were_lost(case, ran)):
        yield Finding("received", f"the target got more than the rows say: {_few(more)}; {rows.height} rows")
    odd = _keys(rows.filter(error.is_in(_NEVER_CAME)))
    answers = case.choice["target"] in ("loopback", "ipv6", "unix")
    if answers and rows.is_empty() and got.requests and ran.sent_s > _ON_DISK_S:
        yield Finding("received", f"the first request came {ran.sent_s:.1f} s before the end, and no row is on disk")
    if odd and answers and case.choice["timeout"] != "short":
        yield Finding("received", f"errors of a target that answers all: {_few(odd)}")
    plain = answers and not ran.signalled
    if plain and case.choice["max-in-flight"] == "one" and case.choice["workers"] in ("-", "1") and got.most > 1:
        yield Finding("received", f"--max-in-flight 1, and {got.most} requests at once")
    if case.choice["no-keep-alive"] == "yes" and got.most_on_one > 1:
        yield Finding("received", f"--no-keep-alive, and {got.most_on_one} requests on a connection")
    each = {"one": 1, "few": 7}.get(case.choice["requests-per-connection"], math.inf)
    if got.most_on_one > each:
        yield Finding("received", f"--requests-per-connection, and {got.most_on_one} requests on a connection")
    by_client = case.command == "run" and case.choice["by-client"] == "yes" and case.choice["timeout"] != "short"
    clients = CLIENTS * (AGENTS if case.choice["client-key"] == "agent" else 1)
    versions = 2 if case.choice["http"] == "log" else 1  # clients and the check before have one each
    if plain and by_client and each == math.inf and got.connections > versions * (clients + 1):
        yield Finding("received", f"--by-client with {clients} clients, and {got.connections} connections")
    heads = sum(count for (op, _), count in got.requests.items() if op == "HEAD")
    keeps = plain and case.choice["no-keep-alive"] == "-" and each > 1 and got.versions.keys() == {"1.1"}
    if keeps and heads > 2 and not got.after_head and not by_client:  # it may be the last request of each client
        yield Finding("received", f"{heads} requests were HEAD, and none left its connection to another request")
    yield from _versions(case, got, rows)
    if case.choice["http"] in ("two", "log"):
        yield from _streams(case, got, plain=plain)
    yield from _headers(case, ran)
    if case.choice["trace"] != "-":
        yield from _trace_contexts(ran, rows)


def _versions(case: Case, got: Got, rows: pl.DataFrame) -> Iterator[Finding]:
    """Requests come in the version of HTTP that was asked for, as their rows say."""
    asked = {"two": {"2"}, "log": {"1.1", "2"}}.get(case.choice["http"], {"1.1"})
    if other := got.versions.keys() - asked:
        yield Finding("received", f"--http {case.choice['http']}, and requests of HTTP/{other}: {got.versions}")
    answered = rows.filter(pl.col("error").is_null())["protocol"].str.strip_prefix("HTTP/").str.strip_suffix(".0")
    if wrong := {version for version in answered.unique() if version not in got.versions}:
        yield Finding("received", f"rows of HTTP/{wrong}, and requests of {got.versions}")


def _streams(case: Case, got: Got, *, plain: bool) -> Iterator[Finding]:
    """What may be at once on a connection of HTTP/2, and how many there may be."""
    each = 3 if case.choice["streams"] == "some" else math.inf
    if got.most_streams > each:
        yield Finding("received", f"{got.most_streams} requests at once on a connection that may carry {each}")
    most = {"some": 3, "one": 1}.get(case.choice["connections"], math.inf)
    if plain and case.choice["no-keep-alive"] == "-" and got.most_carrying > most:
        yield Finding("received", f"--connections {most}, and {got.most_carrying} at once")


def _headers(case: Case, ran: Ran) -> Iterator[Finding]:
    requests = ran.got.requests + ran.got.broken
    total, logins = sum(requests.values()), sum(count for (_, url), count in requests.items() if url == "/login")
    expected = {
        "header": {
            "one": ("x-crossing", "1"),
            "file": ("x-filed", "1"),
            "secret": ("authorization", "Bearer verysecrettoken"),
        },
        "auth": {
            "bearer": ("authorization", "Bearer verysecrettoken"),
            "basic": ("authorization", "Basic dXNlcjp2ZXJ5c2VjcmV0dG9rZW4="),
        },
        "host": {"name": ("host", "www.example")},
        "agent": {"text": ("user-agent", "crossing/1")},
        "referer": {"text": ("referer", "http://www.example/")},
    }
    for factor, values in expected.items():
        if pair := values.get(case.choice[factor]):
            seen = ran.got.headers.get(pair[0], Counter())
            # a login asks for what the credentials of --auth give already
            asked = total - (logins if factor == "auth" else 0)
            if seen[pair[1]] != asked or len(seen) > 1:
                yield Finding("received", f"{pair[0]}: {pair[1]} in {seen} of {asked} requests")
    if case.choice["header"] == "client":
        seen = ran.got.headers.get("x-forwarded-for", Counter())
        no_client = case.choice["input"] in ("urls.txt", "request")
        asked = 0 if no_client else total - logins
        injected = no_client and case.choice.get("inject", "-") != "-"  # the other log has clients
        if (sum(seen.values()) != asked and not injected) or not all(value.startswith("192.0.2.") for value in seen):
            yield Finding("received", f"x-forwarded-for: {seen} in {asked} requests with a client")
    if case.choice["auth"] == "aws":
        seen = ran.got.headers.get("authorization", Counter())
        signed = sum(count for value, count in seen.items() if value.startswith("AWS4-HMAC-SHA256 Credential=AKID"))
        if signed != total - logins or signed != sum(seen.values()):
            yield Finding("received", f"{signed} signatures of {total - logins} requests")
    secrets = ("verysecrettoken", "dXNlcjp2ZXJ5c2VjcmV0dG9rZW4", "verysecretkey")
    if case.choice["show-secrets"] == "-" and any(secret in ran.out + ran.err for secret in secrets):
        yield Finding("secrets", "the token of a header was printed")


def _trace_contexts(ran: Ran, rows: pl.DataFrame) -> Iterator[Finding]:
    sent = Counter(value[3:35] for value in ran.got.headers.get("traceparent", ()) if _TRACED.fullmatch(value))
    odd = [value for value in ran.got.headers.get("traceparent", ()) if not _TRACED.fullmatch(value)]
    answered = rows.filter(pl.col("error").fill_null("") == "")["trace_id"]
    if odd or max(sent.values(), default=0) > 1 or rows["trace_id"].n_unique() < rows.height:
        yield Finding("received", f"traceparent: {odd[:3]}, {sent.most_common(2)}")
    if lacking := {*answered} - {*sent}:
        yield Finding("received", f"traceparent: {len(lacking)} of {len(answered)} trace ids never came")


def _keys(rows: pl.DataFrame) -> Counter[tuple[str, str]]:
    return Counter(zip(rows["op"].to_list(), rows["url"].to_list(), strict=True))


def _few(keys: Counter[tuple[str, str]]) -> str:
    return f"{sum(keys.values())}: {keys.most_common(4)}"


def _read(case: Case, ran: Ran, world: World) -> Iterator[Finding]:
    """The parts of a log are the log, and machines are between the ends of their range."""
    piped = case.choice["json"] == "yes" and case.choice["terminal"] in ("-", "blocked")
    if not piped or case.refused or ran.code not in (0, 3):
        return
    told: dict[str, Any] = json.loads(ran.out)
    if case.command == "inspect":
        parts = sum(told[name] for name in ("converted", "unreplayable", "rejected", "blank", "filtered"))
        if told["lines"] != parts or told["requests"] != told["converted"]:
            yield Finding("identities", f"lines = converted + …: {told}")
    elif (told["verdict"] == "VALID") != (ran.code == 0):
        yield Finding("verdict", f"exit code {ran.code} beside the verdict {told['verdict']}")
    elif ran.code == 0:
        machines = told["machines"]
        low, high = machines["range"]
        if not 1 <= low <= machines[machines["window"]] <= high:
            yield Finding("identities", f"machines are not in their range: {machines}")
    name = {"inspect": "summary.json", "plan": "plan.json"}[case.command]
    kept = world.folder / output_of(case) / name
    if output_of(case) and json.loads(kept.read_text()) != told:
        yield Finding("identities", f"--json printed another {name} than it wrote")


def _converted(case: Case, ran: Ran, world: World) -> Iterator[Finding]:
    choice = case.choice
    if ran.code != 0 or case.refused or choice["to"] == "pias" or choice["terminal"] in ("hangup", "head"):
        return
    lines = {"two": LINES + 10, "bad lines": LINES + 2}.get(choice["input"], LINES)
    if choice["output"] == "stdout":
        if choice["terminal"] == "pty":
            return
        if choice["to"] == "parquet":
            if not (ran.out.startswith("PAR1") and ran.out.endswith("PAR1")):
                yield Finding("files", "standard output is no whole Parquet file")
            return
        height = len(ran.out.splitlines()) - 1
    else:
        name = output_of(case) or re.split(r"[ .]", "access" if choice["input"] != "urls.txt" else "urls")[0]
        stem = {"bad lines": "bad"}.get(choice["input"], name)
        ending = ".parquet" if choice["to"] == "parquet" else ".csv"
        path = world.folder / (name if output_of(case) else stem + ending)
        if not path.exists():
            yield Finding("files", f"exit code 0, and no {path.name}")
            return
        _whole(path)
        height = scan(path).collect().height
    if all(choice[name] == "-" for name in _FILTERS_OF_CONVERT):
        rejected = 2 if choice["input"] == "bad lines" else 0
        if height != lines - rejected:
            yield Finding("identities", f"{lines} lines became {height} rows, {rejected} to be rejected")
    if choice["json"] == "yes" and choice["terminal"] in ("-", "blocked"):
        account = json.loads(ran.out)
        parts = sum(account[name] for name in ("converted", "unreplayable", "rejected", "blank", "filtered"))
        if account["lines"] != parts or account["lines"] != lines or account["converted"] != height:
            yield Finding("identities", f"lines = converted + …: {account}, {height} rows")
