"""Options of the commands that send no requests of a log, each in the order of its help."""

from collections.abc import Mapping, Sequence
from typing import Final

from logreplay.options import kinds as k
from logreplay.options.kinds import Option, choice, percent, whole

_KINDS: Final = ("hockeystick", "achieved", "throughput", "percentiles", "heatmap", "timeline")
_ALL: Final = "convert inspect compare capacity analyze plot seconds serve demo urls calibrate"
_SHARE: Final = Option(_ALL, "share", k.SWITCH, "Let other users read the results.", only="terminal")
_QUIET: Final = Option(_ALL, "quiet", k.SWITCH, "Print only errors and lost rows.", "", "-q --quiet", only="terminal")
BOUNDED: Final = {name: k.BOUNDS[name] for name in ("p50", "p90", "p95", "p99", "p999", "mean")}
"""Response times that `capacity` bounds, as people write them."""
_FORCE: Final = Option(_ALL, "force", k.SWITCH, "Replace an existing FILE.")
_CLUSTER: Final = Option(_ALL, "cluster", k.CLUSTER, "Use a Dask cluster: tcp://HOST:8786, or local:N.", "ADDRESS")


def _json(help: str) -> Option:
    return Option(_ALL, "as_json", k.SWITCH, help, "", "--json", only="terminal")


def _kept(name: str, help: str, metavar: str, flags: str = "", kind: k.Kind = k.TEXT) -> Option:
    return Option("convert inspect", name, kind, help, metavar, flags)


# fmt: off
FORMAT: Final = Option("convert inspect plan", "format", k.TEXT,
                       "Format of LOG: a name (logreplay convert --help lists them), a log_format or LogFormat string, "
                       "or nginx.conf#name.", "FORMAT", "-f --format", "auto")
TIMEZONE_OF_WEEK: Final = Option("inspect plan", "timezone", k.TEXT,
                                 "Time zone of the hours of the week, and of times without offset, such as "
                                 "Europe/Berlin.  [default: UTC]", "ZONE")
_TIMEZONE: Final = Option("convert", "timezone", k.TEXT,
                          "Time zone of times without offset, such as Europe/Berlin.  [default: UTC]", "ZONE")
UNITS: Final = (
    Option("convert inspect plan", "time_unit", choice("s", "ms", "us", "ns"),
           "Unit of the durations in LOG.  [default: by the format]"),
    Option("convert inspect plan", "stamped", choice("start", "end"),
           "Meaning of the times in LOG: start or end of a request.  [default: by the format]"),
)
_FILTERS: Final = (
    _kept("since", "Keep requests that start at or after TIME (ISO 8601).", "TIME", "--since --from", k.INSTANT),
    _kept("until", "Keep requests that start before TIME (ISO 8601).", "TIME", kind=k.INSTANT),
    _kept("match", "Keep URLs that contain REGEX.", "REGEX"),
    _kept("exclude", "Drop URLs that contain REGEX.", "REGEX"),
    _kept("status", "Keep these statuses: 200,3xx,500-504.", "SET", kind=k.KEPT_STATUS),
    _kept("methods", "Keep these methods: GET,HEAD.", "LIST", "--method --methods", k.KEPT_METHODS),
    _kept("client", "Keep these addresses and networks: 10.0.0.7,10.1.0.0/16.", "LIST"),
)
OTHERS: Final[Mapping[str, Sequence[Option]]] = {
    "convert": (
        Option("convert", "output", k.TEXT,
               "Write to this file (.csv, .csv.gz, .csv.zst, .parquet, .pias, .gor or .har); - is stdout.  "
               "[default: LOG with .csv, in the current folder]", "CSV", "-o --output"),
        FORMAT,
        Option("convert", "to", choice("csv", "parquet", "pias", "vegeta", "k6", "gor", "har"),
               "Kind of output.  [default: by the ending of -o]"),
        _TIMEZONE,
        *UNITS,
        *_FILTERS,
        Option("convert", "redact", k.SWITCH,
               "Replace values in URLs, headers and bodies by pseudonyms: equal by equal, of the same length."),
        Option("convert", "rejects", k.PATH,
               "Write skipped lines and their reasons to this file.  [default: OUTPUT.rejects]", "PATH"),
        Option("convert", "strict", k.SWITCH, "Stop at the first rejected line."),
        Option("convert", "max_rejects", k.TEXT,
               "Fail if more than N lines, or P% of them, cannot be parsed.", "N|P%"),
        _CLUSTER,
        Option("convert", "force", k.SWITCH, "Replace existing results."),
        _SHARE,
        _json("Print the counts as JSON on stdout."),
        _QUIET,
    ),
    "inspect": (
        Option("inspect", "output", k.PATH, "Write the page, the tables and summary.json to this folder.", "DIR",
               "-o --output", only="terminal"),
        FORMAT,
        TIMEZONE_OF_WEEK,
        *UNITS,
        *_FILTERS,
        Option("inspect", "force", k.SWITCH, "Replace existing results.", only="terminal"),
        _SHARE,
        _json("Print the facts as JSON."),
        _QUIET,
    ),
    "compare": (
        Option("compare", "tolerance", percent(most=10),
               "Treat changes up to P% as no change.  [default: 2%; 1% in a duet]", "P%"),
        Option("compare", "fail_above", percent(most=10),
               "Exit with 4 if CANDIDATE is slower by more, such as 5%, or if 1% more of its requests failed; with 3 "
               "if that cannot be judged. Limits --tolerance to P%.", "P%"),
        Option("compare", "output", k.PICTURE, "Draw the changes into a PNG or SVG file.", "FILE", "-o --output"),
        Option("compare", "junit", k.JUNIT, "Write the checks as JUnit XML.", "PATH"),
        _FORCE,
        _SHARE,
        _json("Print the comparison as JSON."),
    ),
    "capacity": (
        Option("capacity", "demand", k.RATE, "Load to carry, requests/s.", "R", "--demand --tps --rate", required=True),
        *(Option("capacity", name, k.DURATION,
                 f"Bound on the {spoken} response time: 300ms, 2s; a bare 2 is seconds.", "D",
                 hidden=name in ("p95", "p999"))
          for name, spoken in BOUNDED.items()),
        Option("capacity", "bound", k.BOUND, f"Bound on a response time: {', '.join(BOUNDED.values())}.",
               "'p99<300ms'", repeated="many"),
        Option("capacity", "within", k.DURATION, "Bound on the response time that --percentile names.", "D",
               hidden=True),
        Option("capacity", "percentile", choice(*BOUNDED),
               "Response time that --within bounds: --within 300ms --percentile p99 is --p99 300ms.", hidden=True),
        Option("capacity", "machines", k.MACHINES,
               "Number of machines behind each of RESULTS, such as 1,2,4.  [default: one]", "N,N,…"),
        Option("capacity", "headroom", percent(most=0.99), "Share of each machine to keep free: 20% or 0.2.", "P%",
               default="0%"),
        Option("capacity", "survive", whole(0), "Machines that may be lost while the others carry the load.", "N",
               default="0"),
        Option("capacity", "output", k.PICTURE, "With --machines: draw the curve into a PNG or SVG file.", "FILE",
               "-o --output"),
        _FORCE,
        _json("Print the answer as JSON."),
    ),
    "analyze": (
        Option("analyze", "output", k.PATH,
               "Write to this folder.  [default: RESULTS if a folder, else analyze-TIME]", "DIR", "-o --output"),
        Option("analyze", "trace_url", k.TRACE_URL,
               "Link the slowest sampled requests to their traces.  [default: that of the run]",
               "https://…/{trace_id}"),
        Option("analyze", "plots", k.OFF, "Write tables and summary without pictures.", "", "--no-plots"),
        Option("analyze", "force", k.SWITCH, "Write into an existing folder."),
        _SHARE,
        _CLUSTER,
        _json("Print summary.json on stdout instead of tables."),
        Option("analyze", "quiet", k.SWITCH, "On stderr, print only lost rows.", "", "-q --quiet",
               only="terminal"),
    ),
    "plot": (
        Option("plot", "kind", choice(*_KINDS), "Picture of one run; several runs are always hockey sticks.  "
               "[default: hockeystick; of one rate: timeline]"),
        Option("plot", "output", k.PICTURE, "Write this PNG or SVG file.  [default: KIND.png]", "FILE", "-o --output"),
        Option("plot", "within", k.DURATION, "Draw a bound on the response time too: 300ms.", "D"),
        Option("plot", "linear", k.SWITCH, "Use a linear time axis.  [default: logarithmic]"),
        _FORCE,
        _SHARE,
        _QUIET,
    ),
    "seconds": (
        Option("seconds", "output", k.PATH, "Write the table to FILE; - is stdout.  [default: -]", "FILE",
               "-o --output"),
        _FORCE,
        _SHARE,
        _json("Print a JSON object for each second instead of CSV."),
        _QUIET,
    ),
    "serve": (
        Option("serve", "port", whole(0, 65_535), "Port to listen on; 0: a free one.", "N", default="8080",
               only="terminal"),
        Option("serve", "port", whole(0, 65_535), "Port to listen on; 0: a free one.", "N", default="0",
               only="python"),
        Option("serve", "workers", whole(1), "Requests served at once.", "N", default="4"),
        Option("serve", "service_time", k.DURATION, "Time to serve one request.", "D", default="16ms"),
        Option("serve", "exponential", k.SWITCH,
               "Draw service times from an exponential distribution of that mean."),
        _QUIET,
    ),
    "demo": (
        Option("demo", "output", k.PATH, "Write to this folder.  [default: demo-TIME]", "DIR", "-o --output"),
        Option("demo", "http", choice("1.1", "2"), "Version of HTTP.", default="1.1"),
        Option("demo", "force", k.SWITCH, "Replace an existing result."),
        _SHARE,
        _QUIET,
    ),
    "urls": (
        Option("urls", "variables", k.TEXT,
               "Values for {NAME}: a,b,c or 1..9 or @FILE with one a line. Repeatable; the last changes fastest.",
               "NAME=VALUES", "--var", repeated="many"),
        Option("urls", "output", k.TEXT, "Write to this CSV; - is stdout.", "FILE", "-o --output", "urls.csv"),
        _FORCE,
        _SHARE,
        _QUIET,
    ),
    "calibrate": (
        Option("calibrate", "trial", k.DURATION, "Time for each rate.", "D", default="1s"),
        _json("Print all figures as JSON."),
        Option("calibrate", "quiet", k.SWITCH, "Store the figures, print nothing.", "", "-q --quiet",
               only="terminal"),
    ),
}
# fmt: on
