"""Every option, stated once: those of the command line, the parameters of the functions, and the keys of settings.

How a command joins: `logreplay.cli.options.from_table.options` gives a command its options, and
`logreplay.options.keywords.read` gives a function the same checked values by name. `taken` makes frozen values (`Load`,
`RequestRules`, `SenderRules`, `Telling`) of them; a function has its signature and docstring from
`logreplay.options.signatures.described`, and its types from `logreplay.options.parameters`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from logreplay.options import kinds as k
from logreplay.options.kinds import Option, choice, percent, whole
from logreplay.options.other_commands import FORMAT, OTHERS, TIMEZONE_OF_WEEK, UNITS

_SENDING: Final = "run sweep find duet"
_SHOWN: Final = ("p50", "p90", "p99")
"""Bounds that have an option in the help; ``--bound`` has all."""
NOT_PLANNED: Final = frozenset(
    {"demand", "vusers", "think", "junit", "match", "exclude", "status", "since", "sample", "restart", "inject"}
)
"""Options of `find` that `plan` lacks: the log says the rate, and is read and cut before demand and supply are."""


def _reading(name: str, help: str, metavar: str, kind: k.Kind = k.TEXT) -> Option:
    return Option("plan", name, kind, help, metavar)


# fmt: off
PLAN: Final[Sequence[tuple[str, Sequence[Option]]]] = (
    ("Plan", (
        Option("plan", "results", k.PATH, "Plan with this search or sweep, made before, and send nothing.", "DIR",
               "--from"),
        Option("plan", "mix", k.MIX_CHANGE, "Change of one route's requests: 'checkout=+50%'. Repeatable.",
               "ROUTE=±P%", repeated="many"),
        Option("plan", "costs", k.PATH, "With --mix: a sweep that measured what each route costs.  [default: --from]",
               "DIR"),
        Option("plan", "scaling", k.PATH,
               "Output of logreplay capacity --machines --json: its law in place of n times one.", "FILE"),
        Option("plan", "growth", percent(most=100),
               "Growth of the busiest hour, 30% or 0.3; its busiest minute, partly chance, grows less.  [default: 0%]",
               "P%"),
        Option("plan", "forecast", k.PATH, "Demand to come, instead of --growth: a CSV of time,rate.", "CSV"),
        Option("plan", "per_machine_of", whole(1, 1_000_000), "LOG is that of one of N front ends.  [default: 1]", "N"),
        Option("plan", "headroom", percent(most=0.99), "Share of each machine to keep free: 20% or 0.2.", "P%",
               default="0%"),
        Option("plan", "survive", whole(0, 1_000_000), "Machines that may be lost while the others carry the load.",
               "N", default="0"),
        Option("plan", "price", k.PRICE, "Price of a machine for an hour, for the cost of a week.", "PRICE"),
        Option("plan", "reaction", k.DURATION,
               "Give the target of an autoscaler whose new pods serve D after a rise of the load.", "D"),
        Option("plan", "prove", k.SWITCH,
               "Replay the log's busiest minute: the share of one of these machines, and of one fewer; "
               "with --reaction the steepest hour, too."),
    )),
    ("Demand", (
        FORMAT,
        TIMEZONE_OF_WEEK,
        *UNITS,
        _reading("since", "Count and send requests that start at or after TIME (ISO 8601).", "TIME", k.INSTANT),
        _reading("until", "Count and send requests that start before TIME (ISO 8601).", "TIME", k.INSTANT),
        _reading("match", "Count and send URLs that contain REGEX.", "REGEX"),
        _reading("exclude", "Neither count nor send URLs that contain REGEX.", "REGEX"),
        _reading("status", "Count and send these statuses: 200,3xx,500-504.", "SET", k.KEPT_STATUS),
        _reading("client", "Count and send these addresses and networks: 10.0.0.7,10.1.0.0/16.", "LIST"),
    )),
)
"""Options of `plan`: growth of the demand, reserve, and reading of the log. It has those of `find`, too."""
TABLE: Final[Sequence[tuple[str, Sequence[Option]]]] = (
    *PLAN,
    ("Bounds", (
        *(Option("find", name, k.DURATION, f"Bound on the {spoken} response time.", "D", hidden=name not in _SHOWN)
          for name, spoken in k.BOUNDS.items()),
        Option("find", "bound", k.BOUND, f"Bound on a response time: {', '.join(k.BOUNDS.values())}. Repeatable.",
               "'p99<300ms'", repeated="many"),
    )),
    ("Load", (
        Option("run duet", "tps", k.RATE, "Send R requests/s.", "R", "--tps --rate"),
        Option("find", "demand", k.RATE, "Also report how many such machines R requests/s need.", "R",
               "--demand --tps --rate"),
        Option("run duet", "speed", k.SPEED, "Keep the log's timing, X times as fast (1 = original).", "X"),
        Option("run duet", "ramp", k.RAMP, "Change the rate steadily from R to R.", "R..R"),
        Option("run duet", "steps", k.STEPS, "Send at one rate after the other: 50:10s,100:20s.", "R:D,…"),
        Option("run duet", "vusers", whole(1, 1_000_000), "Send with N users; each waits for its response.", "N",
               "-c --vusers", refused="duet"),
        Option("sweep", "vusers", k.USERS, "Use N users in each step instead of RATES.", "N,N,…|N..N", "-c --vusers"),
        Option("find", "vusers", k.SWITCH, "Search for the most users; rates are then user counts.", "", "-c --vusers"),
        Option("run duet", "follow", k.SWITCH, "Replay new lines of LOG while it is written."),
        Option("run sweep duet", "arrivals", choice("poisson", "even", "log"),
               "Spacing: random, even, or as in the log.  [default: poisson]"),
        Option("find", "arrivals", choice("poisson", "even"), "Spacing: random or even.  [default: poisson]"),
        Option("run duet", "think", k.THINK, "Pause of a user after each response.", "D|D..D|log", default="0",
               refused="duet"),
        Option("sweep", "think", k.PAUSES, "Pause of a user after each response.", "D|D..D", default="0"),
        Option("find", "think", k.PAUSES, "Pause of a user after each response.  [default: 0]", "D|D..D"),
        Option("run duet", "delay", k.DURATION, "With --follow: send D after the logged time.  [default: 5s]", "D"),
        Option("run duet", "duration", k.DURATION, "Run for D.  [default: once through LOG]", "D", "--for --duration"),
        Option("sweep", "duration", k.DURATION, "Length of each step.", "D", "--for --duration", "10s"),
        Option("run duet", "requests", whole(1), "Send at most N requests.  [default: once through LOG]", "N",
               "-n --requests"),
        Option("run duet", "loop", k.EITHER, "Restart LOG at its end.  [default: if --for or -n needs it]", "",
               "--loop/--no-loop"),
        Option("run duet", "skip_idle", k.DURATION, "Shorten gaps in the log's times to D.", "D"),
        Option("sweep", "warmup", k.PAUSE, "Send at the lowest rate first, unjudged.  [default: 0]", "D"),
        Option("sweep", "settle", k.PAUSE, "Send at each step's rate before it, unjudged.  [default: 0]", "D"),
        Option("sweep", "repeat", whole(1, 1000), "Run the whole list of rates N times.", "N", default="1"),
        Option("sweep", "order", choice("given", "up", "down", "shuffle"), "Order of the steps.", default="given"),
        Option("sweep", "routes", k.SWITCH,
               "Find what a request of each route costs: 3 to 6 more steps at each rate, --for D long, with all routes "
               "again and without some. With --watch pid:PID."),
        Option("sweep", "refine", k.SWITCH, "Add smaller steps around saturation afterwards, up to the highest rate."),
        Option("find", "max_errors", percent(), "Share of requests that may fail.", "P%", default="1%"),
        Option("find", "start", k.RATE, "First and lowest rate.", "R", default="10"),
        Option("find", "max_tps", k.RATE, "Never try a higher rate.  [default: no limit]", "R"),
        Option("find", "precision", percent(), "Confirm once the 90 % range is within P%.", "P%", default="5%"),
        Option("find", "trial", k.DURATION, "Length of a full trial.  [default: --budget/10]", "D"),
        Option("duet", "alternate", k.SWITCH, "Send each request to one target, drawn at random, not to both."),
        Option("duet", "noise", k.TEXT, "Second BASELINE, to tell random differences from real ones.", "URL"),
        Option("duet", "swap", k.PAIR,
               "A second pair, BASELINE2 on CANDIDATE's machine and CANDIDATE2 on BASELINE's: both pairs take turns.",
               "BASELINE2 CANDIDATE2"),
        Option("duet", "swap_every", k.TURN, "With --swap: length of a turn.  [default: 2s]", "D"),
    )),
    ("Requests", (
        Option(_SENDING, "match", k.PATTERN, "Send only URLs with REGEX. Repeatable.", "REGEX",
               repeated="many"),
        Option(_SENDING, "exclude", k.PATTERN, "Skip URLs with REGEX. Repeatable.", "REGEX", repeated="many"),
        Option(_SENDING, "status", k.STATUS, "Send only logged statuses 2xx,404,500-504.", "SET"),
        Option(_SENDING, "methods", k.METHODS, "Send these methods.", "LIST", "--methods --method", "GET,HEAD"),
        Option(_SENDING, "sample", k.PERCENT, "Replay a fixed random P% of the clients.", "P%"),
        Option(_SENDING, "since", k.SINCE, "Start at this row or ISO 8601 time (UTC) of LOG.", "ROW|TIME",
               "--from --since"),
        Option(_SENDING, "request_order", choice("log", "shuffle", "random"),
               "As in LOG; each once, in random order; or drawn at random.  [default: log]"),
        Option(_SENDING, "shuffle", k.SWITCH, "As --request-order shuffle.", hidden=True),
        Option(_SENDING, "random", k.SWITCH, "As --request-order random.", hidden=True),
        Option("run sweep duet", "seed", whole(0), "Seed of random choices.", "N", default="0"),
        Option("find", "seed", whole(0), "Seed of random choices.  [default: random]", "N"),
        Option("sweep find", "restart", k.SWITCH, "Begin each step or trial at the start of LOG."),
        Option(_SENDING, "rewrite", k.REWRITE, "URLs: replace regex FROM by TO. Repeatable.", "s|FROM|TO|",
               repeated="many"),
        Option(_SENDING, "param", k.PARAM, "Set a query parameter. Repeatable.", "K=V", "--param --query",
               repeated="many"),
        Option(_SENDING, "header", k.HEADER,
               "Send a header, those in FILE (a line each), or those of LOG; 'X-Forwarded-For: log' has "
               "the client in LOG, 'K: log:COLUMN' another value. Repeatable.", "'K: V'|@FILE|log",
               "-H --header", repeated="lines"),
        Option(_SENDING, "trace", percent(),
               "Give each request a W3C trace of its own, P% of them sampled: header traceparent, column trace_id.",
               "P%"),
        Option(_SENDING, "trace_url", k.TRACE_URL, "Link slow requests in reports (sweep, find, analyze).",
               "https://…/{trace_id}"),
        Option(_SENDING, "host", k.HOST, "Host header: as logged, or NAME.  [default: the target's]", "log|NAME"),
        Option(_SENDING, "agent", k.TEXT, "User-Agent header: as logged, or TEXT.  [default: logreplay]", "log|TEXT"),
        Option(_SENDING, "referer", k.TEXT, "Referer header: as logged, or TEXT.", "log|TEXT"),
        Option(_SENDING, "no_cache", k.SWITCH, "Ask caches to fetch from the origin."),
        Option(_SENDING, "body", k.BODY,
               "Bodies: as logged, of logged size, or of FILE.  [default: log]",
               "log|size|FILE:COLUMN"),
        Option(_SENDING, "inject", k.INJECT, "Mix in requests of FILE. Repeatable.", "FILE:P%", repeated="many"),
        Option(_SENDING, "auth", k.AUTH, "Send a token, a password (basic:FILE), or an AWS signature (aws:SERVICE).",
               "bearer:FILE|…", repeated="once"),
        Option(_SENDING, "hook", k.HOOK, "Pass requests through a Python function.", "MODULE:FUNCTION"),
    )),
    ("Connection", (
        Option(_SENDING, "timeout", k.DURATION, "Fail a request after D.", "D", default="30s"),
        Option(_SENDING, "max_in_flight", whole(1), "Limit requests in flight.  [default: none]", "N"),
        Option(_SENDING, "late", k.LATE, "Drop requests more than D late, or send them.", "send|drop:D",
               default="send"),
        Option(_SENDING, "keep_alive", k.OFF, "Open a new connection for each request.", "", "--no-keep-alive"),
        Option(_SENDING, "requests_per_connection", whole(1, 1_000_000),
               "Close a connection after about N requests.  [default: never]", "N"),
        Option(_SENDING, "by_client", k.SWITCH, "Give each client of LOG one connection; keep its order."),
        Option(_SENDING, "local_address", k.SOURCES,
               "Send from these addresses of this machine in turn; with --by-client each client has one.",
               "ADDR,ADDR-ADDR,…"),
        Option(_SENDING, "insecure", k.SWITCH, "Do not verify certificates (https).", "", "-k --insecure"),
        Option(_SENDING, "cacert", k.PATH, "Trust only the certificates in FILE.", "FILE"),
        Option(_SENDING, "cert", k.PATH, "Show TARGET this client certificate (PEM).", "FILE"),
        Option(_SENDING, "key", k.PATH, "Its private key (PEM).  [default: in --cert FILE]", "FILE"),
        Option("duet", "candidate_cert", k.PATH, "Client certificate for CANDIDATE.  [default: --cert]", "FILE"),
        Option("duet", "candidate_key", k.PATH, "Its private key.  [default: in --candidate-cert FILE]", "FILE"),
        Option(_SENDING, "key_password", k.KEY_PASSWORD, "Where the password of the private key is.",
               "file:FILE|env:NAME"),
        Option("duet", "candidate_key_password", k.KEY_PASSWORD, "That of CANDIDATE's.  [default: --key-password]",
               "file:FILE|env:NAME"),
        Option(_SENDING, "tls_name", k.TEXT,
               "Name in TARGET's certificate, and SNI.  [default: TARGET's]", "NAME"),
        Option(_SENDING, "connect_to", k.CONNECT_TO,
               "Connect to ADDR:PORT where TARGET is HOST:PORT, and keep its name. Repeatable.",
               "HOST:PORT:ADDR:PORT", repeated="many"),
        Option(_SENDING, "sender", choice("wire", "aiohttp", "h2"), "HTTP client.", default="wire"),
        Option(_SENDING, "http", choice("1.1", "2", "log"), "HTTP version; log: as each request in LOG.",
               default="1.1"),
        Option(_SENDING, "connections", whole(1, 10_000), "HTTP/2: open at most N connections.", "N"),
        Option(_SENDING, "streams", whole(1), "HTTP/2: at most M streams per connection.", "M"),
        Option(_SENDING, "allow_target", k.TEXT, "Permit load on HOST. Repeatable.  [default: this machine only]",
               "HOST", repeated="many"),
    )),
    ("Sessions", (
        Option(_SENDING, "client_key", k.CLIENT_KEY,
               "Tell clients by address, address+agent, column:NAME, header:NAME or cookie:NAME.  [default: address]",
               "KEY"),
        Option(_SENDING, "cookies", k.SWITCH, "With --by-client: send back the cookies that TARGET sets."),
        Option(_SENDING, "login", k.LOGIN,
               "With --by-client: send each client's login in FILE (client,op,url,body) first.", "FILE",
               repeated="once"),
        Option(_SENDING, "extract", k.EXTRACT, "With --by-client: take a value from responses. Repeatable.",
               "NAME=header:…|json:…|regex:…", repeated="many"),
        Option(_SENDING, "use", k.USE, "Put that value into the client's later requests. Repeatable.",
               "NAME=header:…|param:…|body:…", repeated="many"),
    )),
    ("Stop conditions", (
        Option(_SENDING, "stop", k.STOP, "Stop if errors>5%/10s, p99>2s/10s, in_flight>5000. Repeatable.",
               "CONDITION", repeated="many"),
        Option("run", "crash", k.SWITCH, "Stop at the first failure, and print it.", "", "--crash --fail-fast",
               only="terminal"),
        Option("run", "crash", k.SWITCH, "Stop at the first failure; culprit of the result is its exchange.",
               only="python"),
        Option("sweep", "keep_going", k.SWITCH, "Do not stop after two rates in a row that fall behind or fail."),
        Option("find", "trials", whole(1), "Make at most N trials.", "N", default="25"),
        Option("find", "budget", k.DURATION, "Time for all trials.", "D", default="2m"),
    )),
    ("Comparison", (
        Option("duet", "ignore", k.PLACE,
               "Ignore differences in PLACE: a JSON path, header:NAME, line:TEXT, order:PATH, status, size or body. "
               "Repeatable.", "PLACE", repeated="many"),
        Option("duet", "keep", whole(0, 1000),
               "Show N differing pairs of each route; 0: none.  [default: 10]", "N"),
        Option("duet", "fail_above", percent(most=10),
               "Exit with 4 if CANDIDATE is slower by more (5%), or 1% more of its requests fail; with 3 if undecided.",
               "P%", only="terminal"),
        Option("duet", "fail_above", percent(most=10),
               "Check that CANDIDATE is not slower by more (5%), and that not 1% more of its requests fail.",
               "P%", only="python"),
        Option("duet", "fail_different", percent(),
               "Exit with 4 if answers of more pairs differ, such as 0.1%.", "P%", only="terminal"),
        Option("duet", "fail_different", percent(),
               "Check that not more pairs have different answers, such as 0.1%.", "P%", only="python"),
    )),
    ("Live", (
        Option(_SENDING, "live", k.ADDRESS, "Serve a live page.  [default: a free port of this machine]",
               "[[HOST:]PORT]"),
        Option("run", "control", k.PATH,
               "With --tps or --speed: let logreplay control change the load.", "DIR"),
        Option(_SENDING, "metrics", k.ADDRESS, "Serve /metrics for Prometheus.", "[HOST:]PORT"),
        Option(_SENDING, "otlp", k.OTLP,
               "Push by OTLP.  [default: OTEL_EXPORTER_OTLP_ENDPOINT]", "[URL]"),
        Option(_SENDING, "progress", choice("auto", "json", "none"), "On stderr: a line, JSON each second, or none.",
               default="auto", only="terminal"),
        Option(_SENDING, "progress", k.PROGRESS,
               "Show the state of the run in a line; or give it to a function about once a second.", only="python"),
        Option(_SENDING, "watch", k.WATCH,
               "Record each second a figure of URL or COMMAND, or those of PRESET (pid:1234, cgroup:NAME, nginx:URL, "
               "node:URL, prometheus:URL#METRIC, postgres:DSN). Repeatable.", "NAME[/s][:MAX]=URL|!COMMAND|PRESET",
               repeated="many"),
    )),
    ("Several machines", (
        Option(_SENDING, "workers", whole(1, 1000), "Send from N processes.  [default: as many as needed]", "N"),
        Option(_SENDING, "cluster", k.CLUSTER, "Send from a Dask cluster: tcp://HOST:8786, or local:N.", "ADDRESS",
               refused="duet"),
    )),
    ("Output", (
        Option("run", "output", k.PATH, "Write result rows to FILE.  [default: run-TIME.csv]", "FILE", "-o --output",
               only="terminal"),
        Option("sweep", "output", k.PATH, "Write results to this folder.  [default: sweep-TIME]", "DIR", "-o --output",
               only="terminal"),
        Option("find", "output", k.PATH, "Write results to this folder.  [default: find-TIME]", "DIR", "-o --output",
               only="terminal"),
        Option("plan", "output", k.PATH, "Write to this folder.  [default: plan-TIME; none with --from]", "DIR",
               "-o --output", only="terminal"),
        Option("duet", "output", k.PATH, "Write results to this folder.  [default: duet-TIME]", "DIR", "-o --output",
               only="terminal"),
        Option(_SENDING, "output", k.PATH,
               "Write results here.  [default: a temporary folder, removed with the result]", only="python"),
        Option(_SENDING, "force", k.SWITCH, "Replace an existing result."),
        Option(_SENDING, "share", k.SWITCH, "Let other users read the results.", only="terminal"),
        Option("run find duet", "junit", k.JUNIT, "Write the checks as JUnit XML.", "PATH"),
        Option("run duet", "history", k.HISTORY,
               "Append a row to FILE.csv, for Apache Otava; that of a run too short for p99 goes to "
               "FILE.without-p99_s.csv. Or write FILE.json, for github-action-benchmark.", "FILE"),
        Option("sweep", "resume", k.PATH, "Continue an interrupted sweep in DIR.", "DIR"),
        Option("run", "dry_run", k.SWITCH, "Print what would be sent, and when; send nothing.", only="terminal"),
        Option("run", "verbose", k.SWITCH, "Print each request and response.", "", "-v --verbose", only="terminal"),
        Option("run", "debug", k.SWITCH, "Print what the generator did.", "", "-d --debug", only="terminal"),
        Option(_SENDING, "quiet", k.SWITCH, "Print only errors and lost rows.", "", "-q --quiet", only="terminal"),
        Option("run", "as_json", k.SWITCH, "Print the summary as JSON instead of tables.", "", "--json",
               only="terminal"),
        Option("sweep find duet", "as_json", k.SWITCH, "Print summary.json instead of tables.", "", "--json",
               only="terminal"),
        Option("plan", "as_json", k.SWITCH, "Print plan.json instead of text.", "", "--json", only="terminal"),
        Option("run", "classic", k.SWITCH, "Print the figures of siege and ab too.", only="terminal"),
        Option("sweep find", "plots", k.OFF, "Write tables and summary without pictures.", "", "--no-plots"),
        Option(_SENDING, "digest", k.EITHER, "Write a hash of each response to the column digest.", "",
               "--digest/--no-digest"),
        Option(_SENDING, "server_timing", k.METRICS,
               "Write these durations of the response header Server-Timing to columns server_NAME.", "NAME,…"),
        Option(_SENDING, "show_secrets", k.SWITCH, "Do not mask tokens, passwords and cookies in output.",
               only="terminal"),
    )),
    ("Connection", (
        Option("run sweep find", "demo_target", k.SWITCH, "Start a built-in server and use it as TARGET."),
    )),
)
# fmt: on
"""The options by the title of their group in the help; each group in its order."""
_OF_PLAN: Final = {(each.name, each.only) for _, among in TABLE for each in among if each.commands == "plan"}
"""Options of `plan` itself, which it does not take from `find`."""
OF_SEARCH: Final = frozenset({"max_errors", "start", "max_tps", "precision", "trial", "trials", "budget", "arrivals"})
"""Options that only a search uses."""
WRITING: Final = frozenset({"output", "force", "share", "as_json", "quiet", "plots", "show_secrets", "demo_target"})
"""Options of `find` that do not select requests."""
READING: Final = tuple(option.name for option in dict(PLAN)["Demand"])
"""The options that say how the log is read, and which of its requests are counted."""
GROUPS: Final = (
    *("Most used", "Plan", "Demand", "Bounds", "Load", "Requests", "Connection", "Sessions", "Stop conditions"),
    *("Comparison", "Output", "Live", "Several machines"),
)
"""The titles, in the order of the help."""
SHOWN_FIRST: Final = frozenset({"Most used", "Plan", "Bounds", "Load", "Stop conditions", "Comparison", "Output"})
"""The groups that ``--help`` shows; ``--help-all`` shows all."""
MOST_USED: Final[Mapping[str, Sequence[str]]] = {
    "run": ("tps", "speed", "duration", "output", "allow_target"),
    "sweep": ("duration", "warmup", "repeat", "output", "allow_target"),
    "find": ("p99", "max_errors", "demand", "output", "allow_target"),
    "duet": ("tps", "speed", "duration", "output", "allow_target"),
    "plan": ("p99", "results", "growth", "output", "allow_target"),
}


def options_of(command: str, *, python: bool = False) -> list[Option]:
    """The options of a command; or the parameters of its function."""
    absent = "terminal" if python else "python"
    among = OTHERS.get(command) or [option for _, options in TABLE for option in options]
    return [
        option
        for option in among
        if _has(command, option) and option.only != absent
        if not (python and command in option.refused.split())
    ]


def _has(command: str, option: Option) -> bool:
    commands = option.commands.split()
    searched = command == "plan" and "find" in commands and option.name not in NOT_PLANNED
    return command in commands or (searched and (option.name, option.only) not in _OF_PLAN)


def grouped(command: str, options: Sequence[Option]) -> dict[str, list[Option]]:
    """Options of a command by the titles of the help, without hidden ones."""
    first = MOST_USED[command]
    groups: dict[str, list[Option]] = {title: [] for title in GROUPS}
    titles = {id(option): title for title, among in TABLE for option in among}
    for option in options:
        if option.hidden:
            continue
        groups["Most used" if option.name in first else titles[id(option)]].append(option)
    groups["Most used"].sort(key=lambda option: first.index(option.name))
    return {title: among for title, among in groups.items() if among}
