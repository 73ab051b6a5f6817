"""The parameters of the functions as types, for type checkers and for reuse: ``common: RequestOptions = {...}``.

Static text, because type checkers read no table; a test compares it with `logreplay.options.table`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypedDict

from logreplay.core.quantities import Seconds

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client

    from logreplay.replay.monitor.snapshot import Snapshot
    from logreplay.replay.requests.auth.schemes import Scheme
    from logreplay.replay.requests.hook import Hook

Share = float | str
"""0.05 or "5%"."""
File = str | PathLike[str]
ProgressFunction = Callable[["Snapshot"], object]
StopFunction = Callable[["Snapshot"], str | bool | None]
"""Returns why the run is to end, or True; it goes on otherwise."""


class _SentOptions(TypedDict, total=False):
    """How requests of the log are sent: in what order, and with what changes."""

    methods: str | Iterable[str]
    request_order: Literal["log", "shuffle", "random"] | None
    shuffle: bool
    random: bool
    rewrite: str | Sequence[str]
    param: str | Mapping[str, str] | Sequence[str]
    header: str | Mapping[str, str] | Sequence[str]
    host: str | None
    agent: str | None
    referer: str | None
    trace: Share | None
    trace_url: str | None
    no_cache: bool
    body: str | None
    auth: "str | Scheme | None"
    hook: "str | Hook | None"


class RequestOptions(_SentOptions, total=False):
    """Which requests of the log are sent, in what order, and how they are changed."""

    match: str | Sequence[str]
    exclude: str | Sequence[str]
    status: int | str | Iterable[int | str] | None
    sample: Share | None
    since: datetime | int | str | None
    inject: str | Mapping[str, Share] | Sequence[str]


class SenderOptions(TypedDict, total=False):
    """How requests are sent."""

    timeout: Seconds
    max_in_flight: int | None
    late: str
    keep_alive: bool
    requests_per_connection: int | None
    by_client: bool
    local_address: str | Iterable[str] | None
    insecure: bool
    cacert: File | None
    cert: File | None
    key: File | None
    key_password: str | None
    tls_name: str | None
    connect_to: str | Sequence[str]
    sender: Literal["wire", "aiohttp", "h2"]
    http: Literal["1.1", "2", "log"]
    connections: int | None
    streams: int | None
    allow_target: str | Sequence[str]
    digest: bool | None
    server_timing: str | Iterable[str] | None


class SessionOptions(TypedDict, total=False):
    """What each client keeps between its requests."""

    client_key: str | None
    cookies: bool
    login: "File | pd.DataFrame | None"
    extract: str | Mapping[str, str] | Sequence[str]
    use: str | Mapping[str, str] | Sequence[str]


class ProgressOptions(TypedDict, total=False):
    """Who is told how it goes."""

    live: int | str | None
    metrics: int | str | None
    otlp: bool | str | None
    progress: bool | ProgressFunction | None
    watch: str | Mapping[str, str] | Sequence[str]


class _SendingOptions(_SentOptions, SenderOptions, SessionOptions, ProgressOptions, total=False):
    """The parameters that all functions have which send."""

    stop: str | StopFunction | Sequence[str | StopFunction]
    workers: int | None
    output: File | None
    force: bool


class _LoadOptions(RequestOptions, _SendingOptions, total=False):
    """The load of one run, and the files of its checks."""

    tps: float | None
    speed: float | str | None
    ramp: str | tuple[float, float] | None
    steps: str | Sequence[tuple[float, Seconds]] | None
    follow: bool
    arrivals: Literal["poisson", "even", "log"] | None
    delay: Seconds | None
    duration: Seconds | None
    requests: int | None
    loop: bool | None
    skip_idle: Seconds | None
    seed: int
    junit: File | None
    history: File | None


class RunOptions(_LoadOptions, total=False):
    """The parameters of `logreplay.run`."""

    vusers: int | None
    think: Seconds | tuple[Seconds, Seconds]
    crash: bool
    cluster: "str | Client | None"
    control: File | None
    demo_target: bool


class SweepOptions(RequestOptions, _SendingOptions, total=False):
    """The parameters of `logreplay.sweep`."""

    vusers: int | str | Sequence[int] | None
    arrivals: Literal["poisson", "even", "log"] | None
    think: Seconds | tuple[Seconds, Seconds]
    duration: Seconds
    warmup: Seconds | None
    settle: Seconds | None
    repeat: int
    order: Literal["given", "up", "down", "shuffle"]
    routes: bool
    refine: bool
    seed: int
    restart: bool
    keep_going: bool
    cluster: "str | Client | None"
    resume: File | None
    plots: bool
    demo_target: bool


class _SearchOptions(_SendingOptions, total=False):
    """Bounds of the response time, and the search for the rate that keeps them."""

    p50: Seconds | None
    p90: Seconds | None
    p95: Seconds | None
    p99: Seconds | None
    p999: Seconds | None
    p9999: Seconds | None
    p99999: Seconds | None
    mean: Seconds | None
    max: Seconds | None
    bound: str | Mapping[str, Seconds] | Sequence[str]
    arrivals: Literal["poisson", "even"] | None
    max_errors: Share
    start: float
    max_tps: float | None
    precision: Share
    trial: Seconds | None
    seed: int | None
    trials: int
    budget: Seconds
    cluster: "str | Client | None"
    plots: bool
    demo_target: bool


class FindOptions(RequestOptions, _SearchOptions, total=False):
    """The parameters of `logreplay.find`."""

    demand: float | None
    vusers: bool
    think: Seconds | tuple[Seconds, Seconds] | None
    restart: bool
    junit: File | None


class PlanOptions(_SearchOptions, total=False):
    """The parameters of `logreplay.plan`."""

    results: File | None
    mix: str | Mapping[str, str] | Sequence[str]
    costs: File | None
    scaling: File | None
    growth: Share | None
    forecast: File | None
    per_machine_of: int | None
    headroom: Share
    survive: int
    price: float | None
    reaction: Seconds | None
    prove: bool
    format: str
    timezone: str | None
    time_unit: Literal["s", "ms", "us", "ns"] | None
    stamped: Literal["start", "end"] | None
    since: datetime | str | None
    until: datetime | str | None
    match: str | None
    exclude: str | None
    status: int | str | Iterable[int | str] | None
    client: str | None


class DuetOptions(_LoadOptions, total=False):
    """The parameters of `logreplay.duet`."""

    alternate: bool
    noise: str | None
    swap: str | tuple[str, str] | None
    swap_every: Seconds | None
    candidate_cert: File | None
    candidate_key: File | None
    candidate_key_password: str | None
    ignore: str | Sequence[str]
    keep: int | None
    fail_above: Share | None
    fail_different: Share | None
