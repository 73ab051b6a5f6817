"""The main program of a Dask cluster of this machine (`logreplay.replay.workers.dask_workers`).

Dask spawns its workers. If the program of the user was their parent, each of them would run it again.
"""

import logging
import os
import signal
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Final

from dask import config
from distributed import LocalCluster, Security

from logreplay.core import installation
from logreplay.core.errors import ClusterError
from logreplay.core.files import reason
from logreplay.replay.child_process import ENDING, connection_to_parent
from logreplay.replay.workers.dask_workers import speechless

_LOOPBACK: Final = "127.0.0.1"
_NO_PAGES: Final[dict[str, list[str]]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Dask serves pages about a cluster to everybody, also without its dashboard."""


def _started(count: int, folder: str) -> LocalCluster:
    """Start a cluster, which writes its files into a folder."""
    try:
        security = _security(Path(folder))
    except ImportError:
        raise ClusterError(f"--cluster local:N {installation.needs_extra('cluster')}") from None
    try:
        with config.set({**_NO_PAGES, "temporary-directory": folder}):
            return LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                host=_LOOPBACK,
                security=security,
                scheduler_kwargs={"dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"},
                silence_logs=logging.CRITICAL,
            )
    except (RuntimeError, OSError) as error:
        raise ClusterError(
            f"--cluster local:{count}: a worker did not start: {reason(error)}; take fewer workers"
        ) from None


def _security(folder: Path) -> Security:
    """A key that only this cluster has: whoever connects to a scheduler or worker may run functions in it.

    The key is in files, because each process of Dask would write a key from memory to a temporary folder, and leave the
    folder if it is killed.
    """
    made, certificate, key = Security.temporary(), folder / "cluster.crt", folder / "cluster.pem"
    certificate.write_text(made.tls_ca_file)
    key.write_text(made.tls_client_key)
    roles = ("client", "scheduler", "worker")
    files = {f"tls_{role}_{what}": str(path) for role in roles for what, path in (("cert", certificate), ("key", key))}
    return Security(require_encryption=True, tls_ca_file=str(certificate), **files)


if __name__ == "__main__":
    parent = connection_to_parent()
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)  # processes that are ended while they start print tracebacks
    os.environ["PYTHONSAFEPATH"] = "1"  # of the workers: https://docs.python.org/3/using/cmdline.html
    for number in ENDING:  # signals for its parent: the tracker unblocks them, and one that came would end this process
        signal.signal(number, signal.SIG_IGN)
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    with suppress(EOFError, ConnectionError), speechless():
        count, folder = parent.recv()
        os.environ["TMPDIR"] = folder  # workers that are killed leave theirs
        try:
            cluster = _started(count, folder)
        except ClusterError as error:
            parent.send(error)
        else:
            with suppress(EOFError, ConnectionError):
                parent.send((cluster.scheduler_address, cluster.security))
                parent.recv()  # until the parent ends
            with suppress(TimeoutError):  # on a busy machine Dask gives up its wait for the workers
                cluster.close()
