"""Engines that send: in this process, in several of this machine, or on a cluster."""

from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING, Any

from logreplay.options.sender_rules import SenderRules
from logreplay.replay.workers.cluster_address import local_workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.login_log import LoginLog
    from logreplay.replay.results.result_log import Results
    from logreplay.replay.senders.contract import Sender
    from logreplay.replay.senders.trace import Watch
    from logreplay.replay.workers.processes import WorkerProcess


@contextmanager
def cluster_executor(address: str | None) -> "Iterator[Executor | None]":
    """An executor on all workers of a cluster; None where none was asked for."""
    local_workers(address)
    with ExitStack() as stack:
        yield None if address is None else _OnCluster(address, stack)


class _OnCluster(Executor):
    """Reaches or starts the cluster for its first task, after all checks that need no cluster."""

    def __init__(self, address: str, stack: ExitStack) -> None:
        self._address, self._stack = address, stack
        self._executor: Executor | None = None

    def submit(self, task: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":
        """Give it a task."""
        if self._executor is None:
            from logreplay.replay.workers.dask_workers import anywhere, cluster_client

            self._executor = anywhere(self._stack.enter_context(cluster_client(self._address)))
        return self._executor.submit(task, *given, **named)


@asynccontextmanager
async def replayer(
    sender_rules: SenderRules,
    sender: "Callable[[], Sender]",
    results: "Results",
    watch: "Watch | None" = None,
    *,
    logins: "LoginLog",
    rate: float,
    closed: bool = False,
    first: int = 0,
) -> "AsyncIterator[Replayer]":
    """What runs plans as the options ask for, until the block ends.

    Args:
        sender_rules: the options.
        sender: makes senders.
        results: takes the rows; closed at the end.
        watch: looks at the exchanges; is told how to stop.
        logins: takes the logins of clients.
        rate: requests/s, the highest of the run.
        closed: plans are closed loops.
        first: number of the first request, where a result log is continued.
    """
    processes = sender_rules.processes(rate)
    if ids := sender_rules.trace_ids(first):
        from logreplay.replay.engine.trace_ids import WithTraceIds

        results = WithTraceIds(results, ids)
    if processes == 1 and not sender_rules.cluster:
        from logreplay.replay.engine.engine import Engine

        async with Engine(
            sender(),
            results,
            limits=sender_rules.limits,
            trace=watch.see if watch and watch.needed else None,
            closed=closed,
            trace_headers=ids.parents if ids else None,
        ) as engine:
            if watch:
                watch.stop = engine.stop
            async with logins.following(lambda: engine.logins):
                yield engine
        return
    from logreplay.replay.workers.coordinator import Coordinator

    with closing(results), _processes(sender_rules, processes) as workers:
        async with Coordinator(
            workers,
            sender,
            results,
            limits=sender_rules.limits,
            watch=watch,
            closed=closed,
            by_client=sender_rules.by_client,
            connections=sender_rules.connections,
            in_parts=True,
            trace_ids=ids,
        ) as coordinator:
            if watch:
                watch.stop = coordinator.stop
            async with logins.following(lambda: coordinator.logins):
                yield coordinator


@contextmanager
def _processes(sender_rules: SenderRules, count: int) -> "Iterator[Sequence[WorkerProcess]]":
    """The processes for the workers."""
    if sender_rules.cluster is None:
        from logreplay.replay.workers.processes import processes

        yield processes(count)
        return
    from logreplay.replay.workers.dask_workers import cluster_client, workers

    with cluster_client(sender_rules.cluster) as client:
        yield workers(client, sender_rules.workers)
