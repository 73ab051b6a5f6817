"""The table of contradictions: options that exclude each other, options that need another one, and the reasons.

Three readers: `check` refuses a call; `gives_way` and `needed` leave out settings beside other options; the crossings
of options take from the rows which combinations are refused. A label is an option that is given, or an option with one
value: ``http=log``.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Final

from logreplay.core.errors import UsageError
from logreplay.options.other_commands import OTHERS
from logreplay.options.sender_rules import KEPT
from logreplay.options.table import TABLE, options_of

_SENDING: Final = "run sweep find duet"
_PACED: Final = "run duet"
MODES: Final = ("tps", "speed", "ramp", "steps", "vusers", "follow")
"""The options of `run` and `duet` of which one is given."""
_SHOWN: Final = ("cacert", "auth", "arrivals")
"""Options that a refusal names with their value."""
_FLAGS: Final = {
    option.name: next(flag for flag in option.names if flag.startswith("--"))
    for among in (*OTHERS.values(), *(options for _, options in TABLE))
    for option in among
}


@dataclass(frozen=True, slots=True)
class Clash:
    """Labels of which one may be given only.

    Attributes:
        one, other: the labels.
        why: the reason, and what to do; or the whole sentence.
        commands: that have both.
        stays: the label whose setting does not give way to an option of a higher rank, so that both are refused:
            without that setting, the command would send, judge or count what the settings exclude.
    """

    one: str
    other: str
    why: str
    commands: str = _SENDING
    stays: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Both."""
        return self.one, self.other

    def broken(self, values: Mapping[str, Any]) -> bool:
        """Whether both options are given."""
        return given(values, self.one) and given(values, self.other)

    def sentence(self, values: Mapping[str, Any]) -> str:
        """The refusal."""
        if " needs " in self.why:
            return self.why
        return f"{named(values, self.one)} and {named(values, self.other)} exclude each other: {self.why}"


@dataclass(frozen=True, slots=True)
class Needs:
    """A label that may be given only beside one of others; a setting of it is left out without them.

    Attributes:
        one, others: the labels.
        why: the needed option and the reason, for the sentence of the refusal.
        commands: that have them.
    """

    one: str
    others: Sequence[str]
    why: str
    commands: str = _SENDING

    @property
    def labels(self) -> tuple[str, ...]:
        """All of them."""
        return self.one, *self.others

    def broken(self, values: Mapping[str, Any]) -> bool:
        """Whether the option is given, and none of the others."""
        return given(values, self.one) and not any(given(values, other) for other in self.others)

    def sentence(self, values: Mapping[str, Any]) -> str:
        """The refusal."""
        return f"{named(values, self.one)} needs {self.why}"


_MIXED: Final = ("request_order=shuffle", "request_order=random", "shuffle", "random")
"""Labels under which requests are not in the order of the log."""


def _written(label: str) -> str:
    return f"--{label.replace('_', '-').replace('=', ' ')}"


# fmt: off
ROWS: Final[Sequence[Clash | Needs]] = (
    *(Clash(name, "follow", f"{_written(name)} needs a log that has an end, and --follow reads one that grows", _PACED)
      for name in (*_MIXED, "loop")),
    Clash("since", "follow", "--follow begins with the next line of the log", _PACED),
    Clash("skip_idle", "follow", "requests are sent as the log grows, gaps included", _PACED),
    Clash("arrivals", "follow", "--follow takes the log's own times", _PACED),
    Clash("shuffle", "random", "one sends each request once, the other draws them"),
    *(Clash(earlier, "request_order", f"--{earlier} is its earlier name; leave out one of them")
      for earlier in ("shuffle", "random")),
    *(Clash(order, times, f"{_written(order)} leaves the log's own times; give a rate with --tps", commands)
      for order in _MIXED
      for times, commands in (("speed", _PACED), ("arrivals=log", "run sweep duet"))),
    Needs("delay", ("follow",), "--follow: it is the time from a line of the log to its request", _PACED),
    Clash("duration", "steps", "steps have durations; leave out --for", _PACED),
    Needs("arrivals=log", ("tps",), "one mean rate: give --tps R, and none of --speed, --ramp, --steps and --vusers; "
          "--speed X without --arrivals has the log's own rate", _PACED),
    *(Needs(f"arrivals={kind}", ("tps", "ramp", "steps"), "a rate: --tps R, --ramp R..R or --steps", _PACED)
      for kind in ("poisson", "even")),
    Needs("control", ("tps", "speed"), "--tps R or --speed X: only a rate or a speed that was typed can be raised and "
          "lowered; --ramp and --steps say themselves how it changes, a user (--vusers) waits for its response, and "
          "--follow sends as the log grows", "run"),
    Needs("think", ("vusers",), "users: add --vusers", "run sweep find"),
    Needs("skip_idle", ("speed", "arrivals=log"), "the log's own times: add --speed X or --arrivals log", _PACED),
    Clash("arrivals", "vusers", "a user sends when the response before has come; leave out one of them", "sweep find"),
    Clash("max_in_flight", "vusers", "each user has one request in flight; give fewer users", "run sweep find"),
    Clash("demand", "vusers", "machines are counted for a rate; search one without --vusers", "find"),
    Clash("late", "vusers", "a user's request is due when it is sent, so none is late", "run sweep find"),
    Clash("refine", "vusers", "name more user counts instead", "sweep"),
    Clash("settle", "vusers", "use a longer --for instead", "sweep"),
    Clash("settle", "arrivals=log", "use a longer --for instead", "sweep"),
    Clash("routes", "vusers", "users send more of the other routes when one is left out; give rates", "sweep"),
    Clash("routes", "refine", "saturation is not looked for between steps with other routes", "sweep"),
    Clash("routes", "arrivals=log", "the log's times are those of all routes together", "sweep"),
    Clash("routes", "inject", "injected requests cannot be left out; put them into LOG", "sweep"),
    Clash("routes", "hook", "a hook may change routes after one was left out", "sweep", "hook"),
    Needs("routes", ("watch",), "--watch pid:PID or cgroup:NAME: it compares requests with processor time", "sweep"),
    Clash("strict", "max_rejects", "--strict is --max-rejects 0; leave out one of them", "convert"),
    Needs("output", ("machines",), "--machines: it draws throughput against machines", "capacity"),
    Clash("output", "resume", "a resumed sweep stays in its folder", "sweep"),
    Clash("mix", "prove", "a proof replays the log's own mix; leave out one of them", "plan"),
    Clash("scaling", "prove", "one machine shares nothing, so its replay proves nothing", "plan", "scaling"),
    Needs("costs", ("mix",), "--mix: it says how the mix changes", "plan"),
    Clash("growth", "forecast", "the forecast is the demand to come; leave out one of them", "plan"),
    Clash("per_machine_of", "forecast", "the forecast is the demand of all machines; leave out one of them", "plan"),
    Clash("noise", "alternate", "--noise needs all responses to one request, and --alternate sends it to one target",
          "duet"),
    Clash("swap", "alternate", "--swap compares both responses to one request, and --alternate sends it to one target",
          "duet"),
    Needs("swap_every", ("swap",), "--swap: it is the length of a turn of its pairs", "duet"),
    *(Clash(answers, other, "--no-digest and --alternate compare no answers", "duet", "fail_different")
      for answers in ("fail_different", "ignore", "keep") for other in ("alternate", "digest=False")),
    Clash("requests_per_connection", "sender=aiohttp", "only --sender wire counts the requests of a connection"),
    Clash("requests_per_connection", "keep_alive=False", "without keep-alive a connection carries one request"),
    Clash("local_address", "sender=aiohttp", "only --sender wire chooses the address it sends from"),
    Needs("trace_url", ("trace",), "--trace P%: without it, requests have no traces"),
    Needs("key", ("cert",), "--cert: it is the key of a client certificate"),
    Needs("candidate_key", ("candidate_cert",), "--candidate-cert: it is the key of a client certificate", "duet"),
    Needs("candidate_key_password", ("candidate_cert",), "--candidate-cert: it opens the key of that certificate",
          "duet"),
    *(Needs("key_password", certs, "--cert: it opens the key of a client certificate", commands)
      for certs, commands in ((("cert",), "run sweep find"), (("cert", "candidate_cert"), "duet"))),
    *(Clash(name, "sender=aiohttp", "only --sender wire connects to another place than the name says")
      for name in ("tls_name", "connect_to")),
    Clash("local_address", "cluster", "the addresses are those of this machine, and a cluster has others",
          "run sweep find"),
    Clash("insecure", "cacert", "--insecure accepts any certificate, so the file would not be used; leave one out"),
    *(Clash(name, "sender=aiohttp", "only --sender wire keeps clients apart")
      for name in (*KEPT, "client_key")),
    *(Needs(name, ("by_client",), "--by-client: without it, requests belong to no client")
      for name in (*KEPT, "client_key")),
    *(Clash(name, "http=log", "the session of a client belongs to one connection") for name in KEPT),
    *(Clash(name, "streams", "a client with a session has one request at a time") for name in KEPT),
    Clash("by_client", "sender=aiohttp",
          "--by-client needs --sender wire: --sender aiohttp cannot give each client its own connection"),
    *(Clash("sender=h2", f"http={http}", f"--sender h2 needs --http 2: it does not speak HTTP/1.1 (--http {http})")
      for http in ("1.1", "log")),
    *(Clash("sender=aiohttp", f"http={http}",
            f"--http {http} needs --sender wire: --sender aiohttp speaks HTTP/1.1 only")
      for http in ("2", "log")),
    *(Needs(name, ("http=2", "http=log"), "--http 2 or log: HTTP/1.1 carries one request on a connection; "
            "--max-in-flight limits both") for name in ("connections", "streams")),
    Clash("connections", "by_client", "with --by-client each client has one connection"),
    Clash("by_client", "keep_alive=False", "each client keeps one connection; leave out one of them"),
    Clash("streams", "keep_alive=False", "without keep-alive a connection carries one request"),
    Clash("verbose", "as_json", "both write to standard output", "run"),
    Clash("classic", "as_json", "the JSON has these figures; leave out --classic", "run"),
    *(Clash(more, "quiet", "one prints more, the other less; choose one", "run")
      for more in ("verbose", "debug", "classic")),
    *(Clash(measured, "dry_run", "nothing is sent or measured", "run", "dry_run")
      for measured in ("junit", "history", "live", "metrics", "otlp", "watch", "control")),
)
# fmt: on


def check(command: str, values: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other."""
    for row in rows(command):
        if row.broken(values):
            raise UsageError(row.sentence(values))


def rows(command: str) -> list[Clash | Needs]:
    """The rows of a command."""
    if command != "plan":
        return [row for row in ROWS if command in row.commands.split()]
    known = {option.name for option in options_of(command)}
    among = [row for row in ROWS if {command, "find"} & {*row.commands.split()}]
    return [row for row in among if {label.partition("=")[0] for label in row.labels} <= known]


def gives_way(command: str) -> Mapping[str, Set[str]]:
    """For each label the labels beside which its setting is left out, if they have a higher rank."""
    load = _loads(command)
    clashes = [row for row in rows(command) if isinstance(row, Clash)]
    pairs = [pair for row in clashes for pair in permutations(row.labels) if pair[0] not in (row.stays, *load)]
    pairs += permutations(load, 2)
    alone = {"run": ["control", "follow"], "duet": ["follow"], "find": ["by_client"]}.get(command, [])
    pairs += product(("workers", "cluster"), [*alone, "hook"])
    pairs += product({*alone} - {*load}, ("workers>1", "cluster"))
    pairs += [
        *permutations(("target", "demo_target")),
        *(permutations(("rates", "vusers")) if command == "sweep" else ()),
        *permutations(("as_json", "output=-")),
    ]
    return {one: {other for first, other in pairs if first == one} for one, _ in pairs}


def _loads(command: str) -> Sequence[str]:
    """The options of which one says how a command sends: a setting of it gives way only to another of them."""
    return MODES if command in _PACED.split() else ("vusers",) if command == "sweep" else ()


def needed(command: str) -> Mapping[str, Set[str]]:
    """For each label the labels without which its setting is left out."""
    wanted = {row.one: set(row.others) for row in rows(command) if isinstance(row, Needs)}
    return wanted | {"sender=h2": {"http=2"}}


def given(values: Mapping[str, Any], label: str) -> bool:
    """Whether a label is given: an option that is on, or has a value."""
    name, equals, text = label.partition("=")
    value = values.get(name)
    if equals:
        return str(value) == text
    if name == "settle":
        return bool(value)
    if name == "think":  # None: those of the log, which `find` and `sweep` do not take
        return value != 0.0 and name in values and (value is not None or "follow" in values)
    return value is not None and value is not False and value != ()


def named(values: Mapping[str, Any], label: str) -> str:
    """A label as it is written on the command line."""
    name, _, text = label.partition("=")
    flag = _FLAGS[name]
    if text:
        return f"--no-{name}" if (flag, text) == (f"--{name}", "False") else f"{flag} {text}".removesuffix(" False")
    return f"{flag} {values[name]}" if name in _SHOWN else flag
