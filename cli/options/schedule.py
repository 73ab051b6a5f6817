"""Settings of ``run`` and ``duet`` that exclude or need each other."""

from logreplay.cli.options import sender
from logreplay.cli.settings.precedence import exclusive

YIELDS_TO = {
    **sender.YIELDS_TO,
    **exclusive("tps", "speed", "ramp", "steps", "vusers", "follow"),
    "duration": {"steps"},
    "max_in_flight": {"vusers"},
    "late": {"vusers"},
    "shuffle": {"random", "speed", "follow", "arrivals=log"},
    "random": {"shuffle", "speed", "follow", "arrivals=log"},
    "arrivals=log": {"shuffle", "random"},
    "workers": {"follow", "hook"},
    "loop": {"follow"},
    "since": {"follow"},
    "target": {"demo_target"},
    "verbose": {"as_json", "quiet"},
    "as_json": {"verbose", "classic"},
    "classic": {"as_json", "quiet"},
    "debug": {"quiet"},
    **{name: {"dry_run"} for name in ("live", "metrics", "watch", "junit", "history")},
    "quiet": {"verbose", "classic", "debug"},
}
NEEDS = {
    **sender.NEEDS,
    "think": {"vusers"},
    "delay": {"follow"},
    "arrivals=log": {"tps"},
    "arrivals=poisson": {"tps", "ramp", "steps"},
    "arrivals=even": {"tps", "ramp", "steps"},
    "skip_idle": {"speed", "arrivals=log"},
}
