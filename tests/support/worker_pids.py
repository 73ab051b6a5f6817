"""The processes of the workers of a coordinator."""

from logreplay.replay.workers.coordinator import Coordinator


def pids(coordinator: Coordinator) -> dict[str, int | None]:
    """Return the process id of each worker by its name."""
    return {worker.name: worker.pid for worker in coordinator._workers}
