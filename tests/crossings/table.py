"""The table: for each command its factors, each with a few values, and which values exclude each other.

A factor is an option, or what a user chooses beside the options: input, target, output, terminal, signal. A value is
the words that it adds to the command line. ``-`` is the default.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Final

from logreplay.options import kinds
from logreplay.options.clashes import Clash, given, named, rows
from logreplay.options.table import options_of

Factors = Mapping[str, Mapping[str, str]]
Choice = Mapping[str, str]
"""The value of each factor, by name."""


def _flag(name: str) -> dict[str, str]:
    return {"-": "", "yes": f"--{name}"}


def _option(name: str, /, **values: str) -> dict[str, str]:
    return {"-": "", **{value: f"--{name} {words}" for value, words in values.items()}}


_AWS: Final = {"aws": "aws:s3:eu-west-1"} if find_spec("botocore") else {}
_TARGETS: Final = ("loopback", "ipv6", "unix", "tls", "stalling", "early", "closing", "failing", "periodic", "refusing")
_OUTSIDE: Final[Factors] = {
    "input": {
        name: name
        for name in ("access.log", "access.csv", "access.log.gz", "access.csv.zst", "access.parquet", "urls.txt")
    }
    | {"request": "request.http", "pipe": "pipe.log", "stdin": "/dev/stdin"},
    "target": {**dict.fromkeys(_TARGETS, "{url}"), "builtin": "--demo-target"},
    "terminal": {"-": "", "pty": "", "hangup": "", "blocked": "", "head": ""},
    "stdin": {"-": "", "closed": ""},
    "signal": {"-": "", "INT": "", "TERM": "", "HUP": "", "INT twice": "", "TERM to all": "", "HUP to all": ""},
    "settings": {"-": "", "file": "", "variables": ""},
}
"""What a user chooses beside the options. ``terminal``: where standard output and error lead (``hangup``: a terminal
that goes away; ``blocked``: pipes that nobody reads for a while; ``head``: standard output is closed by its reader).
``stdin``: with ``closed`` the program is started without standard input (``<&-``). ``signal``: with ``to all`` it goes
to the whole process group, as of ``timeout`` and a closed terminal; ``KILL worker`` kills one of the workers, ``KILL
workers`` kills both."""

_SENDING: Final[Factors] = {
    "timeout": {"-": "--timeout 2s", "short": "--timeout 300ms"},
    "max-in-flight": _option("max-in-flight", one="1", many="1000"),
    "late": _option("late", send="send", drop="drop:100ms"),
    "methods": _option("methods", all="GET,HEAD,POST"),
    "allow-target": _option("allow-target", here="127.0.0.1"),
    "no-keep-alive": _flag("no-keep-alive"),
    "requests-per-connection": _option("requests-per-connection", one="1", few="5"),
    "by-client": _flag("by-client"),
    "local-address": _option("local-address", several="127.0.0.2,127.0.0.4-127.0.0.5,::1"),
    "cookies": _flag("cookies"),
    "login": _option("login", pool="logins.csv"),
    "extract": {"-": "", "header": "--extract v=header:Content-Length --use v=header:X-Length"},
    "trust": {"-": "", "insecure": "--insecure", "cacert": "--cacert authority.pem"},
    "cert": {"-": "", "yes": "--cert client.pem --key client.key"},
    "key-password": _option("key-password", file="file:password.txt"),
    "tls-name": _option("tls-name", here="localhost"),
    "connect-to": _option("connect-to", any="::127.0.0.1:"),
    "sender": _option("sender", wire="wire", aiohttp="aiohttp", h2="h2"),
    "http": _option("http", one="1.1", two="2", log="log"),
    "connections": _option("connections", some="3", one="1"),
    "streams": _option("streams", some="3"),
    "server-timing": _option("server-timing", some="db,app"),
    "digest": {"-": "", "yes": "--digest", "no": "--no-digest"},
    "workers": {
        "-": "",
        "1": "--workers 1",
        "2": "--workers 2",
        "cluster": "--cluster local:2",
        "one of a cluster": "--cluster local:2 --workers 1",
    },
    "show-secrets": _flag("show-secrets"),
}
_SHAPING: Final[Factors] = {
    "match": _option("match", some="page"),
    "exclude": _option("exclude", some="/page/1"),
    "status": _option("status", some="2xx,404"),
    "sample": _option("sample", most="80%"),
    "client-key": _option("client-key", agent="address+agent"),
    "from": _option("from", row="5", instant="2026-01-01T00:00:03"),
    "request-order": _option("request-order", log="log", shuffle="shuffle", random="random"),
    "seed": _option("seed", other="7"),
    "rewrite": _option("rewrite", one="'s|page|seite|'", two="'s|page|seite|' --rewrite 's|^/|/v2/|'"),
    "param": _option("param", one="k=v"),
    "header": _option(
        "header",
        log="log",
        one="'X-Crossing: 1'",
        secret="'Authorization: Bearer verysecrettoken'",
        file="@headers.txt",
        client="'X-Forwarded-For: log'",
    ),
    "host": _option("host", log="log", name="www.example"),
    "agent": _option("agent", log="log", text="crossing/1"),
    "referer": _option("referer", log="log", text="http://www.example/"),
    "no-cache": _flag("no-cache"),
    "trace": _option("trace", some="20%", none="0%"),
    "trace-url": _option("trace-url", any="https://traces.example/{{trace_id}}"),
    "body": _option("body", log="log", size="size", column="bodies.csv:url"),
    "inject": _option("inject", some="other.csv:20%"),
    "auth": _option("auth", bearer="bearer:token.txt", basic="basic:password.txt", **_AWS),
    "hook": _option("hook", same="crossing_hooks:same", some="crossing_hooks:some", none="crossing_hooks:fails"),
}
_TELLING: Final[Factors] = {
    "stop": _option("stop", never="'errors>99%/60s'", soon="'p99>1us/1s'"),
    "live": _option("live", any="0"),
    "metrics": _option("metrics", any="0"),
    "otlp": _option("otlp", away="http://127.0.0.1:9"),
    "progress": _option("progress", auto="auto", json="json", none="none"),
    "watch": _option("watch", command="'cpu=!echo 1'", most="'one:2=!echo 1'", process="pid:1"),
}
_CONTROL: Final[Factors] = {"control": _option("control", folder="load")}
_FOLDER: Final[Factors] = {
    "output": {"-": "-o out", "named": ""},
    "force": {"-": "", "new": "--force", "old": "--force", "exists": ""},
    "share": _flag("share"),
    "no-plots": {"-": "--no-plots", "plots": ""},
    "json": _flag("json"),
    "quiet": {"-": "", "q": "-q", "quiet": "--quiet"},
}
"""``force``: with ``old`` and ``exists`` an older result is in the way."""

_RUN: Final[Factors] = {
    "pacing": {
        "tps": "--tps 60",
        "speed": "--speed 30",
        "ramp": "--ramp 10..100",
        "steps": "--steps 30:300ms,60:300ms",
        "vusers": "--vusers 3",
        "follow": "--follow",
    },
    "arrivals": _option("arrivals", even="even", poisson="poisson", log="log"),
    "think": _option("think", fixed="20ms", range="1ms..40ms", log="log"),
    "delay": _option("delay", some="1500ms"),
    "for": _option("for", short="700ms", longer="3s"),
    "requests": _option("requests", few="20"),
    "loop": {"-": "", "loop": "--loop", "no-loop": "--no-loop"},
    "skip-idle": _option("skip-idle", some="200ms"),
    "output": {"-": "-o out.csv", "gz": "-o out.csv.gz", "zst": "-o out.csv.zst", "parquet": "-o out.parquet"}
    | {"named": ""},
    "force": _FOLDER["force"],
    "share": _FOLDER["share"],
    "crash": _flag("crash"),
    "verbose": {"-": "", "v": "-v", "verbose": "--verbose"},
    "debug": {"-": "", "d": "-d", "debug": "--debug"},
    "quiet": _FOLDER["quiet"],
    "classic": _flag("classic"),
    "json": _flag("json"),
    "dry-run": _flag("dry-run"),
    "junit": _option("junit", file="checks.xml"),
    "history": _option("history", file="runs.csv", json="runs.json"),
}
_SWEEP: Final[Factors] = {
    "pacing": {"rates": "20,40", "range": "10..30:20", "users": "--vusers 1,3", "doubled": "--vusers 1..3"},
    "for": {"-": "--for 500ms"},
    "arrivals": _RUN["arrivals"],
    "think": _option("think", fixed="20ms", range="1ms..40ms"),
    "warmup": _option("warmup", some="300ms", none="0"),
    "settle": _option("settle", some="200ms", none="0"),
    "repeat": _option("repeat", twice="2"),
    "order": _option("order", given="given", up="up", down="down", shuffle="shuffle"),
    "keep-going": _flag("keep-going"),
    "restart": _flag("restart"),
    "refine": _flag("refine"),
    "routes": _flag("routes"),
    **_FOLDER,
}
_FIND: Final[Factors] = {
    "junit": _option("junit", file="checks.xml"),
    "bound": {
        f"{name}": f"--{name} 1s" for name in ("p99", "p50", "p90", "p95", "p999", "p9999", "p99999", "mean", "max")
    }
    | {"impossible": "--p50 1us", "written": "--bound 'p99<1s' --bound 'mean<1s'"},
    "max-errors": _option("max-errors", some="5%"),
    "start": {"-": "", "some": "--start 20"},
    "max-tps": {"-": "--max-tps 40"},
    "precision": _option("precision", wide="50%"),
    "trial": {"-": "--trial 1s", "of the budget": ""},
    "trials": {"-": "--trials 3 --budget 30s", "one": "--trials 1 --budget 30s", "one of two minutes": "--trials 1"},
    "arrivals": _option("arrivals", even="even", poisson="poisson"),
    "vusers": _flag("vusers"),
    "restart": _flag("restart"),
    "think": _option("think", fixed="20ms", range="1ms..40ms"),
    "demand": _option("demand", some="500"),
    **_FOLDER,
}
_DUET: Final[Factors] = {
    **{name: _RUN[name] for name in ("pacing", "arrivals", "delay", "for", "requests", "loop", "skip-idle")},
    **{name: _RUN[name] for name in ("junit", "history")},
    "think": _option("think", fixed="20ms"),
    **{name: values for name, values in _FOLDER.items() if name != "no-plots"},
    "candidate": dict.fromkeys(_TARGETS, "{candidate}"),
    "noise": {"-": "", "second": "--noise {noise}"},
    "alternate": _flag("alternate"),
    "candidate-cert": {"-": "", "yes": "--candidate-cert client.pem --candidate-key client.key"}
    | {"password": "--candidate-cert client.pem --candidate-key-password file:password.txt --candidate-key client.key"},
    "swap": _option(
        "swap",
        pair="{baseline2} {candidate2} --swap-every 200ms",
        short="{baseline2} {candidate2} --swap-every 100ms",
    ),
    "ignore": _option("ignore", size="size", header="header:X-*"),
    "keep": _option("keep", none="0", few="3"),
    "fail-above": _option("fail-above", some="50%"),
    "fail-different": _option("fail-different", some="1%"),
}
_READING: Final[Factors] = {
    "input": {
        "access.log": "access.log",
        "gz": "access.log.gz",
        "zst": "access.log.zst",
        "two": "access.log later.log.gz",
        "urls.txt": "urls.txt",
        "bad lines": "bad.log",
        "pipe": "pipe.log",
        "stdin": "-",
    },
    "format": {"-": "", "auto": "--format auto", "combined": "-f combined"},
    "timezone": _option("timezone", Berlin="Europe/Berlin"),
    "time-unit": _option("time-unit", ms="ms"),
    "stamped": _option("stamped", start="start", end="end"),
    "since": _option("since", some="2026-01-01T00:00:02"),
    "until": _option("until", some="2026-01-01T00:00:05Z"),
    **{name: _SHAPING[name] for name in ("match", "exclude")},
    "status": _option("status", some="200,404"),
    "method": _option("method", some="GET,HEAD"),
    "client": _option("client", some="192.0.2.0/30"),
    "force": _FOLDER["force"],
    "share": _FOLDER["share"],
    "json": _flag("json"),
    "quiet": _FOLDER["quiet"],
    **{name: _OUTSIDE[name] for name in ("terminal", "stdin", "signal", "settings")},
}
_CONVERT: Final[Factors] = {
    **_READING,
    "output": {"-": "-o out.csv", "gz": "-o out.csv.gz", "zst": "-o out.csv.zst", "parquet": "-o out.parquet"}
    | {"named": "", "stdout": "--output -"},
    "to": _option("to", csv="csv", parquet="parquet", pias="pias"),
    "redact": _flag("redact"),
    "rejects": _option("rejects", named="kept.txt"),
    "strict": _flag("strict"),
    "max-rejects": _option("max-rejects", few="1", share="50%"),
    "cluster": _option("cluster", local="local:2"),
}
_INSPECT: Final[Factors] = {**_READING, "output": _FOLDER["output"]}
_PLAN: Final[Factors] = {
    **{name: values for name, values in _READING.items() if name != "method"},
    "results": {"-": "--from made"},
    "bound": _option("p99", same="300ms"),
    "output": _FOLDER["output"],
    "growth": _option("growth", some="30%"),
    "forecast": _option("forecast", some="december.csv"),
    "per-machine-of": _option("per-machine-of", some="3"),
    "headroom": _option("headroom", some="20%"),
    "survive": _option("survive", one="1"),
    "price": _option("price", some="0.12"),
    "reaction": _option("reaction", short="5s", long="5m"),
    "no-plots": _flag("no-plots"),
}

_SENT_TO: Final[Factors] = {
    **_OUTSIDE,
    "signal": {**_OUTSIDE["signal"], "KILL worker": "", "KILL workers": ""},
}

COMMANDS: Final[Mapping[str, Factors]] = {
    "run": {
        **_RUN,
        **_CONTROL,
        **_TELLING,
        **_SHAPING,
        **_SENDING,
        **_SENT_TO,
        "signal": {**_SENT_TO["signal"], "KILL": ""},
    },
    "sweep": {**_SWEEP, **_TELLING, **_SHAPING, **_SENDING, **_SENT_TO},
    "find": {**_FIND, **_TELLING, **_SHAPING, **_SENDING, **_SENT_TO},
    "duet": {**_DUET, **_TELLING, **_SHAPING, **_SENDING, **_SENT_TO, "target": dict.fromkeys(_TARGETS, "{url}")},
    "convert": _CONVERT,
    "inspect": _INSPECT,
    "plan": _PLAN,
}
READING: Final = ("convert", "inspect", "plan")
"""Commands that read logs and send nothing; plan has a search that was made before."""
OUTSIDE_THE_TABLE: Final = {
    "sweep": {"--resume"},
    "plan": {word for values in COMMANDS["find"].values() for each in values.values() for word in each.split()}
    | {"--prove", "--mix", "--costs", "--scaling"},
}
"""Options that need the result of an earlier command (`test_sweep_resume` crosses them), and those of the search that
plan makes, as `find` does; `test_plan` proves a plan,
and `test_changed_mix` changes its mix."""


@dataclass(frozen=True)
class Rule:
    """Values that do not go together: where each of the factors has one of them.

    Attributes:
        values: by factor.
        names: options that the refusal must name; empty: the combination is not tried, for the reason in ``why``.
    """

    values: Mapping[str, frozenset[str]]
    names: tuple[str, ...] = ()
    why: str = ""

    def holds(self, choice: Choice) -> bool:
        """Whether a choice breaks the rule."""
        return all(choice.get(factor) in values for factor, values in self.values.items())


def _given(factors: Factors, factor: str) -> frozenset[str]:
    return frozenset(factors[factor]) - {"-"}


def _rules(command: str) -> list[Rule]:
    factors = COMMANDS[command]

    def rule(*names: str, why: str = "", **values: object) -> Rule:
        return Rule({name.replace("_", "-"): _values(name.replace("_", "-"), value) for name, value in values.items()},
                    names, why)  # fmt: skip

    def _values(name: str, value: object) -> frozenset[str]:
        if value is Ellipsis:
            return _given(factors, name)
        words = str(value).split("/")
        return frozenset(factors[name]) - {w[1:] for w in words} if words[0].startswith("!") else frozenset(words)

    reading = (
        [
            rule(why="standard input is the log", input="stdin", stdin="closed"),
            rule(why="another format", input="urls.txt", format="combined"),
        ]
        if command in READING
        else []
    )
    if command == "inspect":
        return reading
    if command == "plan":
        return [*reading, *_of_rows(command)]
    if command == "convert":
        return [
            *reading,
            rule("--json", "-o", json="yes", output="stdout"),
            rule(why="a default name needs a file to be named after", input="stdin/pipe", output="named"),
            rule("--to", "-o", to="parquet", output="-/gz/zst"),
            rule("--to", "-o", to="csv", output="parquet"),
            rule("--to", "-o", to="pias", output="-/gz/zst/parquet"),
            *_of_rows(command),
        ]
    both = [
        *_of_rows(command),
        rule("--auth", "--header", auth=..., header="secret"),
        rule("--auth", "--use", auth="aws", extract="header"),
        rule("--hook", "--workers", hook=..., workers="2"),
        rule("--hook", "--cluster", hook=..., workers="cluster/one of a cluster"),
        rule(why="a list of URLs names no version of HTTP", http="log", input="urls.txt"),
        rule("--connections", "--workers", connections="one", workers="2"),
        rule("--connections", "--cluster", connections="one", workers="cluster"),
        rule(why="standard input is the log", input="stdin", stdin="closed"),
        rule(why="there must be a way to trust", target="tls", trust="-"),
        rule("--local-address", local_address=..., target="unix"),
        rule(why="the target is elsewhere", connect_to=..., target="ipv6/unix"),
        rule(why="there must be a worker", signal="KILL worker/KILL workers", workers="!2"),
        rule("--max-in-flight", "--workers", max_in_flight="one", workers="2"),
        rule("--max-in-flight", "--cluster", max_in_flight="one", workers="cluster"),
    ]
    if command != "duet":
        both.append(rule(why="LOG needs no TARGET only where it is a file", target="builtin", input="request"))
    if command == "sweep":
        return [
            *both,
            rule("--auth", "--vusers", auth="aws", pacing="users/doubled"),
            rule("--vusers", "--workers", pacing="users/doubled", workers="2"),
            rule("--vusers", "--cluster", pacing="users/doubled", workers="cluster"),
            rule("--routes", "--watch", routes="yes", watch="most"),
            rule("--by-client", "--workers", settle="some", by_client="yes", workers="2"),
            rule("--by-client", "--cluster", settle="some", by_client="yes", workers="cluster/one of a cluster"),
        ]
    if command == "find":
        return [
            *both,
            rule("--budget", bound="p999", trials="-/one", vusers="-"),
            rule("--budget", bound="p9999/p99999", vusers="-"),
            rule("--auth", "--vusers", auth="aws", vusers="yes"),
            rule("--by-client", "--workers", by_client="yes", workers="2"),
            rule("--by-client", "--cluster", by_client="yes", workers="cluster/one of a cluster"),
        ]
    paced = [
        *both,
        rule("--ramp", "--for", **{"pacing": "ramp", "for": "-"}),
        rule("--follow", "--workers", pacing="follow", workers="2"),
        rule("--follow", "--cluster", pacing="follow", workers="cluster/one of a cluster"),
        rule(why="no end", pacing="!steps", loop="loop", **{"for": "-", "requests": "-"}),
        rule(why="no end", pacing="follow", **{"for": "-"}),
        rule(why="only a log can be followed", pacing="follow", input="!access.log"),
    ]
    if command == "duet":
        return [
            *paced,
            rule("duet", "--vusers", pacing="vusers"),
            rule("duet", "--cluster", workers="cluster/one of a cluster"),
            rule("duet", "--think", think=...),
            rule("duet", "--auth", auth="aws"),
            rule("--swap", "--for", swap=..., pacing="steps"),
            rule("--swap", "--for", swap=..., pacing="tps", requests="few"),
            rule("--swap", "--for", swap=..., **{"pacing": "tps/speed/ramp", "for": "short"}),
            rule(why="there must be a way to trust", candidate="tls", trust="-"),
            rule("--local-address", local_address=..., candidate="unix"),
            rule(why="the target is elsewhere", connect_to=..., candidate="ipv6/unix"),
        ]
    return [
        *paced,
        rule("--auth", "--vusers", auth="aws", pacing="vusers"),
        rule("--auth", "--control", auth="aws", control="folder"),
        rule("--control", "--workers", control="folder", workers="2"),
        rule("--control", "--cluster", control="folder", workers="cluster/one of a cluster"),
        rule(why="only a normalized CSV has pauses", think="log", input="!access.csv/access.csv.zst/access.parquet"),
        rule("--follow", "--dry-run", **{"pacing": "follow", "dry-run": "yes"}),
        rule("--follow", target="builtin", pacing="follow"),
        rule("--loop", "--dry-run", **{"dry-run": "yes", "loop": "loop", "for": "-", "requests": "-"}),
    ]


def _of_rows(command: str) -> Iterator[Rule]:
    """The rules of the table of contradictions, where values of two factors break a row."""
    giving = {
        (factor, name): _values_of(command, words or factor)
        for factor, values in COMMANDS[command].items()
        for name, words in values.items()
    }

    def having(label: str) -> dict[str, frozenset[str]]:
        """By factor, the values under which a label is given."""
        found = [(factor, name) for (factor, name), values in giving.items() if given(values, label)]
        return {factor: frozenset(name for other, name in found if other == factor) for factor, _ in found}

    for row in rows(command):
        if isinstance(row, Clash):
            names = tuple(named(defaultdict(str), label).split()[0] for label in (row.one, row.other))
            for (one, values), (other, others) in product(having(row.one).items(), having(row.other).items()):
                if one != other:
                    yield Rule({one: values, other: others}, names)
            continue
        names = tuple(named(defaultdict(str), label).split()[0] for label in (row.one, row.others[0]))
        allowed: dict[str, frozenset[str]] = {}
        for label in row.others:
            allowed |= {factor: allowed.get(factor, frozenset()) | values for factor, values in having(label).items()}
        lacking = {factor: frozenset(COMMANDS[command][factor]) - values for factor, values in allowed.items()}
        for one, values in having(row.one).items():
            if one not in lacking:
                yield Rule({one: values, **lacking}, names)


def _values_of(command: str, words: str) -> dict[str, object]:
    """The options that some words give, with their texts; the name of a factor stands for the default of its option."""
    options = {flag: option for option in options_of(command) for flag in option.names}
    values: dict[str, object] = {"follow": False}
    values |= {option.name: option.default for option in options.values() if option.name == words and option.default}
    parts = shlex.split(words)
    for place, flag in enumerate(parts):
        if option := options.get(flag):
            switch = option.kind in (kinds.SWITCH, kinds.OFF, kinds.EITHER)
            values[option.name] = option.kind is kinds.SWITCH or (flag[:5] != "--no-") if switch else parts[place + 1]
    if values.get("late") == "send" or values.get("think") in ("0", "0s") or values.get("settle") == "0":
        return {"follow": False}  # the default, as text
    return values


RULES: Final[Mapping[str, list[Rule]]] = {command: _rules(command) for command in COMMANDS}
