"""Options of `plan`: growth of the demand, reserve, and reading of the log.

It has the options of `find`, too, except for those that have no meaning in a plan.
"""

from collections.abc import Sequence
from typing import Final

from logreplay.options import kinds as k
from logreplay.options.kinds import percent, whole
from logreplay.options.option import Option
from logreplay.options.other_commands import FORMAT, TIMEZONE_OF_WEEK, UNITS

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
        Option("plan", "costs", k.PATH, "With --mix: a sweep with --routes.  [default: --from]", "DIR"),
        Option("plan", "scaling", k.PATH,
               "Output of capacity --machines --json: its law in place of n times one.", "FILE"),
        Option("plan", "growth", percent(most=100), "Growth of the demand: 30% or 0.3.  [default: 0%]", "P%"),
        Option("plan", "forecast", k.PATH, "Demand to come, instead of --growth: a CSV of time,rate.", "CSV"),
        Option("plan", "per_machine_of", whole(1, 1_000_000), "LOG is that of one of N front ends.  [default: 1]", "N"),
        Option("plan", "headroom", percent(most=0.99), "Share of each machine to keep free: 20% or 0.2.", "P%",
               default="0%"),
        Option("plan", "survive", whole(0, 1_000_000), "Machines that may be lost while the others carry the load.",
               "N", default="0"),
        Option("plan", "price", k.PRICE, "Price of a machine for an hour: print the cost of a week.", "PRICE"),
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
# fmt: on
"""The options by the title of their group."""
OF_SEARCH: Final = frozenset({"max_errors", "start", "max_tps", "precision", "trial", "trials", "budget", "arrivals"})
"""Options that only a search uses."""
WRITING: Final = frozenset({"output", "force", "share", "as_json", "quiet", "plots", "show_secrets", "demo_target"})
"""Options of `find` that do not select requests."""
READING: Final = tuple(option.name for option in dict(PLAN)["Demand"])
"""The options that say how the log is read, and which of its requests are counted."""
